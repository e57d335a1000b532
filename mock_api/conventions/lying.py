"""Lies: which a style can tell, and what each does to the reach of a page and to the way on.

Pure arithmetic over positions. Knows no wording and no HTTP.
"""

from dataclasses import dataclass

from mock_api.conventions.spelling import Addressing, Marker
from mock_api.conventions.style import Collection, Lie, Style
from mock_api.conventions.table import SPELLINGS


def has_total(style: Style) -> bool:
    """Whether the convention tells a total in some way."""
    spelling = SPELLINGS[style]
    told = (spelling.total, spelling.total_header, spelling.remaining, spelling.count_path)
    return any(told) or spelling.addressing is Addressing.RANGE or spelling.marker is Marker.LINK_HEADER


_ANY = frozenset(
    {Lie.PAGING_IGNORED, Lie.SIZE_IGNORED, Lie.CLAMPED_SILENTLY, Lie.SHORT_PAGES, Lie.OVERLAPPING_PAGES, Lie.WINDOW_END}
)
_MARKED = frozenset({Lie.ENDLESS_CURSOR, Lie.EMPTY_FOR_EVER, Lie.SAME_MARKER, Lie.ABA_CYCLE, Lie.TOKEN_ON_LAST_PAGE})
_TOTALS = frozenset({Lie.ESTIMATED_TOTAL, Lie.TOTAL_TOO_HIGH, Lie.TOTAL_TOO_LOW, Lie.SILENT_WINDOW_END})


def lies_of(style: Style) -> frozenset[Lie]:
    """The lies that a collection of this style can tell."""
    spelling = SPELLINGS[style]
    if spelling.addressing is Addressing.NONE:
        return frozenset()
    lies = _ANY if spelling.size else _ANY - {Lie.SIZE_IGNORED}
    if spelling.marker is not Marker.NONE and spelling.next_route is None:
        lies |= _MARKED
    if spelling.marker not in (Marker.NONE, Marker.TOKEN):
        lies |= {Lie.FOREIGN_NEXT, Lie.DROPPED_ARGUMENTS}
    if spelling.marker is Marker.LINK_HEADER:
        lies |= {Lie.RESULTS_FALSE_LINK}
    if spelling.addressing in (Addressing.OFFSET, Addressing.PAGE):
        lies |= {Lie.LAST_PAGE_AGAIN}
    if spelling.addressing is Addressing.PAGE and spelling.first == 1 and spelling.marker is Marker.NONE:
        lies |= {Lie.PAGE_ZERO_OR_ONE}
    return lies | _TOTALS if spelling.total or spelling.total_header or spelling.count_path else lies


@dataclass(frozen=True, slots=True)
class Reach:
    """Positions of a page's records, from `start` up to `stop`; `following` is where the marker leads, if anywhere."""

    start: int
    stop: int
    following: int | None


def reach(collection: Collection, asked: int, size: int, n_records: int) -> Reach:
    """The page at `asked`, of `size`, among `n_records`: honest, or as the collection lies."""
    start = _start(collection, asked, size, n_records)
    stop = min(start + _length(collection, start, size, n_records), n_records)
    stop = max(start, stop)
    return Reach(start, stop, _following(collection, asked, size, stop, n_records))


def _start(collection: Collection, asked: int, size: int, n_records: int) -> int:
    match collection.lie:
        case Lie.PAGING_IGNORED:
            return 0
        case Lie.ENDLESS_CURSOR if n_records:
            return asked % n_records
        case Lie.LAST_PAGE_AGAIN if n_records and asked >= n_records:
            return (n_records - 1) // size * size
        case Lie.OVERLAPPING_PAGES if size > 1:
            # A key is inclusive: the overlap is one record. Elsewhere pages are one record less apart than they say.
            return asked - min(asked, 1 if _is_keyed(collection.style) else asked // size)
        case _:
            return asked


def _is_keyed(style: Style) -> bool:
    keyed = (Addressing.KEY, Addressing.KEY_DESCENDING, Addressing.SORT_VALUES)
    return SPELLINGS[style].addressing in keyed


def _length(collection: Collection, start: int, size: int, n_records: int) -> int:
    if collection.lie is Lie.SHORT_PAGES and start + size < n_records:
        return max(1, size - 1 - start % 3)
    return size


def _following(collection: Collection, asked: int, size: int, stop: int, n_records: int) -> int | None:
    is_paged = SPELLINGS[collection.style].addressing is Addressing.PAGE
    is_shifted = collection.lie is Lie.OVERLAPPING_PAGES and not _is_keyed(collection.style)
    onward = asked + size if is_paged or is_shifted else stop
    match collection.lie:
        case Lie.ENDLESS_CURSOR | Lie.EMPTY_FOR_EVER:
            return asked + size
        case Lie.SAME_MARKER:
            return max(asked, size)
        case Lie.ABA_CYCLE:
            return asked - size if asked >= 2 * size else asked + size
        case Lie.TOKEN_ON_LAST_PAGE:
            return onward if asked < n_records else None
        case Lie.PAGING_IGNORED:
            return size if size < n_records else None
        case _:
            # A scroll is told to be at its end by an empty page only.
            is_scroll = SPELLINGS[collection.style].next_route is not None
            return onward if stop < n_records or is_scroll else None


def told_total(collection: Collection, n_records: int) -> int:
    """The total that the server tells."""
    match collection.lie:
        case Lie.TOTAL_TOO_HIGH:
            return n_records + 7
        case Lie.TOTAL_TOO_LOW:
            return max(0, n_records - max(1, n_records // 3))
        case Lie.ESTIMATED_TOTAL:
            # Search engines count up to a bound, others round up.
            return n_records * 9 // 10 if SPELLINGS[collection.style].total_relation else (n_records // 10 + 1) * 10
        case _:
            return n_records
