"""Status and exit code follow from how the turn ended, what was read, and what was proven."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from runax_cli.agent.result.requested_call import RequestedCall, total_coverage
from runax_cli.agent.result.verdict import (
    Answered,
    Limited,
    RunVerdict,
    Stopped,
    TurnEnd,
    coverage_with_answer,
    coverage_with_verdict,
    decide_verdict,
)
from runax_cli.core.errors import BudgetExhausted, ConfigurationError, ModelError, TurnTimedOut
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.results import Coverage, Evidence, EvidenceKind, Fault, ReasonCode, RunStatus
from runax_cli.executor.outcome import EnvelopeStatus

MakeCall = Callable[..., RequestedCall]
LIMIT = BudgetExhausted(resource="steps", owner="turn", limit=2, used=2, requested=1)
PROVEN = Evidence(statement="s", kind=EvidenceKind.RECORD, verified=True)
DISPROVEN = Evidence(statement="s", kind=EvidenceKind.RECORD, verified=False)
INFERENCE = Evidence(statement="s", kind=EvidenceKind.INFERENCE)


def judge(end: TurnEnd, calls: Sequence[RequestedCall] = (), evidence: Sequence[Evidence] = ()) -> RunVerdict:
    return decide_verdict(end, calls=calls, coverage=total_coverage(calls), evidence=evidence)


def of(verdict: RunVerdict) -> tuple[RunStatus, int]:
    return verdict.status, int(verdict.exit_code)


def test_everything_read_and_proven_is_complete(ran: MakeCall) -> None:
    assert of(judge(Answered("a"), [ran()], [PROVEN])) == (RunStatus.COMPLETE, 0)


def test_an_answer_that_needed_no_data_is_complete() -> None:
    assert of(judge(Answered("a"), [], [INFERENCE])) == (RunStatus.COMPLETE, 0)


def test_an_uncited_inference_alone_is_no_failure(ran: MakeCall) -> None:
    assert of(judge(Answered("a"), [ran()], [INFERENCE])) == (RunStatus.COMPLETE, 0)


@pytest.mark.parametrize("fault", list(Fault))
def test_a_statement_with_a_fault_is_incomplete_whatever_its_kind(ran: MakeCall, fault: Fault) -> None:
    invented = INFERENCE.model_copy(update={"fault": fault})
    assert of(judge(Answered("a"), [ran()], [PROVEN, invented])) == (RunStatus.INCOMPLETE, 7)


def test_an_answer_that_lacks_data_is_incomplete_and_a_forced_one_keeps_its_limit() -> None:
    needed: dict[str, Any] = {"calls": (), "coverage": Coverage(), "evidence": (), "lacks_data": True}
    assert of(decide_verdict(Answered("a"), **needed)) == (RunStatus.INCOMPLETE, 7)
    assert of(decide_verdict(Limited("a", LIMIT), **needed)) == (RunStatus.LIMIT, 6)


def test_the_reason_names_the_first_statements_that_failed_and_counts_the_rest() -> None:
    failed = [
        Evidence(statement=f"s{n}", kind=EvidenceKind.INFERENCE, fault=Fault.UNSUPPORTED, note="not there")
        for n in range(5)
    ]
    coverage = coverage_with_answer(Coverage(), Answered("a"), [PROVEN, INFERENCE, *failed])
    (reason,) = coverage.reasons
    assert reason.text == "“s0” (not there); “s1” (not there); “s2” (not there); and 2 more"
    assert not coverage.is_complete


def test_a_citation_that_failed_verification_is_incomplete(ran: MakeCall) -> None:
    assert of(judge(Answered("a"), [ran()], [PROVEN, DISPROVEN])) == (RunStatus.INCOMPLETE, 7)


def test_data_that_was_read_incompletely_is_incomplete(ran: MakeCall) -> None:
    call = ran(status=EnvelopeStatus.PARTIAL, is_complete=False, reasons=(ReasonCode.PAGE_FAILED,))
    assert of(judge(Answered("a"), [call], [PROVEN])) == (RunStatus.INCOMPLETE, 7)


def test_a_budget_that_stopped_the_reading_is_a_limit(ran: MakeCall) -> None:
    call = ran(status=EnvelopeStatus.PARTIAL, is_complete=False, reasons=(ReasonCode.BUDGET,))
    assert of(judge(Answered("a"), [call])) == (RunStatus.LIMIT, 6)


def test_a_forced_answer_is_a_limit_and_names_it(ran: MakeCall) -> None:
    verdict = judge(Limited("partial", LIMIT), [ran()])
    assert of(verdict) == (RunStatus.LIMIT, 6)
    assert verdict.error is not None
    assert "'steps'" in verdict.error.message


def test_every_call_failed_and_nothing_read_is_a_failed_source(ran: MakeCall) -> None:
    failed = ran(status=EnvelopeStatus.ERROR, read=0, total=None, is_complete=False, reasons=(ReasonCode.SOURCE_ERROR,))
    verdict = judge(Answered("I could not read it."), [failed])
    assert of(verdict) == (RunStatus.FAILED, 4)
    assert verdict.error is not None
    assert "no reply in 30 s" in verdict.error.message


def test_one_call_that_failed_among_others_is_incomplete(ran: MakeCall) -> None:
    failed = ran(status=EnvelopeStatus.ERROR, read=0, is_complete=False, data_key="other")
    assert of(judge(Answered("a"), [ran(), failed])) == (RunStatus.INCOMPLETE, 7)


def test_a_call_that_failed_and_then_succeeded_is_complete(ran: MakeCall) -> None:
    failed = ran(status=EnvelopeStatus.ERROR, read=0, is_complete=False)
    assert of(judge(Answered("a"), [failed, ran(step=2)])) == (RunStatus.COMPLETE, 0)


def test_a_denied_call_after_which_nothing_succeeded_needs_approval(ran: MakeCall, not_run: MakeCall) -> None:
    verdict = judge(Answered("I was not allowed to."), [ran(), not_run(EnvelopeStatus.DENIED, step=2)])
    assert of(verdict) == (RunStatus.INCOMPLETE, 8)
    assert verdict.error is not None
    assert "'close_ticket'" in verdict.error.message
    assert "--allow-writes" in verdict.error.message


def test_a_denied_call_that_the_run_could_do_without_is_no_failure(ran: MakeCall, not_run: MakeCall) -> None:
    calls = [not_run(EnvelopeStatus.DENIED, step=1), ran(step=2)]
    assert of(judge(Answered("a"), calls, [PROVEN])) == (RunStatus.COMPLETE, 0)


def test_a_call_beside_the_denied_one_is_no_other_way(ran: MakeCall, not_run: MakeCall) -> None:
    assert of(judge(Answered("a"), [not_run(EnvelopeStatus.DENIED), ran()])) == (RunStatus.INCOMPLETE, 8)


def test_a_failed_model_is_told_with_what_had_been_read(ran: MakeCall) -> None:
    error = ModelError("no reply", model="m", retryable=True)
    verdict = judge(Stopped(error), [ran()])
    assert of(verdict) == (RunStatus.FAILED, 5)
    assert verdict.error is not None
    assert verdict.error.message == "no reply (data read before that is kept: 10 records)"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TurnTimedOut("late"), (RunStatus.LIMIT, 124)),
        (asyncio.CancelledError(), (RunStatus.INTERRUPTED, 130)),
        (KeyboardInterrupt(), (RunStatus.INTERRUPTED, 130)),
        (ConfigurationError("x", setting="LLM_MAX_CONTEXT"), (RunStatus.FAILED, 3)),
        (KeyError("x"), (RunStatus.FAILED, 1)),
        (LIMIT, (RunStatus.LIMIT, 6)),
    ],
)
def test_an_end_from_outside_has_its_own_code(error: BaseException, expected: tuple[RunStatus, int]) -> None:
    verdict = judge(Stopped(error, "half an ans"))
    assert of(verdict) == expected
    assert verdict.error is not None


@pytest.mark.parametrize(
    ("status", "code"),
    [(RunStatus.LIMIT, ReasonCode.BUDGET), (RunStatus.INTERRUPTED, ReasonCode.INTERRUPTED), (RunStatus.FAILED, None)],
)
def test_a_run_that_was_stopped_or_failed_never_calls_its_coverage_complete(
    status: RunStatus, code: ReasonCode | None
) -> None:
    under = coverage_with_verdict(RunVerdict(status, ExitCode.INTERNAL), Coverage())
    assert not under.is_complete
    assert [reason.code for reason in under.reasons] == ([code] if code else [])


@pytest.mark.parametrize("status", [RunStatus.COMPLETE, RunStatus.INCOMPLETE])
def test_the_coverage_of_an_answered_run_stays_what_was_measured(status: RunStatus) -> None:
    coverage = Coverage(records_read=3)
    assert coverage_with_verdict(RunVerdict(status, ExitCode.COMPLETE), coverage) is coverage
