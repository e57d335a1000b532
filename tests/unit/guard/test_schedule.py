"""Which calls of a step run, which wait, and which are not made again."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Effect, ToolSpec
from runax_cli.guard.scheduling import Asked, Defer, OverLimit, Past, Run, SameStep, Suppress, schedule

MakeTool = Callable[..., ToolSpec]


def test_reading_calls_of_one_step_share_a_wave(make_tool: MakeTool) -> None:
    asked = [Asked(make_tool("a"), "1"), Asked(make_tool("b"), "2")]
    assert schedule(asked, {}, calls_left=None) == (Run(0), Run(0))


def test_a_write_has_a_wave_of_its_own_in_the_order_asked_for(make_tool: MakeTool) -> None:
    tools = (make_tool("a"), make_tool("b", effect=Effect.WRITE), make_tool("c"), make_tool("d"))
    asked = [Asked(tool, tool.name) for tool in tools]
    assert schedule(asked, {}, calls_left=None) == (Run(0), Run(1), Run(2), Run(2))


@pytest.mark.parametrize("alone", [{"parallel_safe": False}, {"requires_fresh_input": True}])
def test_what_runs_alone_runs_and_the_others_of_its_step_are_deferred(make_tool: MakeTool, alone: Any) -> None:
    tools = (make_tool("a"), make_tool("b", **alone), make_tool("c"), make_tool("d", **alone))
    asked = [Asked(tool, tool.name) for tool in tools]
    assert schedule(asked, {}, calls_left=None) == (Defer(("b",)), Run(0), Defer(("b",)), Defer(("b",)))


def test_a_call_may_be_repeated_when_there_is_new_evidence(make_tool: MakeTool) -> None:
    past = {"1": Past().after(is_success=True, dataset="tickets_1").at(2)}
    asked = [Asked(make_tool(), "1")]
    assert schedule(asked, past, calls_left=None, version=2) == (Suppress("tickets_1"),)
    assert schedule(asked, past, calls_left=None, version=3) == (Run(0),)


def test_a_write_that_was_done_is_never_repeated(make_tool: MakeTool) -> None:
    past = {"1": Past().after(is_success=True).at(2)}
    tool = make_tool(effect=Effect.WRITE, requires_fresh_input=True)
    assert schedule([Asked(tool, "1")], past, calls_left=None, version=3) == (Suppress(None),)


def test_a_tool_that_needs_fresh_input_is_never_answered_from_the_past(make_tool: MakeTool) -> None:
    past = {"1": Past().after(is_success=True, dataset="tickets_1")}
    assert schedule([Asked(make_tool(requires_fresh_input=True), "1")], past, calls_left=None) == (Run(0),)


def test_a_call_that_succeeded_is_not_made_again_and_points_to_its_dataset(make_tool: MakeTool) -> None:
    past = {"1": Past().after(is_success=True, dataset="tickets_1")}
    assert schedule([Asked(make_tool(), "1")], past, calls_left=None) == (Suppress("tickets_1"),)


def test_a_call_that_failed_may_be_repeated_once(make_tool: MakeTool) -> None:
    once = Past().after(is_success=False)
    twice = once.after(is_success=False)
    asked = [Asked(make_tool(), "1")]

    assert schedule(asked, {"1": once}, calls_left=None) == (Run(0),)
    assert schedule(asked, {"1": twice}, calls_left=None) == (Suppress(None, has_failed=True),)


def test_a_write_that_failed_may_have_been_done_and_is_not_repeated(make_tool: MakeTool) -> None:
    asked = [Asked(make_tool(effect=Effect.WRITE), "1")]
    assert schedule(asked, {"1": Past(failures=1)}, calls_left=None) == (Suppress(None, has_failed=True),)


def test_the_same_call_twice_in_a_step_is_made_once(make_tool: MakeTool) -> None:
    asked = [Asked(make_tool(), "1"), Asked(make_tool(), "2"), Asked(make_tool(), "1")]
    assert schedule(asked, {}, calls_left=None) == (Run(0), Run(0), SameStep(0))


def test_nothing_waits_for_a_call_that_is_not_made(make_tool: MakeTool) -> None:
    asked = [Asked(make_tool("find"), "1"), Asked(make_tool("book", parallel_safe=False), "2")]
    assert schedule(asked, {"2": Past(is_success=True)}, calls_left=None) == (Run(0), Suppress(None))


def test_calls_beyond_the_limit_are_not_made(make_tool: MakeTool) -> None:
    asked = [Asked(make_tool(), str(n)) for n in range(3)]
    assert schedule(asked, {}, calls_left=2) == (Run(0), Run(0), OverLimit())


def test_suppressed_calls_use_nothing_up(make_tool: MakeTool) -> None:
    asked = [Asked(make_tool(), "1"), Asked(make_tool(), "2")]
    assert schedule(asked, {"1": Past(is_success=True)}, calls_left=1) == (Suppress(None), Run(0))


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
ASKED = st.lists(st.builds(Asked, TOOLS, st.sampled_from("123456")), max_size=8)
PAST = st.dictionaries(
    st.sampled_from("123456"), st.builds(Past, st.booleans(), st.none(), st.integers(0, 3)), max_size=4
)


@given(ASKED, PAST, st.none() | st.integers(0, 5))
def test_every_step_makes_progress_and_stays_in_its_limit(
    asked: list[Asked], past: dict[str, Past], calls_left: int | None
) -> None:
    decisions = schedule(asked, past, calls_left=calls_left)
    running = [index for index, decision in enumerate(decisions) if isinstance(decision, Run)]

    assert len(decisions) == len(asked)
    assert calls_left is None or len(running) <= calls_left
    assert len({asked[index].fingerprint for index in running}) == len(running)
    if any(isinstance(decision, Defer) for decision in decisions) and calls_left != 0:
        assert running, "a deferred call waits for one that runs"
    waves = [decision.wave for decision in decisions if isinstance(decision, Run)]
    assert waves == sorted(waves)
    assert set(waves) == set(range(len(set(waves))))
    for index in running:
        company = waves.count(decisions[index].wave)  # type: ignore[union-attr]
        assert company == 1 or (asked[index].tool.parallel_safe and asked[index].tool.effect is Effect.READ)
