"""Totals asked again when everything is read: data that changed while it was being read is told.

One cheap request for each dataset that came in more than one page and whose total was exact. It proves nothing where
the source tells no total; a request that fails or takes long, or that no budget is left for, changes nothing.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.base import JsonObject, ToolSpec
from adapters.errors import SourceError
from adapters.probe import total_again
from runax_cli.errors import BudgetExhausted, place_of
from runax_cli.events import Warned
from runax_cli.executor.outcome import CallOutcome, DecidedCall, Scope
from runax_cli.executor.sender import Sender, Source
from runax_cli.results import Reason, ReasonCode, TotalIs

MOST_CHECKED = 8
"""So many datasets of one run are asked about again, the largest first."""
_AT_ONCE = 4
_ATTEMPTS = 3
_TIME_LIMIT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A call that was read: its tool and arguments, and how many records there were."""

    call_id: str
    tool: ToolSpec
    arguments: JsonObject
    total: int


def worth_checking(outcome: CallOutcome, *, call_id: str, tool: ToolSpec | None) -> Read | None:
    """What to ask about a call again; None where one page brought all of it, or where its total is in doubt anyway."""
    coverage = outcome.coverage
    is_settled = coverage.is_complete and coverage.total_is is TotalIs.EXACT and not coverage.reasons
    if tool is None or not is_settled or not outcome.report.requests or coverage.pages_read < 2:
        return None
    total = coverage.records_total or 0
    return Read(call_id=call_id, tool=tool, arguments=outcome.report.arguments, total=total)


@dataclass(frozen=True, slots=True)
class Change:
    """How many records there are now, and what that says of those that were read."""

    total: int
    reason: Reason

    def applied_to(self, outcome: CallOutcome) -> CallOutcome:
        """The outcome of a call whose data has changed: what was read is not what there is."""
        coverage = outcome.coverage
        told = {"is_complete": False, "records_total": self.total, "reasons": (*coverage.reasons, self.reason)}
        report = outcome.report.model_copy(update={"records_total": self.total})
        return replace(outcome, coverage=coverage.model_copy(update=told), report=report)


async def changes(reads: Sequence[Read], source: Source, *, scope: Scope) -> dict[str, Change]:
    """By call, how its data changed since it was read. Cancellation passes."""
    largest = sorted(reads, key=lambda read: -read.total)[:MOST_CHECKED]
    slots = asyncio.Semaphore(_AT_ONCE)
    async with asyncio.TaskGroup() as group:
        tasks = {read.call_id: group.create_task(_change(read, source, scope, slots)) for read in largest}
    return {call_id: change for call_id, task in tasks.items() if (change := task.result()) is not None}


async def _change(read: Read, source: Source, scope: Scope, slots: asyncio.Semaphore) -> Change | None:
    call = DecidedCall(call_id=read.call_id, tool=read.tool, arguments=read.arguments, focus="")
    mine = replace(scope, emitter=scope.emitter.child(call_id=read.call_id))
    sender = Sender(source, call, scope=mine, slots=slots, max_attempts=_ATTEMPTS)
    try:
        async with asyncio.timeout(_TIME_LIMIT_S):
            total = await total_again(read.tool, sender)
    except (SourceError, BudgetExhausted, TimeoutError) as error:
        why = str(error) or "no reply"
    except Exception as error:
        # The answer is there and paid for: a fault of runax itself in looking once more must not cost it.
        why = f"it failed inside runax: {type(error).__name__}: {error} ({place_of(error)})"
    else:
        return _compared(read, total)
    text = f"whether the data of {read.tool.name} changed meanwhile could not be asked: {why}"
    mine.emitter.emit(Warned(code="total_not_rechecked", text=text))
    return None


def _compared(read: Read, total: int | None) -> Change | None:
    if total is None or total == read.total:
        return None
    text = f"the data changed while it was read: {read.total:,} {read.tool.noun} then, {total:,} at the end"
    return Change(total, Reason(code=ReasonCode.TOTAL_CHANGED, text=text))
