"""Coverage: the announced total is compared with what was read."""

import pytest

from adapters.pagination import Certainty
from runax_cli.core.results import Coverage, ReasonCode
from runax_cli.executor.coverage import (
    MAX_REASONS_PER_CODE,
    AnnouncedTotal,
    CoverageNotes,
    FetchSummary,
    TotalTracker,
    fetch_coverage,
    note_discrepancies,
)


def coverage_after(
    records: int,
    total: int | None,
    *,
    reached_end: bool = True,
    certainty: Certainty = Certainty.EXACT,
    at_most: int | None = None,
    failed: int = 0,
) -> Coverage:
    notes = CoverageNotes()
    if failed:
        notes.note_missing(ReasonCode.PAGE_FAILED, "page 3 could not be read")
    announced = AnnouncedTotal(total=total, certainty=certainty if total is not None else Certainty.UNKNOWN)
    summary = FetchSummary(
        records=records,
        pages_read=1,
        pages_failed=failed,
        reached_end=reached_end,
        announced=announced,
        at_most=at_most,
    )
    note_discrepancies(summary, notes, noun="tickets")
    return fetch_coverage(summary, notes, read_by_model=records)


@pytest.mark.parametrize(
    ("coverage", "total", "total_is", "is_complete", "codes"),
    [
        (coverage_after(261, 261), 261, "exact", True, []),
        (coverage_after(261, None), 261, "exact", True, []),
        (coverage_after(261, 200), 261, "exact", True, ["beyond_total"]),
        (coverage_after(261, 300), 300, "exact", False, ["total_mismatch"]),
        (coverage_after(261, 200, certainty=Certainty.AT_LEAST), 261, "exact", True, []),
        (coverage_after(211, 261, failed=1, reached_end=False), 261, "exact", False, ["page_failed"]),
        (coverage_after(211, None, failed=1, reached_end=False), 211, "at_least", False, ["page_failed"]),
        (coverage_after(0, None, failed=1, reached_end=False), None, "unknown", False, ["page_failed"]),
        (coverage_after(10, 261, at_most=10, reached_end=False), 261, "exact", True, ["first_n"]),
        (coverage_after(10, None, at_most=10, reached_end=False), 10, "at_least", True, ["first_n"]),
        (coverage_after(10, 10, at_most=10), 10, "exact", True, []),
        (coverage_after(7, 7, at_most=10), 7, "exact", True, []),
        (coverage_after(8, 261, at_most=10), 261, "exact", False, ["total_mismatch"]),
        (coverage_after(0, 0), 0, "exact", True, []),
    ],
)
def test_coverage_of_a_fetch(
    coverage: Coverage, total: int | None, total_is: str, is_complete: bool, codes: list[str]
) -> None:
    assert (coverage.records_total, coverage.total_is.value) == (total, total_is)
    assert coverage.is_complete is is_complete
    assert [reason.code.value for reason in coverage.reasons] == codes


@pytest.mark.parametrize(
    ("page_totals", "last", "is_incomplete", "codes"),
    [
        ([261, 261, None, 261], 261, False, []),
        ([261, 262, 262], 262, False, ["total_changed"]),
        ([261, 262, 261, 262], 262, False, ["total_changed"]),
        ([261, 260], 260, True, ["total_changed"]),
        ([None, 261, 261], 261, False, []),
    ],
)
def test_a_changed_total_is_noted_and_a_lower_one_is_incomplete(
    page_totals: list[int | None], last: int, is_incomplete: bool, codes: list[str]
) -> None:
    notes = CoverageNotes()
    first = AnnouncedTotal(
        total=page_totals[0], certainty=Certainty.EXACT if page_totals[0] is not None else Certainty.UNKNOWN
    )
    totals = TotalTracker(first, notes)
    for page, total in enumerate(page_totals, start=1):
        totals.update(total, page=page, received=10)
    assert totals.announced.total == last
    assert notes.is_incomplete is is_incomplete
    assert [reason.code.value for reason in notes.reasons] == codes


def test_the_page_length_is_not_a_total() -> None:
    notes = CoverageNotes()
    totals = TotalTracker(AnnouncedTotal(total=1, certainty=Certainty.EXACT), notes)
    for page, length in enumerate((50, 37, 0), start=1):
        totals.update(length, page=page, received=length)
    assert totals.announced.total is None
    assert not notes.is_incomplete


def test_many_reasons_with_one_code_are_summarized() -> None:
    notes = CoverageNotes()
    for number in range(1000):
        notes.note_missing(ReasonCode.PAGE_FAILED, f"page {number}")
    notes.note(ReasonCode.BEYOND_TOTAL, "more")
    assert len(notes.reasons) == MAX_REASONS_PER_CODE + 2
    assert "988 more" in notes.reasons[-1].text
