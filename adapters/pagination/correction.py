"""Corrections of a pagination by what the responses show: another style, position, cursor or key."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from adapters.base import Json, Pagination, PaginationStyle
from adapters.pagination.detect.parameters import leaf
from adapters.pagination.read.envelope import as_count
from adapters.pagination.read.links import query_params
from adapters.pagination.read.next_page import key_path
from adapters.pagination.read.page import PageReading
from adapters.pagination.read.totals import Certainty
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.members import is_cursor_name, is_next_name, plain

_BY_URL = frozenset({PaginationStyle.NEXT_URL, PaginationStyle.LINK_HEADER})


@dataclass(frozen=True, slots=True)
class PaginationCorrection:
    """A corrected pagination, and a note about the change for the user (None if there is nothing to report)."""

    pagination: Pagination
    note: str | None = None


def by_pointer(pagination: Pagination, reading: PageReading) -> Pagination | None:
    """How to page by the next page that `reading` names, if the server ignores positions; None if it names none.

    Used if a page by offset, number or range repeats the one before. A cursor without an argument for it cannot be
    used.
    """
    if reading.next is None or reading.next.url is None or reading.kind not in _BY_URL:
        return None
    return _by_url(pagination, reading.kind, reading)


def correct_pagination(pagination: Pagination, reading: PageReading) -> PaginationCorrection:
    """The pagination as the first response shows it. The response takes precedence over the document.

    - The URL of the next page is followed if pages have no address, or if the URL does not contain the position.
    - A cursor replaces the key of the last record.
    - If there are more records and no cursor, another position or else the key of the last record is used.

    A tool without known pagination is corrected without a note.
    """
    was = pagination.convention
    url = reading.next.url if reading.next else None
    if was is PaginationStyle.CURSOR and (other := _by_other_position(pagination, reading)) is not None:
        text = f"no cursor in the response for '{pagination.position}': paging by '{other.position}' instead"
        return PaginationCorrection(other, text)
    if (
        url is not None
        and reading.kind in _BY_URL
        and not (pagination.is_addressable and _has_position(url, pagination))
    ):
        own = f"'{pagination.position}'" if pagination.position else f"the pagination style '{was.value}'"
        text = f"the response has the URL of the next page: followed instead of {own}"
        is_same = was in (PaginationStyle.SINGLE, reading.kind)
        return PaginationCorrection(_by_url(pagination, reading.kind, reading), None if is_same else text)
    if was is PaginationStyle.KEYSET and reading.kind is PaginationStyle.CURSOR:
        text = f"the response has a cursor for '{pagination.position}', which was taken for the key of a record"
        return PaginationCorrection(
            replace(pagination, convention=PaginationStyle.CURSOR, next_path=reading.pointer_path), text
        )
    if was is PaginationStyle.CURSOR and reading.next is None and reading.has_more is True:
        return _by_key(pagination, reading)
    if was is PaginationStyle.KEYSET and pagination.key is None:
        return PaginationCorrection(replace(pagination, key=key_path(reading.records, pagination.position or "")))
    if reading.pointer_path is not None and pagination.next_path is None:
        text = f"the next page is read from '{reading.pointer_path}', by its name or form"
        return PaginationCorrection(replace(pagination, next_path=reading.pointer_path), text)
    return PaginationCorrection(pagination)


def adopt_cursor(pagination: Pagination, reading: PageReading, parameters: Mapping[str, Json]) -> PaginationCorrection:
    """The argument that takes the cursor which a tool without known pagination returned.

    `parameters` are the JSON Schemas of the arguments by name. Exactly one must qualify by its name and type; what the
    caller sends in it is replaced by the cursor from the second page on.
    """
    is_offered = reading.kind is PaginationStyle.CURSOR and reading.has_more is True and reading.next is None
    if pagination.convention is not PaginationStyle.SINGLE or not is_offered:
        return PaginationCorrection(pagination)
    names_of_cursor = [name for name, schema in parameters.items() if _takes_cursor(name, schema)]
    if len(names_of_cursor) != 1:
        return PaginationCorrection(pagination)
    text = f"the response has a cursor: sent in '{names_of_cursor[0]}'"
    return PaginationCorrection(
        replace(pagination, convention=PaginationStyle.CURSOR, position=names_of_cursor[0]), text
    )


def _takes_cursor(name: str, schema: Json) -> bool:
    if not isinstance(schema, dict) or schema.get("enum") or schema.get("format"):
        return False
    kinds = schema.get("type", "string")
    is_text = kinds == "string" or (isinstance(kinds, list) and "string" in kinds)
    is_known = plain(name) in vocabulary.NEXT_CURSORS | vocabulary.WEAK_CURSORS
    return is_text and (is_known or is_cursor_name(name) or is_next_name(name))


def _by_url(pagination: Pagination, kind: PaginationStyle, reading: PageReading) -> Pagination:
    hidden = pagination.other_hidden
    if pagination.position and pagination.position not in hidden:
        hidden = (*hidden, pagination.position)
    path = reading.pointer_path or pagination.next_path
    return replace(pagination, convention=kind, position=None, other_hidden=hidden, next_path=path)


def _by_other_position(pagination: Pagination, reading: PageReading) -> Pagination | None:
    """The same tool by another of its positions, if there is more and no cursor, or if the next URL contains it."""
    is_unnamed = reading.next is None and _has_more(reading)
    url = reading.next.url if reading.next else None
    for name in pagination.other_hidden:
        convention = _style_of_name(name)
        if convention is None:
            continue
        first, hidden = int(convention is PaginationStyle.PAGE), (*pagination.other_hidden, pagination.position or "")
        others = tuple(one for one in hidden if one not in ("", name))
        other = replace(
            pagination, convention=convention, position=name, first=first, next_path=None, other_hidden=others
        )
        if url is not None and _has_position(url, other):
            at = as_count(_position_in(url, other))
            step = 1 if convention is PaginationStyle.PAGE else len(reading.records)
            if at is not None and at - step in (0, 1):
                return replace(other, first=at - step)
        elif is_unnamed:
            return other
    return None


def _has_more(reading: PageReading) -> bool:
    """Whether a page proves that there are more records than it holds."""
    is_counted = reading.certainty is not Certainty.UNKNOWN and (reading.total or 0) > len(reading.records)
    return reading.has_more is True or (is_counted and bool(reading.records))


def _style_of_name(name: str) -> PaginationStyle | None:
    """What an argument counts, by its name alone."""
    own = leaf(name)
    if own in spelling.OFFSETS | spelling.SKIPS:
        return PaginationStyle.OFFSET
    return PaginationStyle.PAGE if own in spelling.PAGES else None


def _position_in(url: str, pagination: Pagination) -> str | None:
    """The value of the position in a URL."""
    names_of = _spellings(pagination)
    return next((value for name, value in query_params(url).items() if plain(name) in names_of), None)


def _by_key(pagination: Pagination, reading: PageReading) -> PaginationCorrection:
    """Page by the key of the last record, if there are more records, no cursor, and the records have a key."""
    key = key_path(reading.records, pagination.position or "")
    if key is None:
        return PaginationCorrection(pagination)
    text = f"no cursor in the response: paging by the '{key}' of the last record"
    return PaginationCorrection(replace(pagination, convention=PaginationStyle.KEYSET, key=key, next_path=None), text)


def _has_position(url: str, pagination: Pagination) -> bool:
    """Whether a URL contains the position, so that any page can be requested."""
    if pagination.position is None:
        return pagination.convention is PaginationStyle.RANGE
    return any(plain(name) in _spellings(pagination) for name in query_params(url))


def _spellings(pagination: Pagination) -> frozenset[str]:
    position = pagination.position or ""
    return frozenset({plain(position), plain(position.rpartition("/")[2])})
