"""Fetches pages that are addressed by offset, page number or range, several at once.

`PageSchedule` decides which page is next. Requests run concurrently and their pages are accepted in order. Pages that
are refused, empty or duplicated may show that positions are ignored or that they end before the data.
"""

import asyncio
from dataclasses import dataclass

from adapters.base import PageAddress, PaginationStyle
from adapters.errors import HttpStatusError, SourceError
from adapters.pagination import offset_address, page_address
from runax_cli.core.errors import BudgetExhausted
from runax_cli.core.results import ReasonCode, counted
from runax_cli.executor.fetch.page import FetchedPage
from runax_cli.executor.fetch.page_client import PageClient
from runax_cli.executor.fetch.page_repair import ExpectedPage, PageRepairer
from runax_cli.executor.fetch.page_schedule import PageSchedule, ReceivedPage
from runax_cli.executor.fetch.page_writer import PageState, PageWriter
from runax_cli.executor.fetch.server_limits import (
    OFFSET_STYLES,
    SILENT_WINDOW,
    is_out_of_range,
    is_refusal,
    is_window_size,
    window_boundary_in,
)
from runax_cli.executor.strategy import legal_size

MAX_DUPLICATE_PAGES = 2
"""After this many duplicate pages the position counts as ignored."""

MAX_OBJECT_PAGES = 5
"""So many pages of one fetch may be a single object instead of a list."""
MAX_SINGLE_RECORD_PAGES = 500
"""So many consecutive pages may hold one record although more were requested and no total is known."""


def not_a_list(n_pages: int, position: str | None) -> str:
    """Describe pages of one object each, which a tool without a list returns for any position."""
    name = f"'{position}'" if position else "the position"
    return f"{n_pages:,} pages returned a single object; {name} does not look like a pagination parameter"


@dataclass(frozen=True, slots=True)
class _RefusedPage:
    """A page that the source refused; `is_partial`: its records up to a window boundary were fetched all the same."""

    index: int
    address: PageAddress
    error: SourceError
    is_partial: bool


class AddressedWalker:
    """Fetches the addressed pages of one call.

    `broken` says why addresses do not work although the pages themselves name a way to continue.
    """

    def __init__(
        self, schedule: PageSchedule, writer: PageWriter, pages: PageClient, repairer: PageRepairer, *, concurrency: int
    ) -> None:
        self.broken: tuple[ReasonCode, str] | None = None
        self._schedule, self._writer, self._pages, self._repairer = schedule, writer, pages, repairer
        self._concurrency = concurrency
        self._in_flight = 0
        self._n_duplicates = self._n_single_record = self._n_objects = 0
        self._refused: list[_RefusedPage] = []

    @property
    def reached_end(self) -> bool:
        """Whether the data itself showed its end."""
        return self.broken is None and self._schedule.end is not None and not self._schedule.is_stopped

    async def run(self) -> None:
        """Fetch until no further page exists or can be fetched."""
        self._writer.expected_pages = self._schedule.expected_pages
        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(self._worker())
        self._flush_refused()
        if self.broken is None:
            self._note_end()

    async def _worker(self) -> None:
        """Fetch pages until none is left and no request in flight could make further ones available."""
        while True:
            index = self._schedule.take() if self._may_continue() else None
            if index is None:
                if self._in_flight == 0:
                    return
                await self._writer.gate.wait_change()
                continue
            self._in_flight += 1
            try:
                await self._fetch_page(index)
            finally:
                self._in_flight -= 1
                self._writer.gate.notify()

    def _may_continue(self) -> bool:
        if self.broken is not None or not self._writer.may_continue():
            self._schedule.stop()
        return not self._schedule.is_stopped

    async def _fetch_page(self, index: int) -> None:
        """Fetch one page, repair it if it is short or duplicated, and handle it when its turn comes."""
        address = self._address(index)
        try:
            page = await self._complete_page(index, address)
            await self._writer.gate.wait_turn(index)
            if self.broken is None and self._writer.duplicates.duplicate_of(index, page) is not None:
                page = await self._complete_page(index, address, requests_before=page.requests)
        except SourceError as error:
            await self._writer.gate.wait_turn(index)
            await self._handle_failure(index, address, error)
        except BudgetExhausted as error:
            self._writer.stop_incomplete(ReasonCode.BUDGET, str(error))
            self._writer.gate.settle(index, PageState.EMPTY)
        else:
            await self._handle_page(index, page, address)
        self._writer.expected_pages = self._schedule.expected_pages

    async def _complete_page(self, index: int, address: PageAddress, *, requests_before: int = 0) -> FetchedPage:
        """Fetch a page and fill its gap if it is short."""
        page = self._cut(await self._repairer.refetch_duplicated(await self._pages.fetch(address), address))
        page.requests += requests_before
        expected, is_certain = self._expected_records(index, page)
        if page.n_received >= expected:
            return page
        start = index * self._schedule.page_size
        wanted = ExpectedPage(index, address, start=start, expected=expected, is_certain=is_certain)
        return await self._repairer.fill_gap(page, wanted)

    def _cut(self, page: FetchedPage) -> FetchedPage:
        """Drop the records of the next page, which arrive if the server's smallest size is above the page size."""
        size, pagination = self._schedule.page_size, self._pages.pagination
        if pagination.convention not in OFFSET_STYLES or page.is_cached or legal_size(pagination, size) == size:
            return page
        if len(page.records) > size:
            page.records, page.has_more = page.records[:size], None
        return page

    def _expected_records(self, index: int, page: FetchedPage) -> tuple[int, bool]:
        """Return how many records a page should hold, and whether that is certain."""
        expected, size = self._schedule.expected_records(index), self._schedule.page_size
        if expected is not None or page.has_more is True:
            is_certain = expected is not None or (page.n_received > 0 and page.next is None)
            return expected or size, is_certain
        is_unclear = page.has_more is None and page.n_received > 0
        return (size if is_unclear else 0), False

    async def _handle_page(self, index: int, page: FetchedPage, address: PageAddress) -> None:
        original = self._writer.duplicates.duplicate_of(index, page)
        if self.broken is not None:
            self._writer.gate.settle(index, PageState.EMPTY)
        elif original is not None:
            self._handle_duplicate(index, page, original)
        elif not page.n_received and self._is_more_announced(index) and self._should_switch(index):
            text = f"page {index + 1} is empty although the page before it says that more follow"
            self._switch(index, ReasonCode.PAGINATION_UNKNOWN, text)
        else:
            self._flush_refused()
            await self._accept(index, page, address)

    async def _accept(self, index: int, page: FetchedPage, address: PageAddress) -> None:
        is_extra = self._is_behind_end(index)
        has_records = bool(page.records)
        start = index * self._schedule.page_size
        n_new = await self._writer.accept(index, page, address, records_before=start, is_extra=is_extra)
        if n_new is None:
            return
        if has_records and not n_new:
            self._note_duplicate(f"page {index + 1} holds only records that were received before")
        self._schedule.record_page(index, ReceivedPage(records=page.n_received, has_more=page.has_more))
        self._check_is_list(index, page)

    def _check_is_list(self, index: int, page: FetchedPage) -> None:
        """Stop at endless pages of one object, as a tool returns that has no list and changes with each request."""
        is_single = page.n_received == 1
        wants_more = (self._pages.size or MAX_SINGLE_RECORD_PAGES) > 1
        self._n_single_record = self._n_single_record + 1 if is_single and wants_more else 0
        self._n_objects += not page.is_list and is_single
        is_endless = self._n_single_record >= MAX_SINGLE_RECORD_PAGES and self._schedule.total is None
        if self._n_objects >= MAX_OBJECT_PAGES or is_endless:
            text = not_a_list(index + 1, self._pages.pagination.position)
            self._writer.stop_incomplete(ReasonCode.NO_PROGRESS, text)

    def _handle_duplicate(self, index: int, page: FetchedPage, original: int) -> None:
        if self._is_behind_end(index):
            # Some servers answer a position behind the last page with the last page.
            self._schedule.record_end(index)
            self._writer.gate.settle(index, PageState.EMPTY)
        elif self._should_switch(index):
            self._switch(index, ReasonCode.NO_PROGRESS, self._position_ignored())
        elif index == 1 and self._starts_at_zero():
            self._writer.notes.note(ReasonCode.PAGE_REPEATED, "page 0 equals page 1: the API counts pages from 1")
            self._schedule.record_page(index, ReceivedPage(records=page.n_received))
            self._writer.gate.settle(index, PageState.EMPTY)
            self._n_duplicates += 1
        else:
            self._schedule.record_failure(index)
            self._writer.gate.settle(index, PageState.FAILED)
            self._note_duplicate(f"page {index + 1} is a duplicate of page {original + 1}")

    def _starts_at_zero(self) -> bool:
        pagination = self._pages.pagination
        return pagination.convention is PaginationStyle.PAGE and pagination.first == 0

    def _position_ignored(self) -> str:
        position = self._pages.pagination.position
        name = f"'{position}'" if position else "the position"
        return f"the API returned duplicate pages, as if it ignored {name}"

    def _note_duplicate(self, text: str) -> None:
        self._n_duplicates += 1
        self._writer.notes.note_missing(ReasonCode.PAGE_REPEATED, text)
        if self._n_duplicates >= MAX_DUPLICATE_PAGES:
            self._writer.stop_incomplete(ReasonCode.NO_PROGRESS, self._position_ignored())

    def _is_behind_end(self, index: int) -> bool:
        """Whether all announced records are received and the page was requested only to confirm the end."""
        return self._schedule.expected_records(index) is None and not self._schedule.is_beyond_total

    def _is_more_announced(self, index: int) -> bool:
        return self._schedule.expected_records(index) is not None or self._writer.has_more is True

    def _should_switch(self, index: int) -> bool:
        """Whether to follow what the pages name instead: at the second page, at the end, and if problems persist."""
        is_end = self._schedule.expected_records(index) is None
        is_time = index == 1 or is_end or self._n_duplicates > 0 or bool(self._refused)
        return is_time and bool(self._writer.continuations)

    def _switch(self, index: int, code: ReasonCode, why: str) -> None:
        self.broken = (code, why)
        self._schedule.stop()
        self._writer.gate.settle(index, PageState.EMPTY)

    async def _handle_failure(self, index: int, address: PageAddress, error: SourceError) -> None:
        """Handle a page that could not be fetched; behind all announced records that is the end and no loss."""
        is_unannounced = self._schedule.expected_records(index) is None
        if self.broken is not None:
            self._writer.gate.settle(index, PageState.EMPTY)
        elif is_unannounced and not is_refusal(error) and await self._has_records_after(index, error):
            self._schedule.record_failure(index)
            self._writer.record_failure(index, address, error)
        elif self._is_behind_end(index) or (is_unannounced and is_out_of_range(error)):
            self._schedule.record_end(index)
            self._writer.gate.settle(index, PageState.EMPTY)
            if is_refusal(error) and is_window_size(self._writer.n_records):
                self._writer.stop_incomplete(ReasonCode.WINDOW_ENDED, _refused_from(self._writer.n_records, error))
        elif is_refusal(error):
            await self._handle_refusal(index, address, error)
        else:
            self._schedule.record_failure(index)
            self._writer.record_failure(index, address, error)

    async def _has_records_after(self, index: int, error: SourceError) -> bool:
        """Whether an unannounced page is missing among others: a second request for it, or for the next one, succeeds.

        A page that was rejected as out of range is not requested again. No response at all is not a sign of an end.
        """
        if not isinstance(error, HttpStatusError):
            return True
        for other in (index + 1,) if is_out_of_range(error) else (index, index + 1):
            try:
                page = await self._pages.fetch(self._address(other))
            except (SourceError, BudgetExhausted):
                continue
            if page.n_received and self._writer.duplicates.duplicate_of(other, page) is None:
                return True
        return False

    async def _handle_refusal(self, index: int, address: PageAddress, error: SourceError) -> None:
        """Handle a refused page: a single one is lost; if the next one is refused too, positions end here."""
        is_second = bool(self._refused) and self._refused[-1].index == index - 1
        if not is_second:
            self._flush_refused()
        first = self._refused[0].index if is_second else index
        why = _refused_from(first * self._schedule.page_size, error)
        if (index == 1 or is_second) and self._should_switch(index):
            self._refused.clear()
            self._switch(index, ReasonCode.WINDOW_ENDED, why)
            return
        is_partial = not is_second and await self._fetch_up_to_window(index, address)
        if not is_partial:
            self._schedule.record_failure(index)
            self._writer.gate.settle(index, PageState.EMPTY)
        self._refused.append(_RefusedPage(index, address, error, is_partial=is_partial))
        if is_second:
            self._refused.clear()
            self._writer.stop_incomplete(ReasonCode.WINDOW_ENDED, why)

    async def _fetch_up_to_window(self, index: int, address: PageAddress) -> bool:
        """Fetch the records of a refused page up to the multiple of 1000 at which result windows usually end."""
        size, pagination = self._schedule.page_size, self._pages.pagination
        start = index * size
        boundary = window_boundary_in(start, size)
        if pagination.convention not in OFFSET_STYLES or boundary is None or pagination.sizes:
            return False
        try:
            page = await self._pages.fetch(offset_address(pagination, offset=start, size=boundary - start))
        except (SourceError, BudgetExhausted):
            return False
        if not page.n_received or await self._writer.accept(index, page, address, records_before=start) is None:
            return False
        self._schedule.record_page(index, ReceivedPage(records=page.n_received, has_more=True))
        return True

    def _flush_refused(self) -> None:
        """Record single refused pages among others that were received as failures."""
        for refused in self._refused:
            self._writer.record_failure(refused.index, refused.address, refused.error, is_partial=refused.is_partial)
        self._refused.clear()

    def _note_end(self) -> None:
        """Note why the fetch ended, if that leaves doubt about its completeness."""
        writer, schedule, n_records = self._writer, self._schedule, self._writer.n_records
        is_unconfirmed = self._is_end_unconfirmed()
        if schedule.is_cut_by_window and not writer.has_enough:
            text = f"the API returns no records beyond the first {schedule.window:,}"
            writer.stop_incomplete(ReasonCode.WINDOW_ENDED, text)
        elif schedule.is_cut_by_limit and not writer.has_enough:
            text = f"the limit of {counted(schedule.max_pages, 'page')} per call is reached"
            writer.stop_incomplete(ReasonCode.BUDGET, text)
        elif is_unconfirmed and n_records == SILENT_WINDOW:
            text = f"exactly {n_records:,} records were returned, the result window of many services, without a total"
            writer.stop_incomplete(ReasonCode.WINDOW_ENDED, text)
        elif is_unconfirmed and is_window_size(n_records):
            text = f"exactly {n_records:,} records were returned, the result window of some services, without a total"
            writer.notes.note(ReasonCode.PERHAPS_CUT, text)
        self._note_missing_pages()

    def _note_missing_pages(self) -> None:
        writer, notes, schedule = self._writer, self._writer.notes, self._schedule
        if unrequested := schedule.count_unrequested():
            stopped = next((code for code in (ReasonCode.BUDGET, ReasonCode.WINDOW_ENDED) if notes.has(code)), None)
            text = f"{counted(unrequested, 'announced page')} not requested"
            notes.note_missing(stopped or ReasonCode.PAGE_FAILED, text)
        if writer.totals.announced.total is None and (short := schedule.short_pages()):
            pages = ", ".join(str(index + 1) for index in short[:8])
            text = f"pages before the last one are short (page {pages}): records may be missing"
            notes.note_missing(ReasonCode.PAGE_SHORT, text)
        if writer.has_more is True and not writer.is_total_reached and not writer.has_enough:
            text = "the last page with records says that more follow, but the pages after it are empty"
            notes.note_missing(ReasonCode.PAGINATION_UNKNOWN, text)

    def _is_end_unconfirmed(self) -> bool:
        """Whether neither a total nor a page confirms that these are all records."""
        is_confirmed = self._writer.totals.announced.total is not None or self._writer.has_more is False
        return not is_confirmed and not self._writer.has_enough

    def _address(self, index: int) -> PageAddress:
        pagination, size = self._pages.pagination, self._schedule.page_size
        if pagination.convention not in OFFSET_STYLES:
            return page_address(pagination, page_index=index, size=self._pages.size)
        offset = index * size
        left = size if self._schedule.window is None else max(1, self._schedule.window - offset)
        return offset_address(pagination, offset=offset, size=min(legal_size(pagination, size), left))


def _refused_from(position: int, error: SourceError) -> str:
    return f"the API refuses positions from {position:,} on ({error})"
