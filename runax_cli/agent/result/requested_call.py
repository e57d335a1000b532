"""The calls that the model requested, with their results: total coverage, and digests for stall detection."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from adapters.json_text import compact_json
from runax_cli.agent.result.repeated_records import repeated_records
from runax_cli.core.errors import NoProgress
from runax_cli.core.results import CallReport, Coverage, Reason, ReasonCode, SweepReport, TotalIs
from runax_cli.executor.outcome import CallOutcome, EnvelopeStatus, ResultEnvelope
from runax_cli.guard.stall_detection import Stalled, StallReason, StepDigest
from runax_cli.guard.visible_tool import SplitArguments


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCall:
    """A requested call and its result. `outcome` is None if nothing ran.

    `key` and `data_key` are its fingerprints, None if the call was invalid.

    `step` counts from 1. `fault` is set if runax itself failed in the call.
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
        """Whether it was running when the turn ended."""
        return self.report.status == INTERRUPTED


INTERRUPTED = "interrupted"


def refused_report(
    tool: str, source: str, arguments: SplitArguments, envelope: ResultEnvelope, *, status: str | None = None
) -> CallReport:
    """The report of a call that returned nothing."""
    return CallReport(
        tool=tool,
        source=source,
        arguments=arguments.api,
        focus=arguments.focus,
        need=arguments.need,
        status=status or envelope.status.value,
        dataset=envelope.dataset,
    )


def total_coverage(calls: Sequence[RequestedCall]) -> Coverage:
    """The sum over the effective calls, without records that were read before. Blocking: compares small datasets.

    The total is None if any of them is unknown.
    """
    effective = effective_calls(calls)
    outcomes = [call.outcome for call in effective if call.outcome is not None]
    parts = [outcome.coverage for outcome in outcomes] + [*_reused_coverage(outcomes)]
    reasons = [reason for part in parts for reason in part.reasons] + [*_unfinished(effective)]
    total = _sum([part.records_total for part in parts])
    repeated = repeated_records(outcomes)
    return Coverage(
        records_read=sum(part.records_read for part in parts) - repeated,
        records_total=None if total is None else total - repeated,
        total_is=_weakest(part.total_is for part in parts) if parts else TotalIs.UNKNOWN,
        selected=sum(part.selected for part in parts),
        read_by_model=sum(part.read_by_model for part in parts),
        pages_read=sum(part.pages_read for part in parts),
        pages_failed=sum(part.pages_failed for part in parts),
        is_complete=all(part.is_complete for part in parts) and not any(_unfinished(effective)),
        reasons=tuple(dict.fromkeys(reasons)),
    )


def coverage_with_sweeps(coverage: Coverage, sweeps: Sequence[SweepReport]) -> Coverage:
    """The coverage, incomplete if a limit left out tools that take the id of an entity."""
    left_out = [one.tool for sweep in sweeps for one in sweep.skipped if one.is_limit]
    if not left_out:
        return coverage
    text = f"not read because of the limit of calls: {', '.join(left_out)}. Raise MAX_CALLS, or ask for them."
    reasons = (*coverage.reasons, Reason(code=ReasonCode.BUDGET, text=text))
    return coverage.model_copy(update={"is_complete": False, "reasons": reasons})


def effective_calls(calls: Sequence[RequestedCall]) -> tuple[RequestedCall, ...]:
    """Calls that ran or started to run, without failed calls that a later call for the same data replaces."""
    ran = [call for call in calls if call.outcome is not None or call.is_interrupted or call.fault]
    return tuple(
        call
        for at, call in enumerate(ran)
        if _is_complete(call) or not any(later.data_key == call.data_key for later in ran[at + 1 :])
    )


def _reused_coverage(outcomes: Sequence[CallOutcome]) -> Iterable[Coverage]:
    """Coverage of datasets that were used but fetched in an earlier turn, each once."""
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


_SUCCEEDED = (EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY, EnvelopeStatus.PARTIAL)
_MAX_NAMED_TOOLS = 4
_MAX_ERROR_CHARS = 300


def result_digest(call: RequestedCall) -> str | None:
    """A digest of the result of a call, independent of dataset and query names; None without a result."""
    outcome, envelope = call.outcome, call.envelope
    if outcome is None or envelope.status not in _SUCCEEDED:
        return None
    text = compact_json([envelope.status.value, envelope.total_matches, envelope.records_read, envelope.data])
    for name in (envelope.dataset, outcome.sql.id if outcome.sql is not None else None):
        text = text.replace(name, "") if name else text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def error_text(call: RequestedCall) -> str | None:
    """The error of a call, in text that is the same for the same error; None if there is none."""
    status, error = call.envelope.status, call.envelope.error
    if error is not None:
        return f"{call.report.tool}: {error.message}"[:_MAX_ERROR_CHARS]
    return f"{call.report.tool}: not approved" if status is EnvelopeStatus.DENIED else None


def step_digest(calls: Sequence[RequestedCall], keys: Mapping[str, str], *, before: Mapping[str, str]) -> StepDigest:
    """The digest of a step for stall detection. `keys` maps call ids to fingerprints, `before` keys to earlier errors.

    A call that was not run because it failed before counts with that error.
    """
    errors = (error_text(call) or before.get(call.key or "") for call in calls)
    results = (result_digest(call) for call in calls)
    return StepDigest(
        calls=frozenset(keys[call.call_id] for call in calls),
        errors=frozenset(filter(None, errors)),
        results=frozenset(filter(None, results)),
    )


def no_progress_error(stalled: Stalled, calls: Sequence[RequestedCall]) -> NoProgress:
    """The error for a stalled turn. `calls` are those of its last step."""
    tools = ", ".join(list(dict.fromkeys(f"'{call.report.tool}'" for call in calls))[:_MAX_NAMED_TOOLS])
    match stalled.kind:
        case StallReason.SAME_ERROR:
            return NoProgress(f"the same error occurred repeatedly: {stalled.error}")
        case StallReason.CIRCLE:
            return NoProgress(f"the model repeated the same calls ({tools}) without new results")
        case StallReason.NOTHING_NEW:
            return NoProgress(f"several steps in a row returned nothing new; the last calls were {tools}")
