"""Requests the totals of a run's largest datasets again at its end, to notice data that changed meanwhile."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.base import JsonObject, ToolSpec
from adapters.errors import SourceError
from adapters.pagination.probe.probe import refresh_total
from runax_cli.core.errors import BudgetExhausted, raised_at
from runax_cli.core.event_types import Warned
from runax_cli.core.results import Reason, ReasonCode, TotalIs
from runax_cli.executor.fetch.source_client import Source, SourceClient
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall

MAX_CHECKED = 8
"""So many datasets of one run are checked, the largest first."""
_CONCURRENCY = 4
_MAX_ATTEMPTS = 3
_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCall:
    """A call whose total is requested again: its tool, arguments and the number of records that were read."""

    call_id: str
    tool: ToolSpec
    arguments: JsonObject
    total: int


def call_to_check(outcome: CallOutcome, *, call_id: str, tool: ToolSpec | None) -> CheckedCall | None:
    """Return the call to check; None if it was read in one page or its total is uncertain anyway."""
    coverage = outcome.coverage
    is_settled = coverage.is_complete and coverage.total_is is TotalIs.EXACT and not coverage.reasons
    if tool is None or not is_settled or not outcome.report.requests or coverage.pages_read < 2:
        return None
    total = coverage.records_total or 0
    return CheckedCall(call_id=call_id, tool=tool, arguments=outcome.report.arguments, total=total)


@dataclass(frozen=True, slots=True)
class TotalChange:
    """The current total of a call, and the reason that its coverage gets."""

    total: int
    reason: Reason

    def applied_to(self, outcome: CallOutcome) -> CallOutcome:
        """Return the outcome of a call whose data has changed, which is incomplete."""
        coverage = outcome.coverage
        update = {"is_complete": False, "records_total": self.total, "reasons": (*coverage.reasons, self.reason)}
        report = outcome.report.model_copy(update={"records_total": self.total})
        return replace(outcome, coverage=coverage.model_copy(update=update), report=report)


async def recheck_totals(calls: Sequence[CheckedCall], source: Source, *, scope: CallScope) -> dict[str, TotalChange]:
    """Return the changed totals by call id. Cancellation passes."""
    largest = sorted(calls, key=lambda call: -call.total)[:MAX_CHECKED]
    slots = asyncio.Semaphore(_CONCURRENCY)
    async with asyncio.TaskGroup() as group:
        tasks = {call.call_id: group.create_task(_recheck(call, source, scope, slots)) for call in largest}
    return {call_id: change for call_id, task in tasks.items() if (change := task.result()) is not None}


async def _recheck(
    checked: CheckedCall, source: Source, scope: CallScope, slots: asyncio.Semaphore
) -> TotalChange | None:
    call = DecidedCall(call_id=checked.call_id, tool=checked.tool, arguments=checked.arguments, focus="")
    call_scope = replace(scope, emitter=scope.emitter.child(call_id=checked.call_id))
    client = SourceClient(source, call, scope=call_scope, slots=slots, max_attempts=_MAX_ATTEMPTS)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            total = await refresh_total(checked.tool, client)
    except (SourceError, BudgetExhausted, TimeoutError) as error:
        why = str(error) or "no reply"
    except Exception as error:
        # The answer exists and is paid for: a defect in this check must not cost it.
        why = f"internal error: {type(error).__name__}: {error} ({raised_at(error)})"
    else:
        return _change(checked, total)
    text = f"could not check whether the data of {checked.tool.name} changed: {why}"
    call_scope.emitter.emit(Warned(code="total_not_rechecked", text=text))
    return None


def _change(checked: CheckedCall, total: int | None) -> TotalChange | None:
    if total is None or total == checked.total:
        return None
    noun = checked.tool.noun
    text = f"the data changed while it was read: {checked.total:,} {noun} at first, {total:,} at the end"
    return TotalChange(total, Reason(code=ReasonCode.TOTAL_CHANGED, text=text))
