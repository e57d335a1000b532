"""An MCP server over stdio that returns metadata and errors as text. Its argument names the kind."""

import json
import sys
from typing import Any

N, PAGE = 61, 20
ROWS = [{"id": 1000 + number, "name": f"n{number}"} for number in range(N)]
TEXT = json.dumps(ROWS)
TOOL = {
    "name": "list_rows",
    "description": "List rows",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object", "properties": {"cursor": {"type": "string"}}},
}
ALONE = TOOL | {"inputSchema": {"type": "object", "properties": {}}}
ASKED: list[str] = []
BY_OFFSET = TOOL | {
    "inputSchema": {"type": "object", "properties": {name: {"type": "integer"} for name in ("offset", "limit")}}
}


def answer(way: str, arguments: dict[str, Any]) -> list[str]:
    ASKED.append(way)
    begin = int(str(arguments.get("cursor") or "c0").strip("c"))
    offset, limit = arguments.get("offset", 0), arguments.get("limit", PAGE)
    rows, end = ROWS[begin : begin + PAGE], begin + PAGE
    ways: dict[str, list[str]] = {
        "cursor": [json.dumps(rows), f"More results available. Next cursor: c{end}" if end < N else "No more results."],
        "more": [json.dumps(ROWS[:PAGE]), "There are more results available."],
        "cut": [TEXT[:1000] + "... [truncated, 7000 more characters]"],
        "middle": [TEXT[:1000]],
        "behind_words": [f"Found these rows:\n{TEXT[:1000]}"],
        "one_part": [json.dumps(ROWS[:PAGE]), TEXT[:1000]],
        "error": ["Error: rate limit exceeded, try again later"],
        "tool_error": ["Error executing tool list_rows: the database is locked"],
        "error_object": ['{"error": "rate limit exceeded", "code": 429}'],
        "prose": [f"At {offset} of {N}: " + " ".join(f"Row {row['id']} is called {row['name']}." for row in ROWS)],
        "numbered": [
            "Rows:\n" + "\n".join(f"{offset + at + 1}. {r['name']}" for at, r in enumerate(ROWS[offset:][:PAGE]))
        ],
        "busy_once": ["Error: too many requests, try again later"] if ASKED.count(way) == 1 else [TEXT],
        "empty": [""],
        "closing": ["No more results."],
        "lines": ["\n".join(json.dumps(row) for row in ROWS[offset : offset + limit])],
    }
    return ways[way]


def tool(way: str) -> dict[str, Any]:
    if way in ("prose", "numbered"):
        return TOOL | {"inputSchema": {"type": "object", "properties": {"offset": {"type": "integer", "default": 0}}}}
    return TOOL if way == "cursor" else BY_OFFSET if way == "lines" else ALONE


def reply(way: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        about = {"name": "loose", "version": "0"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [tool(way)]}
    texts = answer(way, params.get("arguments") or {})
    return {"content": [{"type": "text", "text": text} for text in texts], "isError": False}


def serve(way: str) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        told: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] in ("initialize", "tools/list", "tools/call"):
            told["result"] = reply(way, message["method"], message.get("params") or {})
        else:
            told["error"] = {"code": -32601, "message": "no such method"}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
