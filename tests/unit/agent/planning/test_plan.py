"""Plans: made by rule, repaired after mistakes of the planner, and executed in an order that always ends."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.planning.plan import (
    MAX_SUB_QUESTIONS,
    Plan,
    SubQuestion,
    dependents_of,
    plan_by_rule,
    plan_from_reply,
    ready_to_start,
    revise_plan,
    single_plan,
)
from runax_cli.agent.planning.planner import parse_plan_reply

numbers = st.integers(min_value=-2, max_value=12)
sub_questions = st.builds(
    SubQuestion,
    question=st.sampled_from(["", "  ", "a?", "b?", "c?", "d?", "e?", "f?", "g?", "h?", "i?"]),
    need=st.sampled_from(["read", "compute"]),
    after=st.lists(numbers, max_size=4).map(tuple),
    expects=st.sampled_from(["", "a number"]),
)


def sub(question: str, *after: int, need: Any = "read") -> SubQuestion:
    return SubQuestion(question=question, need=need, after=after)


def worked_off(plan: Plan, pick: Sequence[int]) -> list[int]:
    """The order in which parts are executed if `pick` chooses the next one."""
    begun: set[int] = set()
    done: list[int] = []
    for choice in [*pick, *[0] * len(plan.sub_questions)]:
        begun |= set(ready_to_start(plan, started=begun, done=done))
        running = sorted(begun - set(done))
        if running:
            done.append(running[choice % len(running)])
    return done


def test_a_plainly_single_question_needs_no_planner_and_says_why() -> None:
    plan = plan_by_rule("Kolik tiketů má zákazník 4?")
    assert plan is not None
    assert plan.is_single
    assert plan.rule == "one sub-question, need 'compute': 'kolik' asks for a figure"
    assert plan.sub_question(1).question == "Kolik tiketů má zákazník 4?"


def test_a_question_of_several_is_left_to_the_planner() -> None:
    assert plan_by_rule("Who is A? Who is B?") is None


@given(st.lists(sub_questions, max_size=9))
def test_every_plan_is_sound_whatever_the_planner_says(parts: list[SubQuestion]) -> None:
    plan = plan_from_reply("Who? And who?", parts)
    assert 1 <= len(plan.sub_questions) <= MAX_SUB_QUESTIONS
    assert all(part.question.strip() for part in plan.sub_questions)
    assert len({part.question for part in plan.sub_questions}) == len(plan.sub_questions)
    for number in plan.numbers:
        assert set(plan.sub_question(number).after) <= set(plan.numbers) - {number}


@given(st.lists(sub_questions, max_size=9), st.lists(st.integers(min_value=0, max_value=9), max_size=9))
def test_every_part_is_done_once_and_after_all_that_it_waits_for(parts: list[SubQuestion], pick: list[int]) -> None:
    plan = plan_from_reply("Who? And who?", parts)
    done = worked_off(plan, pick)
    assert sorted(done) == list(plan.numbers)
    for number in plan.numbers:
        assert {done.index(n) for n in plan.sub_question(number).after} <= set(range(done.index(number)))


@given(st.lists(sub_questions, min_size=2, max_size=6))
def test_who_waits_for_a_part_never_waits_for_itself(parts: list[SubQuestion]) -> None:
    plan = plan_from_reply("Who? And who?", parts)
    assert all(number not in dependents_of(plan, number) for number in plan.numbers)


def test_independent_parts_are_ready_at_once_and_dependents_later() -> None:
    plan = plan_from_reply("a? b? c?", [sub("a?"), sub("b?"), sub("c?", 1, 2)])
    assert ready_to_start(plan, started=(), done=()) == (1, 2)
    assert ready_to_start(plan, started=(1, 2), done=(1,)) == ()
    assert ready_to_start(plan, started=(1, 2), done=(1, 2)) == (3,)
    assert dependents_of(plan, 1) == {3}


def test_a_circle_is_opened_and_told() -> None:
    plan = plan_from_reply("a? b?", [sub("a?", 2), sub("b?", 1)])
    assert [part.after for part in plan.sub_questions] == [(), (1,)]
    assert plan.repairs == ("removed a circular dependency of sub-question 1",)


def test_an_empty_plan_is_the_question_itself_with_a_warning() -> None:
    plan = plan_from_reply("Who? And who?", [])
    assert (plan.is_single, plan.sub_question(1).question) == (True, "Who? And who?")
    assert plan.repairs == ("the plan has no sub-questions",)


def test_a_plan_of_one_part_is_the_question_in_the_users_own_words() -> None:
    plan = plan_from_reply("Compare A.", [sub("What about A?", need="compute")])
    assert (plan.sub_question(1).question, plan.sub_question(1).need, plan.repairs) == ("Compare A.", "compute", ())


def test_parts_beyond_the_limit_are_asked_as_one() -> None:
    plan = plan_from_reply("?", [sub(f"q{letter}?", *((7,) if letter == "a" else ())) for letter in "abcdefgh"])
    assert len(plan.sub_questions) == MAX_SUB_QUESTIONS
    assert plan.sub_question(6).question == "qf? qg? qh?"
    assert plan.sub_question(1).after == (6,)
    assert plan.repairs == ("merged sub-questions 6 to 8 into one",)


def test_dependencies_follow_when_a_part_is_left_out() -> None:
    plan = plan_from_reply("?", [sub(""), sub("a?"), sub("b?", 1, 2), sub("a?")])
    assert [(part.question, part.after) for part in plan.sub_questions] == [("a?", ()), ("b?", (1,))]


def test_a_plan_that_loses_a_name_is_not_followed() -> None:
    question = 'How many tickets has "Baláž" and how many has customer 17?'
    kept = plan_from_reply(question, [sub("How many tickets has Balaz?"), sub("How many tickets has customer 17?")])
    assert len(kept.sub_questions) == 2
    lost = plan_from_reply(
        question, [sub("How many tickets has the first one?"), sub("How many tickets has customer 17?")]
    )
    assert lost.is_single
    assert lost.repairs == ("no sub-question mentions 'balaz' from the question, so it is answered as a whole",)


def test_a_revision_changes_open_parts_alone() -> None:
    plan = plan_from_reply("a? b? c?", [sub("a?"), sub("b?", 1), sub("c?", 2)])
    after = revise_plan(plan, {1: sub("x?"), 2: sub("y?", 1, 3), 3: sub(" ", 1)}, open_numbers=(2, 3))
    assert [part.question for part in after.sub_questions] == ["a?", "y?", "c?"]
    assert [part.after for part in after.sub_questions] == [(), (1,), (2,)]


@given(st.lists(sub_questions, min_size=2, max_size=6), st.dictionaries(numbers, sub_questions, max_size=4))
def test_a_revised_plan_is_as_sound_as_any(parts: list[SubQuestion], changes: dict[int, SubQuestion]) -> None:
    plan = plan_from_reply("Who? And who?", parts)
    after = revise_plan(plan, changes, open_numbers=list(plan.numbers))
    assert sorted(worked_off(after, [])) == list(plan.numbers)


@pytest.mark.parametrize(
    "reply",
    ["", "null", "[]", '{"parts": 3}', '{"parts": [1, "a", null, []]}', '{"parts": [{"after": "x", "question": 3}]}'],
)
def test_any_reply_can_be_read(reply: str) -> None:
    assert plan_from_reply("q? r?", [part for _, part in parse_plan_reply(reply)]).is_single


def test_a_reply_is_read_with_everything_in_it() -> None:
    part = {"number": 2, "question": " How\nmany? ", "need": "compute", "after": [1, True, "2"], "must_contain": "n"}
    ((number, read),) = parse_plan_reply(json.dumps({"parts": [part]}))
    assert (number, read) == (2, SubQuestion(question="How many?", need="compute", after=(1,), expects="n"))


def test_a_single_plan_names_the_need_of_the_wording() -> None:
    assert single_plan("Kolik?").sub_question(1).need == "compute"


def figure(question: str, *tools: str, after: tuple[int, ...] = ()) -> SubQuestion:
    return SubQuestion(question=question, need="compute", after=after, tools=frozenset(tools))


def test_figures_over_the_records_of_the_same_tool_are_one_part_in_the_users_own_words() -> None:
    question = "Which customer spent most and how many orders did they make?"
    first, second = "Which customer spent most?", "How many orders did the customer of part 1 make?"
    plan = plan_from_reply(question, [figure(first, "list_orders"), figure(second, "list_orders", after=(1,))])
    assert (plan.is_single, plan.sub_question(1).question, plan.sub_question(1).need) == (True, question, "compute")
    assert "its 2 parts need the same records" in plan.rule
    assert plan.repairs == ()


def test_parts_over_other_records_and_readings_stay_parts() -> None:
    reading = SubQuestion(question="What do they say?", need="read", tools=frozenset({"list_orders"}))
    parts = [figure("a?", "list_orders"), figure("b?", "list_payments"), reading]
    assert len(plan_from_reply("a? b? c?", parts).sub_questions) == 3
    assert len(plan_from_reply("a? b?", [figure("a?", "x"), figure("b?", "x", "y", after=(1,))]).sub_questions) == 2
    assert len(plan_from_reply("a? b?", [figure("a?"), figure("b?")]).sub_questions) == 2


def test_a_comparison_of_merged_figures_is_merged_with_them_and_others_follow_the_new_numbers() -> None:
    parts = [
        figure("How many has customer 4?", "orders"),
        figure("How many has customer 17?", "orders"),
        SubQuestion(question="Why?", need="read", after=(2,)),
        figure("Which has more?", after=(1, 2)),
    ]
    plan = plan_from_reply("4 or 17, and why?", parts)
    assert [(part.question, part.after) for part in plan.sub_questions] == [
        ("How many has customer 4? How many has customer 17? Which has more?", ()),
        ("Why?", (1,)),
    ]
    assert plan.rule.endswith("4 before those that need the same records were merged")


def test_nothing_is_merged_if_it_would_wait_for_itself() -> None:
    parts = [figure("a?", "x", after=(2,)), figure("b?", "y", after=(3,)), figure("c?", "x")]
    assert [part.after for part in plan_from_reply("?", parts).sub_questions] == [(2,), (3,), ()]
