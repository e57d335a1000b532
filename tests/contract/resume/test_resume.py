"""Stored work is neither fetched nor paid for again: after a kill, after a failure, and in a later run."""

import json
from collections.abc import AsyncIterator

import pytest

from benchmarks.kills import QUESTIONS, Wire, World, judged, killed, undisturbed, units, world


@pytest.fixture
async def within() -> AsyncIterator[World]:
    async with world() as made:
        yield made


async def test_a_killed_run_resumes_to_the_same_answer_and_repeats_nothing_stored() -> None:
    verdicts = await judged(2, 7)
    assert [verdict.line() for verdict in verdicts if verdict.faults] == []


async def test_interrupted_requests_are_reported_as_perhaps_billed(within: World) -> None:
    whole, n_requests = await undisturbed(within, QUESTIONS[0], "whole")
    last_reducers = n_requests - 6
    verdict = await killed(within, QUESTIONS[0], whole, at=last_reducers, after=False, name="killed")
    assert not verdict.faults
    assert any("may have been billed" in line for line in verdict.told), verdict.told


async def test_a_repeated_question_over_unchanged_data_requests_no_page_and_no_reduction(within: World) -> None:
    first, second = Wire(), Wire()
    code, out, _ = await within.runax("state", "query", QUESTIONS[0], "-o", "json", wire=first)
    again_code, again, _ = await within.runax("state", "query", QUESTIONS[0], "-o", "json", wire=second)
    assert (code, again_code) == (0, 0)
    assert json.loads(out)["answer"] == json.loads(again)["answer"]
    assert "reducer" in first.seen
    assert "reducer" not in second.seen
    assert [seen for seen in second.seen if seen.startswith("/") and "meta_only" not in seen] == []


async def test_no_cache_fetches_and_reads_everything_again(within: World) -> None:
    first, second = Wire(), Wire()
    await within.runax("state", "query", QUESTIONS[0], "-o", "json", wire=first)
    await within.runax("state", "query", QUESTIONS[0], "--no-cache", "-o", "json", wire=second)
    assert sorted(second.seen) == sorted(first.seen)


async def test_resuming_a_complete_run_shows_its_answer_and_sends_nothing(within: World) -> None:
    whole, _ = await undisturbed(within, QUESTIONS[1], "state")
    wire = Wire()
    code, out, err = await within.runax("state", "runs", "resume", whole["run_id"], "-o", "json", wire=wire)
    assert (code, json.loads(out)["answer"]) == (0, whole["answer"])
    assert wire.seen == []
    assert "is complete" in err


async def test_only_work_lost_by_a_damaged_store_is_repeated(within: World) -> None:
    whole, _ = await undisturbed(within, QUESTIONS[0], "state")
    spool = next(path for path in (within.folder / "state").rglob("*.ndjson") if path.stat().st_size > 100_000)
    body = bytearray(spool.read_bytes())
    body[10] ^= 1
    spool.write_bytes(body)
    before, wire = units(within.folder / "state"), Wire()
    _, out, _ = await within.runax("state", "query", QUESTIONS[0], "-o", "json", wire=wire)
    pages = [seen for seen in wire.seen if seen.startswith("/") and "meta_only" not in seen]
    assert json.loads(out)["answer"] == whole["answer"]
    assert len(pages) == 1
    assert "reducer" not in wire.seen
    assert len(before) > 0
