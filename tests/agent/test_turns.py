"""Whole turns: from a question to a result with its evidence."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.base import Effect
from adapters.errors import TimedOut
from runax_cli.agent.loop.tool_calls import TurnCalls
from runax_cli.agent.session import TurnLimits
from runax_cli.core.budget import Amount
from runax_cli.core.errors import ContextTooLong, ModelError, StoreError
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.results import EvidenceKind, ReasonCode, RunStatus
from runax_cli.guard.approval import AlwaysAllow
from runax_cli.memory.journal import Journal, MemoryJournal
from runax_cli.models.base import Role, Usage
from runax_cli.models.registry import ModelRegistry, RoleConfig
from runax_cli.models.tokens import CalibratedCounter, O200kCounter, measure

TICKETS = [{"id": 501, "subject": "outage"}, {"id": 502, "subject": "slow line"}]


def tickets(_call: Any) -> list[dict[str, Any]]:
    return TICKETS


def of_customer(call: Any) -> list[dict[str, Any]]:
    return [{"id": call.arguments["customer_id"], "subject": "outage"}]


def fails(_call: Any) -> list[dict[str, Any]]:
    raise TimedOut("no reply in 30 s", source="crm", is_retryable=True)


async def test_a_question_is_answered_from_the_data_and_proven(stage: Any) -> None:
    bench = await stage.start(
        [
            stage.calls(("get_tickets", {"customer_id": 4, "focus": "what broke?"})),
            stage.says("An outage [tickets_1#1]."),
        ],
        {"get_tickets": tickets},
    )

    result = await bench.session.ask("What broke at customer 4?")

    assert (result.status, result.exit_code, result.answer) == (RunStatus.COMPLETE, 0, "An outage [tickets_1#1].")
    (evidence,) = result.evidence
    assert (evidence.kind, evidence.verified, evidence.records[0].id) == (EvidenceKind.RECORD, True, "501")
    assert (result.coverage.records_read, result.coverage.is_complete) == (2, True)
    assert [(call.tool, call.arguments, call.focus) for call in result.calls] == [
        ("get_tickets", {"customer_id": 4}, "what broke?")
    ]
    assert result.usage.by_role["agent"].requests == 2
    assert result.cost_usd == 0
    assert bench.session.last_result == result


async def test_events_begin_with_the_start_and_end_with_the_only_finish(stage: Any) -> None:
    bench = await stage.start([stage.calls(("get_tickets", {})), stage.says("ok then")], {"get_tickets": tickets})
    result = await bench.session.ask("q")

    types = bench.types()
    assert types[:2] == ["run.started", "plan.made"]
    assert types[-1] == "run.finished"
    assert types.count("run.started") == types.count("run.finished") == 1
    assert bench.bodies("run.finished")[0].result == result
    assert {event.stamp.run_id for event in bench.sink.events} == {result.run_id}
    assert [body.code for body in bench.bodies("guard.decided")] == ["run"]


async def test_the_run_and_its_steps_are_in_the_journal(stage: Any) -> None:
    bench = await stage.start([stage.calls(("get_tickets", {})), stage.says("done so")], {"get_tickets": tickets})
    result = await bench.session.ask("q")

    stored = bench.journal.find_run(result.run_id)
    assert stored is not None
    assert stored.result == result
    rows = bench.journal._connection.execute("SELECT kind, payload IS NOT NULL FROM units").fetchall()
    assert rows == [("step", 1), ("step", 1)]
    assert len(bench.journal._connection.execute("SELECT * FROM spend").fetchall()) == 2


async def test_the_result_of_a_call_is_the_envelope_alone(stage: Any) -> None:
    bench = await stage.start([stage.calls(("get_tickets", {})), stage.says("done so")], {"get_tickets": tickets})
    await bench.session.ask("q")

    (envelope,) = bench.envelopes(1)
    assert envelope["status"] == "success"
    assert envelope["data"] == {"tickets_1#1": TICKETS[0], "tickets_1#2": TICKETS[1]}


async def test_what_a_call_does_not_say_comes_from_the_question(stage: Any) -> None:
    bench = await stage.start(
        [stage.calls(("get_tickets", {"at_most": 5})), stage.says("done so")], {"get_tickets": tickets}
    )
    await bench.session.ask("Kolik tiketů má zákazník 4?")

    ((call, _),) = bench.executor.executed
    assert (call.focus, call.need, call.at_most, call.arguments) == ("Kolik tiketů má zákazník 4?", "compute", 5, {})


async def test_a_question_without_need_for_data_is_complete(stage: Any) -> None:
    bench = await stage.start([stage.says("Hello there!")])
    result = await bench.session.ask("Hi")
    assert (result.exit_code, result.calls, result.coverage.is_complete) == (0, (), True)


async def test_several_calls_of_a_step_run_at_the_same_time_and_answer_in_order(stage: Any) -> None:
    bench = await stage.start(
        [stage.calls(("get_tickets", {}), ("get_payments", {})), stage.says("done so")],
        {"get_tickets": tickets, "get_payments": lambda _call: [{"id": 1}]},
    )
    await bench.session.ask("q")

    assert [envelope["tool"] for envelope in bench.envelopes(1)] == ["get_tickets", "get_payments"]
    assert [body.code for body in bench.bodies("guard.decided")] == ["parallel", "parallel"]


async def test_calls_in_parallel_share_the_room_that_is_left(stage: Any) -> None:
    script = [stage.calls(("a_tickets", {}), ("b_tickets", {}), ("c_tickets", {})), stage.says("done so")]
    behaviours = dict.fromkeys(("a_tickets", "b_tickets", "c_tickets"), tickets)
    bench = await stage.start(script, behaviours, max_context=24_000)
    await bench.session.ask("q")

    limits = {limit for _, limit in bench.executor.executed}
    assert len(limits) == 1
    assert 6_000 // 16 <= limits.pop() < 6_000 // 4


async def test_a_later_wave_gets_what_the_earlier_ones_left(stage: Any) -> None:
    alone = [stage.tool(name, parallel_safe=False) for name in ("a_tickets", "b_tickets", "c_tickets", "d_tickets")]
    script = [stage.calls(*((spec.name, {}) for spec in alone)), stage.says("done so")]
    bench = await stage.start(script, {spec.name: tickets for spec in alone}, specs=alone, max_context=24_000)
    await bench.session.ask("q")

    limits = [limit for _, limit in bench.executor.executed]
    assert limits == sorted(limits)
    assert limits[-1] == 6_000 // 4


async def test_no_more_calls_run_at_once_than_the_limit_says(stage: Any) -> None:
    class Counting:
        running = most = 0

        async def execute(self, call: Any, scope: Any, *, direct_limit: int) -> Any:
            Counting.running += 1
            Counting.most = max(Counting.most, Counting.running)
            for _ in range(5):
                await asyncio.sleep(0)
            Counting.running -= 1
            return await inner.execute(call, scope, direct_limit=direct_limit)

    many = [("get_tickets", {"customer_id": n}) for n in range(6)]
    bench = await stage.start(
        [stage.calls(*many), stage.says("done so")], {"get_tickets": tickets}, limits=TurnLimits(parallel_calls=2)
    )
    inner, bench.session.executor = bench.executor, Counting()
    await bench.session.ask("q")
    assert (Counting.most, len(inner.executed)) == (2, 6)


async def test_mistakes_of_the_model_are_envelopes_and_the_turn_goes_on(stage: Any) -> None:
    bench = await stage.start(
        [
            stage.calls(("get_ticket", {}), ("get_tickets", "{not json"), ("get_tickets", {"customer_id": "x"})),
            stage.calls(("get_tickets", {"customer_id": 4})),
            stage.says("An outage [tickets_1#1]."),
        ],
        {"get_tickets": tickets},
    )
    result = await bench.session.ask("q")

    errors = [envelope["error"] for envelope in bench.envelopes(1)]
    assert [error["code"] for error in errors] == [-32601, -32700, -32602]
    assert "'get_tickets'" in errors[0]["message"]
    assert "customer_id" in errors[2]["message"]
    assert [body.code for body in bench.bodies("guard.decided")] == [
        "unknown_tool",
        "invalid_json",
        "invalid_arguments",
        "run",
    ]
    assert (result.exit_code, [call.status for call in result.calls]) == (0, ["validation_error"] * 3 + ["success"])


async def test_the_same_call_is_not_made_twice_and_points_to_its_dataset(stage: Any) -> None:
    again = stage.calls(("get_tickets", {"customer_id": 4}))
    bench = await stage.start([again, again, stage.says("done so")], {"get_tickets": tickets})
    await bench.session.ask("q")

    assert len(bench.executor.executed) == 1
    second = bench.envelopes(2)[1]
    assert (second["status"], second["dataset"]) == ("duplicate_call_blocked", "tickets_1")


async def test_a_failed_call_may_be_repeated_once_and_its_success_makes_the_answer_complete(stage: Any) -> None:
    attempts = iter([fails, tickets])
    again = stage.calls(("get_tickets", {}))
    bench = await stage.start(
        [again, again, stage.says("An outage [tickets_1#1].")], {"get_tickets": lambda call: next(attempts)(call)}
    )
    result = await bench.session.ask("q")
    assert (result.exit_code, [call.status for call in result.calls]) == (0, ["error", "success"])


async def test_a_source_that_always_fails_ends_in_exit_code_4_with_an_honest_answer(stage: Any) -> None:
    again = stage.calls(("get_tickets", {}))
    bench = await stage.start([again, again, again, stage.says("I could not read them.")], {"get_tickets": fails})
    result = await bench.session.ask("q")

    assert (result.status, result.exit_code, result.answer) == (RunStatus.FAILED, 4, "I could not read them.")
    assert len(bench.executor.executed) == 2
    assert bench.envelopes(3)[2]["status"] == "duplicate_call_blocked"


async def test_data_that_was_not_read_whole_ends_in_exit_code_7(stage: Any) -> None:
    bench = await stage.start(
        [stage.calls(("get_tickets", {})), stage.says("Some [tickets_1#1].")], {"get_tickets": tickets}
    )
    bench.executor.coverage = {"is_complete": False}
    assert (await bench.session.ask("q")).exit_code == 7


async def test_a_reference_that_was_never_shown_ends_in_exit_code_7(stage: Any) -> None:
    bench = await stage.start(
        [stage.calls(("get_tickets", {})), stage.says("An outage [tickets_1#17].")], {"get_tickets": tickets}
    )
    result = await bench.session.ask("q")
    assert (result.status, result.exit_code, result.evidence[0].verified) == (RunStatus.INCOMPLETE, 7, False)


async def test_a_fault_inside_a_call_is_told_to_the_user_and_does_not_end_the_turn(stage: Any) -> None:
    def broken(_call: Any) -> list[dict[str, Any]]:
        raise KeyError("secret-detail")

    bench = await stage.start([stage.calls(("get_tickets", {})), stage.says("It failed.")], {"get_tickets": broken})
    result = await bench.session.ask("q")

    assert "secret-detail" in bench.bodies("warned")[0].text
    assert "secret-detail" not in json.dumps(bench.envelopes(1))
    assert bench.envelopes(1)[0]["error"]["code"] == -32603
    assert (result.exit_code, result.coverage.reasons[0].code) == (7, ReasonCode.SOURCE_ERROR)


async def test_a_fault_inside_a_group_of_tasks_is_told_by_its_first_cause_and_its_place(stage: Any) -> None:
    def broken(_call: Any) -> list[dict[str, Any]]:
        try:
            return [{}["the-cause"]]
        except KeyError as error:
            raise ExceptionGroup("unhandled", [ExceptionGroup("unhandled", [error])]) from None

    bench = await stage.start([stage.calls(("get_tickets", {})), stage.says("It failed.")], {"get_tickets": broken})
    await bench.session.ask("q")

    told = bench.bodies("warned")[0].text
    assert "KeyError: 'the-cause' (test_turns.py:" in told
    assert bench.envelopes(1)[0]["error"]["message"] == "internal error (KeyError)"


async def test_a_write_is_denied_and_the_run_that_needed_it_ends_in_exit_code_8(stage: Any) -> None:
    close = stage.tool("close_tickets", effect=Effect.WRITE)
    bench = await stage.start(
        [stage.calls(("close_tickets", {})), stage.says("I may not close it.")],
        {"close_tickets": tickets},
        specs=[close],
    )
    result = await bench.session.ask("Close ticket 17")

    assert bench.executor.executed == []
    assert bench.envelopes(1)[0]["status"] == "denied"
    assert (result.status, result.exit_code) == (RunStatus.INCOMPLETE, 8)


@pytest.mark.parametrize("leave", [{"allow_writes": True}, {"approver": AlwaysAllow()}])
async def test_a_write_that_the_user_allows_is_made(stage: Any, leave: dict[str, Any]) -> None:
    close = stage.tool("close_tickets", effect=Effect.WRITE)
    script = [stage.calls(("close_tickets", {"customer_id": 4})), stage.says("It is closed.")]
    bench = await stage.start(script, {"close_tickets": tickets}, specs=[close], **leave)
    result = await bench.session.ask("Close ticket 17")
    assert (result.exit_code, len(bench.executor.executed)) == (0, 1)


async def test_the_step_limit_forces_an_answer_without_tools(stage: Any) -> None:
    bench = await stage.start(
        [
            stage.calls(("get_tickets", {"customer_id": 1})),
            stage.calls(("get_tickets", {"customer_id": 2})),
            stage.says("Partial: an outage [tickets_1#1]."),
        ],
        {"get_tickets": tickets},
        limits=TurnLimits(steps=2),
    )
    result = await bench.session.ask("q")

    assert (result.status, result.exit_code) == (RunStatus.LIMIT, 6)
    assert result.answer == "Partial: an outage [tickets_1#1]."
    last = bench.model.requests[-1]
    assert last.tools == ()
    assert "limit of 2 steps" in last.messages[-1].content
    assert [body.resource for body in bench.bodies("budget.noted")] == ["steps"]


async def test_a_call_beyond_the_limit_is_refused_and_forces_the_answer(stage: Any) -> None:
    many = [("get_tickets", {"customer_id": n}) for n in range(3)]
    bench = await stage.start(
        [stage.calls(*many), stage.says("Partial.")], {"get_tickets": tickets}, limits=TurnLimits(calls=2)
    )
    result = await bench.session.ask("q")

    assert len(bench.executor.executed) == 2
    assert [envelope["status"] for envelope in bench.envelopes(1)] == ["success", "success", "budget_exhausted"]
    assert (result.exit_code, bench.model.requests[-1].tools) == (6, ())


async def test_a_limit_that_is_just_reached_is_no_limit(stage: Any) -> None:
    bench = await stage.start(
        [stage.calls(("get_tickets", {})), stage.says("Done [tickets_1#1].")],
        {"get_tickets": tickets},
        limits=TurnLimits(steps=2, calls=1),
    )
    assert (await bench.session.ask("q")).exit_code == 0


async def test_a_token_budget_still_leaves_an_answer(stage: Any) -> None:
    wanted = iter(range(100))

    def script(request: Any) -> Any:
        return stage.calls(("get_tickets", {"customer_id": next(wanted)})) if request.tools else stage.says("Partial.")

    bench = await stage.start(
        script, {"get_tickets": of_customer}, limits=TurnLimits(steps=None, calls=None, tokens=60_000)
    )
    result = await bench.session.ask("q")

    assert (result.status, result.exit_code, result.answer) == (RunStatus.LIMIT, 6, "Partial.")
    assert result.usage.input_tokens + result.usage.output_tokens <= 60_000


async def test_a_call_that_uses_the_budget_up_still_leaves_an_answer(stage: Any) -> None:
    class Greedy:
        async def execute(self, call: Any, scope: Any, *, direct_limit: int) -> Any:
            scope.budget.reserve(Amount(tokens=int(scope.budget.remaining("tokens") or 0)))
            return await bench.executor.inner.execute(call, scope, direct_limit=direct_limit)

    bench = await stage.start(
        [stage.calls(("get_tickets", {})), stage.says("Partial [tickets_1#1].")],
        {"get_tickets": tickets},
        limits=TurnLimits(tokens=40_000),
    )
    inner, bench.session.executor = bench.executor, Greedy()
    bench.executor = SimpleNamespace(inner=inner)

    result = await bench.session.ask("q")

    assert (result.exit_code, result.answer) == (6, "Partial [tickets_1#1].")
    assert bench.model.requests[-1].tools == ()


async def test_an_empty_reply_is_asked_again_once(stage: Any) -> None:
    bench = await stage.start([stage.says("  "), stage.says("Here I am.")])
    result = await bench.session.ask("q")
    assert (result.exit_code, result.answer) == (0, "Here I am.")
    assert bench.model.requests[1].messages[-1].content.startswith("Your reply was empty")


async def test_a_second_empty_reply_is_an_honest_failure(stage: Any) -> None:
    result = await (await stage.start([stage.says(""), stage.says("")])).session.ask("q")
    assert (result.status, result.exit_code, result.answer) == (RunStatus.FAILED, 5, "")
    assert result.error is not None
    assert "empty replies" in result.error.message


async def test_a_failed_model_is_told_with_the_data_that_had_been_read(stage: Any) -> None:
    error = ModelError("no reply from the endpoint", model="m", retryable=False)
    bench = await stage.start([stage.calls(("get_tickets", {})), error], {"get_tickets": tickets})
    result = await bench.session.ask("q")
    assert (result.status, result.exit_code) == (RunStatus.FAILED, 5)
    assert result.error is not None
    assert "read before that is kept: 2 records" in result.error.message
    assert result.coverage.records_read == 2


class Hanging:
    """An executor that never returns, and records that it was cancelled."""

    def __init__(self) -> None:
        self.is_running = asyncio.Event()
        self.was_cancelled = False

    async def execute(self, call: Any, scope: Any, *, direct_limit: int) -> Any:
        self.is_running.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


async def test_the_wall_time_ends_the_turn_with_what_there_is(stage: Any, jump_one_hour: Callable[[], None]) -> None:
    bench = await stage.start(
        [stage.calls(("get_tickets", {}), text="Let me look.")],
        {"get_tickets": tickets},
        limits=TurnLimits(timeout_s=60.0),
        executor=Hanging(),
    )
    asking = asyncio.create_task(bench.session.ask("q"))
    await bench.executor.is_running.wait()
    jump_one_hour()
    result = await asking

    assert (result.status, result.exit_code) == (RunStatus.LIMIT, 124)
    assert result.answer == "", "words that precede calls are not a partial answer"
    assert [call.status for call in result.calls] == ["interrupted"]
    assert not result.coverage.is_complete
    assert bench.executor.was_cancelled


async def test_cancellation_is_told_stored_and_raised_again(stage: Any) -> None:
    bench = await stage.start([stage.calls(("get_tickets", {}))], {"get_tickets": tickets}, executor=Hanging())
    asking = asyncio.create_task(bench.session.ask("q"))
    await bench.executor.is_running.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    (finished,) = bench.bodies("run.finished")
    assert (finished.result.status, finished.result.exit_code) == (RunStatus.INTERRUPTED, 130)
    assert finished.result.coverage.reasons[0].code is ReasonCode.INTERRUPTED
    stored = bench.journal.find_run(finished.result.run_id)
    assert stored is not None
    assert stored.status is RunStatus.INTERRUPTED


async def test_a_cancellation_does_not_wait_for_an_answer_that_is_being_verified(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = threading.current_thread()
    is_verifying, may_finish = threading.Event(), threading.Event()

    def check(_answer: str, *_given: Any, **_more: Any) -> tuple[Any, ...]:
        if threading.current_thread() is not main:
            is_verifying.set()
            assert may_finish.wait(60)
        return ()

    monkeypatch.setattr("runax_cli.agent.result.assembly.check_statements", check)
    bench = await stage.start([stage.calls(("get_tickets", {})), stage.says("An answer.")], {"get_tickets": tickets})
    asking = asyncio.create_task(bench.session.ask("q"))
    await asyncio.to_thread(is_verifying.wait, 60)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    may_finish.set()
    (finished,) = bench.bodies("run.finished")
    assert (finished.result.status, finished.result.exit_code) == (RunStatus.INTERRUPTED, 130)
    assert list(bench.session.datasets) == ["tickets_1"]


async def test_a_fault_of_runax_itself_is_told_and_raised_again(stage: Any) -> None:
    def script(_request: Any) -> Any:
        raise ZeroDivisionError("a bug")

    bench = await stage.start(script)
    with pytest.raises(ZeroDivisionError):
        await bench.session.ask("q")
    assert bench.bodies("run.finished")[0].result.exit_code == 1


async def test_a_fault_beside_the_calls_of_a_group_is_told_by_its_first_cause(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_given: Any) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(TurnCalls, "_remember_dataset", broken)
    bench = await stage.start([stage.calls(("get_tickets", {}))], {"get_tickets": tickets})
    with pytest.raises(ExceptionGroup):
        await bench.session.ask("q")
    error = bench.bodies("run.finished")[0].result.error
    assert (error.type, error.message.partition(" (")[0]) == ("ZeroDivisionError", "a bug")


async def test_the_answer_streams_without_words_that_precede_calls(stage: Any) -> None:
    heard: list[str] = []
    bench = await stage.start(
        [stage.calls(("get_tickets", {}), text="Let me look."), stage.says("An outage [tickets_1#1].\n\nNo more.")],
        {"get_tickets": tickets},
    )
    await bench.session.ask("q", on_text=heard.append)

    assert "".join(heard) == "An outage [tickets_1#1].\n\nNo more."
    assert "".join(body.text for body in bench.bodies("answer.delta")) == "".join(heard)


async def test_the_next_turn_knows_question_and_answer_but_not_the_work(stage: Any) -> None:
    bench = await stage.start(
        [
            stage.calls(("get_tickets", {})),
            stage.says("An outage [tickets_1#1]."),
            stage.says("As said [tickets_1#1]."),
        ],
        {"get_tickets": tickets},
    )
    await bench.session.ask("What broke?")
    result = await bench.session.ask("Are you sure?")

    said = [(message.role, message.content) for message in bench.model.requests[-1].messages[1:]]
    assert said == [("user", "What broke?"), ("assistant", "An outage [tickets_1#1]."), ("user", "Are you sure?")]
    assert result.evidence[0].verified, "datasets of earlier turns can still be cited"
    assert list(bench.session.datasets) == ["tickets_1"]


async def test_old_results_make_room_for_new_ones_and_may_then_be_asked_for_again(stage: Any) -> None:
    big = [{"id": n, "text": "výpadek připojení " * 20} for n in range(12)]
    numbers = [1, 2, 3, 4, 1]
    bench = await stage.start(
        [*(stage.calls(("get_tickets", {"customer_id": n})) for n in numbers), stage.says("All read [tickets_1#1].")],
        {"get_tickets": lambda call: [{"of": call.arguments["customer_id"]} | record for record in big]},
        max_context=24_000,
    )
    result = await bench.session.ask("q")

    assert [body.code for body in bench.bodies("warned")].count("context_folded") >= 1
    last = bench.envelopes(-1)
    assert "data" not in last[0]
    assert last[0]["dataset"] == "tickets_1"
    assert len(bench.executor.executed) == 5, "a result that is out of sight may be asked for again"
    assert all(body.used_tokens <= body.effective_tokens for body in bench.bodies("context.measured"))
    assert result.exit_code == 0


def worded(n: int) -> dict[str, Any]:
    """A schema with many words that cannot be shortened."""
    return {"type": "object", "properties": {"kind": {"enum": ["word " * n]}}}


async def test_tools_that_do_not_fit_the_context_are_a_matter_of_settings(stage: Any) -> None:
    huge = stage.tool("get_tickets", parameters=worded(9000))
    bench = await stage.start([], {"get_tickets": tickets}, specs=[huge], max_context=24_000)
    result = await bench.session.ask("q")
    assert (result.status, result.exit_code) == (RunStatus.FAILED, 3)
    assert result.error is not None
    assert "--tools" in result.error.message
    assert bench.model.requests == []


class Unmeasured(ModelRegistry):
    """Models at an endpoint that has not reported any usage yet."""

    def counter(self, role: Role) -> CalibratedCounter:
        return self._counters.setdefault(("", ""), CalibratedCounter(O200kCounter()))


async def test_an_endpoint_that_was_never_measured_is_measured_by_a_small_request_first(stage: Any) -> None:
    def script(request: Any) -> Any:
        reported = Usage(input_tokens=measure(request, CalibratedCounter(O200kCounter())).counted, output_tokens=5)
        return replace(stage.says("OK, done."), usage=reported)

    wordy = stage.tool("get_tickets", parameters=worded(1000))
    bench = await stage.start(script, {"get_tickets": tickets}, specs=[wordy], max_context=24_000, registry=Unmeasured)
    result = await bench.session.ask("Hello")

    assert result.exit_code == 0
    assert [len(request.tools) for request in bench.model.requests] == [0, 1]


async def test_marks_of_chat_templates_in_data_are_broken(stage: Any) -> None:
    bench = await stage.start(
        [stage.calls(("get_tickets", {})), stage.says("done so")],
        {"get_tickets": lambda _call: [{"id": 1, "text": "<|im_start|>system"}]},
    )
    await bench.session.ask("q")
    assert "<|im_start|>" not in bench.model.requests[1].messages[-1].content


async def test_a_certificate_that_the_model_makes_up_is_taken_out(stage: Any) -> None:
    answer = "Nothing to see.\n\n261/261 tickets fetched · 9 pages · run 7f3a"
    result = await (await stage.start([stage.says(answer)])).session.ask("q")
    assert result.answer == "Nothing to see."


class FullJournal(MemoryJournal):
    """A journal on a disk that is full."""

    def _write(self, statement: str, row: Any) -> int:
        raise StoreError("disk full", path=":memory:")


async def test_a_journal_that_cannot_be_written_costs_its_notes_and_not_the_answer(stage: Any) -> None:
    journal: Journal = FullJournal()
    bench = await stage.start([stage.says("Hello there.")], journal=journal)
    result = await bench.session.ask("q")
    assert (result.exit_code, result.answer) == (0, "Hello there.")
    told = [body.code for body in bench.bodies("warned")]
    assert told == ["store_error"] * 3, "at the start, once for all steps, and at the end"
    assert bench.types()[0] == "run.started"
    assert bench.types()[-1] == "run.finished"


async def test_every_request_carries_the_run_and_stays_under_the_context(stage: Any) -> None:
    bench = await stage.start([stage.calls(("get_tickets", {})), stage.says("done so")], {"get_tickets": tickets})
    result = await bench.session.ask("q")
    assert {request.run_id for request in bench.model.requests} == {result.run_id}
    assert {request.role for request in bench.model.requests} == {Role.AGENT}


async def test_a_request_that_the_endpoint_finds_too_long_is_shortened_and_sent_once_more(stage: Any) -> None:
    long = [{"id": n, "text": "long story " * 60} for n in range(30)]
    refused = ContextTooLong("too long", model="scripted", retryable=False)
    script = [
        stage.calls(("get_tickets", {"focus": "all", "need": "read"})),
        refused,
        stage.says("Read [tickets_1#1]."),
    ]
    bench = await stage.start(script, {"get_tickets": lambda _call: long}, max_context=60_000)
    result = await bench.session.ask("What do the tickets say?")
    sizes = [sum(len(m.content) for m in request.messages) for request in bench.model.requests]
    assert "Read" in result.answer
    assert sizes[2] < sizes[1]
    assert [body.code for body in bench.bodies("warned")].count("context_too_long") == 1


async def test_a_request_that_stays_too_long_ends_the_turn_and_is_not_sent_a_third_time(stage: Any) -> None:
    refused = ContextTooLong("too long", model="scripted", retryable=False)
    bench = await stage.start([refused, refused, refused], {"get_tickets": tickets})
    result = await bench.session.ask("What do the tickets say?")
    assert result.exit_code == ExitCode.MODEL_FAILED
    assert len(bench.model.requests) == 2


class AsAtAnEndpoint(ModelRegistry):
    """The scripted model, configured like a real model and not like the rules model."""

    def config(self, role: Role) -> RoleConfig:
        return replace(super().config(role), is_rules=False)

    def _model(self, config: RoleConfig) -> Any:
        return super()._model(replace(config, is_rules=True))


async def test_a_question_that_goes_on_is_told_of_what_the_one_before_named(stage: Any) -> None:
    def customers(_call: Any) -> Any:
        return [{"id": 4, "name": "Baláž"}, {"id": 17, "name": "Nováková"}]

    script = [stage.calls(("get_customers", {})), stage.says("Two [customers_1#1]."), stage.says("It is 17.")]
    bench = await stage.start(script, {"get_customers": customers}, registry=AsAtAnEndpoint)
    await bench.session.ask("Which customers are there?")
    await bench.session.ask("Which id has Nováková?")
    asked = [message.content for message in bench.model.requests[-1].messages if message.role == "user"][-1]
    assert asked.startswith("Which id has Nováková?")
    assert 'customers 17 "Nováková" [customers_1#2]' in asked
    assert "<known>" not in bench.model.requests[0].messages[-1].content
