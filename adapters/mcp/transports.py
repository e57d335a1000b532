"""The ways to an MCP server: a process over stdio, Streamable HTTP, and the two HTTP streams of 2024-11-05.

Knows the SDK's transports and the HTTP client that carries credentials. Knows no session.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum

import httpx2
from mcp import StdioServerParameters
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from adapters.addresses import guard
from adapters.masking import quiet_http_logs
from adapters.mcp.bodies import MendingClient
from adapters.mcp.config import McpSettings
from adapters.mcp.process import process_client
from adapters.mcp.stderr import ServerWords

_READ_S = 300.0


class Way(StrEnum):
    """How a server is reached. `STDIO_ANEW` starts it once more and asks nothing before the handshake."""

    STDIO = "stdio"
    STDIO_ANEW = "stdio_anew"
    HTTP = "http"
    TWO_STREAMS = "two_streams"


Heard = Callable[[httpx2.Response], Awaitable[None]]


def ways_to(settings: McpSettings) -> tuple[Way, ...]:
    """The ways in the order in which they are tried; a later one only where the server knows nothing of the first."""
    return (Way.STDIO, Way.STDIO_ANEW) if settings.command else (Way.HTTP, Way.TWO_STREAMS)


async def transport_to(
    settings: McpSettings, way: Way, *, stack: AsyncExitStack, words: ServerWords, heard: Heard
) -> Transport:
    """A transport that is not yet open; what it needs is entered on `stack`. `heard` sees every HTTP response."""
    match way:
        case Way.STDIO | Way.STDIO_ANEW:
            errlog = await stack.enter_async_context(words.listening())
            return process_client(_process(settings), errlog=errlog, max_bytes=settings.max_bytes)
        case Way.HTTP:
            client = await stack.enter_async_context(_http(settings, heard))
            return streamable_http_client(settings.url or "", http_client=client, max_sse_event_size=settings.max_bytes)
        case Way.TWO_STREAMS:
            return sse_client(
                settings.url or "",
                headers=_headers(settings),
                timeout=settings.timeout_s,
                sse_read_timeout=max(_READ_S, settings.timeout_s),
                httpx_client_factory=_Guarded(settings.url),
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
    quiet_http_logs()
    limits = httpx2.Timeout(settings.timeout_s, read=max(_READ_S, settings.timeout_s))
    client = MendingClient(
        max_bytes=settings.max_bytes,
        has_endless_events=True,
        headers=_headers(settings),
        timeout=limits,
        event_hooks={"response": [heard]},
    )
    return guard(client, (settings.url,))


@dataclass(frozen=True, slots=True)
class _Guarded:
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
        quiet_http_logs()
        client = httpx2.AsyncClient(headers=headers, timeout=timeout or httpx2.Timeout(_READ_S), auth=auth)
        return guard(client, (self.url,))


def _headers(settings: McpSettings) -> dict[str, str]:
    headers = dict(settings.headers)
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token}"
    return headers
