"""One connection to one MCP server: opened and closed in a task of its own, used from any.

Knows the SDK's client. Knows no tools, no retries and no payloads. The client holds task groups, which only the task
that opened them may close: `_own` is that task. Requests are made by the tasks that want them, so that cancelling a
caller cancels its request, at the server too, and nobody else's.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

import anyio
import httpx2
from mcp import Client
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    ListResourcesRequest,
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequest,
    ReadResourceRequestParams,
    ReadResourceResult,
    Tool,
    ToolListChangedNotification,
)

from adapters.base import JsonObject
from adapters.errors import ConnectionFailed, HttpStatusError, SourceError
from adapters.http.retry import parse_retry_after
from adapters.mcp.connection.errors import FailureContext, connection_failed, failure_of, mask_of, timed_out
from adapters.mcp.connection.sdk_bridge import SdkBridge, raw_of
from adapters.mcp.connection.transports import StderrTail, TransportOption, transport_to, ways_to
from adapters.mcp.settings import McpSettings

_LOG = logging.getLogger(__name__)
_CONNECTING = "connecting"
_STOPPING_S = 6.0
"""The SDK gives a server process 2 s to end by itself and 2 s to end when told, before it is killed."""
_PATIENCE = 20
"""How many time limits a call may take that goes on telling of progress."""
_STATELESS = "2026"
_T = TypeVar("_T")

Progress = Callable[[float, float | None, str | None], None]

logging.getLogger("mcp").addHandler(logging.NullHandler())
"""Without a handler of its own, the SDK's log would reach the terminal by way of logging's last resort."""


@dataclass(frozen=True, slots=True)
class ToolPage:
    """One page of the tool list: the tools that the SDK took, and the result as it came."""

    tools: tuple[Tool, ...]
    raw: JsonObject


@dataclass(eq=False)
class McpConnection:
    """A connection, from `open` to `aclose`. Once `is_lost`, every further request fails: open another one.

    `heard` is told the headers of every answer over HTTP.
    `is_list_stale` turns True when the server says that its tools have changed.
    """

    settings: McpSettings
    heard: Callable[[Mapping[str, str]], object]
    is_lost: bool = False
    is_list_stale: bool = False
    _client: Client | None = None
    _owner: asyncio.Task[None] | None = None
    _scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _failure: SourceError | None = None
    _wire: SdkBridge | None = None
    _words: StderrTail = field(init=False)
    _status: int | None = None
    _retry_after_s: float | None = None

    def __post_init__(self) -> None:
        settings = self.settings
        path = settings.log_folder / f"mcp_{settings.file_name}.log" if settings.log_folder else None
        self._words = StderrTail(settings.name, mask_of(settings), path)

    @classmethod
    async def open(cls, settings: McpSettings, *, heard: Callable[[Mapping[str, str]], object]) -> "McpConnection":
        """Connect and agree on a protocol, within twice the time limit: an old server is asked in two ways.

        Raises SourceError. A server process that was started is stopped again where that fails.
        """
        connection = cls(settings, heard)
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
    def offers_resources(self) -> bool:
        """Whether the server says that it has resources."""
        return self._open_client.server_capabilities.resources is not None

    async def list_tools(self, cursor: str | None) -> ToolPage:
        """One page of the tool list."""
        page = await self._bounded(self._open_client.list_tools(cursor=cursor), "tools/list")
        return ToolPage(tuple(page.tools), raw_of(page))

    async def call_tool(
        self, name: str, arguments: JsonObject, told: Progress | None = None, *, limit_s: float | None = None
    ) -> JsonObject:
        """Call a tool and return its raw result, whatever its schema says: data that breaks it is data.

        Every sign of progress gives the call its time limit anew, up to 20 of them in all.
        """
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=arguments))
        most_s, now = limit_s or self.settings.timeout_s, asyncio.get_running_loop().time
        latest = now() + _PATIENCE * most_s
        deadline = asyncio.timeout(most_s)

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            if not deadline.expired():
                deadline.reschedule(min(now() + most_s, latest))
            if told is not None:
                told(progress, total, message)

        sent = self._open_client.session.send_request(
            request, CallToolResult, request_read_timeout_seconds=_PATIENCE * most_s, progress_callback=heard
        )
        return raw_of(await self._bounded(sent, f"tools/call {name}", deadline=deadline, own_limit_s=limit_s))

    async def read_resource(self, uri: str) -> JsonObject:
        """The raw contents of a resource."""
        request = ReadResourceRequest(params=ReadResourceRequestParams(uri=uri))
        sent = self._open_client.session.send_request(request, ReadResourceResult)
        return raw_of(await self._bounded(sent, f"resources/read {uri}"))

    async def list_resources(self, cursor: str | None) -> JsonObject:
        """One raw page of the list of resources."""
        request = ListResourcesRequest(params=PaginatedRequestParams(cursor=cursor))
        sent = self._open_client.session.send_request(request, ListResourcesResult)
        return raw_of(await self._bounded(sent, "resources/list"))

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
    def _has_session(self) -> bool:
        client = self._client
        return bool(self.settings.url and client is not None and client.protocol_version < _STATELESS)

    @property
    def _open_client(self) -> Client:
        if self._client is None or self.is_lost:
            raise connection_failed(self._around("sending"), "the connection is closed")
        return self._client

    async def _own(self) -> None:
        """The owner: everything of the SDK that must be entered and left in one task."""
        try:
            with self._scope:
                for way in ways_to(self.settings):
                    failure = await self._serve(way)
                    self._failure = self._failure or failure
                    if self._settled.is_set() or failure is None or not _is_unknown_way(failure, way):
                        break
        finally:
            self.is_lost, self._client = True, None
            self._settled.set()

    async def _serve(self, way: TransportOption) -> SourceError | None:
        """Connect by one way and stay until the end; the failure that ended it."""
        try:
            async with contextlib.AsyncExitStack() as stack:
                transport = await transport_to(
                    self.settings, way, stack=stack, words=self._words, heard=self._note_status
                )
                self._wire = SdkBridge(transport)
                self._client = await stack.enter_async_context(self._sdk_client(self._wire, way))
                async with anyio.create_task_group() as group:
                    group.start_soon(self._listen)
                    self._failure = None
                    self._settled.set()
                    await self._closing.wait()
                    group.cancel_scope.cancel()
        except Exception as error:
            failure = failure_of(error, self._around(_CONNECTING))
            _LOG.info("connection to MCP server '%s' ended: %s", self.settings.name, failure)
            return failure
        return None

    async def _listen(self) -> None:
        """Hear of changed tools from a stateless server; where that fails, they are listed again at the next chance."""
        client = self._client
        tools = client.server_capabilities.tools if client is not None else None
        if client is None or tools is None or not tools.list_changed or client.protocol_version < _STATELESS:
            return
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.is_list_stale = True
        except Exception as error:
            self.is_list_stale = True
            _LOG.info("MCP server '%s' tells no more of changed tools: %s", self.settings.name, error)

    async def _hear(self, message: Any) -> None:
        """Hear of changed tools from a server with sessions."""
        if isinstance(message, ToolListChangedNotification):
            self.is_list_stale = True

    async def _note_status(self, response: httpx2.Response) -> None:
        self.heard(response.headers)
        if response.status_code >= httpx2.codes.BAD_REQUEST:
            self._status = response.status_code
            self._retry_after_s = parse_retry_after(response.headers.get("retry-after"), now=time.time())

    def _sdk_client(self, wire: SdkBridge, way: TransportOption) -> Client:
        return Client(
            wire,
            mode="legacy" if way is TransportOption.STDIO_ANEW else "auto",
            read_timeout_seconds=self.settings.timeout_s,
            client_info=Implementation(name="runax", version=_version()),
            message_handler=self._hear,
            cache=None,
        )

    async def _bounded(
        self,
        request: Awaitable[_T],
        location: str,
        *,
        deadline: asyncio.Timeout | None = None,
        own_limit_s: float | None = None,
    ) -> _T:
        """Wait for a reply within the time limit, and translate how it fails."""
        try:
            async with deadline or asyncio.timeout(self.settings.timeout_s):
                return await request
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            failure: SourceError = connection_failed(self._around(location), "the connection was lost")
        except Exception as error:
            failure = failure_of(error, replace(self._around(location), own_limit_s=own_limit_s))
        raise failure

    def _around(self, location: str) -> FailureContext:
        return FailureContext(
            settings=self.settings,
            location=location,
            status=self._status,
            last_words=self._last_words(),
            is_connecting=location == _CONNECTING,
            has_session=self._has_session,
            retry_after_s=self._retry_after_s,
        )

    def _last_words(self) -> str:
        """The end of what the server wrote to stderr, and what it wrote to stdout beside its messages."""
        wire = self._wire
        if wire is None or not wire.n_spoiled:
            return self._words.last
        noise = f"({wire.n_spoiled} lines on stdout were no messages, the last: {wire.last_spoiled[:200]})"
        return f"{self._words.last} {noise}"


def _is_unknown_way(failure: SourceError, way: TransportOption) -> bool:
    """Whether a server refused Streamable HTTP as one does that never heard of it, or ended at the first question.

    Servers of the older revisions may end at whatever is no handshake.
    """
    if way is TransportOption.STDIO:
        return isinstance(failure, ConnectionFailed) and failure.is_retryable
    return isinstance(failure, HttpStatusError) and failure.status in (400, 404, 405, 406)


def _version() -> str:
    try:
        return version("runax")
    except PackageNotFoundError:
        return "0"
