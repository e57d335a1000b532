"""The table card: what it says about a table, within its tokens."""

from collections.abc import Callable
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from runax_cli.executor.sql.engine import QueryableTable, SqlEngine
from runax_cli.executor.sql.table_card import profile_table, render_card, sample_rows
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
