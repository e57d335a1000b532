"""The intake: what becomes of a page that came, or could not be had.

Knows what is on disk, what is noted and what is told. Knows no walk: which page is asked for next is not its business.
Memory holds one page a request in flight: records go to disk as they arrive, and only page numbers are handed on.
"""

import asyncio
from collections.abc import AsyncIterator

from adapters.base import Json, PageAddress
from adapters.errors import SourceError
from adapters.pagination import Certainty
from runax_cli.core.errors import StoreError
from runax_cli.core.event_types import PageFailed, PageFetched, Warned
from runax_cli.core.events import Emitter
from runax_cli.core.results import ReasonCode
from runax_cli.executor.coverage import CoverageNotes, TotalTracker
from runax_cli.executor.fetch.deduplication import RepetitionDetector
from runax_cli.executor.fetch.page import Continuation, FetchedPage, position_of, way_of
from runax_cli.executor.fetch.pages import PageClient
from runax_cli.executor.fetch.source_client import CallCaps
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.store.dataset import Dataset


class InOrderGate:
    """Which pages are settled. `in_order` may be listened to while more arrive; `news` wakes whoever waits."""

    def __init__(self) -> None:
        self._front = 0
        self._settled: dict[int, bool | None] = {}
        self._is_closed = False
        self._news = asyncio.Event()

    @property
    def pages_in(self) -> int:
        """Pages that are on disk."""
        return sum(is_in is True for is_in in self._settled.values())

    @property
    def pages_lost(self) -> int:
        """Pages that could not be had."""
        return sum(is_in is False for is_in in self._settled.values())

    def settle(self, index: int, *, is_in: bool | None) -> None:
        """Page `index` is on disk, or is known to be lost; None: it holds nothing."""
        self._settled[index] = is_in
        while self._front in self._settled:
            self._front += 1
        self.tell()

    def close(self) -> None:
        """No further page will come."""
        self._is_closed = True
        self.tell()

    def tell(self) -> None:
        """Wake everyone who waits for news."""
        self._news.set()
        self._news = asyncio.Event()

    async def news(self) -> None:
        """Wait until anything changes."""
        await self._news.wait()

    async def turn(self, index: int) -> None:
        """Wait until every page before `index` is settled.

        Pages are judged and written in order: which of two equal ones repeats the other must not depend on the net.
        """
        while self._front < index:
            await self.news()

    async def in_order(self) -> AsyncIterator[int]:
        """Indices of pages that are on disk, in page order, each as soon as all before it are settled."""
        index = 0
        while True:
            while index >= self._front and not self._is_closed:
                await self.news()
            if index >= self._front:
                return
            if self._settled[index]:
                yield index
            index += 1


class PageWriter:
    """Takes in the pages of one call.

    `named` is how to go on from the last page taken in, as it says itself, and `others` are further ways to read what
    it says. `is_stopped`: no further page is wanted. `pages_expected` is for the log.
    """

    def __init__(
        self, call: DecidedCall, dataset: Dataset, pages: PageClient, *,
        emitter: Emitter, notes: CoverageNotes, totals: TotalTracker, caps: CallCaps,
    ) -> None:  # fmt: skip
        self.arrivals, self.repetitions = InOrderGate(), RepetitionDetector(call.tool.noun, notes)
        self.notes, self.totals = notes, totals
        self.is_stopped = False
        self.pages_expected: int | None = None
        self.named: Continuation | None = None
        self.others: tuple[Continuation, ...] = ()
        self.has_more: bool | None = None
        self._call, self._dataset, self._pages = call, dataset, pages
        self._emitter, self._caps = emitter, caps

    @property
    def records(self) -> int:
        """Records on disk."""
        return self._dataset.n_records

    @property
    def is_enough(self) -> bool:
        """Whether as many came as suffice."""
        return self._call.at_most is not None and self.records >= self._call.at_most

    @property
    def is_total_met(self) -> bool:
        """Whether as many came as the API announces for sure. Of zero nothing is believed."""
        announced = self.totals.announced
        is_sure = announced.certainty is Certainty.EXACT and bool(announced.total)
        return is_sure and self.records == announced.total

    @property
    def ways(self) -> tuple[Continuation, ...]:
        """All ways to go on from the last page taken in, the likeliest first."""
        return self.others if self.named is None else (self.named, *self.others)

    @property
    def has_ways(self) -> bool:
        """Whether that page says in any way how to go on."""
        return bool(self.ways)

    def may_go_on(self) -> bool:
        """Whether a further page may be asked for; a cap that is reached is noted."""
        if not self.is_stopped and (why := self._caps.passed()) is not None:
            self.stop(ReasonCode.BUDGET, why)
        return not self.is_stopped and not self.is_enough

    def stop(self, code: ReasonCode, why: str) -> None:
        """Ask for no further page, and say why the data is not complete."""
        if self.notes.has(code):
            self.notes.is_short = True
        else:
            self.notes.missing(code, why)
        self.is_stopped = True

    def halt(self) -> None:
        """Ask for no further page; what is on its way still comes in."""
        self.is_stopped = True

    def corrected(self, was: str, way: Continuation) -> None:
        """Tell that a guess was wrong, and by what pages are read instead."""
        self.told_correction(f"{was}; {way.words} is followed instead")

    def told_correction(self, text: str) -> None:
        """Tell that a guess was wrong, in words."""
        self.notes.note(ReasonCode.PAGING_CORRECTED, text)
        self._emitter.emit(Warned(code="paging_corrected", text=f"{self._call.tool.name}: {text}"))

    async def keep(
        self,
        index: int,
        page: FetchedPage,
        place: PageAddress | None,
        *,
        before: int | None = None,
        is_extra: bool = False,
    ) -> int | None:
        """Write what is new of a page and settle it; how many records were new, None where the disk takes no more.

        `before` is how many records stand before the page, `is_extra` that it was asked for to be sure of the end. A
        first page is written though it be empty: the call reached its source.
        """
        self.totals.saw(page.total, page=index + 1, held=page.held)
        self._doubt(index, page)
        fresh = self.repetitions.fresh(index, page)
        kept = self._cut(fresh, self.records if before is None else before)
        page.dropped += len(page.records) - len(kept)
        page.records = kept
        if (kept or index == 0) and not await self._write(index, page, place):
            return None
        if page.held and not is_extra:
            self.has_more = page.has_more
            self.named = None if page.next is None else way_of(self._pages.pagination, page.next, page.kind)
            self.others = page.ways
        self.arrivals.settle(index, is_in=True if kept else None)
        if (why := self._caps.passed()) is not None and not self.is_enough and self._has_successor(page):
            self.stop(ReasonCode.BUDGET, why)
        return len(fresh)

    def _doubt(self, index: int, page: FetchedPage) -> None:
        """What cannot be read of a page may hold records, where the tool has many."""
        if not page.flaw or not self._call.tool.returns_many:
            return
        text = f"page {index + 1} could not be read whole: {page.flaw}"
        self.notes.missing(ReasonCode.UNREADABLE, text)
        self._emitter.emit(Warned(code=ReasonCode.UNREADABLE.value, text=f"{self._call.tool.name}: {text}"))

    def _has_successor(self, page: FetchedPage) -> bool:
        """A cap that is reached with the very last page cuts nothing off."""
        return page.next is not None or page.has_more is not False

    async def _write(self, index: int, page: FetchedPage, place: PageAddress | None) -> bool:
        position = position_of(place, self._pages.pagination, index=index)
        try:
            entry = await asyncio.to_thread(self._dataset.add_page, index, page.records, position=position)
        except StoreError as error:
            self.stop(ReasonCode.STORE_ERROR, str(error))
            self.arrivals.settle(index, is_in=False)
            return False
        await self._pages.done(place, page, entry)
        told = PageFetched(
            index=index + 1,
            of=self._expected(index),
            position=position,
            limit=self._pages.size,
            items=entry.records,
            retries=max(0, page.requests - 1),
            from_store=page.from_store,
        )
        self._emitter.emit(told)
        return True

    def lost(self, index: int, place: PageAddress | None, error: SourceError, *, is_in: bool = False) -> None:
        """A page could not be had; `is_in` where a part of it is on disk."""
        why = f"{error.kind}: {error}"
        position = position_of(place, self._pages.pagination, index=index)
        self.notes.missing(ReasonCode.PAGE_FAILED, f"page {index + 1} ({position}) could not be read: {why}")
        self._emitter.emit(PageFailed(index=index + 1, of=self._expected(index), position=position, why=why))
        self.arrivals.settle(index, is_in=is_in)

    def _expected(self, index: int) -> int | None:
        """How many pages there are, as far as is known: never fewer than this one's number."""
        return None if self.pages_expected is None else max(self.pages_expected, index + 1)

    def _cut(self, records: list[Json], before: int) -> list[Json]:
        """What suffices of a page."""
        at_most = self._call.at_most
        return records if at_most is None else records[: max(0, at_most - before)]
