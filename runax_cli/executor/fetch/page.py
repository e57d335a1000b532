"""One page as it came: records, what it says of itself, where it stood.

Knows readings and positions. Knows no walk and sends nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle
from adapters.pagination import Certainty, PageReading, path_in_next_url, read_page


@dataclass(frozen=True, slots=True)
class Continuation:
    """How pages are told from one another, and the next page by that."""

    pagination: Pagination
    place: PageAddress

    @property
    def words(self) -> str:
        """As it is told: the argument, or what the answers name."""
        if self.place.url is not None:
            return "the URL that the answers name"
        if self.pagination.position is not None:
            return f"'{self.pagination.position}'"
        return "what the answers name"


def other_ways(
    result: CallResult, pagination: Pagination, *, records_path: str, size: int | None
) -> tuple[Continuation, ...]:
    """What an answer names as its next page if it is read otherwise than by `pagination`."""
    found: list[Continuation] = []
    main = read_page(result, pagination, records_path=records_path, size=size).next
    for other in _others(pagination):
        reading = read_page(result, other, records_path=records_path, size=size)
        if reading.next is not None and reading.next != main:
            found.append(Continuation(replace(other, convention=reading.kind or other.convention), reading.next))
    return tuple(found)


def way_of(pagination: Pagination, place: PageAddress, kind: PaginationStyle | None) -> Continuation:
    """The way that an answer names by itself, `kind` being how; the positions of `pagination` are left aside."""
    if place.url is None:
        return Continuation(pagination, place)
    return Continuation(_without_position(pagination, kind or PaginationStyle.NEXT_URL), place)


def _others(pagination: Pagination) -> Iterator[Pagination]:
    if pagination.convention not in (PaginationStyle.NEXT_URL, PaginationStyle.LINK_HEADER):
        yield _without_position(pagination, PaginationStyle.NEXT_URL)
    for name in pagination.other_hidden:
        if name and name != pagination.position:
            other = replace(pagination, convention=PaginationStyle.CURSOR, position=name, next_operation=None)
            yield other
            yield replace(other, next_path=path_in_next_url(name))


def _without_position(pagination: Pagination, convention: PaginationStyle) -> Pagination:
    hidden = pagination.other_hidden + ((pagination.position,) if pagination.position else ())
    return replace(pagination, convention=convention, position=None, other_hidden=hidden)


_SHOWN_POSITION = 60


@dataclass(slots=True, kw_only=True)
class FetchedPage:
    """`total` is what the page announces with certainty, else None; `requests` counts retries and repetitions.

    `dropped` records were held by the page and are not kept: repetitions, and what goes beyond the first n. `kind` is
    the convention by which the page names its next one. `ways` are other ways to go on from it, known of a first page.
    `flaw` says why a part of it could not be read. `is_list` is False where one object was taken as one record.
    """

    records: list[Json]
    dropped: int = 0
    has_more: bool | None = None
    next: PageAddress | None = None
    total: int | None = None
    requests: int = 1
    from_store: bool = False
    kind: PaginationStyle | None = None
    ways: tuple[Continuation, ...] = ()
    flaw: str = ""
    is_list: bool = True

    @property
    def held(self) -> int:
        """Records that the page held when it came."""
        return len(self.records) + self.dropped


def page_of(
    result: CallResult,
    pagination: Pagination,
    *,
    records_path: str,
    size: int | None,
    asked: PageAddress | None = None,
) -> FetchedPage:
    """Read a response as a page; `asked` is its address."""
    reading = read_page(result, pagination, records_path=records_path, size=size, address=asked)
    return page_of_reading(reading, requests=result.requests)


def page_of_reading(reading: PageReading, *, requests: int) -> FetchedPage:
    """A page from its reading."""
    return FetchedPage(
        records=list(reading.records),
        has_more=reading.has_more,
        next=reading.next,
        total=reading.total if reading.certainty is Certainty.EXACT else None,
        requests=requests,
        kind=reading.kind,
        flaw=reading.flaw,
        is_list=reading.is_list,
    )


def position_of(place: PageAddress | None, pagination: Pagination, *, index: int) -> str:
    """Where a page stands, for the log; the query of a URL may hold secrets and is left out."""
    if place is not None and place.url is not None:
        return place.url.split("?", 1)[0]
    if place is not None and "Range" in place.headers:
        return place.headers["Range"][:_SHOWN_POSITION]
    name = pagination.position
    if place is not None and name is not None and name in place.arguments:
        return f"{name}={place.arguments[name]}"[:_SHOWN_POSITION]
    return f"page {index + 1}"
