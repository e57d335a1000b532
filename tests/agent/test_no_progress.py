"""A turn without progress is stopped, and the result says why."""

from typing import Any

import pytest

from adapters.errors import TimedOut
from runax_cli.agent.loop.turn import MAX_CALLS_PER_REPLY
from runax_cli.agent.session import TurnLimits
from runax_cli.core.results import ReasonCode, RunStatus

ROUNDS = 40


def of_customer(call: Any) -> list[dict[str, Any]]:
    return [{"id": call.arguments.get("customer_id", 0), "subject": "outage"}]


def tickets(_call: Any) -> list[dict[str, Any]]:
    return [{"id": 501, "subject": "outage"}]


def fails(_call: Any) -> list[dict[str, Any]]:
    raise TimedOut("no reply in 30 s", source="crm", is_retryable=True)


def repeating(stage: Any, *wanted: tuple[str, Any], says: str = "Partial [tickets_1#1].") -> Any:
    """A model that requests these calls in turn as long as it has tools."""
    numbers = iter(range(ROUNDS))

    def script(request: Any) -> Any:
        return stage.calls(wanted[next(numbers) % len(wanted)]) if request.tools else stage.says(says)

    return script


async def test_a_repeated_call_is_stopped_long_before_the_step_limit(stage: Any) -> None:
    bench = await stage.start(repeating(stage, ("get_tickets", {})), {"get_tickets": tickets})
    result = await bench.session.ask("q")

    assert (result.status, result.exit_code, result.answer) == (RunStatus.INCOMPLETE, 7, "Partial [tickets_1#1].")
    assert "repeated the same calls ('get_tickets')" in result.error.message
    assert [reason.code for reason in result.coverage.reasons] == [ReasonCode.NO_PROGRESS]
    assert not result.coverage.is_complete
    assert (len(bench.executor.executed), len(bench.model.requests)) == (1, 4)
    assert bench.envelopes(2)[-1]["dataset"] == "tickets_1"
    assert "repeated the same calls" in bench.model.requests[-1].messages[-1].content


async def test_two_alternating_calls_are_a_cycle(stage: Any) -> None:
    two = [("get_tickets", {"customer_id": n}) for n in (1, 2)]
    bench = await stage.start(repeating(stage, *two), {"get_tickets": of_customer})
    result = await bench.session.ask("q")
    assert (result.exit_code, len(bench.model.requests) <= 6) == (7, True)
    assert "repeated the same calls" in result.error.message


async def test_a_repeated_error_is_the_reason(stage: Any) -> None:
    bench = await stage.start(repeating(stage, ("get_nothing", {}), says="I cannot."), {"get_tickets": tickets})
    result = await bench.session.ask("q")
    assert (result.status, result.exit_code, len(bench.model.requests)) == (RunStatus.INCOMPLETE, 7, 4)
    assert "unknown tool 'get_nothing'" in result.error.message


async def test_a_source_that_always_fails_is_the_reason_and_not_the_model(stage: Any) -> None:
    bench = await stage.start(repeating(stage, ("get_tickets", {}), says="It failed."), {"get_tickets": fails})
    result = await bench.session.ask("q")
    assert (result.status, result.exit_code) == (RunStatus.FAILED, 4)
    assert "no reply in 30 s" in result.error.message
    assert len(bench.executor.executed) == 2, "a failed call may be repeated once"


async def test_a_model_without_an_answer_has_failed(stage: Any) -> None:
    bench = await stage.start(lambda _request: stage.calls(("get_tickets", {})), {"get_tickets": tickets})
    result = await bench.session.ask("q")
    assert (result.status, result.exit_code, result.answer) == (RunStatus.FAILED, 5, "")
    assert "gave no answer" in result.error.message
    assert "calls_ignored" in [body.code for body in bench.bodies("warned")]


async def test_other_arguments_with_the_same_result_are_no_progress(stage: Any) -> None:
    many = [("get_tickets", {"customer_id": n}) for n in range(ROUNDS)]
    bench = await stage.start(repeating(stage, *many), {"get_tickets": tickets})
    result = await bench.session.ask("q")
    assert (result.exit_code, len(bench.executor.executed)) == (7, 5)
    assert "returned nothing new" in result.error.message


async def test_calls_with_new_results_continue_to_the_step_limit(stage: Any) -> None:
    many = [("get_tickets", {"customer_id": n}) for n in range(ROUNDS)]
    bench = await stage.start(repeating(stage, *many), {"get_tickets": of_customer}, limits=TurnLimits(steps=9))
    result = await bench.session.ask("q")
    assert (result.status, result.exit_code, len(bench.executor.executed)) == (RunStatus.LIMIT, 6, 9)


@pytest.mark.parametrize(("second", "executed"), [("  Velká  Praha", 2), ("praha VELKÁ", 2), (" Velká Praha ", 1)])
async def test_calls_that_differ_in_case_or_word_order_run_with_a_hint(stage: Any, second: str, executed: int) -> None:
    words = stage.tool("get_tickets", parameters={"type": "object", "properties": {"q": {"type": "string"}}})
    script = [stage.calls(("get_tickets", {"q": "Velká Praha"})), stage.calls(("get_tickets", {"q": second}))]
    bench = await stage.start([*script, stage.says("Yes [tickets_1#1].")], {"get_tickets": tickets}, specs=[words])
    await bench.session.ask("q")

    assert len(bench.executor.executed) == executed
    hint = bench.envelopes(2)[-1]["next_action_hint"]
    assert ("Only case or word order differs" in hint) is (executed == 2)


async def test_too_many_calls_in_one_reply_are_cut_to_the_limit(stage: Any) -> None:
    flood = stage.calls(*(("get_tickets", {"customer_id": n}) for n in range(200)))
    bench = await stage.start([flood, stage.says("Partial.")], {"get_tickets": of_customer})
    result = await bench.session.ask("q")
    assert (result.exit_code, len(bench.executor.executed)) == (6, 24)
    assert len(bench.envelopes(1)) == MAX_CALLS_PER_REPLY
