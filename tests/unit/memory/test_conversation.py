"""History keeps questions and answers; working memory folds results and loses none."""

from runax_cli.memory.conversation import Exchange, History, RecordEntity, WorkingMemory
from runax_cli.models.base import Message


def test_the_latest_exchanges_that_fit_come_back_oldest_first() -> None:
    history = History()
    for number in range(3):
        history.add(f"q{number}", "a" * 8)
    assert history.latest(25, measure=len) == (Exchange("q1", "a" * 8), Exchange("q2", "a" * 8))
    assert history.latest(0, measure=len) == ()


def test_an_exchange_that_does_not_fit_ends_the_view_even_where_an_older_one_would_fit() -> None:
    history = History()
    for answer in ("a", "a" * 100, "a"):
        history.add("q", answer)
    assert len(history.latest(10, measure=len)) == 1


def test_a_turn_without_an_answer_is_not_remembered() -> None:
    history = History()
    history.add("q", "  ")
    assert history.exchanges == []


def test_results_are_folded_in_place() -> None:
    memory = WorkingMemory()
    memory.add(Message("assistant", "hm"))
    memory.add_result("a", "a long result", pointer="short")
    memory.add_result("b", "tiny", pointer="not shorter")

    assert list(memory.foldable()) == ["a"]
    memory.fold("a")

    assert list(memory.foldable()) == []
    assert memory.messages == (
        Message("assistant", "hm"),
        Message("tool", "short", tool_call_id="a"),
        Message("tool", "tiny", tool_call_id="b"),
    )


def test_what_a_result_named_is_kept_when_it_is_folded() -> None:
    memory = WorkingMemory()
    seen, hidden = RecordEntity("customers", "4", "Baláž"), RecordEntity("tickets", "17")
    memory.add_result("a", "a long result", pointer="short", named=[seen])
    memory.add_result("b", "findings", pointer="p", named=[hidden], is_in_view=False)

    assert memory.named == (hidden,), "what stands in the messages is not repeated"
    memory.fold("a")
    assert memory.named == (seen, hidden)
