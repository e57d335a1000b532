"""Collections over MCP: a tool for each operation, with the same arguments and the same answers.

Knows the official SDK's server. What a convention says in headers stands beside the body: `{"headers", "body"}`; a
position that stands in URLs only is an argument here, since a client of MCP can follow no URL.
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
from mock_api.conventions.document import Declared, declared, example, input_schema, response_schema
from mock_api.conventions.page import Ask, Refused, Told, spelling_of
from mock_api.conventions.serving import Given, Log, Server, every_style, flattened
from mock_api.conventions.style import Collection

PATH = "/mcp"
_HEADERS = frozenset({"Range", "Prefer"})


@dataclass(frozen=True, slots=True)
class _Tool:
    """One operation of a collection; `route` is "" for its pages, else `count` or `next`."""

    name: str
    collection: Collection
    route: str
    description: str
    arguments: tuple[Declared, ...]
    output: JsonObject

    def described(self) -> types.Tool:
        """The tool as `tools/list` shows it."""
        return types.Tool(
            name=self.name,
            description=self.description,
            input_schema=input_schema(self.arguments),
            output_schema=self.output,
            annotations=types.ToolAnnotations(read_only_hint=True, idempotent_hint=self.route != "next"),
        )

    def ask(self, given: JsonObject) -> Ask:
        """The request that a call means. Raises Refused for an argument that does not exist."""
        arguments = flattened(given)
        unknown = sorted(set(arguments) - {each.path for each in self.arguments})
        if unknown:
            raise Refused(f"there is no argument '{unknown[0]}'")
        headers = {name.lower(): str(value) for name, value in arguments.items() if name in _HEADERS}
        url = f"http://mock{self.collection.path}?{urlencode({k: str(v) for k, v in arguments.items()})}"
        return Ask(arguments=arguments, url=url, headers=headers)


def _tools(collection: Collection) -> Iterator[_Tool]:
    spelling = spelling_of(collection)
    shown = declared(collection, is_position_shown=spelling.next_route is None)
    pages = _with_headers(collection, _as_object(response_schema(collection)))
    yield _Tool(collection.operation, collection, "", "List things.", shown, pages)
    if spelling.count_path:
        own = tuple(each for each in shown if each.path not in (spelling.position, spelling.size))
        name = collection.operation.replace("list_", "count_", 1)
        output: JsonObject = {"type": "object", "properties": {spelling.count_path: {"type": "integer"}}}
        yield _Tool(name, collection, "count", "Count things.", own, output)
    if spelling.next_route:
        text = "The `_scroll_id` of the answer before."
        position = Declared(spelling.position or "", "body", {"type": "string", "description": text})
        name = f"next_{collection.operation}"
        yield _Tool(name, collection, "next", "The next page of a scroll.", (position,), pages)


def _as_object(schema: JsonObject) -> JsonObject:
    return schema if schema["type"] == "object" else {"type": "object", "properties": {"result": schema}}


def _with_headers(collection: Collection, schema: JsonObject) -> JsonObject:
    names = example(collection).headers
    if not names:
        return schema
    headers = {"type": "object", "properties": {name.lower(): {"type": "string"} for name in names}}
    body = schema["properties"].get("result", schema)
    return {"type": "object", "properties": {"headers": headers, "body": body}}


def _result(tool: _Tool, told: Told) -> types.CallToolResult:
    content: Any = told.body
    if "headers" in tool.output["properties"]:
        content = {"headers": {name.lower(): value for name, value in told.headers.items()}, "body": told.body}
    text = types.TextContent(type="text", text=orjson.dumps(content).decode())
    structured = content if isinstance(content, dict) else {"result": content}
    return types.CallToolResult(content=[text], structured_content=structured)


class ConventionTools:
    """The tools of some collections (default: one of each style); what they give out is kept in `log`."""

    def __init__(self, collections: Sequence[Collection] | None = None, *, log: Log | None = None) -> None:
        served = every_style() if collections is None else collections
        self._tools = {tool.name: tool for collection in served for tool in _tools(collection)}
        self._server = Server(Log() if log is None else log)

    @property
    def names(self) -> frozenset[str]:
        """The names of the tools."""
        return frozenset(self._tools)

    def described(self) -> list[types.Tool]:
        """The tools as `tools/list` shows them."""
        return [tool.described() for tool in self._tools.values()]

    def call(self, params: types.CallToolRequestParams) -> types.CallToolResult:
        """The result of a call; what is refused comes back as an error of the tool."""
        try:
            return self._called(params)
        except Refused as refused:
            text = types.TextContent(type="text", text=str(refused))
            return types.CallToolResult(content=[text], is_error=True)

    def _called(self, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in self._tools:
            raise Refused(f"there is no tool '{params.name}'")
        tool = self._tools[params.name]
        ask = tool.ask(params.arguments or {})
        told = self._server.told(tool.collection, ask, route=tool.route)
        n_bytes = len(orjson.dumps(told.body))
        given = Given("tools/call", ask.url, dict(ask.arguments), told.status, told.ids, n_bytes)
        self._server.log.given.append(given)
        return _result(tool, told)


def create_conventions_mcp(
    collections: Sequence[Collection] | None = None, *, log: Log | None = None
) -> McpServer[Any]:
    """An MCP server with nothing but the tools of the collections."""
    tools = ConventionTools(collections, log=log)

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools.described())

    async def call_tool(
        _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return tools.call(params)

    return McpServer("conventions", version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)


def create_conventions_mcp_app(
    collections: Sequence[Collection] | None = None, *, log: Log | None = None, host: str = "127.0.0.1"
) -> ASGIApp:
    """That server over Streamable HTTP at `/mcp`; `host` is where it will listen."""
    return create_conventions_mcp(collections, log=log).streamable_http_app(streamable_http_path=PATH, host=host)
