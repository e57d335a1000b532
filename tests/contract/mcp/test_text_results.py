"""Servers that return metadata and errors as text: missing data is reported, and an error is not a record."""

import asyncio
import sys
from pathlib import Path

import pytest

from adapters.clock import ManualClock
from adapters.mcp.adapter import McpSource
from adapters.mcp.settings import McpSettings
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.core.results import ReasonCode, TotalIs
from runax_cli.executor.executor import Executor
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ByteCounter, ScriptedModel
from runax_cli.models.tokens import CalibratedCounter
from runax_cli.runtime.runtime import REDUCER_PROMPTS

SERVER = str(Path(__file__).with_name("text_results_server.py"))
N = 61


async def read(way: str, folder: Path) -> tuple[CallOutcome, list[object]]:
    """The verdict on the result of the server's only tool, and the records."""
    settings = McpSettings(name="loose", command=(sys.executable, SERVER, way), timeout_s=20.0)
    source = await McpSource.open(settings, clock=ManualClock())
    try:
        (tool,) = (await source.list_tools()).tools
        executor = Executor(
            source,
            DatasetStore(folder),
            MemoryJournal(),
            counter=CalibratedCounter(ByteCounter(), ratio=1.0),
            effective_tokens=50_000,
            prompts=REDUCER_PROMPTS,
            api_concurrency=2,
            reducer_concurrency=2,
            max_attempts=2,
        )
        emitter = Emitter.for_run(CollectingSink(), run_id="r", session_id="s")
        scope = CallScope(emitter=emitter, budget=Budget(Limits(), owner="turn"), reducer=ScriptedModel([]))
        async with asyncio.timeout(60):
            call = DecidedCall(call_id="c", tool=tool, arguments={}, focus="", need="compute")
            outcome = await executor.read_all(call, scope)
        return outcome, [] if outcome.dataset is None else list(outcome.dataset.records())
    finally:
        await source.aclose()


async def test_a_cursor_in_another_text_block_is_followed(tmp_path: Path) -> None:
    outcome, records = await read("cursor", tmp_path)
    assert [record["id"] for record in records if isinstance(record, dict)] == [1000 + n for n in range(N)]
    assert outcome.coverage.is_complete


async def test_text_about_more_results_makes_a_list_incomplete(tmp_path: Path) -> None:
    outcome, records = await read("more", tmp_path)
    assert len(records) == 20
    assert not outcome.coverage.is_complete
    assert [reason.code for reason in outcome.coverage.reasons] == [ReasonCode.PAGINATION_UNKNOWN]


@pytest.mark.parametrize("way", ["cut", "middle", "behind_words", "one_part"])
async def test_truncated_data_is_incomplete_with_a_reason(way: str, tmp_path: Path) -> None:
    outcome, _ = await read(way, tmp_path)
    assert not outcome.coverage.is_complete
    assert outcome.coverage.total_is is not TotalIs.EXACT
    assert ReasonCode.UNREADABLE in [reason.code for reason in outcome.coverage.reasons]
    assert outcome.envelope.status == "partial"


@pytest.mark.parametrize(
    ("way", "words"),
    [("error", "rate limit exceeded"), ("tool_error", "database is locked"), ("error_object", "rate limit exceeded")],
)
async def test_an_error_message_is_not_a_record(way: str, words: str, tmp_path: Path) -> None:
    outcome, records = await read(way, tmp_path)
    assert records == []
    assert outcome.envelope.status == "error"
    assert words in outcome.coverage.reasons[-1].text


@pytest.mark.parametrize("way", ["empty", "closing"])
async def test_an_empty_text_and_a_closing_sentence_are_not_records(way: str, tmp_path: Path) -> None:
    outcome, records = await read(way, tmp_path)
    assert records == []
    assert outcome.envelope.status != "error"
    assert outcome.coverage.records_read == 0


async def test_a_numbered_list_is_paginated_by_offset(tmp_path: Path) -> None:
    outcome, records = await read("numbered", tmp_path)
    assert [record["value"] for record in records if isinstance(record, dict)] == [f"n{n}" for n in range(N)]
    assert outcome.coverage.is_complete


async def test_prose_that_changes_with_its_offset_is_not_paginated(tmp_path: Path) -> None:
    outcome, records = await read("prose", tmp_path)
    assert len(records) < 10
    assert not outcome.coverage.is_complete
    assert ReasonCode.NO_PROGRESS in [reason.code for reason in outcome.coverage.reasons]


async def test_a_busy_tool_is_retried_once(tmp_path: Path) -> None:
    outcome, records = await read("busy_once", tmp_path)
    assert len(records) == N
    assert outcome.coverage.is_complete


async def test_lines_by_offset_end_at_an_empty_text(tmp_path: Path) -> None:
    outcome, records = await read("lines", tmp_path)
    assert len(records) == N
    assert all(isinstance(record, dict) for record in records)
    assert outcome.coverage.is_complete
