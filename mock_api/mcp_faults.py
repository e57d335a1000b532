"""An MCP server that breaks the protocol on request, in the ways seen in real servers.

It does not use the SDK, which would follow the protocol. `mcp_faulty_server` serves it over stdio and HTTP. Without
faults the server is correct.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

METHOD_NOT_FOUND = -32601
_PAGE = 20
_HANDSHAKE, _STATELESS = "2025-06-18", "2026-07-28"


class McpFault(StrEnum):
    """A fault to inject: those of the transport come first, then tool lists, results, and pages."""

    NO_SESSION_ID = "no_session_id"
    SESSION_FORGOTTEN = "session_forgotten"
    NOISE_ON_STDOUT = "noise_on_stdout"
    NOISE_ON_STDERR = "noise_on_stderr"
    SLOW_START = "slow_start"
    NEVER_STARTS = "never_starts"
    CRASH_IN_CALL = "crash_in_call"
    NO_REPLY = "no_reply"
    WRONG_ID = "wrong_id"
    HTML = "html"
    FOREIGN_REDIRECT = "foreign_redirect"
    BOMB = "bomb"

    NO_CAPABILITIES = "no_capabilities"
    BROKEN_TOOLS = "broken_tools"
    ENDLESS_LIST = "endless_list"
    SAME_LIST_CURSOR = "same_list_cursor"

    LARGE = "large"
    PYTHON_TEXT = "python_text"
    TRAILING_COMMAS = "trailing_commas"
    AFTER_WORDS = "after_words"
    FENCED = "fenced"
    WRAPPED = "wrapped"
    PARTS = "parts"
    NO_CONTENT = "no_content"
    UNKNOWN_CONTENT = "unknown_content"
    CUT_TEXT = "cut_text"

    CURSOR_IGNORED = "cursor_ignored"
    SAME_CURSOR = "same_cursor"
    ENDLESS_CURSOR = "endless_cursor"
    CURSOR_CYCLE = "cursor_cycle"
    CURSOR_IN_META = "cursor_in_meta"
    CURSOR_IN_WORDS = "cursor_in_words"


@dataclass
class FaultyMcpServer:
    """One server with its faults over `n_records` records. `marker` is a file that records a crash across processes."""

    faults: frozenset[McpFault] = frozenset()
    n_records: int = 261
    is_stateless: bool = False
    marker: Path | None = None
    n_lists: int = 0
    cancelled: list[Any] = field(default_factory=list)

    def has(self, fault: McpFault) -> bool:
        """Whether this fault is injected."""
        return fault in self.faults

    def responses_to(self, message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The messages that the server sends in reply to one message, in order."""
        if "id" not in message:
            if message.get("method") == "notifications/cancelled":
                self.cancelled.append(message.get("params"))
            return
        method, params = message.get("method"), message.get("params") or {}
        if method == "tools/call" and self.has(McpFault.NO_REPLY):
            return
        result = self._result(str(method), params)
        named = "somebody-else" if method == "tools/call" and self.has(McpFault.WRONG_ID) else message["id"]
        if result is None:
            error = {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}
            yield {"jsonrpc": "2.0", "id": named, "error": error}
        else:
            yield {"jsonrpc": "2.0", "id": named, "result": result}

    def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        match method:
            case "initialize" if not self.is_stateless:
                return {"protocolVersion": _HANDSHAKE, **self._capabilities(), "serverInfo": _SERVER}
            case "server/discover" if self.is_stateless:
                return {"supportedVersions": [_STATELESS], **self._capabilities(), **_COMPLETE}
            case "tools/list":
                return {**self._list_tools(), **(_COMPLETE if self.is_stateless else {})}
            case "tools/call":
                self._crash_once()
                result = self._call_tool(params)
                return {**result, **({"resultType": "complete"} if self.is_stateless else {})}
            case _:
                return None

    def _capabilities(self) -> dict[str, Any]:
        return {} if self.has(McpFault.NO_CAPABILITIES) else {"capabilities": {"tools": {}}}

    def _crash_once(self) -> None:
        """Exit during a call; only once with a marker file."""
        if not self.has(McpFault.CRASH_IN_CALL) or (self.marker is not None and self.marker.exists()):
            return
        if self.marker is not None:
            self.marker.touch()
        os._exit(3)

    def _list_tools(self) -> dict[str, Any]:
        self.n_lists += 1
        tools = [_TOOL, _FLAWED_TOOL] if self.has(McpFault.BROKEN_TOOLS) else [_TOOL]
        listed = [*tools, *_BROKEN_TOOLS] if self.has(McpFault.BROKEN_TOOLS) else tools
        if self.has(McpFault.SAME_LIST_CURSOR):
            return {"tools": listed, "nextCursor": "again"}
        if self.has(McpFault.ENDLESS_LIST):
            return {"tools": listed, "nextCursor": f"page-{self.n_lists}"}
        return {"tools": listed}

    def _call_tool(self, params: Mapping[str, Any]) -> dict[str, Any]:
        if self.has(McpFault.LARGE):
            return _text_result(json.dumps({"items": [{"id": n, "text": "ě" * 120} for n in range(20_000)]}))
        arguments = params.get("arguments") or {}
        start = self._start(arguments.get("cursor"))
        limit = min(int(arguments.get("limit") or _PAGE), 100)
        page = [{"id": n, "subject": f"It's {n}"} for n in range(start, min(start + limit, self.n_records))]
        return self._page(page, self._next_cursor(start + len(page), arguments.get("cursor")))

    def _start(self, cursor: str | None) -> int:
        if cursor is None or self.has(McpFault.CURSOR_IGNORED):
            return 0
        if self.has(McpFault.ENDLESS_CURSOR):
            return 0
        digits = cursor.rpartition("-")[2]
        return int(digits) if digits.isdigit() else 0

    def _next_cursor(self, end: int, cursor: str | None) -> str | None:
        """The cursor of the next page; None at the end."""
        if self.has(McpFault.SAME_CURSOR):
            return "c-20"
        if self.has(McpFault.ENDLESS_CURSOR):
            return f"more-{int((cursor or 'more-0').rpartition('-')[2]) + 1}"
        if self.has(McpFault.CURSOR_CYCLE):
            return "b-20" if cursor in (None, "a-0") else "a-0"
        return f"c-{end}" if end < self.n_records else None

    def _page(self, records: list[dict[str, Any]], next_cursor: str | None) -> dict[str, Any]:
        body = {"items": records, **({"next_cursor": next_cursor} if next_cursor else {})}
        if self.has(McpFault.CURSOR_IN_META):
            return {**_text_result(json.dumps(records)), "_meta": {"nextCursor": next_cursor}}
        if self.has(McpFault.CURSOR_IN_WORDS):
            words = f"\n\nTotal: {self.n_records}" + (f"\nNext cursor: {next_cursor}" if next_cursor else "")
            return _text_result(json.dumps(records) + words)
        if self.has(McpFault.PARTS):
            cursor = {"nextCursor": next_cursor} if next_cursor else {}
            return {"content": [_text_block(json.dumps(record)) for record in records], **cursor}
        if self.has(McpFault.NO_CONTENT):
            return body
        if self.has(McpFault.UNKNOWN_CONTENT):
            return {"content": [{"type": "json", "json": body}]}
        return _text_result(self._format_text(body))

    def _format_text(self, body: Mapping[str, Any]) -> str:
        """The page as text, in the notation of the fault."""
        text = json.dumps(body)
        formats = {
            McpFault.PYTHON_TEXT: repr(body),
            McpFault.TRAILING_COMMAS: text.replace("}]", "},]") + " // end",
            McpFault.AFTER_WORDS: f"Here are the tickets you asked for:\n{text}",
            McpFault.FENCED: f"```json\n{text}\n```",
            McpFault.WRAPPED: json.dumps({"content": text}),
            McpFault.CUT_TEXT: text[: len(text) * 2 // 3],
        }
        return next((formatted for fault, formatted in formats.items() if self.has(fault)), text)


_SERVER = {"name": "breaker", "version": "1"}
_COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_CURSOR = {"type": "string", "description": "Where the next page begins: the cursor that the last one named."}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "default": _PAGE}
_TOOL = {
    "name": "list_tickets",
    "description": "Tickets, page by page.",
    "inputSchema": {"type": "object", "properties": {"cursor": _CURSOR, "limit": _LIMIT}},
}
_FLAWED_TOOL = {
    "name": "get_flawed",
    "description": 5,
    "inputSchema": {"properties": {"id": {"type": "integer"}}, "required": "id"},
    "annotations": {"readOnlyHint": "yes"},
    "outputSchema": {"type": "array"},
}
_BROKEN_TOOLS: tuple[object, ...] = ({"description": "A tool without a name."}, "no tool at all", {"name": 7})


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _text_result(text: str) -> dict[str, Any]:
    return {"content": [_text_block(text)]}
