"""Decides which addressed page to request next and where the data ends.

The schedule is pure: it takes the announced total and the size of each received page. An announced total is advice:
the fetch ends where the data ends and compares afterwards. Without a total a short page is not the end, since any page
may be short: the page after it has to be empty.
"""

from dataclasses import dataclass, field

MAX_FAILURES_IN_A_ROW = 8
"""After this many consecutive failures of announced pages the fetch is given up."""
MAX_FAILURES_UNANNOUNCED = 3
"""The same for pages that no total announces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedPage:
    """The size of a received page, and whether it says that more pages follow."""

    records: int
    has_more: bool | None = None


@dataclass
class PageSchedule:
    """The schedule of one fetch in pages of `page_size` records. Pages count from 0 and may arrive in any order.

    `total`: the announced number of records. `at_most`: the requested number of records. `max_pages`: a limit.
    `window`: how many records the server lets one reach; `is_window_split`: the last page may be a part of a page.
    """

    page_size: int
    total: int | None = None
    at_most: int | None = None
    max_pages: int = 20_000
    window: int | None = None
    is_window_split: bool = True
    received: dict[int, ReceivedPage] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    is_stopped: bool = False
    _next: int = 0
    _last_filled: int = -1
    _ends: set[int] = field(default_factory=set)
    _extension: int = 0
    _failures_in_a_row: int = 0

    @property
    def announced_pages(self) -> int:
        """The number of pages by the announced total; 1 without a total."""
        return 1 if self.total is None else max(1, -(-self.total // self.page_size))

    @property
    def page_limit(self) -> int:
        """The number of pages that is never exceeded."""
        needed = self.max_pages if self.at_most is None else self._pages_for(self.at_most)
        return min(self.max_pages, needed, self._window_pages or needed)

    @property
    def expected_pages(self) -> int | None:
        """The expected number of pages, for the log; None without a total."""
        if self.total is None:
            return None
        return max(min(self.announced_pages, self.page_limit), self._last_filled + 1)

    @property
    def is_cut_by_limit(self) -> bool:
        """Whether `max_pages` ended the fetch before the end of the data."""
        return self._next >= self.max_pages and self.end is None

    @property
    def is_cut_by_window(self) -> bool:
        """Whether the result window ended the fetch before the end of the data."""
        return self._window_pages is not None and self._next >= self._window_pages and self.end is None

    @property
    def next_index(self) -> int:
        """An index above those of all requested pages."""
        return max([self._next, *(index + 1 for index in self.received)])

    @property
    def end(self) -> int | None:
        """The page at which the data ends: the first that looks like an end and has no filled page after it."""
        ends = [index for index in self._ends if index >= self._last_filled]
        return min(ends) if ends else None

    @property
    def is_beyond_total(self) -> bool:
        """Whether there is no total, or more records were received, so that the total does not show the end."""
        return self.total is None or sum(page.records for page in self.received.values()) > self.total

    def expected_records(self, index: int) -> int | None:
        """Return how many records a page should hold by the announced total, or None if it is not announced."""
        if self.total is None or index >= self.announced_pages:
            return None
        return min(self.page_size, self.total - index * self.page_size)

    def take(self) -> int | None:
        """Return the next page to request; None if there is none now (or ever, if no request is in flight)."""
        while self._next in self.received:
            self._next += 1
        if self.is_stopped or self._next >= min(self.page_limit, self._horizon()):
            return None
        if self.end is not None and self._next > self.end:
            return None
        self._next += 1
        return self._next - 1

    def record_page(self, index: int, page: ReceivedPage) -> None:
        """Record that a page was received."""
        self.received[index] = page
        self._failures_in_a_row = 0
        if page.records:
            self._last_filled = max(self._last_filled, index)
            self._ends = {end for end in self._ends if end >= self._last_filled}
        if self._looks_like_end(index, page):
            self._ends.add(index)

    def record_end(self, index: int) -> None:
        """Record that the server rejected a page as lying behind the data."""
        self.record_page(index, ReceivedPage(records=0))

    def record_failure(self, index: int) -> None:
        """Record that a page could not be fetched; stops after too many failures in a row."""
        self.failed.add(index)
        self._failures_in_a_row += 1
        limit = MAX_FAILURES_IN_A_ROW if index < self.announced_pages else MAX_FAILURES_UNANNOUNCED
        self.is_stopped = self.is_stopped or self._failures_in_a_row >= limit

    def stop(self) -> None:
        """Schedule no further page."""
        self.is_stopped = True

    def count_unrequested(self) -> int:
        """Return how many announced pages were never requested."""
        if self.end is not None:
            return 0
        return max(0, min(self.announced_pages, self.page_limit) - len(self.received) - len(self.failed))

    def short_pages(self) -> tuple[int, ...]:
        """Return the pages that are shorter than the fullest one although a filled page follows."""
        full = max([self.page_size, *(page.records for page in self.received.values())])
        return tuple(
            index for index, page in sorted(self.received.items()) if page.records < full and index < self._last_filled
        )

    def _pages_for(self, records: int) -> int:
        """Return the pages for this many records; one more if those were short, to see whether the data ends."""
        needed = -(-records // self.page_size)
        is_short = len(self.received) >= needed and sum(page.records for page in self.received.values()) < records
        return max(needed, self._next + 1) if is_short else needed

    @property
    def _window_pages(self) -> int | None:
        if self.window is None:
            return None
        return max(1, -(-self.window // self.page_size) if self.is_window_split else self.window // self.page_size)

    def _looks_like_end(self, index: int, page: ReceivedPage) -> bool:
        if page.records == 0:
            return True
        if index < self.announced_pages - 1:
            return False
        is_as_announced = page.records < self.page_size and page.records == self.expected_records(index)
        return page.has_more is False or (is_as_announced and page.has_more is None)

    def _horizon(self) -> int:
        """Return the index below which pages may be requested: the announced ones, then a window that grows."""
        announced = self.announced_pages
        while self._is_passed(announced + self._extension):
            self._extension += 1
        is_answered = len(self.received) + len(self.failed) >= announced
        is_open = is_answered and self._is_passed(announced - 1) and self.end is None
        return announced + 1 + 2 * self._extension if is_open else announced

    def _is_passed(self, index: int) -> bool:
        page = self.received.get(index)
        return index in self.failed if page is None else page.records > 0
