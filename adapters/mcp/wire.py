"""What passes between the SDK's client and its transport, with results kept whole.

Knows the messages of JSON-RPC and which results matter here. Knows no payload. The SDK measures every result against
the schema of the revision agreed on, and refuses a whole list of tools for the flaw of one. Servers break the schema,
and their data is data all the same: behind this transport the SDK meets a result that fits, and the raw one travels
inside it, unread.
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from mcp.client import Transport
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, Result

from adapters.base import JsonObject
from adapters.mcp.mending import fitting

_KEY = "runax/raw"


class _Carried(str):
    """A text to the checks of the SDK, and the raw result to whoever knows better."""

    __slots__ = ("raw",)
    raw: JsonObject

    @classmethod
    def of(cls, raw: JsonObject) -> "_Carried":
        carried = cls("carried")
        carried.raw = raw
        return carried


def raw_of(result: Result) -> JsonObject:
    """The result as the server sent it; one that did not come through this transport is taken as it is."""
    carried = (result.meta or {}).get(_KEY)
    if isinstance(carried, _Carried):
        return carried.raw
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


@dataclass
class Wire:
    """A transport around another one. `n_spoiled` counts what came and was no message; `last_spoiled` says what."""

    inner: Transport
    n_spoiled: int = 0
    last_spoiled: str = ""
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _methods: dict[str, str] = field(default_factory=dict)

    async def __aenter__(self) -> TransportStreams:
        reading, writing = await self._stack.enter_async_context(self.inner)
        return _Reading(reading, self), _Writing(writing, self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    def sent(self, message: SessionMessage) -> None:
        """Remember which method a request is of."""
        request = message.message
        if isinstance(request, JSONRPCRequest):
            self._methods[str(request.id)] = request.method

    def received(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        """The message as the SDK will take it."""
        if isinstance(item, Exception):
            self.n_spoiled += 1
            self.last_spoiled = " ".join(str(item).split())
            return item
        reply = item.message
        if isinstance(reply, JSONRPCResponse | JSONRPCError):
            method = self._methods.pop(str(reply.id), "")
            if isinstance(reply, JSONRPCResponse):
                reply.result = _carrying(method, reply.result)
        return item


def _carrying(method: str, raw: JsonObject) -> JsonObject:
    """The result in the form that the SDK accepts, with the raw one in its `_meta`."""
    fit = fitting(method, raw)
    if fit is None:
        return raw
    meta = fit.get("_meta")
    return {**fit, "_meta": {**(meta if isinstance(meta, Mapping) else {}), _KEY: _Carried.of(raw)}}


class _Reading:
    """The stream of what the server sends."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], wire: Wire) -> None:
        self._inner, self._wire = inner, wire

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent: the SDK looks for it here."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return self._wire.received(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> "_Reading":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._wire.received(await self._inner.__anext__())

    async def __aenter__(self) -> "_Reading":
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)


class _Writing:
    """The stream of what is sent to the server."""

    def __init__(self, inner: WriteStream[SessionMessage], wire: Wire) -> None:
        self._inner, self._wire = inner, wire

    async def send(self, item: SessionMessage, /) -> None:
        self._wire.sent(item)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> "_Writing":
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)
