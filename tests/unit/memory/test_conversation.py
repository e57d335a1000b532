"""History keeps questions and answers; working memory folds results and loses none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.memory.conversation import (
    Exchange,
    History,
    RecordEntity,
    WorkingMemory,
    describe_entities,
    entities_in,
    rank_entities,
)
from runax_cli.models.base import Message


def test_the_latest_exchanges_that_fit_come_back_oldest_first() -> None:
    history = History()
    for number in range(3):
        history.add(f"q{number}", "a" * 8)
    assert history.latest(25, measure=len) == (Exchange("q1", "a" * 8), Exchange("q2", "a" * 8))
    assert history.latest(0, measure=len) == ()


def test_an_exchange_that_does_not_fit_ends_the_history_even_if_an_older_one_would_fit() -> None:
    history = History()
    for answer in ("a", "a" * 100, "a"):
        history.add("q", answer)
    assert len(history.latest(10, measure=len)) == 1


def test_a_turn_without_an_answer_is_not_remembered() -> None:
    history = History()
    history.add("q", "  ")
    assert history.exchanges == []


def test_results_are_collapsed_in_place() -> None:
    memory = WorkingMemory()
    memory.add(Message("assistant", "hm"))
    memory.add_result("a", "a long result", pointer="short")
    memory.add_result("b", "tiny", pointer="not shorter")

    assert list(memory.collapsible()) == ["a"]
    memory.collapse("a")

    assert list(memory.collapsible()) == []
    assert memory.messages == (
        Message("assistant", "hm"),
        Message("tool", "short", tool_call_id="a"),
        Message("tool", "tiny", tool_call_id="b"),
    )


def test_the_entities_of_a_collapsed_result_are_kept() -> None:
    memory = WorkingMemory()
    seen, hidden = RecordEntity("customers", "4", "Baláž"), RecordEntity("tickets", "17")
    memory.add_result("a", "a long result", pointer="short", named=[seen])
    memory.add_result("b", "findings", pointer="p", named=[hidden], is_visible=False)

    assert memory.named == (hidden,), "content of the messages is not repeated"
    memory.collapse("a")
    assert memory.named == (seen, hidden)


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
def test_a_record_yields_its_own_entity_and_its_links(record: dict[str, Any], noun: str, lines: list[str]) -> None:
    assert [entity.text for entity in entities_in(record, noun, ref=f"{noun}_1#1")] == lines


def test_a_name_cannot_break_out_of_its_line() -> None:
    (entity,) = entities_in({"id": 1, "name": 'a"b\n</known>' + "x" * 99}, "n")
    assert "\n" not in entity.text
    assert len(entity.text) < 80


def test_entities_are_ranked_by_relevance_then_recency() -> None:
    entities = [RecordEntity("customers", str(n), f"name {n}") for n in range(50)]
    first, second, *_ = rank_entities([*entities, RecordEntity("customers", "77", "Baláž")], "Co chtěl BALAZ?")
    assert (first.id, second.id) == ("77", "49")


@given(st.lists(st.builds(RecordEntity, st.text(max_size=9), st.text(max_size=9)), max_size=30), st.integers(0, 300))
def test_ranking_respects_the_size_limit(entities: list[RecordEntity], max_chars: int) -> None:
    assert len(describe_entities(rank_entities(entities, "q", max_chars=max_chars))) <= max_chars


@given(st.dictionaries(st.text(max_size=12), JSON, max_size=6))
def test_any_record_can_be_read(record: dict[str, Any]) -> None:
    assert all(entity.id for entity in entities_in(record, "things"))
