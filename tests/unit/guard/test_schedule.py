"""Which calls of a step run, which wait, and which are not made again."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Effect, ToolSpec
from runax_cli.guard.schedule import Asked, Defer, OverLimit, Past, Run, SameStep, Suppress, schedule

MakeTool = Callable[..., ToolSpec]


def test_reading_calls_of_one_step_share_a_wave(make_tool: MakeTool) -> None:
    asked = [Asked(make_tool("a"), "1"), Asked(make_tool("b"), "2")]
    assert schedule(asked, {}, calls_left=None) == (Run(0), Run(0))


def test_a_tool_that_bears_no_company_runs_alone_and_in_order(make_tool: MakeTool) -> None:
    asked = [
        Asked(make_tool("a"), "1"),
        Asked(make_tool("b", parallel_safe=False), "2"),
        Asked(make_tool("c", effect=Effect.WRITE), "3"),
        Asked(make_tool("d"), "4"),
        Asked(make_tool("e"), "5"),
    ]
    assert schedule(asked, {}, calls_left=None) == (Run(0), Run(1), Run(2), Run(3), Run(3))


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


def test_a_call_that_needs_fresh_input_waits_for_the_others(make_tool: MakeTool) -> None:
    asked = [Asked(make_tool("book", requires_fresh_input=True), "1"), Asked(make_tool("find"), "2")]
    assert schedule(asked, {}, calls_left=None) == (Defer(("find",)), Run(0))


def test_one_of_the_calls_that_all_need_fresh_input_runs(make_tool: MakeTool) -> None:
    asked = [Asked(make_tool(name, requires_fresh_input=True), name) for name in ("a", "b")]
    assert schedule(asked, {}, calls_left=None) == (Run(0), Defer(("a",)))


def test_a_call_that_needs_fresh_input_does_not_wait_for_one_that_is_not_made(make_tool: MakeTool) -> None:
    asked = [Asked(make_tool("find"), "1"), Asked(make_tool("book", requires_fresh_input=True), "2")]
    assert schedule(asked, {"1": Past(is_success=True)}, calls_left=None) == (Suppress(None), Run(0))


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
