"""An HTTP client that caps every body while it streams, after decompression: 194 kB of gzip can be 200 MB.

Knows bodies and their size. Knows nothing of what is in them. For SDKs, which read bodies in their own way.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeAlias

import httpx2

OnHeaders: TypeAlias = Callable[[Mapping[str, str]], object]

_EVENT_STREAM = "text/event-stream"
_DROPPED_HEADERS = frozenset({"content-encoding", "content-length"})


class BodyTooLarge(httpx2.StreamError):
    """A body passed the cap while it was received."""


class _LimitedBody(httpx2.AsyncByteStream):
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


class MaxSizeClient(httpx2.AsyncClient):
    """Every body is at most `max_bytes` long, after decompression; whoever reads on gets BodyTooLarge.

    `has_endless_events` lets streams of events be as long as they like: then each event needs a cap of its own.
    `heard` is told the headers of every answer.
    """

    def __init__(
        self,
        *,
        max_bytes: int,
        heard: OnHeaders = lambda _headers: None,
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
            headers=[(name, value) for name, value in response.headers.multi_items() if name not in _DROPPED_HEADERS],
            stream=_LimitedBody(response, self._cap(response)),
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
        is_stream = response.headers.get("content-type", "").lower().startswith(_EVENT_STREAM)
        return None if self._has_endless_events and is_stream else self._max_bytes


_GZIP = ("gzip", "x-gzip")
_TRAILER_BYTES = 8
_SIZE_OFFSET = 4
_BODILESS_STATUSES = frozenset({204, 205, 304})


class TruncationDetector(httpx2.AsyncByteStream):
    """The stream of a response as it comes over the wire, whose last bytes are kept."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner
        self.last = b""

    @classmethod
    def of(cls, response: httpx2.Response) -> "TruncationDetector":
        """The tail of a response that is not read yet."""
        stream = response.stream
        if not isinstance(stream, httpx2.AsyncByteStream):
            raise TypeError(f"the body of a response is a {type(stream).__name__}, which cannot be awaited")
        response.stream = tail = cls(stream)
        return tail

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            self.last = (self.last + piece)[-_TRAILER_BYTES:]
            yield piece

    async def aclose(self) -> None:
        """Close the stream behind."""
        await self._inner.aclose()


def is_truncated(response: httpx2.Response, tail: TruncationDetector, n_bytes: int) -> bool:
    """Whether a body of `n_bytes` after decompression ends too early.

    The last bytes of gzip are the length of what was packed (RFC 1952, section 2.3.1). Nothing at all where JSON is
    announced is an end as well, unless the server itself says that the body is empty.
    """
    headers = response.headers
    if n_bytes and headers.get("content-encoding", "").strip().lower() in _GZIP:
        return int.from_bytes(tail.last[_SIZE_OFFSET:], "little") != n_bytes % 2**32
    is_told = "content-length" in headers or "transfer-encoding" in headers
    is_expected = response.request.method != "HEAD" and response.status_code not in _BODILESS_STATUSES
    return not n_bytes and not is_told and is_expected and "json" in headers.get("content-type", "").lower()
