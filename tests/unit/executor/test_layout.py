"""The short form of records: everything is still there, under its column, and it is shorter or not used."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adapters.json_text import compact
from runax_cli.executor.reduce.chunks import COLUMNS_MARK, Chunk, ChunkUnit, TextWeight, format_chunk
from runax_cli.models.rules.reading import records_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85\u2028\u2029"), max_size=30)
SCALARS = st.none() | TEXTS | st.integers() | st.booleans()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))
NAMES = ("id", "city", "a, b", "note", "nothing")


def chunk_of(records: list[dict[str, Any]]) -> Chunk:
    units = tuple(
        ChunkUnit(row=row, page=0, text=compact(record), load=TextWeight(), whole_chars=0)
        for row, record in enumerate(records, 1)
    )
    return Chunk(index=1, units=units)


def as_read(value: Any) -> Any:
    """A value as a cell gives it back: numbers and truth values as text, nothing for what is empty."""
    if isinstance(value, str | list | dict) or value is None:
        return value
    return compact(value)


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(NAMES, VALUES)), min_size=2, max_size=6))
def test_every_value_is_read_back_under_its_column(records: list[dict[str, Any]]) -> None:
    text = format_chunk(chunk_of(records))
    read = records_of(f"<records>\n{text}\n</records>")
    assert [ref for ref, _ in read] == [str(number) for number in range(1, len(records) + 1)]
    if not text.startswith(COLUMNS_MARK):
        return
    for record, (_, found) in zip(records, read, strict=True):
        for name, value in record.items():
            assert found.get(name) == as_read(value) or value in (None, "", [], {})


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES), min_size=1, max_size=6))
def test_it_is_never_longer_than_json(records: list[dict[str, Any]]) -> None:
    chunk = chunk_of(records)
    assert len(format_chunk(chunk)) <= len(chunk.text())


def test_the_names_stand_once_and_columns_that_are_empty_in_all_are_named() -> None:
    records = [{"id": n, "city": "Plzeň, Bory", "open": True, "tags": ["a"], "refund": None} for n in range(3)]
    assert format_chunk(chunk_of(records)) == (
        "[columns] id,city,open,tags (empty in all: refund)\n"
        '[1] 0,"Plzeň, Bory",true,["a"]\n[2] 1,"Plzeň, Bory",true,["a"]\n[3] 2,"Plzeň, Bory",true,["a"]'
    )


def test_parts_of_a_record_and_single_records_stay_json() -> None:
    single = chunk_of([{"id": 1, "city": "Brno"}])
    assert format_chunk(single) == single.text()
    unit = ChunkUnit(row=1, page=0, text='{"id": 1', load=TextWeight(), whole_chars=20, part=1, parts=2)
    parts = Chunk(index=1, units=(unit, unit))
    assert format_chunk(parts) == parts.text()
