"""Calls over an API that does not behave: what is amiss is mended, or named; never passed over in silence."""

import asyncio
import json
import os
from functools import partial
from typing import Any

import pytest

from adapters.base import Pagination, PaginationStyle
from adapters.errors import HttpStatusError, TimedOut
from runax_cli.core.budget import Amount, Limits
from runax_cli.core.errors import StoreError
from runax_cli.executor.outcome import FaultCode

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


def failure(*, is_retryable: bool = True, retry_after_s: float | None = None) -> TimedOut:
    return TimedOut(
        "no reply in 30 s",
        source="crm",
        location="GET /tickets",
        is_retryable=is_retryable,
        retry_after_s=retry_after_s,
        requests=3,
    )


def cut(n: int) -> Any:
    return lambda api, start, size: api.records[start : start + size][:-n]


def nothing(api: Any, start: int, size: int) -> list[Any]:
    return []


def page_before(api: Any, start: int, size: int) -> list[Any]:
    return api.records[start - size : start]


@pytest.mark.parametrize("pagination", [None, BY_PAGE])
async def test_a_dropped_page_is_named_and_the_rest_is_read(make: Any, pagination: Any) -> None:
    bench = make(261, faults={100: [failure()]}, **({"pagination": pagination} if pagination else {}))
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


async def test_a_dropped_page_of_a_cursor_ends_the_walk_and_says_so(make: Any) -> None:
    bench = make(261, pagination=BY_CURSOR, faults={100: [failure()]})
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL[:100]
    assert outcome.envelope.status == "partial"
    assert outcome.coverage.records_total == 261
    assert "page_failed" in bench.codes(outcome)


async def test_a_failed_probe_is_an_error_and_never_an_empty_dataset(make: Any) -> None:
    bench = make(261)

    async def fails(*_: Any, **__: Any) -> Any:
        raise failure(retry_after_s=2.0)

    bench.api.call = fails
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


async def test_a_first_page_that_fails_after_a_good_probe_is_an_error_too(make: Any) -> None:
    outcome = await make(261, faults={0: [failure()]}).call()
    assert outcome.envelope.status == "error"
    assert not outcome.coverage.is_complete


@pytest.mark.parametrize("pagination", [None, BY_PAGE])
async def test_a_total_that_is_too_high_ends_as_incomplete(make: Any, pagination: Any) -> None:
    bench = make(261, announced=300, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert not outcome.coverage.is_complete
    assert "total_mismatch" in bench.codes(outcome)
    assert "300" in outcome.envelope.next_action_hint


async def test_a_total_that_is_absurdly_high_does_not_lead_to_endless_asking(make: Any) -> None:
    bench = make(261, announced=10**9)
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert len(bench.api.asked) < 40
    assert "total_mismatch" in bench.codes(outcome)


@pytest.mark.parametrize("pagination", [None, BY_PAGE, BY_CURSOR])
@pytest.mark.parametrize("announced", [60, 100, 200, 250])
async def test_a_total_that_is_too_low_is_read_beyond(make: Any, pagination: Any, announced: int) -> None:
    bench = make(261, announced=announced, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete
    assert (outcome.coverage.records_total, outcome.coverage.total_is.value) == (261, "exact")
    assert "beyond_total" in bench.codes(outcome)


@pytest.mark.parametrize("pagination", [None, BY_PAGE, BY_CURSOR])
async def test_a_total_of_zero_is_not_believed_where_there_are_records(make: Any, pagination: Any) -> None:
    bench = make(120, announced=0, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL[:120]
    assert outcome.envelope.status == "success"


async def test_a_metadata_answer_of_zero_is_checked_by_a_page(make: Any) -> None:
    flagged = Pagination(
        convention=PaginationStyle.OFFSET, position="offset", size="limit", max_size=50, metadata="meta_only"
    )
    bench = make(60, pagination=flagged)
    inner = bench.api.call

    async def lies(tool: str, arguments: Any, page: Any = None, /, **more: Any) -> Any:
        from adapters.base import CallResult

        if page is not None and page.arguments.get("meta_only"):
            figures = {"data_path": "items", "total_items": 0, "tokens_estimation": 0}
            return CallResult(payload=figures, location="GET /tickets")
        return await inner(tool, arguments, page, **more)

    bench.api.call = lies
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL[:60]


async def test_a_page_that_comes_short_once_is_filled_by_its_gap(make: Any) -> None:
    bench = make(261, faults={100: [cut(7)]})
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete
    assert {"offset": 143, "limit": 7} in [{k: a[k] for k in ("offset", "limit")} for a in bench.api.asked]


async def test_a_page_by_number_that_comes_short_once_is_asked_for_again(make: Any) -> None:
    bench = make(261, pagination=BY_PAGE, faults={100: [cut(7)]})
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete


async def test_a_page_that_stays_short_is_told_and_incomplete(make: Any) -> None:
    bench = make(261, pagination=BY_PAGE, faults={100: [cut(7)] * 9})
    outcome = await bench.call()
    assert len(bench.ids(outcome)) == 254
    assert not outcome.coverage.is_complete
    assert "page_short" in bench.codes(outcome)


async def test_a_short_page_whose_gap_cannot_be_had_keeps_its_records(make: Any) -> None:
    bench = make(261, faults={100: [cut(7)], 143: [failure()]})
    outcome = await bench.call()
    assert bench.ids(outcome) == [number for number in ALL if not 1143 <= number < 1150]
    assert not outcome.coverage.is_complete
    assert "page_short" in bench.codes(outcome)


async def test_a_short_page_by_offset_is_filled_although_no_total_was_announced(make: Any) -> None:
    bench = make(500, says_total=False, faults={150: [cut(7)] * 9})
    outcome = await bench.call()
    assert bench.ids(outcome) == [1000 + number for number in range(500)]
    assert outcome.coverage.is_complete


async def test_a_short_page_by_number_is_told_where_no_total_was_announced(make: Any) -> None:
    bench = make(500, says_total=False, pagination=BY_PAGE, faults={150: [cut(7)] * 9})
    outcome = await bench.call()
    assert not outcome.coverage.is_complete
    assert "page_short" in bench.codes(outcome)
    assert max(bench.ids(outcome)) == 1499


@pytest.mark.parametrize("pagination", [None, BY_PAGE])
@pytest.mark.parametrize("start", [0, 250])
async def test_a_page_cut_once_is_whole_in_the_end_although_no_total_was_announced(
    make: Any, pagination: Any, start: int
) -> None:
    bench = make(290, says_total=False, faults={start: [cut(7)]}, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == [1000 + number for number in range(290)]
    assert outcome.coverage.is_complete


@pytest.mark.parametrize("convention", [PaginationStyle.OFFSET, PaginationStyle.PAGE])
@pytest.mark.parametrize("faults", [{}, {0: [cut(7)]}], ids=["whole", "first page cut"])
async def test_an_undeclared_cap_loses_nothing_where_no_total_was_announced(
    make: Any, convention: PaginationStyle, faults: Any
) -> None:
    position = "offset" if convention is PaginationStyle.OFFSET else "page"
    pagination = Pagination(
        convention=convention, position=position, size="limit", min_size=1, first=int(position == "page")
    )
    bench = make(261, pagination=pagination, cap=30, says_total=False, effective=100_000, faults=dict(faults))
    outcome = await bench.call()
    assert any(int(asked["limit"]) > 30 for asked in bench.api.asked), "more was asked for than the server gives"
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete


@pytest.mark.parametrize("pagination", [None, BY_PAGE, BY_CURSOR])
async def test_a_page_with_a_record_twice_is_asked_for_again(make: Any, pagination: Any) -> None:
    def with_twin(api: Any, start: int, size: int) -> list[Any]:
        page = api.records[start : start + size]
        return [*page[:-1], page[0]]

    bench = make(261, says_total=False, faults={100: [with_twin]}, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete


async def test_a_total_that_sinks_while_pages_are_read_is_no_completeness(make: Any) -> None:
    bench = make(261, concurrency=1)
    inner = bench.api._result

    def shrinking(records: list[Any], start: int) -> Any:
        result = inner(records, start)
        result.payload["total"] = 261 if start < 100 else 260
        return result

    bench.api._result = shrinking
    outcome = await bench.call()
    assert "total_changed" in bench.codes(outcome)
    assert not outcome.coverage.is_complete


async def test_an_empty_page_amid_others_is_asked_for_again(make: Any) -> None:
    bench = make(261, faults={50: [nothing]})
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete


async def test_a_first_page_that_comes_short_loses_nothing(make: Any) -> None:
    for pagination in (None, BY_PAGE):
        bench = make(261, faults={0: [cut(7)]}, **({"pagination": pagination} if pagination else {}))
        outcome = await bench.call()
        assert bench.ids(outcome) == ALL
        assert outcome.coverage.is_complete


@pytest.mark.parametrize("pagination", [None, BY_PAGE])
async def test_a_page_repeated_once_is_asked_for_again(make: Any, pagination: Any) -> None:
    bench = make(261, faults={100: [page_before]}, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL
    assert outcome.coverage.is_complete


async def test_a_page_that_stays_repeated_is_named_and_the_rest_is_read(make: Any) -> None:
    bench = make(261, faults={100: [page_before] * 9})
    outcome = await bench.call()
    assert bench.ids(outcome) == [number for number in ALL if not 1100 <= number < 1150]
    assert not outcome.coverage.is_complete
    assert "page_repeated" in bench.codes(outcome)


@pytest.mark.parametrize("says_total", [True, False])
async def test_a_position_that_is_ignored_stops_the_walk(make: Any, says_total: bool) -> None:
    bench = make(1000, says_total=says_total)
    inner = bench.api._start
    bench.api._start = lambda given: inner(given) * 0
    outcome = await bench.call()
    assert bench.ids(outcome) == [1000 + number for number in range(50)]
    assert len(bench.api.asked) < 16
    assert not outcome.coverage.is_complete
    assert bench.codes(outcome) & {"page_repeated", "no_progress"}


async def test_a_cursor_that_leads_back_stops_the_walk(make: Any) -> None:
    bench = make(261, pagination=BY_CURSOR)
    inner = bench.api._start
    bench.api._start = lambda given: inner(given) % 100
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL[:100]
    assert not outcome.coverage.is_complete
    assert bench.codes(outcome) & {"page_repeated", "no_progress"}


async def test_a_server_that_gives_less_than_asked_is_followed_in_its_own_steps(make: Any) -> None:
    for pagination in (None, BY_PAGE):
        bench = make(261, cap=30, **({"pagination": pagination} if pagination else {}))
        outcome = await bench.call()
        assert bench.ids(outcome) == ALL
        assert outcome.coverage.is_complete


async def test_repeated_records_are_told(make: Any) -> None:
    def with_twin(api: Any, start: int, size: int) -> list[Any]:
        page = api.records[start : start + size]
        return [*page[:-1], page[0]]

    bench = make(261, faults={100: [with_twin] * 9})
    outcome = await bench.call()
    assert "records_repeated" in bench.codes(outcome)
    assert not outcome.coverage.is_complete, "a record is missing in place of which another came twice"


async def test_a_limit_without_a_position_may_hide_records_and_says_so(make: Any) -> None:
    bench = make(261, pagination=LIMIT_ALONE, says_total=False)
    outcome = await bench.call()
    assert bench.ids(outcome) == ALL[:50]
    assert not outcome.coverage.is_complete
    assert "pagination_unknown" in bench.codes(outcome)


async def test_a_page_beyond_the_end_that_is_refused_is_the_end(make: Any) -> None:
    refused = HttpStatusError("no such page", source="crm", location="GET /tickets", status=404)
    bench = make(100, says_total=False, faults={100: [refused] * 3})
    outcome = await bench.call()
    assert outcome.coverage.is_complete
    assert outcome.coverage.pages_failed == 0


async def test_requests_stop_where_their_budget_does_and_the_data_is_kept(make: Any) -> None:
    bench = make(261, limits=Limits(requests=6), concurrency=1)
    outcome = await bench.call()
    assert outcome.envelope.status == "partial"
    assert 50 <= outcome.coverage.records_read < 261
    assert "budget" in bench.codes(outcome)
    assert bench.budget.spent.requests <= 6
    assert bench.budget.reserved == Amount()
    assert outcome.dataset is not None
    assert outcome.dataset.is_sealed


async def test_what_was_reserved_and_not_used_is_given_back(make: Any) -> None:
    bench = make(261, faults={100: [failure()]})
    outcome = await bench.call()
    assert bench.budget.reserved == Amount()
    assert bench.budget.spent.requests == outcome.report.requests == len(bench.api.asked) + 2, "a failure took three"


async def test_a_call_without_any_budget_sends_nothing(make: Any) -> None:
    bench = make(261, limits=Limits(requests=0))
    outcome = await bench.call()
    assert outcome.envelope.status == "budget_exhausted"
    assert bench.api.asked == []
    assert not outcome.coverage.is_complete


async def test_cancellation_in_mid_fetch_keeps_the_pages_that_were_in(make: Any) -> None:
    bench = make(261, gate=asyncio.Event())
    task = asyncio.create_task(bench.call())
    await bench.api.waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (folder,) = bench.folder.iterdir()
    assert len((folder / "manifest.jsonl").read_bytes().splitlines()) == 1
    assert len((folder / "pages.ndjson").read_bytes().splitlines()) == 50
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not others, "no task outlives the call"
    assert bench.budget.reserved == Amount()


async def test_a_disk_that_takes_no_pages_is_told(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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
async def test_records_that_the_disk_does_not_give_back_are_told_and_the_others_are_read(
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


async def test_records_that_are_gone_when_they_are_read_again_are_told(make: Any) -> None:
    bench = make(261)
    outcome = await bench.call()
    assert outcome.dataset is not None
    outcome.dataset.spool.path.unlink()
    with pytest.raises(StoreError, match=r"page 1 cannot be read from '.*': No such file or directory\. Ask again"):
        list(outcome.dataset.records())


async def test_no_folder_for_datasets_is_an_envelope_and_no_exception(make: Any) -> None:
    bench = make(261)
    bench.folder.parent.mkdir(exist_ok=True)
    bench.folder.write_text("in the way")
    outcome = await bench.call()
    assert outcome.envelope.status == "error"
    assert not outcome.coverage.is_complete


async def test_sealing_that_fails_is_told_and_the_answer_stands(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_a_broken_journal_is_told_once_and_stops_nothing(make: Any) -> None:
    bench = make(261)
    bench.journal.close()
    outcome = await bench.call()
    assert outcome.envelope.status == "success"
    assert [event.code for event in bench.events("warned")] == ["journal"]


async def test_a_total_that_changes_while_pages_are_read_is_told(make: Any) -> None:
    bench = make(261, concurrency=1)
    inner = bench.api._result

    def growing(records: list[Any], start: int) -> Any:
        result = inner(records, start)
        result.payload["total"] = 261 + (1 if start >= 100 else 0)
        return result

    bench.api._result = growing
    outcome = await bench.call()
    assert "total_changed" in bench.codes(outcome)
