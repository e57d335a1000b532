"""Coverage: what was announced is compared with what came."""

import pytest

from adapters.pagination import Certainty
from runax_cli.core.results import Coverage, ReasonCode
from runax_cli.executor.coverage import (
    TOLD_EACH,
    AnnouncedTotal,
    CoverageNotes,
    FetchSummary,
    TotalTracker,
    compare,
    coverage_of,
)


def judged(
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
        notes.missing(ReasonCode.PAGE_FAILED, "page 3 could not be read")
    announced = AnnouncedTotal(total=total, certainty=certainty if total is not None else Certainty.UNKNOWN)
    fetched = FetchSummary(
        records=records,
        pages_read=1,
        pages_failed=failed,
        reached_end=reached_end,
        announced=announced,
        at_most=at_most,
    )
    compare(fetched, notes, noun="tickets")
    return coverage_of(fetched, notes, read_by_model=records)


@pytest.mark.parametrize(
    ("coverage", "total", "total_is", "is_complete", "codes"),
    [
        (judged(261, 261), 261, "exact", True, []),
        (judged(261, None), 261, "exact", True, []),
        (judged(261, 200), 261, "exact", True, ["beyond_total"]),
        (judged(261, 300), 300, "exact", False, ["total_mismatch"]),
        (judged(261, 200, certainty=Certainty.AT_LEAST), 261, "exact", True, []),
        (judged(211, 261, failed=1, reached_end=False), 261, "exact", False, ["page_failed"]),
        (judged(211, None, failed=1, reached_end=False), 211, "at_least", False, ["page_failed"]),
        (judged(0, None, failed=1, reached_end=False), None, "unknown", False, ["page_failed"]),
        (judged(10, 261, at_most=10, reached_end=False), 261, "exact", True, ["first_n"]),
        (judged(10, None, at_most=10, reached_end=False), 10, "at_least", True, ["first_n"]),
        (judged(10, 10, at_most=10), 10, "exact", True, []),
        (judged(7, 7, at_most=10), 7, "exact", True, []),
        (judged(8, 261, at_most=10), 261, "exact", False, ["total_mismatch"]),
        (judged(0, 0), 0, "exact", True, []),
    ],
)
def test_what_is_said_of_a_walk(
    coverage: Coverage, total: int | None, total_is: str, is_complete: bool, codes: list[str]
) -> None:
    assert (coverage.records_total, coverage.total_is.value) == (total, total_is)
    assert coverage.is_complete is is_complete
    assert [reason.code.value for reason in coverage.reasons] == codes


@pytest.mark.parametrize(
    ("said", "last", "is_short", "codes"),
    [
        ([261, 261, None, 261], 261, False, []),
        ([261, 262, 262], 262, False, ["total_changed"]),
        ([261, 262, 261, 262], 262, False, ["total_changed"]),
        ([261, 260], 260, True, ["total_changed"]),
        ([None, 261, 261], 261, False, []),
    ],
)
def test_a_total_that_changes_is_told_and_one_that_sinks_is_doubted(
    said: list[int | None], last: int, is_short: bool, codes: list[str]
) -> None:
    notes = CoverageNotes()
    first = AnnouncedTotal(total=said[0], certainty=Certainty.EXACT if said[0] is not None else Certainty.UNKNOWN)
    totals = TotalTracker(first, notes)
    for page, total in enumerate(said, start=1):
        totals.saw(total, page=page, held=10)
    assert totals.announced.total == last
    assert notes.is_short is is_short
    assert [reason.code.value for reason in notes.reasons] == codes


def test_what_is_the_length_of_each_page_is_no_total() -> None:
    notes = CoverageNotes()
    totals = TotalTracker(AnnouncedTotal(total=1, certainty=Certainty.EXACT), notes)
    for page, length in enumerate((50, 37, 0), start=1):
        totals.saw(length, page=page, held=length)
    assert totals.announced.total is None
    assert not notes.is_short


def test_a_thousand_reasons_of_one_kind_are_told_in_a_dozen() -> None:
    notes = CoverageNotes()
    for number in range(1000):
        notes.missing(ReasonCode.PAGE_FAILED, f"page {number}")
    notes.note(ReasonCode.BEYOND_TOTAL, "more")
    assert len(notes.reasons) == TOLD_EACH + 2
    assert "988 more" in notes.reasons[-1].text
