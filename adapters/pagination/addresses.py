"""Page addresses: the arguments, headers or URL by which one page is requested."""

from collections.abc import Mapping
from dataclasses import replace

from adapters.base import Json, JsonObject, PageAddress, Pagination, PaginationStyle

_SEQUENTIAL = frozenset(
    {PaginationStyle.CURSOR, PaginationStyle.NEXT_URL, PaginationStyle.LINK_HEADER, PaginationStyle.KEYSET}
)


def is_sequential(pagination: Pagination) -> bool:
    """Whether each page names the next one, so that pages are fetched one by one by `PageReading.next`."""
    return pagination.convention in _SEQUENTIAL


def may_repeat_address(pagination: Pagination) -> bool:
    """Whether two pages may have the same address: a scroll keeps its id from page to page.

    There a repeated page means that the server does not advance, and a repeated address does not.
    """
    return pagination.next_operation is not None


def page_address(pagination: Pagination, *, page_index: int, size: int | None) -> PageAddress:
    """The page `page_index` (from 0) of pages of `size` records. Raises ValueError for styles without addresses."""
    match pagination.convention:
        case PaginationStyle.PAGE:
            return _with_position(pagination, pagination.first + page_index, size)
        case PaginationStyle.OFFSET | PaginationStyle.RANGE if size is not None:
            return offset_address(pagination, offset=page_index * size, size=size)
        case PaginationStyle.OFFSET | PaginationStyle.RANGE:
            raise ValueError("pages by offset or range need a size; or use offset_address with the records received")
        case style:
            raise ValueError(f"pages of style '{style}' have no address; follow the next page of each response")


def offset_address(pagination: Pagination, *, offset: int, size: int | None) -> PageAddress:
    """The page that starts after `offset` records. Raises ValueError for styles other than OFFSET and RANGE."""
    if pagination.convention is PaginationStyle.RANGE:
        last = "" if size is None else str(offset + size - 1)
        unit = pagination.unit
        return PageAddress(headers={"Range-Unit": unit, "Range": f"{unit}={offset}-{last}"})
    if pagination.convention is not PaginationStyle.OFFSET:
        raise ValueError(f"pagination style '{pagination.convention}' has no offset")
    return _with_position(pagination, pagination.first + offset, size)


def first_address(pagination: Pagination, *, size: int | None, with_totals: bool = False) -> PageAddress:
    """The first page: by its position if pages have one, else by its size alone.

    `with_totals` adds the document's flags for totals, and for pages by range the preference for an exact count (RFC
    7240; servers that do not know it ignore it).
    """
    if pagination.convention is PaginationStyle.RANGE:
        place = PageAddress() if size is None else offset_address(pagination, offset=0, size=size)
        prefer = {"Prefer": "count=exact"} if with_totals and not pagination.total_flags else {}
        place = replace(place, headers={**place.headers, **prefer})
    else:
        place = _with_position(pagination, pagination.first if pagination.is_addressable else None, size)
    if not with_totals or not pagination.total_flags:
        return place
    return replace(place, arguments={**place.arguments, **dict(pagination.total_flags)})


def smallest_page_size(pagination: Pagination) -> int | None:
    """The smallest page size that is certainly legal, never 0; None if sizes cannot be chosen."""
    if pagination.convention is not PaginationStyle.RANGE and pagination.size is None:
        return None
    if pagination.sizes:
        return min((size for size in pagination.sizes if size > 0), default=None)
    return max(1, pagination.min_size or 1)


def metadata_address(pagination: Pagination) -> PageAddress:
    """The request for figures instead of records. Raises ValueError if the tool has no such flag."""
    if pagination.metadata is None:
        raise ValueError("the tool has no metadata flag")
    return PageAddress({pagination.metadata: pagination.metadata_value})


def with_declared_types(arguments: Mapping[str, Json], pagination: Pagination) -> JsonObject:
    """The arguments of a page in their declared types: digits if the document declares a number as a string."""
    return {
        name: str(value) if name in pagination.numeric_strings and isinstance(value, int) else value
        for name, value in arguments.items()
    }


def _with_position(pagination: Pagination, position: int | None, size: int | None) -> PageAddress:
    arguments: dict[str, Json] = {}
    if pagination.position is not None and position is not None:
        arguments[pagination.position] = position
    if pagination.size is not None and size is not None:
        arguments[pagination.size] = size
    if pagination.range_end is not None and pagination.range_size is not None and position is not None:
        arguments[pagination.range_end] = position + pagination.range_size - 1
    return PageAddress(arguments)
