"""A model endpoint on loopback that plays a script, byte by byte where needed (Chat Completions)."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.faults.model_scripts import ModelScript, ReplyDelivery, ScriptedReply
from runax_cli.models.tokens import O200kCounter

NO_FINDINGS = '{"findings": [], "nothing_relevant": true}'
_DRIP_INTERVAL_S = 0.02
_PIECE = 65_536


@dataclass(slots=True)
class MisbehavingModelServer:
    """Plays one script. `tokens_in` counts what it received, `max_output_tokens` is the largest limit requested."""

    script: ModelScript
    requests: int = 0
    n_disconnects: int = 0
    agent_requests: int = 0
    tokens_in: int = 0
    max_output_tokens: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one reply; ends when the client disconnects."""
        try:
            role, body = await _request(reader)
            await self._answer(role, body, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.n_disconnects += 1
        finally:
            writer.close()

    async def _answer(self, role: str, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        tokens = await asyncio.to_thread(_tokens, body)
        self.requests += 1
        self.tokens_in += tokens
        self.max_output_tokens = max(
            self.max_output_tokens, body.get("max_completion_tokens") or body.get("max_tokens") or 0
        )
        if role != "agent":
            await _send(writer, _completion(ScriptedReply(NO_FINDINGS), tokens), kind="application/json")
            return
        reply = self.script.reply_to(self.agent_requests, has_tools=bool(body.get("tools")))
        self.agent_requests += 1
        await _SENDERS[reply.delivery](writer, reply, tokens)


async def _request(reader: asyncio.StreamReader) -> tuple[str, dict[str, Any]]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return headers.get("x-runax-role", ""), json.loads(body)


def _tokens(body: dict[str, Any]) -> int:
    text = json.dumps([body.get("messages"), body.get("tools")], ensure_ascii=False)
    return O200kCounter().count(text.encode("utf-8", "replace").decode())


def _completion(reply: ScriptedReply, tokens: int) -> bytes:
    message = {"role": "assistant", "content": reply.text, "tool_calls": _calls(reply)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"model": "wild", "choices": [choice], "usage": _usage(reply, tokens)}).encode()


def _usage(reply: ScriptedReply, tokens: int) -> dict[str, int]:
    n_chars = len(reply.text) + sum(len(name) + len(raw) for name, raw in reply.calls)
    return {"prompt_tokens": tokens, "completion_tokens": 1 + n_chars // 4}


def _calls(reply: ScriptedReply) -> list[dict[str, Any]]:
    return [
        {"index": index, "id": f"c{index}", "type": "function", "function": {"name": name, "arguments": raw}}
        for index, (name, raw) in enumerate(reply.calls)
    ]


def _event(value: Any) -> bytes:
    return f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()


def _delta(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _event({"model": "wild", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


async def _head(writer: asyncio.StreamWriter, kind: str) -> None:
    writer.write(f"HTTP/1.1 200 Played\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode())
    await writer.drain()


async def _send(writer: asyncio.StreamWriter, body: bytes, *, kind: str) -> None:
    await _head(writer, kind)
    for start in range(0, len(body), _PIECE):
        writer.write(body[start : start + _PIECE])
        await writer.drain()


async def _send_stream(writer: asyncio.StreamWriter, reply: ScriptedReply, tokens: int) -> None:
    pieces = [reply.text[start : start + 4096] for start in range(0, len(reply.text), 4096)]
    events = [_delta({"content": piece}) for piece in pieces]
    events += [_delta({"tool_calls": [call]}) for call in _calls(reply)]
    events.append(_delta({}, "tool_calls" if reply.calls else "stop"))
    events += [_event({"choices": [], "usage": _usage(reply, tokens)}), _event("[DONE]")]
    await _send(writer, b"".join(events), kind="text/event-stream")


async def _send_slowly(writer: asyncio.StreamWriter, reply: ScriptedReply, _tokens: int) -> None:
    await _head(writer, "text/event-stream")
    writer.write(_delta({"content": reply.text}))
    while True:
        writer.write(b": still there\n\n")
        await writer.drain()
        await asyncio.sleep(_DRIP_INTERVAL_S)


async def _send_endlessly(writer: asyncio.StreamWriter, reply: ScriptedReply, _tokens: int) -> None:
    await _head(writer, "text/event-stream")
    while True:
        writer.write(_delta({"content": f"{reply.text} "}) * 200)
        await writer.drain()


async def _send_cut(writer: asyncio.StreamWriter, reply: ScriptedReply, _tokens: int) -> None:
    await _send(writer, _delta({"content": reply.text}) + b'data: {"choi', kind="text/event-stream")


async def _send_html(writer: asyncio.StreamWriter, _said: ScriptedReply, _tokens: int) -> None:
    await _send(writer, b"<html>busy</html>" * 100, kind="application/json")


_SENDERS: dict[ReplyDelivery, Callable[[asyncio.StreamWriter, ScriptedReply, int], Awaitable[None]]] = {
    ReplyDelivery.WHOLE: _send_stream,
    ReplyDelivery.DRIPS: _send_slowly,
    ReplyDelivery.NEVER_ENDS: _send_endlessly,
    ReplyDelivery.CUT: _send_cut,
    ReplyDelivery.NONSENSE: _send_html,
}


@dataclass(slots=True)
class _Connections:
    """The open connections of a server; those that would never end are aborted at the end."""

    writers: dict["asyncio.Task[None]", asyncio.StreamWriter] = field(default_factory=dict)

    def add(self, writer: asyncio.StreamWriter) -> None:
        task: asyncio.Task[None] | None = asyncio.current_task()
        if task is not None:
            self.writers[task] = writer
            task.add_done_callback(self.writers.pop)

    async def abort_all(self) -> None:
        """Abort all connections and wait for their tasks."""
        tasks = tuple(self.writers)
        for writer in self.writers.values():
            writer.transport.abort()
        await asyncio.gather(*tasks)


@asynccontextmanager
async def serve_script(script: ModelScript) -> AsyncIterator[tuple[str, MisbehavingModelServer]]:
    """The base URL of a server that plays `script`, and the server."""
    model_server, connections = MisbehavingModelServer(script), _Connections()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(writer)
        await model_server.serve(reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 20)
    try:
        host, port = server.sockets[0].getsockname()[:2]
        yield f"http://{host}:{port}/v1", model_server
    finally:
        server.close()
        await connections.abort_all()
