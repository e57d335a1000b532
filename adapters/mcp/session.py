"""One connection to one MCP server: opened and closed in a task of its own, used from any.

Knows the SDK's client and its two transports. Knows no tools, no retries and no results. The client holds task groups,
which only the task that opened them may close: `_own` is that task. Requests are made by the tasks that want them, so
that cancelling a caller cancels its request, at the server too, and nobody else's.
"""

import asyncio
import contextlib
import logging
import os
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import IO, TypeVar

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client import Transport
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult, Implementation, ListToolsResult

from adapters.base import JsonObject
from adapters.errors import SourceError
from adapters.masking import quiet_http_logs
from adapters.mcp.config import McpSettings
from adapters.mcp.failures import Circumstances, connection_failed, failure_of, timed_out

_LOG = logging.getLogger(__name__)
_CONNECTING = "connecting"
_LAST_WORDS = 1000
_STOPPING_S = 6.0
"""The SDK gives a server process 2 s to end by itself and 2 s to end when told, before it is killed."""
_READ_S = 300.0
_T = TypeVar("_T")

logging.getLogger("mcp").addHandler(logging.NullHandler())
"""Without a handler of its own, the SDK's log would reach the terminal by way of logging's last resort."""


@dataclass(eq=False)
class Connection:
    """A connection, from `open` to `aclose`. Once `is_lost`, every further request fails: open another one."""

    settings: McpSettings
    is_lost: bool = False
    _client: Client | None = None
    _owner: asyncio.Task[None] | None = None
    _scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _failure: SourceError | None = None
    _stderr: IO[str] | None = None
    _status: int | None = None

    @classmethod
    async def open(cls, settings: McpSettings) -> "Connection":
        """Connect and agree on a protocol, within twice the time limit: an old server is asked in two ways.

        Raises SourceError. A server process that was started is stopped again where that fails.
        """
        connection = cls(settings)
        connection._owner = asyncio.create_task(connection._own(), name=f"mcp {settings.name}")
        try:
            async with asyncio.timeout(2 * settings.timeout_s):
                await connection._settled.wait()
        except TimeoutError:
            failure: SourceError = timed_out(connection._around(_CONNECTING))
            await connection.aclose()
            raise failure from None
        except asyncio.CancelledError:
            await connection.aclose()
            raise
        if connection._failure is not None:
            raise connection._failure
        return connection

    @property
    def offers_tools(self) -> bool:
        """Whether the server says that it has tools at all."""
        return self._open_client.server_capabilities.tools is not None

    async def list_tools(self, cursor: str | None) -> ListToolsResult:
        """One page of the tool list."""
        return await self._bounded(self._open_client.list_tools(cursor=cursor), "tools/list")

    async def call_tool(self, name: str, arguments: JsonObject) -> CallToolResult:
        """Call a tool. The result is not measured against the tool's output schema: data that breaks it is data."""
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=arguments))
        sent = self._open_client.session.send_request(request, CallToolResult)
        return await self._bounded(sent, f"tools/call {name}")

    async def aclose(self) -> None:
        """Close in the owner's task and wait for it, as long as a process may take to stop. Raises nothing."""
        self.is_lost = True
        self._closing.set()
        owner = self._owner
        if owner is None or owner.done():
            return
        if not self._settled.is_set():
            self._scope.cancel()
        for _ in range(2):
            await asyncio.wait({owner}, timeout=max(_STOPPING_S, self.settings.timeout_s))
            if owner.done():
                return
            self._scope.cancel()
        _LOG.warning("MCP server '%s' could not be closed", self.settings.name)

    @property
    def _open_client(self) -> Client:
        if self._client is None or self.is_lost:
            raise connection_failed(self._around("sending"), "the connection is closed")
        return self._client

    async def _own(self) -> None:
        """The owner: everything of the SDK that must be entered and left in one task."""
        try:
            with self._scope:
                async with contextlib.AsyncExitStack() as stack:
                    transport = await self._transport(stack)
                    self._client = await stack.enter_async_context(self._sdk_client(transport))
                    self._settled.set()
                    await self._closing.wait()
        except Exception as error:
            self._failure = failure_of(error, self._around(_CONNECTING))
            _LOG.info("connection to MCP server '%s' ended: %s", self.settings.name, self._failure)
        finally:
            self.is_lost, self._client = True, None
            self._settled.set()
            if self._stderr is not None:
                self._stderr.close()

    async def _transport(self, stack: contextlib.AsyncExitStack) -> Transport:
        settings = self.settings
        if settings.command:
            self._stderr = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")  # noqa: SIM115
            program, *args = settings.command
            server = StdioServerParameters(command=program, args=args, env=dict(settings.env))
            return stdio_client(server, errlog=self._stderr)
        return streamable_http_client(
            settings.url or "", http_client=await stack.enter_async_context(self._http()), max_sse_event_size=None
        )

    def _http(self) -> httpx2.AsyncClient:
        """The HTTP client; the SDK follows redirects by itself, and within the origin only, so the token stays there.

        Reading may take long because a session keeps a stream open; every request has its own limit.
        """
        quiet_http_logs()
        headers = dict(self.settings.headers)
        if self.settings.token is not None:
            headers["Authorization"] = f"Bearer {self.settings.token}"
        limits = httpx2.Timeout(self.settings.timeout_s, read=max(_READ_S, self.settings.timeout_s))
        return httpx2.AsyncClient(headers=headers, timeout=limits, event_hooks={"response": [self._note_status]})

    async def _note_status(self, response: httpx2.Response) -> None:
        if response.status_code >= httpx2.codes.BAD_REQUEST:
            self._status = response.status_code

    def _sdk_client(self, transport: Transport) -> Client:
        return Client(
            transport,
            mode="auto",
            read_timeout_seconds=self.settings.timeout_s,
            client_info=Implementation(name="runax", version=_version()),
            cache=None,
        )

    async def _bounded(self, request: Awaitable[_T], location: str) -> _T:
        """Wait for a reply within the time limit, and translate how it fails."""
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                return await request
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            failure: SourceError = connection_failed(self._around(location), "the connection was lost")
        except Exception as error:
            failure = failure_of(error, self._around(location))
        raise failure

    def _around(self, location: str) -> Circumstances:
        return Circumstances(
            settings=self.settings,
            location=location,
            status=self._status,
            last_words=self._last_words(),
            is_connecting=location == _CONNECTING,
        )

    def _last_words(self) -> str:
        """The end of what the server wrote to stderr."""
        if self._stderr is None or self._stderr.closed:
            return ""
        descriptor = self._stderr.fileno()
        start = max(0, os.fstat(descriptor).st_size - _LAST_WORDS)
        return os.pread(descriptor, _LAST_WORDS, start).decode("utf-8", "replace")


def _version() -> str:
    try:
        return version("runax")
    except PackageNotFoundError:
        return "0"
