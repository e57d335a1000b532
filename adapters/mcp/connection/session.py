"""One connection to one MCP server, through the SDK's client.

The SDK's client holds task groups, which must be closed by the task that opened them: `_run` is that task. Requests are
sent by the tasks that need them, so that cancelling a caller cancels only its own request, also on the server.
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
from adapters.mcp.connection.errors import (
    FailureContext,
    connection_error,
    secret_mask_of,
    timeout_error,
    to_source_error,
)
from adapters.mcp.connection.sdk_bridge import SdkBridge, raw_result
from adapters.mcp.connection.transports import StderrTail, TransportOption, create_transport, transport_options
from adapters.mcp.settings import McpSettings

_LOG = logging.getLogger(__name__)
_CONNECTING = "connecting"
_STOP_TIMEOUT_S = 6.0
"""The SDK waits 2 s for a server process to exit and 2 s after terminating it, then kills it."""
_MAX_TIMEOUT_EXTENSIONS = 20
"""How many time limits a call may last while it reports progress."""
_FIRST_STATELESS_VERSION = "2026"
_T = TypeVar("_T")

Progress = Callable[[float, float | None, str | None], None]

# Without a handler, the SDK's log would reach the terminal through the logging module's handler of last resort.
logging.getLogger("mcp").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class ToolPage:
    """One page of the tool list: the tools that the SDK accepted, and the raw result."""

    tools: tuple[Tool, ...]
    raw: JsonObject


@dataclass(eq=False)
class McpConnection:
    """A connection, from `open` to `aclose`. Once `is_lost`, all further requests fail and it must be replaced.

    `on_headers` is called with the headers of every HTTP response. `is_list_stale` becomes True when the server
    announces that its tools have changed.
    """

    settings: McpSettings
    on_headers: Callable[[Mapping[str, str]], object]
    is_lost: bool = False
    is_list_stale: bool = False
    _client: Client | None = None
    _task: asyncio.Task[None] | None = None
    _scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _close_requested: asyncio.Event = field(default_factory=asyncio.Event)
    _failure: SourceError | None = None
    _bridge: SdkBridge | None = None
    _stderr: StderrTail = field(init=False)
    _status: int | None = None
    _retry_after_s: float | None = None

    def __post_init__(self) -> None:
        settings = self.settings
        path = settings.log_folder / f"mcp_{settings.file_name}.log" if settings.log_folder else None
        self._stderr = StderrTail(settings.name, secret_mask_of(settings), path)

    @classmethod
    async def open(cls, settings: McpSettings, *, on_headers: Callable[[Mapping[str, str]], object]) -> "McpConnection":
        """Connect and negotiate a protocol version, within twice the time limit, because two transports may be tried.

        Raises SourceError; a server process that was started is then stopped.
        """
        connection = cls(settings, on_headers)
        connection._task = asyncio.create_task(connection._run(), name=f"mcp {settings.name}")
        try:
            async with asyncio.timeout(2 * settings.timeout_s):
                await connection._ready.wait()
        except TimeoutError:
            failure: SourceError = timeout_error(connection._context(_CONNECTING))
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
        """Whether the server declares the resources capability."""
        return self._open_client.server_capabilities.resources is not None

    async def list_tools(self, cursor: str | None) -> ToolPage:
        """One page of the tool list."""
        page = await self._with_timeout(self._open_client.list_tools(cursor=cursor), "tools/list")
        return ToolPage(tuple(page.tools), raw_result(page))

    async def call_tool(
        self,
        name: str,
        arguments: JsonObject,
        on_progress: Progress | None = None,
        *,
        tool_timeout_s: float | None = None,
    ) -> JsonObject:
        """Call a tool and return its raw result, even if it violates the schema.

        Every progress notification restarts the time limit, up to 20 limits in total.
        """
        request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=arguments))
        timeout_s, now = tool_timeout_s or self.settings.timeout_s, asyncio.get_running_loop().time
        latest = now() + _MAX_TIMEOUT_EXTENSIONS * timeout_s
        deadline = asyncio.timeout(timeout_s)

        async def extend_deadline(progress: float, total: float | None, message: str | None) -> None:
            if not deadline.expired():
                deadline.reschedule(min(now() + timeout_s, latest))
            if on_progress is not None:
                on_progress(progress, total, message)

        reply = self._open_client.session.send_request(
            request,
            CallToolResult,
            request_read_timeout_seconds=_MAX_TIMEOUT_EXTENSIONS * timeout_s,
            progress_callback=extend_deadline,
        )
        return raw_result(
            await self._with_timeout(reply, f"tools/call {name}", deadline=deadline, tool_timeout_s=tool_timeout_s)
        )

    async def read_resource(self, uri: str) -> JsonObject:
        """The raw contents of a resource."""
        request = ReadResourceRequest(params=ReadResourceRequestParams(uri=uri))
        sent = self._open_client.session.send_request(request, ReadResourceResult)
        return raw_result(await self._with_timeout(sent, f"resources/read {uri}"))

    async def list_resources(self, cursor: str | None) -> JsonObject:
        """One raw page of the resource list."""
        request = ListResourcesRequest(params=PaginatedRequestParams(cursor=cursor))
        sent = self._open_client.session.send_request(request, ListResourcesResult)
        return raw_result(await self._with_timeout(sent, "resources/list"))

    async def aclose(self) -> None:
        """Close the connection and wait for its task, as long as a process may take to stop. Never raises."""
        self.is_lost = True
        self._close_requested.set()
        task = self._task
        if task is None or task.done():
            return
        if not self._ready.is_set():
            self._scope.cancel()
        for _ in range(2):
            await asyncio.wait({task}, timeout=max(_STOP_TIMEOUT_S, self.settings.timeout_s))
            if task.done():
                return
            self._scope.cancel()
        _LOG.warning("MCP server '%s' could not be closed", self.settings.name)

    @property
    def _has_session(self) -> bool:
        client = self._client
        return bool(self.settings.url and client is not None and client.protocol_version < _FIRST_STATELESS_VERSION)

    @property
    def _open_client(self) -> Client:
        if self._client is None or self.is_lost:
            raise connection_error(self._context("sending"), "the connection is closed")
        return self._client

    async def _run(self) -> None:
        """The task that owns the SDK's client: it tries the transports and waits until the connection is closed."""
        try:
            with self._scope:
                for option in transport_options(self.settings):
                    failure = await self._connect_by(option)
                    self._failure = self._failure or failure
                    if self._ready.is_set() or failure is None or not _should_try_next(failure, option):
                        break
        finally:
            self.is_lost, self._client = True, None
            self._ready.set()

    async def _connect_by(self, option: TransportOption) -> SourceError | None:
        """Connect by one transport and wait until the end; returns the failure that ended it."""
        try:
            async with contextlib.AsyncExitStack() as stack:
                transport = await create_transport(
                    self.settings, option, stack=stack, stderr=self._stderr, on_response=self._on_response
                )
                self._bridge = SdkBridge(transport)
                self._client = await stack.enter_async_context(self._sdk_client(self._bridge, option))
                async with anyio.create_task_group() as group:
                    group.start_soon(self._watch_tool_changes)
                    self._failure = None
                    self._ready.set()
                    await self._close_requested.wait()
                    group.cancel_scope.cancel()
        except Exception as error:
            failure = to_source_error(error, self._context(_CONNECTING))
            _LOG.info("connection to MCP server '%s' ended: %s", self.settings.name, failure)
            return failure
        return None

    async def _watch_tool_changes(self) -> None:
        """Watch a stateless server for changed tools; if that fails, tools are listed again at the next chance."""
        client = self._client
        tools = client.server_capabilities.tools if client is not None else None
        if (
            client is None
            or tools is None
            or not tools.list_changed
            or client.protocol_version < _FIRST_STATELESS_VERSION
        ):
            return
        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.is_list_stale = True
        except Exception as error:
            self.is_list_stale = True
            _LOG.info("MCP server '%s' no longer reports changed tools: %s", self.settings.name, error)

    async def _on_message(self, message: Any) -> None:
        """Notice changed tools of a server with sessions."""
        if isinstance(message, ToolListChangedNotification):
            self.is_list_stale = True

    async def _on_response(self, response: httpx2.Response) -> None:
        self.on_headers(response.headers)
        if response.status_code >= httpx2.codes.BAD_REQUEST:
            self._status = response.status_code
            self._retry_after_s = parse_retry_after(response.headers.get("retry-after"), now=time.time())

    def _sdk_client(self, wire: SdkBridge, option: TransportOption) -> Client:
        return Client(
            wire,
            mode="legacy" if option is TransportOption.STDIO_LEGACY else "auto",
            read_timeout_seconds=self.settings.timeout_s,
            client_info=Implementation(name="runax", version=_version()),
            message_handler=self._on_message,
            cache=None,
        )

    async def _with_timeout(
        self,
        request: Awaitable[_T],
        location: str,
        *,
        deadline: asyncio.Timeout | None = None,
        tool_timeout_s: float | None = None,
    ) -> _T:
        """Wait for a reply within the time limit, and translate exceptions to SourceError."""
        try:
            async with deadline or asyncio.timeout(self.settings.timeout_s):
                return await request
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            failure: SourceError = connection_error(self._context(location), "the connection was lost")
        except Exception as error:
            failure = to_source_error(error, replace(self._context(location), tool_timeout_s=tool_timeout_s))
        raise failure

    def _context(self, location: str) -> FailureContext:
        return FailureContext(
            settings=self.settings,
            location=location,
            status=self._status,
            server_output=self._output_tail(),
            is_connecting=location == _CONNECTING,
            has_session=self._has_session,
            retry_after_s=self._retry_after_s,
        )

    def _output_tail(self) -> str:
        """The end of the server's stderr, and the last line on stdout that was not a message."""
        bridge = self._bridge
        if bridge is None or not bridge.n_invalid:
            return self._stderr.tail
        noise = f"(lines on stdout that are not JSON-RPC: {bridge.n_invalid}, last: {bridge.last_invalid[:200]})"
        return f"{self._stderr.tail} {noise}"


def _should_try_next(failure: SourceError, option: TransportOption) -> bool:
    """Whether the failure suggests an older server: it does not know Streamable HTTP, or exited at the first request.

    Servers of older protocol versions may exit at any request before the handshake.
    """
    if option is TransportOption.STDIO:
        return isinstance(failure, ConnectionFailed) and failure.is_retryable
    return isinstance(failure, HttpStatusError) and failure.status in (400, 404, 405, 406)


def _version() -> str:
    try:
        return version("runax")
    except PackageNotFoundError:
        return "0"
