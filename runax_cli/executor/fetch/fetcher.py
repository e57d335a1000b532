"""Fetching: all pages of one call into its dataset, checked as they come.

Knows the order of things: the first page, the walk that fits how the tool pages, another walk where that guess proves
wrong, the verdict. Knows no step of a walk and no model.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace

from adapters.base import Json, PageAddress, PaginationStyle
from adapters.clock import Clock, SystemClock
from adapters.errors import SourceError
from adapters.pagination import Certainty, first_address, is_sequential
from adapters.pagination.probe.probe import FirstPage, ProbeResult
from runax_cli.core.errors import StoreError
from runax_cli.core.events import Emitter
from runax_cli.core.results import ReasonCode
from runax_cli.executor.coverage import AnnouncedTotal, CoverageNotes, FetchSummary, TotalTracker
from runax_cli.executor.fetch.addressed_walker import AddressedWalker
from runax_cli.executor.fetch.cursor_walker import CursorWalker
from runax_cli.executor.fetch.page import FetchedPage
from runax_cli.executor.fetch.page_repair import BY_OFFSET, USUAL_CAPS, PageRepairer, is_refusal, is_round, said_in
from runax_cli.executor.fetch.page_schedule import PageSchedule, ScheduledPage
from runax_cli.executor.fetch.page_writer import PageWriter
from runax_cli.executor.fetch.pages import PageClient
from runax_cli.executor.fetch.snapshot import Snapshot
from runax_cli.executor.fetch.source_client import CallCaps, FetchLimits, SourceClient
from runax_cli.executor.fetch.verify import corrected_unit, page_before, stands_still
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.store.dataset import Dataset
from runax_cli.executor.strategy import modest_size

_ABOUT_PAGING = frozenset(
    "paging pagination pager pageable paginator pagerequest pageoptions pagingoptions paginationoptions".split()
)
_FEWEST, _ROUND = 5, 5


def limit_of(call: DecidedCall, count: int) -> str | None:
    """The argument that lets through just as many records as came, by its value or default; None for none.

    One record proves nothing: many defaults are 1, and so are many results. A number without a default is not looked
    at: it may be anybody's identity.
    """
    found = _numbers(call.tool.parameters, call.arguments)
    return next((name for name, number in found if number == count), None) if count > 1 else None


def unread_paging(call: DecidedCall, count: int) -> str | None:
    """An argument that is about paging by its whole name, where as many records came as servers cut at.

    Nobody knows how it is written (a JSON text, an object of unknown members), so nothing can be asked for by it.
    """
    if count < _FEWEST or count % _ROUND:
        return None
    declared = call.tool.parameters.get("properties", {})
    return next((name for name in declared if _plain(name) in _ABOUT_PAGING and name not in call.arguments), None)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def _numbers(schema: Mapping[str, Json], given: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for name, declared in schema.get("properties", {}).items():
        if not isinstance(declared, Mapping):
            continue
        value = given.get(name)
        if declared.get("type") == "object":
            yield from _numbers(declared, value if isinstance(value, Mapping) else {})
        elif declared.get("type") == "integer" and "default" in declared:
            yield name, given.get(name, declared["default"])


_FEWEST_TO_PROVE = 3
_FEWEST_TO_DOUBT = 2
_PAIR = 2


class Fetcher:
    """The pages of one call. `first` must come before `rest`; `in_order` may be listened to while `rest` runs."""

    def __init__(
        self,
        call: DecidedCall,
        probe: ProbeResult,
        dataset: Dataset,
        *,
        send: SourceClient,
        emitter: Emitter,
        ledger: RunCache,
        notes: CoverageNotes,
        first: FirstPage | None,
        size: int | None,
        concurrency: int,
        limits: FetchLimits | None = None,
        clock: Clock | None = None,
        snapshot: Snapshot | None = None,
        identity: str = "",
    ) -> None:
        self._call, self._dataset, self._notes = call, dataset, notes
        self._given, self._has_sample = first, bool(probe.sample)
        self._was_silent = probe.is_end_unconfirmed
        self._concurrency = concurrency
        caps = CallCaps(limits or FetchLimits(), dataset, clock or SystemClock())
        self._totals = TotalTracker(AnnouncedTotal(total=probe.total, certainty=probe.certainty), notes)
        self._pages = PageClient(
            call,
            probe,
            send=send,
            ledger=ledger,
            spool=dataset.spool,
            size=size if first is None else first.size,
            snapshot=snapshot,
            identity=identity,
        )
        self._intake = PageWriter(
            call, dataset, self._pages, emitter=emitter, notes=notes, totals=self._totals, caps=caps
        )
        self._mender = PageRepairer(self._pages, notes)
        self._walk = _walk(probe, call, max_pages=caps.limits.pages)
        self._trail = CursorWalker(self._intake, self._pages, self._mender)
        self._first: list[Json] = []
        self._says_total = False
        self._is_base_known = False
        self.reached_end = False

    async def first(self) -> int:
        """Fetch the first page; its number of records. Raises SourceError and BudgetExhausted: nothing was read."""
        given, self._given = self._given, None
        pagination = self._pages.pagination
        place: PageAddress | None
        if given is None:
            place, page = await self._ask_first()
        else:
            place, page = given.address, await self._pages.given(given)
        size = self._pages.size
        page = await self._mender.distinct(page, place)
        if not page.held and self._has_sample:
            place, page = await self._from_zero(place, page)
        if not page.held and self._has_sample:
            page = await self._mender.refilled(page, place)
        if given is None and pagination.is_addressable:
            page = await self._mender.first(page, place, asked=size, total=self._totals.announced.total)
        place, page = await self._by_cap(place, page, asked=size)
        self._walk.stride = self._stride(page)
        held, self._first, self._says_total = page.held, list(page.records), page.total is not None
        self._intake.pages_expected = self._walk.pages_expected
        await self._intake.keep(0, page, place, before=0)
        self._walk.saw(0, ScheduledPage(records=held, has_more=page.has_more))
        return held

    async def _from_zero(self, place: PageAddress | None, page: FetchedPage) -> tuple[PageAddress | None, FetchedPage]:
        """Page 0 where it has records that page 1 has not: the first page, and the base of the walk."""
        pagination = self._pages.pagination
        if pagination.convention is not PaginationStyle.PAGE or pagination.first != 1 or pagination.is_declared:
            return place, page
        other = await page_before(self._pages)
        self._is_base_known = True
        if other is None or not other.held or other.records == page.records:
            return place, page
        self._pages.pagination = replace(pagination, first=0)
        self._intake.told_correction(f"'{pagination.position}' was taken to count from 1; it counts from 0")
        other.ways = other.ways or page.ways
        return first_address(self._pages.pagination, size=self._pages.size), other

    async def _by_cap(
        self, place: PageAddress | None, page: FetchedPage, *, asked: int | None
    ) -> tuple[PageAddress | None, FetchedPage]:
        """Go on by pages of the cap, where the first page shows one.

        They are the same to a server that cuts there, and right where it counts by the size that it does not give.
        """
        pagination, stride = self._pages.pagination, self._stride(page)
        is_cut = asked is not None and stride < asked and stride in USUAL_CAPS
        if pagination.convention is not PaginationStyle.PAGE or pagination.sizes or not is_cut:
            return place, page
        place, page = await self._from_zero(place, page)
        self._pages.size = max(self._stride(page), pagination.min_size or 1)
        return place, page

    async def _ask_first(self) -> tuple[PageAddress, FetchedPage]:
        """The first page, by ever more modest sizes where the one that was thought right is refused."""
        while True:
            place = first_address(self._pages.pagination, size=self._pages.size)
            try:
                return place, await self._pages.ask(place, is_first=True)
            except SourceError as error:
                modest = modest_size(self._pages.pagination, self._pages.size, said=said_in(error))
                if modest is None or not is_refusal(error) or modest >= (self._pages.size or 0):
                    raise
                text = f"pages of {self._pages.size} records were refused ({error}); pages of {modest} are asked for"
            self._intake.told_correction(text)
            self._pages.size = modest

    async def rest(self) -> None:
        """Fetch every further page. Failures are noted and never raised; cancellation keeps what is there."""
        pagination = self._pages.pagination
        try:
            if pagination.convention is PaginationStyle.OFFSET and self._pages.size is None:
                await self._by_received()
            elif pagination.is_addressable:
                await self._by_address()
            elif is_sequential(pagination):
                await self._follow()
            else:
                self._judge_lone_page()
        finally:
            self._intake.arrivals.close()

    @property
    def from_store(self) -> int:
        """Pages that the journal had."""
        return self._pages.from_store

    def in_order(self) -> AsyncIterator[int]:
        """Indices of pages that are on disk, in page order, each as soon as all before it are in or have failed."""
        return self._intake.arrivals.in_order()

    def stop(self) -> None:
        """Ask for no further page; what is on its way still comes in."""
        self._intake.halt()

    def fetched(self) -> FetchSummary:
        """What fetching came to."""
        return FetchSummary(
            records=self._dataset.n_records,
            pages_read=self._intake.arrivals.pages_in,
            pages_failed=self._intake.arrivals.pages_lost,
            reached_end=self.reached_end,
            announced=self._totals.announced,
            at_most=self._call.at_most,
        )

    async def _by_address(self) -> None:
        await self._prove_unit()
        strides = AddressedWalker(self._walk, self._intake, self._pages, self._mender, concurrency=self._concurrency)
        await strides.run()
        self.reached_end = strides.reached_end
        if strides.broken is not None:
            ways = self._intake.ways
            await self._trail.run(self._walk.next_index, ways, last=self._last, broken=strides.broken)
            self.reached_end = self._trail.reached_end
        await self._look_before_first()
        await self._prove_standing()

    async def _by_received(self) -> None:
        held, has_more = self._walk.seen[0].records, self._walk.seen[0].has_more
        if held and has_more is not False:
            await self._trail.by_received(1, held)
            self.reached_end = self._trail.reached_end
        else:
            self.reached_end = not self._intake.is_stopped

    async def _follow(self) -> None:
        intake = self._intake
        if intake.named is not None:
            if intake.may_go_on():
                await self._trail.run(1, intake.ways, last=self._last)
        elif intake.has_more is True and intake.others and intake.may_go_on():
            broken = (ReasonCode.PAGINATION_UNKNOWN, "page 1 says that more records follow, and not where")
            await self._trail.run(1, intake.others, last=self._last, broken=broken)
        elif not self._is_end_in_doubt():
            self._trail.end(0, has_more=intake.has_more)
        self.reached_end = self._trail.reached_end

    def _is_end_in_doubt(self) -> bool:
        """The first page names no next one; nor did a shorter page, which has one for sure. Then it says nothing.

        A page that is neither as long as was asked for nor as long as servers cut at is all there is all the same.
        """
        held, size = self._walk.seen[0].records, self._pages.size
        is_full = size is not None and held >= size
        is_cut = is_full or held in USUAL_CAPS or held == self._pages.pagination.default_size
        if not self._was_silent or held < _FEWEST_TO_DOUBT or not is_cut or self._totals.announced.total is not None:
            return False
        text = f"{held:,} records came, and what names the next page was not understood, if there is one"
        self._notes.missing(ReasonCode.PAGINATION_UNKNOWN, text)
        return True

    def _judge_lone_page(self) -> None:
        """The one response of a tool that has no pages: whole, unless it says itself that there is more."""
        count, total = self._dataset.n_records, self._totals.announced.total
        is_cut = (
            self._intake.has_more is True
            or self._intake.named is not None
            or self._totals.announced.certainty is Certainty.AT_LEAST
        )
        if not is_cut and not self._says_total and (name := limit_of(self._call, count)) is not None:
            text = f"{count:,} records came, as many as '{name}' lets through; others may be behind them"
            self._notes.missing(ReasonCode.PAGINATION_UNKNOWN, text)
            return
        if not is_cut and not self._says_total and (name := unread_paging(self._call, count)) is not None:
            text = f"{count:,} records came, and '{name}' may lead to others; nothing says how it is written"
            self._notes.missing(ReasonCode.PAGINATION_UNKNOWN, text)
            return
        if not is_cut and (total is None or total <= count):
            self.reached_end = True
            is_told = self._says_total or self._intake.has_more is False or self._intake.is_enough
            if not is_told and is_round(count):
                text = f"just {count:,} records came, where some services cut, and nothing says that these are all"
                self._notes.note(ReasonCode.PERHAPS_CUT, text)
            return
        of = f" of {total:,}" if total is not None and total > count else ""
        text = f"{count:,}{of} records came, and there is no known way to ask for the others"
        text = f"{text}; `pagination` of the operation in runax.yaml can say one"
        if not self._intake.is_enough:
            self._notes.missing(ReasonCode.PAGINATION_UNKNOWN, text)

    async def _prove_unit(self) -> None:
        """Where no total and no page would show it: whether offsets count records."""
        pagination, facts = self._pages.pagination, self._walk.seen[0]
        is_shown = self._totals.announced.total is not None or self._intake.has_ways or pagination.is_declared
        is_over = facts.has_more is False or not self._intake.may_go_on()
        if (
            pagination.convention is not PaginationStyle.OFFSET
            or is_shown
            or is_over
            or len(self._first) < _FEWEST_TO_PROVE
        ):
            return
        found = await corrected_unit(self._pages, self._first)
        if found is None:
            return
        was = f"'{pagination.position}' was taken for a number of records"
        self._pages.pagination, text = found
        self._intake.told_correction(f"{was}; {text}")

    async def _prove_standing(self) -> None:
        """Where no total would show it: whether records moved up meanwhile, past what was read.

        The last records of the first page and of one amid the others are looked at again.
        """
        walk, is_shown = self._walk, self._totals.announced.total is not None or self._pages.from_store > 0
        filled = {index for index, facts in walk.seen.items() if facts.records == walk.stride}
        is_shown = is_shown or not self._pages.pagination.is_addressable
        if is_shown or not self.reached_end or self._notes.is_short or self._intake.is_enough or len(filled) < _PAIR:
            return
        for index in sorted({0, len(filled) // 2}):
            row = (index + 1) * walk.stride
            if not {*range(index + 1)} <= filled or self._intake.is_stopped or row > self._dataset.n_records:
                return  # fewer records than places: some came twice, and no row tells the place of its record
            try:
                record = await asyncio.to_thread(self._dataset.record, row)
            except StoreError as error:
                self._notes.missing(ReasonCode.STORE_ERROR, str(error))
                return
            if not await stands_still(self._pages, index, record, stride=walk.stride):
                text = f"record {row:,} is no more where it was read: others before it were added or deleted meanwhile"
                self._notes.missing(ReasonCode.TOTAL_CHANGED, text)
                return

    async def _look_before_first(self) -> None:
        """Where the walk began at 1 and no total shows that it began with the first record: look at 0."""
        pagination, total = self._pages.pagination, self._totals.announced.total
        is_shown = pagination.is_declared or (total is not None and self._dataset.n_records >= total)
        is_shown = is_shown or self._is_base_known
        if pagination.first != 1 or not pagination.is_addressable or is_shown or not self.reached_end:
            return
        if self._walk.seen[0].records == 0 or not self._intake.may_go_on():
            return
        page = await page_before(self._pages)
        if page is None or not page.held or self._first[:1] == page.records[:1]:
            return
        if self._intake.repetitions.twin(self._walk.next_index, page) is None:
            self._intake.told_correction(f"'{pagination.position}' was taken to count from 1; it counts from 0")
            await self._intake.keep(self._walk.next_index, page, None)

    @property
    def _last(self) -> Json:
        return self._first[-1] if self._first else None

    def _stride(self, page: FetchedPage) -> int:
        """The step of the walk: what was asked for, unless the server gave less although more may follow: its cap.

        A total of just as many as a usual cap may be the length of the page: what is behind it is looked at.
        """
        count, total, size = page.held, self._totals.announced.total, self._pages.size
        if size is None:
            return max(1, count)
        is_told = total is not None and total >= count and not (page.has_more is None and count in USUAL_CAPS)
        may_be_cut = page.has_more is True or total != count if is_told else page.has_more is not False
        return count if 0 < count < size and may_be_cut else max(size, count)


def _walk(probe: ProbeResult, call: DecidedCall, *, max_pages: int) -> PageSchedule:
    return PageSchedule(
        stride=1,
        announced=probe.total or None,
        at_most=call.at_most,
        max_pages=max_pages,
        window=probe.pagination.window,
        is_window_split=probe.pagination.convention in BY_OFFSET,
    )
