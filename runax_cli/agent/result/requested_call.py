"""A call that the model asked for, and all that became of it.

Knows the value that loop, coverage and verdict share. Knows nothing of how it came about.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from adapters.json_text import compact_json
from runax_cli.core.errors import NoProgress
from runax_cli.core.results import CallReport, Coverage, Reason, ReasonCode, TotalIs
from runax_cli.executor.outcome import CallOutcome, CallRequest, EnvelopeStatus, ResultEnvelope
from runax_cli.executor.responses import build_report
from runax_cli.guard.stall_detection import Stalled, StallReason, StepDigest
from runax_cli.guard.visible_tool import SplitArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCall:
    """`outcome` is None where nothing ran; `key` and `data_key` are its fingerprints, None where it was not valid.

    `step` counts from 1. `fault` is set where runax itself failed in the call.
    """

    step: int
    call_id: str
    envelope: ResultEnvelope
    report: CallReport
    outcome: CallOutcome | None = None
    key: str | None = None
    data_key: str | None = None
    fault: Reason | None = None

    @property
    def is_interrupted(self) -> bool:
        """It was running when the turn ended."""
        return self.report.status == INTERRUPTED


INTERRUPTED = "interrupted"


def refused_report(
    tool: str, source: str, arguments: SplitArguments, envelope: ResultEnvelope, *, status: str | None = None
) -> CallReport:
    """The report of a call that brought nothing."""
    request = CallRequest(tool=tool, source=source, arguments=arguments.api, focus=arguments.focus, need=arguments.need)
    return build_report(request, envelope, status=status)


def coverage_of(calls: Sequence[RequestedCall]) -> Coverage:
    """Sums over the calls that count; a total is None as soon as one is unknown."""
    counting = calls_that_count(calls)
    outcomes = [call.outcome for call in counting if call.outcome is not None]
    parts = [outcome.coverage for outcome in outcomes] + [*_behind(outcomes)]
    reasons = [reason for part in parts for reason in part.reasons] + [*_unfinished(counting)]
    totals = [part.records_total for part in parts]
    return Coverage(
        records_read=sum(part.records_read for part in parts),
        records_total=_sum(totals),
        total_is=_weakest(part.total_is for part in parts) if parts else TotalIs.UNKNOWN,
        selected=sum(part.selected for part in parts),
        read_by_model=sum(part.read_by_model for part in parts),
        pages_read=sum(part.pages_read for part in parts),
        pages_failed=sum(part.pages_failed for part in parts),
        is_complete=all(part.is_complete for part in parts) and not any(_unfinished(counting)),
        reasons=tuple(dict.fromkeys(reasons)),
    )


def calls_that_count(calls: Sequence[RequestedCall]) -> tuple[RequestedCall, ...]:
    """Calls that ran or began to run; of those for the same data, one that failed yields to a later one."""
    ran = [call for call in calls if call.outcome is not None or call.is_interrupted or call.fault]
    return tuple(
        call
        for at, call in enumerate(ran)
        if _is_complete(call) or not any(later.data_key == call.data_key for later in ran[at + 1 :])
    )


def _behind(outcomes: Sequence[CallOutcome]) -> Iterable[Coverage]:
    """Datasets that were used and that none of these calls fetched: each once, as it was fetched in an earlier turn."""
    fetched = {
        outcome.dataset.name for outcome in outcomes if outcome.dataset is not None and not outcome.source_coverage
    }
    used = {name: coverage for outcome in outcomes for name, coverage in outcome.source_coverage.items()}
    for name, coverage in used.items():
        if name not in fetched:
            yield coverage.model_copy(update={"selected": 0, "read_by_model": 0})


def _is_complete(call: RequestedCall) -> bool:
    return call.outcome is not None and call.outcome.coverage.is_complete


def _unfinished(calls: Sequence[RequestedCall]) -> Iterable[Reason]:
    for call in calls:
        if call.is_interrupted:
            yield Reason(code=ReasonCode.INTERRUPTED, text=f"{call.report.tool} was interrupted")
        elif call.fault:
            yield call.fault


def _sum(totals: Sequence[int | None]) -> int | None:
    known = [total for total in totals if total is not None]
    return sum(known) if totals and len(known) == len(totals) else None


def _weakest(kinds: Iterable[TotalIs]) -> TotalIs:
    order = (TotalIs.EXACT, TotalIs.AT_LEAST, TotalIs.UNKNOWN)
    return max(kinds, key=order.index)


_BROUGHT = (EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY, EnvelopeStatus.PARTIAL)
_TOLD_TOOLS = 4
_ERROR_CHARS = 300


def result_of(call: RequestedCall) -> str | None:
    """A digest of what a call brought, whatever the names that datasets and queries got; None where it is nothing."""
    outcome, envelope = call.outcome, call.envelope
    if outcome is None or envelope.status not in _BROUGHT:
        return None
    text = compact_json([envelope.status.value, envelope.total_matches, envelope.records_read, envelope.data])
    for name in (envelope.dataset, outcome.sql.id if outcome.sql is not None else None):
        text = text.replace(name, "") if name else text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def error_of(call: RequestedCall) -> str | None:
    """What went wrong with a call, in words that are the same when it goes wrong in the same way."""
    status, error = call.envelope.status, call.envelope.error
    if error is not None:
        return f"{call.report.tool}: {error.message}"[:_ERROR_CHARS]
    return f"{call.report.tool}: not permitted" if status is EnvelopeStatus.DENIED else None


def step_seen(calls: Sequence[RequestedCall], keys: Mapping[str, str], *, before: Mapping[str, str]) -> StepDigest:
    """A step as the guard sees it. `keys` tell calls apart by their ids; `before` are earlier errors by key.

    A call that was not made because it failed before counts with that error.
    """
    errors = (error_of(call) or before.get(call.key or "") for call in calls)
    results = (result_of(call) for call in calls)
    return StepDigest(
        calls=frozenset(keys[call.call_id] for call in calls),
        errors=frozenset(filter(None, errors)),
        results=frozenset(filter(None, results)),
    )


def no_progress(stalled: Stalled, calls: Sequence[RequestedCall]) -> NoProgress:
    """Why a turn leads nowhere, in words. `calls` are those of its last step."""
    named = ", ".join(list(dict.fromkeys(f"'{call.report.tool}'" for call in calls))[:_TOLD_TOOLS])
    match stalled.kind:
        case StallReason.SAME_ERROR:
            return NoProgress(f"the same error came again and again: {stalled.error}")
        case StallReason.CIRCLE:
            return NoProgress(f"the model asked for the same calls again and again ({named}), and nothing new came")
        case StallReason.NOTHING_NEW:
            return NoProgress(f"several steps in a row brought nothing new; the last ones called {named}")
