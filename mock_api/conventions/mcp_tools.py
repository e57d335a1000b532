"""Collections over MCP: a tool for each operation, with the arguments and responses of the HTTP API.

Headers are returned with the body, as `{"headers", "body"}`. A position that appears only in URLs is an argument
here, because an MCP client cannot follow URLs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server as McpServer
from starlette.types import ASGIApp

from mock_api.arguments import JsonObject
from mock_api.conventions.collection import Collection
from mock_api.conventions.document import (
    DeclaredArgument,
    declared_arguments,
    example_response,
    input_schema,
    response_schema,
)
from mock_api.conventions.http_app import ConventionServer, LoggedResponse, RequestLog, all_conventions, flatten
from mock_api.conventions.request import ConventionRequest, ConventionResponse, RequestRejected, spec_of

PATH = "/mcp"
_HEADERS = frozenset({"Range", "Prefer"})


@dataclass(frozen=True, slots=True)
class _ConventionTool:
    """One operation of a collection; `route` is "" for its pages, else `count` or `next`."""

    name: str
    collection: Collection
    route: str
    description: str
    arguments: tuple[DeclaredArgument, ...]
    output: JsonObject

    def definition(self) -> types.Tool:
        """The tool as `tools/list` returns it."""
        return types.Tool(
            name=self.name,
            description=self.description,
            input_schema=input_schema(self.arguments),
            output_schema=self.output,
            annotations=types.ToolAnnotations(read_only_hint=True, idempotent_hint=self.route != "next"),
        )

    def request(self, given: JsonObject) -> ConventionRequest:
        """The request that a call represents. Raises RequestRejected for an unknown argument."""
        arguments = flatten(given)
        unknown = sorted(set(arguments) - {argument.path for argument in self.arguments})
        if unknown:
            raise RequestRejected(f"unknown argument '{unknown[0]}'")
        headers = {name.lower(): str(value) for name, value in arguments.items() if name in _HEADERS}
        url = f"http://mock{self.collection.path}?{urlencode({k: str(v) for k, v in arguments.items()})}"
        return ConventionRequest(arguments=arguments, url=url, headers=headers)


def _tools_of(collection: Collection) -> Iterator[_ConventionTool]:
    spec = spec_of(collection)
    shown = declared_arguments(collection, is_position_shown=spec.next_route is None)
    pages = _with_headers(collection, _as_object(response_schema(collection)))
    yield _ConventionTool(collection.operation, collection, "", "List things.", shown, pages)
    if spec.count_path:
        own = tuple(each for each in shown if each.path not in (spec.position, spec.size))
        name = collection.operation.replace("list_", "count_", 1)
        output: JsonObject = {"type": "object", "properties": {spec.count_path: {"type": "integer"}}}
        yield _ConventionTool(name, collection, "count", "Count things.", own, output)
    if spec.next_route:
        text = "The `_scroll_id` of the answer before."
        position = DeclaredArgument(spec.position or "", "body", {"type": "string", "description": text})
        name = f"next_{collection.operation}"
        yield _ConventionTool(name, collection, "next", "The next page of a scroll.", (position,), pages)


def _as_object(schema: JsonObject) -> JsonObject:
    return schema if schema["type"] == "object" else {"type": "object", "properties": {"result": schema}}


def _with_headers(collection: Collection, schema: JsonObject) -> JsonObject:
    names = example_response(collection).headers
    if not names:
        return schema
    headers = {"type": "object", "properties": {name.lower(): {"type": "string"} for name in names}}
    body = schema["properties"].get("result", schema)
    return {"type": "object", "properties": {"headers": headers, "body": body}}


def _tool_result(tool: _ConventionTool, response: ConventionResponse) -> types.CallToolResult:
    content: Any = response.body
    if "headers" in tool.output["properties"]:
        content = {"headers": {name.lower(): value for name, value in response.headers.items()}, "body": response.body}
    text = types.TextContent(type="text", text=orjson.dumps(content).decode())
    structured = content if isinstance(content, dict) else {"result": content}
    return types.CallToolResult(content=[text], structured_content=structured)


class ConventionTools:
    """The tools of some collections (default: one of each style); what they give out is kept in `log`."""

    def __init__(self, collections: Sequence[Collection] | None = None, *, log: RequestLog | None = None) -> None:
        served = all_conventions() if collections is None else collections
        self._tools = {tool.name: tool for collection in served for tool in _tools_of(collection)}
        self._server = ConventionServer(RequestLog() if log is None else log)

    @property
    def names(self) -> frozenset[str]:
        """The names of the tools."""
        return frozenset(self._tools)

    def definitions(self) -> list[types.Tool]:
        """The tools as `tools/list` returns them."""
        return [tool.definition() for tool in self._tools.values()]

    def call(self, params: types.CallToolRequestParams) -> types.CallToolResult:
        """The result of a call; a rejected request becomes an error result."""
        try:
            return self._run(params)
        except RequestRejected as error:
            text = types.TextContent(type="text", text=str(error))
            return types.CallToolResult(content=[text], is_error=True)

    def _run(self, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in self._tools:
            raise RequestRejected(f"unknown tool '{params.name}'")
        tool = self._tools[params.name]
        request = tool.request(params.arguments or {})
        response = self._server.respond(tool.collection, request, route=tool.route)
        n_bytes = len(orjson.dumps(response.body))
        log_entry = LoggedResponse(
            "tools/call", request.url, dict(request.arguments), response.status, response.ids, n_bytes
        )
        self._server.log.responses.append(log_entry)
        return _tool_result(tool, response)


def create_conventions_mcp(
    collections: Sequence[Collection] | None = None, *, log: RequestLog | None = None
) -> McpServer[Any]:
    """An MCP server with only the tools of the collections."""
    tools = ConventionTools(collections, log=log)

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools.definitions())

    async def call_tool(
        _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return tools.call(params)

    return McpServer("conventions", version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)


def create_conventions_mcp_app(
    collections: Sequence[Collection] | None = None, *, log: RequestLog | None = None, host: str = "127.0.0.1"
) -> ASGIApp:
    """That server over Streamable HTTP at `/mcp`; `host` is where it will listen."""
    return create_conventions_mcp(collections, log=log).streamable_http_app(streamable_http_path=PATH, host=host)
