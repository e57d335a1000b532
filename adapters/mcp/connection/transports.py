"""The transports to an MCP server: stdio, Streamable HTTP, and HTTP+SSE of protocol version 2024-11-05.

Also captures the stderr of a server process, for its log file and for error messages.
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
from adapters.mcp.connection.stdio import stdio_transport
from adapters.mcp.settings import McpSettings

_LOG = logging.getLogger(__name__)
_TAIL_CHARS = 1000
_MAX_LINE_CHARS = 2000
_MAX_LOG_BYTES = 1_000_000
_READ_SIZE = 65_536


@dataclass
class StderrTail:
    """The stderr of one server; `tail` is its end, at most 1,000 characters, without secrets."""

    name: str
    mask: SecretMask
    path: Path | None = None
    tail: str = ""
    n_bytes: int = 0
    _is_log_opened: bool = False
    _file: TextIO | None = field(default=None, repr=False)

    @asynccontextmanager
    async def capture(self) -> AsyncIterator[TextIO]:
        """The stream for the process to write to. Leaving the block reads the rest and closes everything."""
        read_end, write_end = os.pipe()
        loop = asyncio.get_running_loop()
        stream = asyncio.StreamReader(limit=_READ_SIZE)
        protocol = asyncio.StreamReaderProtocol(stream)
        transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(read_end, "rb", buffering=0))
        reader = asyncio.create_task(self._read_lines(stream), name=f"stderr of {self.name}")
        stream_for_process: TextIO = os.fdopen(write_end, "w", encoding="utf-8", errors="replace")
        try:
            yield stream_for_process
        finally:
            with suppress(OSError):
                stream_for_process.close()
            # A child of the server may keep the pipe open: its output is not waited for.
            await asyncio.wait({reader}, timeout=0.2)
            reader.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({reader})
            transport.close()
            if self._file is not None:
                self._file.close()

    async def _read_lines(self, stream: asyncio.StreamReader) -> None:
        """Process line by line; a very long line is processed in chunks."""
        rest = b""
        while data := await stream.read(_READ_SIZE):
            self.n_bytes += len(data)
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _MAX_LINE_CHARS:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._append(line)
        if rest:
            self._append(rest)

    def _append(self, line: bytes) -> None:
        text = self.mask.text(line.decode("utf-8", "replace").rstrip("\r"))[:_MAX_LINE_CHARS]
        self.tail = f"{self.tail}{text}\n"[-_TAIL_CHARS:]
        if self._file is None and not self._is_log_opened:
            self._open_log()
        if self._file is None or self.n_bytes > _MAX_LOG_BYTES:
            return
        try:
            self._file.write(f"{text}\n")
            self._file.flush()
        except OSError as error:
            _LOG.warning("the log of MCP server '%s' cannot be written: %s", self.name, error)
            self._file = None

    def _open_log(self) -> None:
        """Open the log file at the first line: most servers write nothing."""
        self._is_log_opened = True
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            _LOG.warning("the log of MCP server '%s' cannot be opened: %s", self.name, error)
            return
        self._file = os.fdopen(descriptor, "a", encoding="utf-8")


_MIN_READ_TIMEOUT_S = 300.0


class TransportOption(StrEnum):
    """How to reach a server. `STDIO_LEGACY` starts it again and sends nothing before the handshake."""

    STDIO = "stdio"
    STDIO_LEGACY = "stdio_legacy"
    HTTP = "http"
    HTTP_SSE = "http_sse"


OnResponse = Callable[[httpx2.Response], Awaitable[None]]


def transport_options(settings: McpSettings) -> tuple[TransportOption, ...]:
    """The transports in the order in which they are tried; the second is for servers of older versions."""
    return (
        (TransportOption.STDIO, TransportOption.STDIO_LEGACY)
        if settings.command
        else (TransportOption.HTTP, TransportOption.HTTP_SSE)
    )


async def create_transport(
    settings: McpSettings,
    option: TransportOption,
    *,
    stack: AsyncExitStack,
    stderr: StderrTail,
    on_response: OnResponse,
) -> Transport:
    """A transport that is not open yet; what it needs is entered on `stack`. `on_response` gets HTTP responses."""
    match option:
        case TransportOption.STDIO | TransportOption.STDIO_LEGACY:
            errlog = await stack.enter_async_context(stderr.capture())
            return stdio_transport(_server_parameters(settings), errlog=errlog, max_bytes=settings.max_bytes)
        case TransportOption.HTTP:
            client = await stack.enter_async_context(_http_client(settings, on_response))
            return streamable_http_client(settings.url or "", http_client=client, max_sse_event_size=settings.max_bytes)
        case TransportOption.HTTP_SSE:
            return sse_client(
                settings.url or "",
                headers=_request_headers(settings),
                timeout=settings.timeout_s,
                sse_read_timeout=max(_MIN_READ_TIMEOUT_S, settings.timeout_s),
                httpx_client_factory=_GuardedClientFactory(settings.url),
            )


def _server_parameters(settings: McpSettings) -> StdioServerParameters:
    """The parameters of the process; bytes that are not UTF-8 are replaced and do not end the connection."""
    program, *args = settings.command or ("",)
    return StdioServerParameters(
        command=program, args=args, env=dict(settings.env), cwd=settings.cwd, encoding_error_handler="replace"
    )


def _http_client(settings: McpSettings, on_response: OnResponse) -> httpx2.AsyncClient:
    """The HTTP client. The SDK follows redirects itself, within the origin only, so the token stays there.

    The read timeout is long because a session keeps a stream open; each request has its own time limit.
    """
    hide_secrets_in_http_logs()
    limits = httpx2.Timeout(settings.timeout_s, read=max(_MIN_READ_TIMEOUT_S, settings.timeout_s))
    client = RepairingClient(
        max_bytes=settings.max_bytes,
        has_endless_events=True,
        headers=_request_headers(settings),
        timeout=limits,
        event_hooks={"response": [on_response]},
    )
    return block_metadata_addresses(client, (settings.url,))


@dataclass(frozen=True, slots=True)
class _GuardedClientFactory:
    """Creates HTTP clients for the SDK that cannot reach internal addresses unless the user configured them.

    They do not follow redirects; the SDK does, within the origin only.
    """

    url: str | None

    def __call__(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """Create a client."""
        hide_secrets_in_http_logs()
        client = httpx2.AsyncClient(headers=headers, timeout=timeout or httpx2.Timeout(_MIN_READ_TIMEOUT_S), auth=auth)
        return block_metadata_addresses(client, (self.url,))


def _request_headers(settings: McpSettings) -> dict[str, str]:
    headers = dict(settings.headers)
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token}"
    return headers
