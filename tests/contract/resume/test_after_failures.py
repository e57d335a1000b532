"""Interrupted runs resume to the same answer and repeat no stored work."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator

import pytest

from benchmarks.kills import QUESTIONS, Wire, World, run_of, undisturbed, units, world

QUESTION = QUESTIONS[0]


@pytest.fixture
async def within() -> AsyncIterator[World]:
    async with world() as made:
        yield made


async def resume(within: World, state: str, *options: str) -> None:
    """Resume the only run of a state: it has the answer of an uninterrupted run and repeats no stored unit."""
    whole, _ = await undisturbed(within, QUESTION, "whole")
    folder = within.folder / state
    before, run = units(folder), run_of(folder)
    assert run is not None
    code, out, err = await within.runax(state, "runs", "resume", run, *options, "-o", "json", wire=Wire())
    assert code == 0, err[-2000:]
    assert json.loads(out)["answer"] == whole["answer"]
    after = units(folder)
    assert [key for key, done_at in before.items() if after.get(key) != done_at] == []


async def test_a_run_resumes_after_ctrl_c(within: World) -> None:
    code, _, _ = await within.runax("state", "query", QUESTION, wire=Wire(at=8, how=signal.SIGINT))
    assert code == 130
    await resume(within, "state")


async def test_a_run_resumes_after_a_full_disk(within: World) -> None:
    code, _, _ = await within.runax("state", "query", QUESTION, wire=Wire(), most_blocks=300)
    assert code in (4, 7)
    await resume(within, "state")


async def test_a_run_resumes_after_a_network_failure(within: World) -> None:
    code, out, _ = await within.runax("state", "query", QUESTION, "-o", "json", wire=Wire(away_from=5))
    assert (code, json.loads(out)["status"]) == (7, "incomplete")
    await resume(within, "state")


async def test_a_run_that_reached_a_limit_resumes_with_a_higher_one(within: World) -> None:
    code, _, _ = await within.runax("state", "query", QUESTION, "--max-requests", "4", wire=Wire())
    assert code == 6
    await resume(within, "state", "--max-requests", "1000")


async def test_concurrent_runs_of_one_question_both_have_the_answer(within: World) -> None:
    whole, _ = await undisturbed(within, QUESTION, "whole")
    both = [within.runax("state", "query", QUESTION, "-o", "json", wire=Wire()) for _ in range(2)]
    for code, out, err in await asyncio.gather(*both):
        assert code == 0, err[-2000:]
        assert json.loads(out)["answer"] == whole["answer"]
