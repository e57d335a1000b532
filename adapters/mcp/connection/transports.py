"""The ways to an MCP server: a process over stdio, Streamable HTTP, and the two HTTP streams of 2024-11-05.

Knows the SDK's transports and the HTTP client that carries credentials. Knows no session.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TextIO

import httpx2
from mcp import StdioServerParameters
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from adapters.http.secret_mask import SecretMask, hide_secrets_in_http_logs
from adapters.http.url_safety import block_metadata_addresses
from adapters.mcp.connection.http_repair import RepairingClient
from adapters.mcp.connection.stdio import process_client
from adapters.mcp.settings import McpSettings

_LOG = logging.getLogger(__name__)
_LAST_WORDS = 1000
_LONGEST_LINE = 2000
_MOST_BYTES = 1_000_000
_AT_ONCE = 65_536


@dataclass
class StderrTail:
    """The stderr of one server; `last` is the end of it, at most 1,000 characters, free of secrets."""

    name: str
    mask: SecretMask
    path: Path | None = None
    last: str = ""
    n_bytes: int = 0
    _is_opened: bool = False
    _file: TextIO | None = field(default=None, repr=False)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[TextIO]:
        """The stream that the process writes to. Leaving the block reads what is still there, and closes all."""
        reading, writing = os.pipe()
        loop = asyncio.get_running_loop()
        stream = asyncio.StreamReader(limit=_AT_ONCE)
        protocol = asyncio.StreamReaderProtocol(stream)
        transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(reading, "rb", buffering=0))
        listener = asyncio.create_task(self._listen(stream), name=f"stderr of {self.name}")
        ours: TextIO = os.fdopen(writing, "w", encoding="utf-8", errors="replace")
        try:
            yield ours
        finally:
            with suppress(OSError):
                ours.close()
            # A child of the server may hold the pipe open: its words are not waited for.
            await asyncio.wait({listener}, timeout=0.2)
            listener.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({listener})
            transport.close()
            if self._file is not None:
                self._file.close()

    async def _listen(self, stream: asyncio.StreamReader) -> None:
        """Take line after line; what has no line ends is taken in pieces."""
        rest = b""
        while data := await stream.read(_AT_ONCE):
            self.n_bytes += len(data)
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._take(line)
        if rest:
            self._take(rest)

    def _take(self, line: bytes) -> None:
        text = self.mask.text(line.decode("utf-8", "replace").rstrip("\r"))[:_LONGEST_LINE]
        self.last = f"{self.last}{text}\n"[-_LAST_WORDS:]
        if self._file is None and not self._is_opened:
            self._open()
        if self._file is None or self.n_bytes > _MOST_BYTES:
            return
        try:
            self._file.write(f"{text}\n")
            self._file.flush()
        except OSError as error:
            _LOG.warning("the log of MCP server '%s' cannot be written: %s", self.name, error)
            self._file = None

    def _open(self) -> None:
        """Open the file, at the first line: most servers say nothing."""
        self._is_opened = True
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            _LOG.warning("the log of MCP server '%s' cannot be opened: %s", self.name, error)
            return
        self._file = os.fdopen(descriptor, "a", encoding="utf-8")


_READ_S = 300.0


class TransportOption(StrEnum):
    """How a server is reached. `STDIO_ANEW` starts it once more and asks nothing before the handshake."""

    STDIO = "stdio"
    STDIO_ANEW = "stdio_anew"
    HTTP = "http"
    TWO_STREAMS = "two_streams"


Heard = Callable[[httpx2.Response], Awaitable[None]]


def ways_to(settings: McpSettings) -> tuple[TransportOption, ...]:
    """The ways in the order in which they are tried; a later one only where the server knows nothing of the first."""
    return (
        (TransportOption.STDIO, TransportOption.STDIO_ANEW)
        if settings.command
        else (TransportOption.HTTP, TransportOption.TWO_STREAMS)
    )


async def transport_to(
    settings: McpSettings, way: TransportOption, *, stack: AsyncExitStack, words: StderrTail, heard: Heard
) -> Transport:
    """A transport that is not yet open; what it needs is entered on `stack`. `heard` sees every HTTP response."""
    match way:
        case TransportOption.STDIO | TransportOption.STDIO_ANEW:
            errlog = await stack.enter_async_context(words.listening())
            return process_client(_process(settings), errlog=errlog, max_bytes=settings.max_bytes)
        case TransportOption.HTTP:
            client = await stack.enter_async_context(_http(settings, heard))
            return streamable_http_client(settings.url or "", http_client=client, max_sse_event_size=settings.max_bytes)
        case TransportOption.TWO_STREAMS:
            return sse_client(
                settings.url or "",
                headers=_headers(settings),
                timeout=settings.timeout_s,
                sse_read_timeout=max(_READ_S, settings.timeout_s),
                httpx_client_factory=_GuardedClientFactory(settings.url),
            )


def _process(settings: McpSettings) -> StdioServerParameters:
    """The process; bytes that are no text are noise, and must not end the connection."""
    program, *args = settings.command or ("",)
    return StdioServerParameters(
        command=program, args=args, env=dict(settings.env), cwd=settings.cwd, encoding_error_handler="replace"
    )


def _http(settings: McpSettings, heard: Heard) -> httpx2.AsyncClient:
    """The HTTP client; the SDK follows redirects by itself, and within the origin only, so the token stays there.

    Reading may take long because a session keeps a stream open; every request has its own limit.
    """
    hide_secrets_in_http_logs()
    limits = httpx2.Timeout(settings.timeout_s, read=max(_READ_S, settings.timeout_s))
    client = RepairingClient(
        max_bytes=settings.max_bytes,
        has_endless_events=True,
        headers=_headers(settings),
        timeout=limits,
        event_hooks={"response": [heard]},
    )
    return block_metadata_addresses(client, (settings.url,))


@dataclass(frozen=True, slots=True)
class _GuardedClientFactory:
    """Makes the clients of the SDK as it would, and lets them reach no address that only the user may name.

    They follow no redirect by themselves; the SDK does, within the origin only.
    """

    url: str | None

    def __call__(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """A client."""
        hide_secrets_in_http_logs()
        client = httpx2.AsyncClient(headers=headers, timeout=timeout or httpx2.Timeout(_READ_S), auth=auth)
        return block_metadata_addresses(client, (self.url,))


def _headers(settings: McpSettings) -> dict[str, str]:
    headers = dict(settings.headers)
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token}"
    return headers
