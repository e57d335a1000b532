"""An MCP server over stdio that sends invalid JSON-RPC messages. Its argument names the kind."""

import json
import os
import subprocess
import sys
from typing import Any

N = 61
ROWS = [{"id": number, "name": f"n{number}"} for number in range(N)]
TOOL = {"name": "list_rows", "description": "List rows", "inputSchema": {"type": "object", "properties": {}}}
REVISIONS: dict[str, Any] = {
    "future_revision": "2099-01-01",
    "revision_is_number": 20250618,
    "revision_is_null": None,
    "stateless_revision": "2026-07-28",
}
HOLDING = (
    "import fcntl, sys, time; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX);"
    "print('held', flush=True); time.sleep(600)"
)
LOG = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}


def put(text: str, end: str = "\n") -> None:
    sys.stdout.write(text + end)
    sys.stdout.flush()


def handshake(way: str) -> dict[str, Any]:
    told = {
        "protocolVersion": REVISIONS.get(way, "2025-06-18"),
        "capabilities": {"tools": True, "logging": "yes"} if way == "flags_for_objects" else {"tools": {}},
        "serverInfo": {
            "name": "invalid_messages",
            "version": "0",
            **({"icons": 3} if way == "flags_for_objects" else {}),
        },
    }
    return {} if way == "empty_handshake" else told


def reply_to_call(way: str, sent: Any) -> None:
    text = json.dumps(ROWS)
    result = {"content": [{"type": "text", "text": text}], "isError": False}
    reply = {"jsonrpc": "2.0", "id": sent, "result": result}
    whole, log = json.dumps(reply), json.dumps(LOG)
    rows_with_half = json.dumps(ROWS).replace('"n5"', '"n\\ud83d"')
    ways = {
        "id_is_float": json.dumps(reply | {"id": float(sent)}),
        "id_is_null": json.dumps(reply | {"id": None}),
        "no_id": json.dumps({name: value for name, value in reply.items() if name != "id"}),
        "no_version": json.dumps({name: value for name, value in reply.items() if name != "jsonrpc"}),
        "version_is_number": json.dumps(reply | {"jsonrpc": 2.0}),
        "batch": json.dumps([LOG, reply]),
        "result_is_list": json.dumps(reply | {"result": ROWS}),
        "result_is_text": json.dumps(reply | {"result": text}),
        "result_is_content": json.dumps(reply | {"result": result["content"]}),
        "words_before": f"Loading... {whole}",
        "words_behind": f"{whole} done",
        "two_on_a_line": log + whole,
        "over_several_lines": json.dumps(reply, indent=2),
        "byte_order_mark": "\ufeff" + whole,
        "control_characters": whole.replace("n5", "n\x015"),
        "half_a_character": whole.replace(json.dumps(text), json.dumps(rows_with_half)),
        "half_a_character_outside": whole.replace('n5\\"', 'n5\\ud83d\\"'),
        "error_is_text": json.dumps({"jsonrpc": "2.0", "id": sent, "error": "the disk is full"}),
        "error_code_is_text": json.dumps(
            {"jsonrpc": "2.0", "id": sent, "error": {"code": "E1", "message": "the disk is full"}}
        ),
        "error_without_id": json.dumps(
            {"jsonrpc": "2.0", "id": None, "error": {"code": -32603, "message": "the disk is full"}}
        ),
        "error_in_data": json.dumps(
            {"jsonrpc": "2.0", "id": sent, "error": {"code": -32603, "message": "Error", "data": "the disk is full"}}
        ),
        "called_off": json.dumps(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": sent, "reason": "the disk is full"},
            }
        ),
        "result_is_null": json.dumps(reply | {"result": None}),
        "result_is_empty": json.dumps(reply | {"result": {}}),
        "content_is_null": json.dumps(reply | {"result": {"content": None, "isError": False}}),
        "log_with_its_id": json.dumps({"level": "info", "msg": "x", "id": sent, "result": {}}) + "\n" + whole,
        "large": json.dumps(reply | {"result": {"content": [{"type": "text", "text": "x" * 100_000}]}}),
        "cut": whole[:900],
    }
    if way == "no_line_end":
        put(whole, end="")
        os._exit(0)
    put(ways.get(way, whole))


def begin(way: str) -> None:
    if way.startswith("child:"):
        held = [sys.executable, "-c", HOLDING, way.removeprefix("child:")]
        child = subprocess.Popen(held, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
    if way == "banner":
        put("Careless server 1.0 ", end="")


def serve(way: str) -> None:
    begin(way)
    is_first = True
    for line in sys.stdin:
        message = json.loads(line)
        method, sent = message.get("method"), message.get("id")
        if way == "ends_at_questions" and is_first and method != "initialize":
            os._exit(1)
        is_first = False
        if sent is None:
            continue
        if method == "initialize":
            put(json.dumps({"jsonrpc": "2.0", "id": sent, "result": handshake(way)}))
        elif method == "tools/list" and way == "first_page_empty" and not message.get("params", {}).get("cursor"):
            put(json.dumps({"jsonrpc": "2.0", "id": sent, "result": {"tools": [], "nextCursor": "2"}}))
        elif method == "tools/list" and way == "second_page_fails" and message.get("params"):
            put(json.dumps({"jsonrpc": "2.0", "id": sent, "error": {"code": -32602, "message": "Invalid cursor"}}))
        elif method == "tools/list":
            cursor = {"nextCursor": "2"} if way == "second_page_fails" else {}
            listed: Any = [TOOL] if way == "list_is_list" else {"tools": [TOOL], **cursor}
            put(json.dumps({"jsonrpc": "2.0", "id": sent, "result": listed}))
        elif method == "tools/call":
            reply_to_call(way, sent)
        else:
            put(json.dumps({"jsonrpc": "2.0", "id": sent, "error": {"code": -32601, "message": "no such method"}}))


if __name__ == "__main__":
    serve(sys.argv[1])
