"""Calls of a step are scheduled in waves, deferred, or blocked as duplicates."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Effect, ToolSpec
from runax_cli.guard.duplicates import CallHistory, CandidateCall, SameStep, SuppressCall
from runax_cli.guard.scheduling import DeferCall, OverLimit, RunCall, schedule

MakeTool = Callable[..., ToolSpec]


def test_reads_of_one_step_share_a_wave(make_tool: MakeTool) -> None:
    calls = [CandidateCall(make_tool("a"), "1"), CandidateCall(make_tool("b"), "2")]
    assert schedule(calls, {}, calls_left=None) == (RunCall(0), RunCall(0))


def test_a_write_has_its_own_wave_in_order(make_tool: MakeTool) -> None:
    tools = (make_tool("a"), make_tool("b", effect=Effect.WRITE), make_tool("c"), make_tool("d"))
    calls = [CandidateCall(tool, tool.name) for tool in tools]
    assert schedule(calls, {}, calls_left=None) == (RunCall(0), RunCall(1), RunCall(2), RunCall(2))


@pytest.mark.parametrize("alone", [{"parallel_safe": False}, {"requires_fresh_input": True}])
def test_a_call_that_runs_alone_defers_the_others(make_tool: MakeTool, alone: Any) -> None:
    tools = (make_tool("a"), make_tool("b", **alone), make_tool("c"), make_tool("d", **alone))
    calls = [CandidateCall(tool, tool.name) for tool in tools]
    assert schedule(calls, {}, calls_left=None) == (DeferCall(("b",)), RunCall(0), DeferCall(("b",)), DeferCall(("b",)))


def test_a_call_may_be_repeated_when_there_is_new_evidence(make_tool: MakeTool) -> None:
    past = {"1": CallHistory().after(is_success=True, dataset="tickets_1").at(2)}
    calls = [CandidateCall(make_tool(), "1")]
    assert schedule(calls, past, calls_left=None, version=2) == (SuppressCall("tickets_1"),)
    assert schedule(calls, past, calls_left=None, version=3) == (RunCall(0),)


def test_a_successful_write_is_never_repeated(make_tool: MakeTool) -> None:
    past = {"1": CallHistory().after(is_success=True).at(2)}
    tool = make_tool(effect=Effect.WRITE, requires_fresh_input=True)
    assert schedule([CandidateCall(tool, "1")], past, calls_left=None, version=3) == (SuppressCall(None),)


def test_a_tool_that_needs_fresh_input_is_never_a_duplicate(make_tool: MakeTool) -> None:
    past = {"1": CallHistory().after(is_success=True, dataset="tickets_1")}
    assert schedule([CandidateCall(make_tool(requires_fresh_input=True), "1")], past, calls_left=None) == (RunCall(0),)


def test_a_successful_call_is_blocked_with_its_dataset(make_tool: MakeTool) -> None:
    past = {"1": CallHistory().after(is_success=True, dataset="tickets_1")}
    assert schedule([CandidateCall(make_tool(), "1")], past, calls_left=None) == (SuppressCall("tickets_1"),)


def test_a_call_that_failed_may_be_repeated_once(make_tool: MakeTool) -> None:
    once = CallHistory().after(is_success=False)
    twice = once.after(is_success=False)
    calls = [CandidateCall(make_tool(), "1")]

    assert schedule(calls, {"1": once}, calls_left=None) == (RunCall(0),)
    assert schedule(calls, {"1": twice}, calls_left=None) == (SuppressCall(None, has_failed=True),)


def test_a_failed_write_is_not_repeated(make_tool: MakeTool) -> None:
    calls = [CandidateCall(make_tool(effect=Effect.WRITE), "1")]
    assert schedule(calls, {"1": CallHistory(failures=1)}, calls_left=None) == (SuppressCall(None, has_failed=True),)


def test_the_same_call_twice_in_a_step_runs_once(make_tool: MakeTool) -> None:
    calls = [CandidateCall(make_tool(), "1"), CandidateCall(make_tool(), "2"), CandidateCall(make_tool(), "1")]
    assert schedule(calls, {}, calls_left=None) == (RunCall(0), RunCall(0), SameStep(0))


def test_a_blocked_call_defers_nothing(make_tool: MakeTool) -> None:
    calls = [CandidateCall(make_tool("find"), "1"), CandidateCall(make_tool("book", parallel_safe=False), "2")]
    assert schedule(calls, {"2": CallHistory(is_success=True)}, calls_left=None) == (RunCall(0), SuppressCall(None))


def test_calls_beyond_the_limit_are_blocked(make_tool: MakeTool) -> None:
    calls = [CandidateCall(make_tool(), str(n)) for n in range(3)]
    assert schedule(calls, {}, calls_left=2) == (RunCall(0), RunCall(0), OverLimit())


def test_blocked_calls_do_not_count_against_the_limit(make_tool: MakeTool) -> None:
    calls = [CandidateCall(make_tool(), "1"), CandidateCall(make_tool(), "2")]
    assert schedule(calls, {"1": CallHistory(is_success=True)}, calls_left=1) == (SuppressCall(None), RunCall(0))


TOOLS = st.builds(
    lambda name, safe, fresh, effect: ToolSpec(
        name=name,
        description="",
        parameters={},
        source="s",
        locator=name,
        parallel_safe=safe,
        requires_fresh_input=fresh,
        effect=effect,
    ),
    st.sampled_from("abc"),
    st.booleans(),
    st.booleans(),
    st.sampled_from(Effect),
)
ASKED = st.lists(st.builds(CandidateCall, TOOLS, st.sampled_from("123456")), max_size=8)
PAST = st.dictionaries(
    st.sampled_from("123456"), st.builds(CallHistory, st.booleans(), st.none(), st.integers(0, 3)), max_size=4
)


@given(ASKED, PAST, st.none() | st.integers(0, 5))
def test_every_step_makes_progress_and_stays_in_its_limit(
    calls: list[CandidateCall], past: dict[str, CallHistory], calls_left: int | None
) -> None:
    decisions = schedule(calls, past, calls_left=calls_left)
    running = [index for index, decision in enumerate(decisions) if isinstance(decision, RunCall)]

    assert len(decisions) == len(calls)
    assert calls_left is None or len(running) <= calls_left
    assert len({calls[index].fingerprint for index in running}) == len(running)
    if any(isinstance(decision, DeferCall) for decision in decisions) and calls_left != 0:
        assert running, "a deferred call waits for one that runs"
    waves = [decision.wave for decision in decisions if isinstance(decision, RunCall)]
    assert waves == sorted(waves)
    assert set(waves) == set(range(len(set(waves))))
    for index in running:
        company = waves.count(decisions[index].wave)  # type: ignore[union-attr]
        assert company == 1 or (calls[index].tool.parallel_safe and calls[index].tool.effect is Effect.READ)
