"""Fetches pages that name their successor, one after the other: cursors, next-page URLs, Link headers, keysets.

The fetch must end at an address or a page that was seen before, at pages without new records, and at an address that
fails. A source that announces more pages is believed only as long as they bring records; once the announced number of
records is received and nothing new arrives, that is the end.
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
from runax_cli.executor.fetch.addressed_walker import MAX_OBJECT_PAGES, not_a_list
from runax_cli.executor.fetch.page import Continuation, FetchedPage
from runax_cli.executor.fetch.page_cache import address_key
from runax_cli.executor.fetch.page_client import PageClient
from runax_cli.executor.fetch.page_repair import PageRepairer
from runax_cli.executor.fetch.page_writer import PageState, PageWriter
from runax_cli.executor.fetch.server_limits import is_out_of_range
from runax_cli.executor.run_cache import key_of

MAX_EMPTY_PAGES = 50
"""So many consecutive empty pages may name a next one: some stores filter only what they have scanned."""

MAX_EMPTY_NUMBERED_PAGES = 3
"""The same if each page only names the next number, as some services do behind the last page."""

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class _CursorStep:
    """The result of requesting one page: the accepted `page`, or `why` or `error` if it leads nowhere."""

    page: FetchedPage | None = None
    why: str = ""
    error: SourceError | None = None

    @property
    def is_dead_end(self) -> bool:
        """Whether another continuation may be better."""
        return self.page is None and bool(self.why or self.error)


class CursorWalker:
    """Follows the next-page pointers of one call. `reached_end`: the source itself showed where the data ends."""

    def __init__(self, writer: PageWriter, pages: PageClient, repairer: PageRepairer) -> None:
        self.reached_end = False
        self._writer, self._pages, self._repairer = writer, pages, repairer
        self._visited: set[str] = set()
        self._n_empty = 0
        self._empty_urls: list[str] = []
        self._last_record: Json = None

    async def run(
        self,
        index: int,
        continuations: Sequence[Continuation],
        *,
        last_record: Json = None,
        broken: tuple[ReasonCode, str] | None = None,
    ) -> None:
        """Fetch from page `index` on by the first continuation that works. `last_record` is the one before it.

        `broken` is why addressed pages could not be fetched to the end; it is noted if no continuation works.
        """
        self._last_record = last_record
        step, used = _CursorStep(), continuations[0]
        why = "" if broken is None else broken[1]
        for used in continuations:
            self._pages.pagination = used.pagination
            step = await self._step(index, used.address)
            if not step.is_dead_end or self._writer.is_stopped:
                break
            why = why or step.why or f"page {index + 1} could not be read ({step.error})"
        if step.is_dead_end and broken is not None and not self._writer.is_stopped:
            self._end_without_progress(*broken)
            return
        if why and not step.is_dead_end:
            self._writer.warn_corrected(f"{why}; {used.description} is used instead")
        await self._follow(index, used.address, step)

    async def run_by_received(self, index: int, n_received: int) -> None:
        """Fetch by offset without a page size: each page starts after the records received so far."""
        address: PageAddress | None = self._offset(n_received)
        n_objects = 0
        while address is not None and self._writer.may_continue():
            step = await self._step(index, address)
            page = step.page
            if page is None:
                self._finish(index, address, step)
                return
            n_objects = n_objects + 1 if page.n_received == 1 and not page.is_list else 0
            if n_objects >= MAX_OBJECT_PAGES:
                text = not_a_list(n_objects, self._pages.pagination.position)
                self._writer.stop_incomplete(ReasonCode.NO_PROGRESS, text)
                return
            n_received, index = n_received + page.n_received, index + 1
            is_end = page.has_more is False or not page.n_received
            address = None if is_end else self._offset(n_received)
        self.reached_end = address is None

    def end(self, index: int, *, has_more: bool | None) -> None:
        """End at page `index`, which names no next page: the end of the data, unless the page says otherwise."""
        if has_more is True and not self._writer.is_total_reached and not self._writer.has_enough:
            text = f"page {index + 1} reports has_more but gives no next page"
            self._writer.notes.note_missing(ReasonCode.PAGINATION_UNKNOWN, text)
            return
        self.reached_end = not self._writer.is_stopped

    def _offset(self, offset: int) -> PageAddress:
        return offset_address(self._pages.pagination, offset=offset, size=None)

    async def _follow(self, index: int, address: PageAddress, step: _CursorStep) -> None:
        while (page := step.page) is not None:
            if page.next is None:
                self.end(index, has_more=page.has_more)
                return
            if not self._writer.may_continue():
                return
            index, address = index + 1, page.next
            step = await self._step(index, address)
        self._finish(index, address, step)

    def _finish(self, index: int, address: PageAddress, step: _CursorStep) -> None:
        """End where no further page can be fetched: at the end of the data or before it."""
        writer = self._writer
        if step.error is not None:
            if is_out_of_range(step.error) and writer.is_total_reached:
                self.reached_end = True
                writer.gate.settle(index, PageState.EMPTY)
                return
            writer.record_failure(index, address, step.error)
            if isinstance(step.error, ForeignOrigin):
                writer.stop()
        elif step.why:
            self._end_without_progress(ReasonCode.NO_PROGRESS, step.why)

    def _end_without_progress(self, code: ReasonCode, why: str) -> None:
        """End where no new records arrive. That is the end of the data if all announced records are received."""
        writer = self._writer
        if not writer.is_total_reached or writer.notes.is_incomplete:
            writer.stop_incomplete(code, why)
            return
        self.reached_end = True
        writer.notes.note(code, f"{why}; all {writer.n_records:,} announced records were read")

    async def _step(self, index: int, address: PageAddress) -> _CursorStep:
        """Fetch one page and accept it if it brings the fetch forward."""
        key = key_of(address_key(address))
        if key in self._visited and not may_repeat_address(self._pages.pagination):
            return _CursorStep(why=f"page {index} names a next page that was read already")
        self._visited.add(key)
        try:
            page = await self._fetch(index, address)
        except SourceError as error:
            return _CursorStep(error=error)
        except BudgetExhausted as error:
            self._writer.stop_incomplete(ReasonCode.BUDGET, str(error))
            return _CursorStep()
        return await self._accept(index, page, address)

    async def _fetch(self, index: int, address: PageAddress) -> FetchedPage:
        """Fetch a page. One without new records is requested once more, since a server may fail for a moment."""
        page = await self._repairer.refetch_duplicated(await self._pages.fetch(address), address)
        has_nothing_new = self._writer.duplicates.has_nothing_new(index, page)
        if not has_nothing_new or may_repeat_address(self._pages.pagination):
            return page
        again = await self._repairer.refetch_duplicated(await self._pages.fetch(address), address)
        again.requests += page.requests
        return again

    async def _accept(self, index: int, page: FetchedPage, address: PageAddress) -> _CursorStep:
        self._drop_boundary_record(page)
        if (original := self._writer.duplicates.duplicate_of(index, page)) is not None:
            why = f"page {index + 1} is a duplicate of page {original + 1}: the cursor does not advance"
            return _CursorStep(why=why)
        last = page.records[-1] if page.records else self._last_record
        self._note_shared_key(index, page)
        has_records = bool(page.records)
        n_new = await self._writer.accept(index, page, address)
        if n_new is None:
            return _CursorStep()
        if page.n_received and not n_new:
            why = f"page {index + 1} holds only records that were received before"
            if has_records:
                # No earlier page is equal, so old records may be in it instead of missing ones.
                self._writer.notes.note_missing(ReasonCode.PAGE_REPEATED, why)
            if page.next is not None or page.has_more is not False:
                return _CursorStep(why=why)
        if self._is_endless(page, address):
            return _CursorStep(why=f"{self._n_empty} consecutive pages are empty, and each names a next page")
        self._last_record = last
        return _CursorStep(page)

    def _is_endless(self, page: FetchedPage, address: PageAddress) -> bool:
        """Count empty pages and return whether there are too many; numbered ones end the data after a few."""
        self._n_empty = 0 if page.n_received else self._n_empty + 1
        self._empty_urls = [*(self._empty_urls if self._n_empty > 1 else []), address.url or ""]
        if (
            self._n_empty >= MAX_EMPTY_NUMBERED_PAGES
            and page.next is not None
            and is_numbered_sequence(self._empty_urls)
        ):
            page.next, page.has_more = None, False
        is_over = self._n_empty > MAX_EMPTY_PAGES or (self._n_empty > 0 and self._writer.is_total_reached)
        return page.next is not None and is_over

    def _drop_boundary_record(self, page: FetchedPage) -> None:
        """Drop the record of a keyset page that it should start after: some sources include it."""
        is_keyset = self._pages.pagination.convention is PaginationStyle.KEYSET
        if is_keyset and page.records and page.records[0] == self._last_record and not page.is_cached:
            page.records.pop(0)
            page.n_dropped += 1

    def _note_shared_key(self, index: int, page: FetchedPage) -> None:
        """Note a keyset page that ends among records of one key: later records with that key are skipped."""
        if self._pages.pagination.convention is not PaginationStyle.KEYSET or page.next is None:
            return
        key = page.next.arguments.get(self._pages.pagination.position or "")
        if key is not None and _is_shared(page.records, key):
            text = f"page {index + 1} ends at key '{key}', which several records may share"
            self._writer.notes.note(ReasonCode.PAGE_SHORT, text)


def _is_shared(records: Sequence[Json], key: Json) -> bool:
    """Return whether the last two records have the key after which the next page starts.

    For timestamps any two neighbors count: if timestamps repeat at all, the one at the page end may repeat after it.
    """
    if len(records) < 2 or not all(isinstance(record, dict) for record in records):
        return False
    names = [name for name, value in records[-1].items() if value == key]
    is_timestamp = isinstance(key, str) and _TIMESTAMP.match(key) is not None
    neighbors = list(pairwise(records)) if is_timestamp else [(records[-2], records[-1])]
    return bool(names) and any(all(one.get(name) == other.get(name) for name in names) for one, other in neighbors)
