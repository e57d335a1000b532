"""An MCP server as a source: its tools, one request at a time, and what comes back.

Knows how connection, tools and results fit together, and when a lost connection is replaced. Importing it imports the
SDK, which takes seconds: do so where a server is used. Retries are for tools that only read; whatever else was under
way when a connection broke may have happened, and is left to whoever asked for it.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from difflib import get_close_matches

import orjson
from mcp.types import CallToolResult, Tool

from adapters.base import (
    CallResult,
    Effect,
    Json,
    JsonObject,
    LeftOut,
    Observer,
    PageAddress,
    RequestSent,
    RetryPlanned,
    SourceWarning,
    ToolList,
    ToolSpec,
    nobody,
)
from adapters.clock import Clock, SystemClock
from adapters.errors import ConnectionFailed, InvalidRequest, SourceError, UnknownTool
from adapters.mcp.config import McpSettings
from adapters.mcp.failures import Circumstances, mask_of, tool_failed
from adapters.mcp.results import n_unread, payload_of, texts_of
from adapters.mcp.session import Connection
from adapters.mcp.tools import specs_of

_MAX_LIST_PAGES = 1000
_LARGE_BYTES = 1_000_000
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 10.0


class McpSource:
    """One MCP server. Make it with `open`, and close it in the end; calls may run side by side."""

    def __init__(
        self, settings: McpSettings, *, clock: Clock | None = None, jitter: Callable[[], float] = random.random
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._jitter = jitter
        self._connection: Connection | None = None
        self._lock = asyncio.Lock()
        self._listed: ToolList | None = None
        self._warned: set[tuple[str, str]] = set()

    @classmethod
    async def open(
        cls, settings: McpSettings, *, clock: Clock | None = None, jitter: Callable[[], float] = random.random
    ) -> "McpSource":
        """Connect. Raises SourceError where the server cannot be reached or refuses."""
        source = cls(settings, clock=clock, jitter=jitter)
        await source._connected()
        return source

    @property
    def name(self) -> str:
        """The name under which the settings know it."""
        return self._settings.name

    async def list_tools(self) -> ToolList:
        """All tools, page by page. A cursor that comes back ends the list and is told in `left_out`."""
        if self._listed is None:
            self._listed = await self._list()
        return self._listed

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: Observer = nobody,
    ) -> CallResult:
        """Call a tool once, or, where it only reads, until it answers or the attempts are used up."""
        spec = await self._spec(tool)
        if page is not None and page.url is not None:
            raise InvalidRequest(
                f"tool '{tool}' names a next page by URL, which an MCP server cannot be asked for",
                source=self.name,
                location=spec.locator,
                violations=(f"page: {mask_of(self._settings).text(page.url)}",),
            )
        sent = {**arguments, **(page.arguments if page else {})}
        started = self._clock.monotonic()
        result, attempts = await self._attempts(spec, sent, observer)
        payload, n_bytes = await self._read(spec, result, observer)
        return CallResult(
            payload=payload,
            location=f"tools/call {spec.locator}",
            n_bytes=n_bytes,
            duration_s=self._clock.monotonic() - started,
            requests=attempts,
        )

    async def aclose(self) -> None:
        """Close the connection, and with it a server that was started for it."""
        async with self._lock:
            if self._connection is not None:
                await self._connection.aclose()
                self._connection = None

    async def _connected(self) -> Connection:
        """The connection, made anew where there is none or it was lost."""
        async with self._lock:
            if self._connection is not None and self._connection.is_lost:
                await self._connection.aclose()
                self._connection = None
            if self._connection is None:
                self._connection = await Connection.open(self._settings)
            return self._connection

    async def _list(self) -> ToolList:
        connection = await self._connected()
        if not connection.offers_tools:
            return ToolList((), (LeftOut("tools", f"MCP server '{self.name}' offers no tools"),))
        tools: list[Tool] = []
        seen: set[str] = set()
        cursor: str | None = None
        for _ in range(_MAX_LIST_PAGES):
            page = await connection.list_tools(cursor)
            tools += page.tools
            cursor = page.next_cursor or None
            if cursor is None or cursor in seen:
                break
            seen.add(cursor)
        listed = specs_of(tools, source=self.name, read_tools=self._settings.read_tools)
        if cursor is None:
            return listed
        cut = LeftOut("tools/list", f"the list does not end: cursor '{cursor}' came again, or pages have no end")
        return ToolList(listed.tools, (*listed.left_out, cut))

    async def _spec(self, tool: str) -> ToolSpec:
        by_name = {spec.name: spec for spec in (await self.list_tools()).tools}
        if tool in by_name:
            return by_name[tool]
        near = get_close_matches(tool, by_name, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise UnknownTool(f"there is no tool '{tool}' in '{self.name}'{hint}", source=self.name, requests=0)

    async def _attempts(self, spec: ToolSpec, arguments: JsonObject, observer: Observer) -> tuple[CallToolResult, int]:
        """The result and the number of requests it took."""
        limit = self._settings.max_attempts if spec.effect is Effect.READ else 1
        attempt = 1
        while True:
            observer(RequestSent(self.name, f"tools/call {spec.locator}"))
            try:
                return await self._once(spec, arguments), attempt
            except SourceError as error:
                error.requests = attempt
                if not error.is_retryable or attempt >= limit:
                    raise
                wait_s = self._wait_s(error, attempt)
                why = f"{error.kind}: {error}"
            attempt += 1
            observer(RetryPlanned(self.name, f"tools/call {spec.locator}", attempt, wait_s, why))
            await self._clock.sleep(wait_s)

    async def _once(self, spec: ToolSpec, arguments: JsonObject) -> CallToolResult:
        connection = await self._connected()
        try:
            result = await connection.call_tool(spec.locator, arguments)
        except ConnectionFailed:
            connection.is_lost = True
            raise
        if result.is_error:
            around = Circumstances(settings=self._settings, location=f"tools/call {spec.locator}")
            raise tool_failed(around, "\n".join(texts_of(result.content)))
        return result

    def _wait_s(self, error: SourceError, attempt: int) -> float:
        """Full jitter over a doubling limit; what the server asked for goes first, within reason."""
        if error.retry_after_s is not None:
            return min(error.retry_after_s, _LONGEST_WAIT_S)
        limit_s: float = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (attempt - 1))
        return limit_s * self._jitter()

    async def _read(self, spec: ToolSpec, result: CallToolResult, observer: Observer) -> tuple[Json, int]:
        """The payload and its size; a large text is read off the loop."""
        n_bytes = sum(len(text.encode()) for text in texts_of(result.content))
        if n_unread(result.content):
            self._warn(spec, "content_not_text", f"tool '{spec.name}' returned content that is no text", observer)
        if n_bytes > _LARGE_BYTES:
            payload = await asyncio.to_thread(payload_of, result)
        else:
            payload = payload_of(result)
        return payload, n_bytes or len(orjson.dumps(payload, default=str))

    def _warn(self, spec: ToolSpec, code: str, text: str, observer: Observer) -> None:
        if (spec.name, code) not in self._warned:
            self._warned.add((spec.name, code))
            observer(SourceWarning(self.name, spec.name, code, text))
