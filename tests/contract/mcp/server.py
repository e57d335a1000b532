"""A small MCP server for tests, on the SDK's own classes: every shape of result, and every way to fail.

    python server.py stdio [--handshake]
    python server.py http [--handshake] [--stateless] [--token TOKEN]     prints its port first

`--handshake` makes it a server of the revisions before 2026-07-28.
"""

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp import MCPError
from mcp.server import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.types import (
    METHOD_NOT_FOUND,
    CallToolRequestParams,
    CallToolResult,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    RequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

TICKETS = [{"id": n, "subject": f"Výpadek č. {n}", "customer_id": 4} for n in range(1, 262)]
PAGING = {
    "customer_id": {"type": "integer"},
    "offset": {"type": "integer", "minimum": 0, "default": 0},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
    "meta_only": {"type": "boolean", "default": False},
}
SLOW_STARTED, SLOW_CANCELLED = asyncio.Event(), asyncio.Event()


def tool(name: str, description: str = "", properties: dict[str, Any] | None = None, **more: Any) -> Tool:
    schema = {"type": "object", "properties": properties or {}, "required": list(more.pop("required", ()))}
    return Tool(name=name, description=description, input_schema=schema, **more)


TOOLS = [
    tool("get_tickets", "Tickets of a customer.", PAGING, required=["customer_id"]),
    tool("list_json_text", "Records as JSON text."),
    tool("list_python_text", "Records as Python text."),
    tool("list_wrapped", "Records inside {content: …}."),
    tool("list_blocks", "One block a record, beside structured content."),
    tool("list_only_blocks", "One block a record."),
    tool("read_note", "A text that is no JSON."),
    tool("get_picture", "No text at all."),
    tool(
        "get_broken",
        "Breaks its own output schema.",
        output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    ),
    tool("get_failure", "Fails."),
    tool("get_slowly", "Never answers in time."),
    tool("get_slow_started", "Answers when the slow call has begun."),
    tool("get_slow_cancelled", "Answers when the slow call was cancelled."),
    tool("get_once_crashed", "Kills the server at the first call.", {"marker": {"type": "string"}}),
    tool("create_ticket", "Kills the server.", {"marker": {"type": "string"}}),
    tool("get_large", "Three megabytes in one block."),
    tool("get_environment", "Names of environment variables."),
    tool("purge", "Drops everything.", annotations=ToolAnnotations(destructive_hint=True)),
    tool("a tool / with a very odd name " + "x" * 60, "Lists odd things."),
]


def text(*texts: str, **more: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=item) for item in texts], **more)


def tickets(arguments: dict[str, Any]) -> CallToolResult:
    if arguments.get("meta_only"):
        figures = {"data_path": "items", "tokens_estimation": 9000, "total_items": len(TICKETS)}
        return text(json.dumps(figures), structured_content=figures)
    offset, limit = arguments.get("offset", 0), arguments.get("limit", 20)
    page = {"items": TICKETS[offset : offset + limit], "total": len(TICKETS)}
    return text(json.dumps(page), structured_content=page)


def crash_once(arguments: dict[str, Any]) -> CallToolResult:
    marker = Path(arguments["marker"])
    if marker.exists():
        return text('{"attempt": 2}')
    marker.touch()
    sys.stderr.write("the last words of a dying server, token s3cr3t-value\n")
    sys.stderr.flush()
    os._exit(3)


async def slowly(_: dict[str, Any]) -> CallToolResult:
    SLOW_STARTED.set()
    try:
        await asyncio.Event().wait()
    finally:
        SLOW_CANCELLED.set()
    return text("never")


async def after(event: asyncio.Event) -> CallToolResult:
    await event.wait()
    return text("it has happened")


ROWS = [{"id": 1, "name": "Baláž"}, {"id": 2, "name": None}]
ANSWERS = {
    "get_tickets": tickets,
    "list_json_text": lambda _: text(json.dumps(ROWS)),
    "list_python_text": lambda _: text(repr(ROWS)),
    "list_wrapped": lambda _: text(json.dumps({"content": json.dumps(ROWS)})),
    "list_blocks": lambda _: text(*map(json.dumps, ROWS), structured_content={"result": ROWS}),
    "list_only_blocks": lambda _: text(*map(json.dumps, ROWS)),
    "read_note": lambda _: text("Just a note, 5 of them."),
    "get_picture": lambda _: CallToolResult(content=[ImageContent(type="image", data="AAAA", mime_type="image/png")]),
    "get_broken": lambda _: text('{"n": "no number"}', structured_content={"n": "no number"}),
    "get_failure": lambda _: text("no such customer: 999", is_error=True),
    "get_once_crashed": crash_once,
    "create_ticket": crash_once,
    "get_large": lambda _: text(json.dumps([{"id": n, "text": "ě" * 100} for n in range(15_000)], ensure_ascii=False)),
    "get_environment": lambda _: text(json.dumps(sorted(os.environ))),
}


async def list_tools(_: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    """Five tools per page."""
    start = int(params.cursor) if params and params.cursor else 0
    following = str(start + 5) if start + 5 < len(TOOLS) else None
    return ListToolsResult(tools=TOOLS[start : start + 5], next_cursor=following)


async def call_tool(_: Any, params: CallToolRequestParams) -> CallToolResult:
    if params.name == "get_slowly":
        return await slowly(params.arguments or {})
    if params.name in ("get_slow_started", "get_slow_cancelled"):
        return await after(SLOW_STARTED if params.name == "get_slow_started" else SLOW_CANCELLED)
    answer = ANSWERS.get(params.name)
    return answer(params.arguments or {}) if answer else text(f"Unknown tool: {params.name}", is_error=True)


async def no_discovery(_: Any, __: RequestParams) -> Any:
    raise MCPError(METHOD_NOT_FOUND, "Method not found")


def build(*, is_handshake: bool) -> Server[Any]:
    server: Server[Any] = Server("test-server", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    if is_handshake:
        server.add_request_handler("server/discover", RequestParams, no_discovery)
    return server


def guarded(app: Any, token: str | None) -> Any:
    """The application, protected by a bearer token."""

    async def check(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers") or ()).get(b"authorization")
        if scope["type"] == "http" and token is not None and given != f"Bearer {token}".encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return check


async def serve_stdio(server: Server[Any], *, is_handshake: bool) -> None:
    async with stdio_server() as (incoming, outgoing):
        if is_handshake:
            await serve_loop(server, incoming, outgoing, lifespan_state={})
        else:
            await server.run(incoming, outgoing, server.create_initialization_options())


class Announcing(uvicorn.Server):
    """Prints its port as soon as it listens."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        sys.stdout.write(f"{self.servers[0].sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("transport", choices=["stdio", "http"])
    parser.add_argument("--handshake", action="store_true")
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--token")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    server = build(is_handshake=options.handshake)
    sys.stderr.write("noise on stderr at the start\n")
    if options.transport == "stdio":
        asyncio.run(serve_stdio(server, is_handshake=options.handshake))
        return
    app = guarded(server.streamable_http_app(stateless_http=options.stateless), options.token)
    Announcing(uvicorn.Config(app, host="127.0.0.1", port=options.port, log_level="error")).run()


if __name__ == "__main__":
    main()
