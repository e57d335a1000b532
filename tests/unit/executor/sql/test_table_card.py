"""The table card: what it says about a table, within its tokens."""

from collections.abc import Callable
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.json_text import compact_json
from runax_cli.executor.sql.columns import describe_columns
from runax_cli.executor.sql.engine import QueryableTable, SqlEngine
from runax_cli.executor.sql.table_card import (
    RECORD_TOKENS,
    profile_table,
    records_within,
    render_card,
    sample_rows,
)
from runax_cli.models.base import ByteCounter
from tests.unit.executor.sql.conftest import EngineOver, engine_over_records

Card: TypeAlias = tuple[str, tuple[str, ...]]


def cards_of(engine: SqlEngine, table: QueryableTable) -> Callable[[int], Card]:
    """A function that renders the card of a table within a budget; the table is read once."""
    names = tuple(column.name for column in table.columns)
    samples = [dict(zip(names, row, strict=True)) for row in sample_rows(engine, table, names, 2)]
    profile = profile_table(engine, table)

    def render(budget: int) -> Card:
        card = render_card(profile, samples, ByteCounter(), coverage="complete: 4 of 4 records", budget_tokens=budget)
        return card.text, card.dropped

    return render


def card_of(engine: SqlEngine, table: QueryableTable, budget: int) -> Card:
    return cards_of(engine, table)(budget)


def test_a_card_shows_columns_types_values_and_coverage(orders: SqlEngine) -> None:
    text, dropped = card_of(orders, orders.tables["orders_1"], 4000)
    assert "Table orders_1: 4 rows; complete: 4 of 4 records." in text
    assert "city VARCHAR; Brno (2), Plzeň (2)" in text
    assert "price_num DOUBLE; price read as number, decimal comma; 1.5 … 4.5" in text
    assert dropped == ()


@settings(max_examples=5, deadline=None)
@given(width=st.integers(1, 120), budgets=st.lists(st.integers(300, 4000), min_size=5, max_size=8))
def test_a_card_stays_within_its_tokens_at_any_width(tmp_path_factory: Any, width: int, budgets: list[int]) -> None:
    folder = tmp_path_factory.mktemp("wide")
    engine = engine_over_records(folder, [{f"column_number_{n}": n * k for n in range(width)} for k in (1, 2)])
    render = cards_of(engine, engine.tables["orders_1"])
    for budget in budgets:
        text, dropped = render(budget)
        assert len(text.encode()) <= budget
        assert f"column_number_{width - 1} " in text or dropped
    engine.close()


def test_constant_and_empty_columns_are_dropped_first(engine_over: EngineOver) -> None:
    records = [{"id": n, "constant": "same", "empty": None, "city": f"town {n % 3}"} for n in range(9)]
    engine = engine_over(records)
    _, dropped = card_of(engine, engine.tables["orders_1"], 270)
    assert dropped
    assert set(dropped) <= {"constant", "empty"}


NESTED = [
    {"id": n, "plan": {"code": ["a", "b"][n % 2], "fee": 10 * n, "at": {"lat": n + 0.5}}, "tags": ["x", "y"][: n % 3]}
    for n in range(4)
]


def test_a_card_shows_the_values_of_fields_and_items(engine_over: EngineOver) -> None:
    engine = engine_over(NESTED)
    text, _ = card_of(engine, engine.tables["orders_1"], 4000)
    assert "  in plan: code: a, b; fee: 0 … 30; at.lat: 0.5 … 3.5" in text
    assert "  in tags: x, y" in text
    assert '"plan":{"code":"a","fee":0,"at":{"lat":0.5}}' in text


def test_fields_of_structs_in_a_list_cover_all_items(engine_over: EngineOver) -> None:
    lines = [{"lines": [{"kind": "tariff", "amount": 5}, {"kind": "extra", "amount": n}]} for n in (1, 9)]
    engine = engine_over(lines)
    text, _ = card_of(engine, engine.tables["orders_1"], 4000)
    assert "  in lines: kind: extra, tariff; amount: 1 … 9" in text


def test_identifiers_in_text_are_shown_as_text_and_not_as_numbers(
    engine_over: EngineOver,
) -> None:
    engine = engine_over([{"ticket": ticket} for ticket in ("113803", "A/5 21171", "PC 17599", "17463", "0373")])
    text, _ = card_of(engine, engine.tables["orders_1"], 4000)
    assert "ticket VARCHAR; 0373 (1), 113803 (1), 17463 (1), A/5 21171 (1), PC 17599 (1)" in text
    assert "_num" not in text


def test_different_texts_are_counted_where_they_are_text_and_not_where_they_are_numbers(
    engine_over: EngineOver,
) -> None:
    engine = engine_over([{"price": price} for price in ("1.0", "1", "2", "n/a")])
    text, _ = card_of(engine, engine.tables["orders_1"], 4000)
    assert "price VARCHAR; 4 distinct, e.g. 1; as number price_num" in text
    assert "price_num DOUBLE; 25% null; price read as number, 1 don't fit; 1.0 … 2.0\n" in text


def test_the_keys_of_maps_and_of_json_objects_are_shown(engine_over: EngineOver) -> None:
    engine = engine_over([{"by": [{f"k{n}": 1}, 5], "box": {"in": [{"a": 1}]}} for n in range(20)])
    engine._connection.execute(
        "CREATE OR REPLACE VIEW orders_1 AS SELECT row, MAP {'a': row, 'b' || (row % 2): 1} AS m FROM raw_orders_1"
    )
    table = QueryableTable("orders_1", engine.folder, describe_columns(engine._connection, "orders_1"))
    text, _ = card_of(engine, table, 4000)
    assert "m MAP(VARCHAR, BIGINT)" in text
    assert "  keys of m (3): a, b0, b1" in text


def test_a_long_type_is_replaced_by_the_paths_of_its_fields(engine_over: EngineOver) -> None:
    lines = [{"sku_of_the_article": "a", "parts": [{"weight_in_grams": 1, "codes": ["x"]}]}]
    wide = {f"a_field_with_a_long_name_{n}": n for n in range(9)}
    engine = engine_over([{"order": {"lines": lines, **wide}}])
    text, _ = card_of(engine, engine.tables["orders_1"], 4000)
    assert '"order" STRUCT' in text
    assert (
        'fields of "order": lines[].sku_of_the_article, lines[].parts[].weight_in_grams, lines[].parts[].codes[]'
        in text
    )


@given(
    st.lists(st.dictionaries(st.text(max_size=9), st.text(max_size=90), max_size=4), max_size=5), st.integers(0, 900)
)
def test_records_beside_a_card_are_whole_and_within_their_tokens(records: list[Any], budget: int) -> None:
    named = [(f"orders_1#{row}", record) for row, record in enumerate(records, start=1)]
    shown = records_within(named, ByteCounter(), budget_tokens=budget)
    assert list(shown.items()) == named[: len(shown)]
    assert not shown or len(compact_json(shown).encode()) <= min(budget, RECORD_TOKENS)
