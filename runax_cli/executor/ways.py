"""Ways to go on: where the page after one is, and by which convention that was told.

Knows readings of one answer under other conventions than the one that was thought. Decides nothing: whoever walks takes
another way only where the first leads nowhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from adapters.base import CallResult, Convention, PageAddress, Pagination
from adapters.pagination import in_next_url, read_page


@dataclass(frozen=True, slots=True)
class Way:
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


def other_ways(result: CallResult, pagination: Pagination, *, records_path: str, size: int | None) -> tuple[Way, ...]:
    """What an answer names as its next page if it is read otherwise than by `pagination`."""
    found: list[Way] = []
    main = read_page(result, pagination, records_path=records_path, size=size).next
    for other in _others(pagination):
        reading = read_page(result, other, records_path=records_path, size=size)
        if reading.next is not None and reading.next != main:
            found.append(Way(replace(other, convention=reading.kind or other.convention), reading.next))
    return tuple(found)


def way_of(pagination: Pagination, place: PageAddress, kind: Convention | None) -> Way:
    """The way that an answer names by itself, `kind` being how; the positions of `pagination` are left aside."""
    if place.url is None:
        return Way(pagination, place)
    return Way(_without_position(pagination, kind or Convention.NEXT_URL), place)


def _others(pagination: Pagination) -> Iterator[Pagination]:
    if pagination.convention not in (Convention.NEXT_URL, Convention.LINK_HEADER):
        yield _without_position(pagination, Convention.NEXT_URL)
    for name in pagination.other_hidden:
        if name and name != pagination.position:
            other = replace(pagination, convention=Convention.CURSOR, position=name, next_operation=None)
            yield other
            yield replace(other, next_path=in_next_url(name))


def _without_position(pagination: Pagination, convention: Convention) -> Pagination:
    hidden = pagination.other_hidden + ((pagination.position,) if pagination.position else ())
    return replace(pagination, convention=convention, position=None, other_hidden=hidden)
