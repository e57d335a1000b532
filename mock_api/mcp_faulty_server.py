"""Serves the faulty MCP server of `mcp_faults` over stdio, or over HTTP with JSON or SSE responses.

python -m mock_api.mcp_faulty_server stdio --fault python_text
python -m mock_api.mcp_faulty_server http --sse --fault session_forgotten       prints its port first
"""

import argparse
import asyncio
import gzip
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from mock_api.mcp_faults import FaultyMcpServer, McpFault

_NOISE = b'Server listening...\n\xff\xfe not text\n{"jsonrpc": "2.0", "half": \n[]\n'
_FOREIGN_URL = "http://127.0.0.2:9/mcp"


def serve_stdio(server: FaultyMcpServer, *, delay_s: float) -> None:
    """Reply line by line until stdin ends."""
    if server.has(McpFault.NEVER_STARTS):
        sys.stdin.read()
        return
    if server.has(McpFault.SLOW_START):
        time.sleep(delay_s)
    if server.has(McpFault.NOISE_ON_STDERR):
        sys.stderr.write("a line of noise that nobody reads\n" * 60_000)
        sys.stderr.flush()
    for line in sys.stdin:
        if server.has(McpFault.NOISE_ON_STDOUT):
            sys.stdout.buffer.write(_NOISE)
        for response in server.responses_to(json.loads(line)):
            sys.stdout.buffer.write(json.dumps(response).encode() + b"\n")
        sys.stdout.buffer.flush()


def create_app(server: FaultyMcpServer, *, is_sse: bool) -> Starlette:
    """The server at `/mcp`."""
    sessions: dict[str, int] = {}

    async def posted(request: Request) -> Response:
        message = await request.json()
        refusal = _faulty_response(server, request, message, sessions, is_sse=is_sse)
        if refusal is not None:
            return refusal
        responses = list(server.responses_to(message))
        if "id" not in message:
            return Response(status_code=202)
        if not responses:
            await asyncio.Event().wait()
        return _reply(responses, is_sse=is_sse, headers=_session_headers(server, message, sessions))

    async def refused(_request: Request) -> Response:
        return Response(status_code=405)

    return Starlette(
        routes=[
            Route("/mcp", posted, methods=["POST"]),
            Route("/mcp", refused, methods=["GET", "DELETE"]),
        ]
    )


def _faulty_response(
    server: FaultyMcpServer, request: Request, message: Mapping[str, Any], sessions: dict[str, int], *, is_sse: bool
) -> Response | None:
    """The response of a transport fault; None if the request is processed."""
    if message.get("method") == "tools/call":
        if server.has(McpFault.HTML):
            return Response("<html>Please log in</html>", media_type="text/html")
        if server.has(McpFault.FOREIGN_REDIRECT):
            return RedirectResponse(_FOREIGN_URL, status_code=307)
        if server.has(McpFault.BOMB):
            return _decompression_bomb(is_sse=is_sse)
        session = request.headers.get("mcp-session-id", "")
        if server.has(McpFault.SESSION_FORGOTTEN) and sessions.get(session, 0) < 2:
            return JSONResponse({"error": "Bad Request: No valid session ID provided"}, 400)
    return None


def _decompression_bomb(*, is_sse: bool) -> Response:
    """About 100 kB that decompress to 100 MB."""
    kind, opening = ("text/event-stream", b"data: ") if is_sse else ("application/json", b"[")
    body = gzip.compress(opening + b" " * 100_000_000, compresslevel=1)
    return Response(body, media_type=kind, headers={"Content-Encoding": "gzip"})


def _session_headers(server: FaultyMcpServer, message: Mapping[str, Any], sessions: dict[str, int]) -> dict[str, str]:
    """The session id of a handshake; `sessions` numbers the sessions."""
    if message.get("method") != "initialize" or server.has(McpFault.NO_SESSION_ID):
        return {}
    name = f"session-{len(sessions) + 1}"
    sessions[name] = len(sessions) + 1
    return {"Mcp-Session-Id": name}


def _reply(responses: list[dict[str, Any]], *, is_sse: bool, headers: dict[str, str]) -> Response:
    if not is_sse:
        return JSONResponse(responses[0], headers=headers)
    events = "".join(f"event: message\ndata: {json.dumps(response)}\n\n" for response in responses)
    return Response(events, media_type="text/event-stream", headers=headers)


class _PortPrintingServer(uvicorn.Server):
    """Prints its port as soon as it listens."""

    async def startup(self, sockets: Any = None) -> None:
        """Start, then print the port."""
        await super().startup(sockets)
        sys.stdout.write(f"{self.servers[0].sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()


def main() -> None:
    """Serve until the client disconnects or the process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("transport", choices=["stdio", "http"])
    parser.add_argument("--fault", action="append", default=[], type=McpFault, help="a fault to inject")
    parser.add_argument("--rows", type=int, default=261)
    parser.add_argument("--stateless", action="store_true")
    parser.add_argument("--sse", action="store_true")
    parser.add_argument("--delay", type=float, default=1.0, help="seconds of a slow start")
    parser.add_argument("--marker", type=Path, help="a file that records a crash")
    options = parser.parse_args()
    server = FaultyMcpServer(
        frozenset(options.fault), n_records=options.rows, is_stateless=options.stateless, marker=options.marker
    )
    if options.transport == "stdio":
        serve_stdio(server, delay_s=options.delay)
        return
    app = create_app(server, is_sse=options.sse)
    _PortPrintingServer(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error")).run()


if __name__ == "__main__":
    main()
