"""Mending: a page that came short is asked for once more, or for what it lacks.

Knows how much a page should hold. What cannot be mended stays as it is and is noted: the records that came are never
given up for those that did not.
"""

from dataclasses import dataclass

from adapters.base import PageAddress, PaginationStyle
from adapters.errors import HttpStatusError, InvalidRequest, SourceError, ToolFailed
from adapters.pagination import first_address, may_repeat_address, offset_address
from runax_cli.core.errors import BudgetExhausted
from runax_cli.core.results import ReasonCode
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.fetch.deduplication import repeats_in
from runax_cli.executor.fetch.page import FetchedPage
from runax_cli.executor.fetch.pages import PageClient
from runax_cli.executor.strategy import legal_size

ATTEMPTS = 3
USUAL_CAPS = frozenset({10, 20, 25, 30, 50, 100, 200, 250, 500, 1000})
"""Sizes that servers cut pages at: a page of one of them is whole, and shows the server's cap."""

_BEYOND_DATA = frozenset({404, 416})
"""No such page; range not satisfiable. A 400 is no end: services whose window ends at 10,000 say so in mid-data."""

BY_OFFSET = frozenset({PaginationStyle.OFFSET, PaginationStyle.RANGE})
"""Where a page may begin anywhere, so that what is missing of one can be asked for alone."""


@dataclass(frozen=True, slots=True)
class ExpectedPage:
    """A page that was asked for: where it is, the records before it (`at`), and how many it should hold.

    `is_sure` is False where nobody said how many: then a page that stays short is the last one, and no loss.
    """

    index: int
    place: PageAddress
    at: int
    expected: int
    is_sure: bool = True


def is_beyond_data(error: Exception) -> bool:
    """Whether a server refuses a position, as some do behind the last record."""
    return isinstance(error, HttpStatusError) and error.status in _BEYOND_DATA


class PageRepairer:
    """Asks again for one call's pages, at most `ATTEMPTS` times a page and only while that brings records."""

    def __init__(self, pages: PageClient, notes: CoverageNotes) -> None:
        self._pages, self._notes = pages, notes
        self._vain = 0

    async def distinct(self, page: FetchedPage, place: PageAddress | None) -> FetchedPage:
        """A page in which a record stands twice, asked for once more: the second may stand in place of another."""
        if place is None or page.from_store or self._vain >= ATTEMPTS or may_repeat_address(self._pages.pagination):
            return page
        repeats = repeats_in(page.records)
        if not repeats:
            return page
        try:
            again = await self._pages.ask(place)
        except (SourceError, BudgetExhausted):
            return page
        is_better = again.held >= page.held and repeats_in(again.records) < repeats
        self._vain += not is_better
        better = again if is_better else page
        better.requests, better.ways = page.requests + again.requests, page.ways
        return better

    async def refilled(self, page: FetchedPage, place: PageAddress | None) -> FetchedPage:
        """A first page without records although the probe saw one, asked for once more."""
        try:
            again = await self._pages.ask(place)
        except (SourceError, BudgetExhausted):
            again = page
        if not again.held:
            text = "the first page came without records, and the probe had seen one"
            self._notes.missing(ReasonCode.PAGE_SHORT, text)
        again.requests, again.ways = again.requests + page.requests, again.ways or page.ways
        return again

    async def first(
        self, page: FetchedPage, place: PageAddress | None, *, asked: int | None, total: int | None
    ) -> FetchedPage:
        """A first page that is shorter than `asked` although more may follow: the end, the server's cap, or cut short.

        By number it is asked for again. By offset what follows it is: nothing is the end, no more than it held is the
        cap, and more than that shows that the first page was cut short, and fills it.
        """
        count = page.held
        may_follow = page.has_more is not False if total is None or total < count else count < total
        if asked is None or not 0 < count < asked or not may_follow or self._is_usual(count):
            return page
        is_by_offset = self._pages.pagination.convention in BY_OFFSET
        try:
            other = await self._pages.ask(self._behind(count, asked) if is_by_offset else place)
        except (SourceError, BudgetExhausted) as error:
            if not is_beyond_data(error):
                text = f"page 1 gave {count} records and not {asked}, and asking again failed: {error}"
                self._notes.note(ReasonCode.PAGE_SHORT, text)
            return page
        mended = _with_following(page, other, asked) if is_by_offset else max(other, page, key=lambda one: one.held)
        mended.requests, mended.ways = page.requests + other.requests, page.ways
        if not is_by_offset and total is None and mended.held == count:
            await self._doubt_cap(mended, asked)
        return mended

    async def _doubt_cap(self, page: FetchedPage, asked: int) -> None:
        """A cap gives all of what is asked for within it; where that comes short too, every page may lack records."""
        size = legal_size(self._pages.pagination, page.held)
        if size >= asked:
            return
        try:
            smaller = await self._pages.ask(first_address(self._pages.pagination, size=size))
        except (SourceError, BudgetExhausted):
            return
        page.requests += smaller.requests
        if smaller.held < page.held:
            text = f"page 1 gave {page.held} of {asked} records, and only {smaller.held} where {size} were asked for"
            self._notes.note(ReasonCode.PAGE_SHORT, text)

    def _is_usual(self, count: int) -> bool:
        return count in USUAL_CAPS or count == self._pages.pagination.default_size

    def _behind(self, count: int, size: int) -> PageAddress:
        return offset_address(self._pages.pagination, offset=count, size=size)

    async def filled(self, page: FetchedPage, asked: ExpectedPage) -> FetchedPage:
        """The page with what it lacks, as far as that can be had."""
        why, is_lost = "the rest of it did not come", asked.is_sure
        for _ in range(ATTEMPTS):
            if page.held >= asked.expected:
                return page
            try:
                is_longer = await self._lengthened(page, asked)
            except (SourceError, BudgetExhausted) as error:
                why, is_lost = str(error), asked.is_sure or not is_beyond_data(error)
                break
            if not is_longer:
                break
        if page.held < asked.expected and is_lost:
            text = f"page {asked.index + 1} gave {page.held} of {asked.expected} records: {why}"
            tell = self._notes.note if asked.is_sure else self._notes.missing
            tell(ReasonCode.PAGE_SHORT, text)
        return page

    async def _lengthened(self, page: FetchedPage, asked: ExpectedPage) -> bool:
        """By offset the gap is asked for, by number the page once more."""
        missing = asked.expected - page.held
        if self._pages.pagination.convention in BY_OFFSET:
            size = legal_size(self._pages.pagination, missing)
            gap = offset_address(self._pages.pagination, offset=asked.at + page.held, size=size)
            more = await self._pages.ask(gap)
            added = more.records[:missing]
            if not asked.is_sure and any(record in page.records for record in added):
                return False
            page.records += added
        else:
            more = await self._pages.ask(asked.place)
            added = more.records[page.held :]
            page.records = more.records if added else page.records
        page.requests += more.requests
        return bool(added)


def _with_following(page: FetchedPage, following: FetchedPage, asked: int) -> FetchedPage:
    if not following.held and page.total is None:
        page.has_more = False
    elif following.held > page.held:
        page.records += following.records[: asked - page.held]
    return page


_REFUSALS = frozenset({400, 403, 413, 414, 422, 501})
_USUAL = frozenset(digit * 10**power for digit in (1, 2, 5) for power in (3, 4, 5, 6))
_STEP = 1000
_USUAL_AT_ONCE = frozenset({50, 100, 200, 250, 500})
"""Where servers cut a list that they give at once. Fewer records than these are too often all that there is."""
SILENT_WINDOW = 10_000
"""Where most search services end; some of them answer what lies behind with an empty page."""


def is_refusal(error: SourceError) -> bool:
    """Whether a source objects to what it was asked, so that asking again is vain."""
    if isinstance(error, HttpStatusError):
        return error.status in _REFUSALS
    return isinstance(error, InvalidRequest | ToolFailed)


def said_in(error: SourceError) -> str:
    """What a source says of its refusal."""
    return error.body if isinstance(error, HttpStatusError) else str(error)


def is_at_edge(records: int) -> bool:
    """Whether so many records may be all that a source gives rather than all that it has."""
    return records in _USUAL


def is_round(records: int) -> bool:
    """Whether so many records, come at once, may be as many as a server gives: worth a word, and no proof."""
    return records in _USUAL_AT_ONCE or is_at_edge(records)


def reach(start: int, size: int) -> int | None:
    """The round number amid a page of `size` records from `start` on, up to which a source may give records."""
    edge = (start + size) // _STEP * _STEP
    return edge if start < edge < start + size else None
