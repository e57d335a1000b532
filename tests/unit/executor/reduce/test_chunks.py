"""Chunks: records are packed in order, whole and within the budget, and formatted without loss."""

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.json_text import compact_json
from runax_cli.executor.reduce.chunks import (
    COLUMNS_MARK,
    Chunk,
    ChunkPacker,
    ChunkUnit,
    TextWeight,
    format_chunk,
    record_units,
    record_weight,
    split_chunk,
)
from runax_cli.models.rules.reading import records_of

texts = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=400), max_size=60)
budgets = st.integers(min_value=60, max_value=300)


def words(text: str) -> int:
    """A count that adds up over lines: one token for every three characters of a line, rounded up."""
    return sum(-(-(len(line) + 1) // 3) for line in text.split("\n"))


def packed(records: list[str], budget: int) -> list[Chunk]:
    def fits(weight: TextWeight) -> bool:
        return weight.counted <= budget

    packer = ChunkPacker(fits)
    units = (
        unit
        for row, text in enumerate(records, start=1)
        for unit in record_units(text, row=row, page=row // 7, measure=words, fits=fits)
    )
    chunks = [chunk for unit in units if (chunk := packer.add(unit))]
    last = packer.close()
    return [*chunks, last] if last else chunks


@given(texts, budgets)
def test_every_record_is_packed_once_whole_and_in_order(records: list[str], budget: int) -> None:
    units = [unit for chunk in packed(records, budget) for unit in chunk.units]
    rows: dict[int, str] = {}
    for unit in units:
        rows[unit.row] = rows.get(unit.row, "") + unit.text
    assert list(rows.values()) == records
    assert [unit.row for unit in units] == sorted(unit.row for unit in units)


@given(texts, budgets)
def test_no_chunk_exceeds_the_budget(records: list[str], budget: int) -> None:
    for chunk in packed(records, budget):
        assert words(chunk.text()) <= chunk.weight.counted <= budget


@given(texts, budgets)
def test_a_chunk_is_closed_only_if_the_next_unit_does_not_fit(records: list[str], budget: int) -> None:
    chunks = packed(records, budget)
    for chunk, following in pairwise(chunks):
        assert chunk.weight.counted + following.units[0].weight.counted > budget
    assert [chunk.index for chunk in chunks] == list(range(1, len(chunks) + 1))


@given(st.text(min_size=200, max_size=3000).map(lambda text: text.replace("\n", " ")), budgets)
def test_parts_of_a_large_record_share_its_row_and_are_numbered(text: str, budget: int) -> None:
    units = list(record_units(text, row=3, page=0, measure=words, fits=lambda weight: weight.counted <= budget))
    if len(units) == 1:
        assert units[0].part == 0
        return
    assert [(unit.part, unit.parts) for unit in units] == [(n, len(units)) for n in range(1, len(units) + 1)]
    assert {(unit.row, unit.record_chars) for unit in units} == {(3, len(text))}
    assert units[1].line(1).startswith(f"[1 part 2/{len(units)}] ")


@given(texts.filter(any), budgets)
def test_splitting_a_chunk_loses_nothing(records: list[str], budget: int) -> None:
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
def test_split_chunks_have_about_the_same_weight(weights: list[int]) -> None:
    units = tuple(
        ChunkUnit(row=n, page=0, text="x", weight=TextWeight(counted=w, n_bytes=w), record_chars=1)
        for n, w in enumerate(weights)
    )
    left, right = split_chunk(Chunk(index=1, units=units), words) or ((), ())
    difference = abs(sum(u.weight.n_bytes for u in left.units) - sum(u.weight.n_bytes for u in right.units))
    assert difference <= 2 * max(weights)


def test_a_chunk_knows_its_pages_and_records() -> None:
    chunk = packed(["a" * 40] * 8, 1000)[0]
    assert chunk.pages == (1, 2)
    assert chunk.n_records == 8


def test_the_weight_of_a_record_includes_its_reference() -> None:
    assert record_weight("abc", words).counted >= words("[99999] abc")


CELL_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029"), max_size=30)
SCALARS = st.none() | CELL_TEXTS | st.integers() | st.booleans()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(CELL_TEXTS, inner, max_size=3),
    max_leaves=8,
)
NAMES = ("id", "city", "a, b", "note", "nothing")


def chunk_of(records: list[dict[str, Any]]) -> Chunk:
    units = tuple(
        ChunkUnit(row=row, page=0, text=compact_json(record), weight=TextWeight(), record_chars=0)
        for row, record in enumerate(records, 1)
    )
    return Chunk(index=1, units=units)


def as_read(value: Any) -> Any:
    """Return a value as it is read from a cell: numbers and booleans are text."""
    if isinstance(value, str | list | dict) or value is None:
        return value
    return compact_json(value)


@settings(max_examples=40)
@given(st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, VALUES)), min_size=2, max_size=4))
def test_every_value_of_a_formatted_chunk_is_under_its_column(records: list[dict[str, Any]]) -> None:
    text = format_chunk(chunk_of(records))
    read = records_of(f"<records>\n{text}\n</records>")
    assert [ref for ref, _ in read] == [str(number) for number in range(1, len(records) + 1)]
    if not text.startswith(COLUMNS_MARK):
        return
    for record, (_, found) in zip(records, read, strict=True):
        for name, value in record.items():
            assert found.get(name) == as_read(value) or value in (None, "", [], {})


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES), min_size=1, max_size=6))
def test_a_formatted_chunk_is_never_longer_than_json(records: list[dict[str, Any]]) -> None:
    chunk = chunk_of(records)
    assert len(format_chunk(chunk)) <= len(chunk.text())


def test_column_names_are_in_the_header_with_empty_columns_listed() -> None:
    records = [{"id": n, "city": "Plzeň, Bory", "open": True, "tags": ["a"], "refund": None} for n in range(3)]
    assert format_chunk(chunk_of(records)) == (
        "[columns] id,city,open,tags (empty in all: refund)\n"
        '[1] 0,"Plzeň, Bory",true,["a"]\n[2] 1,"Plzeň, Bory",true,["a"]\n[3] 2,"Plzeň, Bory",true,["a"]'
    )


def test_single_records_and_parts_of_records_are_formatted_as_json() -> None:
    single = chunk_of([{"id": 1, "city": "Brno"}])
    assert format_chunk(single) == single.text()
    unit = ChunkUnit(row=1, page=0, text='{"id": 1', weight=TextWeight(), record_chars=20, part=1, parts=2)
    parts = Chunk(index=1, units=(unit, unit))
    assert format_chunk(parts) == parts.text()
