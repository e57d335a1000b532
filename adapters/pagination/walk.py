"""Where a page is: the arguments that ask for it.

Knows conventions and arithmetic. Knows no response.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from adapters.base import Json, JsonObject, PageAddress, Pagination, PaginationStyle
from adapters.pagination.detect.parameters import leaf
from adapters.pagination.read.envelope import as_count
from adapters.pagination.read.links import query_of
from adapters.pagination.read.next_page import key_path
from adapters.pagination.read.page import PageReading
from adapters.pagination.read.totals import Certainty
from adapters.pagination.vocabulary import members as names
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.members import plain, says_cursor, says_next


def address(pagination: Pagination, *, page_index: int, size: int | None) -> PageAddress:
    """The page `page_index` (from 0) of a walk in steps of `size`. Raises ValueError where pages have no address."""
    match pagination.convention:
        case PaginationStyle.OFFSET:
            if size is None:
                raise ValueError("pages by offset need a size; use offset_address with the records received so far")
            return offset_address(pagination, offset=page_index * size, size=size)
        case PaginationStyle.PAGE:
            return _with_position(pagination, pagination.first + page_index, size)
        case PaginationStyle.RANGE:
            if size is None:
                raise ValueError("pages by range need a size")
            return offset_address(pagination, offset=page_index * size, size=size)
        case (
            PaginationStyle.SINGLE
            | PaginationStyle.CURSOR
            | PaginationStyle.NEXT_URL
            | PaginationStyle.LINK_HEADER
            | PaginationStyle.KEYSET
        ):
            raise ValueError(f"pages of convention '{pagination.convention}' have no address; follow what they name")
        case _:
            assert_never(pagination.convention)


def offset_address(pagination: Pagination, *, offset: int, size: int | None) -> PageAddress:
    """The page that begins after `offset` records. Raises ValueError for other conventions than OFFSET and RANGE."""
    if pagination.convention is PaginationStyle.RANGE:
        last = "" if size is None else str(offset + size - 1)
        unit = pagination.unit
        return PageAddress(headers={"Range-Unit": unit, "Range": f"{unit}={offset}-{last}"})
    if pagination.convention is not PaginationStyle.OFFSET:
        raise ValueError(f"convention '{pagination.convention}' has no offset")
    return _with_position(pagination, pagination.first + offset, size)


def first_address(pagination: Pagination, *, size: int | None, with_totals: bool = False) -> PageAddress:
    """The first page: by its position where pages have one, else by its size alone.

    `with_totals` adds what makes the page tell the total: the flags the document has for it, and for pages by range
    the preference that asks for an exact count (RFC 7240; a server that does not know it ignores it).
    """
    if pagination.convention is PaginationStyle.RANGE:
        place = PageAddress() if size is None else offset_address(pagination, offset=0, size=size)
        prefer = {"Prefer": "count=exact"} if with_totals and not pagination.totals else {}
        place = replace(place, headers={**place.headers, **prefer})
    else:
        place = _with_position(pagination, pagination.first if pagination.is_addressable else None, size)
    if not with_totals or not pagination.totals:
        return place
    return replace(place, arguments={**place.arguments, **dict(pagination.totals)})


def smallest_size(pagination: Pagination) -> int | None:
    """The smallest page that is surely legal, never an empty one; None where sizes cannot be chosen."""
    if pagination.convention is not PaginationStyle.RANGE and pagination.size is None:
        return None
    if pagination.sizes:
        return min((size for size in pagination.sizes if size > 0), default=None)
    return max(1, pagination.min_size or 1)


def metadata_address(pagination: Pagination) -> PageAddress:
    """The request for figures in place of records. Raises ValueError where the tool has no such flag."""
    if pagination.metadata is None:
        raise ValueError("the tool has no metadata flag")
    return PageAddress({pagination.metadata: pagination.metadata_value})


def as_written(arguments: Mapping[str, Json], pagination: Pagination) -> JsonObject:
    """The arguments of a page as the tool takes them: digits where its document calls a number text."""
    return {
        name: str(value) if name in pagination.texts and isinstance(value, int) else value
        for name, value in arguments.items()
    }


def _with_position(pagination: Pagination, position: int | None, size: int | None) -> PageAddress:
    arguments: dict[str, Json] = {}
    if pagination.position is not None and position is not None:
        arguments[pagination.position] = position
    if pagination.size is not None and size is not None:
        arguments[pagination.size] = size
    if pagination.last is not None and pagination.span is not None and position is not None:
        arguments[pagination.last] = position + pagination.span - 1
    return PageAddress(arguments)


_MARKED = frozenset(
    {PaginationStyle.CURSOR, PaginationStyle.NEXT_URL, PaginationStyle.LINK_HEADER, PaginationStyle.KEYSET}
)
_BY_URL = frozenset({PaginationStyle.NEXT_URL, PaginationStyle.LINK_HEADER})


@dataclass(frozen=True, slots=True)
class PaginationCorrection:
    """A pagination as the answer showed it, and what is to be told of the change (None: nothing changed)."""

    pagination: Pagination
    note: str | None = None


def is_followed(pagination: Pagination) -> bool:
    """Whether each page names the next one, so that pages come one by one by `PageReading.next`."""
    return pagination.convention in _MARKED


def may_repeat_address(pagination: Pagination) -> bool:
    """Whether two pages may have the same address: a scroll keeps its id from page to page while it moves on.

    There a repeated page is the sign of a standstill, and a repeated address is none.
    """
    return pagination.next_operation is not None


def marked(pagination: Pagination, reading: PageReading) -> Pagination | None:
    """How to page by what `reading` names as its next page, where positions are ignored; None where it names nothing.

    For a walk by offset, number or range that got the same page again: what the page says is followed instead, from
    the first page on, by `reading.next`. A cursor without an argument for it cannot be followed.
    """
    if reading.next is None or reading.next.url is None or reading.kind not in _BY_URL:
        return None
    return _by_url(pagination, reading.kind, reading)


def corrected(pagination: Pagination, reading: PageReading) -> PaginationCorrection:
    """The pagination as the first answer shows it.

    What the answer says outranks the document: a URL of the next page, where pages have no address of their own or
    where the URL says nothing of the position; a cursor, where the last record's key was to be the position; another
    position, or else the key, where there are more records and no cursor came. A tool that knows of no pages is
    corrected without a note.
    """
    was = pagination.convention
    url = reading.next.url if reading.next else None
    if was is PaginationStyle.CURSOR and (other := _addressed(pagination, reading)) is not None:
        text = f"no cursor came for '{pagination.position}': pages are asked for by '{other.position}'"
        return PaginationCorrection(other, text)
    if url is not None and reading.kind in _BY_URL and not (pagination.is_addressable and _counts_on(url, pagination)):
        other = _by_url(pagination, reading.kind, reading)
        is_news = was not in (PaginationStyle.SINGLE, reading.kind)
        return PaginationCorrection(
            other, f"pages are named by URLs, and not found by {_way(pagination)}" if is_news else None
        )
    if was is PaginationStyle.KEYSET and reading.kind is PaginationStyle.CURSOR:
        text = f"a cursor came for '{pagination.position}', which was taken for the key of a record"
        return PaginationCorrection(
            replace(pagination, convention=PaginationStyle.CURSOR, next_path=reading.marker), text
        )
    if was is PaginationStyle.CURSOR and reading.next is None and reading.has_more is True:
        return _by_key(pagination, reading)
    if was is PaginationStyle.KEYSET and pagination.key is None:
        return PaginationCorrection(replace(pagination, key=key_path(reading.records, pagination.position or "")))
    if reading.marker is not None and pagination.next_path is None:
        text = f"'{reading.marker}' is taken for what names the next page"
        return PaginationCorrection(replace(pagination, next_path=reading.marker), text)
    return PaginationCorrection(pagination)


def adopting(pagination: Pagination, reading: PageReading, parameters: Mapping[str, Json]) -> PaginationCorrection:
    """A tool taken for one without pages, whose answer hands out a cursor: the argument that can take it.

    `parameters` are the JSON Schemas of the tool's arguments by name. One argument must qualify by its name and type,
    and only one; what the caller sends in it gives way to the cursor from the second page on.
    """
    is_offered = reading.kind is PaginationStyle.CURSOR and reading.has_more is True and reading.next is None
    if pagination.convention is not PaginationStyle.SINGLE or not is_offered:
        return PaginationCorrection(pagination)
    fitting = [name for name, schema in parameters.items() if _takes_cursor(name, schema)]
    if len(fitting) != 1:
        return PaginationCorrection(pagination)
    text = f"a cursor came, and '{fitting[0]}' is taken for the argument that it goes into"
    return PaginationCorrection(replace(pagination, convention=PaginationStyle.CURSOR, position=fitting[0]), text)


def _takes_cursor(name: str, schema: Json) -> bool:
    if not isinstance(schema, dict) or schema.get("enum") or schema.get("format"):
        return False
    kinds = schema.get("type", "string")
    is_text = kinds == "string" or (isinstance(kinds, list) and "string" in kinds)
    is_known = plain(name) in names.NEXT_CURSORS | names.WEAK_CURSORS
    return is_text and (is_known or says_cursor(name) or says_next(name))


def _by_url(pagination: Pagination, kind: PaginationStyle, reading: PageReading) -> Pagination:
    hidden = pagination.other_hidden
    if pagination.position and pagination.position not in hidden:
        hidden = (*hidden, pagination.position)
    path = reading.marker or pagination.next_path
    return replace(pagination, convention=kind, position=None, other_hidden=hidden, next_path=path)


def _addressed(pagination: Pagination, reading: PageReading) -> Pagination | None:
    """The same tool by another position of its own, where no cursor came although more follow, or a URL counts on."""
    is_unnamed = reading.next is None and _goes_on(reading)
    url = reading.next.url if reading.next else None
    for name in pagination.other_hidden:
        convention = _counting(name)
        if convention is None:
            continue
        first, hidden = int(convention is PaginationStyle.PAGE), (*pagination.other_hidden, pagination.position or "")
        others = tuple(one for one in hidden if one not in ("", name))
        other = replace(
            pagination, convention=convention, position=name, first=first, next_path=None, other_hidden=others
        )
        if url is not None and _counts_on(url, other):
            at = as_count(_said(url, other))
            step = 1 if convention is PaginationStyle.PAGE else len(reading.records)
            if at is not None and at - step in (0, 1):
                return replace(other, first=at - step)
        elif is_unnamed:
            return other
    return None


def _goes_on(reading: PageReading) -> bool:
    """Whether a page proves that there are more records than it holds."""
    is_counted = reading.certainty is not Certainty.UNKNOWN and (reading.total or 0) > len(reading.records)
    return reading.has_more is True or (is_counted and bool(reading.records))


def _counting(name: str) -> PaginationStyle | None:
    """What an argument counts, by its name alone."""
    own = leaf(name)
    if own in spelling.OFFSETS | spelling.SKIPS:
        return PaginationStyle.OFFSET
    return PaginationStyle.PAGE if own in spelling.PAGES else None


def _said(url: str, pagination: Pagination) -> str | None:
    """What a URL says for the position."""
    names_of = _spellings(pagination)
    return next((value for name, value in query_of(url).items() if plain(name) in names_of), None)


def _by_key(pagination: Pagination, reading: PageReading) -> PaginationCorrection:
    """More records and no cursor: the position takes the last record's key, if the records have one."""
    key = key_path(reading.records, pagination.position or "")
    if key is None:
        return PaginationCorrection(pagination)
    text = f"no cursor came: pages go on after the last record's '{key}'"
    return PaginationCorrection(replace(pagination, convention=PaginationStyle.KEYSET, key=key, next_path=None), text)


def _counts_on(url: str, pagination: Pagination) -> bool:
    """Whether a URL tells the position by the argument known for it: then any page can be asked for."""
    if pagination.position is None:
        return pagination.convention is PaginationStyle.RANGE
    return any(plain(name) in _spellings(pagination) for name in query_of(url))


def _spellings(pagination: Pagination) -> frozenset[str]:
    position = pagination.position or ""
    return frozenset({plain(position), plain(position.rpartition("/")[2])})


def _way(pagination: Pagination) -> str:
    return f"'{pagination.position}'" if pagination.position else f"the convention '{pagination.convention.value}'"
