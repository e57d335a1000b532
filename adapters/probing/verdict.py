"""What a page means for the whole: the total it proves, whether it is everything, whether the size was heeded.

Pure. Knows readings and paginations.
"""

from dataclasses import dataclass, replace

from adapters.base import Convention, Pagination
from adapters.pagination import Certainty, PageReading

_USUAL_CAPS = frozenset({10, 20, 25, 30, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`is_whole`: the page holds everything there is. `notes` are what a user should know of it."""

    pagination: Pagination
    total: int | None
    certainty: Certainty
    is_size_ignored: bool = False
    is_whole: bool = False
    notes: tuple[str, ...] = ()


def judged(pagination: Pagination, reading: PageReading, *, size: int | None) -> Verdict:
    """Judge a page of which `size` records were asked for (None: as many as the server likes)."""
    count = len(reading.records)
    verdict = announced(pagination, reading)
    if size is not None and count > size:
        verdict = _unheeded(verdict, size, count)
    if pagination.convention is Convention.SINGLE:
        verdict = _lone(verdict, reading, size)
    elif verdict.total is None and (count == 0 or (reading.has_more is False and not is_silent(reading, size))):
        verdict = replace(verdict, total=count, certainty=Certainty.EXACT)
    is_all = verdict.certainty is Certainty.EXACT and verdict.total == count
    return replace(verdict, is_whole=is_all and not _may_count_page(verdict, reading, size))


def is_silent(reading: PageReading, size: int | None) -> bool:
    """Whether a page is as long as was asked for and names no next one, by a marker that may not have been understood.

    A longer page shows it: where that has more records, the shorter one should have named the next.
    """
    return reading.is_silent and size is not None and len(reading.records) == size


def _may_count_page(verdict: Verdict, reading: PageReading, size: int | None) -> bool:
    """Whether a total may be no more than the length of the page: as many as were asked for, and nothing else said."""
    is_full = size is not None and len(reading.records) == size and not verdict.is_size_ignored
    return is_full and reading.has_more is None and verdict.pagination.is_addressable


def announced(pagination: Pagination, reading: PageReading) -> Verdict:
    """The total as the page tells it, unless the page itself contradicts it."""
    if reading.certainty is Certainty.UNKNOWN:
        notes = _doubts(reading, len(reading.records))
        return Verdict(pagination=pagination, total=None, certainty=Certainty.UNKNOWN, notes=notes)
    return Verdict(pagination=pagination, total=reading.total, certainty=reading.certainty)


def _doubts(reading: PageReading, count: int) -> tuple[str, ...]:
    if reading.total is None:
        return ()
    if reading.total <= count:
        return (f"the announced total {reading.total} is contradicted by a page of {count} records",)
    return (f"the announced total {reading.total:,} is an estimate, and is not relied on",)


def _unheeded(verdict: Verdict, size: int, count: int) -> Verdict:
    pagination = verdict.pagination
    what = f"'{pagination.size}'" if pagination.size else "the range"
    text = f"a page of {size} was asked for and {count} records came: {what} is ignored"
    hidden = (*pagination.other_hidden, pagination.size) if pagination.size else pagination.other_hidden
    if pagination.convention is Convention.RANGE:
        pagination = replace(pagination, convention=Convention.SINGLE)
    corrected = replace(pagination, size=None, other_hidden=hidden)
    return replace(verdict, pagination=corrected, is_size_ignored=True, notes=(*verdict.notes, text))


def _lone(verdict: Verdict, reading: PageReading, size: int | None) -> Verdict:
    """A limit without a position: a page as long as the limit, or as a usual cap, may have been cut there."""
    count = len(reading.records)
    if verdict.certainty is Certainty.EXACT and verdict.total is not None:
        if verdict.total <= count:
            return verdict
        text = f"{count} of {verdict.total} records came, and the tool has no way to ask for the others"
        return replace(verdict, notes=(*verdict.notes, text))
    is_full = size is None or count >= size or count == verdict.pagination.default_size or count in _USUAL_CAPS
    if reading.has_more or (count and is_full and reading.has_more is not False):
        text = f"the tool has no way to ask for more than these {count} records; there may be others"
        return replace(verdict, total=count, certainty=Certainty.AT_LEAST, notes=(*verdict.notes, text))
    return replace(verdict, total=count, certainty=Certainty.EXACT)
