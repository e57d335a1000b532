"""Coverage of one call: what was noticed on the way, and whether all of the data was read.

Knows counts and reasons. A total that was announced is advice and is compared, never trusted. Knows no page's content.
"""

from collections import Counter
from dataclasses import dataclass, field

from adapters.pagination import Certainty
from runax_cli.core.results import Coverage, Reason, ReasonCode, TotalIs

TOLD_EACH = 12
"""So many reasons of one code are told one by one; the rest of them in one sentence."""


_DOUBTS = (ReasonCode.RECORDS_REPEATED, ReasonCode.PAGE_SHORT)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncedTotal:
    """The total as the API named it."""

    total: int | None = None
    certainty: Certainty = Certainty.UNKNOWN


@dataclass
class CoverageNotes:
    """Reasons in the order they were noticed. `is_short` once something is known to be missing or unread."""

    is_short: bool = False
    _reasons: list[Reason] = field(default_factory=list)
    _counts: Counter[ReasonCode] = field(default_factory=Counter)

    def note(self, code: ReasonCode, text: str) -> None:
        """Something worth telling that takes nothing from completeness."""
        self._counts[code] += 1
        if self._counts[code] <= TOLD_EACH:
            self._reasons.append(Reason(code=code, text=text))

    def missing(self, code: ReasonCode, text: str) -> None:
        """Something because of which the data was not read completely."""
        self.is_short = True
        self.note(code, text)

    def has(self, code: ReasonCode) -> bool:
        """Whether a reason of that code was noticed."""
        return self._counts[code] > 0

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """All that is told, with a count of what is not told one by one."""
        more = [
            Reason(code=code, text=f"{count - TOLD_EACH} more of the kind '{code.value}'")
            for code, count in self._counts.items()
            if count > TOLD_EACH
        ]
        return (*self._reasons, *more)


class TotalTracker:
    """The total as it is announced over the pages of a call. The latest counts, and a change is told.

    A total that sinks below all that were announced before means that records went away while they were read: those
    behind them moved up, perhaps past the page that was next. What is the length of every page, each time, is no total.
    """

    def __init__(self, announced: AnnouncedTotal, notes: CoverageNotes) -> None:
        self.announced = announced
        self._notes = notes
        is_known = announced.total is not None and announced.certainty is Certainty.EXACT
        self._lowest = announced.total if is_known else None
        self._are_lengths = True

    def saw(self, total: int | None, *, page: int, held: int) -> None:
        """Page `page` (from 1) of `held` records announces `total` for sure, or nothing."""
        self._are_lengths = self._are_lengths and total == held
        if self._are_lengths and page > 1:
            self.announced = AnnouncedTotal()
            return
        before = self.announced.total
        if total is None or total == before:
            return
        self.announced = AnnouncedTotal(total=total, certainty=Certainty.EXACT)
        if self._lowest is not None and total < self._lowest:
            text = f"the announced total sank to {total:,} at page {page}: records may have moved past what was read"
            self._notes.missing(ReasonCode.TOTAL_CHANGED, text)
        elif before is not None and not self._notes.has(ReasonCode.TOTAL_CHANGED):
            text = f"the announced total was {before:,}, and page {page} says {total:,}"
            self._notes.note(ReasonCode.TOTAL_CHANGED, text)
        self._lowest = total if self._lowest is None else min(self._lowest, total)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSummary:
    """What fetching came to. `reached_end`: the API itself showed where the data ends."""

    records: int
    pages_read: int
    pages_failed: int
    reached_end: bool
    announced: AnnouncedTotal
    at_most: int | None = None


def compare(fetched: FetchSummary, notes: CoverageNotes, *, noun: str) -> None:
    """Compare what was read with what was announced, and note what does not fit."""
    total = fetched.announced.total
    is_counted = total is not None and fetched.records <= total and not is_first_n(fetched)
    if not is_counted and (doubt := next((code for code in _DOUBTS if notes.has(code)), None)):
        text = f"a page was not as it should be, and no count of {noun} tells whether others were passed over for that"
        notes.missing(doubt, text)
    is_enough = fetched.at_most is not None and fetched.records >= fetched.at_most
    if not fetched.reached_end and not notes.is_short and not is_enough:
        notes.missing(ReasonCode.PAGINATION_UNKNOWN, f"reading ended before the end of the {noun} was seen")
    if is_first_n(fetched):
        of = "a total that is not known" if total is None else f"{total:,}"
        notes.note(ReasonCode.FIRST_N, f"the first {fetched.records:,} {noun} of {of} were asked for and read")
        return
    if total is None:
        return
    if fetched.records > total and fetched.announced.certainty is not Certainty.AT_LEAST:
        notes.note(
            ReasonCode.BEYOND_TOTAL,
            f"the API announced {total:,} {noun}; {fetched.records:,} were read up to the end of the data",
        )
    wanted = total if fetched.at_most is None else min(total, fetched.at_most)
    if fetched.records < wanted and not notes.is_short:
        of = f"{total:,} {noun}" if wanted == total else f"{total:,} {noun}, of which {wanted:,} were asked for"
        text = f"the API announced {of}; only {fetched.records:,} different ones came before the data ended"
        notes.missing(ReasonCode.TOTAL_MISMATCH, text)


def is_first_n(fetched: FetchSummary) -> bool:
    """Whether the records that suffice are in, and there are or may be more."""
    if fetched.at_most is None or fetched.records < fetched.at_most:
        return False
    total = fetched.announced.total
    return (total is None and not fetched.reached_end) or (total is not None and total > fetched.records)


def total_of(fetched: FetchSummary, notes: CoverageNotes) -> tuple[int | None, TotalIs]:
    """The number of records there are, as far as it is known after reading."""
    total, read = fetched.announced.total, fetched.records
    has_end = fetched.reached_end and not notes.is_short
    if is_first_n(fetched) or not has_end:
        if total is not None and total >= read:
            return total, _trust(fetched.announced.certainty)
        return (read, TotalIs.AT_LEAST) if read else (None, TotalIs.UNKNOWN)
    return read, TotalIs.EXACT


def coverage_of(fetched: FetchSummary, notes: CoverageNotes, *, read_by_model: int) -> Coverage:
    """The coverage of the call."""
    total, total_is = total_of(fetched, notes)
    return Coverage(
        records_read=fetched.records,
        records_total=total,
        total_is=total_is,
        selected=fetched.records,
        read_by_model=read_by_model,
        pages_read=fetched.pages_read,
        pages_failed=fetched.pages_failed,
        is_complete=not notes.is_short,
        reasons=notes.reasons,
    )


def _trust(certainty: Certainty) -> TotalIs:
    return TotalIs(certainty.value)
