"""The methods of a probe, from the cheapest on: metadata flag, count operation, smallest page, HEAD, first page.

If the server refuses a method (400, 405, 416, 422, a failed MCP tool), the next one is tried; every other failure is
the probe's failure, and never an empty dataset. No request asks for an empty page: servers answer `limit=0` with
everything, a default page, or an error.
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
    adopt_cursor,
    correct_pagination,
    first_address,
    metadata_address,
    parse_content_range,
    read_count,
    read_headers,
    read_metadata,
    read_page,
    smallest_page_size,
    value_at,
)
from adapters.pagination.probe.result import (
    FirstPage,
    FirstPosition,
    LearnedPagination,
    PageAssessment,
    ProbeMethod,
    ProbeResult,
    announced_total,
    assess_page,
    bytes_per_record,
    is_end_unconfirmed,
    observed_first_position,
)

Send: TypeAlias = Callable[[PageAddress | None], Awaitable[CallResult]]

_REFUSALS = frozenset({400, 405, 416, 422})
_NO_SUCH_PAGE = frozenset({404})
_NO_SUCH_OPERATION = frozenset({404, 501})
_SAMPLE = 20
_SIZE_WITHOUT_POSITION = 1000
_MAX_CORRECTIONS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProbePage:
    """A page, how it was requested, and the pagination as understood at the time."""

    pagination: Pagination
    address: PageAddress | None
    size: int | None
    result: CallResult

    def read(self, records_path: str | None) -> PageReading:
        return read_page(self.result, self.pagination, records_path=records_path, size=self.size, address=self.address)


@dataclass
class Prober:
    """One probe of one tool. `send` sends one request, with retries and budget already applied."""

    tool: ToolSpec
    send: Send
    learned: LearnedPagination
    requests: int = 0
    notes: list[str] = field(default_factory=list)

    async def run(self) -> ProbeResult:
        """Try the methods in order. Raises SourceError if none works."""
        found = await self._probe(self.learned.pagination)
        return replace(found, requests=self.requests, notes=tuple(self.notes))

    async def _probe(self, pagination: Pagination) -> ProbeResult:
        if not self.tool.returns_many:
            return await self._single_response(Pagination())
        metadata = await self._by_metadata_flag(pagination)
        if metadata is not None and (
            metadata.total == 0 or self.tool.records_path is not None or metadata.records_path
        ):
            return metadata
        counted = None if metadata is not None else await self._by_count_operation(pagination)
        if pagination.convention is PaginationStyle.SINGLE and pagination.size is None:
            page = await self._single_response(pagination)
        else:
            page = await self._first_page(pagination)
        if metadata is not None:
            return self._with_total(
                page, Total(metadata.total, metadata.certainty), ProbeMethod.METADATA, metadata.tokens_estimation
            )
        if counted is not None:
            return self._with_total(page, counted, ProbeMethod.COUNT_OPERATION)
        head = await self._by_head(page) if page.certainty is not Certainty.EXACT else None
        return page if head is None else self._with_total(page, head, ProbeMethod.HEAD)

    async def _send(self, address: PageAddress | None) -> CallResult:
        """Send, and count the requests of failures too."""
        try:
            result = await self.send(address)
        except SourceError as error:
            self.requests += error.requests
            raise
        self.requests += result.requests
        return result

    async def _try(
        self, address: PageAddress | None, what: str, *, also: frozenset[int] = frozenset()
    ) -> CallResult | None:
        """Send; None with a note if the server refuses. `also` has further statuses that count as a refusal."""
        try:
            return await self._send(address)
        except SourceError as error:
            if not _is_refusal(error, _REFUSALS | also):
                raise
            self.notes.append(f"{what} was refused ({error.kind}: {error})")
            return None

    async def attempt(self, address: PageAddress) -> CallResult | None:
        """Send a request that may be refused; None if it is."""
        return await self._try(address, "a trial request", also=_NO_SUCH_PAGE)

    def _mark_failed(self, method: ProbeMethod) -> None:
        """Do not use this method for the tool again."""
        self.learned = replace(self.learned, failed_methods=self.learned.failed_methods | {method})

    async def _by_metadata_flag(self, pagination: Pagination) -> ProbeResult | None:
        if not pagination.metadata or ProbeMethod.METADATA in self.learned.failed_methods:
            return None
        result = await self._try(metadata_address(pagination), f"'{pagination.metadata}'")
        metadata = None if result is None else read_metadata(result)
        if metadata is None:
            self._mark_failed(ProbeMethod.METADATA)
            if result is not None:
                self.notes.append(f"'{pagination.metadata}' returned no metadata")
            return None
        path = metadata.records_path if metadata.records_path is not None else self.tool.records_path
        return ProbeResult(
            pagination=pagination,
            records_path=path or "",
            total=metadata.total,
            certainty=metadata.certainty,
            method=ProbeMethod.METADATA,
            tokens_estimation=metadata.tokens_estimation,
        )

    async def _by_count_operation(self, pagination: Pagination) -> Total | None:
        """The total by the operation that counts. If that operation is refused or missing, only the total is lost."""
        operation = pagination.count_operation
        if not operation or ProbeMethod.COUNT_OPERATION in self.learned.failed_methods:
            return None
        result = await self._try(PageAddress(operation=operation), f"'{operation}'", also=_NO_SUCH_OPERATION)
        total = None if result is None else read_count(result)
        if total is None:
            self._mark_failed(ProbeMethod.COUNT_OPERATION)
            if result is not None:
                self.notes.append(f"'{operation}' returned no count")
        return total

    async def _by_head(self, page: ProbeResult) -> Total | None:
        """The total of all records by HEAD, if the document has one."""
        if not page.pagination.is_total_by_head or ProbeMethod.HEAD in self.learned.failed_methods:
            return None
        result = await self._try(PageAddress(is_head=True), "HEAD", also=_NO_SUCH_OPERATION)
        total = None if result is None else read_headers(result.headers)
        if total is None:
            self._mark_failed(ProbeMethod.HEAD)
        return total

    async def _single_response(self, pagination: Pagination) -> ProbeResult:
        """The only response of a tool without known pages: the first page of the call, and usually the last."""
        result = await self._send(None)
        answer = _ProbePage(pagination=pagination, address=None, size=None, result=result)
        answer, reading = self._apply_corrections(answer) if self.tool.returns_many else (answer, self._read(answer))
        assessment = announced_total(answer.pagination, reading)
        total, certainty = assessment.total, assessment.certainty
        if reading.flaw and self.tool.returns_many:
            total, certainty = None, Certainty.UNKNOWN
        elif reading.has_more is not True and certainty is not Certainty.EXACT:
            total, certainty = len(reading.records), Certainty.EXACT
        is_single = answer.pagination.convention is PaginationStyle.SINGLE
        if is_single and (reading.has_more or (total or 0) > len(reading.records)):
            self.notes.append(
                "the response says that there are more records, but the tool has no parameter to request them"
            )
        first = FirstPage(address=None, size=None, result=result, reading=reading)
        method = ProbeMethod.SINGLE if answer.pagination == pagination else ProbeMethod.FIRST_PAGE
        return self._result(replace(assessment, total=total, certainty=certainty, notes=()), reading, method, first)

    async def _first_page(self, pagination: Pagination) -> ProbeResult:
        """The smallest page, else the first page in the server's default size."""
        size = None if ProbeMethod.SMALLEST_PAGE in self.learned.failed_methods else _probe_size(pagination)
        answer = None if size is None else await self._page_of_size(pagination, size)
        if answer is None:
            if size is not None and pagination.convention is not PaginationStyle.SINGLE:
                self._mark_failed(ProbeMethod.SMALLEST_PAGE)
            answer = self._with_server_unit(await self._default_page(pagination))
        if pagination.convention in (PaginationStyle.PAGE, PaginationStyle.OFFSET):
            answer = await self._with_first_position(answer)
        found = self._assess(answer)
        is_single = pagination.convention is PaginationStyle.SINGLE
        return await self._confirm_by_shorter_page(found) if is_single else found

    async def _confirm_by_shorter_page(self, found: ProbeResult) -> ProbeResult:
        """Check a limit without a position by a page of one record less, if the list may be truncated.

        If the shorter page says that there is more, the longer one would have said so too, and it was complete.
        """
        first, size = found.first, found.pagination.size
        if first is None or first.size is None or size is None or found.certainty is not Certainty.AT_LEAST:
            return found
        count = len(first.reading.records)
        can_tell = isinstance(first.result.payload, dict) and first.reading.has_more is None
        if not 1 < count < first.size or not can_tell or found.pagination.sizes:
            return found
        path = self.tool.records_path
        if read_page(first.result, found.pagination, records_path=path, size=count, address=first.address).has_more:
            return found
        address = first_address(found.pagination, size=count - 1)
        result = await self._try(address, f"a page of {count - 1}")
        if result is None:
            return found
        shorter = read_page(result, found.pagination, records_path=path, size=count - 1, address=address)
        has_pointer = shorter.pointer_path is not None and bool(value_at(first.result.payload, shorter.pointer_path)[1])
        if shorter.has_more is True and len(shorter.records) == count - 1 and not has_pointer:
            return replace(found, total=count, certainty=Certainty.EXACT)
        return found

    async def _page_of_size(self, pagination: Pagination, size: int) -> _ProbePage | None:
        """A page of `size`, with the flags for totals or else without; if page 0 is refused, page 1 is tried."""
        is_page_zero = pagination.convention is PaginationStyle.PAGE and pagination.first == 0
        also = _NO_SUCH_PAGE if is_page_zero else frozenset[int]()
        attempts = [
            (pagination, with_totals, f"a page of {size}") for with_totals in self._total_flag_attempts(pagination)
        ]
        if is_page_zero:
            attempts.append((replace(pagination, first=1), False, "page 1"))
        for variant, with_totals, what in attempts:
            address = first_address(variant, size=size, with_totals=with_totals)
            result = await self._try(address, f"{what} with flags for the total" if with_totals else what, also=also)
            if result is not None:
                return _ProbePage(pagination=variant, address=address, size=size, result=result)
            if with_totals:
                self.learned = replace(self.learned, accepts_total_flags=False)
        return None

    def _total_flag_attempts(self, pagination: Pagination) -> tuple[bool, ...]:
        has_flags = bool(pagination.total_flags) or pagination.convention is PaginationStyle.RANGE
        return (True, False) if has_flags and self.learned.accepts_total_flags else (False,)

    async def _default_page(self, pagination: Pagination) -> _ProbePage:
        """The first page without a size. The last attempt raises."""
        *attempts, last = self._total_flag_attempts(pagination)
        for with_totals in attempts:
            address = first_address(pagination, size=None, with_totals=with_totals)
            result = await self._try(address, "the first page with flags for the total")
            if result is not None:
                return _ProbePage(pagination=pagination, address=address, size=None, result=result)
            self.learned = replace(self.learned, accepts_total_flags=False)
        address = first_address(pagination, size=None, with_totals=last)
        return _ProbePage(pagination=pagination, address=address, size=None, result=await self._send(address))

    def _with_server_unit(self, answer: _ProbePage) -> _ProbePage:
        """Use the range unit of the server if it is not the usual one."""
        if answer.pagination.convention is not PaginationStyle.RANGE:
            return answer
        ranged = parse_content_range(answer.result.headers)
        if ranged is None or ranged.unit in (None, answer.pagination.unit):
            return answer
        self.notes.append(f"the server counts ranges in '{ranged.unit}'")
        return replace(answer, pagination=replace(answer.pagination, unit=ranged.unit))

    async def _with_first_position(self, answer: _ProbePage) -> _ProbePage:
        """Correct the position of the first page by what the first response shows."""
        reading = self._read(answer)
        match observed_first_position(answer.pagination, reading):
            case FirstPosition.AS_REQUESTED:
                return answer
            case FirstPosition.ONE:
                self.notes.append(f"the server counts '{answer.pagination.position}' from 1")
                return replace(answer, pagination=replace(answer.pagination, first=1))
            case FirstPosition.PERHAPS_ZERO:
                return await self._page_from(answer, 0)
            case FirstPosition.PERHAPS_ONE:
                return await self._page_from(answer, 1)

    async def _page_from(self, answer: _ProbePage, first: int) -> _ProbePage:
        """The page at another first position, if that has records and no page before it."""
        from_there = replace(answer.pagination, first=first)
        address = first_address(from_there, size=answer.size)
        result = await self._try(address, f"position {first}", also=_NO_SUCH_PAGE)
        if result is None:
            return answer
        other = _ProbePage(pagination=from_there, address=address, size=answer.size, result=result)
        reading = self._read(other)
        if not reading.records or reading.has_previous:
            return answer
        what = "pages" if from_there.convention is PaginationStyle.PAGE else f"'{from_there.position}'"
        self.notes.append(f"the server counts {what} from {first}")
        return other

    def _read(self, answer: _ProbePage) -> PageReading:
        return answer.read(self.tool.records_path)

    def _apply_corrections(self, answer: _ProbePage) -> tuple[_ProbePage, PageReading]:
        """The response read again with the pagination corrected by the response itself."""
        reading = self._read(answer)
        arguments = self.tool.parameters.get("properties") or {}
        for _ in range(_MAX_CORRECTIONS):
            correction = correct_pagination(answer.pagination, reading)
            if correction.pagination == answer.pagination:
                correction = adopt_cursor(answer.pagination, reading, arguments)
            if correction.note:
                self.notes.append(correction.note)
            if correction.pagination == answer.pagination:
                break
            answer = replace(answer, pagination=correction.pagination)
            reading = self._read(answer)
        return answer, reading

    def _assess(self, answer: _ProbePage) -> ProbeResult:
        """Assess a page: whether it is complete, can serve as the call's first page, and respects the size."""
        requested = answer.pagination
        answer, reading = self._apply_corrections(answer)
        assessment = assess_page(answer.pagination, reading, size=answer.size)
        was_single = requested.convention is PaginationStyle.SINGLE
        is_usable = answer.size is None or assessment.is_whole or assessment.is_size_ignored or was_single
        size = None if assessment.is_size_ignored else answer.size
        first = FirstPage(address=answer.address, size=size, result=answer.result, reading=reading)
        method = ProbeMethod.FIRST_PAGE if answer.size is None or was_single else ProbeMethod.SMALLEST_PAGE
        found = self._result(assessment, reading, method, first if is_usable else None)
        return replace(found, is_end_unconfirmed=found.total is None and is_end_unconfirmed(reading, answer.size))

    def _result(
        self, assessment: PageAssessment, reading: PageReading, method: ProbeMethod, first: FirstPage | None
    ) -> ProbeResult:
        self.notes += assessment.notes
        self.learned = replace(self.learned, pagination=assessment.pagination)
        sample = tuple(reading.records[:_SAMPLE])
        return ProbeResult(
            pagination=assessment.pagination,
            records_path=reading.records_path,
            total=assessment.total,
            certainty=assessment.certainty,
            method=method,
            tokens_estimation=reading.tokens_estimation,
            sample=sample,
            bytes_per_record=bytes_per_record(sample),
            first=first,
        )

    def _with_total(
        self, page: ProbeResult, total: Total, method: ProbeMethod, tokens: int | None = None
    ) -> ProbeResult:
        """A page with a total from elsewhere, unless the page itself contradicts it."""
        held = len(page.first.reading.records) if page.first else len(page.sample)
        is_wrong = total.value is not None and total.value < held
        is_better = (
            page.certainty is Certainty.EXACT and method is not ProbeMethod.METADATA and page.total != total.value
        )
        if is_wrong or is_better:
            self.notes.append(f"the count {total.value} is contradicted by the page")
            return page
        tokens = tokens or page.tokens_estimation
        return replace(page, total=total.value, certainty=total.certainty, tokens_estimation=tokens, method=method)


def _is_refusal(error: SourceError, statuses: frozenset[int]) -> bool:
    """Whether the server or the document objects to the form of the request."""
    if isinstance(error, HttpStatusError):
        return error.status in statuses
    return isinstance(error, InvalidRequest | ToolFailed)


def _probe_size(pagination: Pagination) -> int | None:
    """One, or the smallest legal size. Without a position, the only page has to hold as much as possible."""
    if pagination.size is not None and pagination.convention is PaginationStyle.SINGLE:
        return pagination.max_size or (max(pagination.sizes) if pagination.sizes else _SIZE_WITHOUT_POSITION)
    return smallest_page_size(pagination)
