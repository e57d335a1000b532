"""Fetching: all pages of one call into its dataset, checked as they come, and told in page order.

Knows pages, their guards and the walk over them. A page that is short, repeated or failed is asked for once more, and
what stays amiss is noted. Memory holds one page a request; records go to disk as they arrive. Knows no model.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial

from adapters.base import CallResult, Convention, Json, PageAddress, Pagination
from adapters.errors import ForeignOrigin, HttpStatusError, SourceError
from adapters.pagination import PageReading, address, fingerprint, first_address, offset_address, read_page
from adapters.probe import FirstPage, Probe
from runax_cli.errors import BudgetExhausted, StoreError
from runax_cli.events import Emitter, PageFailed, PageFetched
from runax_cli.executor.coverage import Announced, Fetched, Notes
from runax_cli.executor.dataset import Dataset
from runax_cli.executor.identity import Identities
from runax_cli.executor.ledger import Ledger, key_of
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.sender import Sender
from runax_cli.executor.walk import PageFacts, Walk
from runax_cli.memory.journal import EntryKind
from runax_cli.results import ReasonCode

_BEYOND_DATA = frozenset({400, 404, 416, 422})
_GAP_FILLS = 3
_USUAL_CAPS = frozenset({10, 20, 25, 30, 50, 100, 200, 250, 500, 1000})


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """Caps of one call."""

    pages: int = 20_000
    records: int = 10_000_000
    n_bytes: int = 16 * 1024**3


@dataclass(slots=True)
class _Page:
    """A page as it came: its records, what it said, and how often it was asked for."""

    records: list[Json]
    reading: PageReading
    position: str
    requests: int = 1


@dataclass(slots=True)
class _State:
    resolved: dict[int, bool] = field(default_factory=dict)
    is_over: bool = False
    n_bytes: int = 0
    busy: int = 0


class Fetch:
    """The pages of one call. `first` must come before `rest`; `in_order` may be listened to while `rest` runs."""

    def __init__(
        self,
        call: DecidedCall,
        probe: Probe,
        dataset: Dataset,
        *,
        send: Sender,
        emitter: Emitter,
        ledger: Ledger,
        notes: Notes,
        size: int | None,
        concurrency: int,
        limits: FetchLimits | None = None,
    ) -> None:
        self._call, self._dataset, self._send = call, dataset, send
        self._emitter, self._ledger, self._notes = emitter, ledger, notes
        self._pagination: Pagination = probe.pagination
        self._path = probe.records_path
        self._given: FirstPage | None = probe.first
        self._size = size if probe.first is None else probe.first.size
        self._concurrency = concurrency
        self._limits = limits or FetchLimits()
        self._announced = Announced(total=probe.total, certainty=probe.certainty)
        self._walk = Walk(stride=1, announced=probe.total, at_most=call.at_most, max_pages=self._limits.pages)
        self._next: PageAddress | None = None
        self._has_more: bool | None = None
        self._fingerprints: dict[str, int] = {}
        self._identities = Identities()
        self._state = _State()
        self._changed = asyncio.Condition()
        self.reached_end = False

    async def first(self) -> int:
        """Fetch the first page; its number of records. Raises SourceError and BudgetExhausted: nothing was read."""
        given, self._given = self._given, None
        address_ = given.address if given else first_address(self._pagination, size=self._size)
        if given is not None:
            page = _Page(list(given.reading.records), given.reading, self._position(0, given.address), requests=0)
        else:
            page = self._read(await self._send(address_), address_, index=0)
        page = await self._whole_first(page)
        count = len(page.records)
        self._walk.stride = max(1, self._stride(page))
        self._next, self._has_more = page.reading.next, page.reading.has_more
        await self._keep(0, page, address_)
        return count

    async def rest(self) -> None:
        """Fetch every further page. Failures are noted and never raised; cancellation keeps what is there."""
        try:
            if self._is_addressable:
                await self._walk_by_address()
            elif self._follows:
                await self._follow()
            else:
                self._judge_lone_page()
        finally:
            async with self._changed:
                self._state.is_over = True
                self._changed.notify_all()

    async def in_order(self) -> AsyncIterator[int]:
        """Indices of pages that are on disk, in page order, each as soon as all before it are in or have failed."""
        index = 0
        while True:
            async with self._changed:
                await self._changed.wait_for(partial(self._is_settled, index))
            if index not in self._state.resolved:
                last = max(self._state.resolved, default=-1)
                if index > last:
                    return
            elif self._state.resolved[index]:
                yield index
            index += 1

    def fetched(self) -> Fetched:
        """What fetching came to."""
        pages = list(self._state.resolved.values())
        return Fetched(
            records=self._dataset.n_records,
            pages_read=sum(pages),
            pages_failed=len(pages) - sum(pages),
            reached_end=self.reached_end,
            announced=self._announced,
            at_most=self._call.at_most,
        )

    @property
    def _is_addressable(self) -> bool:
        return self._pagination.is_addressable

    @property
    def _follows(self) -> bool:
        return self._pagination.convention in (Convention.CURSOR, Convention.NEXT_URL, Convention.LINK_HEADER)

    async def _walk_by_address(self) -> None:
        if self._pagination.convention is Convention.OFFSET and self._size is None and self._pagination.size is None:
            await self._walk_by_received()
            return
        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(self._worker())
        self._close_walk()

    async def _worker(self) -> None:
        """Take pages until there is none to ask for and none on its way that could open further ones."""
        while True:
            async with self._changed:
                await self._changed.wait_for(self._can_decide)
                index = self._walk.take()
                if index is None:
                    self._changed.notify_all()
                    return
                self._state.busy += 1
            try:
                await self._page(index)
            finally:
                async with self._changed:
                    self._state.busy -= 1
                    self._changed.notify_all()

    def _can_decide(self) -> bool:
        return self._walk.peek() is not None or self._state.busy == 0

    def _is_settled(self, index: int) -> bool:
        return index in self._state.resolved or self._state.is_over

    async def _page(self, index: int) -> None:
        """One addressable page: fetched, mended once where it is short or repeated, kept."""
        place = self._place(index)
        try:
            page = self._read(await self._send(place), place, index=index)
            page = await self._mended(index, page, place)
        except SourceError as error:
            await self._missed(index, place, error)
            return
        except BudgetExhausted as error:
            self._stop(ReasonCode.BUDGET, str(error))
            return
        if self._is_repeated(index, page):
            self._walk.stop()
            self._notes.missing(ReasonCode.PAGE_REPEATED, f"page {index + 1} is page {self._twin(page) + 1} once more")
            await self._resolve(index, is_in=False)
            return
        await self._keep(index, page, place)

    async def _mended(self, index: int, page: _Page, place: PageAddress) -> _Page:
        expected = self._walk.expected(index)
        if self._is_repeated(index, page):
            again = self._read(await self._send(place), place, index=index)
            again.requests += page.requests
            return again
        if expected is None or len(page.records) >= expected:
            return page
        return await self._filled(index, page, place, expected=expected)

    async def _filled(self, index: int, page: _Page, place: PageAddress, *, expected: int) -> _Page:
        """A short page: by offset the gap is asked for, by page number the page once more."""
        for _ in range(_GAP_FILLS):
            missing = expected - len(page.records)
            if missing <= 0:
                break
            if self._pagination.convention is Convention.OFFSET:
                offset = index * self._walk.stride + len(page.records)
                more = self._read(await self._send(self._gap(offset, missing)), place, index=index)
                added = more.records[:missing]
                page.records += added
            else:
                more = self._read(await self._send(place), place, index=index)
                added = more.records[len(page.records) :]
                page.records = more.records if added else page.records
            page.requests += more.requests
            if not added:
                break
        if len(page.records) < expected:
            short = f"page {index + 1} gave {len(page.records)} of {expected} records"
            self._notes.note(ReasonCode.PAGE_SHORT, short)
        return page

    async def _whole_first(self, page: _Page) -> _Page:
        """A first page that is shorter than asked although more follow: the server's cap, or a page that was cut."""
        asked, total = self._size, self._announced.total
        count = len(page.records)
        is_short = self._is_addressable and asked is not None and total is not None and count < min(asked, total)
        if not is_short or count == 0 or count in _USUAL_CAPS or count == self._pagination.default_size:
            return page
        place = self._place(0)
        again = self._read(await self._send(place), place, index=0)
        again.requests += page.requests
        return again if len(again.records) >= count else page

    def _stride(self, page: _Page) -> int:
        """The step of the walk: what was asked for, unless the server gave less although more follow: its cap."""
        count, total = len(page.records), self._announced.total
        if self._size is None:
            return count
        is_cut = count < self._size and (page.reading.has_more is True or (total is not None and total > count))
        return count if is_cut and count else self._size

    async def _walk_by_received(self) -> None:
        """Offsets without a size: each page begins after the records received so far."""
        offset, index = self._dataset.n_records, 1
        while offset and not self._is_enough() and self._has_more is not False:
            place = offset_address(self._pagination, offset=offset, size=None)
            page = await self._sequential(index, place)
            if page is None or not page.records:
                self.reached_end = page is not None
                return
            offset += len(page.records)
            self._has_more = page.reading.has_more
            index += 1
        self.reached_end = self._has_more is False

    async def _follow(self) -> None:
        """Pages that name their successor: one by one, never to an address that was visited."""
        visited: set[str] = set()
        index = 1
        while self._next is not None and not self._is_enough():
            place = self._next
            mark = key_of(place.url, dict(place.arguments))
            if mark in visited:
                self._stop(ReasonCode.NO_PROGRESS, f"page {index} names a page as its next that was read already")
                return
            visited.add(mark)
            page = await self._sequential(index, place)
            if page is None:
                return
            self._next = page.reading.next
            index += 1
        self.reached_end = self._next is None

    async def _sequential(self, index: int, place: PageAddress) -> _Page | None:
        """One page of a walk that cannot go on without it; None where it failed, which is noted."""
        try:
            page = self._read(await self._send(place), place, index=index)
        except SourceError as error:
            await self._missed(index, place, error)
            return None
        except BudgetExhausted as error:
            self._stop(ReasonCode.BUDGET, str(error))
            return None
        if self._is_repeated(index, page):
            why = f"page {index + 1} is page {self._twin(page) + 1} once more: the source does not move on"
            self._stop(ReasonCode.NO_PROGRESS, why)
            return None
        if self._is_over_caps():
            self._stop(ReasonCode.BUDGET, "the cap of pages, records or bytes of one call is reached")
            return None
        await self._keep(index, page, place)
        return page

    def _judge_lone_page(self) -> None:
        """The one response of a tool that has no pages: whole, unless it says itself that there is more."""
        count, total = self._dataset.n_records, self._announced.total
        said_more = self._has_more is True or self._next is not None
        if said_more or (total is not None and total > count) or self._announced.certainty.value == "at_least":
            of = f" of {total:,}" if total is not None and total > count else ""
            text = f"{count:,}{of} records came, and there is no known way to ask for the others"
            if not self._is_enough():
                self._notes.missing(ReasonCode.PAGINATION_UNKNOWN, text)
            return
        self.reached_end = True

    def _close_walk(self) -> None:
        self.reached_end = self._walk.end is not None and not self._walk.given_up
        left = self._walk.unasked()
        if self._walk.is_cut_by_cap or self._is_over_caps():
            self._notes.missing(ReasonCode.BUDGET, "the cap of pages, records or bytes of one call is reached")
        elif left and not self._notes.is_short and not self._is_enough():
            self._notes.missing(ReasonCode.PAGE_FAILED, f"{left} announced pages were not asked for")

    async def _keep(self, index: int, page: _Page, place: PageAddress | None) -> None:
        key = key_of("page", self._call.tool.source, self._call.tool.name, self._call.arguments, _address_json(place))
        self._fingerprints.setdefault(fingerprint(page.records), index)
        # The walk goes by what the page held; what is kept of it may be less (repetitions, records beyond at_most).
        self._walk.saw(index, PageFacts(records=len(page.records), has_more=page.reading.has_more))
        if index and not page.records:
            return
        records = self._cut(index, self._fresh(page.records))
        try:
            await self._ledger.started(key, EntryKind.PAGE)
            entry = await asyncio.to_thread(self._dataset.add_page, index, records, position=page.position)
        except StoreError as error:
            self._stop(ReasonCode.STORE_ERROR, str(error))
            await self._resolve(index, is_in=False)
            return
        await self._ledger.done(key, f"{self._dataset.name}:{entry.index}:{entry.checksum}".encode())
        self._state.n_bytes += entry.n_bytes
        if self._is_over_caps():
            self._walk.stop()
        self._emitter.emit(
            PageFetched(
                index=index + 1,
                of=self._walk.pages_expected if self._is_addressable else None,
                position=page.position,
                limit=self._size,
                items=len(records),
                retries=max(0, page.requests - 1),
            )
        )
        await self._resolve(index, is_in=True)

    async def _missed(self, index: int, place: PageAddress, error: SourceError) -> None:
        is_end = (
            isinstance(error, HttpStatusError) and error.status in _BEYOND_DATA and self._walk.expected(index) is None
        )
        if is_end and self._is_addressable and index > 0:
            self._walk.missed(index, is_end=True)
            return
        self._walk.missed(index)
        code = ReasonCode.PAGE_FAILED
        why = f"{error.kind}: {error}"
        self._notes.missing(code, f"page {index + 1} could not be read ({why})")
        if isinstance(error, ForeignOrigin):
            self._walk.stop()
        of = self._walk.pages_expected if self._is_addressable else None
        self._emitter.emit(PageFailed(index=index + 1, of=of, position=self._position(index, place), why=why))
        await self._resolve(index, is_in=False)

    async def _resolve(self, index: int, *, is_in: bool) -> None:
        async with self._changed:
            self._state.resolved[index] = is_in
            self._changed.notify_all()

    def _stop(self, code: ReasonCode, why: str) -> None:
        if not self._walk.given_up or not self._notes.has(code):
            self._notes.missing(code, why)
        self._walk.stop()

    def _read(self, result: CallResult, place: PageAddress | None, *, index: int) -> _Page:
        reading = read_page(result, self._pagination, records_path=self._path, size=self._size)
        return _Page(list(reading.records), reading, self._position(index, place), requests=result.requests)

    def _fresh(self, records: list[Json]) -> list[Json]:
        """Records that did not come before; identical repetitions are dropped, and counted."""
        kept = [record for record in records if not self._identities.is_repetition(record)]
        dropped = len(records) - len(kept)
        if dropped:
            noun = self._call.tool.noun
            self._notes.note(ReasonCode.RECORDS_REPEATED, f"{dropped} {noun} came twice and were kept once")
        return kept

    def _cut(self, index: int, records: list[Json]) -> list[Json]:
        """What suffices of a page."""
        at_most = self._call.at_most
        if at_most is None:
            return records
        before = index * self._walk.stride if self._is_addressable else self._dataset.n_records
        return records[: max(0, at_most - before)]

    def _is_enough(self) -> bool:
        return self._call.at_most is not None and self._dataset.n_records >= self._call.at_most

    def _is_over_caps(self) -> bool:
        return self._dataset.n_records > self._limits.records or self._state.n_bytes > self._limits.n_bytes

    def _is_repeated(self, index: int, page: _Page) -> bool:
        return bool(page.records) and self._fingerprints.get(fingerprint(page.records), index) != index

    def _twin(self, page: _Page) -> int:
        return self._fingerprints[fingerprint(page.records)]

    def _place(self, index: int) -> PageAddress:
        if index == 0:
            return first_address(self._pagination, size=self._size)
        size = self._walk.stride if self._pagination.convention is Convention.OFFSET else self._size
        return address(self._pagination, page_index=index, size=size)

    def _gap(self, offset: int, missing: int) -> PageAddress:
        return offset_address(self._pagination, offset=offset, size=missing)

    def _position(self, index: int, place: PageAddress | None) -> str:
        if place is None:
            return "the only response" if not self._follows else "first"
        if place.url is not None:
            return place.url.split("?", 1)[0]
        position = self._pagination.position
        if position is not None and position in place.arguments:
            return f"{position}={str(place.arguments[position])[:40]}"
        return f"page {index + 1}"


def _address_json(place: PageAddress | None) -> Json:
    return None if place is None else [place.url, dict(place.arguments)]
