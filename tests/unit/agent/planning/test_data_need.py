"""Greetings and questions about runax need no data; everything else does, unless it may be about the last answer."""

import pytest

from runax_cli.agent.planning.data_need import needs_data

NOUNS = frozenset({"store", "customer"})


@pytest.mark.parametrize(
    "question",
    ["Hello!", "Thanks, that was helpful!", "Dobrý den", "Danke!", "What can you do?", "Who are you?", "Co umíš?"],
)
def test_small_talk_and_questions_about_runax_need_none(question: str) -> None:
    assert not needs_data(question, NOUNS)


@pytest.mark.parametrize("question", ["Are there stores in Puerto Rico?", "Why?", "Hello, how many stores are there?"])
def test_any_other_first_question_needs_data(question: str) -> None:
    assert needs_data(question, NOUNS)


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("Translate that into German.", False),
        ("How many of them are open?", True),
        ("And the stores in Brno?", True),
        ("A co zákazníci z Brna?", True),
    ],
)
def test_after_data_was_read_only_figures_and_nouns_of_tools_need_more(question: str, *, needs: bool) -> None:
    assert needs_data(question, NOUNS, has_earlier_data=True) is needs
