"""Servers that break the protocol, each in its own process: no fault loses records silently."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.clock import ManualClock
from adapters.errors import ConnectionFailed, MalformedResponse, ResponseTooLarge, SourceError, TimedOut
from adapters.mcp.adapter import McpSource
from adapters.mcp.settings import McpSettings
from mock_api.mcp_faults import McpFault
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.executor.executor import Executor
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ByteCounter, ScriptedModel
from runax_cli.models.tokens import CalibratedCounter
from runax_cli.runtime.runtime import REDUCER_PROMPTS

SERVER = (sys.executable, "-m", "mock_api.mcp_faulty_server")
ROOT = str(Path(__file__).parents[3])
WAYS = pytest.mark.parametrize("way", ["stdio", "stdio stateless", "http", "http sse", "http stateless"])
N = 261


@asynccontextmanager
async def breaking(
    way: str, *faults: McpFault, options: tuple[str, ...] = (), **changes: Any
) -> AsyncIterator[McpSource]:
    """A source on a server with these faults; `way` is its transport and kind."""
    transport, *kinds = way.split()
    flags = [f"--{kind}" for kind in kinds] + [part for fault in faults for part in ("--fault", fault.value)]
    settings: dict[str, Any] = {"name": "breaker", "timeout_s": 20.0, "env": {"PYTHONPATH": ROOT}} | changes
    command = (*SERVER, transport, *flags, *options)
    if transport == "stdio":
        async with _source(McpSettings(command=command, **settings)) as source:
            yield source
        return
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            port = int(await process.stdout.readline())
        async with _source(McpSettings(url=f"http://127.0.0.1:{port}/mcp", **settings)) as source:
            yield source
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def _source(settings: McpSettings) -> AsyncIterator[McpSource]:
    source = await McpSource.open(settings, clock=ManualClock())
    try:
        yield source
    finally:
        await source.aclose()


async def read_all(source: McpSource, folder: Path, limits: Limits | None = None) -> tuple[CallOutcome, list[int]]:
    """All records of the tickets tool, with the verdict on them."""
    (tool, *_) = (await source.list_tools()).tools
    executor = Executor(
        source,
        DatasetStore(folder),
        MemoryJournal(),
        counter=CalibratedCounter(ByteCounter(), ratio=1.0),
        effective_tokens=3000,
        prompts=REDUCER_PROMPTS,
        api_concurrency=4,
        reducer_concurrency=4,
        max_attempts=3,
    )
    emitter = Emitter.for_run(CollectingSink(), run_id="r", session_id="s")
    scope = CallScope(emitter=emitter, budget=Budget(limits or Limits(), owner="turn"), reducer=ScriptedModel([]))
    async with asyncio.timeout(60):
        outcome = await executor.read_all(DecidedCall(call_id="c", tool=tool, arguments={}, focus=""), scope)
    records = outcome.dataset.records() if outcome.dataset is not None else ()
    return outcome, [record["id"] for record in records]


@WAYS
async def test_a_correct_server_is_read_completely(way: str, tmp_path: Path) -> None:
    async with breaking(way) as source:
        (tool,) = (await source.list_tools()).tools
        outcome, ids = await read_all(source, tmp_path)
    assert tool.pagination.hidden == ("cursor", "limit")
    assert ids == list(range(N))
    assert outcome.coverage.is_complete


@pytest.mark.parametrize(
    "fault",
    [
        McpFault.PYTHON_TEXT,
        McpFault.TRAILING_COMMAS,
        McpFault.AFTER_WORDS,
        McpFault.FENCED,
        McpFault.WRAPPED,
        McpFault.PARTS,
        McpFault.NO_CONTENT,
        McpFault.UNKNOWN_CONTENT,
        McpFault.CURSOR_IN_META,
        McpFault.CURSOR_IN_WORDS,
        McpFault.NO_CAPABILITIES,
        McpFault.BROKEN_TOOLS,
        McpFault.NOISE_ON_STDOUT,
        McpFault.NOISE_ON_STDERR,
    ],
)
async def test_all_records_are_read_in_every_notation(fault: McpFault, tmp_path: Path) -> None:
    async with breaking("stdio", fault) as source:
        outcome, ids = await read_all(source, tmp_path)
    assert ids == list(range(N))
    assert outcome.coverage.is_complete


@pytest.mark.parametrize("way", ["http", "http sse"])
@pytest.mark.parametrize("fault", [McpFault.NO_SESSION_ID, McpFault.SESSION_FORGOTTEN, McpFault.NO_CONTENT])
async def test_missing_and_forgotten_sessions_lose_no_record(way: str, fault: McpFault, tmp_path: Path) -> None:
    async with breaking(way, fault) as source:
        outcome, ids = await read_all(source, tmp_path)
    assert ids == list(range(N))
    assert outcome.coverage.is_complete


@WAYS
async def test_five_megabytes_are_read_completely(way: str) -> None:
    async with breaking(way, McpFault.LARGE) as source:
        result = await source.call("list_tickets", {})
    assert result.n_bytes > 5_000_000
    assert [record["id"] for record in result.payload["items"]] == list(range(20_000))


@pytest.mark.parametrize("way", ["http", "http sse", "http stateless"])
@pytest.mark.parametrize("fault", [McpFault.LARGE, McpFault.BOMB])
async def test_an_oversized_reply_is_aborted_and_not_retried(way: str, fault: McpFault) -> None:
    async with breaking(way, fault, max_bytes=2_000_000) as source:
        with pytest.raises(ResponseTooLarge, match="exceeds the size limit") as failed:
            await source.call("list_tickets", {})
        assert (failed.value.requests, failed.value.is_retryable) == (1, False)


@pytest.mark.parametrize(
    "fault", [McpFault.CURSOR_IGNORED, McpFault.SAME_CURSOR, McpFault.ENDLESS_CURSOR, McpFault.CURSOR_CYCLE]
)
@pytest.mark.parametrize("way", ["stdio", "http stateless"])
async def test_faulty_cursors_end_the_walk_and_are_reported(way: str, fault: McpFault, tmp_path: Path) -> None:
    async with breaking(way, fault) as source:
        outcome, ids = await read_all(source, tmp_path)
    assert len(ids) < N
    assert len(set(ids)) == len(ids)
    assert not outcome.coverage.is_complete
    assert outcome.coverage.reasons
    assert outcome.coverage.records_read == len(ids) > 0


async def test_a_truncated_result_is_never_complete(tmp_path: Path) -> None:
    notices: list[Any] = []
    async with breaking("stdio", McpFault.CUT_TEXT) as source:
        result = await source.call("list_tickets", {}, observer=notices.append)
    assert isinstance(result.payload, str)
    assert [notice.code for notice in notices if hasattr(notice, "code")] == ["text_not_json"]


async def test_malformed_tools_are_sanitized_or_skipped() -> None:
    async with breaking("stdio", McpFault.BROKEN_TOOLS) as source:
        listed = await source.list_tools()
    assert [tool.name for tool in listed.tools] == ["list_tickets", "get_flawed"]
    assert listed.tools[1].parameters == {"type": "object", "properties": {"id": {"type": "integer"}}}
    assert [part.path for part in listed.skipped] == ["tools/2", "tools/3", "tools/4"]


@pytest.mark.parametrize("fault", [McpFault.ENDLESS_LIST, McpFault.SAME_LIST_CURSOR])
async def test_an_endless_tool_list_is_read_once(fault: McpFault) -> None:
    async with breaking("stdio", fault) as source:
        listed = await source.list_tools()
    assert [tool.name for tool in listed.tools] == ["list_tickets"]
    assert [part.path for part in listed.skipped] == ["tools/list"]
    assert "returns no new tools; tools read: 1" in listed.skipped[0].reason


@pytest.mark.parametrize("way", ["stdio", "stdio stateless"])
async def test_a_crash_during_a_call_restarts_the_server(way: str, tmp_path: Path) -> None:
    marker = ("--marker", str(tmp_path / "crashed"))
    async with breaking(way, McpFault.CRASH_IN_CALL, options=marker) as source:
        outcome, ids = await read_all(source, tmp_path)
    assert ids == list(range(N))
    assert outcome.coverage.is_complete


async def test_a_server_that_crashes_on_every_call_is_an_error(tmp_path: Path) -> None:
    async with breaking("stdio", McpFault.CRASH_IN_CALL) as source:
        with pytest.raises(ConnectionFailed):
            await source.call("list_tickets", {})
        outcome, ids = await read_all(source, tmp_path)
    assert ids == []
    assert outcome.envelope.status == "error"


@pytest.mark.parametrize("way", ["stdio", "stdio stateless"])
async def test_a_slow_start_within_the_limit_is_waited_for(way: str) -> None:
    async with breaking(way, McpFault.SLOW_START, options=("--delay", "2")) as source:
        assert len((await source.list_tools()).tools) == 1


async def test_a_server_that_never_starts_times_out() -> None:
    async with asyncio.timeout(20):
        with pytest.raises(SourceError, match=r"within 0\.5 s"):
            async with breaking("stdio", McpFault.NEVER_STARTS, timeout_s=0.5):
                pass


@pytest.mark.parametrize(
    ("way", "fault"), [("stdio", McpFault.NO_REPLY), ("http", McpFault.NO_REPLY), ("stdio", McpFault.WRONG_ID)]
)
async def test_a_call_without_a_reply_times_out(way: str, fault: McpFault) -> None:
    async with breaking(way, fault, timeouts={"list_tickets": 1.5}, max_attempts=1) as source:
        with pytest.raises(TimedOut, match=r"within 1\.5 s"):
            await source.call("list_tickets", {})


async def test_the_response_to_a_post_is_its_reply_with_any_id() -> None:
    async with breaking("http", McpFault.WRONG_ID) as source:
        assert (await source.call("list_tickets", {})).payload


async def test_noise_on_stdout_is_quoted_in_the_error() -> None:
    faults = (McpFault.NO_REPLY, McpFault.NOISE_ON_STDOUT)
    async with breaking("stdio", *faults, timeouts={"list_tickets": 1.5}, max_attempts=1) as source:
        with pytest.raises(TimedOut, match="lines on stdout that are not JSON-RPC"):
            await source.call("list_tickets", {})


@pytest.mark.parametrize("way", ["http", "http stateless"])
async def test_a_login_page_and_a_foreign_redirect_are_errors(way: str) -> None:
    async with breaking(way, McpFault.HTML) as source:
        with pytest.raises(MalformedResponse, match="text/html"):
            await source.call("list_tickets", {})
    async with breaking(way, McpFault.FOREIGN_REDIRECT, token="s3cr3t-value") as source:
        with pytest.raises(SourceError, match=r"127\.0\.0\.2") as caught:
            await source.call("list_tickets", {})
    assert "s3cr3t-value" not in str(caught.value)


async def test_stderr_is_written_to_a_log_file_of_limited_size(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with breaking("stdio", McpFault.NOISE_ON_STDERR, log_folder=tmp_path / "logs") as source:
        await source.call("list_tickets", {})
    log = tmp_path / "logs" / "mcp_breaker.log"
    assert log.read_text().startswith("a line of noise that nobody reads\n")
    assert log.stat().st_mode & 0o777 == 0o600
    assert 500_000 < log.stat().st_size < 1_200_000
    assert capfd.readouterr() == ("", "")
