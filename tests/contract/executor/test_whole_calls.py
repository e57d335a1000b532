"""Calls from probe to envelope, to an API without faults."""

import json
from typing import Any

import pytest

from adapters.base import Pagination, PaginationStyle
from runax_cli.executor.outcome import CallOutcome

BY_PAGE = Pagination(
    convention=PaginationStyle.PAGE, position="page", size="limit", first=1, min_size=1, max_size=50, default_size=20
)
BY_CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit", max_size=50, default_size=20)
SINGLE = Pagination()


def sealed(outcome: CallOutcome, sql: str) -> Any:
    import duckdb

    assert outcome.dataset is not None
    assert outcome.dataset.is_sealed
    with duckdb.connect() as connection:
        return connection.execute(sql.replace("TABLE", f"'{outcome.dataset.table_path}'")).fetchone()


@pytest.mark.parametrize("pagination", [None, BY_PAGE, BY_CURSOR])
@pytest.mark.parametrize("says_total", [True, False])
@pytest.mark.parametrize("n", [1, 49, 50, 51, 100, 261])
async def test_every_record_is_read_once_and_in_order(make: Any, pagination: Any, says_total: bool, n: int) -> None:
    bench = make(n, says_total=says_total, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call()
    assert bench.ids(outcome) == [1000 + number for number in range(n)]
    coverage = outcome.coverage
    assert (coverage.records_read, coverage.records_total, coverage.total_is.value) == (n, n, "exact")
    assert coverage.is_complete
    assert coverage.read_by_model == n
    assert outcome.envelope.status == "success"
    assert sealed(outcome, "SELECT count(*), min(id), max(id) FROM TABLE") == (n, 1000, 999 + n)


@pytest.mark.parametrize("pagination", [None, BY_CURSOR])
async def test_page_events_hold_the_number_of_pages_if_the_total_is_known(make: Any, pagination: Any) -> None:
    bench = make(261, **({"pagination": pagination} if pagination else {}))
    await bench.call()
    reported = [(page.index, page.of) for page in bench.events("page.fetched")]
    assert len(reported) > 1
    assert reported == [(index, len(reported)) for index in range(1, len(reported) + 1)]


async def test_few_records_are_returned_unchanged_under_their_references(make: Any) -> None:
    bench = make(3)
    outcome = await bench.call(direct_limit=2000)
    assert outcome.envelope.strategy == "direct_pass"
    assert list(outcome.envelope.data) == ["tickets_1#1", "tickets_1#2", "tickets_1#3"]
    assert outcome.envelope.data["tickets_1#2"] == bench.api.records[1]
    assert bench.reducer.requests == []
    sent = json.loads(outcome.envelope.to_model_text())
    assert sent["data"]["tickets_1#1"]["nested"] == {"tags": ["a", "b"], "none": None}
    assert "error" not in sent


@pytest.mark.parametrize("pagination", [None, BY_CURSOR])
async def test_few_records_are_returned_unchanged_without_a_total(make: Any, pagination: Any) -> None:
    bench = make(5, says_total=False, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call(direct_limit=2000)
    assert outcome.envelope.strategy == "direct_pass"
    assert bench.reducer.requests == []


async def test_records_that_fit_one_chunk_are_one_request(make: Any) -> None:
    bench = make(12)
    outcome = await bench.call(direct_limit=100)
    assert outcome.envelope.strategy == "single_reduction"
    assert len(bench.reducer.requests) == 1
    (finding,) = outcome.findings
    assert finding.records == (1,)
    assert outcome.envelope.data[0]["records"] == ["tickets_1#1"]


async def test_no_chunk_exceeds_the_effective_tokens(make: Any) -> None:
    bench = make(261)
    outcome = await bench.call()
    assert outcome.envelope.strategy == "paginated_reduction"
    assert len(bench.reducer.requests) > 5
    assert bench.largest_request() <= bench.effective
    seen = [text for request in bench.reducer.requests for _, _, text in lines(request)]
    assert sorted(int(text.partition(",")[0]) for text in seen) == [1000 + n for n in range(261)]


def lines(request: Any) -> Any:
    inside = request.messages[1].content.partition("<records>\n")[2].rpartition("\n</records>")[0]
    return [(0, 0, line.split("] ", 1)[1]) for line in inside.split("\n") if not line.startswith("[columns]")]


async def test_findings_reference_the_rows_they_are_based_on(make: Any) -> None:
    bench = make(100)
    outcome = await bench.call()
    assert outcome.dataset is not None
    for finding in outcome.findings:
        (row,) = finding.records
        assert str(outcome.dataset.record(row)["id"]) in finding.statement


async def test_no_records_are_a_fact_and_not_an_error(make: Any) -> None:
    outcome = await make(0).call()
    assert outcome.envelope.status == "empty"
    assert outcome.coverage.is_complete
    assert outcome.dataset is None
    assert outcome.coverage.records_total == 0


async def test_figures_over_more_than_twenty_records_are_not_claimed(make: Any) -> None:
    outcome = await make(30).call(need="compute", direct_limit=100_000)
    assert "not computed" in outcome.envelope.next_action_hint
    assert "not_computed" in {reason.code.value for reason in outcome.coverage.reasons}
    assert outcome.coverage.is_complete


async def test_up_to_twenty_short_records_are_shown_even_if_figures_are_wanted(make: Any) -> None:
    short = [{"id": number, "city": "Brno"} for number in range(20)]
    outcome = await make(records=short).call(need="compute", direct_limit=100_000)
    assert outcome.envelope.strategy == "direct_pass"
    assert "not computed" not in outcome.envelope.next_action_hint


@pytest.mark.parametrize("pagination", [None, BY_PAGE, BY_CURSOR])
@pytest.mark.parametrize("says_total", [True, False])
async def test_the_first_n_records_are_enough_if_requested(make: Any, pagination: Any, says_total: bool) -> None:
    bench = make(200, says_total=says_total, **({"pagination": pagination} if pagination else {}))
    outcome = await bench.call(at_most=70)
    assert bench.ids(outcome) == [1000 + number for number in range(70)]
    assert outcome.coverage.is_complete
    assert "first_n" in bench.codes(outcome)
    assert outcome.coverage.records_total == (200 if says_total else 70)
    assert outcome.coverage.total_is.value == ("exact" if says_total else "at_least")
    assert len(bench.api.requests) < 10


async def test_asking_only_how_many_costs_the_probe_and_reads_nothing(make: Any) -> None:
    bench = make(200)
    outcome = await bench.call(at_most=0, need="compute")
    assert len(bench.api.requests) == outcome.report.requests == 1
    envelope = outcome.envelope
    assert (envelope.status, envelope.total_matches, envelope.records_read, envelope.data) == ("success", 200, 0, None)
    assert "None were read" in envelope.next_action_hint
    assert (outcome.coverage.records_read, outcome.coverage.records_total) == (0, 200)
    assert outcome.coverage.is_complete
    assert outcome.coverage.total_is.value == "exact"
    assert bench.codes(outcome) == {"counted_only"}
    assert bench.ids(outcome) == []


@pytest.mark.parametrize("api", [{"says_total": False}, {"announced": lambda start: 1}])
async def test_records_are_fetched_to_be_counted_if_the_source_does_not_say_how_many(make: Any, api: Any) -> None:
    bench = make(120, **api)
    outcome = await bench.call(at_most=0)
    assert outcome.coverage.records_read == len(bench.ids(outcome)) == 120
    assert outcome.envelope.total_matches == 120
    assert outcome.coverage.is_complete


async def test_counting_no_records_is_an_empty_result(make: Any) -> None:
    outcome = await make(0).call(at_most=0)
    assert (outcome.envelope.status, outcome.envelope.total_matches) == ("empty", 0)


async def test_more_records_than_exist_is_not_a_first_n(make: Any) -> None:
    outcome = await make(30).call(at_most=70)
    assert outcome.coverage.reasons == ()
    assert outcome.coverage.records_total == 30


async def test_a_large_response_without_pages_is_chunked_by_the_same_rules(make: Any) -> None:
    bench = make(300, pagination=SINGLE, cap=1000, default_size=1000, says_total=False)
    outcome = await bench.call()
    assert outcome.envelope.strategy == "paginated_reduction"
    assert outcome.coverage.read_by_model == 300
    assert outcome.report.requests == 1
    assert bench.largest_request() <= bench.effective


async def test_the_forecast_is_reported_twice_and_corrected(make: Any) -> None:
    bench = make(261)
    await bench.call()
    planned = bench.events("chunking.planned")
    assert [event.is_corrected for event in planned] == [False, True]
    assert planned[1].chunks is not None
    assert abs(planned[1].chunks - len(bench.events("chunk.packed"))) <= 2
    assert bench.events("call.probed")[0].total_items == 261
    assert [event.index for event in bench.events("page.fetched")] == list(range(1, planned[1].pages + 1))
    assert bench.events("dataset.sealed")[0].records == 261
    change = bench.events("tokens.changed")[0]
    assert change.before > change.after


async def test_reading_everything_without_a_model_seals_the_dataset(make: Any) -> None:
    bench = make(120, reducer=[])
    outcome = await bench.read_all()
    assert bench.ids(outcome) == [1000 + number for number in range(120)]
    assert outcome.coverage.is_complete
    assert outcome.envelope.data is None
    assert sealed(outcome, "SELECT count(*) FROM TABLE") == (120,)


@pytest.mark.parametrize(
    "records",
    [
        [1, "two", None, [3, 4], {"five": 5}, True],
        [{}, {}, {}],
        [{"a": 1}, {"a": "x"}, {"a": [1]}, {"a": {"b": 1}}, {"a": None}],
        [{"id": 1, "ID": 2, "Id": 3}, {"id": 4}],
        [{"x": {"key": 1, "KEY": "2"}}],
        [{"big": 2**80}, {"big": 1}],
        [{"when": "2024-01-01"}, {"when": "never"}],
        [{"text": 'Příliš žluťoučký kůň\n\t"úpěl" </records> <|im_start|>'}],
        [{"": 1, "a b": 2, "c'd\"e": 3}],
    ],
    ids=["scalars", "empty objects", "mixed", "case clash", "nested clash", "huge integer", "dates", "text", "names"],
)
async def test_records_of_any_shape_are_stored_sealed_and_shown(make: Any, records: list[Any]) -> None:
    bench = make(records=records, says_total=False)
    outcome = await bench.call(direct_limit=5000)
    wanted = [record if isinstance(record, dict) else {"value": record} for record in records]
    assert outcome.dataset is not None
    assert list(outcome.dataset.records()) == wanted
    assert sealed(outcome, "SELECT count(*) FROM TABLE") == (len(records),)
    assert outcome.coverage.is_complete


async def test_concurrent_calls_get_distinct_names(make: Any) -> None:
    import asyncio

    bench = make(60)
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(bench.call(call_id=f"c{n}")) for n in range(3)]
    names = {call.result().envelope.dataset for call in calls}
    assert names == {"tickets_1", "tickets_2", "tickets_3"}
    assert all(call.result().coverage.records_read == 60 for call in calls)


async def test_files_are_private(make: Any) -> None:
    outcome = await make(60).call()
    assert outcome.dataset is not None
    modes = {path.name: path.stat().st_mode & 0o777 for path in outcome.dataset.folder.iterdir()}
    assert modes == {"pages.ndjson": 0o600, "manifest.jsonl": 0o600, "records.parquet": 0o600}
    assert outcome.dataset.folder.stat().st_mode & 0o777 == 0o700
