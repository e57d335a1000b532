"""What passes between the SDK's client and its transport, with results kept whole.

Knows the messages of JSON-RPC and which results matter here. Knows no payload. The SDK measures every result against
the schema of the revision agreed on, and refuses a whole list of tools for the flaw of one. Servers break the schema,
and their data is data all the same: behind this transport the SDK meets a result that fits, and the raw one travels
inside it, unread. What the SDK could not read as a message is looked through for messages.
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
from adapters.mcp.connection.jsonrpc_repair import is_begun, messages_in, too_large
from adapters.mcp.connection.stdio import LineTooLong

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_CACHING = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def fitting(method: str, raw: JsonObject) -> JsonObject | None:
    """A result of `method` that every revision accepts; None where the raw one may be passed on as it is."""
    match method:
        case "tools/call":
            return {"resultType": "complete", "content": []}
        case "resources/read":
            return {**_CACHING, "contents": []}
        case "resources/list":
            return {**_CACHING, "resources": []}
        case "tools/list":
            return {**_CACHING, "tools": list(usable_tools(raw)), **_cursor(raw)}
        case "initialize":
            return _handshake(raw)
        case "server/discover":
            return _discovery(raw)
        case _:
            return None


def usable_tools(raw: Mapping[str, Json]) -> Iterator[JsonObject]:
    """The tools of a list that have a name, with what is malformed about them left away."""
    for tool in listed(raw, "tools"):
        if isinstance(tool, dict) and isinstance(tool.get("name"), str) and tool["name"]:
            yield _tool(tool)


def unusable_tools(raw: Mapping[str, Json]) -> Iterator[SkippedTool]:
    """The rest of the list, each with the reason."""
    for index, tool in enumerate(listed(raw, "tools")):
        if not isinstance(tool, dict):
            yield SkippedTool(f"tools/{index}", "the tool is no object")
        elif not isinstance(tool.get("name"), str) or not tool["name"]:
            yield SkippedTool(f"tools/{index}", "the tool has no name")


def listed(raw: Mapping[str, Json], name: str) -> list[Json]:
    """The list of that name in a result; of an object its values, each under its key as a name."""
    found = raw.get(name)
    if isinstance(found, dict):
        return [{"name": key, **value} for key, value in found.items() if isinstance(value, dict)]
    return found if isinstance(found, list) else []


def cursor_of(raw: Mapping[str, Json]) -> str | None:
    """Where the list goes on; a number counts as its digits, and an empty text as the end."""
    cursor = raw.get("nextCursor")
    if isinstance(cursor, bool) or not isinstance(cursor, str | int):
        return None
    return str(cursor) or None


def _cursor(raw: JsonObject) -> JsonObject:
    cursor = cursor_of(raw)
    return {} if cursor is None else {"nextCursor": cursor}


def _tool(tool: JsonObject) -> JsonObject:
    mended: JsonObject = {"name": tool["name"], "inputSchema": _object_schema(_schema_of(tool))}
    for name in ("title", "description"):
        if isinstance(tool.get(name), str):
            mended[name] = tool[name]
    output = tool.get("outputSchema")
    if isinstance(output, dict):
        is_object = output.get("type", "object") == "object"
        mended["outputSchema"] = _object_schema(output if is_object else {"properties": {"result": output}})
    hints = tool.get("annotations")
    if isinstance(hints, dict):
        mended["annotations"] = {name: hints[name] for name in _HINTS if isinstance(hints.get(name), bool)}
    return mended


def _schema_of(tool: JsonObject) -> Json:
    """The schema of the arguments, also under the names that other protocols use."""
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
    """The schemas of arguments; a type's bare name is that type, and whatever else is no schema allows anything."""
    return {
        name: value if isinstance(value, dict | bool) else {"type": value} if value in _TYPES else {}
        for name, value in properties.items()
    }


def _handshake(raw: JsonObject) -> JsonObject:
    """What the SDK needs of a handshake. A revision that is none of a handshake is taken for the last that is one."""
    server, revision, words = raw.get("serverInfo"), raw.get("protocolVersion"), raw.get("instructions")
    named = {"name": "", "version": "", **(server if isinstance(server, dict) else {})}
    return {
        "protocolVersion": revision if revision in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION,
        "capabilities": _offers(raw),
        "serverInfo": {"name": str(named["name"]), "version": str(named["version"])},
        **({"instructions": words} if isinstance(words, str) else {}),
    }


def _discovery(raw: JsonObject) -> JsonObject | None:
    """What the SDK needs of a stateless server's word about itself; None where it names no revision."""
    revisions = raw.get("supportedVersions")
    if not isinstance(revisions, list):
        return None
    return {**_CACHING, "supportedVersions": [str(name) for name in revisions], "capabilities": _offers(raw)}


def _offers(raw: JsonObject) -> JsonObject:
    """What a server says that it can do. One that says nothing may have tools all the same."""
    capabilities = raw.get("capabilities")
    told = capabilities.items() if isinstance(capabilities, dict) else ()
    return {name: _offer(offer) for name, offer in told if offer not in (None, False)}


def _offer(offer: Json) -> JsonObject:
    """What a server says of one thing that it can do: of that, flags matter only."""
    flags = offer.items() if isinstance(offer, dict) else ()
    return {name: flag for name, flag in flags if isinstance(flag, bool)}


_KEY = "runax/raw"
_LOGGING, _CANCELLED, _LISTENING = "notifications/message", "notifications/cancelled", "subscriptions/listen"
_OF_THE_WHOLE = frozenset({"json_invalid", "missing", "model_type", "model_attributes_type", "dict_type"})
"""Faults of a message that are told with all of it, and not with one of its members."""
_EXCERPT = 300
_MOST_LINES = 100_000


class _RawResult(str):
    """A text to the checks of the SDK, and the raw result to whoever knows better."""

    __slots__ = ("raw",)
    raw: JsonObject

    @classmethod
    def of(cls, raw: JsonObject) -> "_RawResult":
        carried = cls("carried")
        carried.raw = raw
        return carried


def raw_of(result: Result) -> JsonObject:
    """The result as the server sent it; one that did not come through this transport is taken as it is."""
    carried = (result.meta or {}).get(_KEY)
    if isinstance(carried, _RawResult):
        return carried.raw
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


@dataclass
class SdkBridge:
    """A transport around another one. `n_spoiled` counts what came and was no message; `last_spoiled` says what."""

    inner: Transport
    n_spoiled: int = 0
    last_spoiled: str = ""
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _pending: dict[RequestId, str] = field(default_factory=dict)
    _begun: list[str] = field(default_factory=list)

    async def __aenter__(self) -> TransportStreams:
        reading, writing = await self._stack.enter_async_context(self.inner)
        return _ReadStream(reading, self), _WriteStream(writing, self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    def sent(self, message: SessionMessage) -> None:
        """Remember which method a request is of, until it is answered or given up."""
        request = message.message
        if isinstance(request, JSONRPCRequest) and request.method != _LISTENING:
            self._pending[request.id] = request.method
        elif isinstance(request, JSONRPCNotification) and request.method == _CANCELLED:
            self._pending.pop((request.params or {}).get("requestId", ""), None)

    def received(self, item: SessionMessage | Exception) -> Iterator[SessionMessage]:
        """What came, as messages that the SDK will take; what is none is counted."""
        if isinstance(item, LineTooLong):
            yield from self._taken(too_large(list(self._pending)))
        elif isinstance(item, Exception):
            yield from self._mended(item)
        elif isinstance(item.message, JSONRPCError) and item.message.id is None:
            yield from self._taken(messages_in(item.message.model_dump(mode="json"), self._pending))
        elif not (isinstance(item.message, JSONRPCNotification) and item.message.method == _LOGGING):
            yield self._known(item)

    def _mended(self, spoiled: Exception) -> Iterator[SessionMessage]:
        """The messages in what the SDK could not read."""
        given = _input_of(spoiled)
        found = messages_in(given, self._pending) or messages_in(self._printed(given), self._pending)
        if not found:
            self.n_spoiled += 1
            self.last_spoiled = " ".join(str(spoiled if given is None else given)[:_EXCERPT].split())
        else:
            self._begun.clear()
        yield from self._taken(found)

    def _printed(self, line: Json) -> str | None:
        """The lines since one that began a message, where this one may end it."""
        if not isinstance(line, str) or not (self._begun or is_begun(line)) or len(self._begun) > _MOST_LINES:
            self._begun.clear()
            return None
        self._begun.append(line)
        return "\n".join(self._begun) if line[:1] in ("}", "]") else None

    def _taken(self, messages: Iterable[JsonObject]) -> Iterator[SessionMessage]:
        for message in messages:
            try:
                yield self._known(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
            except ValidationError as error:
                self.n_spoiled += 1
                self.last_spoiled = " ".join(str(error)[:_EXCERPT].split())

    def _known(self, item: SessionMessage) -> SessionMessage:
        """The message, a result in the form that the SDK will take, and a request that is called off as failed."""
        reply = item.message
        if isinstance(reply, JSONRPCNotification) and reply.method == _CANCELLED:
            return self._called_off(item, reply.params or {})
        if isinstance(reply, JSONRPCResponse | JSONRPCError):
            method = self._answered(reply.id)
            if isinstance(reply, JSONRPCResponse):
                reply.result = _carrying(method, reply.result)
        return item

    def _called_off(self, item: SessionMessage, params: Mapping[str, Any]) -> SessionMessage:
        named = params.get("requestId")
        if not isinstance(named, int | str) or not self._answered(named):
            return item
        why = f"the server called the request off: {params.get('reason') or 'it gives no reason'}"
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=named, error=ErrorData(code=INTERNAL_ERROR, message=why)))

    def _answered(self, named: RequestId | None) -> str:
        """The method of the request of that id, which waits no more; some servers make texts of numbers."""
        for key in self._pending:
            if str(key) == str(named):
                return self._pending.pop(key)
        return ""


def _input_of(spoiled: Exception) -> Json:
    """What a message was tried to be read from: a text that is no JSON, or a value of another form."""
    if not isinstance(spoiled, ValidationError):
        return None
    whole = (error for error in spoiled.errors(include_url=False) if error["type"] in _OF_THE_WHOLE)
    given: Json = next((error["input"] for error in whole), None)
    return given


def _carrying(method: str, raw: JsonObject) -> JsonObject:
    """The result in the form that the SDK accepts, with the raw one in its `_meta`."""
    fit = fitting(method, raw)
    if fit is None:
        return raw
    meta = fit.get("_meta")
    return {**fit, "_meta": {**(meta if isinstance(meta, Mapping) else {}), _KEY: _RawResult.of(raw)}}


class _ReadStream:
    """The stream of what the server sends."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], wire: SdkBridge) -> None:
        self._inner, self._wire = inner, wire
        self._waiting: deque[SessionMessage] = deque()

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent: the SDK looks for it here."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while not self._waiting:
            self._waiting.extend(self._wire.received(await self._inner.receive()))
        return self._waiting.popleft()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> "_ReadStream":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while not self._waiting:
            self._waiting.extend(self._wire.received(await self._inner.__anext__()))
        return self._waiting.popleft()

    async def __aenter__(self) -> "_ReadStream":
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)


class _WriteStream:
    """The stream of what is sent to the server."""

    def __init__(self, inner: WriteStream[SessionMessage], wire: SdkBridge) -> None:
        self._inner, self._wire = inner, wire

    async def send(self, item: SessionMessage, /) -> None:
        self._wire.sent(item)
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
