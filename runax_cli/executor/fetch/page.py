"""One page of a call: its records, what it says about the next page, and its position."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle
from adapters.pagination import Certainty, PageReading, path_in_next_url, read_page


@dataclass(frozen=True, slots=True)
class Continuation:
    """A way to continue a fetch: the next page, and the pagination by which it was found."""

    pagination: Pagination
    address: PageAddress

    @property
    def description(self) -> str:
        """The argument or the part of the response that leads to the next page, for messages."""
        if self.address.url is not None:
            return "the next-page URL of the response"
        if self.pagination.position is not None:
            return f"'{self.pagination.position}'"
        return "the next-page pointer of the response"


def alternative_continuations(
    result: CallResult, pagination: Pagination, *, records_path: str, size: int | None
) -> tuple[Continuation, ...]:
    """Return the next pages that a response names if it is read by another pagination than `pagination`."""
    found: list[Continuation] = []
    main = read_page(result, pagination, records_path=records_path, size=size).next
    for other in _alternatives(pagination):
        reading = read_page(result, other, records_path=records_path, size=size)
        if reading.next is not None and reading.next != main:
            found.append(Continuation(replace(other, convention=reading.kind or other.convention), reading.next))
    return tuple(found)


def continuation_to(pagination: Pagination, address: PageAddress, style: PaginationStyle | None) -> Continuation:
    """Return the continuation that a page names itself; with a URL, the position argument is no longer used."""
    if address.url is None:
        return Continuation(pagination, address)
    return Continuation(_without_position(pagination, style or PaginationStyle.NEXT_URL), address)


def _alternatives(pagination: Pagination) -> Iterator[Pagination]:
    if pagination.convention not in (PaginationStyle.NEXT_URL, PaginationStyle.LINK_HEADER):
        yield _without_position(pagination, PaginationStyle.NEXT_URL)
    for name in pagination.other_hidden:
        if name and name != pagination.position:
            other = replace(pagination, convention=PaginationStyle.CURSOR, position=name, next_operation=None)
            yield other
            yield replace(other, next_path=path_in_next_url(name))


def _without_position(pagination: Pagination, style: PaginationStyle) -> Pagination:
    hidden = pagination.other_hidden + ((pagination.position,) if pagination.position else ())
    return replace(pagination, convention=style, position=None, other_hidden=hidden)


_POSITION_CHARS = 60


@dataclass(slots=True, kw_only=True)
class FetchedPage:
    """A page as it was received.

    `total`: the announced total if it is certain. `requests`: requests that it took, including retries and repairs.
    `n_dropped`: records that were received and are not kept (duplicates, records beyond the requested number).
    `style`: the pagination style of its next-page pointer. `alternatives`: other continuations, set for a first page.
    `flaw`: why a part of it could not be read. `is_list`: False if a single object was taken as one record.
    """

    records: list[Json]
    n_dropped: int = 0
    has_more: bool | None = None
    next: PageAddress | None = None
    total: int | None = None
    requests: int = 1
    is_cached: bool = False
    style: PaginationStyle | None = None
    alternatives: tuple[Continuation, ...] = ()
    flaw: str = ""
    is_list: bool = True

    @property
    def n_received(self) -> int:
        """Records that the page held when it was received."""
        return len(self.records) + self.n_dropped


def parse_page(
    result: CallResult,
    pagination: Pagination,
    *,
    records_path: str,
    size: int | None,
    address: PageAddress | None = None,
) -> FetchedPage:
    """Read the response to the request for `address` as a page."""
    reading = read_page(result, pagination, records_path=records_path, size=size, address=address)
    return page_from_reading(reading, requests=result.requests)


def page_from_reading(reading: PageReading, *, requests: int) -> FetchedPage:
    """Return the page of a parsed response."""
    return FetchedPage(
        records=list(reading.records),
        has_more=reading.has_more,
        next=reading.next,
        total=reading.total if reading.certainty is Certainty.EXACT else None,
        requests=requests,
        style=reading.kind,
        flaw=reading.flaw,
        is_list=reading.is_list,
    )


def position_label(address: PageAddress | None, pagination: Pagination, *, index: int) -> str:
    """Describe the position of a page for the log. The query of a URL may hold secrets and is omitted."""
    if address is not None and address.url is not None:
        return address.url.split("?", 1)[0]
    if address is not None and "Range" in address.headers:
        return address.headers["Range"][:_POSITION_CHARS]
    name = pagination.position
    if address is not None and name is not None and name in address.arguments:
        return f"{name}={address.arguments[name]}"[:_POSITION_CHARS]
    return f"page {index + 1}"
