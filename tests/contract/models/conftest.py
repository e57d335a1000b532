"""A model endpoint on loopback that plays a script, with valid or broken replies, byte by byte if needed."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from adapters.clock import SystemClock
from runax_cli.models.base import Message, ModelRequest, Role
from runax_cli.models.endpoint import Endpoint
from runax_cli.models.endpoint_model import EndpointModel
from runax_cli.models.wire import Quirks, Sampling

KEY = "sk-a-very-secret-key"


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def is_chat(self) -> bool:
        return self.path.endswith("/chat/completions")

    @property
    def is_stream(self) -> bool:
        return self.body.get("stream") is True


Play = Callable[[Seen, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class FakeEndpoint:
    """Plays one entry of `script` per request; the last entry is repeated."""

    base_url: str = ""
    script: list[Play] = field(default_factory=list)
    requests: list[Seen] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    def plays(self, *script: Play) -> None:
        self.script = list(script)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            seen = await _request(reader)
            self.requests.append(seen)
            self.arrived.set()
            play = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            await play(seen, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            writer.close()

    def reply(self, text: str = "", **more: Any) -> Play:
        """A good reply in the requested format. `more`: calls, usage, cut (omit the end of a stream)."""

        async def play(seen: Seen, writer: asyncio.StreamWriter) -> None:
            whole = (_chat_object if seen.is_chat else _responses_object)(text, **more)
            if not seen.is_stream:
                _write(writer, json.dumps(whole, ensure_ascii=False).encode())
                return
            events = (_chat_events if seen.is_chat else _responses_events)(whole)
            _write_events(writer, events[: -more["cut"]] if "cut" in more else events)

        return play

    def status(self, status: int, message: str = "no", headers: dict[str, str] | None = None, **error: Any) -> Play:
        """An error object with a status."""
        body = json.dumps({"error": {"message": message} | error}).encode()
        return self.raw(body, status=status, headers=headers)

    def raw(self, body: bytes, status: int = 200, kind: str = "application/json", **more: Any) -> Play:
        """This exact body."""

        async def play(_seen: Seen, writer: asyncio.StreamWriter) -> None:
            _write(writer, body, status=status, kind=kind, headers=more.get("headers"))

        return play

    def events(self, *events: Any) -> Play:
        """These exact events of a stream."""

        async def play(_seen: Seen, writer: asyncio.StreamWriter) -> None:
            _write_events(writer, list(events))

        return play

    def drip(self, piece: bytes = b" ") -> Play:
        """A reply that sends pieces forever and never ends."""

        async def play(seen: Seen, writer: asyncio.StreamWriter) -> None:
            kind = "text/event-stream" if seen.is_stream else "application/json"
            writer.write(_head(200, kind, None))
            while not writer.is_closing():
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.01)

        return play

    def zipped(self, body: bytes) -> Play:
        """A compressed body."""
        return self.raw(gzip.compress(body), headers={"Content-Encoding": "gzip"})

    def model(self, **changes: Any) -> EndpointModel:
        """A model that talks to this endpoint."""
        clock = SystemClock()
        max_bytes = changes.pop("max_bytes", 4_000_000)
        timeout_s = changes.get("timeout_s", 10.0)
        base_url = changes.pop("base_url", self.base_url)
        endpoint = Endpoint(base_url, api_key=KEY, timeout_s=timeout_s, clock=clock, max_bytes=max_bytes)
        defaults: dict[str, Any] = {
            "endpoint": endpoint,
            "api": "responses",
            "sampling": Sampling(temperature=0.0, top_p=1.0),
            "timeout_s": timeout_s,
            "quirks": Quirks(),
            "clock": clock,
        }
        return EndpointModel("test-model", **(defaults | changes))

    def request(self, **changes: Any) -> ModelRequest:
        """A request of one message."""
        defaults: dict[str, Any] = {"role": Role.AGENT, "messages": (Message("user", "Hello"),), "run_id": "7f3a"}
        return ModelRequest(**(defaults | changes))


@pytest.fixture
async def fake() -> AsyncIterator[FakeEndpoint]:
    """A fresh endpoint."""
    endpoint = FakeEndpoint()
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(endpoint.serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    endpoint.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    yield endpoint
    server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await server.wait_closed()


async def _request(reader: asyncio.StreamReader) -> Seen:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(head[0].split()[1], headers, json.loads(body))


def _head(status: int, kind: str, headers: dict[str, str] | None) -> bytes:
    lines = [f"HTTP/1.1 {status} Played", f"Content-Type: {kind}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _write(
    writer: asyncio.StreamWriter,
    body: bytes,
    *,
    status: int = 200,
    kind: str = "application/json",
    headers: dict[str, str] | None = None,
) -> None:
    writer.write(_head(status, kind, headers) + body)


def _write_events(writer: asyncio.StreamWriter, events: list[Any]) -> None:
    lines = [f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events]
    writer.write(_head(200, "text/event-stream", None) + "".join(lines).encode())


def _responses_object(text: str, **more: Any) -> dict[str, Any]:
    output: list[dict[str, Any]] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
    if text or not more.get("calls"):
        part = {"type": "output_text", "text": text, "annotations": []}
        output.append({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]})
    for call_id, name, arguments in more.get("calls", ()):
        output.append({"type": "function_call", "id": "f", "call_id": call_id, "name": name, "arguments": arguments})
    usage = {"input_tokens": 120, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 20}}
    whole = {"id": "resp_1", "object": "response", "status": "completed", "model": "test-model-2", "output": output}
    return whole | {"usage": more.get("usage", usage)}


def _responses_events(whole: dict[str, Any]) -> list[Any]:
    events: list[Any] = [{"type": "response.created", "response": whole | {"status": "in_progress", "output": []}}]
    for item in whole["output"]:
        if item["type"] == "message":
            text = item["content"][0]["text"]
            events += [
                {"type": "response.output_text.delta", "delta": text[start : start + 5]}
                for start in range(0, len(text), 5)
            ]
        events.append({"type": "response.output_item.done", "item": item})
    return [*events, {"type": "response.completed", "response": whole}]


def _chat_object(text: str, **more: Any) -> dict[str, Any]:
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in more.get("calls", ())
    ]
    message = {"role": "assistant", "content": text or (None if calls else "")} | (
        {"tool_calls": calls} if calls else {}
    )
    usage = {"prompt_tokens": 120, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 20}}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {"id": "c", "model": "test-model-2", "choices": [choice], "usage": more.get("usage", usage)}


def _chat_events(whole: dict[str, Any]) -> list[Any]:
    choice = whole["choices"][0]
    text = choice["message"]["content"] or ""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text[start : start + 5]} for start in range(0, len(text), 5)]
    for index, call in enumerate(choice["message"].get("tool_calls", ())):
        arguments = call["function"]["arguments"]
        deltas.append({"tool_calls": [call | {"index": index, "function": call["function"] | {"arguments": ""}}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments[:4]}}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments[4:]}}]})
    head = {"id": "c", "model": whole["model"]}
    events: list[Any] = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    return [*events, head | {"choices": [], "usage": whole["usage"]}, "[DONE]"]
