"""The result of a probe, and the assessment of the page that it is based on."""

from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum, auto

import orjson

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.pagination import Certainty, PageReading


class ProbeMethod(StrEnum):
    """The method by which a probe found the total."""

    METADATA = "metadata"
    COUNT_OPERATION = "count_operation"
    SMALLEST_PAGE = "smallest_page"
    HEAD = "head"
    FIRST_PAGE = "first_page"
    SINGLE = "single"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPage:
    """A page of the probe that serves as the first page of the call; it is not fetched again."""

    address: PageAddress | None
    size: int | None
    result: CallResult
    reading: PageReading


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What a probe found.

    `pagination` is confirmed or corrected. `total` is None, with certainty UNKNOWN, if nothing reliable was announced;
    zero means that there are no records. `bytes_per_record` is measured on `sample` as compact JSON, and rough for a
    sample of one. `is_end_unconfirmed`: a full page named no next one, and nothing else says that it was the last.
    `first` is None if the call has to request the first page itself. `requests` includes retries and refused methods.
    """

    pagination: Pagination
    records_path: str
    total: int | None
    certainty: Certainty
    method: ProbeMethod
    tokens_estimation: int | None = None
    sample: tuple[Json, ...] = ()
    bytes_per_record: float | None = None
    first: FirstPage | None = None
    is_end_unconfirmed: bool = False
    requests: int = 1
    notes: tuple[str, ...] = ()


def bytes_per_record(sample: tuple[Json, ...]) -> float | None:
    """The mean size of the records as compact JSON; None for an empty sample."""
    if not sample:
        return None
    try:
        return len(orjson.dumps(list(sample))) / len(sample)
    except TypeError:
        return len(repr(sample)) / len(sample)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPagination:
    """What is known about one tool.

    `declared` is the pagination of its document, for which the rest holds; `pagination` the confirmed or corrected one.
    `failed_methods` were refused or gave no total. `accepts_total_flags` is False if the flags for totals were refused.
    `failed_trials` counts trials of unknown arguments that found nothing.
    """

    declared: Pagination
    pagination: Pagination
    failed_methods: frozenset[ProbeMethod] = frozenset()
    accepts_total_flags: bool = True
    failed_trials: int = 0


@dataclass
class ProbeMemory:
    """What the probes of one program learned, by tool."""

    _known: dict[tuple[str, str], LearnedPagination] = field(default_factory=dict)

    def get(self, tool: ToolSpec) -> LearnedPagination:
        """What is known about a tool; nothing if it was never probed or its declared pagination changed."""
        known = self._known.get((tool.source, tool.name))
        if known is None or known.declared != tool.pagination:
            return LearnedPagination(declared=tool.pagination, pagination=tool.pagination)
        return known

    def remember(self, tool: ToolSpec, learned: LearnedPagination) -> None:
        """Store what is known about a tool."""
        self._known[tool.source, tool.name] = replace(learned, declared=tool.pagination)


class FirstPosition(Enum):
    """What the first response says about the first position: it fits, it is 1, or 0 or 1 is worth a request."""

    AS_REQUESTED = auto()
    ONE = auto()
    PERHAPS_ZERO = auto()
    PERHAPS_ONE = auto()


def observed_first_position(pagination: Pagination, reading: PageReading) -> FirstPosition:
    """Compare the first position that was requested with the response."""
    is_reported_as_one = pagination.first == 0 and reading.position == 1
    has_total = reading.certainty is Certainty.EXACT and bool(reading.total)
    if pagination.first == 0 and not reading.records and has_total and reading.has_more is None:
        return FirstPosition.PERHAPS_ONE
    if pagination.convention is PaginationStyle.OFFSET:
        return (
            FirstPosition.ONE
            if is_reported_as_one and reading.records and reading.is_own_position
            else FirstPosition.AS_REQUESTED
        )
    if is_reported_as_one:
        return FirstPosition.ONE
    is_doubtful = reading.has_previous or (not reading.records and reading.total != 0)
    return FirstPosition.PERHAPS_ZERO if pagination.first == 1 and is_doubtful else FirstPosition.AS_REQUESTED


_USUAL_CAPS = frozenset({10, 20, 25, 30, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000})


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAssessment:
    """`is_whole`: the page holds all records. `notes` are for the user."""

    pagination: Pagination
    total: int | None
    certainty: Certainty
    is_size_ignored: bool = False
    is_whole: bool = False
    notes: tuple[str, ...] = ()


def assess_page(pagination: Pagination, reading: PageReading, *, size: int | None) -> PageAssessment:
    """Assess a page for which `size` records were requested (None: the default size of the server)."""
    count = len(reading.records)
    assessment = announced_total(pagination, reading)
    if size is not None and count > size:
        assessment = _with_size_ignored(assessment, size, count)
    if pagination.convention is PaginationStyle.SINGLE:
        assessment = _without_position(assessment, reading, size)
    elif assessment.total is None and (
        count == 0 or (reading.has_more is False and not is_end_unconfirmed(reading, size))
    ):
        assessment = replace(assessment, total=count, certainty=Certainty.EXACT)
    is_all = assessment.certainty is Certainty.EXACT and assessment.total == count
    return replace(assessment, is_whole=is_all and not _may_count_page(assessment, reading, size))


def is_end_unconfirmed(reading: PageReading, size: int | None) -> bool:
    """Whether a full page names no next one, in a style whose pages do: the pointer may not have been recognized.

    A longer page shows it: if that has more records, the shorter one should have named the next.
    """
    return reading.is_end_unconfirmed and size is not None and len(reading.records) == size


def _may_count_page(assessment: PageAssessment, reading: PageReading, size: int | None) -> bool:
    """Whether a total may be the length of the page: it equals the requested size, and nothing else was said."""
    is_full = size is not None and len(reading.records) == size and not assessment.is_size_ignored
    return is_full and reading.has_more is None and assessment.pagination.is_addressable


def announced_total(pagination: Pagination, reading: PageReading) -> PageAssessment:
    """The total of the page, unless the page itself contradicts it."""
    if reading.certainty is Certainty.UNKNOWN:
        notes = _doubt_notes(reading, len(reading.records))
        return PageAssessment(pagination=pagination, total=None, certainty=Certainty.UNKNOWN, notes=notes)
    return PageAssessment(pagination=pagination, total=reading.total, certainty=reading.certainty)


def _doubt_notes(reading: PageReading, count: int) -> tuple[str, ...]:
    if reading.total is None:
        return ()
    if reading.total <= count:
        return (f"the announced total {reading.total} is contradicted by a page of {_n_records(count)}",)
    return (f"the announced total {reading.total:,} is an estimate and not used",)


def _n_records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"


def _with_size_ignored(assessment: PageAssessment, size: int, count: int) -> PageAssessment:
    pagination = assessment.pagination
    what = f"'{pagination.size}'" if pagination.size else "the range"
    text = f"a page of {size} was requested and {_n_records(count)} returned: the server ignores {what}"
    hidden = (*pagination.other_hidden, pagination.size) if pagination.size else pagination.other_hidden
    if pagination.convention is PaginationStyle.RANGE:
        pagination = replace(pagination, convention=PaginationStyle.SINGLE)
    corrected = replace(pagination, size=None, other_hidden=hidden)
    return replace(assessment, pagination=corrected, is_size_ignored=True, notes=(*assessment.notes, text))


def _without_position(assessment: PageAssessment, reading: PageReading, size: int | None) -> PageAssessment:
    """A limit without a position: a page as long as the limit or a usual cap may be truncated."""
    count = len(reading.records)
    if assessment.certainty is Certainty.EXACT and assessment.total is not None:
        if assessment.total <= count:
            return assessment
        text = (
            f"only {count} of {assessment.total} records returned, and the tool has no parameter to request the others"
        )
        return replace(assessment, notes=(*assessment.notes, text))
    is_full = size is None or count >= size or count == assessment.pagination.default_size or count in _USUAL_CAPS
    if reading.has_more or (count and is_full and reading.has_more is not False):
        text = f"the tool has no parameter to request more than {_n_records(count)}; there may be more"
        return replace(assessment, total=count, certainty=Certainty.AT_LEAST, notes=(*assessment.notes, text))
    return replace(assessment, total=count, certainty=Certainty.EXACT)
