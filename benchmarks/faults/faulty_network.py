"""Serves an app over a connection that fails: real HTTP on loopback, byte by byte where needed.

The app processes every request first, so that it also counts responses that never arrive.
"""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate

import httpx2
from starlette.types import ASGIApp

from benchmarks.faults.network_plans import NetworkFault, NetworkPlan

_CLEAN = frozenset({"/openapi.json", "/v1/models"})
_DROPPED = frozenset({"content-length", "transfer-encoding", "connection"})
_BROKEN = (500, 502, 503, 504)
_PIECES = 12
_DRIP_INTERVAL_S = 0.002


@dataclass(slots=True)
class FaultyNetwork:
    """One server: the app, and the plan of faults. `injected_faults` are the faults so far, in order."""

    app: ASGIApp
    plan: NetworkPlan | None
    server: str
    requests: int = 0
    injected_faults: list[NetworkFault] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one exchange."""
        try:
            await self._exchange(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request, path = await _request(reader)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=self.app)) as client:
            response = await client.send(request)
        if self.plan is None or path in _CLEAN:
            await _write(writer, response)
            return
        self.requests += 1
        number = self.requests
        fault = self.plan.fault(self.server, number)
        await asyncio.sleep(self.plan.delay_s(self.server, number))
        if fault is None:
            await _write(writer, response)
            return
        self.injected_faults.append(fault)
        await _FAULTS[fault](_Exchange(number, response, reader, writer))


async def _request(reader: asyncio.StreamReader) -> tuple[httpx2.Request, str]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ", 2)
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:] if line)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    host = next((value for name, value in headers if name.lower() == "host"), "localhost")
    body = await reader.readexactly(length)
    kept = [(name, value) for name, value in headers if name.lower() != "accept-encoding"]
    return httpx2.Request(method, f"http://{host}{target}", headers=kept, content=body), target.partition("?")[0]


async def _write(
    writer: asyncio.StreamWriter, response: httpx2.Response, *, length: int | None = None, body: bytes | None = None
) -> None:
    """The response, announced with `length` bytes and sent with `body`; by default unchanged."""
    whole = response.content
    writer.write(_head(response, f"Content-Length: {len(whole) if length is None else length}"))
    writer.write(whole if body is None else body)
    await writer.drain()


def _head(response: httpx2.Response, framing: str) -> bytes:
    kept = [f"{name}: {value}" for name, value in response.headers.multi_items() if name.lower() not in _DROPPED]
    lines = [f"HTTP/1.1 {response.status_code} Played", *kept, *([framing] if framing else []), "Connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A response that is ready, and the connection on which it fails."""

    number: int
    response: httpx2.Response
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def half(self) -> bytes:
        """The first half of the body, at least one byte."""
        return self.response.content[: max(1, len(self.response.content) // 2)]


async def _too_many(at: _Exchange) -> None:
    await _refuse(at, 429, "Retry-After: 1")


async def _too_many_date(at: _Exchange) -> None:
    await _refuse(at, 429, f"Retry-After: {formatdate(time.time() + 2, usegmt=True)}")


async def _too_many_reset(at: _Exchange) -> None:
    await _refuse(at, 429, "RateLimit-Limit: 10\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 1")


async def _broken(at: _Exchange) -> None:
    await _refuse(at, _BROKEN[at.number % len(_BROKEN)], "X-Broken: yes")


async def _refuse(at: _Exchange, status: int, header: str) -> None:
    body = json.dumps({"error": {"message": "on purpose", "code": None}}).encode()
    head = (
        f"HTTP/1.1 {status} Played",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        header,
    )
    at.writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    await at.writer.drain()


async def _reset_before(at: _Exchange) -> None:
    at.writer.transport.abort()


async def _reset_within(at: _Exchange) -> None:
    await _write(at.writer, at.response, body=at.half)
    at.writer.transport.abort()


async def _cut(at: _Exchange) -> None:
    await _write(at.writer, at.response, body=at.half)


async def _cut_chunks(at: _Exchange) -> None:
    at.writer.write(_head(at.response, "Transfer-Encoding: chunked"))
    at.writer.write(b"%x\r\n%b\r\n" % (len(at.half), at.half))
    await at.writer.drain()


async def _cut_open(at: _Exchange) -> None:
    at.writer.write(_head(at.response, "") + at.half)
    await at.writer.drain()


async def _cut_packed(at: _Exchange) -> None:
    packed = gzip.compress(at.response.content)
    at.writer.write(_head(at.response, "Content-Encoding: gzip") + packed[: max(12, len(packed) - 5)])
    await at.writer.drain()


async def _nothing(at: _Exchange) -> None:
    at.writer.write(_head(at.response, ""))
    await at.writer.drain()


async def _drip(at: _Exchange) -> None:
    whole = at.response.content
    at.writer.write(_head(at.response, f"Content-Length: {len(whole)}"))
    step = max(1, -(-len(whole) // _PIECES))
    for start in range(0, len(whole), step):
        at.writer.write(whole[start : start + step])
        await at.writer.drain()
        await asyncio.sleep(_DRIP_INTERVAL_S)


async def _hang(at: _Exchange) -> None:
    """Send nothing until the client disconnects."""
    await at.reader.read()


_FAULTS: dict[NetworkFault, Callable[[_Exchange], Awaitable[None]]] = {
    NetworkFault.TOO_MANY: _too_many,
    NetworkFault.TOO_MANY_DATE: _too_many_date,
    NetworkFault.TOO_MANY_RESET: _too_many_reset,
    NetworkFault.BROKEN: _broken,
    NetworkFault.RESET_BEFORE: _reset_before,
    NetworkFault.RESET_WITHIN: _reset_within,
    NetworkFault.CUT: _cut,
    NetworkFault.CUT_CHUNKS: _cut_chunks,
    NetworkFault.CUT_OPEN: _cut_open,
    NetworkFault.CUT_PACKED: _cut_packed,
    NetworkFault.NOTHING: _nothing,
    NetworkFault.DRIP: _drip,
    NetworkFault.HANG: _hang,
}


@asynccontextmanager
async def serve_with_faults(
    app: ASGIApp, plan: NetworkPlan | None, *, server: str
) -> AsyncIterator[tuple[str, FaultyNetwork]]:
    """The base URL of `app` with the faults of `plan`; without a plan nothing fails."""
    wire = FaultyNetwork(app, plan, server)
    tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task: asyncio.Task[None] | None = asyncio.current_task()
        if task is not None:
            tasks[task] = writer
            task.add_done_callback(tasks.pop)
        await wire.serve(reader, writer)

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 20)
    try:
        host, port = listening.sockets[0].getsockname()[:2]
        yield f"http://{host}:{port}", wire
    finally:
        listening.close()
        connections = dict(tasks)
        for writer in connections.values():
            writer.transport.abort()
        await asyncio.gather(*connections)
