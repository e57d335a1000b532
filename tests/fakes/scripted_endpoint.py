"""A model endpoint on loopback that replies from a script, in the format of Chat Completions, streamed or whole."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class ScriptedReply:
    """A text, or calls: names with arguments."""

    text: str = ""
    calls: Sequence[Call] = ()

    def message(self) -> dict[str, Any]:
        """The message of the assistant."""
        if not self.calls:
            return {"role": "assistant", "content": self.text}
        wanted = [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(self.calls)
        ]
        return {"role": "assistant", "content": self.text or None, "tool_calls": wanted}


@dataclass
class ScriptedEndpoint:
    """`requests` are the bodies received, in order. A request beyond the script gets status 500."""

    script: list[ScriptedReply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def variables(self) -> dict[str, str]:
        """The environment variables that select this endpoint."""
        return {"LLM_API_BASE_URL": f"{self.url}/v1", "LLM_NAME": "scripted", "LLM_API": "chat", "LLM_API_KEY": "sk-scripted"}


@contextmanager
def scripted_endpoint(*script: ScriptedReply) -> Iterator[ScriptedEndpoint]:
    """Serve a script on a free port."""
    endpoint = ScriptedEndpoint(list(script))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.requests.append(body)
            if len(endpoint.requests) > len(endpoint.script):
                self._send(500, "application/json", b'{"error": {"message": "the script is over"}}')
                return
            message = endpoint.script[len(endpoint.requests) - 1].message()
            if body.get("stream"):
                self._send(200, "text/event-stream", _events(message))
            else:
                self._send(200, "application/json", json.dumps(_whole(message)).encode())

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_given: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


_USAGE = {"prompt_tokens": 120, "completion_tokens": 7}


def _whole(message: dict[str, Any]) -> dict[str, Any]:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {"id": "c", "model": "scripted", "choices": [choice], "usage": _USAGE}


def _events(message: dict[str, Any]) -> bytes:
    text = message["content"] or ""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text[start : start + 7]} for start in range(0, len(text), 7)]
    deltas += [{"tool_calls": [call | {"index": n}]} for n, call in enumerate(message.get("tool_calls", ()))]
    reason = "tool_calls" if "tool_calls" in message else "stop"
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": reason})
    head = {"id": "c", "model": "scripted"}
    events = [head | {"choices": [choice]} for choice in choices] + [head | {"choices": [], "usage": _USAGE}]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n"
