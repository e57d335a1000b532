"""Fetching: all pages of one call into its dataset, checked as they come.

Knows the walk over pages and what becomes of one that failed, came short or came twice. Memory holds one page a
request in flight: records go to disk as they arrive, and only page numbers are handed on. Knows no model.
"""

import asyncio
from collections.abc import AsyncIterator

from adapters.base import Convention, Json, PageAddress
from adapters.errors import ForeignOrigin, SourceError
from adapters.pagination import Certainty, address, first_address, offset_address
from adapters.probe import FirstPage, Probe
from runax_cli.errors import BudgetExhausted, StoreError
from runax_cli.events import Emitter, PageFailed, PageFetched
from runax_cli.executor.arrivals import Arrivals
from runax_cli.executor.coverage import Announced, Fetched, Notes, Totals
from runax_cli.executor.dataset import Dataset
from runax_cli.executor.ledger import Ledger, key_of
from runax_cli.executor.mend import Asked, Mender, is_beyond_data
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.page import Page, from_journal, page_of, page_of_reading, position_of, to_journal
from runax_cli.executor.repetition import Repetitions
from runax_cli.executor.sender import Sender
from runax_cli.executor.walk import FetchLimits, PageFacts, Walk
from runax_cli.memory.journal import EntryKind
from runax_cli.results import ReasonCode

REPEATED_PAGES = 2
"""So many pages may come a second time before the position counts as ignored."""
_FOLLOWED = (Convention.CURSOR, Convention.NEXT_URL, Convention.LINK_HEADER, Convention.KEYSET)


class Fetch:
    """The pages of one call. `first` must come before `rest`; `in_order` may be listened to while `rest` runs."""

    def __init__(
        self,
        call: DecidedCall,
        probe: Probe,
        dataset: Dataset,
        *,
        send: Sender,
        emitter: Emitter,
        ledger: Ledger,
        notes: Notes,
        first: FirstPage | None,
        size: int | None,
        concurrency: int,
        limits: FetchLimits | None = None,
    ) -> None:
        self._call, self._dataset, self._send = call, dataset, send
        self._emitter, self._ledger, self._notes = emitter, ledger, notes
        self._pagination, self._path = probe.pagination, probe.records_path
        self._given, self._has_sample = first, bool(probe.sample)
        self._size = size if first is None else first.size
        self._concurrency, self._limits = concurrency, limits or FetchLimits()
        self._totals = Totals(Announced(total=probe.total, certainty=probe.certainty), notes)
        self._walk = Walk(stride=1, announced=probe.total or None, at_most=call.at_most, max_pages=self._limits.pages)
        self._next: PageAddress | None = None
        self._has_more: bool | None = None
        self._repetitions = Repetitions(call.tool.noun, notes)
        self._arrivals = Arrivals()
        self._mender = Mender(self._ask, self._pagination, self._notes)
        self._busy = 0
        self._repeated_pages = 0
        self.reached_end = False

    async def first(self) -> int:
        """Fetch the first page; its number of records. Raises SourceError and BudgetExhausted: nothing was read."""
        given, self._given = self._given, None
        place = given.address if given else first_address(self._pagination, size=self._size)
        if given is None:
            page = await self._ask(place)
        else:
            page = page_of_reading(given.reading, requests=0)
            await self._ledger.started(self._key(place), EntryKind.PAGE)
        page = await self._mender.distinct(page, place)
        if not page.held and self._has_sample:
            page = await self._mender.refilled(page, place)
        if given is None and self._pagination.is_addressable:
            page = await self._mender.first(page, place, asked=self._size, total=self._totals.announced.total)
        self._walk.stride = self._stride(page)
        self._next, self._has_more = page.next, page.has_more
        await self._keep(0, page, place)
        return page.held

    async def rest(self) -> None:
        """Fetch every further page. Failures are noted and never raised; cancellation keeps what is there."""
        try:
            if self._is_stepwise:
                await self._walk_by_received()
            elif self._pagination.is_addressable:
                await self._walk_by_address()
            elif self._pagination.convention in _FOLLOWED:
                await self._follow()
            else:
                self._judge_lone_page()
        finally:
            self._arrivals.close()

    def in_order(self) -> AsyncIterator[int]:
        """Indices of pages that are on disk, in page order, each as soon as all before it are in or have failed."""
        return self._arrivals.in_order()

    def stop(self) -> None:
        """Ask for no further page; what is on its way still comes in."""
        self._walk.stop()

    def fetched(self) -> Fetched:
        """What fetching came to."""
        return Fetched(
            records=self._dataset.n_records,
            pages_read=self._arrivals.pages_in,
            pages_failed=self._arrivals.pages_lost,
            reached_end=self.reached_end,
            announced=self._totals.announced,
            at_most=self._call.at_most,
        )

    @property
    def _is_stepwise(self) -> bool:
        return self._pagination.convention is Convention.OFFSET and self._size is None

    async def _walk_by_address(self) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(self._worker())
        self._close_walk()

    async def _worker(self) -> None:
        """Take pages until there is none to ask for, and none on its way that could open further ones."""
        while True:
            index = self._walk.take()
            if index is None:
                if self._busy == 0:
                    return
                await self._arrivals.news()
                continue
            self._busy += 1
            try:
                await self._page(index)
            finally:
                self._busy -= 1
                self._arrivals.tell()

    async def _page(self, index: int) -> None:
        """One addressable page: fetched, mended where it is short or repeated, kept in its turn."""
        place = self._place(index)
        try:
            page = await self._whole(index, place)
            await self._arrivals.turn(index)
            if self._repetitions.twin(index, page) is not None:
                page = await self._whole(index, place, asked_before=page.requests)
        except SourceError as error:
            self._missed(index, place, error)
        except BudgetExhausted as error:
            self._stop(ReasonCode.BUDGET, str(error))
            self._arrivals.settle(index, is_in=None)
        else:
            await self._judged(index, page, place)

    async def _whole(self, index: int, place: PageAddress, *, asked_before: int = 0) -> Page:
        page = await self._mender.distinct(await self._ask(place), place)
        page.requests += asked_before
        expected, is_sure = self._expected(index, page)
        if page.held >= expected:
            return page
        asked = Asked(index, place, at=index * self._walk.stride, expected=expected, is_sure=is_sure)
        return await self._mender.filled(page, asked)

    async def _judged(self, index: int, page: Page, place: PageAddress) -> None:
        twin = self._repetitions.twin(index, page)
        if twin is None:
            await self._keep(index, page, place)
        elif self._is_behind_the_end(index):
            # Some servers answer a position behind the last page with the last page.
            self._walk.missed(index, is_end=True)
            self._arrivals.settle(index, is_in=None)
        else:
            self._walk.missed(index)
            self._arrivals.settle(index, is_in=False)
            self._tell_repetition(f"page {index + 1} came as page {twin + 1} once more")

    def _tell_repetition(self, text: str) -> None:
        self._repeated_pages += 1
        self._notes.missing(ReasonCode.PAGE_REPEATED, text)
        if self._repeated_pages >= REPEATED_PAGES:
            name = self._pagination.position or "the position"
            self._stop(ReasonCode.NO_PROGRESS, f"the API repeats its pages, as if it ignored '{name}'")

    def _is_behind_the_end(self, index: int) -> bool:
        """All that was announced is in, and page `index` was asked for to be sure."""
        is_extra = self._pagination.is_addressable and self._walk.expected(index) is None
        return is_extra and not self._walk.is_contradicted

    def _expected(self, index: int, page: Page) -> tuple[int, bool]:
        """How many records page `index` should hold, and whether that is sure."""
        expected = self._walk.expected(index)
        if expected is not None or page.has_more is True:
            return expected or self._walk.stride, True
        is_in_doubt = page.has_more is None and page.held > 0
        return (self._walk.stride if is_in_doubt else 0), False

    async def _walk_by_received(self) -> None:
        """Offsets without a size: each page begins after the records received so far."""
        received, index = self._walk.seen[0].records, 1
        while self._may_go_on and received and self._has_more is not False:
            page = await self._next_page(index, offset_address(self._pagination, offset=received, size=None))
            if page is None:
                return
            received += page.held
            self._has_more = False if not page.held else page.has_more
            index += 1
        self.reached_end = self._has_more is False or not received

    async def _follow(self) -> None:
        """Pages that name their successor: one by one, never to an address that was visited."""
        visited: set[str] = set()
        index = 1
        while self._next is not None and self._may_go_on:
            place = self._next
            mark = key_of(place.url, dict(place.arguments))
            if mark in visited:
                self._stop(ReasonCode.NO_PROGRESS, f"page {index} names a page as its next that was read already")
                return
            visited.add(mark)
            page = await self._next_page(index, place)
            if page is None:
                return
            self._next, self._has_more = page.next, page.has_more
            index += 1
        self.reached_end = self._next is None and not self._walk.given_up
        if self.reached_end and self._has_more is True and not self._is_enough:
            self.reached_end = False
            text = f"page {index} says that more records follow, and not where"
            self._notes.missing(ReasonCode.PAGINATION_UNKNOWN, text)

    async def _next_page(self, index: int, place: PageAddress) -> Page | None:
        """One page of a walk that cannot go on without it; None where the walk ends, which is noted."""
        try:
            page = await self._mender.distinct(await self._ask(place), place)
        except SourceError as error:
            self._missed(index, place, error)
            return None
        except BudgetExhausted as error:
            self._stop(ReasonCode.BUDGET, str(error))
            return None
        if (twin := self._repetitions.twin(index, page)) is not None:
            text = f"page {index + 1} came as page {twin + 1} once more: the source does not move on"
            self._stop(ReasonCode.NO_PROGRESS, text)
            return None
        await self._keep(index, page, place)
        return page

    def _judge_lone_page(self) -> None:
        """The one response of a tool that has no pages: whole, unless it says itself that there is more."""
        count, total = self._dataset.n_records, self._totals.announced.total
        is_cut = (
            self._has_more is True or self._next is not None or self._totals.announced.certainty is Certainty.AT_LEAST
        )
        if not is_cut and (total is None or total <= count):
            self.reached_end = True
            return
        of = f" of {total:,}" if total is not None and total > count else ""
        text = f"{count:,}{of} records came, and there is no known way to ask for the others"
        if not self._is_enough:
            self._notes.missing(ReasonCode.PAGINATION_UNKNOWN, text)

    def _close_walk(self) -> None:
        self.reached_end = self._walk.end is not None and not self._walk.given_up
        if self._walk.is_cut_by_cap and not self._is_enough:
            self._tell_cap()
        if left := self._walk.unasked():
            code = ReasonCode.BUDGET if self._notes.has(ReasonCode.BUDGET) else ReasonCode.PAGE_FAILED
            self._notes.missing(code, f"{left:,} further announced pages were not asked for")
        if self._totals.announced.total is None and (short := self._walk.short_pages()):
            named = ", ".join(str(index + 1) for index in short[:8])
            text = f"pages that are not the last came short (page {named}): records may be missing"
            self._notes.missing(ReasonCode.PAGE_SHORT, text)

    async def _ask(self, place: PageAddress | None) -> Page:
        """One page, from the journal where this run has it already, else from the source."""
        key = self._key(place)
        payload = None if self._call.tool.requires_fresh_input else await self._ledger.found(key)
        if payload is not None and (page := await asyncio.to_thread(from_journal, payload)) is not None:
            return page
        await self._ledger.started(key, EntryKind.PAGE)
        result = await self._send(place)
        return page_of(result, self._pagination, records_path=self._path, size=self._size)

    async def _keep(self, index: int, page: Page, place: PageAddress | None) -> None:
        """Check a page against the others, write it down, and let the walk know what it held."""
        self._totals.saw(page.total, page=index + 1)
        fresh = self._repetitions.fresh(index, page)
        if page.records and not fresh and not self._is_behind_the_end(index):
            self._tell_repetition(f"page {index + 1} brought only records that had come before")
        kept = self._cut(index, fresh)
        page.dropped += len(page.records) - len(kept)
        page.records = kept
        if (kept or index == 0) and not await self._write(index, page, place):
            return
        self._walk.saw(index, PageFacts(records=page.held, has_more=page.has_more))
        self._arrivals.settle(index, is_in=True if kept else None)
        if self._is_over_caps:
            self._tell_cap()
            self._walk.stop()

    async def _write(self, index: int, page: Page, place: PageAddress | None) -> bool:
        position = position_of(place, self._pagination, index=index)
        try:
            entry = await asyncio.to_thread(self._dataset.add_page, index, page.records, position=position)
        except StoreError as error:
            self._stop(ReasonCode.STORE_ERROR, str(error))
            self._arrivals.settle(index, is_in=False)
            return False
        await self._ledger.done(self._key(place), to_journal(page, entry, self._dataset.spool.path))
        self._emitter.emit(
            PageFetched(
                index=index + 1,
                of=self._of,
                position=position,
                limit=self._size,
                items=entry.records,
                retries=max(0, page.requests - 1),
                from_store=page.from_store,
            )
        )
        return True

    def _missed(self, index: int, place: PageAddress, error: SourceError) -> None:
        """A page that could not be had; one behind all announced records is the end of the data and no loss."""
        is_extra = self._pagination.is_addressable and self._walk.expected(index) is None
        if self._is_behind_the_end(index) or (is_extra and is_beyond_data(error)):
            self._walk.missed(index, is_end=True)
            self._arrivals.settle(index, is_in=None)
            return
        self._walk.missed(index)
        why = f"{error.kind}: {error}"
        position = position_of(place, self._pagination, index=index)
        self._notes.missing(ReasonCode.PAGE_FAILED, f"page {index + 1} ({position}) could not be read: {why}")
        if isinstance(error, ForeignOrigin):
            self._walk.stop()
        self._emitter.emit(PageFailed(index=index + 1, of=self._of, position=position, why=why))
        self._arrivals.settle(index, is_in=False)

    def _stop(self, code: ReasonCode, why: str) -> None:
        if not self._notes.has(code):
            self._notes.missing(code, why)
        self._walk.stop()

    def _tell_cap(self) -> None:
        self._stop(ReasonCode.BUDGET, "the cap of pages, records or bytes of one call is reached")

    def _cut(self, index: int, records: list[Json]) -> list[Json]:
        """What suffices of a page."""
        at_most = self._call.at_most
        if at_most is None:
            return records
        is_placed = self._pagination.is_addressable and not self._is_stepwise
        before = index * self._walk.stride if is_placed else self._dataset.n_records
        return records[: max(0, at_most - before)]

    def _stride(self, page: Page) -> int:
        """The step of the walk: what was asked for, unless the server gave less although more may follow: its cap."""
        count, total = page.held, self._totals.announced.total
        if self._size is None:
            return max(1, count)
        is_told = total is not None and total >= count
        may_be_cut = page.has_more is True or total != count if is_told else page.has_more is not False
        return count if 0 < count < self._size and may_be_cut else max(self._size, count)

    @property
    def _of(self) -> int | None:
        return self._walk.pages_expected if self._pagination.is_addressable else None

    @property
    def _is_enough(self) -> bool:
        return self._call.at_most is not None and self._dataset.n_records >= self._call.at_most

    @property
    def _may_go_on(self) -> bool:
        if len(self._walk.seen) >= self._limits.pages:
            self._tell_cap()
        return not self._is_enough and not self._walk.given_up

    @property
    def _is_over_caps(self) -> bool:
        return self._dataset.n_records > self._limits.records or self._dataset.spool.n_bytes > self._limits.n_bytes

    def _place(self, index: int) -> PageAddress:
        is_offset = self._pagination.convention is Convention.OFFSET
        return address(self._pagination, page_index=index, size=self._walk.stride if is_offset else self._size)

    def _key(self, place: PageAddress | None) -> str:
        """Of one run's one call: what another run saw of the data may be out of date."""
        call, where = self._call, None if place is None else [place.url, dict(place.arguments)]
        return key_of(
            "page", self._ledger.run_id, call.call_id, call.tool.source, call.tool.name, call.arguments, where
        )
