"""Coverage of one call: which problems occurred, and whether all of the data was read.

A total that an API announces is compared with what was read and never trusted by itself.
"""

from collections import Counter
from dataclasses import dataclass, field

from adapters.pagination import Certainty
from runax_cli.core.results import Coverage, Reason, ReasonCode, TotalIs

MAX_REASONS_PER_CODE = 12
"""Further reasons with the same code are summarized in one sentence."""

_DOUBTFUL_PAGES = (ReasonCode.RECORDS_REPEATED, ReasonCode.PAGE_SHORT)
"""Reasons that make a call incomplete when no total confirms that nothing is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedTotal:
    """The total number of records according to the API."""

    total: int | None = None
    certainty: Certainty = Certainty.UNKNOWN


@dataclass
class CoverageNotes:
    """Collects the reasons of a call in the order of their occurrence.

    `is_incomplete` is set as soon as data is known to be missing or unread.
    """

    is_incomplete: bool = False
    _reasons: list[Reason] = field(default_factory=list)
    _counts: Counter[ReasonCode] = field(default_factory=Counter)

    def note(self, code: ReasonCode, text: str) -> None:
        """Add a reason that does not affect completeness."""
        self._counts[code] += 1
        if self._counts[code] <= MAX_REASONS_PER_CODE:
            self._reasons.append(Reason(code=code, text=text))

    def note_missing(self, code: ReasonCode, text: str) -> None:
        """Add a reason why the data was not read completely."""
        self.is_incomplete = True
        self.note(code, text)

    def has(self, code: ReasonCode) -> bool:
        """Return whether a reason with this code was added."""
        return self._counts[code] > 0

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons, followed by a count of those left out for each code."""
        more = [
            Reason(code=code, text=f"{count - MAX_REASONS_PER_CODE} more of the kind '{code.value}'")
            for code, count in self._counts.items()
            if count > MAX_REASONS_PER_CODE
        ]
        return (*self._reasons, *more)


class TotalTracker:
    """Follows the announced total over the pages of a call; the latest total counts, and changes are noted.

    A total below all earlier ones means that records were deleted during the fetch: later records moved up, perhaps
    past the position that was read next. A "total" that equals the length of every page is not a total.
    """

    def __init__(self, announced: AnnouncedTotal, notes: CoverageNotes) -> None:
        self.announced = announced
        self._notes = notes
        is_known = announced.total is not None and announced.certainty is Certainty.EXACT
        self._lowest = announced.total if is_known else None
        self._are_page_lengths = True

    def update(self, total: int | None, *, page: int, received: int) -> None:
        """Take the certain total of page number `page` (from 1), which held `received` records; None if it has none."""
        self._are_page_lengths = self._are_page_lengths and total == received
        if self._are_page_lengths and page > 1:
            self.announced = AnnouncedTotal()
            return
        before = self.announced.total
        if total is None or total == before:
            return
        self.announced = AnnouncedTotal(total=total, certainty=Certainty.EXACT)
        if self._lowest is not None and total < self._lowest:
            text = f"the announced total dropped to {total:,} at page {page}: records may have been skipped"
            self._notes.note_missing(ReasonCode.TOTAL_CHANGED, text)
        elif before is not None and not self._notes.has(ReasonCode.TOTAL_CHANGED):
            text = f"the announced total changed from {before:,} to {total:,} at page {page}"
            self._notes.note(ReasonCode.TOTAL_CHANGED, text)
        self._lowest = total if self._lowest is None else min(self._lowest, total)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSummary:
    """The result of a fetch. `reached_end`: the API itself showed where the data ends. `at_most`: requested records."""

    records: int
    pages_read: int
    pages_failed: int
    reached_end: bool
    announced: AnnouncedTotal
    at_most: int | None = None

    @property
    def is_first_n(self) -> bool:
        """Whether the requested number of records was read and there are, or may be, more."""
        if self.at_most is None or self.records < self.at_most:
            return False
        total = self.announced.total
        return (total is None and not self.reached_end) or (total is not None and total > self.records)


def note_discrepancies(summary: FetchSummary, notes: CoverageNotes, *, noun: str) -> None:
    """Compare the records that were read with the announced total and the end of the data; note what differs."""
    total, records = summary.announced.total, summary.records
    is_confirmed = total is not None and records <= total and not summary.is_first_n
    if not is_confirmed and (code := next((code for code in _DOUBTFUL_PAGES if notes.has(code)), None)):
        text = f"a page was short or had duplicates and no total of {noun} is available, so records may be missing"
        notes.note_missing(code, text)
    has_enough = summary.at_most is not None and records >= summary.at_most
    if not summary.reached_end and not notes.is_incomplete and not has_enough:
        notes.note_missing(ReasonCode.PAGINATION_UNKNOWN, f"stopped before reaching the last page of {noun}")
    if summary.is_first_n:
        read = f"only the requested number of {noun} was read: {records:,}"
        notes.note(ReasonCode.FIRST_N, f"{read} of {'an unknown total' if total is None else f'{total:,}'}")
    elif total is not None:
        _compare_with_total(summary, total, notes, noun=noun)


def _compare_with_total(summary: FetchSummary, total: int, notes: CoverageNotes, *, noun: str) -> None:
    records = summary.records
    if records > total and summary.announced.certainty is not Certainty.AT_LEAST:
        text = f"the API announced {total:,} {noun}; {records:,} were read up to the end of the data"
        notes.note(ReasonCode.BEYOND_TOTAL, text)
    wanted = total if summary.at_most is None else min(total, summary.at_most)
    if records < wanted and not notes.is_incomplete:
        of = f"{total:,} {noun}" if wanted == total else f"{total:,} {noun}, of which {wanted:,} were requested"
        text = f"the API announced {of}; only {records:,} distinct ones were returned before the data ended"
        notes.note_missing(ReasonCode.TOTAL_MISMATCH, text)


def known_total(summary: FetchSummary, notes: CoverageNotes) -> tuple[int | None, TotalIs]:
    """Return how many records the source has, as far as the fetch shows it."""
    total, read = summary.announced.total, summary.records
    has_end = summary.reached_end and not notes.is_incomplete
    if summary.is_first_n or not has_end:
        if total is not None and total >= read:
            return total, TotalIs(summary.announced.certainty.value)
        return (read, TotalIs.AT_LEAST) if read else (None, TotalIs.UNKNOWN)
    return read, TotalIs.EXACT


def fetch_coverage(summary: FetchSummary, notes: CoverageNotes, *, read_by_model: int) -> Coverage:
    """Return the coverage of a call from its fetch; `read_by_model` is how many records a model read."""
    total, total_is = known_total(summary, notes)
    return Coverage(
        records_read=summary.records,
        records_total=total,
        total_is=total_is,
        selected=summary.records,
        read_by_model=read_by_model,
        pages_read=summary.pages_read,
        pages_failed=summary.pages_failed,
        is_complete=not notes.is_incomplete,
        reasons=notes.reasons,
    )
