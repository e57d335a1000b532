"""The walk over addressable pages: which page to ask for next, and where the data ends.

Pure. Knows what was announced and what each page held. An announced total is advice: the walk ends where the data
does, and compares afterwards. Where nothing was announced a short page is no end yet, since any page may come short:
the page after it has to be empty. Knows no request and no record.
"""

from dataclasses import dataclass, field

FAILURES_IN_A_ROW = 8
"""So many announced pages may fail one after the other before the rest is given up instead of asked for one by one."""
FAILURES_BEYOND = 3
"""The same for pages that nobody announced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledPage:
    """What is remembered of a page that came: how many records it gave, and whether it says that more follow."""

    records: int
    has_more: bool | None = None


@dataclass
class PageSchedule:
    """One walk in steps of `stride` records. Pages count from 0 and may come in any order.

    `announced` is the total that the API named, None where it named none; `at_most` the records that suffice;
    `max_pages` a cap; `window` how many records can be reached, of which a page takes a part where `is_window_split`.
    """

    stride: int
    announced: int | None = None
    at_most: int | None = None
    max_pages: int = 20_000
    window: int | None = None
    is_window_split: bool = True
    seen: dict[int, ScheduledPage] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    given_up: bool = False
    _next: int = 0
    _last_filled: int = -1
    _ends: set[int] = field(default_factory=set)
    _extension: int = 0
    _failures_in_a_row: int = 0

    @property
    def planned(self) -> int:
        """Pages that the announced total makes up; the first page alone where nothing was announced."""
        return 1 if self.announced is None else max(1, -(-self.announced // self.stride))

    @property
    def limit(self) -> int:
        """The number of pages that is never passed."""
        needed = self.max_pages if self.at_most is None else self._pages_for(self.at_most)
        return min(self.max_pages, needed, self._window_pages or needed)

    @property
    def pages_expected(self) -> int | None:
        """How many pages there will be as far as is known, for the log."""
        if self.announced is None:
            return None
        return max(min(self.planned, self.limit), self._last_filled + 1)

    @property
    def is_cut_by_cap(self) -> bool:
        """The cap of pages ended the walk, and not the data."""
        return self._next >= self.max_pages and self.end is None

    @property
    def is_cut_by_window(self) -> bool:
        """The window ended the walk, and not the data."""
        return self._window_pages is not None and self._next >= self._window_pages and self.end is None

    @property
    def next_index(self) -> int:
        """A number above those of all pages that were asked for."""
        return max([self._next, *(index + 1 for index in self.seen)])

    @property
    def end(self) -> int | None:
        """The page at which the data ends: the first that looks like an end and has no filled page after it."""
        ends = [index for index in self._ends if index >= self._last_filled]
        return min(ends) if ends else None

    @property
    def is_contradicted(self) -> bool:
        """More records came than were announced, so that the announced total says nothing about the end."""
        return self.announced is None or sum(facts.records for facts in self.seen.values()) > self.announced

    def expected(self, index: int) -> int | None:
        """Records that page `index` should give by the announced total; None where nothing says so."""
        if self.announced is None or index >= self.planned:
            return None
        return min(self.stride, self.announced - index * self.stride)

    def take(self) -> int | None:
        """The next page to ask for, or None: nothing to ask for now (or ever, if no page is on its way)."""
        index = self.peek()
        if index is not None:
            self._next = index + 1
        return index

    def peek(self) -> int | None:
        """What `take` would give, without taking it."""
        while self._next in self.seen:
            self._next += 1
        if self.given_up or self._next >= min(self.limit, self._horizon()):
            return None
        end = self.end
        return None if end is not None and self._next > end else self._next

    def saw(self, index: int, facts: ScheduledPage) -> None:
        """A page came."""
        self.seen[index] = facts
        self._failures_in_a_row = 0
        if facts.records:
            self._last_filled = max(self._last_filled, index)
            self._ends = {end for end in self._ends if end >= self._last_filled}
        if self._looks_like_end(index, facts):
            self._ends.add(index)

    def missed(self, index: int, *, is_end: bool = False) -> None:
        """A page could not be had. `is_end`: the API refused it as lying beyond the data."""
        if is_end:
            self.saw(index, ScheduledPage(records=0))
            return
        self.failed.add(index)
        self._failures_in_a_row += 1
        most = FAILURES_IN_A_ROW if index < self.planned else FAILURES_BEYOND
        self.given_up = self.given_up or self._failures_in_a_row >= most

    def stop(self) -> None:
        """Ask for no further page."""
        self.given_up = True

    def unasked(self) -> int:
        """Announced pages that were never asked for."""
        if self.end is not None:
            return 0
        return max(0, min(self.planned, self.limit) - len(self.seen) - len(self.failed))

    def short_pages(self) -> tuple[int, ...]:
        """Pages that gave fewer records than the fullest one although filled pages follow."""
        full = max([self.stride, *(facts.records for facts in self.seen.values())])
        return tuple(
            index for index, facts in sorted(self.seen.items()) if facts.records < full and index < self._last_filled
        )

    def _pages_for(self, records: int) -> int:
        """Pages that hold so many records; one more where those are in and came short, to see whether the data ends."""
        needed = -(-records // self.stride)
        is_short = len(self.seen) >= needed and sum(facts.records for facts in self.seen.values()) < records
        return max(needed, self._next + 1) if is_short else needed

    @property
    def _window_pages(self) -> int | None:
        if self.window is None:
            return None
        return max(1, -(-self.window // self.stride) if self.is_window_split else self.window // self.stride)

    def _looks_like_end(self, index: int, facts: ScheduledPage) -> bool:
        if facts.records == 0:
            return True
        if index < self.planned - 1:
            return False
        is_as_announced = facts.records < self.stride and facts.records == self.expected(index)
        return facts.has_more is False or (is_as_announced and facts.has_more is None)

    def _horizon(self) -> int:
        """Pages below it may be asked for: the planned ones, and beyond them a window that doubles as it fills."""
        planned = self.planned
        while self._is_passed(planned + self._extension):
            self._extension += 1
        is_open = len(self.seen) + len(self.failed) >= planned and self._is_passed(planned - 1) and self.end is None
        return planned + 1 + 2 * self._extension if is_open else planned

    def _is_passed(self, index: int) -> bool:
        facts = self.seen.get(index)
        return index in self.failed if facts is None else facts.records > 0
