"""The mock data over MCP: a tool for every operation of the HTTP API, with the same name and arguments.

Results are structured content, with the same JSON as text for old clients.
"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mock_api import pagination
from mock_api.app import default_resources
from mock_api.arguments import ArgumentSpec, InvalidArgumentValues, JsonObject, Scalar, with_defaults
from mock_api.conventions import Collection
from mock_api.conventions.mcp_tools import ConventionTools
from mock_api.pagination import PageData, PagingStyle
from mock_api.resources import Resource, estimate_tokens

PATH = "/mcp"


@dataclass(frozen=True, slots=True)
class _ResourceTool:
    """One operation: a list of a resource, or one record of it if `is_single`."""

    name: str
    resource: Resource
    arguments: tuple[ArgumentSpec, ...]
    is_single: bool = False

    def definition(self) -> types.Tool:
        """The tool as `tools/list` returns it."""
        return types.Tool(
            name=self.name,
            description=f"One of: {self.resource.description}" if self.is_single else self.resource.description,
            input_schema={
                "type": "object",
                "properties": {argument.name: argument.json_schema() for argument in self.arguments},
                "required": [self.arguments[0].name] if self.is_single else [],
                "additionalProperties": False,
            },
            output_schema=_output_schema(self),
            annotations=types.ToolAnnotations(read_only_hint=True, idempotent_hint=True),
        )


def _output_schema(tool: _ResourceTool) -> JsonObject:
    """The schema of a result without its records: clients validate every reply, which has to be fast."""
    if tool.is_single:
        return {"type": "object"}
    return pagination.body_schema(PagingStyle.OFFSET, tool.resource.name, {"type": "object"})


def _tools(resources: Sequence[Resource]) -> dict[str, _ResourceTool]:
    tools = []
    for resource in resources:
        arguments = (*resource.filters, *pagination.style_arguments(PagingStyle.OFFSET, has_metadata=True))
        tools.append(_ResourceTool(f"list_{resource.name}", resource, arguments))
        if resource.singular:
            text = f"The id of the {resource.singular}."
            id_argument = ArgumentSpec(name=f"{resource.singular}_id", kind="integer", description=text)
            tools.append(_ResourceTool(f"get_{resource.singular}", resource, (id_argument,), is_single=True))
    return {tool.name: tool for tool in tools}


def create_mcp_server(
    resources: Sequence[Resource] | None = None, *, collections: Sequence[Collection] = ()
) -> Server[Any]:
    """A server over `resources` (default: the fictional provider), with the tools of `collections`.

    The SDK's client can also use it in process.
    """
    conventions = ConventionTools(collections)
    tools = _tools(default_resources() if resources is None else resources)

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[*(tool.definition() for tool in tools.values()), *conventions.definitions()]
        )

    async def call_tool(
        _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name in conventions.names:
            return conventions.call(params)
        if params.name not in tools:
            return _error_result(f"unknown tool '{params.name}'; available: {', '.join(tools)}")
        try:
            body = await asyncio.to_thread(_call, tools[params.name], params.arguments or {})
        except InvalidArgumentValues as error:
            return _error_result(str(error))
        return types.CallToolResult(content=[_text_block(body.decode())], structured_content=orjson.loads(body))

    return Server("mock", version="1.0", on_list_tools=list_tools, on_call_tool=call_tool)


def _error_result(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[_text_block(message)], is_error=True)


def _text_block(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _call(tool: _ResourceTool, arguments: Mapping[str, object]) -> bytes:
    """The body that the HTTP API would return. Raises InvalidArgumentValues."""
    given = with_defaults(tool.arguments, arguments)
    return _get_record(tool, given) if tool.is_single else _list_records(tool.resource, given)


def _get_record(tool: _ResourceTool, given: Mapping[str, Scalar | None]) -> bytes:
    position = given[tool.arguments[0].name]
    if not isinstance(position, int) or position not in tool.resource.select({}):
        raise InvalidArgumentValues(f"there is no {tool.resource.singular} with the id {position}")
    return tool.resource.read([position])[0]


def _list_records(resource: Resource, given: Mapping[str, Scalar | None]) -> bytes:
    filters = {each.name: value for each in resource.filters if (value := given[each.name]) is not None}
    positions = resource.select(filters)
    if given["meta_only"]:
        tokens = estimate_tokens(resource, positions)
        return orjson.dumps(pagination.metadata_body(resource.name, len(positions), tokens))
    window = pagination.requested_window(PagingStyle.OFFSET, given)
    end = window.start + (window.size or len(positions))
    page = PageData(
        name=resource.name,
        records=[orjson.Fragment(record) for record in resource.read(positions[window.start : end])],
        window=window,
        total=len(positions),
        has_more=end < len(positions),
        url="",
    )
    return orjson.dumps(pagination.page_body(PagingStyle.OFFSET, page))


def create_mcp_app(
    resources: Sequence[Resource] | None = None,
    *,
    token: str | None = None,
    host: str = "127.0.0.1",
    collections: Sequence[Collection] = (),
) -> ASGIApp:
    """The server over Streamable HTTP at `/mcp`, with and without sessions; `host` is the address it will listen on.

    With `token`, every request needs that bearer token.
    """
    app = create_mcp_server(resources, collections=collections).streamable_http_app(
        streamable_http_path=PATH, host=host
    )
    return app if token is None else _require_token(app, token)


def _require_token(app: ASGIApp, token: str) -> ASGIApp:
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not secrets.compare_digest(given, expected):
            refusal = JSONResponse(
                {"error": "the bearer token is missing or wrong"}, 401, {"WWW-Authenticate": "Bearer"}
            )
            await refusal(scope, receive, send)
            return
        await app(scope, receive, send)

    return guarded


async def serve_stdio(resources: Sequence[Resource] | None = None, *, collections: Sequence[Collection] = ()) -> None:
    """Serve one client over stdin and stdout until it disconnects."""
    server = create_mcp_server(resources, collections=collections)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(serve_stdio())
