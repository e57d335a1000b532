"""Failures between runax and an MCP server: crashes, timeouts, lost sessions, credentials."""

import asyncio
import logging
import os
import select
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.clock import ManualClock
from adapters.errors import ConnectionFailed, HttpStatusError, MissingCredential, SourceError, TimedOut
from adapters.mcp.adapter import McpSource
from adapters.mcp.settings import McpSettings
from adapters.source_events import RequestSent, RetryPlanned
from tests.contract.mcp.conftest import TOKEN, http_server, stdio_settings


async def test_a_reading_tool_is_repeated_on_a_new_connection_after_a_crash(tmp_path: Path) -> None:
    notices: list[object] = []
    clock = ManualClock()
    source = await McpSource.open(stdio_settings(), clock=clock)
    result = await source.call("get_once_crashed", {"marker": str(tmp_path / "m")}, observer=notices.append)
    await source.aclose()
    assert (result.payload, result.requests) == ({"attempt": 2}, 2)
    assert [type(notice) for notice in notices] == [RequestSent, RetryPlanned, RequestSent]
    assert len(clock.slept) == 1


async def test_a_writing_tool_is_not_repeated_after_a_crash_and_the_next_call_reconnects(tmp_path: Path) -> None:
    source = await McpSource.open(stdio_settings())
    with pytest.raises(ConnectionFailed) as caught:
        await source.call("create_ticket", {"marker": str(tmp_path / "m")})
    assert caught.value.requests == 1
    assert (await source.call("create_ticket", {"marker": str(tmp_path / "m")})).payload == {"attempt": 2}
    await source.aclose()


async def test_stderr_is_reported_without_secrets(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = await McpSource.open(stdio_settings(max_attempts=1))
    with pytest.raises(ConnectionFailed, match="the last words of a dying server") as caught:
        await source.call("get_once_crashed", {"marker": str(tmp_path / "m")})
    await source.aclose()
    assert TOKEN not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("options", [(), ("--handshake",)])
async def test_cancelling_a_call_cancels_only_its_request(options: tuple[str, ...]) -> None:
    source = await McpSource.open(stdio_settings(*options, max_attempts=1))
    slow = asyncio.create_task(source.call("get_slowly", {}))
    await source.call("get_slow_started", {})
    other = asyncio.create_task(source.call("get_slow_cancelled", {}))
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert (await other).payload == "it has happened"
    await source.aclose()


async def test_a_call_times_out() -> None:
    async with http_server() as (url, _):
        settings = McpSettings(name="desk", url=url, timeout_s=60, timeouts={"get_slowly": 1}, max_attempts=1)
        source = await McpSource.open(settings)
        with pytest.raises(TimedOut, match="within 1 s"):
            await source.call("get_slowly", {})
        assert (await source.call("list_json_text", {})).payload[0]["id"] == 1
        await source.aclose()


async def test_a_server_that_never_answers_is_stopped(tmp_path: Path, jump_one_hour: Callable[[], None]) -> None:
    os.mkfifo(told := tmp_path / "pid")
    program = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    silent = McpSettings(name="silent", command=(sys.executable, "-c", program), timeout_s=60)
    opening = asyncio.create_task(McpSource.open(silent))
    process = os.pidfd_open(int(await asyncio.to_thread(told.read_text)))
    jump_one_hour()
    with pytest.raises(SourceError, match="MCP server 'silent', connecting"):
        await opening
    ended, _, _ = await asyncio.to_thread(select.select, [process], [], [], 60)
    os.close(process)
    assert ended


async def test_an_unknown_command_is_named_in_the_error() -> None:
    with pytest.raises(ConnectionFailed, match="command 'no-such-command-here' cannot be started"):
        await McpSource.open(McpSettings(name="none", command=("no-such-command-here",)))


async def test_a_refused_connection_is_reported(unused_tcp_port: int) -> None:
    with pytest.raises(ConnectionFailed, match="MCP server 'gone'"):
        await McpSource.open(McpSettings(name="gone", url=f"http://127.0.0.1:{unused_tcp_port}/mcp", timeout_s=5))


async def test_missing_and_wrong_tokens_are_distinguished_and_never_shown() -> None:
    async with http_server("--token", TOKEN) as (url, _):
        with pytest.raises(MissingCredential, match="set a token"):
            await McpSource.open(McpSettings(name="desk", url=url, timeout_s=10))
        with pytest.raises(HttpStatusError) as caught:
            await McpSource.open(McpSettings(name="desk", url=url, token="wr0ng-token", timeout_s=10))
    assert caught.value.status == 401
    assert "wr0ng-token" not in str(caught.value)


@pytest.mark.parametrize("options", [(), ("--handshake",)])
async def test_a_restarted_http_server_is_reconnected(options: tuple[str, ...]) -> None:
    async with http_server(*options) as (url, process):
        source = await McpSource.open(McpSettings(name="desk", url=url, timeout_s=10), clock=ManualClock())
        await source.list_tools()
        process.kill()
        await process.wait()
        with pytest.raises(ConnectionFailed):
            await source.call("list_json_text", {})
    async with http_server(*options, "--port", url.split(":")[2].split("/")[0]):
        assert len((await source.call("list_json_text", {})).payload) == 2
        await source.aclose()


async def test_a_forgotten_session_is_reopened() -> None:
    async with http_server("--handshake") as (url, process):
        source = await McpSource.open(McpSettings(name="desk", url=url, timeout_s=10), clock=ManualClock())
        await source.list_tools()
        process.kill()
        await process.wait()
    async with http_server("--handshake", "--port", url.split(":")[2].split("/")[0]):
        assert (await source.call("list_json_text", {})).requests == 2
        await source.aclose()


async def test_closing_twice_is_harmless_and_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    source = await McpSource.open(stdio_settings())
    await source.aclose()
    await source.aclose()
    assert asyncio.all_tasks() == before


async def test_the_token_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with http_server("--token", TOKEN) as (url, _):
        source = await McpSource.open(McpSettings(name="desk", url=url, token=TOKEN, timeout_s=10))
        await source.call("list_json_text", {})
        await source.aclose()
    assert TOKEN not in caplog.text
