"""The strides: pages that can be asked for by their place, several at once.

Knows how requests run side by side and are judged in order; what a page that is refused, empty or repeated says of the
rest; and when the guess that pages have places is wrong. `PageSchedule` says which page is next.
"""

import asyncio
from dataclasses import dataclass

from adapters.base import PageAddress, PaginationStyle
from adapters.errors import HttpStatusError, SourceError
from adapters.pagination import offset_address, page_address
from runax_cli.core.errors import BudgetExhausted
from runax_cli.core.results import ReasonCode
from runax_cli.executor.fetch.page import FetchedPage
from runax_cli.executor.fetch.page_repair import (
    BY_OFFSET,
    SILENT_WINDOW,
    ExpectedPage,
    PageRepairer,
    is_at_edge,
    is_beyond_data,
    is_refusal,
    reach,
)
from runax_cli.executor.fetch.page_schedule import PageSchedule, ScheduledPage
from runax_cli.executor.fetch.page_writer import PageWriter
from runax_cli.executor.fetch.pages import PageClient
from runax_cli.executor.strategy import legal_size

REPEATED_PAGES = 2
"""So many pages may come a second time before the position counts as ignored."""

MOST_OBJECTS = 5
"""So many pages of a walk may be one object and no list."""
MOST_LONE = 500
"""So many pages in a row may hold one record where more were asked for and nobody says how many there are."""


@dataclass(frozen=True, slots=True)
class _RefusedPage:
    """A page that the source would not give; `is_partial` where the records up to a round number came all the same."""

    index: int
    place: PageAddress
    error: SourceError
    is_partial: bool


class AddressedWalker:
    """One walk by address. `broken` says why it cannot go on by address, and that the pages name another way."""

    def __init__(
        self, walk: PageSchedule, intake: PageWriter, pages: PageClient, mender: PageRepairer, *, concurrency: int
    ) -> None:
        self.broken: tuple[ReasonCode, str] | None = None
        self._walk, self._intake, self._pages, self._mender = walk, intake, pages, mender
        self._concurrency = concurrency
        self._busy = 0
        self._repeated = self._lone = self._objects = 0
        self._refused: list[_RefusedPage] = []

    @property
    def next_index(self) -> int:
        """A page number above all that were asked for."""
        return self._walk.next_index

    @property
    def reached_end(self) -> bool:
        """Whether the data itself showed its end."""
        return self.broken is None and self._walk.end is not None and not self._walk.given_up

    async def run(self) -> None:
        """Walk until there is no further page, or none that can be had."""
        self._intake.pages_expected = self._walk.pages_expected
        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(self._worker())
        self._tell_refused()
        if self.broken is None:
            self._close()

    async def _worker(self) -> None:
        """Take pages until there is none to ask for, and none on its way that could open further ones."""
        while True:
            index = self._walk.take() if self._goes_on() else None
            if index is None:
                if self._busy == 0:
                    return
                await self._intake.arrivals.news()
                continue
            self._busy += 1
            try:
                await self._page(index)
            finally:
                self._busy -= 1
                self._intake.arrivals.tell()

    def _goes_on(self) -> bool:
        if self.broken is not None or not self._intake.may_go_on():
            self._walk.stop()
        return not self._walk.given_up

    async def _page(self, index: int) -> None:
        """One page: fetched, mended where it is short or repeated, judged and kept in its turn."""
        place = self._place(index)
        try:
            page = await self._whole(index, place)
            await self._intake.arrivals.turn(index)
            if self.broken is None and self._intake.repetitions.twin(index, page) is not None:
                page = await self._whole(index, place, asked_before=page.requests)
        except SourceError as error:
            await self._intake.arrivals.turn(index)
            await self._failed(index, place, error)
        except BudgetExhausted as error:
            self._intake.stop(ReasonCode.BUDGET, str(error))
            self._intake.arrivals.settle(index, is_in=None)
        else:
            await self._judged(index, page, place)
        self._intake.pages_expected = self._walk.pages_expected

    async def _whole(self, index: int, place: PageAddress, *, asked_before: int = 0) -> FetchedPage:
        page = self._cut(await self._mender.distinct(await self._pages.ask(place), place))
        page.requests += asked_before
        expected, is_sure = self._expected(index, page)
        if page.held >= expected:
            return page
        asked = ExpectedPage(index, place, at=index * self._walk.stride, expected=expected, is_sure=is_sure)
        return await self._mender.filled(page, asked)

    def _cut(self, page: FetchedPage) -> FetchedPage:
        """Where only a larger size than the stride may be asked for, what goes beyond it is the next page's."""
        stride, convention = self._walk.stride, self._pages.pagination.convention
        if convention not in BY_OFFSET or page.from_store or legal_size(self._pages.pagination, stride) == stride:
            return page
        if len(page.records) > stride:
            page.records, page.has_more = page.records[:stride], None
        return page

    def _expected(self, index: int, page: FetchedPage) -> tuple[int, bool]:
        """How many records page `index` should hold, and whether that is sure."""
        expected = self._walk.expected(index)
        if expected is not None or page.has_more is True:
            names_place = page.next is not None
            return expected or self._walk.stride, expected is not None or (page.held > 0 and not names_place)
        is_in_doubt = page.has_more is None and page.held > 0
        return (self._walk.stride if is_in_doubt else 0), False

    async def _judged(self, index: int, page: FetchedPage, place: PageAddress) -> None:
        twin = self._intake.repetitions.twin(index, page)
        if self.broken is not None:
            self._intake.arrivals.settle(index, is_in=None)
        elif twin is not None:
            self._came_again(index, page, twin)
        elif not page.held and self._says_more(index) and self._breaks(index):
            text = f"page {index + 1} came empty although the page before it says that more follow"
            self._break(index, ReasonCode.PAGINATION_UNKNOWN, text)
        else:
            self._tell_refused()
            await self._keep(index, page, place)

    async def _keep(self, index: int, page: FetchedPage, place: PageAddress) -> None:
        is_extra = self._is_behind_the_end(index)
        has_records = bool(page.records)
        fresh = await self._intake.keep(index, page, place, before=index * self._walk.stride, is_extra=is_extra)
        if fresh is None:
            return
        if has_records and not fresh:
            self._tell_repetition(f"page {index + 1} brought only records that had come before")
        self._walk.saw(index, ScheduledPage(records=page.held, has_more=page.has_more))
        self._doubt_lone(index, page)

    def _doubt_lone(self, index: int, page: FetchedPage) -> None:
        """Pages of one object each for ever, though more were asked for: an answer that is no list, and changes."""
        self._lone = self._lone + 1 if page.held == 1 and (self._pages.size or MOST_LONE) > 1 else 0
        self._objects += not page.is_list and page.held == 1
        if self._objects >= MOST_OBJECTS or (self._lone >= MOST_LONE and self._walk.announced is None):
            name = self._pages.pagination.position or "the position"
            text = f"{index + 1:,} pages came with one object each, as if '{name}' led through no list"
            self._intake.stop(ReasonCode.NO_PROGRESS, text)

    def _came_again(self, index: int, page: FetchedPage, twin: int) -> None:
        if self._is_behind_the_end(index):
            # Some servers answer a position behind the last page with the last page.
            self._walk.missed(index, is_end=True)
            self._intake.arrivals.settle(index, is_in=None)
        elif self._breaks(index):
            name = self._pages.pagination.position or "the position"
            self._break(index, ReasonCode.NO_PROGRESS, f"the API repeats its pages, as if it ignored '{name}'")
        elif index == 1 and self._counts_from_one():
            self._intake.notes.note(ReasonCode.PAGE_REPEATED, "page 0 came as page 1: the API counts from 1")
            self._walk.saw(index, ScheduledPage(records=page.held))
            self._intake.arrivals.settle(index, is_in=None)
            self._repeated += 1
        else:
            self._walk.missed(index)
            self._intake.arrivals.settle(index, is_in=False)
            self._tell_repetition(f"page {index + 1} came as page {twin + 1} once more")

    def _counts_from_one(self) -> bool:
        pagination = self._pages.pagination
        return pagination.convention is PaginationStyle.PAGE and pagination.first == 0

    def _tell_repetition(self, text: str) -> None:
        self._repeated += 1
        self._intake.notes.missing(ReasonCode.PAGE_REPEATED, text)
        if self._repeated >= REPEATED_PAGES:
            name = self._pages.pagination.position or "the position"
            self._intake.stop(ReasonCode.NO_PROGRESS, f"the API repeats its pages, as if it ignored '{name}'")

    def _is_behind_the_end(self, index: int) -> bool:
        """All that was announced is in, and page `index` was asked for to be sure."""
        return self._walk.expected(index) is None and not self._walk.is_contradicted

    def _says_more(self, index: int) -> bool:
        return self._walk.expected(index) is not None or self._intake.has_more is True

    def _breaks(self, index: int) -> bool:
        """Whether what the pages name is to be tried: at the second page, at the end, and where trouble stays."""
        is_time = index == 1 or self._walk.expected(index) is None or self._repeated > 0 or bool(self._refused)
        return is_time and self._intake.has_ways

    def _break(self, index: int, code: ReasonCode, why: str) -> None:
        self.broken = (code, why)
        self._walk.stop()
        self._intake.arrivals.settle(index, is_in=None)

    async def _failed(self, index: int, place: PageAddress, error: SourceError) -> None:
        """A page that could not be had; one behind all announced records is the end of the data and no loss."""
        is_extra = self._walk.expected(index) is None
        if self.broken is not None:
            self._intake.arrivals.settle(index, is_in=None)
        elif is_extra and not is_refusal(error) and await self._goes_on_behind(index, error):
            self._walk.missed(index)
            self._intake.lost(index, place, error)
        elif self._is_behind_the_end(index) or (is_extra and is_beyond_data(error)):
            self._walk.missed(index, is_end=True)
            self._intake.arrivals.settle(index, is_in=None)
            if is_refusal(error) and is_at_edge(self._intake.records):
                at = f"{self._intake.records:,}"
                self._intake.stop(ReasonCode.WINDOW_ENDED, f"the API refuses positions from {at} on ({error})")
        elif is_refusal(error):
            await self._was_refused(index, place, error)
        else:
            self._walk.missed(index)
            self._intake.lost(index, place, error)

    async def _goes_on_behind(self, index: int, error: SourceError) -> bool:
        """Whether a page that nobody announced is missing amid others: it comes after all, or the one behind it does.

        What is refused as lying beyond the data is not asked for again. No answer at all says nothing of an end.
        """
        if not isinstance(error, HttpStatusError):
            return True
        for at in (index + 1,) if is_beyond_data(error) else (index, index + 1):
            try:
                page = await self._pages.ask(self._place(at))
            except (SourceError, BudgetExhausted):
                continue
            if page.held and self._intake.repetitions.twin(at, page) is None:
                return True
        return False

    async def _was_refused(self, index: int, place: PageAddress, error: SourceError) -> None:
        """One refused page is lost; where the next one is refused too, positions end here."""
        is_second = bool(self._refused) and self._refused[-1].index == index - 1
        if not is_second:
            self._tell_refused()
        at = (self._refused[0].index if is_second else index) * self._walk.stride
        why = f"the API refuses positions from {at:,} on ({error})"
        if (index == 1 or is_second) and self._breaks(index):
            self._refused.clear()
            self._break(index, ReasonCode.WINDOW_ENDED, why)
            return
        is_partial = not is_second and await self._came_in_part(index, place)
        if not is_partial:
            self._walk.missed(index)
            self._intake.arrivals.settle(index, is_in=None)
        self._refused.append(_RefusedPage(index, place, error, is_partial=is_partial))
        if is_second:
            self._refused.clear()
            self._intake.stop(ReasonCode.WINDOW_ENDED, why)

    async def _came_in_part(self, index: int, place: PageAddress) -> bool:
        """Get the records of a refused page up to the round number at which windows usually end."""
        start, pagination = index * self._walk.stride, self._pages.pagination
        edge = reach(start, self._walk.stride)
        if pagination.convention not in BY_OFFSET or edge is None or pagination.sizes:
            return False
        try:
            page = await self._pages.ask(offset_address(pagination, offset=start, size=edge - start))
        except (SourceError, BudgetExhausted):
            return False
        if not page.held or await self._intake.keep(index, page, place, before=start) is None:
            return False
        self._walk.saw(index, ScheduledPage(records=page.held, has_more=True))
        return True

    def _tell_refused(self) -> None:
        """Pages that were refused one by one, amid others that came: each is lost."""
        for refused in self._refused:
            self._intake.lost(refused.index, refused.place, refused.error, is_in=refused.is_partial or False)
        self._refused.clear()

    def _close(self) -> None:
        notes, walk = self._intake.notes, self._walk
        if walk.is_cut_by_window and not self._intake.is_enough:
            self._intake.stop(ReasonCode.WINDOW_ENDED, f"the API gives no records beyond the first {walk.window:,}")
        elif walk.is_cut_by_cap and not self._intake.is_enough:
            self._intake.stop(ReasonCode.BUDGET, f"the cap of {walk.max_pages:,} pages of one call is reached")
        elif self._may_end_silently():
            text = f"just {self._intake.records:,} records came, which is where many services end, and no total is told"
            self._intake.stop(ReasonCode.WINDOW_ENDED, text)
        elif self._is_untold() and is_at_edge(self._intake.records):
            text = f"just {self._intake.records:,} records came, which is where some services end, and no total is told"
            notes.note(ReasonCode.PERHAPS_CUT, text)
        if left := walk.unasked():
            stopped = next((code for code in (ReasonCode.BUDGET, ReasonCode.WINDOW_ENDED) if notes.has(code)), None)
            notes.missing(stopped or ReasonCode.PAGE_FAILED, f"{left:,} further announced pages were not asked for")
        if self._intake.totals.announced.total is None and (short := walk.short_pages()):
            named = ", ".join(str(index + 1) for index in short[:8])
            text = f"pages that are not the last came short (page {named}): records may be missing"
            notes.missing(ReasonCode.PAGE_SHORT, text)
        if self._intake.has_more is True and not self._intake.is_total_met and not self._intake.is_enough:
            text = "the last page that holds records says that more follow, and no page after it has any"
            notes.missing(ReasonCode.PAGINATION_UNKNOWN, text)

    def _may_end_silently(self) -> bool:
        return self._is_untold() and self._intake.records == SILENT_WINDOW

    def _is_untold(self) -> bool:
        """Neither a total nor a page says that these are all."""
        is_told = self._intake.totals.announced.total is not None or self._intake.has_more is False
        return not is_told and not self._intake.is_enough

    def _place(self, index: int) -> PageAddress:
        pagination, stride = self._pages.pagination, self._walk.stride
        if pagination.convention not in BY_OFFSET:
            return page_address(pagination, page_index=index, size=self._pages.size)
        offset = index * stride
        left = stride if self._walk.window is None else max(1, self._walk.window - offset)
        return offset_address(pagination, offset=offset, size=min(legal_size(pagination, stride), left))
