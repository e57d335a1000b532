"""Servers that send invalid JSON-RPC messages: unambiguous ones are recovered."""

import asyncio
import fcntl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from adapters.clock import ManualClock
from adapters.errors import ConnectionFailed, MalformedResponse, ResponseTooLarge, ToolFailed
from adapters.mcp.adapter import McpSource
from adapters.mcp.settings import McpSettings

SERVER = str(Path(__file__).with_name("invalid_messages_server.py"))
N = 61


@asynccontextmanager
async def invalid_messages(way: str, *, max_bytes: int = 10_000_000) -> AsyncIterator[McpSource]:
    command = (sys.executable, SERVER, way)
    settings = McpSettings(name="invalid_messages", command=command, timeout_s=20.0, max_bytes=max_bytes)
    async with asyncio.timeout(60):
        source = await McpSource.open(settings, clock=ManualClock())
        try:
            yield source
        finally:
            await source.aclose()


def ids_in(payload: Any) -> list[int]:
    rows = payload["items"] if isinstance(payload, dict) else payload
    return [row["id"] for row in rows]


@pytest.mark.parametrize(
    "way",
    [
        "honest", "banner", "ends_at_questions", "list_is_list", "second_page_fails", "future_revision",
        "revision_is_number", "revision_is_null", "stateless_revision", "empty_handshake", "flags_for_objects",
        "id_is_float", "id_is_null", "no_id", "no_version", "version_is_number", "batch", "result_is_list",
        "result_is_text", "result_is_content", "words_before", "words_behind", "two_on_a_line", "over_several_lines",
        "byte_order_mark", "control_characters", "half_a_character", "half_a_character_outside", "no_line_end",
        "log_with_its_id", "first_page_empty",
    ],
)  # fmt: skip
async def test_all_records_are_read_despite_invalid_messages(way: str) -> None:
    async with invalid_messages(way) as source:
        (tool,) = (await source.list_tools()).tools
        result = await source.call(tool.name, {})
    assert ids_in(result.payload) == list(range(N))
    assert not result.flaw


@pytest.mark.parametrize(
    "way", ["error_is_text", "error_code_is_text", "error_without_id", "error_in_data", "called_off"]
)
async def test_an_invalid_error_reply_is_reported_with_its_message(way: str) -> None:
    async with invalid_messages(way) as source:
        with pytest.raises(ToolFailed, match="the disk is full"):
            await source.call("list_rows", {})


async def test_a_missing_result_is_an_error() -> None:
    async with invalid_messages("result_is_null") as source:
        with pytest.raises(ToolFailed, match="neither a result nor an error"):
            await source.call("list_rows", {})


@pytest.mark.parametrize("way", ["result_is_empty", "content_is_null"])
async def test_a_result_without_content_is_an_error(way: str) -> None:
    async with invalid_messages(way) as source:
        with pytest.raises(MalformedResponse, match="neither 'content' nor 'structuredContent'"):
            await source.call("list_rows", {})


async def test_a_line_above_the_size_limit_fails_only_its_call() -> None:
    async with invalid_messages("large", max_bytes=50_000) as source:
        for _ in range(2):
            with pytest.raises(ResponseTooLarge, match="exceeds the size limit"):
                await source.call("list_rows", {})


async def test_child_processes_of_a_server_are_stopped(tmp_path: Path) -> None:
    async with invalid_messages(f"child:{tmp_path / 'held'}") as source:
        await source.call("list_rows", {})
        assert is_held(tmp_path / "held")
    assert not is_held(tmp_path / "held")


def is_held(path: Path) -> bool:
    """Whether a process holds the lock of a file: an ended process holds none, even if it is still listed."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


async def test_a_truncated_reply_is_reported_before_the_timeout() -> None:
    async with invalid_messages("cut") as source:
        with pytest.raises(ConnectionFailed, match="truncated or not valid JSON"):
            await source.call("list_rows", {})


async def test_a_tool_list_with_a_failing_page_is_used_and_reported() -> None:
    async with invalid_messages("second_page_fails") as source:
        listed = await source.list_tools()
    assert [tool.name for tool in listed.tools] == ["list_rows"]
    assert "incomplete" in listed.skipped[0].reason
    assert "Invalid cursor" in listed.skipped[0].reason
