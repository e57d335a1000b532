"""Repairs incomplete pages: a page that is empty, short or has duplicates is requested again, or its gap is.

What cannot be repaired is kept as it is and noted: received records are never given up for missing ones.
"""

from dataclasses import dataclass

from adapters.base import PageAddress
from adapters.errors import SourceError
from adapters.pagination import first_address, may_repeat_address, offset_address
from runax_cli.core.errors import BudgetExhausted
from runax_cli.core.results import ReasonCode
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.fetch.deduplication import count_duplicates
from runax_cli.executor.fetch.page import FetchedPage
from runax_cli.executor.fetch.page_client import PageClient
from runax_cli.executor.fetch.server_limits import COMMON_PAGE_CAPS, OFFSET_STYLES, is_out_of_range
from runax_cli.executor.strategy import legal_size

MAX_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class ExpectedPage:
    """A requested page: its address, the number of records before it (`start`), and how many it should hold.

    `is_certain` is False if the server did not say how many: then a page that stays short is the last one.
    """

    index: int
    address: PageAddress
    start: int
    expected: int
    is_certain: bool = True


class PageRepairer:
    """Requests pages of one call again, at most `MAX_ATTEMPTS` times per page and only while that adds records."""

    def __init__(self, pages: PageClient, notes: CoverageNotes) -> None:
        self._pages, self._notes = pages, notes
        self._n_useless = 0

    async def refetch_duplicated(self, page: FetchedPage, address: PageAddress | None) -> FetchedPage:
        """Request a page with duplicate records once more: a duplicate may replace another record."""
        is_hopeless = self._n_useless >= MAX_ATTEMPTS
        if address is None or page.is_cached or is_hopeless or may_repeat_address(self._pages.pagination):
            return page
        n_duplicates = count_duplicates(page.records)
        if not n_duplicates:
            return page
        try:
            other = await self._pages.fetch(address)
        except (SourceError, BudgetExhausted):
            return page
        is_better = other.n_received >= page.n_received and count_duplicates(other.records) < n_duplicates
        self._n_useless += not is_better
        better = other if is_better else page
        better.requests, better.alternatives = page.requests + other.requests, page.alternatives
        return better

    async def refetch_empty(self, page: FetchedPage, address: PageAddress | None) -> FetchedPage:
        """Request an empty first page once more, after the probe has seen a record."""
        try:
            other = await self._pages.fetch(address)
        except (SourceError, BudgetExhausted):
            other = page
        if not other.n_received:
            self._notes.note_missing(ReasonCode.PAGE_SHORT, "the first page is empty although the probe saw a record")
        other.requests, other.alternatives = other.requests + page.requests, other.alternatives or page.alternatives
        return other

    async def complete_first(
        self, page: FetchedPage, address: PageAddress | None, *, requested: int | None, total: int | None
    ) -> FetchedPage:
        """Complete a first page that is shorter than `requested` although more records may follow.

        It may be the end of the data, the server's page cap, or cut short. By page number the page is requested again.
        By offset the records after it are requested: none mean the end, at most as many as the page held mean the cap,
        and more mean that the first page was cut short; they complete it.
        """
        count = page.n_received
        may_follow = page.has_more is not False if total is None or total < count else count < total
        if requested is None or not 0 < count < requested or not may_follow or self._is_common_cap(count):
            return page
        is_by_offset = self._pages.pagination.convention in OFFSET_STYLES
        if is_by_offset:
            address = offset_address(self._pages.pagination, offset=count, size=requested)
        try:
            other = await self._pages.fetch(address)
        except (SourceError, BudgetExhausted) as error:
            if not is_out_of_range(error):
                text = f"page 1 has {count} of {requested} requested records, and requesting it again failed: {error}"
                self._notes.note(ReasonCode.PAGE_SHORT, text)
            return page
        completed = _with_following(page, other, requested) if is_by_offset else _longer(other, page)
        completed.requests, completed.alternatives = page.requests + other.requests, page.alternatives
        if not is_by_offset and total is None and completed.n_received == count:
            await self._check_cap(completed, requested)
        return completed

    async def _check_cap(self, page: FetchedPage, requested: int) -> None:
        """Request a page of the size of a supposed cap: if that is short too, every page may lack records."""
        size = legal_size(self._pages.pagination, page.n_received)
        if size >= requested:
            return
        try:
            smaller = await self._pages.fetch(first_address(self._pages.pagination, size=size))
        except (SourceError, BudgetExhausted):
            return
        page.requests += smaller.requests
        if smaller.n_received < page.n_received:
            held, fewer = page.n_received, smaller.n_received
            text = f"page 1 has {held} of {requested} requested records, but only {fewer} of {size} with a smaller size"
            self._notes.note(ReasonCode.PAGE_SHORT, text)

    def _is_common_cap(self, count: int) -> bool:
        return count in COMMON_PAGE_CAPS or count == self._pages.pagination.default_size

    async def fill_gap(self, page: FetchedPage, wanted: ExpectedPage) -> FetchedPage:
        """Add the missing records of a short page, as far as the source returns them."""
        why, is_lost = "the missing records were not returned", wanted.is_certain
        for _ in range(MAX_ATTEMPTS):
            if page.n_received >= wanted.expected:
                return page
            try:
                is_longer = await self._extend(page, wanted)
            except (SourceError, BudgetExhausted) as error:
                why, is_lost = str(error), wanted.is_certain or not is_out_of_range(error)
                break
            if not is_longer:
                break
        if page.n_received < wanted.expected and is_lost:
            text = f"page {wanted.index + 1} has {page.n_received} of {wanted.expected} records: {why}"
            note = self._notes.note if wanted.is_certain else self._notes.note_missing
            note(ReasonCode.PAGE_SHORT, text)
        return page

    async def _extend(self, page: FetchedPage, wanted: ExpectedPage) -> bool:
        """Request the gap (by offset) or the page again (by number); return whether that added records."""
        missing = wanted.expected - page.n_received
        if self._pages.pagination.convention in OFFSET_STYLES:
            size = legal_size(self._pages.pagination, missing)
            gap = offset_address(self._pages.pagination, offset=wanted.start + page.n_received, size=size)
            more = await self._pages.fetch(gap)
            added = more.records[:missing]
            if not wanted.is_certain and any(record in page.records for record in added):
                return False
            page.records += added
        else:
            more = await self._pages.fetch(wanted.address)
            added = more.records[page.n_received :]
            page.records = more.records if added else page.records
        page.requests += more.requests
        return bool(added)


def _longer(one: FetchedPage, other: FetchedPage) -> FetchedPage:
    return one if one.n_received >= other.n_received else other


def _with_following(page: FetchedPage, following: FetchedPage, requested: int) -> FetchedPage:
    if not following.n_received and page.total is None:
        page.has_more = False
    elif following.n_received > page.n_received:
        page.records += following.records[: requested - page.n_received]
    return page
