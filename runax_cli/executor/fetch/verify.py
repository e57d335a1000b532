"""The proof of a guess: whether positions count what they were thought to count, from where, and still do so.

Knows what a page looks like that overlaps one which is known. Knows no walk. Asked only where nothing else would show
it: without a total, a walk in strides of the wrong unit passes records over and ends as if it were whole.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.base import Json, JsonObject, Pagination, PaginationStyle, ToolSpec
from adapters.errors import SourceError
from adapters.pagination import offset_address, page_address
from adapters.pagination.probe.probe import refresh_total
from runax_cli.core.errors import BudgetExhausted, place_of
from runax_cli.core.events import Warned
from runax_cli.core.results import Reason, ReasonCode, TotalIs
from runax_cli.executor.fetch.deduplication import id_of
from runax_cli.executor.fetch.page import FetchedPage
from runax_cli.executor.fetch.pages import PageClient
from runax_cli.executor.fetch.source_client import Source, SourceClient
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall
from runax_cli.executor.strategy import legal_size

_PAIR = 2


async def corrected_unit(pages: PageClient, first: list[Json]) -> tuple[Pagination, str] | None:
    """How positions really count, in words too, seen from the records of the first page; None where the guess holds.

    A page that is to begin with the last but one of these records is asked for. It is of two, since pages of one record
    have the numbers of records. Three records at least are needed, and two requests at most.
    """
    pagination, size = pages.pagination, legal_size(pages.pagination, _PAIR)
    last = await _at(pages, len(first) - _PAIR, size)
    if last and (last[0] == first[-_PAIR] or first[-1] == first[-_PAIR]):
        return None  # right; or the first page was filled from one that overlaps it, and so will all be
    if last and last[0] == first[-_PAIR - 1]:
        text = f"'{pagination.position}' counts from {pagination.first + 1}"
        return replace(pagination, first=pagination.first + 1), text
    second = await _at(pages, 1, pages.size or size)
    if second and all(record not in first for record in second):
        text = f"'{pagination.position}' counts pages and not records"
        return replace(pagination, convention=PaginationStyle.PAGE), text
    return None


async def stands_still(pages: PageClient, index: int, record: Json, *, stride: int) -> bool:
    """Whether `record`, the last of page `index` of a walk in steps of `stride`, is still where it was read.

    It is not where records before it were added or deleted meanwhile: then the page behind began with another one than
    it should have. Where it cannot be asked, nothing speaks against it.
    """
    pagination, at = pages.pagination, (index + 1) * stride - 1
    try:
        if pagination.convention is PaginationStyle.PAGE:
            page = await pages.seen_again(page_address(pagination, page_index=index, size=pages.size))
            found = page.records[stride - 1 : stride]
        else:
            page = await pages.seen_again(offset_address(pagination, offset=at, size=legal_size(pagination, 1)))
            found = page.records[:1]
    except (SourceError, BudgetExhausted):
        return True
    now = [one if isinstance(one, dict) else {"value": one} for one in found]  # as datasets hold them
    return bool(now) and is_same(now[0], record)


def is_same(one: Json, other: Json) -> bool:
    """Whether two records are the same one: by their id, else by most members, since some change as they are read."""
    if id_of(one) is not None or not isinstance(one, dict) or not isinstance(other, dict):
        return bool(one == other) or (id_of(one) is not None and id_of(one) == id_of(other))
    return bool(2 * sum(name in other and other[name] == value for name, value in one.items()) > len(one))


async def page_before(pages: PageClient) -> FetchedPage | None:
    """The page at position 0 of a walk that began at 1; None where there is none."""
    from_zero = replace(pages.pagination, first=0)
    try:
        if from_zero.convention is PaginationStyle.PAGE:
            return await pages.ask(page_address(from_zero, page_index=0, size=pages.size))
        return await pages.ask(offset_address(from_zero, offset=0, size=legal_size(from_zero, 1)))
    except (SourceError, BudgetExhausted):
        return None


async def _at(pages: PageClient, offset: int, size: int) -> list[Json]:
    try:
        return (await pages.ask(offset_address(pages.pagination, offset=offset, size=size))).records
    except (SourceError, BudgetExhausted):
        return []


MOST_CHECKED = 8
"""So many datasets of one run are asked about again, the largest first."""
_AT_ONCE = 4
_ATTEMPTS = 3
_TIME_LIMIT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCall:
    """A call that was read: its tool and arguments, and how many records there were."""

    call_id: str
    tool: ToolSpec
    arguments: JsonObject
    total: int


def worth_checking(outcome: CallOutcome, *, call_id: str, tool: ToolSpec | None) -> CheckedCall | None:
    """What to ask about a call again; None where one page brought all of it, or where its total is in doubt anyway."""
    coverage = outcome.coverage
    is_settled = coverage.is_complete and coverage.total_is is TotalIs.EXACT and not coverage.reasons
    if tool is None or not is_settled or not outcome.report.requests or coverage.pages_read < 2:
        return None
    total = coverage.records_total or 0
    return CheckedCall(call_id=call_id, tool=tool, arguments=outcome.report.arguments, total=total)


@dataclass(frozen=True, slots=True)
class TotalChange:
    """How many records there are now, and what that says of those that were read."""

    total: int
    reason: Reason

    def applied_to(self, outcome: CallOutcome) -> CallOutcome:
        """The outcome of a call whose data has changed: what was read is not what there is."""
        coverage = outcome.coverage
        told = {"is_complete": False, "records_total": self.total, "reasons": (*coverage.reasons, self.reason)}
        report = outcome.report.model_copy(update={"records_total": self.total})
        return replace(outcome, coverage=coverage.model_copy(update=told), report=report)


async def changes(reads: Sequence[CheckedCall], source: Source, *, scope: CallScope) -> dict[str, TotalChange]:
    """By call, how its data changed since it was read. Cancellation passes."""
    largest = sorted(reads, key=lambda read: -read.total)[:MOST_CHECKED]
    slots = asyncio.Semaphore(_AT_ONCE)
    async with asyncio.TaskGroup() as group:
        tasks = {read.call_id: group.create_task(_change(read, source, scope, slots)) for read in largest}
    return {call_id: change for call_id, task in tasks.items() if (change := task.result()) is not None}


async def _change(read: CheckedCall, source: Source, scope: CallScope, slots: asyncio.Semaphore) -> TotalChange | None:
    call = DecidedCall(call_id=read.call_id, tool=read.tool, arguments=read.arguments, focus="")
    mine = replace(scope, emitter=scope.emitter.child(call_id=read.call_id))
    sender = SourceClient(source, call, scope=mine, slots=slots, max_attempts=_ATTEMPTS)
    try:
        async with asyncio.timeout(_TIME_LIMIT_S):
            total = await refresh_total(read.tool, sender)
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


def _compared(read: CheckedCall, total: int | None) -> TotalChange | None:
    if total is None or total == read.total:
        return None
    text = f"the data changed while it was read: {read.total:,} {read.tool.noun} then, {total:,} at the end"
    return TotalChange(total, Reason(code=ReasonCode.TOTAL_CHANGED, text=text))
