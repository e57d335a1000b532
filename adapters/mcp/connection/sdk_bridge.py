"""A transport around the SDK's transport that keeps results that violate the MCP schema.

The SDK validates every result against the negotiated protocol version and rejects a whole tool list because of one
malformed tool. This bridge passes a valid result to the SDK and carries the raw one inside it. Input that the SDK could
not parse as a message is searched for messages.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from mcp.client import Transport
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    Result,
    jsonrpc_message_adapter,
)
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION
from pydantic import ValidationError

from adapters.base import Json, JsonObject, SkippedTool
from adapters.mcp.connection.jsonrpc_repair import recover_messages, starts_message, too_large_errors
from adapters.mcp.connection.stdio import LineTooLong

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_CACHING = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def coerce_result(method: str, raw: JsonObject) -> JsonObject | None:
    """A result of `method` that is valid in every protocol version; None if the raw one may be passed on."""
    match method:
        case "tools/call":
            return {"resultType": "complete", "content": []}
        case "resources/read":
            return {**_CACHING, "contents": []}
        case "resources/list":
            return {**_CACHING, "resources": []}
        case "tools/list":
            cursor = cursor_of(raw)
            further = {} if cursor is None else {"nextCursor": cursor}
            return {**_CACHING, "tools": list(usable_tools(raw)), **further}
        case "initialize":
            return _coerce_handshake(raw)
        case "server/discover":
            return _coerce_discovery(raw)
        case _:
            return None


def usable_tools(raw: Mapping[str, Json]) -> Iterator[JsonObject]:
    """The tools that have a name, without their malformed parts."""
    for tool in list_member(raw, "tools"):
        if isinstance(tool, dict) and isinstance(tool.get("name"), str) and tool["name"]:
            yield _sanitize_tool(tool)


def unusable_tools(raw: Mapping[str, Json]) -> Iterator[SkippedTool]:
    """The rest of the list, each with the reason."""
    for index, tool in enumerate(list_member(raw, "tools")):
        if not isinstance(tool, dict):
            yield SkippedTool(f"tools/{index}", "the tool is not an object")
        elif not isinstance(tool.get("name"), str) or not tool["name"]:
            yield SkippedTool(f"tools/{index}", "the tool has no name")


def list_member(raw: Mapping[str, Json], name: str) -> list[Json]:
    """The list of that name in a result; of an object its values, each named after its key."""
    found = raw.get(name)
    if isinstance(found, dict):
        return [{"name": key, **value} for key, value in found.items() if isinstance(value, dict)]
    return found if isinstance(found, list) else []


def cursor_of(raw: Mapping[str, Json]) -> str | None:
    """The cursor of the next page; a number becomes a string, and an empty string means the end."""
    cursor = raw.get("nextCursor")
    if isinstance(cursor, bool) or not isinstance(cursor, str | int):
        return None
    return str(cursor) or None


def _sanitize_tool(tool: JsonObject) -> JsonObject:
    result: JsonObject = {"name": tool["name"], "inputSchema": _object_schema(_input_schema_of(tool))}
    for name in ("title", "description"):
        if isinstance(tool.get(name), str):
            result[name] = tool[name]
    output = tool.get("outputSchema")
    if isinstance(output, dict):
        is_object = output.get("type", "object") == "object"
        result["outputSchema"] = _object_schema(output if is_object else {"properties": {"result": output}})
    hints = tool.get("annotations")
    if isinstance(hints, dict):
        result["annotations"] = {name: hints[name] for name in _HINTS if isinstance(hints.get(name), bool)}
    return result


def _input_schema_of(tool: JsonObject) -> Json:
    """The input schema, also under the names that other protocols use."""
    return next((tool[name] for name in ("inputSchema", "input_schema", "parameters") if name in tool), None)


def _object_schema(schema: Json) -> JsonObject:
    if not isinstance(schema, dict):
        return {"type": "object"}
    properties = schema.get("properties")
    kept = {name: value for name, value in schema.items() if name not in ("properties", "required")}
    if not isinstance(kept.get("$schema", ""), str):
        del kept["$schema"]
    required = schema.get("required")
    return {
        **kept,
        "type": "object",
        **({"properties": _argument_schemas(properties)} if isinstance(properties, dict) else {}),
        **({"required": [name for name in required if isinstance(name, str)]} if isinstance(required, list) else {}),
    }


def _argument_schemas(properties: JsonObject) -> JsonObject:
    """The schemas of arguments; the bare name of a type is that type, anything else allows any value."""
    return {
        name: value if isinstance(value, dict | bool) else {"type": value} if value in _TYPES else {}
        for name, value in properties.items()
    }


def _coerce_handshake(raw: JsonObject) -> JsonObject:
    """A valid handshake; an unknown protocol version becomes the latest one with a handshake."""
    server, revision, words = raw.get("serverInfo"), raw.get("protocolVersion"), raw.get("instructions")
    request_id = {"name": "", "version": "", **(server if isinstance(server, dict) else {})}
    return {
        "protocolVersion": revision if revision in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION,
        "capabilities": _capabilities(raw),
        "serverInfo": {"name": str(request_id["name"]), "version": str(request_id["version"])},
        **({"instructions": words} if isinstance(words, str) else {}),
    }


def _coerce_discovery(raw: JsonObject) -> JsonObject | None:
    """A valid description of a stateless server; None if it lists no protocol versions."""
    revisions = raw.get("supportedVersions")
    if not isinstance(revisions, list):
        return None
    return {**_CACHING, "supportedVersions": [str(name) for name in revisions], "capabilities": _capabilities(raw)}


def _capabilities(raw: JsonObject) -> JsonObject:
    """The capabilities of a server. A server that declares none may still have tools."""
    capabilities = raw.get("capabilities")
    items = capabilities.items() if isinstance(capabilities, dict) else ()
    return {name: _capability_flags(offer) for name, offer in items if offer not in (None, False)}


def _capability_flags(offer: Json) -> JsonObject:
    """The boolean flags of one capability; other members do not matter."""
    flags = offer.items() if isinstance(offer, dict) else ()
    return {name: flag for name, flag in flags if isinstance(flag, bool)}


_RAW_KEY = "runax/raw"
_LOGGING, _CANCELLED, _LISTENING = "notifications/message", "notifications/cancelled", "subscriptions/listen"
_WHOLE_MESSAGE_ERRORS = frozenset({"json_invalid", "missing", "model_type", "model_attributes_type", "dict_type"})
"""Validation errors that refer to the whole message, not to one of its members."""
_EXCERPT = 300
_MAX_JOINED_LINES = 100_000


class _RawResult(str):
    """A string for the SDK's validation that carries the raw result."""

    __slots__ = ("raw",)
    raw: JsonObject

    @classmethod
    def of(cls, raw: JsonObject) -> "_RawResult":
        instance = cls("raw result")
        instance.raw = raw
        return instance


def raw_result(result: Result) -> JsonObject:
    """The result as the server sent it; a result that did not pass the bridge is returned as it is."""
    raw = (result.meta or {}).get(_RAW_KEY)
    if isinstance(raw, _RawResult):
        return raw.raw
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


@dataclass
class SdkBridge:
    """A transport around another one. `n_invalid` counts inputs that are not messages; `last_invalid` is the last."""

    inner: Transport
    n_invalid: int = 0
    last_invalid: str = ""
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _pending: dict[RequestId, str] = field(default_factory=dict)
    _partial_lines: list[str] = field(default_factory=list)

    async def __aenter__(self) -> TransportStreams:
        reading, writing = await self._stack.enter_async_context(self.inner)
        return _ReadStream(reading, self), _WriteStream(writing, self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    def track_sent(self, message: SessionMessage) -> None:
        """Remember the method of a request until it is answered or cancelled."""
        request = message.message
        if isinstance(request, JSONRPCRequest) and request.method != _LISTENING:
            self._pending[request.id] = request.method
        elif isinstance(request, JSONRPCNotification) and request.method == _CANCELLED:
            self._pending.pop((request.params or {}).get("requestId", ""), None)

    def accept(self, item: SessionMessage | Exception) -> Iterator[SessionMessage]:
        """Convert what arrived to messages that the SDK accepts; anything else is counted."""
        if isinstance(item, LineTooLong):
            yield from self._validate(too_large_errors(list(self._pending)))
        elif isinstance(item, Exception):
            yield from self._recover(item)
        elif isinstance(item.message, JSONRPCError) and item.message.id is None:
            yield from self._validate(recover_messages(item.message.model_dump(mode="json"), self._pending))
        elif not (isinstance(item.message, JSONRPCNotification) and item.message.method == _LOGGING):
            yield self._coerce(item)

    def _recover(self, error: Exception) -> Iterator[SessionMessage]:
        """The messages in an input that the SDK could not parse."""
        rejected = _rejected_input(error)
        messages = recover_messages(rejected, self._pending) or recover_messages(
            self._join_printed_lines(rejected), self._pending
        )
        if not messages:
            self.n_invalid += 1
            self.last_invalid = " ".join(str(error if rejected is None else rejected)[:_EXCERPT].split())
        else:
            self._partial_lines.clear()
        yield from self._validate(messages)

    def _join_printed_lines(self, line: Json) -> str | None:
        """The lines of a message printed over several lines, once it may be complete."""
        if (
            not isinstance(line, str)
            or not (self._partial_lines or starts_message(line))
            or len(self._partial_lines) > _MAX_JOINED_LINES
        ):
            self._partial_lines.clear()
            return None
        self._partial_lines.append(line)
        return "\n".join(self._partial_lines) if line[:1] in ("}", "]") else None

    def _validate(self, messages: Iterable[JsonObject]) -> Iterator[SessionMessage]:
        for message in messages:
            try:
                yield self._coerce(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
            except ValidationError as error:
                self.n_invalid += 1
                self.last_invalid = " ".join(str(error)[:_EXCERPT].split())

    def _coerce(self, item: SessionMessage) -> SessionMessage:
        """The message with a valid result; a cancellation by the server becomes an error reply."""
        reply = item.message
        if isinstance(reply, JSONRPCNotification) and reply.method == _CANCELLED:
            return self._to_error_reply(item, reply.params or {})
        if isinstance(reply, JSONRPCResponse | JSONRPCError):
            method = self._pop_method(reply.id)
            if isinstance(reply, JSONRPCResponse):
                reply.result = _with_raw(method, reply.result)
        return item

    def _to_error_reply(self, item: SessionMessage, params: Mapping[str, Any]) -> SessionMessage:
        request_id = params.get("requestId")
        if not isinstance(request_id, int | str) or not self._pop_method(request_id):
            return item
        reason = f"the server cancelled the request: {params.get('reason') or 'no reason given'}"
        return SessionMessage(
            JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=INTERNAL_ERROR, message=reason))
        )

    def _pop_method(self, request_id: RequestId | None) -> str:
        """The method of the request with that id, which is no longer pending; some servers turn ids into strings."""
        for key in self._pending:
            if str(key) == str(request_id):
                return self._pending.pop(key)
        return ""


def _rejected_input(error: Exception) -> Json:
    """The input of a failed validation: a text that is not JSON, or a value that is not a message."""
    if not isinstance(error, ValidationError):
        return None
    whole = (error for error in error.errors(include_url=False) if error["type"] in _WHOLE_MESSAGE_ERRORS)
    given: Json = next((error["input"] for error in whole), None)
    return given


def _with_raw(method: str, raw: JsonObject) -> JsonObject:
    """The result in a form that the SDK accepts, with the raw one in its `_meta`."""
    coerced = coerce_result(method, raw)
    if coerced is None:
        return raw
    meta = coerced.get("_meta")
    return {**coerced, "_meta": {**(meta if isinstance(meta, Mapping) else {}), _RAW_KEY: _RawResult.of(raw)}}


class _ReadStream:
    """The stream of messages from the server."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], bridge: SdkBridge) -> None:
        self._inner, self._bridge = inner, bridge
        self._waiting: deque[SessionMessage] = deque()

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent; the SDK reads it here."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while not self._waiting:
            self._waiting.extend(self._bridge.accept(await self._inner.receive()))
        return self._waiting.popleft()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> "_ReadStream":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while not self._waiting:
            self._waiting.extend(self._bridge.accept(await self._inner.__anext__()))
        return self._waiting.popleft()

    async def __aenter__(self) -> "_ReadStream":
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)


class _WriteStream:
    """The stream of messages to the server."""

    def __init__(self, inner: WriteStream[SessionMessage], bridge: SdkBridge) -> None:
        self._inner, self._bridge = inner, bridge

    async def send(self, item: SessionMessage, /) -> None:
        self._bridge.track_sent(item)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> "_WriteStream":
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)
