"""A Chat Completions endpoint on loopback that plays a script to processes: one entry per result or per request."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CallOf = tuple[str, Mapping[str, Any]]


@dataclass
class ScriptedEndpoint:
    """Replies with the entry of `script` whose number is that of the tool results in the request.

    An entry is a text, or the name and arguments of a call. While `is_broken_after` results were shown, it fails. With
    `is_by_request`, the number is that of the request, for replies that are asked for again.
    """

    script: Sequence[str | CallOf]
    is_broken_after: int | None = None
    is_by_request: bool = False
    base_url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        """The environment that makes `runax` use it."""
        return {
            "LLM_API_BASE_URL": self.base_url,
            "LLM_API_KEY": "sk-scripted-key-0123456789",
            "LLM_NAME": "scripted",
            "LLM_API": "chat",
        }

    def shown(self) -> list[dict[str, Any]]:
        """The results in the last request."""
        return [json.loads(m["content"]) for m in self.requests[-1]["messages"] if m["role"] == "tool"]

    def reply(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The message that answers a request; None for a failure."""
        n_results = sum(message["role"] == "tool" for message in body["messages"])
        if self.is_broken_after is not None and n_results >= self.is_broken_after:
            return None
        entry = self.script[len(self.requests) - 1 if self.is_by_request else n_results]
        if isinstance(entry, str):
            return {"role": "assistant", "content": entry}
        function = {"name": entry[0], "arguments": json.dumps(entry[1])}
        call = {"id": f"c{n_results}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}


def _handler(endpoint: ScriptedEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.requests.append(body)
            message = endpoint.reply(body)
            if message is None:
                self._send(400, "application/json", json.dumps({"error": {"message": "scripted failure"}}))
            elif body.get("stream"):
                events = [*map(json.dumps, _events(message)), "[DONE]"]
                self._send(200, "text/event-stream", "".join(f"data: {event}\n\n" for event in events))
            else:
                self._send(200, "application/json", json.dumps(_whole(message)))

        def _send(self, status: int, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name of the base class
            pass

    return Handler


_CHARS_PER_EVENT = 16
_USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def _whole(message: Mapping[str, Any]) -> dict[str, Any]:
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion", "model": "scripted", "choices": [choice], "usage": _USAGE}


def _events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    head = {"id": "c", "object": "chat.completion.chunk", "model": "scripted"}
    delta = {**message}
    text = delta.pop("content") or ""
    for start in range(0, len(text), _CHARS_PER_EVENT):
        piece = {"role": "assistant", "content": text[start : start + _CHARS_PER_EVENT]}
        yield head | {"choices": [{"index": 0, "delta": piece, "finish_reason": None}]}
    if calls := message.get("tool_calls"):
        delta["tool_calls"] = [call | {"index": at} for at, call in enumerate(calls)]
    yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]}
    yield head | {"choices": [], "usage": _USAGE}


@contextmanager
def serve(endpoint: ScriptedEndpoint) -> Iterator[ScriptedEndpoint]:
    """Serve an endpoint on a free port for the duration of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(endpoint))
    endpoint.base_url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
