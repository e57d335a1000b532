"""Repairs HTTP responses that break the MCP transport rules before the SDK reads them.

The response to a POST can only be the reply to the request in it, regardless of its id or content type. JSON and
server-sent events are recognized by their first bytes, and bodies are repaired while they stream. A notification that
is never answered does not block the requests after it.
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
from adapters.mcp.connection.jsonrpc_repair import RequestId, recover_messages

_JSON, _EVENTS = "application/json", "text/event-stream"
_LEADING_BYTES = b" \t\r\n\xef\xbb\xbf"
_EVENT_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_EVENT_END_PIECES = 4
"""The longest end of an event in bytes; a chunk has at least one."""
_NOTIFICATION_TIMEOUT_S = 1.0
_RESULT_MEMBERS = ("content", "structuredContent")


@dataclass(frozen=True, slots=True)
class JsonRpcRequest:
    """The request that a body replies to."""

    id: RequestId
    method: str


class RepairingClient(MaxSizeClient):
    """An HTTP client whose responses to JSON-RPC requests are valid messages, as far as they can be recovered."""

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """See `httpx2.AsyncClient.send`."""
        message = _sent_message(request)
        if message is None:
            return await super().send(request, stream=stream, **options)
        if (rpc_request := _to_request(message)) is None:
            return await self._send_notification(request, stream=stream, **options)
        response = await super().send(request, stream=True, **options)
        if response.status_code in (httpx2.codes.OK, httpx2.codes.ACCEPTED):
            response = await _repair(response, rpc_request, self._max_bytes)
        if not stream:
            try:
                await response.aread()
            finally:
                await response.aclose()
        return response

    async def _send_notification(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The response to a notification, or 202 after a short timeout, because later requests wait for it."""
        try:
            async with asyncio.timeout(_NOTIFICATION_TIMEOUT_S):
                return await super().send(request, **options)
        except TimeoutError:
            return httpx2.Response(httpx2.codes.ACCEPTED, request=request)


def _sent_message(request: httpx2.Request) -> JsonObject | None:
    """The JSON-RPC message in a POST."""
    if request.method != "POST":
        return None
    try:
        message = orjson.loads(request.content)
    except (orjson.JSONDecodeError, httpx2.RequestNotRead):
        return None
    return message if isinstance(message, dict) else None


def _to_request(message: JsonObject) -> JsonRpcRequest | None:
    request_id, method = message.get("id"), message.get("method")
    return JsonRpcRequest(request_id, method) if isinstance(request_id, int | str) and isinstance(method, str) else None


async def _repair(response: httpx2.Response, rpc_request: JsonRpcRequest, max_bytes: int) -> httpx2.Response:
    """The response with its content type corrected, and with a body that is repaired while it is read.

    A 202 response is treated as 200 if its body contains the reply.
    """
    chunks = response.aiter_raw()
    first = b""
    async for chunk in chunks:
        if first := chunk.lstrip(_LEADING_BYTES):
            break
    media_type = _media_type(response.headers.get("content-type", "").lower(), first)
    if media_type is None or (response.status_code == httpx2.codes.ACCEPTED and not first):
        return _with_body(
            response, _RepairedBody(response, _prepend(first, chunks)), response.headers.get("content-type")
        )
    body = (
        _repair_events(first, chunks, rpc_request, max_bytes)
        if media_type == _EVENTS
        else _repair_json(first, chunks, rpc_request)
    )
    return _with_body(response, _RepairedBody(response, body), media_type)


def _media_type(content_type: str, start: bytes) -> str | None:
    """The media type by the first bytes, else by the content type."""
    if start[:1] in (b"{", b"["):
        return _JSON
    if start.startswith(_EVENT_FIELDS) or content_type.startswith(_EVENTS):
        return _EVENTS
    return None


def _with_body(response: httpx2.Response, body: "_RepairedBody", media_type: str | None) -> httpx2.Response:
    headers = [(name, value) for name, value in response.headers.multi_items() if name != "content-type"]
    new_headers = [*headers, ("content-type", media_type)] if media_type else headers
    return httpx2.Response(
        httpx2.codes.OK if media_type in (_JSON, _EVENTS) else response.status_code,
        headers=new_headers,
        stream=body,
        request=response.request,
        extensions=response.extensions,
    )


class _RepairedBody(httpx2.AsyncByteStream):
    """A body that replaces that of another response."""

    def __init__(self, response: httpx2.Response, pieces: AsyncIterator[bytes]) -> None:
        self._response, self._pieces = response, pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        await self._response.aclose()


async def _prepend(first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in pieces:
        yield piece


async def _repair_json(first: bytes, pieces: AsyncIterator[bytes], rpc_request: JsonRpcRequest) -> AsyncIterator[bytes]:
    """A JSON body: the last message in it is the reply."""
    body = b"".join([first, *[piece async for piece in pieces]])
    messages = list(_messages_in_body(body, rpc_request))
    yield messages[-1] if messages else body


async def _repair_events(
    first: bytes, pieces: AsyncIterator[bytes], rpc_request: JsonRpcRequest, max_bytes: int
) -> AsyncIterator[bytes]:
    """A stream of events, each repaired as soon as it is complete; the last one may lack its end.

    A reply with the id of another request is used only if there is no better one.
    """
    buffer, replies_to_others = [first], list[bytes]()
    size = len(buffer[0])
    while True:
        if _EVENT_END.search(b"".join(buffer[-_EVENT_END_PIECES:])) is not None:
            *events, last = _split_events(b"".join(buffer))
            for event in events:
                if _is_reply_to_other(event, rpc_request):
                    replies_to_others.append(event)
                else:
                    yield _repair_event(event, rpc_request)
            buffer, size = [last], len(last)
        if size > max_bytes:
            break
        try:
            buffer.append(await anext(pieces))
        except StopAsyncIteration:
            yield _repair_last_event(b"".join(buffer), rpc_request)
            for event in replies_to_others:
                yield _repair_event(event, rpc_request)
            return
        size += len(buffer[-1])
    async for piece in _prepend(b"".join(buffer), pieces):
        yield piece


def _split_events(text: bytes) -> Iterator[bytes]:
    """The events in a text, each with its end, and the text after the last one."""
    start = 0
    for end in _EVENT_END.finditer(text):
        yield text[start : end.end()]
        start = end.end()
    yield text[start:]


def _repair_last_event(left: bytes, rpc_request: JsonRpcRequest) -> bytes:
    """The text after the last complete event; it is an event only if its data is complete."""
    try:
        orjson.loads(_event_data(left))
    except orjson.JSONDecodeError:
        return left
    return _repair_event(left + b"\n\n", rpc_request)


def _is_reply_to_other(event: bytes, rpc_request: JsonRpcRequest) -> bool:
    """Whether an event is a reply with the id of another request."""
    try:
        value = orjson.loads(_event_data(event))
    except orjson.JSONDecodeError:
        return False
    reply_id = value.get("id") if isinstance(value, dict) and "method" not in value else None
    return isinstance(reply_id, int | str) and str(reply_id) != str(rpc_request.id)


def _event_data(event: bytes) -> bytes:
    lines = [line.partition(b":") for line in _LINE_END.split(event)]
    return b"\n".join(value.removeprefix(b" ") for name, _, value in lines if name == b"data")


def _repair_event(event: bytes, rpc_request: JsonRpcRequest) -> bytes:
    """An event with a valid message as data; data that is not a message is removed."""
    lines = [line.partition(b":") for line in _LINE_END.split(event)]
    data = _event_data(event)
    if not data.strip():
        return event
    others = [b":".join((name, value)) for name, _, value in lines if name in (b"id", b"retry")]
    found = list(_messages_in_body(data, rpc_request))
    if not found:
        return b"\n".join([*others, b"data:", b"", b""]) if others else b": noise\n\n"
    if found == [data] and not any(name == b"event" for name, _, _ in lines):
        return event
    return b"".join(b"\n".join([*others, *_data_lines(reply), b"", b""]) for reply in found)


def _data_lines(data: bytes) -> list[bytes]:
    return [b"data: " + line for line in _LINE_END.split(data)]


def _messages_in_body(body: bytes, rpc_request: JsonRpcRequest) -> Iterator[bytes]:
    """The messages in a body, the reply last; the body itself if the SDK accepts it."""
    try:
        message = jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError:
        message = None
    if message is not None and _is_reply_to(message, rpc_request):
        yield body
        return
    messages = _drop_foreign_replies(
        recover_messages(_with_envelope(body, rpc_request), {rpc_request.id: rpc_request.method}), rpc_request
    )
    for found in sorted(messages, key=lambda one: "method" not in one):
        is_reply = "method" not in found
        yield json.dumps({**found, "id": rpc_request.id} if is_reply else found, ensure_ascii=True).encode()


def _drop_foreign_replies(messages: list[JsonObject], rpc_request: JsonRpcRequest) -> list[JsonObject]:
    """The messages without replies to other requests, if there is a reply to this one."""
    replies = [message for message in messages if "method" not in message]
    ours = [reply for reply in replies if str(reply.get("id")) == str(rpc_request.id)]
    return [message for message in messages if message not in replies or message in ours] if ours else messages


def _is_reply_to(message: object, rpc_request: JsonRpcRequest) -> bool:
    is_reply = isinstance(message, JSONRPCResponse | JSONRPCError)
    return not is_reply or str(getattr(message, "id", None)) == str(rpc_request.id)


def _with_envelope(body: bytes, rpc_request: JsonRpcRequest) -> Json | bytes:
    """The body as a JSON-RPC reply, if it is a bare result or lacks `jsonrpc`."""
    try:
        value: Json = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    if not isinstance(value, dict) or "method" in value:
        return value
    if "result" not in value and "error" not in value and any(name in value for name in _RESULT_MEMBERS):
        return {"jsonrpc": "2.0", "id": rpc_request.id, "result": value}
    return {"jsonrpc": "2.0", **value}
