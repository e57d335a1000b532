"""A turn without progress is detected; one with progress is not."""

from hypothesis import given
from hypothesis import strategies as st

from runax_cli.guard.stall_detection import MAX_STEPS_WITHOUT_EVIDENCE, ProgressTracker, StallReason, StepDigest


def over(*steps: StepDigest) -> ProgressTracker:
    progress = ProgressTracker()
    for step in steps:
        progress = progress.after(step)
    return progress


def step(calls: str, *, errors: str = "", results: str = "") -> StepDigest:
    return StepDigest(calls=frozenset(calls), errors=frozenset(errors.split()), results=frozenset(results))


def kind_of(*steps: StepDigest) -> StallReason | None:
    stalled = over(*steps).stalled
    return None if stalled is None else stalled.kind


def test_the_same_error_three_times_is_a_stall() -> None:
    failing = [step(call, errors="timeout") for call in "abc"]
    assert over(*failing[:2]).stalled is None
    stalled = over(*failing).stalled
    assert stalled is not None
    assert (stalled.kind, stalled.error) == (StallReason.SAME_ERROR, "timeout")


def test_errors_with_new_results_between_them_are_not_a_stall() -> None:
    steps = [step(f"{n}", errors="timeout", results=f"{n}") for n in range(6)]
    assert kind_of(*steps) is None


def test_the_same_call_three_times_is_a_circle() -> None:
    assert kind_of(step("a", results="x"), step("a")) is None
    assert kind_of(step("a", results="x"), step("a"), step("a")) is StallReason.CIRCLE


def test_a_longer_circle_without_new_results_is_a_stall() -> None:
    first = [step("a", results="x"), step("b", results="y")]
    assert kind_of(*first, step("a", results="x")) is None
    assert kind_of(step("0", results="z"), *first, step("a"), step("b"), step("a")) is StallReason.CIRCLE


def test_different_calls_with_known_results_are_a_stall_after_some_steps() -> None:
    known = [step(f"{n}", results="x") for n in range(MAX_STEPS_WITHOUT_EVIDENCE + 1)]
    assert kind_of(*known[:-1]) is None
    assert kind_of(*known) is StallReason.NOTHING_NEW


STEPS = st.builds(
    lambda calls, errors, results: StepDigest(
        calls=frozenset(calls), errors=frozenset(errors), results=frozenset(results)
    ),
    st.sets(st.sampled_from("abcd"), min_size=1, max_size=2),
    st.sets(st.sampled_from("ef"), max_size=1),
    st.sets(st.integers(0, 30).map(str), max_size=2),
)


@given(st.lists(STEPS, max_size=12))
def test_the_version_changes_exactly_with_new_results(steps: list[StepDigest]) -> None:
    progress = ProgressTracker()
    for one in steps:
        after = progress.after(one)
        assert (after.version > progress.version) is bool(one.results - progress.seen)
        progress = after


@given(st.lists(STEPS, max_size=12), STEPS)
def test_a_step_with_a_new_result_is_never_a_stall(steps: list[StepDigest], last: StepDigest) -> None:
    news = StepDigest(calls=last.calls, errors=last.errors, results=frozenset(["news"]))
    assert over(*steps, news).stalled is None


@given(st.lists(STEPS, min_size=MAX_STEPS_WITHOUT_EVIDENCE + 1, max_size=14))
def test_several_steps_without_results_are_a_stall(steps: list[StepDigest]) -> None:
    nothing = [StepDigest(calls=one.calls, errors=one.errors) for one in steps]
    assert over(*nothing).stalled is not None
