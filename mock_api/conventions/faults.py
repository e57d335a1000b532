"""Pagination faults: which ones a convention can have, and how each changes the returned range and the next position.

Pure arithmetic over positions.
"""

from dataclasses import dataclass

from mock_api.conventions.collection import Collection, ConventionName, PagingFault
from mock_api.conventions.spec import Addressing, NextMarker
from mock_api.conventions.table import CONVENTIONS


def has_total(style: ConventionName) -> bool:
    """Whether the convention reports a total in any form."""
    spec = CONVENTIONS[style]
    response = (spec.total, spec.total_header, spec.remaining, spec.count_path)
    return any(response) or spec.addressing is Addressing.RANGE or spec.marker is NextMarker.LINK_HEADER


_GENERAL = frozenset(
    {
        PagingFault.PAGING_IGNORED,
        PagingFault.SIZE_IGNORED,
        PagingFault.CLAMPED_SILENTLY,
        PagingFault.SHORT_PAGES,
        PagingFault.OVERLAPPING_PAGES,
        PagingFault.WINDOW_END,
    }
)
_OF_MARKERS = frozenset(
    {
        PagingFault.ENDLESS_CURSOR,
        PagingFault.EMPTY_FOR_EVER,
        PagingFault.SAME_MARKER,
        PagingFault.ABA_CYCLE,
        PagingFault.TOKEN_ON_LAST_PAGE,
    }
)
_OF_TOTALS = frozenset(
    {PagingFault.ESTIMATED_TOTAL, PagingFault.TOTAL_TOO_HIGH, PagingFault.TOTAL_TOO_LOW, PagingFault.SILENT_WINDOW_END}
)


def faults_of(style: ConventionName) -> frozenset[PagingFault]:
    """The faults that a collection of this convention can have."""
    spec = CONVENTIONS[style]
    if spec.addressing is Addressing.NONE:
        return frozenset()
    faults = _GENERAL if spec.size else _GENERAL - {PagingFault.SIZE_IGNORED}
    if spec.marker is not NextMarker.NONE and spec.next_route is None:
        faults |= _OF_MARKERS
    if spec.marker not in (NextMarker.NONE, NextMarker.TOKEN):
        faults |= {PagingFault.FOREIGN_NEXT, PagingFault.DROPPED_ARGUMENTS}
    if spec.marker is NextMarker.LINK_HEADER:
        faults |= {PagingFault.RESULTS_FALSE_LINK}
    if spec.addressing in (Addressing.OFFSET, Addressing.PAGE):
        faults |= {PagingFault.LAST_PAGE_AGAIN}
    if spec.addressing is Addressing.PAGE and spec.first == 1 and spec.marker is NextMarker.NONE:
        faults |= {PagingFault.PAGE_ZERO_OR_ONE}
    return faults | _OF_TOTALS if spec.total or spec.total_header or spec.count_path else faults


@dataclass(frozen=True, slots=True)
class PageRange:
    """Positions of a page's records, from `start` up to `stop`; `next_start` is where the next marker points."""

    start: int
    stop: int
    next_start: int | None


def page_range(collection: Collection, requested: int, size: int, n_records: int) -> PageRange:
    """The page at position `requested`, of `size`, among `n_records`; the collection's fault applies."""
    start = _start(collection, requested, size, n_records)
    stop = min(start + _length(collection, start, size, n_records), n_records)
    stop = max(start, stop)
    return PageRange(start, stop, _following(collection, requested, size, stop, n_records))


def _start(collection: Collection, requested: int, size: int, n_records: int) -> int:
    match collection.fault:
        case PagingFault.PAGING_IGNORED:
            return 0
        case PagingFault.ENDLESS_CURSOR if n_records:
            return requested % n_records
        case PagingFault.LAST_PAGE_AGAIN if n_records and requested >= n_records:
            return (n_records - 1) // size * size
        case PagingFault.OVERLAPPING_PAGES if size > 1:
            # An inclusive key overlaps by one record; other positions advance one record less than the page size.
            return requested - min(requested, 1 if _is_keyset(collection.convention) else requested // size)
        case _:
            return requested


def _is_keyset(style: ConventionName) -> bool:
    keyed = (Addressing.KEY, Addressing.KEY_DESCENDING, Addressing.SORT_VALUES)
    return CONVENTIONS[style].addressing in keyed


def _length(collection: Collection, start: int, size: int, n_records: int) -> int:
    if collection.fault is PagingFault.SHORT_PAGES and start + size < n_records:
        return max(1, size - 1 - start % 3)
    return size


def _following(collection: Collection, requested: int, size: int, stop: int, n_records: int) -> int | None:
    is_paged = CONVENTIONS[collection.convention].addressing is Addressing.PAGE
    is_shifted = collection.fault is PagingFault.OVERLAPPING_PAGES and not _is_keyset(collection.convention)
    onward = requested + size if is_paged or is_shifted else stop
    match collection.fault:
        case PagingFault.ENDLESS_CURSOR | PagingFault.EMPTY_FOR_EVER:
            return requested + size
        case PagingFault.SAME_MARKER:
            return max(requested, size)
        case PagingFault.ABA_CYCLE:
            return requested - size if requested >= 2 * size else requested + size
        case PagingFault.TOKEN_ON_LAST_PAGE:
            return onward if requested < n_records else None
        case PagingFault.PAGING_IGNORED:
            return size if size < n_records else None
        case _:
            # Only an empty page ends a scroll.
            is_scroll = CONVENTIONS[collection.convention].next_route is not None
            return onward if stop < n_records or is_scroll else None


def reported_total(collection: Collection, n_records: int) -> int:
    """The total that the server reports."""
    match collection.fault:
        case PagingFault.TOTAL_TOO_HIGH:
            return n_records + 7
        case PagingFault.TOTAL_TOO_LOW:
            return max(0, n_records - max(1, n_records // 3))
        case PagingFault.ESTIMATED_TOTAL:
            # Search engines count up to a limit; others round up.
            return (
                n_records * 9 // 10 if CONVENTIONS[collection.convention].total_relation else (n_records // 10 + 1) * 10
            )
        case _:
            return n_records
