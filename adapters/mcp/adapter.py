"""An MCP server as a source: its tools, calls with retries, and the parsed results.

Importing this module imports the MCP SDK, which takes seconds, so it is imported only when a server is used. Only tools
that read are retried: a write that was interrupted by a lost connection may have happened.
"""

import asyncio
import random
from collections.abc import Awaitable, Mapping, Sequence
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
    PageAddress,
    RequestPreview,
    SkippedTool,
    ToolList,
    ToolSpec,
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
from adapters.http.retry import backoff_s
from adapters.mcp.connection.errors import FailureContext, empty_result_error, secret_mask_of, tool_error
from adapters.mcp.connection.sdk_bridge import cursor_of, list_member, unusable_tools, usable_tools
from adapters.mcp.connection.session import McpConnection, ToolPage
from adapters.mcp.content.results import (
    ParsedResult,
    error_in_result,
    is_deferred_task,
    is_empty_result,
    is_error,
    needs_input,
    parse_result,
    result_texts,
)
from adapters.mcp.settings import McpSettings
from adapters.mcp.tools import LIST_RESOURCES, READ_RESOURCE, resource_specs, tool_specs, with_page_arguments
from adapters.pagination import with_declared_types
from adapters.source_events import (
    OnEvent,
    ProgressReported,
    RequestSent,
    RequestThrottled,
    RetryPlanned,
    RetryRefused,
    SourceWarning,
    ignore_events,
)

_MAX_LIST_PAGES = 1000
_MAX_EMPTY_PAGES = 3
"""Pages in a row that add no tool before listing stops; filters can leave single pages empty."""
_PROGRESS_INTERVAL_S = 0.5
_LARGE_CHARS = 500_000
_MAX_DELAY_S = 10.0


class McpSource:
    """An MCP server. Create it with `open` and close it with `aclose`; calls may run concurrently."""

    def __init__(self, settings: McpSettings, *, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._rate_limiter, self._breaker = RateLimiter(self._clock), CircuitBreaker(self._clock)
        self._connection: McpConnection | None = None
        self._lock = asyncio.Lock()
        self._tools: ToolList | None = None
        self._warned: set[tuple[str, str]] = set()

    @classmethod
    async def open(cls, settings: McpSettings, *, clock: Clock | None = None) -> "McpSource":
        """Connect. Raises SourceError if the server cannot be reached or refuses the connection."""
        source = cls(settings, clock=clock)
        await source._connect()
        return source

    @property
    def name(self) -> str:
        """The name of the source in the settings."""
        return self._settings.name

    async def list_tools(self) -> ToolList:
        """All tools, from every page of the list; listed again after the server announces a change.

        Listing stops when pages add nothing new; `skipped` then says that the list is incomplete.
        """
        connection = self._connection
        if self._tools is None or (connection is not None and connection.is_list_stale):
            self._tools = await self._list()
        return self._tools

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ignore_events,
    ) -> CallResult:
        """Call a tool; a tool that only reads is retried up to the configured attempts."""
        spec = await self._find_tool(tool)
        sent: JsonObject = dict(arguments)
        if page is not None:
            self._reject_url_page(spec, page)
            if page.operation is not None:
                spec = await self._find_tool(page.operation)
                sent = {name: value for name, value in sent.items() if name in spec.parameters.get("properties", ())}
            sent = with_page_arguments(sent, with_declared_types(page.arguments, spec.pagination), spec.parameters)
        started = self._clock.monotonic()
        raw, attempts = await self._call_with_retries(spec, sent, observer)
        result = await self._parse(spec, raw, observer)
        return CallResult(
            payload=result.payload,
            location=_location(spec),
            n_bytes=result.n_bytes,
            duration_s=self._clock.monotonic() - started,
            requests=attempts,
            flaw=result.flaw,
        )

    async def preview_request(self, tool: str, arguments: Mapping[str, Json]) -> RequestPreview:
        """The request that a call would send: the tool, its arguments, and the server without secrets."""
        spec, settings = await self._find_tool(tool), self._settings
        mask = secret_mask_of(settings)
        server = mask.url(httpx2.URL(settings.url)) if settings.url else mask.text(" ".join(settings.command or ()))
        return RequestPreview(_location(spec), server, dict(arguments))

    async def aclose(self) -> None:
        """Close the connection and stop the server process, if one was started."""
        async with self._lock:
            if self._connection is not None:
                await self._connection.aclose()
                self._connection = None

    async def _connect(self) -> McpConnection:
        """The open connection; a missing or lost one is replaced."""
        async with self._lock:
            if self._connection is not None and self._connection.is_lost:
                await self._connection.aclose()
                self._connection = None
            if self._connection is None:
                self._connection = await McpConnection.open(self._settings, on_headers=self._rate_limiter.update)
            return self._connection

    def _reject_url_page(self, spec: ToolSpec, page: PageAddress) -> None:
        """Raise InvalidRequest for a page that is addressed by URL or headers."""
        if page.url is None and not page.headers and not page.is_head:
            return
        where = secret_mask_of(self._settings).text(page.url or "headers")
        raise InvalidRequest(
            f"tool '{spec.name}' returned a next page as a URL or headers, which MCP cannot request",
            source=self.name,
            location=spec.locator,
            violations=(f"page: {where}",),
        )

    async def _list(self) -> ToolList:
        connection = await self._connect()
        connection.is_list_stale = False
        try:
            pages, cut = await self._list_pages(connection)
        except ToolFailed as error:
            pages, cut = [], [SkippedTool("tools/list", f"MCP server '{self.name}' lists no tools: {error}")]
        tools = _without_repeats([tool for page in pages for tool in page.tools])
        settings = self._settings
        usable = tool_specs(
            tools,
            source=self.name,
            read_tools=settings.read_tools,
            paging=settings.paging,
            page_sizes=settings.page_sizes,
        )
        approval_modes = settings.approval_modes
        specs = [
            replace(
                spec,
                approval=approval_modes.get(spec.locator, ApprovalMode.ASK),
                description=settings.descriptions.get(spec.locator, spec.description),
            )
            for spec in usable.tools
        ]
        if await self._has_resources(connection):
            specs += resource_specs(source=self.name, taken={spec.name for spec in specs})
        flawed = [part for page in pages for part in _skipped_tools(page)]
        return ToolList(tuple(specs), (*usable.skipped, *flawed, *cut))

    async def _has_resources(self, connection: McpConnection) -> bool:
        """Whether the server lists any resource; many declare the capability and have none."""
        if not connection.offers_resources:
            return False
        try:
            return bool(list_member(await connection.list_resources(None), "resources"))
        except SourceError:
            return False

    async def _list_pages(self, connection: McpConnection) -> tuple[list[ToolPage], list[SkippedTool]]:
        """All pages of the list, until it ends, repeats a cursor, or stops adding tools."""
        pages: list[ToolPage] = []
        cursors: set[str] = set()
        names: set[str] = set()
        cursor: str | None = None
        n_empty = 0
        for _ in range(_MAX_LIST_PAGES):
            try:
                page = await connection.list_tools(cursor)
            except SourceError as error:
                if not pages:
                    raise
                reason = f"page '{cursor}' cannot be read: {error}"
                break
            cursor = cursor_of(page.raw)
            new = {tool["name"] for tool in usable_tools(page.raw)} - names
            if new or not pages:
                pages.append(page)
            if cursor is None:
                return pages, []
            names |= new
            n_empty = 0 if new else n_empty + 1
            if cursor in cursors or n_empty > _MAX_EMPTY_PAGES:
                reason = f"cursor '{cursor}' returns no new tools"
                break
            cursors.add(cursor)
        else:
            reason = f"it has more than {_MAX_LIST_PAGES} pages"
        reason = f"the list of tools is incomplete: {reason}; tools read: {len(names)}"
        return pages, [SkippedTool("tools/list", reason)]

    async def _find_tool(self, tool: str) -> ToolSpec:
        """The tool of that name; the list is read again if the name is unknown, because it may have changed."""
        tools = self._tools or await self.list_tools()
        by_name = {spec.name: spec for spec in tools.tools}
        if tool not in by_name:
            by_name = {spec.name: spec for spec in (await self.list_tools()).tools}
        if tool in by_name:
            return by_name[tool]
        similar = get_close_matches(tool, by_name, n=1)
        hint = f"; did you mean '{similar[0]}'?" if similar else ""
        raise UnknownTool(f"source '{self.name}' has no tool '{tool}'{hint}", source=self.name, requests=0)

    async def _call_with_retries(
        self, spec: ToolSpec, arguments: JsonObject, observer: OnEvent
    ) -> tuple[JsonObject, int]:
        """The raw result and the number of requests it took."""
        limit = self._settings.max_attempts if spec.effect is Effect.READ else 1
        attempt = 1
        while True:
            try:
                return await self._send_limited(spec, arguments, observer), attempt
            except SourceError as error:
                error.requests = attempt
                is_later = (error.retry_after_s or 0.0) > _MAX_DELAY_S
                if not error.is_retryable or is_later or attempt >= limit:
                    raise
                attempt += 1
                wait_s = self._retry_delay_s(error, attempt - 1)
                try:
                    observer(RetryPlanned(self.name, _location(spec), attempt, wait_s, f"{error.kind}: {error}"))
                except RetryRefused:
                    raise error from None
            await self._clock.sleep(wait_s)

    async def _send_limited(self, spec: ToolSpec, arguments: JsonObject, observer: OnEvent) -> JsonObject:
        """Send one request within the server's rate limit, unless the circuit breaker is open."""
        delay_s = self._rate_limiter.reserve_s()
        if delay_s > 0:
            reason = f"'{self.name}' has reached its rate limit"
            observer(RequestThrottled(self.name, _location(spec), delay_s, reason))
            await self._clock.sleep(delay_s)
        self._check_circuit(spec)
        observer(RequestSent(self.name, _location(spec)))
        try:
            raw = await self._request_once(spec, arguments, observer)
        except (ConnectionFailed, TimedOut) as error:
            self._breaker.record_failure(str(error))
            raise
        except SourceError:
            self._breaker.record_success()
            raise
        except BaseException:
            self._breaker.release()
            raise
        self._breaker.record_success()
        return raw

    def _check_circuit(self, spec: ToolSpec) -> None:
        remaining_s = self._breaker.open_for_s()
        if remaining_s is not None:
            text = f"MCP server '{self.name}' is paused for {remaining_s:.0f} s more: {self._breaker.reason}"
            raise CircuitOpen(text, source=self.name, location=_location(spec), retry_after_s=remaining_s)

    async def _request_once(self, spec: ToolSpec, arguments: JsonObject, observer: OnEvent) -> JsonObject:
        connection = await self._connect()
        try:
            raw = await self._start_request(connection, spec, arguments, observer)
        except ConnectionFailed:
            connection.is_lost = True
            raise
        context = FailureContext(settings=self._settings, location=_location(spec))
        if is_error(raw):
            raise tool_error(context, "\n".join(result_texts(raw)))
        if spec.locator != READ_RESOURCE and (message := error_in_result(raw)):
            raise tool_error(context, message)
        if is_deferred_task(raw):
            raise tool_error(
                context, "the server started a task instead of returning a result; MCP tasks are not supported"
            )
        if needs_input(raw):
            raise tool_error(context, "the server requires more input (elicitation), which is not supported")
        if spec.effect is Effect.READ and is_empty_result(raw):
            raise empty_result_error(context)
        return raw

    def _start_request(
        self, connection: McpConnection, spec: ToolSpec, arguments: JsonObject, observer: OnEvent
    ) -> Awaitable[JsonObject]:
        latest = -_PROGRESS_INTERVAL_S

        def report_progress(done: float, total: float | None, text: str | None) -> None:
            nonlocal latest
            now = self._clock.monotonic()
            if now - latest < _PROGRESS_INTERVAL_S and done != total:
                return
            latest = now
            message = secret_mask_of(self._settings).text(text or "")
            observer(ProgressReported(self.name, _location(spec), done, total, message))

        if spec.locator == LIST_RESOURCES:
            return connection.list_resources(cursor_of({"nextCursor": arguments.get("cursor")}))
        if spec.locator == READ_RESOURCE:
            return connection.read_resource(str(arguments.get("uri", "")))
        return connection.call_tool(
            spec.locator, arguments, report_progress, tool_timeout_s=self._settings.timeouts.get(spec.locator)
        )

    def _retry_delay_s(self, error: SourceError, attempt: int) -> float:
        """Exponential backoff with full jitter; Retry-After takes precedence, up to the maximum delay."""
        if error.retry_after_s is not None:
            return min(error.retry_after_s, _MAX_DELAY_S)
        return min(_MAX_DELAY_S, backoff_s(attempt - 1, jitter=random.random()))  # noqa: S311

    async def _parse(self, spec: ToolSpec, raw: JsonObject, observer: OnEvent) -> ParsedResult:
        """The parsed result; a large one is parsed in a thread."""
        is_large = sum(map(len, result_texts(raw))) > _LARGE_CHARS
        is_paged = spec.pagination.position is not None
        parse = partial(parse_result, raw, is_paged=is_paged)
        result = await asyncio.to_thread(parse) if is_large else parse()
        for code, text in result.warnings:
            self._warn(spec, code, f"tool '{spec.name}' {text}", observer)
        return result

    def _warn(self, spec: ToolSpec, code: str, text: str, observer: OnEvent) -> None:
        if (spec.name, code) not in self._warned:
            self._warned.add((spec.name, code))
            observer(SourceWarning(self.name, spec.name, code, text))


def _location(spec: ToolSpec) -> str:
    """The request as messages and the log name it."""
    return spec.locator if spec.locator in (LIST_RESOURCES, READ_RESOURCE) else f"tools/call {spec.locator}"


def _without_repeats(tools: Sequence[Tool]) -> list[Tool]:
    """The tools without exact repetitions on later pages."""
    first: dict[str, Tool] = {}
    return [tool for tool in tools if first.setdefault(tool.name, tool) is tool or first[tool.name] != tool]


def _skipped_tools(page: ToolPage) -> list[SkippedTool]:
    """The tools of a page that cannot be used: malformed ones, and those that the SDK refused."""
    accepted = {tool.name for tool in page.tools}
    refused = [tool["name"] for tool in usable_tools(page.raw) if tool["name"] not in accepted]
    reason = "its input schema has invalid x-mcp-header annotations"
    return [*unusable_tools(page.raw), *(SkippedTool(name, reason) for name in refused)]
