"""Types of records: alike for one record and for fifty, maps for keys that are data, text for mixed scalars."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.sql.engine import SqlEngine
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.sql.record_types import (
    ListType,
    MapType,
    RecordType,
    ScalarType,
    StructType,
    merged,
    parse_type,
)
from runax_cli.executor.store.dataset import Dataset

SCALARS = st.sampled_from(["BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "JSON", '"NULL"']).map(ScalarType)
NAMES = st.text(min_size=1, max_size=5).filter(lambda name: "\x00" not in name)
TYPES: st.SearchStrategy[RecordType] = st.recursive(
    SCALARS,
    lambda inner: (
        inner.map(ListType) | inner.map(MapType) | st.dictionaries(NAMES, inner, min_size=1, max_size=4).map(StructType)
    ),
    max_leaves=6,
)


@pytest.fixture
def sealed(tmp_path: Path) -> Callable[..., SqlEngine]:
    """Seal records as dataset `products_N` and return an engine with it as table `products_1`."""

    def make(records: list[dict[str, Any]]) -> SqlEngine:
        folder = tmp_path / f"products_{len(records)}"
        folder.mkdir()
        dataset = Dataset("products_1", folder)
        dataset.add_page(0, records, position="0")
        seal(dataset)
        engine = SqlEngine(folder)
        engine.add_table("products_1", dataset.table_path)
        return engine

    return make


def product(n: int) -> dict[str, Any]:
    """A product with a map of nutriments, prices by day, a struct of few fields, and a value of mixed kinds."""
    return {
        "id": n,
        "nutriments": {f"nutriment{k}_100g": k + n / 2 for k in range(n, n + 60)},
        "prices": {f"2026-01-{n % 28 + 1:02}": 10 * n},
        "size": {"width": n, "height": 2 * n} | ({"depth": 1} if n % 9 == 0 else {}),
        "parts": [{"by_id": {str(n): {"weight": 1.5}}}],
    }


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("SELECT nutriments['nutriment30_100g'] FROM products_1 ORDER BY row", 30.5),
        ("SELECT list_sum(map_values(prices)) FROM products_1 ORDER BY row", 10),
        ("SELECT size.width FROM products_1 ORDER BY row", 1),
        ("SELECT parts[1].by_id['1'].weight FROM products_1 ORDER BY row", 1.5),
    ],
)
def test_one_record_and_fifty_answer_the_same_sql(sealed: Callable[..., SqlEngine], sql: str, first: float) -> None:
    one, fifty = sealed([product(1)]), sealed([product(n) for n in range(1, 51)])
    assert one.select(sql).rows[0] == fifty.select(sql).rows[0] == (first,)


def test_the_types_of_one_record_and_of_fifty_are_the_same_but_for_fields(sealed: Callable[..., SqlEngine]) -> None:
    engines = [sealed([product(n) for n in range(1, most)]) for most in (2, 51)]
    one, fifty = ([c.type.split("(")[0] for c in engine.tables["products_1"].columns] for engine in engines)
    assert one == fifty


def test_a_few_numbers_among_titles_make_text_and_not_json(sealed: Callable[..., SqlEngine]) -> None:
    titles = [1984 if n % 7 == 0 else f"Title {n}" for n in range(63)]
    engine = sealed([{"title": title, "book": {"title": title}, "all": [title]} for title in titles])
    types = {column.name: column.type for column in engine.tables["products_1"].columns}
    assert types == {"row": "BIGINT", "title": "VARCHAR", "book": "STRUCT(title VARCHAR)", "all": "VARCHAR[]"}
    statement = "SELECT title, book.title, all[1] FROM products_1 ORDER BY row LIMIT 2".replace("all", '"all"')
    assert engine.select(statement).rows == (("1984",) * 3, ("Title 1",) * 3)


def test_values_that_may_be_objects_stay_json(sealed: Callable[..., SqlEngine]) -> None:
    engine = sealed([{"value": 1}, {"value": {"a": 1}}, {"value": "x"}])
    assert engine.select("SELECT value->>'$.a' FROM products_1 ORDER BY row").rows == ((None,), ("1",), (None,))


def test_a_large_record_with_values_of_many_kinds_stays_a_struct(sealed: Callable[..., SqlEngine]) -> None:
    values: list[Any] = ["x", 1, True, {"a": 1}]
    engine = sealed([{"repository": {f"field_{n}": values[n % 4] for n in range(60)}}])
    assert engine.select("SELECT repository.field_0, repository.field_3.a FROM products_1").rows == (("x", 1),)


def test_dates_beside_a_map_are_still_dates(sealed: Callable[..., SqlEngine]) -> None:
    engine = sealed([{"on": "2026-01-02", "at": "2026-01-02T10:00:00Z", "counts": {"17": 1}}] * 3)
    types = {column.name: column.type for column in engine.tables["products_1"].columns}
    assert types == {"row": "BIGINT", "on": "DATE", "at": "TIMESTAMP", "counts": "MAP(VARCHAR, BIGINT)"}


def test_records_keep_their_order_beside_a_map(sealed: Callable[..., SqlEngine]) -> None:
    engine = sealed([{"n": n, "counts": {str(n): n}} for n in range(30_000)])
    statement = "SELECT count(*) FROM products_1 WHERE counts[n::VARCHAR] = n AND row = n + 1"
    assert engine.select(statement).rows == ((30_000,),)


@given(TYPES)
def test_a_type_is_parsed_as_it_is_written(kind: RecordType) -> None:
    assert parse_type(str(kind)) == kind


@given(TYPES, TYPES)
def test_merging_takes_both_types_in_any_order(first: RecordType, second: RecordType) -> None:
    assert merged(first, first) == first
    assert _unordered(merged(first, second)) == _unordered(merged(second, first))


def _unordered(kind: RecordType) -> object:
    match kind:
        case ListType(item):
            return ["list", _unordered(item)]
        case MapType(value):
            return ["map", _unordered(value)]
        case StructType(fields):
            return {name: _unordered(inner) for name, inner in fields.items()}
        case ScalarType(name):
            return name
