"""Coverage of a whole answer: the sum over its calls.

Knows how coverages add up, and that a call made again takes the place of the one that failed. Pure.
"""

from collections.abc import Iterable, Sequence

from runax_cli.agent.requested import RequestedCall
from runax_cli.executor.outcome import CallOutcome
from runax_cli.results import Coverage, Reason, ReasonCode, TotalIs


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
    fetched = {outcome.dataset.name for outcome in outcomes if outcome.dataset is not None and not outcome.behind}
    used = {name: coverage for outcome in outcomes for name, coverage in outcome.behind.items()}
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
