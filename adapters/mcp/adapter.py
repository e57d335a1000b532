"""An MCP server as a source: its tools, one request at a time, and what comes back.

Knows how connection, tools and results fit together, and when a lost connection is replaced. Importing it imports the
SDK, which takes seconds: do so where a server is used. Retries are for tools that only read; whatever else was under
way when a connection broke may have happened, and is left to whoever asked for it.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial

import httpx2
from mcp.types import Tool

from adapters.base import (
    ApprovalMode,
    CallResult,
    Effect,
    Json,
    JsonObject,
    OnEvent,
    PageAddress,
    ProgressReported,
    RequestPreview,
    RequestSent,
    RequestThrottled,
    RetryPlanned,
    RetryRefused,
    SkippedTool,
    SourceWarning,
    ToolList,
    ToolSpec,
    nobody,
)
from adapters.clock import Clock, SystemClock
from adapters.errors import (
    CircuitOpen,
    ConnectionFailed,
    InvalidRequest,
    SourceError,
    TimedOut,
    ToolFailed,
    UnknownTool,
)
from adapters.http.circuit_breaker import CircuitBreaker
from adapters.http.rate_limit import RateLimiter
from adapters.mcp.connection.errors import FailureContext, mask_of, tool_failed, void_result
from adapters.mcp.connection.sdk_bridge import cursor_of, listed, unusable_tools, usable_tools
from adapters.mcp.connection.session import McpConnection, ToolPage
from adapters.mcp.content.results import (
    ParsedResult,
    asks_for_input,
    is_error,
    is_put_off,
    is_void,
    read_result,
    texts_of,
    told_failure,
)
from adapters.mcp.settings import McpSettings
from adapters.mcp.tools import LIST_RESOURCES, READ_RESOURCE, placed, resource_specs, specs_of
from adapters.pagination import with_declared_types

_MAX_LIST_PAGES = 1000
_MOST_BARREN = 3
"""So many pages of the list in a row may bring no tool that is new: filters can leave pages empty."""
_TELLING_S = 0.5
_LARGE_CHARS = 500_000
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 10.0


class McpSource:
    """One MCP server. Make it with `open`, and close it in the end; calls may run side by side."""

    def __init__(
        self, settings: McpSettings, *, clock: Clock | None = None, jitter: Callable[[], float] = random.random
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._jitter = jitter
        self._pace, self._breaker = RateLimiter(self._clock), CircuitBreaker(self._clock)
        self._connection: McpConnection | None = None
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
        """All tools, page by page, anew where the server says that they changed.

        A list that does not end is cut where it brings nothing new, which is told in `left_out`.
        """
        connection = self._connection
        if self._listed is None or (connection is not None and connection.is_list_stale):
            self._listed = await self._list()
        return self._listed

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = nobody,
    ) -> CallResult:
        """Call a tool once, or, where it only reads, until it answers or the attempts are used up."""
        spec = await self._spec(tool)
        sent: JsonObject = dict(arguments)
        if page is not None:
            self._refuse_foreign(spec, page)
            if page.operation is not None:
                spec = await self._spec(page.operation)
                sent = {name: value for name, value in sent.items() if name in spec.parameters.get("properties", ())}
            sent = placed(sent, with_declared_types(page.arguments, spec.pagination), spec.parameters)
        started = self._clock.monotonic()
        raw, attempts = await self._attempts(spec, sent, observer)
        read = await self._read(spec, raw, observer)
        return CallResult(
            payload=read.payload,
            location=_location(spec),
            n_bytes=read.n_bytes,
            duration_s=self._clock.monotonic() - started,
            requests=attempts,
            flaw=read.flaw,
        )

    async def shown(self, tool: str, arguments: Mapping[str, Json]) -> RequestPreview:
        """What a call would send: the tool and its arguments, to the server as the settings name it."""
        spec, settings = await self._spec(tool), self._settings
        mask = mask_of(settings)
        server = mask.url(httpx2.URL(settings.url)) if settings.url else mask.text(" ".join(settings.command or ()))
        return RequestPreview(_location(spec), server, dict(arguments))

    async def aclose(self) -> None:
        """Close the connection, and with it a server that was started for it."""
        async with self._lock:
            if self._connection is not None:
                await self._connection.aclose()
                self._connection = None

    async def _connected(self) -> McpConnection:
        """The connection, made anew where there is none or it was lost."""
        async with self._lock:
            if self._connection is not None and self._connection.is_lost:
                await self._connection.aclose()
                self._connection = None
            if self._connection is None:
                self._connection = await McpConnection.open(self._settings, heard=self._pace.told)
            return self._connection

    def _refuse_foreign(self, spec: ToolSpec, page: PageAddress) -> None:
        """Raise for a page that only HTTP could ask for."""
        if page.url is None and not page.headers and not page.is_head:
            return
        where = mask_of(self._settings).text(page.url or "headers")
        raise InvalidRequest(
            f"tool '{spec.name}' names a next page by URL or headers, which an MCP server cannot be asked for",
            source=self.name,
            location=spec.locator,
            violations=(f"page: {where}",),
        )

    async def _list(self) -> ToolList:
        connection = await self._connected()
        connection.is_list_stale = False
        try:
            pages, cut = await self._tool_pages(connection)
        except ToolFailed as error:
            pages, cut = [], [SkippedTool("tools/list", f"MCP server '{self.name}' lists no tools: {error}")]
        tools = _once_each([tool for page in pages for tool in page.tools])
        settings = self._settings
        usable = specs_of(
            tools,
            source=self.name,
            read_tools=settings.read_tools,
            paging=settings.paging,
            page_sizes=settings.page_sizes,
        )
        leaves = settings.leaves
        specs = [replace(spec, leave=leaves.get(spec.locator, ApprovalMode.ASK)) for spec in usable.tools]
        if await self._has_resources(connection):
            specs += resource_specs(source=self.name, taken={spec.name for spec in specs})
        flawed = [part for page in pages for part in _flawed(page)]
        return ToolList(tuple(specs), (*usable.left_out, *flawed, *cut))

    async def _has_resources(self, connection: McpConnection) -> bool:
        """Whether there is any resource to read; many servers say that they have some and have none."""
        if not connection.offers_resources:
            return False
        try:
            return bool(listed(await connection.list_resources(None), "resources"))
        except SourceError:
            return False

    async def _tool_pages(self, connection: McpConnection) -> tuple[list[ToolPage], list[SkippedTool]]:
        """Every page of the list, until it ends, repeats a cursor, or brings no tool that is new."""
        pages: list[ToolPage] = []
        cursors: set[str] = set()
        names: set[str] = set()
        cursor: str | None = None
        n_barren = 0
        for _ in range(_MAX_LIST_PAGES):
            try:
                page = await connection.list_tools(cursor)
            except SourceError as error:
                if not pages:
                    raise
                why = f"its page '{cursor}' cannot be read: {error}"
                break
            cursor = cursor_of(page.raw)
            new = {tool["name"] for tool in usable_tools(page.raw)} - names
            if new or not pages:
                pages.append(page)
            if cursor is None:
                return pages, []
            names |= new
            n_barren = 0 if new else n_barren + 1
            if cursor in cursors or n_barren > _MOST_BARREN:
                why = f"it does not end, cursor '{cursor}' brings nothing new"
                break
            cursors.add(cursor)
        else:
            why = f"it does not end, there are more than {_MAX_LIST_PAGES} pages"
        why = f"the list of tools is not whole: {why}; {len(names)} tools were read"
        return pages, [SkippedTool("tools/list", why)]

    async def _spec(self, tool: str) -> ToolSpec:
        """The tool of that name; where there is none, the server may have changed its list."""
        known = self._listed or await self.list_tools()
        by_name = {spec.name: spec for spec in known.tools}
        if tool not in by_name:
            by_name = {spec.name: spec for spec in (await self.list_tools()).tools}
        if tool in by_name:
            return by_name[tool]
        near = get_close_matches(tool, by_name, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise UnknownTool(f"there is no tool '{tool}' in '{self.name}'{hint}", source=self.name, requests=0)

    async def _attempts(self, spec: ToolSpec, arguments: JsonObject, observer: OnEvent) -> tuple[JsonObject, int]:
        """The raw result and the number of requests it took."""
        limit = self._settings.max_attempts if spec.effect is Effect.READ else 1
        attempt = 1
        while True:
            try:
                return await self._watched(spec, arguments, observer), attempt
            except SourceError as error:
                error.requests = attempt
                is_later = (error.retry_after_s or 0.0) > _LONGEST_WAIT_S
                if not error.is_retryable or is_later or attempt >= limit:
                    raise
                attempt += 1
                wait_s = self._wait_s(error, attempt - 1)
                try:
                    observer(RetryPlanned(self.name, _location(spec), attempt, wait_s, f"{error.kind}: {error}"))
                except RetryRefused:
                    raise error from None
            await self._clock.sleep(wait_s)

    async def _watched(self, spec: ToolSpec, arguments: JsonObject, observer: OnEvent) -> JsonObject:
        """One request at the server's pace, unless the server is to be left alone for a while."""
        held_s = self._pace.claim_s()
        if held_s > 0:
            why = f"'{self.name}' says that it allows no more for now"
            observer(RequestThrottled(self.name, _location(spec), held_s, why))
            await self._clock.sleep(held_s)
        self._require_open(spec)
        observer(RequestSent(self.name, _location(spec)))
        try:
            raw = await self._once(spec, arguments, observer)
        except (ConnectionFailed, TimedOut) as error:
            self._breaker.failed(str(error))
            raise
        except SourceError:
            self._breaker.answered()
            raise
        except BaseException:
            self._breaker.left()
            raise
        self._breaker.answered()
        return raw

    def _require_open(self, spec: ToolSpec) -> None:
        left_s = self._breaker.open_for_s()
        if left_s is not None:
            text = f"the MCP server '{self.name}' is left alone for {left_s:.0f} s more: {self._breaker.why}"
            raise CircuitOpen(text, source=self.name, location=_location(spec), retry_after_s=left_s)

    async def _once(self, spec: ToolSpec, arguments: JsonObject, observer: OnEvent) -> JsonObject:
        connection = await self._connected()
        try:
            raw = await self._asked(connection, spec, arguments, observer)
        except ConnectionFailed:
            connection.is_lost = True
            raise
        around = FailureContext(settings=self._settings, location=_location(spec))
        if is_error(raw):
            raise tool_failed(around, "\n".join(texts_of(raw)))
        if spec.locator != READ_RESOURCE and (message := told_failure(raw)):
            raise tool_failed(around, message)
        if is_put_off(raw):
            raise tool_failed(around, "the server began a task in place of answering, and no task is waited for here")
        if asks_for_input(raw):
            raise tool_failed(around, "the server asks for more input before it answers, which nobody here can give")
        if spec.effect is Effect.READ and is_void(raw):
            raise void_result(around)
        return raw

    def _asked(
        self, connection: McpConnection, spec: ToolSpec, arguments: JsonObject, observer: OnEvent
    ) -> Awaitable[JsonObject]:
        latest = -_TELLING_S

        def told(done: float, total: float | None, text: str | None) -> None:
            nonlocal latest
            now = self._clock.monotonic()
            if now - latest < _TELLING_S and done != total:
                return
            latest = now
            said = mask_of(self._settings).text(text or "")
            observer(ProgressReported(self.name, _location(spec), done, total, said))

        if spec.locator == LIST_RESOURCES:
            return connection.list_resources(cursor_of({"nextCursor": arguments.get("cursor")}))
        if spec.locator == READ_RESOURCE:
            return connection.read_resource(str(arguments.get("uri", "")))
        return connection.call_tool(spec.locator, arguments, told, limit_s=self._settings.timeouts.get(spec.locator))

    def _wait_s(self, error: SourceError, attempt: int) -> float:
        """Full jitter over a doubling limit; what the server asked for goes first, within reason."""
        if error.retry_after_s is not None:
            return min(error.retry_after_s, _LONGEST_WAIT_S)
        limit_s: float = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (attempt - 1))
        return limit_s * self._jitter()

    async def _read(self, spec: ToolSpec, raw: JsonObject, observer: OnEvent) -> ParsedResult:
        """The payload and its size; a large result is read off the loop."""
        is_large = sum(map(len, texts_of(raw))) > _LARGE_CHARS
        is_paged = spec.pagination.position is not None
        reading = partial(read_result, raw, is_paged=is_paged)
        read = await asyncio.to_thread(reading) if is_large else reading()
        for code, text in read.oddities:
            self._warn(spec, code, f"tool '{spec.name}' {text}", observer)
        return read

    def _warn(self, spec: ToolSpec, code: str, text: str, observer: OnEvent) -> None:
        if (spec.name, code) not in self._warned:
            self._warned.add((spec.name, code))
            observer(SourceWarning(self.name, spec.name, code, text))


def _location(spec: ToolSpec) -> str:
    """What is asked for, as messages and the log name it."""
    return spec.locator if spec.locator in (LIST_RESOURCES, READ_RESOURCE) else f"tools/call {spec.locator}"


def _once_each(tools: Sequence[Tool]) -> list[Tool]:
    """The tools without those that a later page repeats word for word."""
    first: dict[str, Tool] = {}
    return [tool for tool in tools if first.setdefault(tool.name, tool) is tool or first[tool.name] != tool]


def _flawed(page: ToolPage) -> list[SkippedTool]:
    """What of a page is of no use: tools that are none, and those that the SDK refused."""
    taken = {tool.name for tool in page.tools}
    refused = [tool["name"] for tool in usable_tools(page.raw) if tool["name"] not in taken]
    why = "its arguments ask for HTTP headers in a form that the protocol forbids (x-mcp-header)"
    return [*unusable_tools(page.raw), *(SkippedTool(name, why) for name in refused)]
