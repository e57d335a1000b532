"""Real MCP servers, started once per module, over stdio and Streamable HTTP."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest_asyncio

from adapters.mcp.adapter import McpSource
from adapters.mcp.settings import McpSettings

SERVER = str(Path(__file__).with_name("server.py"))
TOKEN = "s3cr3t-value"


def stdio_settings(*options: str, timeout_s: float = 20.0, max_attempts: int = 2) -> McpSettings:
    return McpSettings(
        name="desk",
        command=(sys.executable, SERVER, "stdio", *options),
        env={"API_KEY": TOKEN},
        timeout_s=timeout_s,
        max_attempts=max_attempts,
    )


@asynccontextmanager
async def http_server(*options: str) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """The URL of a server process, and the process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, SERVER, "http", *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            port = int(await process.stdout.readline())
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers() -> AsyncIterator[dict[str, McpSource]]:
    """One source for each transport, all with the same tools."""
    async with http_server("--token", TOKEN) as (stateless, _), http_server("--handshake") as (sessions, _):
        sources = {
            "stdio": await McpSource.open(stdio_settings()),
            "stdio handshake": await McpSource.open(stdio_settings("--handshake")),
            "http": await McpSource.open(McpSettings(name="desk", url=stateless, token=TOKEN, timeout_s=20)),
            "http session": await McpSource.open(McpSettings(name="desk", url=sessions, timeout_s=20)),
        }
        try:
            yield sources
        finally:
            for source in sources.values():
                await source.aclose()
