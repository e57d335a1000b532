"""The cheap look before a call: how many records there are, where they lie, and how the tool really pages.

Knows the ladder (figures by a metadata flag, the smallest page, the first page, the single response) and what each
rung can teach. Knows no budget, no retries and no strategy: `Send` is handed in with all of that bound. A rung that
the server refuses (400, 416, 422, a failed MCP tool) gives way to the next; every other failure is the probe's failure,
and never an empty dataset. `limit=0` is never sent: servers answer it with everything, a default page, or an error.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

import orjson

from adapters.base import CallResult, Convention, Json, PageAddress, Pagination, ToolSpec
from adapters.errors import HttpStatusError, InvalidRequest, SourceError, ToolFailed
from adapters.pagination import Certainty, PageReading, first_address, metadata_address, read_metadata, read_page

Send: TypeAlias = Callable[[PageAddress | None], Awaitable[CallResult]]

_REFUSALS = frozenset({400, 405, 416, 422})
_NO_SUCH_PAGE = frozenset({404})
_SAMPLE = 20
_SIZE_WITHOUT_POSITION = 1000
_USUAL_CAPS = frozenset({10, 20, 25, 30, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000})


class Rung(StrEnum):
    """Which rung of the ladder gave the figures."""

    METADATA = "metadata"
    SMALLEST_PAGE = "smallest_page"
    FIRST_PAGE = "first_page"
    SINGLE = "single"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPage:
    """A page fetched on the way that serves as the first page of the call; it is never fetched twice."""

    address: PageAddress | None
    size: int | None
    result: CallResult
    reading: PageReading


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What the look taught.

    `pagination` is confirmed or corrected. `total` is None where nothing trustworthy was announced, with certainty
    UNKNOWN; zero means that there are none. `bytes_per_record` is measured on `sample` as compact JSON, and rough where
    the sample is one record. `first` is None where the walk has to begin with a request of its own. `requests` counts
    retries and refused rungs.
    """

    pagination: Pagination
    records_path: str
    total: int | None
    certainty: Certainty
    rung: Rung
    tokens_estimation: int | None = None
    sample: tuple[Json, ...] = ()
    bytes_per_record: float | None = None
    first: FirstPage | None = None
    requests: int = 1
    notes: tuple[str, ...] = ()


async def probe(tool: ToolSpec, send: Send) -> Probe:
    """Climb down the ladder until something is known. Raises SourceError where no rung holds."""
    return await _Ladder(tool, send).climb()


async def total_again(tool: ToolSpec, send: Send) -> int | None:
    """The exact total by one cheap request, the metadata flag or the smallest page; None where that cannot tell it.

    Raises SourceError.
    """
    pagination = tool.pagination
    if pagination.metadata:
        figures = read_metadata(await send(metadata_address(pagination)))
        return figures.total if figures is not None and figures.certainty is Certainty.EXACT else None
    size = _probe_size(pagination)
    if size is None or pagination.convention is Convention.SINGLE:
        return None
    result = await send(first_address(pagination, size=size))
    reading = read_page(result, pagination, records_path=tool.records_path, size=size)
    return reading.total if reading.certainty is Certainty.EXACT else None


@dataclass
class _Ladder:
    """One probe under way: what was sent and noticed so far."""

    tool: ToolSpec
    ask: Send
    requests: int = 0
    notes: list[str] = field(default_factory=list)

    async def climb(self) -> Probe:
        pagination = self.tool.pagination
        if not self.tool.returns_many:
            return await self._single(Pagination())
        figures = await self._metadata(pagination) if pagination.metadata else None
        if figures is not None and (figures.total == 0 or self.tool.records_path is not None or figures.records_path):
            return figures
        if pagination.convention is Convention.SINGLE and pagination.size is None:
            return await self._single(pagination)
        page = await self._page(pagination)
        return page if figures is None else _joined(figures, page)

    async def _send(self, address: PageAddress | None) -> CallResult:
        """Send, and count the requests of failures too."""
        try:
            result = await self.ask(address)
        except SourceError as error:
            self.requests += error.requests
            raise
        self.requests += result.requests
        return result

    async def _try(
        self, address: PageAddress | None, what: str, *, also: frozenset[int] = frozenset()
    ) -> CallResult | None:
        """Send; None with a note where the server refuses this way of asking (`also`: further statuses that do)."""
        try:
            return await self._send(address)
        except SourceError as error:
            if not _is_refusal(error, _REFUSALS | also):
                raise
            self.notes.append(f"{what} was refused ({error.kind}: {error})")
            return None

    async def _metadata(self, pagination: Pagination) -> Probe | None:
        result = await self._try(metadata_address(pagination), f"'{pagination.metadata}'")
        if result is None:
            return None
        figures = read_metadata(result)
        if figures is None:
            self.notes.append(f"'{pagination.metadata}' was answered without figures")
            return None
        path = figures.records_path if figures.records_path is not None else self.tool.records_path
        return Probe(
            pagination=pagination,
            records_path=path or "",
            total=figures.total,
            certainty=figures.certainty,
            rung=Rung.METADATA,
            tokens_estimation=figures.tokens_estimation,
            requests=self.requests,
            notes=tuple(self.notes),
        )

    async def _single(self, pagination: Pagination) -> Probe:
        """The tool knows no pages: its one response is the call's first page, and usually its last."""
        result = await self._send(None)
        reading = read_page(result, pagination, records_path=self.tool.records_path)
        corrected = _with_kind(pagination, reading) if self.tool.returns_many else pagination
        total, certainty = _announced(reading)
        if reading.has_more is not True and (total is None or certainty is not Certainty.EXACT):
            total, certainty = len(reading.records), Certainty.EXACT
        if corrected.convention is Convention.SINGLE and (reading.has_more or (total or 0) > len(reading.records)):
            self.notes.append("the response says that there are more records, and the tool has no way to ask for them")
        rung = Rung.SINGLE if corrected == pagination else Rung.FIRST_PAGE
        first = FirstPage(address=None, size=None, result=result, reading=reading)
        return self._found(corrected, reading, rung, total=total, certainty=certainty, first=first)

    async def _page(self, pagination: Pagination) -> Probe:
        """The smallest page, else the first as the server cuts it."""
        size = _probe_size(pagination)
        result = None
        if size is not None:
            pagination, result = await self._sized(pagination, size)
        if result is None:
            size, result = None, await self._send(first_address(pagination, size=None))
        reading = read_page(result, pagination, records_path=self.tool.records_path, size=size)
        if pagination.convention is Convention.PAGE:
            pagination, result, reading = await self._rebased(pagination, result, reading, size=size)
        return self._read(pagination, result, reading, size=size)

    async def _sized(self, pagination: Pagination, size: int) -> tuple[Pagination, CallResult | None]:
        """A page of `size`; where page 0 is refused, page 1 is tried."""
        is_page_zero = pagination.convention is Convention.PAGE and pagination.first == 0
        also = _NO_SUCH_PAGE if is_page_zero else frozenset[int]()
        result = await self._try(first_address(pagination, size=size), f"a page of {size}", also=also)
        if result is None and is_page_zero:
            from_one = replace(pagination, first=1)
            result = await self._try(first_address(from_one, size=size), "page 1", also=also)
            pagination = pagination if result is None else from_one
        return pagination, result

    async def _rebased(
        self, pagination: Pagination, result: CallResult, reading: PageReading, *, size: int | None
    ) -> tuple[Pagination, CallResult, PageReading]:
        """Correct the number of the first page by what the first answer shows."""
        if pagination.first == 0 and reading.position == 1:
            self.notes.append("the server counts pages from 1")
            return replace(pagination, first=1), result, reading
        is_doubtful = reading.has_previous or (not reading.records and reading.total != 0)
        if pagination.first != 1 or not is_doubtful:
            return pagination, result, reading
        from_zero = replace(pagination, first=0)
        other = await self._try(first_address(from_zero, size=size), "page 0", also=_NO_SUCH_PAGE)
        if other is None:
            return pagination, result, reading
        second = read_page(other, from_zero, records_path=self.tool.records_path, size=size)
        if not second.records or second.has_previous:
            return pagination, result, reading
        self.notes.append("the server counts pages from 0")
        return from_zero, other, second

    def _read(self, pagination: Pagination, result: CallResult, reading: PageReading, *, size: int | None) -> Probe:
        """Judge a page: whether it is all there is, serves as the call's first page, and heeds the size."""
        corrected = _with_kind(pagination, reading)
        total, certainty = _announced(reading)
        count = len(reading.records)
        if total is None and reading.total is not None:
            self.notes.append(f"the announced total {reading.total} is contradicted by a page of {count} records")
        is_size_ignored = size is not None and count > size
        if is_size_ignored:
            self.notes.append(f"a page of {size} was asked for and {count} records came: '{corrected.size}' is ignored")
            corrected = replace(corrected, size=None, other_hidden=(*corrected.other_hidden, corrected.size or ""))
        if corrected.convention is Convention.SINGLE:
            total, certainty = self._total_of_lone_page(corrected, reading, size, total=total, certainty=certainty)
        elif total is None and (count == 0 or reading.has_more is False):
            total, certainty = count, Certainty.EXACT
        is_whole = certainty is Certainty.EXACT and total == count
        is_usable = size is None or is_whole or is_size_ignored or pagination.convention is Convention.SINGLE
        asked = first_address(pagination, size=size)
        first = FirstPage(address=asked, size=None if is_size_ignored else size, result=result, reading=reading)
        rung = Rung.FIRST_PAGE if size is None or pagination.convention is Convention.SINGLE else Rung.SMALLEST_PAGE
        return self._found(
            corrected, reading, rung, total=total, certainty=certainty, first=first if is_usable else None
        )

    def _total_of_lone_page(
        self,
        pagination: Pagination,
        reading: PageReading,
        size: int | None,
        *,
        total: int | None,
        certainty: Certainty,
    ) -> tuple[int | None, Certainty]:
        """A limit without a position: a page as long as the limit, or as a usual cap, may have been cut there."""
        count = len(reading.records)
        if total is not None and certainty is Certainty.EXACT:
            if total > count:
                self.notes.append(f"{count} of {total} records came, and the tool has no way to ask for the others")
            return total, certainty
        is_full = size is None or count >= size or count == pagination.default_size or count in _USUAL_CAPS
        if reading.has_more or (count and is_full and reading.has_more is not False):
            self.notes.append(f"the tool has no way to ask for more than these {count} records; there may be others")
            return count, Certainty.AT_LEAST
        return count, Certainty.EXACT

    def _found(
        self,
        pagination: Pagination,
        reading: PageReading,
        rung: Rung,
        *,
        total: int | None,
        certainty: Certainty,
        first: FirstPage | None,
    ) -> Probe:
        sample = tuple(reading.records[:_SAMPLE])
        return Probe(
            pagination=pagination,
            records_path=reading.records_path,
            total=total,
            certainty=certainty,
            rung=rung,
            tokens_estimation=reading.tokens_estimation,
            sample=sample,
            bytes_per_record=_bytes_per_record(sample),
            first=first,
            requests=self.requests,
            notes=tuple(self.notes),
        )


def _is_refusal(error: SourceError, statuses: frozenset[int]) -> bool:
    """Whether the server (or the document) objects to this way of asking, and not to being asked at all."""
    if isinstance(error, HttpStatusError):
        return error.status in statuses
    return isinstance(error, InvalidRequest | ToolFailed)


def _probe_size(pagination: Pagination) -> int | None:
    """One, or the least that is legal. Without a position the one page has to bring as much as it can."""
    if pagination.size is None:
        return None
    if pagination.convention is Convention.SINGLE:
        return pagination.max_size or _SIZE_WITHOUT_POSITION
    return max(1, pagination.min_size or 1)


def _with_kind(pagination: Pagination, reading: PageReading) -> Pagination:
    """The pagination corrected by the response: a next URL is followed where pages have no address of their own."""
    if pagination.is_addressable or reading.next is None or reading.next.url is None or reading.kind is None:
        return pagination
    hidden = pagination.other_hidden + ((pagination.position,) if pagination.position else ())
    return replace(pagination, convention=reading.kind, position=None, other_hidden=hidden)


def _announced(reading: PageReading) -> tuple[int | None, Certainty]:
    """The total unless the page itself contradicts it."""
    if reading.certainty is Certainty.UNKNOWN:
        return None, Certainty.UNKNOWN
    return reading.total, reading.certainty


def _joined(figures: Probe, page: Probe) -> Probe:
    """Figures from the metadata flag, everything else from a page."""
    return replace(
        page,
        total=figures.total,
        certainty=figures.certainty,
        tokens_estimation=figures.tokens_estimation or page.tokens_estimation,
        rung=Rung.METADATA,
    )


def _bytes_per_record(sample: tuple[Json, ...]) -> float | None:
    if not sample:
        return None
    try:
        return len(orjson.dumps(list(sample))) / len(sample)
    except TypeError:
        return len(repr(sample)) / len(sample)
