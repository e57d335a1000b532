"""Where a page is: the arguments that ask for it.

Knows conventions and arithmetic. Knows no response.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from adapters.base import Convention, Json, JsonObject, PageAddress, Pagination


def address(pagination: Pagination, *, page_index: int, size: int | None) -> PageAddress:
    """The page `page_index` (from 0) of a walk in steps of `size`. Raises ValueError where pages have no address."""
    match pagination.convention:
        case Convention.OFFSET:
            if size is None:
                raise ValueError("pages by offset need a size; use offset_address with the records received so far")
            return offset_address(pagination, offset=page_index * size, size=size)
        case Convention.PAGE:
            return _with_position(pagination, pagination.first + page_index, size)
        case Convention.RANGE:
            if size is None:
                raise ValueError("pages by range need a size")
            return offset_address(pagination, offset=page_index * size, size=size)
        case Convention.SINGLE | Convention.CURSOR | Convention.NEXT_URL | Convention.LINK_HEADER | Convention.KEYSET:
            raise ValueError(f"pages of convention '{pagination.convention}' have no address; follow what they name")
        case _:
            assert_never(pagination.convention)


def offset_address(pagination: Pagination, *, offset: int, size: int | None) -> PageAddress:
    """The page that begins after `offset` records. Raises ValueError for other conventions than OFFSET and RANGE."""
    if pagination.convention is Convention.RANGE:
        last = "" if size is None else str(offset + size - 1)
        unit = pagination.unit
        return PageAddress(headers={"Range-Unit": unit, "Range": f"{unit}={offset}-{last}"})
    if pagination.convention is not Convention.OFFSET:
        raise ValueError(f"convention '{pagination.convention}' has no offset")
    return _with_position(pagination, pagination.first + offset, size)


def first_address(pagination: Pagination, *, size: int | None, with_totals: bool = False) -> PageAddress:
    """The first page: by its position where pages have one, else by its size alone.

    `with_totals` adds what makes the page tell the total: the flags the document has for it, and for pages by range
    the preference that asks for an exact count (RFC 7240; a server that does not know it ignores it).
    """
    if pagination.convention is Convention.RANGE:
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
    if pagination.convention is not Convention.RANGE and pagination.size is None:
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
