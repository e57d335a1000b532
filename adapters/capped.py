"""An HTTP client that caps every body while it streams, after decompression: 194 kB of gzip can be 200 MB.

Knows bodies and their size. Knows nothing of what is in them. For SDKs, which read bodies in their own way.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeAlias

import httpx2

Heard: TypeAlias = Callable[[Mapping[str, str]], object]

_EVENTS = "text/event-stream"
_DECODED = frozenset({"content-encoding", "content-length"})


class BodyTooLarge(httpx2.StreamError):
    """A body passed the cap while it was received."""


class _CappedBody(httpx2.AsyncByteStream):
    """The decoded body of a response, up to a number of bytes. Iterating again goes on where it was left."""

    def __init__(self, response: httpx2.Response, max_bytes: int | None) -> None:
        self._response = response
        self._pieces = self._read(max_bytes)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def _read(self, max_bytes: int | None) -> AsyncIterator[bytes]:
        received = 0
        async for piece in self._response.aiter_bytes():
            received += len(piece)
            if max_bytes is not None and received > max_bytes:
                raise BodyTooLarge(f"is larger than {max_bytes:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._response.aclose()


class CappedClient(httpx2.AsyncClient):
    """Every body is at most `max_bytes` long, after decompression; whoever reads on gets BodyTooLarge.

    `has_endless_events` lets streams of events be as long as they like: then each event needs a cap of its own.
    `heard` is told the headers of every answer.
    """

    def __init__(
        self,
        *,
        max_bytes: int,
        heard: Heard = lambda _headers: None,
        has_endless_events: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._max_bytes, self._heard, self._has_endless_events = max_bytes, heard, has_endless_events

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """See `httpx2.AsyncClient.send`."""
        response = await super().send(request, stream=True, **options)
        self._heard(response.headers)
        capped = httpx2.Response(
            response.status_code,
            headers=[(name, value) for name, value in response.headers.multi_items() if name not in _DECODED],
            stream=_CappedBody(response, self._cap(response)),
            request=response.request,
            extensions=response.extensions,
        )
        capped.next_request, capped.history = response.next_request, response.history
        if not stream:
            try:
                await capped.aread()
            finally:
                await capped.aclose()
        return capped

    def _cap(self, response: httpx2.Response) -> int | None:
        is_stream = response.headers.get("content-type", "").lower().startswith(_EVENTS)
        return None if self._has_endless_events and is_stream else self._max_bytes
