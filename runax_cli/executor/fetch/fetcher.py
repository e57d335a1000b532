"""Fetches all pages of one call into its dataset.

The order of things: the first page, the walker that fits the pagination (another one if that turns out to be wrong),
the checks before and after it, the summary.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from adapters.base import Json, PageAddress, PaginationStyle
from adapters.errors import SourceError
from adapters.pagination import first_address, is_sequential
from adapters.pagination.probe.probe import FirstPage, ProbeResult
from runax_cli.core.results import ReasonCode
from runax_cli.executor.coverage import AnnouncedTotal, FetchSummary, TotalTracker
from runax_cli.executor.fetch.addressed_walker import AddressedWalker
from runax_cli.executor.fetch.call_limits import CallLimits, Deadline, LimitChecker
from runax_cli.executor.fetch.cursor_walker import CursorWalker
from runax_cli.executor.fetch.page import FetchedPage
from runax_cli.executor.fetch.page_client import FetchContext, PageClient
from runax_cli.executor.fetch.page_repair import PageRepairer
from runax_cli.executor.fetch.page_schedule import PageSchedule, ReceivedPage
from runax_cli.executor.fetch.page_writer import PageWriter
from runax_cli.executor.fetch.server_limits import COMMON_PAGE_CAPS, OFFSET_STYLES, is_refusal, refusal_text
from runax_cli.executor.fetch.verify import (
    CHECKS_AFTER_WALK,
    CHECKS_BEFORE_WALK,
    Check,
    EndVerdict,
    FetchState,
    fetch_page_zero,
    judge_missing_cursor,
    judge_single_page,
    zero_based,
)
from runax_cli.executor.store.dataset import Dataset
from runax_cli.executor.strategy import modest_size


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """How a call is fetched. `page_size`: the records to request per page; None if the tool has no such argument."""

    page_size: int | None
    concurrency: int
    deadline: Deadline
    limits: CallLimits = field(default_factory=CallLimits)


class Fetcher:
    """Fetches the pages of one call: `fetch_first`, then `fetch_rest`, while `in_order` may be iterated."""

    def __init__(
        self,
        context: FetchContext,
        probe: ProbeResult,
        dataset: Dataset,
        options: FetchOptions,
        *,
        first_page: FirstPage | None = None,
    ) -> None:
        self._call, self._dataset, self._notes = context.call, dataset, context.notes
        self._probe, self._options, self._probed_page = probe, options, first_page
        size = options.page_size if first_page is None else first_page.size
        limits = LimitChecker(options.limits, options.deadline, dataset)
        self._totals = TotalTracker(AnnouncedTotal(total=probe.total, certainty=probe.certainty), context.notes)
        self._pages = PageClient(context, probe, spool=dataset.spool, size=size)
        self._writer = PageWriter(
            context.call,
            dataset,
            self._pages,
            emitter=context.emitter,
            notes=context.notes,
            totals=self._totals,
            limits=limits,
        )
        self._repairer = PageRepairer(self._pages, context.notes)
        self._cursor_walker = CursorWalker(self._writer, self._pages, self._repairer)
        self._schedule = PageSchedule(
            page_size=1,
            total=probe.total or None,
            at_most=context.call.at_most,
            max_pages=options.limits.pages,
            window=probe.pagination.window,
            is_window_split=probe.pagination.convention in OFFSET_STYLES,
        )
        self._first_records: tuple[Json, ...] = ()
        self._page_announces_total = False
        self._is_start_verified = False
        self._reached_end = False

    @property
    def n_cached_pages(self) -> int:
        """The number of pages that were taken from the journal."""
        return self._pages.n_cached

    def in_order(self) -> AsyncIterator[int]:
        """Yield the indices of pages on disk, in page order, each as soon as all before it are stored or failed."""
        return self._writer.gate.in_order()

    def summary(self) -> FetchSummary:
        """Return what was fetched."""
        return FetchSummary(
            records=self._dataset.n_records,
            pages_read=self._writer.gate.pages_stored,
            pages_failed=self._writer.gate.pages_failed,
            reached_end=self._reached_end,
            announced=self._totals.announced,
            at_most=self._call.at_most,
        )

    async def fetch_first(self) -> int:
        """Fetch the first page and return its number of records.

        Raises SourceError and BudgetExhausted: then nothing was read.
        """
        probed, self._probed_page = self._probed_page, None
        address: PageAddress | None
        if probed is None:
            address, page = await self._request_first()
        else:
            address, page = probed.address, await self._pages.from_probe(probed)
        address, page = await self._repair_first(address, page, is_requested=probed is None)
        self._schedule.page_size = self._page_size(page)
        self._first_records, self._page_announces_total = tuple(page.records), page.total is not None
        self._writer.expected_pages = self._schedule.expected_pages
        n_received = page.n_received
        await self._writer.accept(0, page, address, records_before=0)
        self._schedule.record_page(0, ReceivedPage(records=n_received, has_more=page.has_more))
        return n_received

    async def fetch_rest(self) -> None:
        """Fetch all further pages. Failures are noted and never raised; cancellation keeps the stored pages."""
        pagination = self._pages.pagination
        try:
            if pagination.convention is PaginationStyle.OFFSET and self._pages.size is None:
                await self._walk_by_received()
            elif pagination.is_addressable:
                await self._walk_by_address()
            elif is_sequential(pagination):
                await self._walk_by_cursor()
            else:
                self._apply(judge_single_page(self._state()))
        finally:
            self._writer.gate.close()

    async def _request_first(self) -> tuple[PageAddress, FetchedPage]:
        """Request the first page, with smaller and smaller sizes while the server refuses the size."""
        while True:
            address = first_address(self._pages.pagination, size=self._pages.size)
            try:
                return address, await self._pages.fetch(address, is_first=True)
            except SourceError as error:
                smaller = modest_size(self._pages.pagination, self._pages.size, said=refusal_text(error))
                if smaller is None or not is_refusal(error) or smaller >= (self._pages.size or 0):
                    raise
                text = f"page size {self._pages.size} was refused ({error}); using {smaller}"
            self._writer.warn_corrected(text)
            self._pages.size = smaller

    async def _repair_first(
        self, address: PageAddress | None, page: FetchedPage, *, is_requested: bool
    ) -> tuple[PageAddress | None, FetchedPage]:
        """Repair a first page that has duplicates, is empty or short. `is_requested`: it is not the probe's page."""
        requested, has_sample = self._pages.size, bool(self._probe.sample)
        page = await self._repairer.refetch_duplicated(page, address)
        if not page.n_received and has_sample:
            address, page = await self._try_page_zero(address, page)
        if not page.n_received and has_sample:
            page = await self._repairer.refetch_empty(page, address)
        if is_requested and self._pages.pagination.is_addressable:
            total = self._totals.announced.total
            page = await self._repairer.complete_first(page, address, requested=requested, total=total)
        return await self._adopt_page_cap(address, page, requested=requested)

    async def _try_page_zero(
        self, address: PageAddress | None, page: FetchedPage
    ) -> tuple[PageAddress | None, FetchedPage]:
        """Start at page 0 if it has records that page 1 does not have."""
        pagination = self._pages.pagination
        if pagination.convention is not PaginationStyle.PAGE or pagination.first != 1 or pagination.is_declared:
            return address, page
        zero = await fetch_page_zero(self._pages)
        self._is_start_verified = True
        if zero is None or not zero.n_received or zero.records == page.records:
            return address, page
        self._pages.pagination = replace(pagination, first=0)
        self._writer.warn_corrected(zero_based(pagination))
        zero.alternatives = zero.alternatives or page.alternatives
        return first_address(self._pages.pagination, size=self._pages.size), zero

    async def _adopt_page_cap(
        self, address: PageAddress | None, page: FetchedPage, *, requested: int | None
    ) -> tuple[PageAddress | None, FetchedPage]:
        """Continue with pages of the server's cap if the first page shows one.

        That makes no difference if the server counts pages by its cap, and is right if it counts by the requested size.
        """
        pagination, size = self._pages.pagination, self._page_size(page)
        is_capped = requested is not None and size < requested and size in COMMON_PAGE_CAPS
        if pagination.convention is not PaginationStyle.PAGE or pagination.sizes or not is_capped:
            return address, page
        address, page = await self._try_page_zero(address, page)
        self._pages.size = max(self._page_size(page), pagination.min_size or 1)
        return address, page

    async def _walk_by_address(self) -> None:
        await self._run_checks(CHECKS_BEFORE_WALK)
        walker = AddressedWalker(
            self._schedule, self._writer, self._pages, self._repairer, concurrency=self._options.concurrency
        )
        await walker.run()
        self._reached_end = walker.reached_end
        if walker.broken is not None:
            await self._cursor_walker.run(
                self._schedule.next_index,
                self._writer.continuations,
                last_record=self._last_first_record,
                broken=walker.broken,
            )
            self._reached_end = self._cursor_walker.reached_end
        await self._run_checks(CHECKS_AFTER_WALK)

    async def _walk_by_received(self) -> None:
        first = self._schedule.received[0]
        if first.records and first.has_more is not False:
            await self._cursor_walker.run_by_received(1, first.records)
            self._reached_end = self._cursor_walker.reached_end
        else:
            self._reached_end = not self._writer.is_stopped

    async def _walk_by_cursor(self) -> None:
        writer, walker = self._writer, self._cursor_walker
        if writer.next is not None:
            if writer.may_continue():
                await walker.run(1, writer.continuations, last_record=self._last_first_record)
        elif writer.has_more is True and writer.alternatives and writer.may_continue():
            broken = (ReasonCode.PAGINATION_UNKNOWN, "page 1 reports has_more but gives no next page")
            await walker.run(1, writer.alternatives, last_record=self._last_first_record, broken=broken)
        else:
            was_silent = self._probe.is_end_unconfirmed
            verdict = judge_missing_cursor(self._state(), size=self._pages.size, was_probe_silent=was_silent)
            if verdict.is_end:
                walker.end(0, has_more=writer.has_more)
            else:
                self._apply(verdict)
        self._reached_end = walker.reached_end

    async def _run_checks(self, checks: tuple[Check, ...]) -> None:
        for check in checks:
            state = self._state()
            if check.applies(state):
                await check.run(state, self._pages, self._writer)

    def _apply(self, verdict: EndVerdict) -> None:
        self._reached_end = verdict.is_end
        if verdict.code is not None:
            note = self._notes.note if verdict.is_end else self._notes.note_missing
            note(verdict.code, verdict.text)

    def _state(self) -> FetchState:
        writer = self._writer
        return FetchState(
            call=self._call,
            pagination=self._pages.pagination,
            announced=self._totals.announced,
            received=self._schedule.received,
            first_records=self._first_records,
            page_size=self._schedule.page_size,
            next_index=self._schedule.next_index,
            n_records=self._dataset.n_records,
            n_cached=self._pages.n_cached,
            page_announces_total=self._page_announces_total,
            has_more=writer.has_more,
            has_next=writer.next is not None,
            has_continuation=bool(writer.continuations),
            has_enough=writer.has_enough,
            is_incomplete=self._notes.is_incomplete,
            is_start_verified=self._is_start_verified,
            reached_end=self._reached_end,
        )

    @property
    def _last_first_record(self) -> Json:
        return self._first_records[-1] if self._first_records else None

    def _page_size(self, page: FetchedPage) -> int:
        """Return the page size of the walk: the requested one, or less if the server caps pages and more may follow.

        A total that equals a common cap may be the length of the page: the records behind it are requested.
        """
        count, total, size = page.n_received, self._totals.announced.total, self._pages.size
        if size is None:
            return max(1, count)
        is_believable = total is not None and total >= count
        if is_believable and not (page.has_more is None and count in COMMON_PAGE_CAPS):
            may_be_cut = page.has_more is True or total != count
        else:
            may_be_cut = page.has_more is not False
        return count if 0 < count < size and may_be_cut else max(size, count)
