"""How a walk goes on when pages are not where they were thought to be.

Knows conventions and what a page says of its successor. Decides nothing: the walker asks here what it could do.
"""

from dataclasses import replace

from adapters.base import Convention, Pagination
from adapters.paging.reading import PageReading

_MARKED = frozenset({Convention.CURSOR, Convention.NEXT_URL, Convention.LINK_HEADER, Convention.KEYSET})


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
    if reading.next is None or reading.next.url is None or reading.kind not in _MARKED:
        return None
    hidden = pagination.other_hidden + ((pagination.position,) if pagination.position else ())
    return replace(pagination, convention=reading.kind, position=None, other_hidden=hidden)
