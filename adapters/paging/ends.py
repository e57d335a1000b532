"""Pages that are asked for by their first and their last record: `startIndex` and `endIndex`, `from` and `to`.

Knows names and words. Knows no address. Two numbers of such names are more often a range of values, so that bare names
need words that speak of records. Nobody knows whether the last one is meant to come, or the one before it.
"""

from collections.abc import Iterable

from adapters.paging import spelling, wording
from adapters.paging.parameters import Parameter, dated

USUAL_SPAN = 50
_LOW = frozenset("start starting from first begin beginning".split())
_HIGH = frozenset("end ending to last until stop max".split())
_BARE = {
    (frozenset({low}), frozenset({high}))
    for low, high in (("from", "to"), ("start", "end"), ("start", "stop"), ("begin", "end"), ("first", "last"))
}
_ROWS = frozenset("index row rows record records item items result results position entry entries element".split())


def end_beside(position: Parameter, known: Iterable[Parameter]) -> Parameter | None:
    """The parameter of the same name but for the words that say begin and end."""
    own = frozenset(spelling.pieces(position.name))
    if not own & _LOW:
        return None
    for other in known:
        theirs = frozenset(spelling.pieces(other.name))
        is_pair = (own, theirs) in _BARE or bool(theirs & _HIGH and own - _LOW and theirs - _HIGH == own - _LOW)
        if is_pair and spelling.parent(other.name) == spelling.parent(position.name) and other.types - {"array"}:
            return other
    return None


def begins_page(position: Parameter, known: Iterable[Parameter]) -> bool:
    """Whether the pair is one of records, and not a range of dates, sizes or other values."""
    end = end_beside(position, known)
    if end is None or any(dated(one) or one.is_something_else for one in (position, end)):
        return False
    is_named = bool(frozenset(spelling.pieces(position.name)) & _ROWS)
    is_said = any(position.says(pattern) for pattern in (wording.SAYS_OFFSET, wording.SAYS_PAGED))
    return end.is_number and (is_named or is_said or end.says(wording.ENDS_PAGE))


def span_of(position: Parameter, end: Parameter) -> int:
    """How many records to ask for: as many as come unasked, or a usual number."""
    first, last = position.number("default"), end.number("default")
    unasked = last - first + 1 if first is not None and last is not None else 0
    return max(unasked, USUAL_SPAN)
