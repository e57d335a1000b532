"""What a probe brings back.

Knows figures, a pagination that is confirmed or corrected, and a page worth keeping. Knows no way to get them.
"""

from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto

import orjson

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.pagination import Certainty, PageReading


class ProbeMethod(StrEnum):
    """Which rung of the ladder gave the figures."""

    METADATA = "metadata"
    COUNT_OPERATION = "count_operation"
    SMALLEST_PAGE = "smallest_page"
    HEAD = "head"
    FIRST_PAGE = "first_page"
    SINGLE = "single"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPage:
    """A page fetched on the way that serves as the first page of the call; it is never fetched twice."""

    address: PageAddress | None
    size: int | None
    result: CallResult
    reading: PageReading


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What the look taught.

    `pagination` is confirmed or corrected. `total` is None where nothing trustworthy was announced, with certainty
    UNKNOWN; zero means that there are none. `bytes_per_record` is measured on `sample` as compact JSON, and rough where
    the sample is one record. `is_silent`: a page as long as was asked for named no next one, and nothing else says that
    it was the last. `first` is None where the walk has to begin with a request of its own. `requests` counts
    retries and refused rungs.
    """

    pagination: Pagination
    records_path: str
    total: int | None
    certainty: Certainty
    rung: ProbeMethod
    tokens_estimation: int | None = None
    sample: tuple[Json, ...] = ()
    bytes_per_record: float | None = None
    first: FirstPage | None = None
    is_silent: bool = False
    requests: int = 1
    notes: tuple[str, ...] = ()


def bytes_per_record(sample: tuple[Json, ...]) -> float | None:
    """The mean size of the sample's records as compact JSON; None without any."""
    if not sample:
        return None
    try:
        return len(orjson.dumps(list(sample))) / len(sample)
    except TypeError:
        return len(repr(sample)) / len(sample)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPagination:
    """What is known of one tool.

    `declared` is the pagination that its document gave, for which the rest holds; `pagination` the confirmed or
    corrected one. `vain` are rungs that were refused or told nothing. `takes_totals` is False where the flags for
    totals were refused, `trials` counts those of arguments of unknown meaning, which found nothing.
    """

    declared: Pagination
    pagination: Pagination
    vain: frozenset[ProbeMethod] = frozenset()
    takes_totals: bool = True
    trials: int = 0


@dataclass
class ProbeMemory:
    """The memory of one program: `recalled` is a fresh start for a tool never probed, or changed since."""

    _known: dict[tuple[str, str], LearnedPagination] = field(default_factory=dict)

    def recalled(self, tool: ToolSpec) -> LearnedPagination:
        """What is known of a tool."""
        known = self._known.get((tool.source, tool.name))
        if known is None or known.declared != tool.pagination:
            return LearnedPagination(declared=tool.pagination, pagination=tool.pagination)
        return known

    def keep(self, tool: ToolSpec, learnt: LearnedPagination) -> None:
        """Remember."""
        self._known[tool.source, tool.name] = replace(learnt, declared=tool.pagination)


class FirstPosition(Enum):
    """What the first answer says of the first position: it fits, it is 1, or the other of 0 and 1 is worth a try."""

    AS_ASKED = auto()
    ONE = auto()
    PERHAPS_ZERO = auto()
    PERHAPS_ONE = auto()


def base_of(pagination: Pagination, reading: PageReading) -> FirstPosition:
    """Compare the first position that was asked for with what came."""
    is_told_as_one = pagination.first == 0 and reading.position == 1
    has_total = reading.certainty is Certainty.EXACT and bool(reading.total)
    if pagination.first == 0 and not reading.records and has_total and reading.has_more is None:
        return FirstPosition.PERHAPS_ONE
    if pagination.convention is PaginationStyle.OFFSET:
        return (
            FirstPosition.ONE
            if is_told_as_one and reading.records and reading.is_own_position
            else FirstPosition.AS_ASKED
        )
    if is_told_as_one:
        return FirstPosition.ONE
    is_doubtful = reading.has_previous or (not reading.records and reading.total != 0)
    return FirstPosition.PERHAPS_ZERO if pagination.first == 1 and is_doubtful else FirstPosition.AS_ASKED


_USUAL_CAPS = frozenset({10, 20, 25, 30, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000})


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAssessment:
    """`is_whole`: the page holds everything there is. `notes` are what a user should know of it."""

    pagination: Pagination
    total: int | None
    certainty: Certainty
    is_size_ignored: bool = False
    is_whole: bool = False
    notes: tuple[str, ...] = ()


def judged(pagination: Pagination, reading: PageReading, *, size: int | None) -> PageAssessment:
    """Judge a page of which `size` records were asked for (None: as many as the server likes)."""
    count = len(reading.records)
    verdict = announced(pagination, reading)
    if size is not None and count > size:
        verdict = _unheeded(verdict, size, count)
    if pagination.convention is PaginationStyle.SINGLE:
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


def _may_count_page(verdict: PageAssessment, reading: PageReading, size: int | None) -> bool:
    """Whether a total may be no more than the length of the page: as many as were asked for, and nothing else said."""
    is_full = size is not None and len(reading.records) == size and not verdict.is_size_ignored
    return is_full and reading.has_more is None and verdict.pagination.is_addressable


def announced(pagination: Pagination, reading: PageReading) -> PageAssessment:
    """The total as the page tells it, unless the page itself contradicts it."""
    if reading.certainty is Certainty.UNKNOWN:
        notes = _doubts(reading, len(reading.records))
        return PageAssessment(pagination=pagination, total=None, certainty=Certainty.UNKNOWN, notes=notes)
    return PageAssessment(pagination=pagination, total=reading.total, certainty=reading.certainty)


def _doubts(reading: PageReading, count: int) -> tuple[str, ...]:
    if reading.total is None:
        return ()
    if reading.total <= count:
        return (f"the announced total {reading.total} is contradicted by a page of {count} records",)
    return (f"the announced total {reading.total:,} is an estimate, and is not relied on",)


def _unheeded(verdict: PageAssessment, size: int, count: int) -> PageAssessment:
    pagination = verdict.pagination
    what = f"'{pagination.size}'" if pagination.size else "the range"
    text = f"a page of {size} was asked for and {count} records came: {what} is ignored"
    hidden = (*pagination.other_hidden, pagination.size) if pagination.size else pagination.other_hidden
    if pagination.convention is PaginationStyle.RANGE:
        pagination = replace(pagination, convention=PaginationStyle.SINGLE)
    corrected = replace(pagination, size=None, other_hidden=hidden)
    return replace(verdict, pagination=corrected, is_size_ignored=True, notes=(*verdict.notes, text))


def _lone(verdict: PageAssessment, reading: PageReading, size: int | None) -> PageAssessment:
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
