"""Accepts the pages of a call: writes their records to disk, notes problems and emits events.

Memory holds one page per request in flight: records go to disk as they arrive, and only page indices are passed on.
"""

import asyncio
from collections.abc import AsyncIterator
from enum import Enum

from adapters.base import Json, JsonObject, PageAddress
from adapters.errors import SourceError
from adapters.pagination import Certainty
from runax_cli.core.errors import StoreError
from runax_cli.core.event_types import PageFailed, PageFetched, Warned
from runax_cli.core.events import Emitter
from runax_cli.core.results import ReasonCode
from runax_cli.executor.coverage import CoverageNotes, TotalTracker
from runax_cli.executor.fetch.call_limits import LimitChecker
from runax_cli.executor.fetch.deduplication import DuplicateDetector
from runax_cli.executor.fetch.page import Continuation, FetchedPage, continuation_to, position_label
from runax_cli.executor.fetch.page_client import PageClient
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.store.dataset import Dataset


class PageState(Enum):
    """What became of a page."""

    STORED = "stored"
    FAILED = "failed"
    EMPTY = "empty"


class InOrderGate:
    """Orders pages that arrive out of order. `in_order` may be iterated while pages still arrive."""

    def __init__(self) -> None:
        self._front = 0
        self._settled: dict[int, PageState] = {}
        self._is_closed = False
        self._changed = asyncio.Event()

    @property
    def pages_stored(self) -> int:
        """The number of pages on disk."""
        return sum(state is PageState.STORED for state in self._settled.values())

    @property
    def pages_failed(self) -> int:
        """The number of pages that could not be fetched."""
        return sum(state is PageState.FAILED for state in self._settled.values())

    def settle(self, index: int, state: PageState) -> None:
        """Record what became of a page."""
        self._settled[index] = state
        while self._front in self._settled:
            self._front += 1
        self.notify()

    def close(self) -> None:
        """Declare that no further page will arrive."""
        self._is_closed = True
        self.notify()

    def notify(self) -> None:
        """Wake everyone who waits for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_change(self) -> None:
        """Wait until anything changes."""
        await self._changed.wait()

    async def wait_turn(self, index: int) -> None:
        """Wait until every page before `index` is settled.

        Pages are accepted in order: which of two equal pages is the duplicate must not depend on the network.
        """
        while self._front < index:
            await self.wait_change()

    async def in_order(self) -> AsyncIterator[int]:
        """Yield the indices of stored pages in page order, each as soon as all before it are settled."""
        index = 0
        while True:
            while index >= self._front and not self._is_closed:
                await self.wait_change()
            if index >= self._front:
                return
            if self._settled[index] is PageState.STORED:
                yield index
            index += 1


class PageWriter:
    """Accepts the pages of one call.

    `next`: how to continue after the last accepted page, as the page itself says. `alternatives`: other continuations
    found in it. `has_more`: what it says about further pages. `is_stopped`: no further page is wanted.
    `expected_pages` is for the log.
    """

    def __init__(
        self, call: DecidedCall, dataset: Dataset, pages: PageClient, *,
        emitter: Emitter, notes: CoverageNotes, totals: TotalTracker, limits: LimitChecker,
    ) -> None:  # fmt: skip
        self.gate, self.duplicates = InOrderGate(), DuplicateDetector(call.tool.noun, notes)
        self.notes, self.totals = notes, totals
        self.is_stopped = False
        self.expected_pages: int | None = None
        self.next: Continuation | None = None
        self.alternatives: tuple[Continuation, ...] = ()
        self.has_more: bool | None = None
        self._call, self._dataset, self._pages = call, dataset, pages
        self._emitter, self._limits = emitter, limits

    @property
    def n_records(self) -> int:
        """The number of records on disk."""
        return self._dataset.n_records

    @property
    def has_enough(self) -> bool:
        """Whether the requested number of records is on disk."""
        return self._call.at_most is not None and self.n_records >= self._call.at_most

    @property
    def is_total_reached(self) -> bool:
        """Whether as many records are on disk as the API announces for certain. A total of zero is not believed."""
        announced = self.totals.announced
        is_certain = announced.certainty is Certainty.EXACT and bool(announced.total)
        return is_certain and self.n_records == announced.total

    @property
    def continuations(self) -> tuple[Continuation, ...]:
        """All ways to continue after the last accepted page, the most likely first."""
        return self.alternatives if self.next is None else (self.next, *self.alternatives)

    def may_continue(self) -> bool:
        """Return whether a further page may be requested; notes a limit that is reached."""
        if not self.is_stopped and (why := self._limits.exceeded()) is not None:
            self.stop_incomplete(ReasonCode.BUDGET, why)
        return not self.is_stopped and not self.has_enough

    def stop(self) -> None:
        """Request no further page; requests in flight are still accepted."""
        self.is_stopped = True

    def stop_incomplete(self, code: ReasonCode, why: str) -> None:
        """Request no further page, and note why the data is incomplete."""
        if self.notes.has(code):
            self.notes.is_incomplete = True
        else:
            self.notes.note_missing(code, why)
        self.is_stopped = True

    def warn_corrected(self, text: str) -> None:
        """Report that an assumption about the pagination was wrong."""
        self.notes.note(ReasonCode.PAGING_CORRECTED, text)
        self._warn("paging_corrected", text)

    async def accept(
        self,
        index: int,
        page: FetchedPage,
        address: PageAddress | None,
        *,
        records_before: int | None = None,
        is_extra: bool = False,
    ) -> int | None:
        """Write the new records of a page and settle it; return how many are new, or None if the disk failed.

        `records_before`: the number of records before the page. `is_extra`: the page was requested only to confirm
        the end. A first page is written even if it is empty: it shows that the call reached its source.
        """
        self.totals.update(page.total, page=index + 1, received=page.n_received)
        self._check_readable(index, page)
        new = self.duplicates.add_page(index, page)
        kept = self._cut(new, self.n_records if records_before is None else records_before)
        page.n_dropped += len(page.records) - len(kept)
        page.records = kept
        if (kept or index == 0) and not await self._write(index, page, address):
            return None
        if page.n_received and not is_extra:
            self.has_more = page.has_more
            pagination = self._pages.pagination
            self.next = None if page.next is None else continuation_to(pagination, page.next, page.style)
            self.alternatives = page.alternatives
        self.gate.settle(index, PageState.STORED if kept else PageState.EMPTY)
        # A limit that is reached by the very last page cuts nothing off.
        may_have_next = page.next is not None or page.has_more is not False
        if (why := self._limits.exceeded()) is not None and not self.has_enough and may_have_next:
            self.stop_incomplete(ReasonCode.BUDGET, why)
        return len(new)

    def record_failure(
        self, index: int, address: PageAddress | None, error: SourceError, *, is_partial: bool = False
    ) -> None:
        """Note and settle a page that could not be fetched. `is_partial`: some of its records are on disk."""
        why = f"{error.kind}: {error}"
        position = position_label(address, self._pages.pagination, index=index)
        self.notes.note_missing(ReasonCode.PAGE_FAILED, f"page {index + 1} ({position}) could not be read: {why}")
        self._emitter.emit(PageFailed(index=index + 1, of=self._expected(index), position=position, why=why))
        self.gate.settle(index, PageState.STORED if is_partial else PageState.FAILED)

    async def read_record(self, row: int) -> JsonObject | None:
        """Read a record back from disk; notes a disk that fails and returns None."""
        try:
            return await asyncio.to_thread(self._dataset.record, row)
        except StoreError as error:
            self.notes.note_missing(ReasonCode.STORE_ERROR, str(error))
            return None

    def _check_readable(self, index: int, page: FetchedPage) -> None:
        """Note a page of a list tool that could not be parsed completely: records may be missing."""
        if not page.flaw or not self._call.tool.returns_many:
            return
        text = f"page {index + 1} could not be parsed completely: {page.flaw}"
        self.notes.note_missing(ReasonCode.UNREADABLE, text)
        self._warn(ReasonCode.UNREADABLE.value, text)

    async def _write(self, index: int, page: FetchedPage, address: PageAddress | None) -> bool:
        position = position_label(address, self._pages.pagination, index=index)
        try:
            entry = await asyncio.to_thread(self._dataset.add_page, index, page.records, position=position)
        except StoreError as error:
            self.stop_incomplete(ReasonCode.STORE_ERROR, str(error))
            self.gate.settle(index, PageState.FAILED)
            return False
        await self._pages.store(address, page, entry)
        self._emitter.emit(
            PageFetched(
                index=index + 1,
                of=self._expected(index),
                position=position,
                limit=self._pages.size,
                items=entry.records,
                retries=max(0, page.requests - 1),
                from_store=page.is_cached,
            )
        )
        return True

    def _warn(self, code: str, text: str) -> None:
        self._emitter.emit(Warned(code=code, text=f"{self._call.tool.name}: {text}"))

    def _expected(self, index: int) -> int | None:
        """Return the expected number of pages, never fewer than this page's number."""
        return None if self.expected_pages is None else max(self.expected_pages, index + 1)

    def _cut(self, records: list[Json], records_before: int) -> list[Json]:
        """Drop what exceeds the requested number of records."""
        at_most = self._call.at_most
        return records if at_most is None else records[: max(0, at_most - records_before)]
