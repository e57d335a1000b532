"""The ladder of a probe, one call's climb down it.

Knows the rungs (figures by a metadata flag, a sibling operation that counts, the smallest page with flags for the
total, HEAD, the first page, the single response) and what each can teach. Knows no budget, no retries and no strategy:
`Send` is handed in with all of that bound. A rung that the server refuses (400, 405, 416, 422, a failed MCP tool) gives
way to the next; every other failure is the probe's failure, and never an empty dataset. An empty page is never asked
for: servers answer `limit=0` with everything, a default page, or an error.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.errors import HttpStatusError, InvalidRequest, SourceError, ToolFailed
from adapters.pagination import (
    Certainty,
    PageReading,
    Total,
    adopting,
    at_path,
    content_range,
    corrected,
    first_address,
    metadata_address,
    read_count,
    read_headers,
    read_metadata,
    read_page,
    smallest_size,
)
from adapters.pagination.probe.result import (
    FirstPage,
    FirstPosition,
    LearnedPagination,
    PageAssessment,
    ProbeMethod,
    ProbeResult,
    announced,
    base_of,
    bytes_per_record,
    is_silent,
    judged,
)

Send: TypeAlias = Callable[[PageAddress | None], Awaitable[CallResult]]

_REFUSALS = frozenset({400, 405, 416, 422})
_NO_SUCH_PAGE = frozenset({404})
_NO_SUCH_OPERATION = frozenset({404, 501})
_SAMPLE = 20
_SIZE_WITHOUT_POSITION = 1000
_FEW = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProbePage:
    """A page that came: how it was asked for, and with what understanding of the tool's paging."""

    pagination: Pagination
    address: PageAddress | None
    size: int | None
    result: CallResult

    def read(self, records_path: str | None) -> PageReading:
        return read_page(self.result, self.pagination, records_path=records_path, size=self.size, asked=self.address)


@dataclass
class Prober:
    """One probe under way: what was sent and noticed so far, and what is known of the tool."""

    tool: ToolSpec
    ask: Send
    learnt: LearnedPagination
    requests: int = 0
    notes: list[str] = field(default_factory=list)

    async def climb(self) -> ProbeResult:
        """Climb down until something is known. Raises SourceError where no rung holds."""
        pagination = self.learnt.pagination
        if not self.tool.returns_many:
            return await self._single(Pagination())
        figures = await self._metadata(pagination)
        if figures is not None and (figures.total == 0 or self.tool.records_path is not None or figures.records_path):
            return figures
        counted = None if figures is not None else await self._counted(pagination)
        if pagination.convention is PaginationStyle.SINGLE and pagination.size is None:
            page = await self._single(pagination)
        else:
            page = await self._page(pagination)
        if figures is not None:
            return self._joined(
                page, Total(figures.total, figures.certainty), ProbeMethod.METADATA, figures.tokens_estimation
            )
        if counted is not None:
            return self._joined(page, counted, ProbeMethod.COUNT_OPERATION)
        head = await self._head(page) if page.certainty is not Certainty.EXACT else None
        if head is None:
            return replace(page, requests=self.requests, notes=tuple(self.notes))
        return self._joined(page, head, ProbeMethod.HEAD)

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

    async def attempt(self, address: PageAddress) -> CallResult | None:
        """Send what may well be refused; None where it is."""
        return await self._try(address, "a trial", also=_NO_SUCH_PAGE)

    def _in_vain(self, rung: ProbeMethod) -> None:
        """Never ask on this rung again."""
        self.learnt = replace(self.learnt, vain=self.learnt.vain | {rung})

    async def _metadata(self, pagination: Pagination) -> ProbeResult | None:
        if not pagination.metadata or ProbeMethod.METADATA in self.learnt.vain:
            return None
        result = await self._try(metadata_address(pagination), f"'{pagination.metadata}'")
        figures = None if result is None else read_metadata(result)
        if figures is None:
            self._in_vain(ProbeMethod.METADATA)
            if result is not None:
                self.notes.append(f"'{pagination.metadata}' was answered without figures")
            return None
        path = figures.records_path if figures.records_path is not None else self.tool.records_path
        return ProbeResult(
            pagination=pagination,
            records_path=path or "",
            total=figures.total,
            certainty=figures.certainty,
            rung=ProbeMethod.METADATA,
            tokens_estimation=figures.tokens_estimation,
            requests=self.requests,
            notes=tuple(self.notes),
        )

    async def _counted(self, pagination: Pagination) -> Total | None:
        """The total by the operation that counts. Any refusal of it, a missing one too, costs the total only."""
        operation = pagination.count_operation
        if not operation or ProbeMethod.COUNT_OPERATION in self.learnt.vain:
            return None
        result = await self._try(PageAddress(operation=operation), f"'{operation}'", also=_NO_SUCH_OPERATION)
        total = None if result is None else read_count(result)
        if total is None:
            self._in_vain(ProbeMethod.COUNT_OPERATION)
            if result is not None:
                self.notes.append(f"'{operation}' was answered without a count")
        return total

    async def _head(self, page: ProbeResult) -> Total | None:
        """The total by HEAD, where the document has one: of all records, so that no size goes with it."""
        if not page.pagination.is_total_by_head or ProbeMethod.HEAD in self.learnt.vain:
            return None
        result = await self._try(PageAddress(is_head=True), "HEAD", also=_NO_SUCH_OPERATION)
        total = None if result is None else read_headers(result.headers)
        if total is None:
            self._in_vain(ProbeMethod.HEAD)
        return total

    async def _single(self, pagination: Pagination) -> ProbeResult:
        """The tool knows no pages: its one response is the call's first page, and usually its last."""
        result = await self._send(None)
        answer = _ProbePage(pagination=pagination, address=None, size=None, result=result)
        answer, reading = self._corrected(answer) if self.tool.returns_many else (answer, self._reading(answer))
        verdict = announced(answer.pagination, reading)
        total, certainty = verdict.total, verdict.certainty
        if reading.flaw and self.tool.returns_many:
            total, certainty = None, Certainty.UNKNOWN
        elif reading.has_more is not True and certainty is not Certainty.EXACT:
            total, certainty = len(reading.records), Certainty.EXACT
        is_single = answer.pagination.convention is PaginationStyle.SINGLE
        if is_single and (reading.has_more or (total or 0) > len(reading.records)):
            self.notes.append("the response says that there are more records, and the tool has no way to ask for them")
        first = FirstPage(address=None, size=None, result=result, reading=reading)
        rung = ProbeMethod.SINGLE if answer.pagination == pagination else ProbeMethod.FIRST_PAGE
        return self._found(replace(verdict, total=total, certainty=certainty, notes=()), reading, rung, first)

    async def _page(self, pagination: Pagination) -> ProbeResult:
        """The smallest page, else the first as the server cuts it."""
        size = None if ProbeMethod.SMALLEST_PAGE in self.learnt.vain else _probe_size(pagination)
        answer = None if size is None else await self._sized(pagination, size)
        if answer is None:
            if size is not None and pagination.convention is not PaginationStyle.SINGLE:
                self._in_vain(ProbeMethod.SMALLEST_PAGE)
            answer = self._in_its_unit(await self._as_it_comes(pagination))
        if pagination.convention in (PaginationStyle.PAGE, PaginationStyle.OFFSET):
            answer = await self._rebased(answer)
        found = self._judged(answer)
        return await self._shortened(found) if pagination.convention is PaginationStyle.SINGLE else found

    async def _shortened(self, found: ProbeResult) -> ProbeResult:
        """A limit without a position, and as many records as servers cut at: a page of one less shows whether they do.

        Where that one says that there is more, the longer page would have said so too, and it was whole.
        """
        first, size = found.first, found.pagination.size
        if first is None or first.size is None or size is None or found.certainty is not Certainty.AT_LEAST:
            return found
        count = len(first.reading.records)
        can_tell = isinstance(first.result.payload, dict) and first.reading.has_more is None
        if not 1 < count < first.size or not can_tell or found.pagination.sizes:
            return found
        path = self.tool.records_path
        if read_page(first.result, found.pagination, records_path=path, size=count, asked=first.address).has_more:
            return found
        place = first_address(found.pagination, size=count - 1)
        result = await self._try(place, f"a page of {count - 1}")
        if result is None:
            return replace(found, requests=self.requests)
        shorter = read_page(result, found.pagination, records_path=self.tool.records_path, size=count - 1, asked=place)
        stands_there = shorter.marker is not None and bool(at_path(first.result.payload, shorter.marker)[1])
        if shorter.has_more is True and len(shorter.records) == count - 1 and not stands_there:
            return replace(found, total=count, certainty=Certainty.EXACT, requests=self.requests, notes=())
        return replace(found, requests=self.requests)

    async def _sized(self, pagination: Pagination, size: int) -> _ProbePage | None:
        """A page of `size`, with the flags for totals or else without; where page 0 is refused, page 1 is tried."""
        is_page_zero = pagination.convention is PaginationStyle.PAGE and pagination.first == 0
        also = _NO_SUCH_PAGE if is_page_zero else frozenset[int]()
        ways = [(pagination, with_totals, f"a page of {size}") for with_totals in self._ways_of_totals(pagination)]
        if is_page_zero:
            ways.append((replace(pagination, first=1), False, "page 1"))
        for way, with_totals, what in ways:
            place = first_address(way, size=size, with_totals=with_totals)
            result = await self._try(place, f"{what} with flags for the total" if with_totals else what, also=also)
            if result is not None:
                return _ProbePage(pagination=way, address=place, size=size, result=result)
            if with_totals:
                self.learnt = replace(self.learnt, takes_totals=False)
        return None

    def _ways_of_totals(self, pagination: Pagination) -> tuple[bool, ...]:
        is_told = bool(pagination.totals) or pagination.convention is PaginationStyle.RANGE
        return (True, False) if is_told and self.learnt.takes_totals else (False,)

    async def _as_it_comes(self, pagination: Pagination) -> _ProbePage:
        """The first page without a size; the last attempt raises."""
        *attempts, last = self._ways_of_totals(pagination)
        for with_totals in attempts:
            place = first_address(pagination, size=None, with_totals=with_totals)
            result = await self._try(place, "the first page with flags for the total")
            if result is not None:
                return _ProbePage(pagination=pagination, address=place, size=None, result=result)
            self.learnt = replace(self.learnt, takes_totals=False)
        place = first_address(pagination, size=None, with_totals=last)
        return _ProbePage(pagination=pagination, address=place, size=None, result=await self._send(place))

    def _in_its_unit(self, answer: _ProbePage) -> _ProbePage:
        """A range in the unit that the server counts in, where the usual one was refused."""
        ranged = content_range(answer.result.headers) if answer.pagination.convention is PaginationStyle.RANGE else None
        if ranged is None or ranged.unit is None or ranged.unit == answer.pagination.unit:
            return answer
        self.notes.append(f"the server counts ranges in '{ranged.unit}'")
        return replace(answer, pagination=replace(answer.pagination, unit=ranged.unit))

    async def _rebased(self, answer: _ProbePage) -> _ProbePage:
        """Correct the position of the first page by what the first answer shows."""
        reading = self._reading(answer)
        match base_of(answer.pagination, reading):
            case FirstPosition.AS_ASKED:
                return answer
            case FirstPosition.ONE:
                self.notes.append(f"the server counts '{answer.pagination.position}' from 1")
                return replace(answer, pagination=replace(answer.pagination, first=1))
            case FirstPosition.PERHAPS_ZERO:
                return await self._from(answer, 0)
            case FirstPosition.PERHAPS_ONE:
                return await self._from(answer, 1)

    async def _from(self, answer: _ProbePage, first: int) -> _ProbePage:
        """The answer for another first position, where that has records and none before them."""
        from_there = replace(answer.pagination, first=first)
        place = first_address(from_there, size=answer.size)
        result = await self._try(place, f"position {first}", also=_NO_SUCH_PAGE)
        if result is None:
            return answer
        other = _ProbePage(pagination=from_there, address=place, size=answer.size, result=result)
        reading = self._reading(other)
        if not reading.records or reading.has_previous:
            return answer
        what = "pages" if from_there.convention is PaginationStyle.PAGE else f"'{from_there.position}'"
        self.notes.append(f"the server counts {what} from {first}")
        return other

    def _reading(self, answer: _ProbePage) -> PageReading:
        return answer.read(self.tool.records_path)

    def _corrected(self, answer: _ProbePage) -> tuple[_ProbePage, PageReading]:
        """The answer as it reads once the tool's paging is understood as the answer itself shows it."""
        reading = self._reading(answer)
        arguments = self.tool.parameters.get("properties") or {}
        for _ in range(_FEW):
            correction = corrected(answer.pagination, reading)
            if correction.pagination == answer.pagination:
                correction = adopting(answer.pagination, reading, arguments)
            if correction.note:
                self.notes.append(correction.note)
            if correction.pagination == answer.pagination:
                break
            answer = replace(answer, pagination=correction.pagination)
            reading = self._reading(answer)
        return answer, reading

    def _judged(self, answer: _ProbePage) -> ProbeResult:
        """Judge a page: whether it is all there is, serves as the call's first page, and heeds the size."""
        asked = answer.pagination
        answer, reading = self._corrected(answer)
        verdict = judged(answer.pagination, reading, size=answer.size)
        was_single = asked.convention is PaginationStyle.SINGLE
        is_usable = answer.size is None or verdict.is_whole or verdict.is_size_ignored or was_single
        size = None if verdict.is_size_ignored else answer.size
        first = FirstPage(address=answer.address, size=size, result=answer.result, reading=reading)
        rung = ProbeMethod.FIRST_PAGE if answer.size is None or was_single else ProbeMethod.SMALLEST_PAGE
        found = self._found(verdict, reading, rung, first if is_usable else None)
        return replace(found, is_silent=found.total is None and is_silent(reading, answer.size))

    def _found(
        self, verdict: PageAssessment, reading: PageReading, rung: ProbeMethod, first: FirstPage | None
    ) -> ProbeResult:
        self.notes += verdict.notes
        self.learnt = replace(self.learnt, pagination=verdict.pagination)
        sample = tuple(reading.records[:_SAMPLE])
        return ProbeResult(
            pagination=verdict.pagination,
            records_path=reading.records_path,
            total=verdict.total,
            certainty=verdict.certainty,
            rung=rung,
            tokens_estimation=reading.tokens_estimation,
            sample=sample,
            bytes_per_record=bytes_per_record(sample),
            first=first,
            requests=self.requests,
            notes=tuple(self.notes),
        )

    def _joined(self, page: ProbeResult, total: Total, rung: ProbeMethod, tokens: int | None = None) -> ProbeResult:
        """A total from elsewhere, everything else from a page, unless that shows that there are more or all."""
        held = len(page.first.reading.records) if page.first else len(page.sample)
        is_wrong = total.value is not None and total.value < held
        is_better = page.certainty is Certainty.EXACT and rung is not ProbeMethod.METADATA and page.total != total.value
        if is_wrong or is_better:
            self.notes.append(f"the count {total.value} is not that of the records, by the page itself")
            return replace(page, requests=self.requests, notes=tuple(self.notes))
        return replace(
            page,
            total=total.value,
            certainty=total.certainty,
            tokens_estimation=tokens or page.tokens_estimation,
            rung=rung,
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
    if pagination.size is not None and pagination.convention is PaginationStyle.SINGLE:
        return pagination.max_size or (max(pagination.sizes) if pagination.sizes else _SIZE_WITHOUT_POSITION)
    return smallest_size(pagination)
