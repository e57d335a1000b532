"""The trail: pages that name their successor, one after the other.

Knows when such a walk must end: an address or a page that came before, pages without anything new, an address that
leads nowhere. A source that says that there is more is believed only as long as more comes; where the announced number
of records is in and nothing new comes, that is the end. Knows no concurrency: page n+1 is known by page n.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from adapters.base import Json, PageAddress, PaginationStyle
from adapters.errors import ForeignOrigin, SourceError
from adapters.pagination import is_numbered_sequence, may_repeat_address, offset_address
from runax_cli.core.errors import BudgetExhausted
from runax_cli.core.results import ReasonCode
from runax_cli.executor.fetch.addressed_walker import MOST_OBJECTS
from runax_cli.executor.fetch.page import Continuation, FetchedPage
from runax_cli.executor.fetch.page_repair import PageRepairer, is_beyond_data
from runax_cli.executor.fetch.page_writer import PageWriter
from runax_cli.executor.fetch.pages import PageClient, where_of
from runax_cli.executor.run_cache import key_of

EMPTY_PAGES = 50
"""So many pages in a row may come without a record and name a next one: some stores filter what they have scanned."""

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d")
COUNTED_EMPTY_PAGES = 3
"""So many where the pages name nothing but the next number: that is how some services answer behind the last page."""


@dataclass(frozen=True, slots=True)
class _CursorStep:
    """What came of asking for a page: `page` if it brought anything or is empty, `why` if it leads nowhere."""

    page: FetchedPage | None = None
    why: str = ""
    error: SourceError | None = None

    @property
    def is_astray(self) -> bool:
        """Whether another way may be better."""
        return self.page is None and bool(self.why or self.error)


class CursorWalker:
    """One walk along what pages name. `reached_end`: the source itself showed where the data ends."""

    def __init__(self, intake: PageWriter, pages: PageClient, mender: PageRepairer) -> None:
        self.reached_end = False
        self._intake, self._pages, self._mender = intake, pages, mender
        self._visited: set[str] = set()
        self._empty = 0
        self._counted: list[str] = []
        self._last: Json = None

    async def run(
        self,
        index: int,
        ways: Sequence[Continuation],
        *,
        last: Json = None,
        broken: tuple[ReasonCode, str] | None = None,
    ) -> None:
        """Walk from page `index` on by the first of `ways` that leads anywhere. `last` is the record before it.

        `broken` is what ended another walk, where this one is to go on from it; it is told if no way leads on.
        """
        self._last = last
        step, way = _CursorStep(), ways[0]
        was = "" if broken is None else broken[1]
        for way in ways:
            self._pages.pagination = way.pagination
            step = await self._step(index, way.place)
            if not step.is_astray or self._intake.is_stopped:
                break
            was = was or step.why or f"page {index + 1} could not be read ({step.error})"
        if step.is_astray and broken is not None and not self._intake.is_stopped:
            self._give_up(*broken)
            return
        if was and not step.is_astray:
            self._intake.corrected(was, way)
        await self._on(index, way.place, step)

    async def by_received(self, index: int, received: int) -> None:
        """Walk by offset where no size can be asked for: each page begins after the records received so far."""
        place: PageAddress | None = offset_address(self._pages.pagination, offset=received, size=None)
        n_objects = 0
        while place is not None and self._intake.may_go_on():
            step = await self._step(index, place)
            page = step.page
            if page is None:
                self._settle(index, place, step)
                return
            n_objects = n_objects + 1 if page.held == 1 and not page.is_list else 0
            if n_objects >= MOST_OBJECTS:
                name = self._pages.pagination.position
                text = f"{n_objects} pages came with one object each, as if '{name}' led through no list"
                self._intake.stop(ReasonCode.NO_PROGRESS, text)
                return
            received, index = received + page.held, index + 1
            is_over = page.has_more is False or not page.held
            place = None if is_over else offset_address(self._pages.pagination, offset=received, size=None)
        self.reached_end = place is None

    async def _on(self, index: int, place: PageAddress, step: _CursorStep) -> None:
        while (page := step.page) is not None:
            if page.next is None:
                self.end(index, has_more=page.has_more)
                return
            if not self._intake.may_go_on():
                return
            index, place = index + 1, page.next
            step = await self._step(index, place)
        self._settle(index, place, step)

    def end(self, index: int, *, has_more: bool | None) -> None:
        """Page `index` names no successor: the end, unless it says itself that more follows."""
        if has_more is True and not self._intake.is_total_met and not self._intake.is_enough:
            text = f"page {index + 1} says that more records follow, and not where"
            self._intake.notes.missing(ReasonCode.PAGINATION_UNKNOWN, text)
            return
        self.reached_end = not self._intake.is_stopped

    def _settle(self, index: int, place: PageAddress, step: _CursorStep) -> None:
        """The walk cannot go on: by the end of the data, or short of it."""
        intake = self._intake
        if step.error is not None:
            if is_beyond_data(step.error) and intake.is_total_met:
                self.reached_end = True
                intake.arrivals.settle(index, is_in=None)
                return
            intake.lost(index, place, step.error)
            if isinstance(step.error, ForeignOrigin):
                intake.halt()
        elif step.why:
            self._give_up(ReasonCode.NO_PROGRESS, step.why)

    def _give_up(self, code: ReasonCode, why: str) -> None:
        """Nothing new comes. Where all that was announced is in, that is the end."""
        intake = self._intake
        if not intake.is_total_met or intake.notes.is_short:
            intake.stop(code, why)
            return
        self.reached_end = True
        intake.notes.note(code, f"{why}; all {intake.records:,} announced records are in")

    async def _step(self, index: int, place: PageAddress) -> _CursorStep:
        """Ask for one page and keep it if it brings the walk on."""
        mark = key_of(where_of(place))
        if mark in self._visited and not may_repeat_address(self._pages.pagination):
            return _CursorStep(why=f"page {index} names a page as its next that was read already")
        self._visited.add(mark)
        try:
            page = await self._asked(index, place)
        except SourceError as error:
            return _CursorStep(error=error)
        except BudgetExhausted as error:
            self._intake.stop(ReasonCode.BUDGET, str(error))
            return _CursorStep()
        return await self._kept(index, page, place)

    async def _asked(self, index: int, place: PageAddress) -> FetchedPage:
        """A page; one of nothing new is asked for once more, since a server may slip where it does not lie."""
        page = await self._mender.distinct(await self._pages.ask(place), place)
        is_old = self._intake.repetitions.is_old(index, page)
        if not is_old or may_repeat_address(self._pages.pagination):
            return page
        again = await self._mender.distinct(await self._pages.ask(place), place)
        again.requests += page.requests
        return again

    async def _kept(self, index: int, page: FetchedPage, place: PageAddress) -> _CursorStep:
        self._without_border(page)
        if (twin := self._intake.repetitions.twin(index, page)) is not None:
            return _CursorStep(why=f"page {index + 1} came as page {twin + 1} once more: the source does not move on")
        last = page.records[-1] if page.records else self._last
        self._tell_shared_key(index, page)
        came = len(page.records)
        fresh = await self._intake.keep(index, page, place)
        if fresh is None:
            return _CursorStep()
        if page.held and not fresh:
            why = f"page {index + 1} brought only records that had come before"
            if came:
                # It is no page that came before: something may stand in it in place of other records.
                self._intake.notes.missing(ReasonCode.PAGE_REPEATED, why)
            if page.next is not None or page.has_more is not False:
                return _CursorStep(why=why)
        self._empty = 0 if page.held else self._empty + 1
        self._counted = [*(self._counted if self._empty > 1 else []), place.url or ""]
        if self._empty >= COUNTED_EMPTY_PAGES and page.next is not None and is_numbered_sequence(self._counted):
            page.next, page.has_more = None, False
        if page.next is not None and (self._empty > EMPTY_PAGES or (self._empty and self._intake.is_total_met)):
            return _CursorStep(why=f"{self._empty} pages came without a record, and each names a next one")
        self._last = last
        return _CursorStep(page)

    def _without_border(self, page: FetchedPage) -> None:
        """Some sources begin a page with the very record that it was to begin after."""
        is_by_key = self._pages.pagination.convention is PaginationStyle.KEYSET
        if is_by_key and page.records and page.records[0] == self._last and not page.from_store:
            page.records.pop(0)
            page.dropped += 1

    def _tell_shared_key(self, index: int, page: FetchedPage) -> None:
        """A page that ends amid records of one key: those behind it with the same key are passed over."""
        if self._pages.pagination.convention is not PaginationStyle.KEYSET or page.next is None:
            return
        key = page.next.arguments.get(self._pages.pagination.position or "")
        if key is not None and _is_shared(page.records, key):
            text = f"page {index + 1} has records that share a key, and ends at '{key}'"
            self._intake.notes.note(ReasonCode.PAGE_SHORT, text)


def _is_shared(records: Sequence[Json], key: Json) -> bool:
    """Whether the last two records have the key that the next page begins after; for moments, any two neighbours.

    Where moments repeat at all, the one at which a page ends may go on behind it.
    """
    if len(records) < 2 or not all(isinstance(record, dict) for record in records):
        return False
    names = [name for name, value in records[-1].items() if value == key]
    is_moment = isinstance(key, str) and _MOMENT.match(key) is not None
    beside = list(pairwise(records)) if is_moment else [(records[-2], records[-1])]
    return bool(names) and any(all(one.get(name) == other.get(name) for name in names) for one, other in beside)
