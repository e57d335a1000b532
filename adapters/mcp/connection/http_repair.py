"""Replies over HTTP as the SDK will take them: their kind told by their look, their messages put right.

Knows the bodies of JSON and of server-sent events. Knows no session. What answers a POST can only be the reply to the
request in it, whatever id or content type it bears; a notification that is never answered holds up nothing.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import orjson
from mcp.types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from adapters.base import Json, JsonObject
from adapters.http.body_limits import MaxSizeClient
from adapters.mcp.connection.jsonrpc_repair import RequestId, messages_in

_JSON, _EVENTS = "application/json", "text/event-stream"
_BLANKS = b" \t\r\n\xef\xbb\xbf"
_MARKS = (b"data:", b"event:", b"id:", b"retry:", b":")
_END_OF_EVENT = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_LINE = re.compile(rb"\r\n|\n|\r")
_MOST_PIECES = 4
"""An end of an event has at most so many bytes, and a piece at least one."""
_NOTICE_S = 1.0
_RESULT = ("content", "structuredContent")


@dataclass(frozen=True, slots=True)
class JsonRpcRequest:
    """The request that a body answers."""

    named: RequestId
    method: str


class RepairingClient(MaxSizeClient):
    """A client whose answers to requests of JSON-RPC are messages, as far as they can be read as such."""

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """See `httpx2.AsyncClient.send`."""
        sent = _sent(request)
        if sent is None:
            return await super().send(request, stream=stream, **options)
        if (asked := _asked(sent)) is None:
            return await self._noticed(request, stream=stream, **options)
        response = await super().send(request, stream=True, **options)
        if response.status_code in (httpx2.codes.OK, httpx2.codes.ACCEPTED):
            response = await _mended(response, asked, self._max_bytes)
        if not stream:
            try:
                await response.aread()
            finally:
                await response.aclose()
        return response

    async def _noticed(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """What a notification is answered; nobody waits for it long, since the requests behind it would wait too."""
        try:
            async with asyncio.timeout(_NOTICE_S):
                return await super().send(request, **options)
        except TimeoutError:
            return httpx2.Response(httpx2.codes.ACCEPTED, request=request)


def _sent(request: httpx2.Request) -> JsonObject | None:
    """The message that a POST carries."""
    if request.method != "POST":
        return None
    try:
        sent = orjson.loads(request.content)
    except (orjson.JSONDecodeError, httpx2.RequestNotRead):
        return None
    return sent if isinstance(sent, dict) else None


def _asked(sent: JsonObject) -> JsonRpcRequest | None:
    named, method = sent.get("id"), sent.get("method")
    return JsonRpcRequest(named, method) if isinstance(named, int | str) and isinstance(method, str) else None


async def _mended(response: httpx2.Response, asked: JsonRpcRequest, max_bytes: int) -> httpx2.Response:
    """The response with its kind by its look, and with a body that is mended while it is read.

    What is only said to be accepted has been answered where the answer is there.
    """
    pieces = response.aiter_raw()
    first = b""
    async for piece in pieces:
        if first := piece.lstrip(_BLANKS):
            break
    kind = _kind(response.headers.get("content-type", "").lower(), first)
    if kind is None or (response.status_code == httpx2.codes.ACCEPTED and not first):
        return _with_body(
            response, _RepairedBody(response, _again(first, pieces)), response.headers.get("content-type")
        )
    body = _events(first, pieces, asked, max_bytes) if kind == _EVENTS else _reply(first, pieces, asked)
    return _with_body(response, _RepairedBody(response, body), kind)


def _kind(said: str, look: bytes) -> str | None:
    """What a body is: what it looks like, else what it is said to be."""
    if look[:1] in (b"{", b"["):
        return _JSON
    if look.startswith(_MARKS) or said.startswith(_EVENTS):
        return _EVENTS
    return None


def _with_body(response: httpx2.Response, body: "_RepairedBody", kind: str | None) -> httpx2.Response:
    headers = [(name, value) for name, value in response.headers.multi_items() if name != "content-type"]
    typed = [*headers, ("content-type", kind)] if kind else headers
    return httpx2.Response(
        httpx2.codes.OK if kind in (_JSON, _EVENTS) else response.status_code,
        headers=typed,
        stream=body,
        request=response.request,
        extensions=response.extensions,
    )


class _RepairedBody(httpx2.AsyncByteStream):
    """The pieces of a body that stand in for another response's."""

    def __init__(self, response: httpx2.Response, pieces: AsyncIterator[bytes]) -> None:
        self._response, self._pieces = response, pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        await self._response.aclose()


async def _again(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in pieces:
        yield piece


async def _reply(first: bytes, pieces: AsyncIterator[bytes], asked: JsonRpcRequest) -> AsyncIterator[bytes]:
    """A body of JSON: the reply in it, which stands last."""
    body = b"".join([first, *[piece async for piece in pieces]])
    found = list(_replies(body, asked))
    yield found[-1] if found else body


async def _events(
    first: bytes, pieces: AsyncIterator[bytes], asked: JsonRpcRequest, max_bytes: int
) -> AsyncIterator[bytes]:
    """A stream of events, each mended as soon as it is whole; the last one may lack its end.

    A reply that bears the id of another request counts only where no better one comes.
    """
    rest, foreign = [first], list[bytes]()
    size = len(rest[0])
    while True:
        if _END_OF_EVENT.search(b"".join(rest[-_MOST_PIECES:])) is not None:
            *events, last = _cut(b"".join(rest))
            for event in events:
                if _is_foreign(event, asked):
                    foreign.append(event)
                else:
                    yield _event(event, asked)
            rest, size = [last], len(last)
        if size > max_bytes:
            break
        try:
            rest.append(await anext(pieces))
        except StopAsyncIteration:
            yield _last_event(b"".join(rest), asked)
            for event in foreign:
                yield _event(event, asked)
            return
        size += len(rest[-1])
    async for piece in _again(b"".join(rest), pieces):
        yield piece


def _cut(text: bytes) -> Iterator[bytes]:
    """The events in a text, each with its end, and what is behind the last of them."""
    start = 0
    for end in _END_OF_EVENT.finditer(text):
        yield text[start : end.end()]
        start = end.end()
    yield text[start:]


def _last_event(left: bytes, asked: JsonRpcRequest) -> bytes:
    """What is behind the last end of an event: an event only where its data came whole."""
    try:
        orjson.loads(_data(left))
    except orjson.JSONDecodeError:
        return left
    return _event(left + b"\n\n", asked)


def _is_foreign(event: bytes, asked: JsonRpcRequest) -> bool:
    """Whether an event is a reply, and its id says to another request."""
    try:
        value = orjson.loads(_data(event))
    except orjson.JSONDecodeError:
        return False
    named = value.get("id") if isinstance(value, dict) and "method" not in value else None
    return isinstance(named, int | str) and str(named) != str(asked.named)


def _data(event: bytes) -> bytes:
    lines = [line.partition(b":") for line in _LINE.split(event)]
    return b"\n".join(value.removeprefix(b" ") for name, _, value in lines if name == b"data")


def _event(event: bytes, asked: JsonRpcRequest) -> bytes:
    """An event whose data is a message; others as they are, and without their data where that is noise."""
    lines = [line.partition(b":") for line in _LINE.split(event)]
    data = _data(event)
    if not data.strip():
        return event
    others = [b":".join((name, value)) for name, _, value in lines if name in (b"id", b"retry")]
    found = list(_replies(data, asked))
    if not found:
        return b"\n".join([*others, b"data:", b"", b""]) if others else b": noise\n\n"
    if found == [data] and not any(name == b"event" for name, _, _ in lines):
        return event
    return b"".join(b"\n".join([*others, *_data_lines(reply), b"", b""]) for reply in found)


def _data_lines(data: bytes) -> list[bytes]:
    return [b"data: " + line for line in _LINE.split(data)]


def _replies(body: bytes, asked: JsonRpcRequest) -> Iterator[bytes]:
    """The messages in a body, of which one is the reply; the body itself where the SDK will take it."""
    try:
        message = jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError:
        message = None
    if message is not None and _fits(message, asked):
        yield body
        return
    messages = _without_foreign(messages_in(_in_envelope(body, asked), {asked.named: asked.method}), asked)
    for found in sorted(messages, key=lambda one: "method" not in one):
        is_reply = "method" not in found
        yield json.dumps({**found, "id": asked.named} if is_reply else found, ensure_ascii=True).encode()


def _without_foreign(messages: list[JsonObject], asked: JsonRpcRequest) -> list[JsonObject]:
    """The messages without replies to other requests, where one to this request is among them."""
    replies = [message for message in messages if "method" not in message]
    ours = [reply for reply in replies if str(reply.get("id")) == str(asked.named)]
    return [message for message in messages if message not in replies or message in ours] if ours else messages


def _fits(message: object, asked: JsonRpcRequest) -> bool:
    is_reply = isinstance(message, JSONRPCResponse | JSONRPCError)
    return not is_reply or str(getattr(message, "id", None)) == str(asked.named)


def _in_envelope(body: bytes, asked: JsonRpcRequest) -> Json | bytes:
    """The body as a reply, where it is the bare result or a reply that does not say so."""
    try:
        value: Json = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    if not isinstance(value, dict) or "method" in value:
        return value
    if "result" not in value and "error" not in value and any(name in value for name in _RESULT):
        return {"jsonrpc": "2.0", "id": asked.named, "result": value}
    return {"jsonrpc": "2.0", **value}
