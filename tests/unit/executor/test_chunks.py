"""Packing: in order, whole, and never above the budget."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.reduce.chunks import (
    Chunk,
    ChunkPacker,
    ChunkUnit,
    TextWeight,
    record_units,
    record_weight,
    split_chunk,
)

texts = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=400), max_size=60)
budgets = st.integers(min_value=60, max_value=300)


def words(text: str) -> int:
    """A count that adds up over lines: one token for every three characters of a line, rounded up."""
    return sum(-(-(len(line) + 1) // 3) for line in text.split("\n"))


def packed(records: list[str], budget: int) -> list[Chunk]:
    def fits(load: TextWeight) -> bool:
        return load.counted <= budget

    packer = ChunkPacker(fits)
    units = (
        unit
        for row, text in enumerate(records, start=1)
        for unit in record_units(text, row=row, page=row // 7, measure=words, fits=fits)
    )
    chunks = [chunk for unit in units if (chunk := packer.add(unit))]
    rest = packer.rest()
    return [*chunks, rest] if rest else chunks


@given(texts, budgets)
def test_every_record_comes_once_whole_and_in_order(records: list[str], budget: int) -> None:
    units = [unit for chunk in packed(records, budget) for unit in chunk.units]
    rows: dict[int, str] = {}
    for unit in units:
        rows[unit.row] = rows.get(unit.row, "") + unit.text
    assert list(rows.values()) == records
    assert [unit.row for unit in units] == sorted(unit.row for unit in units)


@given(texts, budgets)
def test_no_chunk_is_above_the_budget_as_it_is_sent(records: list[str], budget: int) -> None:
    for chunk in packed(records, budget):
        assert words(chunk.text()) <= chunk.load.counted <= budget


@given(texts, budgets)
def test_chunks_are_full_the_next_unit_would_not_have_fitted(records: list[str], budget: int) -> None:
    chunks = packed(records, budget)
    for chunk, following in pairwise(chunks):
        assert chunk.load.counted + following.units[0].load.counted > budget
    assert [chunk.index for chunk in chunks] == list(range(1, len(chunks) + 1))


@given(st.text(min_size=200, max_size=3000).map(lambda text: text.replace("\n", " ")), budgets)
def test_parts_of_a_giant_record_share_its_row_and_are_numbered(text: str, budget: int) -> None:
    units = list(record_units(text, row=3, page=0, measure=words, fits=lambda load: load.counted <= budget))
    if len(units) == 1:
        assert units[0].part == 0
        return
    assert [(unit.part, unit.parts) for unit in units] == [(n, len(units)) for n in range(1, len(units) + 1)]
    assert {(unit.row, unit.whole_chars) for unit in units} == {(3, len(text))}
    assert units[1].line(1).startswith(f"[1 part 2/{len(units)}] ")


@given(texts.filter(any), budgets)
def test_halves_are_smaller_and_lose_nothing(records: list[str], budget: int) -> None:
    for chunk in packed(records, budget):
        parts = split_chunk(chunk, words)
        if parts is None:
            assert len(chunk.units) == 1
            assert len(chunk.units[0].text) < 2
            continue
        left, right = parts
        assert left.units
        assert right.units
        assert "".join(u.text for u in (*left.units, *right.units)) == "".join(u.text for u in chunk.units)
        assert {u.row for u in (*left.units, *right.units)} == {u.row for u in chunk.units}


@given(st.lists(st.integers(1, 500), min_size=2, max_size=30))
def test_halves_weigh_about_the_same(weights: list[int]) -> None:
    units = tuple(
        ChunkUnit(row=n, page=0, text="x", load=TextWeight(counted=w, n_bytes=w), whole_chars=1)
        for n, w in enumerate(weights)
    )
    left, right = split_chunk(Chunk(index=1, units=units), words) or ((), ())
    difference = abs(sum(u.load.n_bytes for u in left.units) - sum(u.load.n_bytes for u in right.units))
    assert difference <= 2 * max(weights)


def test_a_chunk_names_the_pages_and_records_it_is_made_of() -> None:
    chunk = packed(["a" * 40] * 8, 1000)[0]
    assert chunk.pages == (1, 2)
    assert chunk.n_records == 8


def test_the_reference_is_part_of_what_a_record_weighs() -> None:
    assert record_weight("abc", words).counted >= words("[99999] abc")
