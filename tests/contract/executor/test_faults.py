"""Calls to a faulty API: faults are repaired or reported, and never ignored."""

import asyncio
import json
import os
from functools import partial
from typing import Any

import pytest

from adapters.base import Json, PageAddress, Pagination, PaginationStyle
from runax_cli.core.budget import Amount, Limits
from runax_cli.core.errors import StoreError
from runax_cli.executor.outcome import FaultCode
from tests.fakes.paged_api import cut, empty, http_error, shifted, timed_out, with_duplicate

BY_PAGE = Pagination(
    convention=PaginationStyle.PAGE, position="page", size="limit", first=1, min_size=1, max_size=50, default_size=20
)
BY_CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit", max_size=50, default_size=20)
LIMIT_ALONE = Pagination(size="limit", max_size=50)
PAGES_OF_FIFTY = 12_000
ALL = [1000 + number for number in range(261)]


@pytest.fixture
def make(make: Any) -> Any:
    """A bench whose pages have 50 records, and whose chunks have about two pages."""
    return partial(make, effective=PAGES_OF_FIFTY)


@pytest.mark.parametrize("pagination", [None, BY_PAGE])
async def test_a_failed_page_is_reported_and_the_rest_is_read(make: Any, pagination: Any) -> None:
    bench = make(261, faults={100: [timed_out()]}, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert outcome.envelope.status == "partial"
    assert bench.ids(outcome) == [number for number in ALL if not 1100 <= number < 1150]
    coverage = outcome.coverage
    assert (coverage.records_read, coverage.records_total, coverage.pages_failed) == (211, 261, 1)
    assert coverage.read_by_model == 211
    assert not coverage.is_complete
    (reason,) = coverage.reasons
    assert reason.code == "page_failed"
    assert "page 3" in reason.text
    assert "no reply in 30 s" in outcome.envelope.next_action_hint
    (failed,) = bench.events("page.failed")
    assert failed.index == 3


async def test_a_failed_cursor_page_ends_the_fetch_with_a_reason(make: Any) -> None:
    bench = make(261, pagination=BY_CURSOR, faults={100: [timed_out()]})
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL[:100]
    assert outcome.envelope.status == "partial"
    assert outcome.coverage.records_total == 261
    assert "page_failed" in bench.codes(outcome)


async def test_a_failed_probe_is_an_error_and_not_an_empty_dataset(make: Any) -> None:
    def fails(_: PageAddress) -> Json:
        raise timed_out(retry_after_s=2.0)

    bench = make(261, answer=fails)
    outcome = await bench.call()
    sent = json.loads(outcome.envelope.to_model_text())
    assert sent["status"] == "error"
    assert sent["error"]["type"] == "timeout"
    assert sent["error"]["code"] == FaultCode.TRAPPED
    assert sent["error"]["retryable"] is True
    assert sent["error"]["retry_after_ms"] == 2000
    assert sent["error"]["instruction"] == "RE-EVALUATE_INTENT"
    assert outcome.dataset is None
    assert not outcome.coverage.is_complete
    assert outcome.coverage.records_total is None


async def test_a_failed_first_page_after_a_successful_probe_is_an_error(make: Any) -> None:
    outcome = await make(261, faults={0: [timed_out()]}).call()
    assert outcome.envelope.status == "error"
    assert not outcome.coverage.is_complete


@pytest.mark.parametrize("pagination", [None, BY_PAGE])
async def test_a_total_that_is_too_high_makes_the_call_incomplete(make: Any, pagination: Any) -> None:
    bench = make(261, announced=300, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert not outcome.coverage.is_complete
    assert "total_mismatch" in bench.codes(outcome)
    assert "300" in outcome.envelope.next_action_hint


async def test_an_absurdly_high_total_does_not_cause_endless_requests(make: Any) -> None:
    bench = make(261, announced=10**9)
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert len(bench.api.requests) < 40
    assert "total_mismatch" in bench.codes(outcome)


@pytest.mark.parametrize("pagination", [None, BY_PAGE, BY_CURSOR])
@pytest.mark.parametrize("announced", [60, 100, 200, 250])
async def test_records_beyond_a_total_that_is_too_low_are_read(make: Any, pagination: Any, announced: int) -> None:
    bench = make(261, announced=announced, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete
    assert (outcome.coverage.records_total, outcome.coverage.total_is.value) == (261, "exact")
    assert "beyond_total" in bench.codes(outcome)


@pytest.mark.parametrize("pagination", [None, BY_PAGE, BY_CURSOR])
async def test_a_total_of_zero_is_not_believed_if_there_are_records(make: Any, pagination: Any) -> None:
    bench = make(120, announced=0, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL[:120]
    assert outcome.envelope.status == "success"


async def test_a_metadata_total_of_zero_is_verified_by_a_page(make: Any) -> None:
    flagged = Pagination(
        convention=PaginationStyle.OFFSET, position="offset", size="limit", max_size=50, metadata="meta_only"
    )

    def metadata(address: PageAddress) -> Json:
        if not address.arguments.get("meta_only"):
            return None
        return {"data_path": "items", "total_items": 0, "tokens_estimation": 0}

    bench = make(60, pagination=flagged, answer=metadata)
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL[:60]


async def test_a_short_page_is_completed_by_requesting_its_gap(make: Any) -> None:
    bench = make(261, faults={100: [cut(7)]})
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete
    assert {"offset": 143, "limit": 7} in [{k: a[k] for k in ("offset", "limit")} for a in bench.api.requests]


async def test_a_short_numbered_page_is_requested_again(make: Any) -> None:
    bench = make(261, pagination=BY_PAGE, faults={100: [cut(7)]})
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete


async def test_a_page_that_stays_short_makes_the_call_incomplete(make: Any) -> None:
    bench = make(261, pagination=BY_PAGE, faults={100: [cut(7)] * 9})
    outcome = await bench.call()
    assert len(bench.ids(outcome)) == 254
    assert not outcome.coverage.is_complete
    assert "page_short" in bench.codes(outcome)


async def test_a_short_page_whose_gap_fails_keeps_its_records(make: Any) -> None:
    bench = make(261, faults={100: [cut(7)], 143: [timed_out()]})
    outcome = await bench.call()
    assert bench.ids(outcome) == [number for number in ALL if not 1143 <= number < 1150]
    assert not outcome.coverage.is_complete
    assert "page_short" in bench.codes(outcome)


async def test_a_short_offset_page_is_completed_without_a_total(make: Any) -> None:
    bench = make(500, says_total=False, faults={150: [cut(7)] * 9})
    outcome = await bench.call()
    assert bench.ids(outcome) == [1000 + number for number in range(500)]
    assert outcome.coverage.is_complete


async def test_a_short_numbered_page_is_reported_without_a_total(make: Any) -> None:
    bench = make(500, says_total=False, pagination=BY_PAGE, faults={150: [cut(7)] * 9})
    outcome = await bench.call()
    assert not outcome.coverage.is_complete
    assert "page_short" in bench.codes(outcome)
    assert max(bench.ids(outcome)) == 1499


@pytest.mark.parametrize("pagination", [None, BY_PAGE])
@pytest.mark.parametrize("start", [0, 250])
async def test_a_page_cut_once_is_completed_without_a_total(make: Any, pagination: Any, start: int) -> None:
    bench = make(290, says_total=False, faults={start: [cut(7)]}, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == [1000 + number for number in range(290)]
    assert outcome.coverage.is_complete


@pytest.mark.parametrize("convention", [PaginationStyle.OFFSET, PaginationStyle.PAGE])
@pytest.mark.parametrize("faults", [{}, {0: [cut(7)]}], ids=["whole", "first page cut"])
async def test_an_undeclared_page_cap_loses_nothing_without_a_total(
    make: Any, convention: PaginationStyle, faults: Any
) -> None:
    position = "offset" if convention is PaginationStyle.OFFSET else "page"
    pagination = Pagination(
        convention=convention, position=position, size="limit", min_size=1, first=int(position == "page")
    )
    bench = make(261, pagination=pagination, cap=30, says_total=False, effective=100_000, faults=dict(faults))
    outcome = await bench.call()
    assert any(int(request["limit"]) > 30 for request in bench.api.requests), "a size above the cap was requested"
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete


@pytest.mark.parametrize("pagination", [None, BY_PAGE, BY_CURSOR])
async def test_a_page_with_a_duplicate_record_is_requested_again(make: Any, pagination: Any) -> None:
    bench = make(
        261, says_total=False, faults={100: [with_duplicate]}, **({"pagination": pagination} if pagination else {})
    )
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete


async def test_a_total_that_drops_during_the_fetch_makes_the_call_incomplete(make: Any) -> None:
    bench = make(261, concurrency=1, announced=lambda start: 261 if start < 100 else 260)
    outcome = await bench.call()
    assert "total_changed" in bench.codes(outcome)
    assert not outcome.coverage.is_complete


async def test_an_empty_page_among_others_is_requested_again(make: Any) -> None:
    bench = make(261, faults={50: [empty]})
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete


async def test_a_short_first_page_is_completed(make: Any) -> None:
    for pagination in (None, BY_PAGE):
        bench = make(261, faults={0: [cut(7)]}, **({"pagination": pagination} if pagination else {}))
        outcome = await bench.call()
        assert bench.ids(outcome) == ALL
        assert outcome.coverage.is_complete


@pytest.mark.parametrize("pagination", [None, BY_PAGE])
async def test_a_duplicate_page_is_requested_again(make: Any, pagination: Any) -> None:
    bench = make(261, faults={100: [shifted(-1)]}, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete


async def test_a_page_that_stays_a_duplicate_is_reported_and_the_rest_is_read(make: Any) -> None:
    bench = make(261, faults={100: [shifted(-1)] * 9})
    outcome = await bench.call()
    assert bench.ids(outcome) == [number for number in ALL if not 1100 <= number < 1150]
    assert not outcome.coverage.is_complete
    assert "page_repeated" in bench.codes(outcome)


@pytest.mark.parametrize("says_total", [True, False])
async def test_an_ignored_position_stops_the_fetch(make: Any, says_total: bool) -> None:
    bench = make(1000, says_total=says_total, seek=lambda _position: 0)
    outcome = await bench.call()
    assert bench.ids(outcome) == [1000 + number for number in range(50)]
    assert len(bench.api.requests) < 16
    assert not outcome.coverage.is_complete
    assert bench.codes(outcome) & {"page_repeated", "no_progress"}


async def test_a_cursor_cycle_stops_the_fetch(make: Any) -> None:
    bench = make(261, pagination=BY_CURSOR, seek=lambda position: position % 100)
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL[:100]
    assert not outcome.coverage.is_complete
    assert bench.codes(outcome) & {"page_repeated", "no_progress"}


async def test_a_server_with_a_page_cap_is_read_in_pages_of_its_cap(make: Any) -> None:
    for pagination in (None, BY_PAGE):
        bench = make(261, cap=30, **({"pagination": pagination} if pagination else {}))
        outcome = await bench.call()
        assert bench.ids(outcome) == ALL
        assert outcome.coverage.is_complete


async def test_duplicate_records_are_reported(make: Any) -> None:
    bench = make(261, faults={100: [with_duplicate] * 9})
    outcome = await bench.call()
    assert "records_repeated" in bench.codes(outcome)
    assert not outcome.coverage.is_complete, "a duplicate replaces a missing record"


async def test_a_limit_without_a_position_is_reported_as_incomplete(make: Any) -> None:
    bench = make(261, pagination=LIMIT_ALONE, says_total=False)
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL[:50]
    assert not outcome.coverage.is_complete
    assert "pagination_unknown" in bench.codes(outcome)


async def test_a_refused_page_beyond_the_end_is_the_end(make: Any) -> None:
    bench = make(100, says_total=False, faults={100: [http_error(404)] * 3})
    outcome = await bench.call()
    assert outcome.coverage.is_complete
    assert outcome.coverage.pages_failed == 0


async def test_an_exhausted_request_budget_keeps_the_data(make: Any) -> None:
    bench = make(261, limits=Limits(requests=6), concurrency=1)
    outcome = await bench.call()
    assert outcome.envelope.status == "partial"
    assert 50 <= outcome.coverage.records_read < 261
    assert "budget" in bench.codes(outcome)
    assert bench.budget.spent.requests <= 6
    assert bench.budget.reserved == Amount()
    assert outcome.dataset is not None
    assert outcome.dataset.is_sealed


async def test_unused_reservations_are_released(make: Any) -> None:
    bench = make(261, faults={100: [timed_out()]})
    outcome = await bench.call()
    assert bench.budget.reserved == Amount()
    assert bench.budget.spent.requests == outcome.report.requests == len(bench.api.requests) + 2, "a failure took three"


async def test_a_call_without_any_budget_sends_nothing(make: Any) -> None:
    bench = make(261, limits=Limits(requests=0))
    outcome = await bench.call()
    assert outcome.envelope.status == "budget_exhausted"
    assert bench.api.requests == []
    assert not outcome.coverage.is_complete


async def test_cancellation_keeps_the_stored_pages(make: Any) -> None:
    bench = make(261, gate=asyncio.Event())
    task = asyncio.create_task(bench.call())
    await bench.api.at_gate.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (folder,) = bench.folder.iterdir()
    assert len((folder / "manifest.jsonl").read_bytes().splitlines()) == 1
    assert len((folder / "pages.ndjson").read_bytes().splitlines()) == 50
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not others, "no task outlives the call"
    assert bench.budget.reserved == Amount()


async def test_a_full_disk_is_reported(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from runax_cli.executor.store.spool import Spool

    inner = Spool.write

    def full(self: Any, index: int, lines: Any, *, position: str) -> Any:
        if index >= 2:
            raise StoreError("page cannot be written: No space left on device", path="x")
        return inner(self, index, lines, position=position)

    monkeypatch.setattr(Spool, "write", full)
    bench = make(261, concurrency=1)
    outcome = await bench.call()
    assert outcome.envelope.status == "partial"
    assert bench.ids(outcome) == ALL[:100]
    assert "store_error" in bench.codes(outcome)


@pytest.mark.parametrize("direct_limit", [500, 10**6], ids=["too much", "little enough"])
@pytest.mark.parametrize("happens", ["cut off", "damaged", "gone"])
async def test_unreadable_records_are_reported_and_the_others_are_read(
    make: Any, monkeypatch: pytest.MonkeyPatch, happens: str, direct_limit: int
) -> None:
    from runax_cli.executor.store.spool import Spool

    inner = Spool.write

    def written(self: Any, index: int, lines: Any, *, position: str) -> Any:
        entry = inner(self, index, lines, position=position)
        if index == 5 and happens == "cut off":
            os.truncate(self.path, entry.offset + entry.n_bytes // 2)
        elif index == 5 and happens == "damaged":
            with self.path.open("r+b") as file:
                file.truncate(entry.offset)
                file.seek(entry.offset)
                file.write(b"\x00" * entry.n_bytes)
        elif index == 5:
            self.path.unlink()
        return entry

    monkeypatch.setattr(Spool, "write", written)
    bench = make(261)
    outcome = await bench.call(direct_limit=direct_limit)
    assert outcome.envelope.status == "partial"
    assert "store_error" in bench.codes(outcome)
    assert outcome.dataset is not None
    assert outcome.coverage.records_read == 261
    read = outcome.coverage.read_by_model
    assert read == 250 if happens != "gone" else read <= 250


async def test_a_deleted_spool_is_reported_when_it_is_read(make: Any) -> None:
    bench = make(261)
    outcome = await bench.call()
    assert outcome.dataset is not None
    outcome.dataset.spool.path.unlink()
    with pytest.raises(StoreError, match=r"page 1 cannot be read from '.*': No such file or directory\. Ask the "):
        list(outcome.dataset.records())


async def test_a_missing_dataset_folder_is_an_envelope_and_not_an_exception(make: Any) -> None:
    bench = make(261)
    bench.folder.parent.mkdir(exist_ok=True)
    bench.folder.write_text("in the way")
    outcome = await bench.call()
    assert outcome.envelope.status == "error"
    assert not outcome.coverage.is_complete


async def test_a_failed_sealing_is_reported_and_keeps_the_answer(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from runax_cli.executor import executor as call

    def fails(dataset: Any) -> Any:
        raise StoreError("no space left", path="x")

    monkeypatch.setattr(call, "seal", fails)
    bench = make(60)
    outcome = await bench.call()
    assert outcome.envelope.status == "success"
    assert "store_error" in bench.codes(outcome)
    assert outcome.dataset is not None
    assert not outcome.dataset.is_sealed


async def test_a_broken_journal_is_reported_once_and_stops_nothing(make: Any) -> None:
    bench = make(261)
    bench.journal.close()
    outcome = await bench.call()
    assert outcome.envelope.status == "success"
    assert [event.code for event in bench.events("warned")] == ["journal"]


async def test_a_total_that_changes_during_the_fetch_is_reported(make: Any) -> None:
    bench = make(261, concurrency=1, announced=lambda start: 261 + (1 if start >= 100 else 0))
    outcome = await bench.call()
    assert "total_changed" in bench.codes(outcome)
