"""The edge of what positions reach: services give the first 1,000 or 10,000 records and refuse what lies behind.

Knows errors and round numbers. Knows no walk.
"""

from adapters.errors import HttpStatusError, InvalidRequest, SourceError, ToolFailed

_REFUSALS = frozenset({400, 403, 413, 414, 422, 501})
_USUAL = frozenset(digit * 10**power for digit in (1, 2, 5) for power in (3, 4, 5, 6))
_STEP = 1000
_USUAL_AT_ONCE = frozenset({50, 100, 200, 250, 500})
"""Where servers cut a list that they give at once. Fewer records than these are too often all that there is."""
SILENT_WINDOW = 10_000
"""Where most search services end; some of them answer what lies behind with an empty page."""


def is_refusal(error: SourceError) -> bool:
    """Whether a source objects to what it was asked, so that asking again is vain."""
    if isinstance(error, HttpStatusError):
        return error.status in _REFUSALS
    return isinstance(error, InvalidRequest | ToolFailed)


def said_in(error: SourceError) -> str:
    """What a source says of its refusal."""
    return error.body if isinstance(error, HttpStatusError) else str(error)


def is_at_edge(records: int) -> bool:
    """Whether so many records may be all that a source gives rather than all that it has."""
    return records in _USUAL


def is_round(records: int) -> bool:
    """Whether so many records, come at once, may be as many as a server gives: worth a word, and no proof."""
    return records in _USUAL_AT_ONCE or is_at_edge(records)


def reach(start: int, size: int) -> int | None:
    """The round number amid a page of `size` records from `start` on, up to which a source may give records."""
    edge = (start + size) // _STEP * _STEP
    return edge if start < edge < start + size else None
