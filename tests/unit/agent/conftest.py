"""Requested calls and results for the verdict, built from the real values."""

from collections.abc import Callable
from typing import Any

import pytest

from runax_cli.agent.result.requested_call import RequestedCall, refused_report
from runax_cli.core.results import CallReport, Coverage, Reason, ReasonCode, TotalIs
from runax_cli.executor.outcome import CallOutcome, EnvelopeStatus, FaultCode, ResultEnvelope, ToolFault
from runax_cli.guard.visible_tool import SplitArguments

MakeCall = Callable[..., RequestedCall]


def _call(
    *,
    step: int = 1,
    data_key: str = "d1",
    status: EnvelopeStatus = EnvelopeStatus.SUCCESS,
    read: int = 10,
    total: int | None = 10,
    total_is: TotalIs = TotalIs.EXACT,
    is_complete: bool = True,
    reasons: tuple[ReasonCode, ...] = (),
    tool: str = "get_tickets",
) -> RequestedCall:
    error = ToolFault(type="timeout", code=FaultCode.TRAPPED, message="no reply in 30 s")
    envelope = ResultEnvelope(
        status=status, tool=tool, next_action_hint="", error=error if status is EnvelopeStatus.ERROR else None
    )
    coverage = Coverage(
        records_read=read,
        records_total=total,
        total_is=total_is,
        selected=read,
        read_by_model=read,
        pages_read=1,
        is_complete=is_complete,
        reasons=tuple(Reason(code=code, text=code.value) for code in reasons),
    )
    report = CallReport(tool=tool, source="crm", arguments={}, status=status.value, records_read=read, requests=1)
    outcome = CallOutcome(envelope=envelope, report=report, coverage=coverage, dataset=None)
    return RequestedCall(
        step=step, call_id="c", envelope=envelope, report=report, outcome=outcome, key="k", data_key=data_key
    )


def _not_run(
    status: EnvelopeStatus, *, step: int = 1, report_status: str | None = None, **fields: Any
) -> RequestedCall:
    envelope = ResultEnvelope(status=status, tool="close_ticket", next_action_hint="")
    report = refused_report("close_ticket", "crm", SplitArguments(api={}), envelope, status=report_status)
    return RequestedCall(step=step, call_id="c", envelope=envelope, report=report, **fields)


@pytest.fixture
def ran() -> MakeCall:
    """A call that ran."""
    return _call


@pytest.fixture
def not_run() -> MakeCall:
    """A call that did not run, or did not finish."""
    return _not_run
