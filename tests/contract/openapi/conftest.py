"""A loopback server that answers byte by byte as defined by a test, and sources that use it."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from adapters.clock import ManualClock
from adapters.openapi.adapter import OpenApiSettings, OpenApiSource
from adapters.source_events import SourceEvent

Reply = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Received:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class LoopbackServer:
    """Answers from `replies` in order, else from `routes` by path, else with an empty JSON list."""

    replies: deque[Reply] = field(default_factory=deque)
    routes: dict[str, Reply] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    port: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def then(self, *replies: Reply) -> "LoopbackServer":
        self.replies.extend(replies)
        return self

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ", 2)
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
            }
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.received.append(Received(method, target, headers, body))
            self.arrived.set()
            reply = self.replies.popleft() if self.replies else self.routes.get(target.split("?")[0], answer([]))
            await reply(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


def raw(head: str, body: bytes = b"") -> Reply:
    async def reply(writer: asyncio.StreamWriter) -> None:
        writer.write(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body)
        await writer.drain()

    return reply


def answer(
    value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None, kind: str = "application/json"
) -> Reply:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    lines = [f"HTTP/1.1 {status} Said", f"content-type: {kind}", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name}: {text}" for name, text in (headers or {}).items()]
    return raw("\n".join(lines), body)


def dripping(pause_s: float) -> Reply:
    """A byte after a pause, forever: each read succeeds, and the body never ends."""

    async def reply(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(pause_s)

    return reply


@asynccontextmanager
async def listening() -> AsyncIterator[LoopbackServer]:
    loopback = LoopbackServer()
    server = await asyncio.start_server(loopback.serve, "127.0.0.1", 0)
    loopback.port = server.sockets[0].getsockname()[1]
    async with server:
        yield loopback


@pytest.fixture
async def server() -> AsyncIterator[LoopbackServer]:
    async with listening() as loopback:
        yield loopback


@pytest.fixture
async def other_server() -> AsyncIterator[LoopbackServer]:
    async with listening() as loopback:
        yield loopback


@dataclass
class Said:
    """Keeps what an observer receives."""

    notices: list[SourceEvent] = field(default_factory=list)

    def __call__(self, notice: SourceEvent) -> None:
        self.notices.append(notice)

    def of(self, kind: type) -> list[Any]:
        return [notice for notice in self.notices if isinstance(notice, kind)]


@pytest.fixture
def said() -> Said:
    return Said()


def described(paths: Mapping[str, Any], **parts: Any) -> dict[str, Any]:
    """A small document."""
    return {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": dict(paths)} | parts


Opener = Callable[..., Awaitable[OpenApiSource]]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens sources on documents given as values, and closes them afterwards."""
    sources: list[OpenApiSource] = []

    async def open_(
        document: Any, *, base_url: str | None = None, token: str | None = None, **settings: Any
    ) -> OpenApiSource:
        if not isinstance(document, str):
            path = tmp_path / "docs" / "openapi.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(document))
            document = str(path)
        credentials = settings.pop("credentials", {"*": SecretStr(token)} if token else {})
        built = OpenApiSettings(
            name="api", document=document, base_url=base_url, credentials=credentials, **{"timeout_s": 5.0} | settings
        )
        source = await OpenApiSource.open(built, clock=ManualClock())
        sources.append(source)
        return source

    yield open_
    for source in sources:
        await source.aclose()


@pytest.fixture
def tools() -> "ReplyTools":
    return ReplyTools()


class ReplyTools:
    """The builders of replies and documents, for tests that cannot import this file."""

    raw = staticmethod(raw)
    answer = staticmethod(answer)
    dripping = staticmethod(dripping)
    described = staticmethod(described)
