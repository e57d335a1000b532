"""MCP servers from the package registries, started from the folder that `.ci/servers` fills."""

import asyncio
import os
import socket
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.mcp.adapter import McpSource
from adapters.mcp.settings import McpSettings

_FOLDER = Path(os.environ.get("RUNAX_SERVERS") or Path.home() / ".cache" / "runax-servers")
_IS_REQUIRED = os.environ.get("RUNAX_REQUIRE_SERVERS") == "1"
N_ROWS = 5_000


def program(name: str) -> str:
    """The path of an installed server; without it the test is skipped, or fails if servers are required."""
    folders = ("mcp-python/bin", "mcp-python-sqlite/bin", "mcp-node/node_modules/.bin")
    found = next((path for folder in folders if (path := _FOLDER / folder / name).exists()), None)
    if found is not None:
        return str(found)
    why = f"'{name}' is not installed in '{_FOLDER}'; run .ci/servers"
    if _IS_REQUIRED:
        pytest.fail(why)
    pytest.skip(why)


@asynccontextmanager
async def opened(name: str, *command: str, timeout_s: float = 30.0) -> AsyncIterator[McpSource]:
    """A server over stdio."""
    source = await McpSource.open(McpSettings(name=name, command=command, timeout_s=timeout_s))
    try:
        yield source
    finally:
        await source.aclose()


@asynccontextmanager
async def listening(kind: str, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """The reference server over HTTP (`streamableHttp` or `sse`), once it listens."""
    process = await asyncio.create_subprocess_exec(
        program("mcp-server-everything"),
        kind,
        env={**os.environ, "PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            while b"port" not in await process.stderr.readline():
                assert process.returncode is None
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await process.stderr.read()


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A table whose 5,000 rows are more than two megabytes of text, with all characters that need quoting."""
    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE tickets (id INTEGER, subject TEXT, price REAL, note TEXT)")
        rows = ((n, f'It\'s "č. {n}" {{a: [1]}} \\ ,' + "x" * 400, n / 8, None) for n in range(N_ROWS))
        connection.executemany("INSERT INTO tickets VALUES (?, ?, ?, ?)", rows)
    connection.close()
    return path


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository of 25 commits."""
    path = tmp_path / "repository"
    git: Callable[..., object] = lambda *arguments: subprocess.run(  # noqa: E731
        ("git", "-C", str(path), "-c", "user.name=A", "-c", "user.email=a@example.com", *arguments),
        check=True,
        capture_output=True,
    )
    path.mkdir()
    git("init", "--quiet")
    for number in range(25):
        git("commit", "--quiet", "--allow-empty", "--message", f"Change {number}")
    return path
