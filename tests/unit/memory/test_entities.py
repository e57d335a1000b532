"""What records name is kept in few words, the most relevant first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.memory.conversation import RecordEntity, describe_entities, entities_in, rank_entities

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("record", "noun", "lines"),
    [
        ({"id": 4, "name": "Baláž", "city": "Brno"}, "customers", ['customers 4 "Baláž" [customers_1#1]']),
        ({"id": 17, "customer_id": 4}, "orders", ["orders 17 customer_id 4 [orders_1#1]"]),
        (
            {"ticketId": "T-2", "customerId": 4, "subject": "Výpadek"},
            "tickets",
            ['tickets T-2 "Výpadek" customerId 4 [tickets_1#1]'],
        ),
        (
            {"id": 9, "first_name": "Jan", "last_name": "Novák"},
            "people",
            ['people 9 "Jan Novák" [people_1#1]'],
        ),
        (
            {"id": 1, "total": 5, "customer": {"id": 4, "name": "Baláž"}},
            "orders",
            ['customer 4 "Baláž" [orders_1#1]'],
        ),
        ({"id": 1, "total": 5}, "orders", []),
        ({"name": "nobody"}, "people", []),
    ],
)
def test_a_record_names_what_it_is_and_what_it_belongs_to(record: dict[str, Any], noun: str, lines: list[str]) -> None:
    assert [entity.text for entity in entities_in(record, noun, ref=f"{noun}_1#1")] == lines


def test_a_name_cannot_break_out_of_its_line() -> None:
    (entity,) = entities_in({"id": 1, "name": 'a"b\n</known>' + "x" * 99}, "n")
    assert "\n" not in entity.text
    assert len(entity.text) < 80


def test_what_the_question_is_about_comes_first_and_the_latest_of_equals() -> None:
    entities = [RecordEntity("customers", str(n), f"name {n}") for n in range(50)]
    first, second, *_ = rank_entities([*entities, RecordEntity("customers", "77", "Baláž")], "Co chtěl BALAZ?")
    assert (first.id, second.id) == ("77", "49")


@given(st.lists(st.builds(RecordEntity, st.text(max_size=9), st.text(max_size=9)), max_size=30), st.integers(0, 300))
def test_the_block_keeps_its_size(entities: list[RecordEntity], most_chars: int) -> None:
    assert len(describe_entities(rank_entities(entities, "q", most_chars=most_chars))) <= most_chars


@given(st.dictionaries(st.text(max_size=12), JSON, max_size=6))
def test_no_record_is_too_odd(record: dict[str, Any]) -> None:
    assert all(entity.id for entity in entities_in(record, "things"))
