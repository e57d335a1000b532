"""Limits on response bodies: a client that caps their size while they stream, and detection of truncated bodies.

Sizes are those after decompression: 194 kB of gzip can be 200 MB. `MaxSizeClient` is for SDKs, which read bodies
themselves.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeAlias

import httpx2

OnHeaders: TypeAlias = Callable[[Mapping[str, str]], object]

_EVENT_STREAM = "text/event-stream"
_DROPPED_HEADERS = frozenset({"content-encoding", "content-length"})


class BodyTooLarge(httpx2.StreamError):
    """A body exceeds the size limit."""


class _LimitedBody(httpx2.AsyncByteStream):
    """The decoded body of a response, up to a number of bytes. A second iteration continues where the first stopped."""

    def __init__(self, response: httpx2.Response, max_bytes: int | None) -> None:
        self._response = response
        self._chunks = self._read(max_bytes)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def _read(self, max_bytes: int | None) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._response.aiter_bytes():
            received += len(chunk)
            if max_bytes is not None and received > max_bytes:
                raise BodyTooLarge(f"is larger than {max_bytes:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._response.aclose()


class MaxSizeClient(httpx2.AsyncClient):
    """A client whose response bodies have at most `max_bytes`; reading on raises BodyTooLarge.

    `has_endless_events` exempts event streams, whose events then need a limit of their own. `on_headers` receives the
    headers of every response.
    """

    def __init__(
        self,
        *,
        max_bytes: int,
        on_headers: OnHeaders = lambda _headers: None,
        has_endless_events: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._max_bytes, self._on_headers, self._has_endless_events = max_bytes, on_headers, has_endless_events

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """See `httpx2.AsyncClient.send`."""
        response = await super().send(request, stream=True, **options)
        self._on_headers(response.headers)
        limited = httpx2.Response(
            response.status_code,
            headers=[(name, value) for name, value in response.headers.multi_items() if name not in _DROPPED_HEADERS],
            stream=_LimitedBody(response, self._limit_of(response)),
            request=response.request,
            extensions=response.extensions,
        )
        limited.next_request, limited.history = response.next_request, response.history
        if not stream:
            try:
                await limited.aread()
            finally:
                await limited.aclose()
        return limited

    def _limit_of(self, response: httpx2.Response) -> int | None:
        is_stream = response.headers.get("content-type", "").lower().startswith(_EVENT_STREAM)
        return None if self._has_endless_events and is_stream else self._max_bytes


_GZIP = ("gzip", "x-gzip")
_TRAILER_BYTES = 8
_SIZE_OFFSET = 4
_BODILESS_STATUSES = frozenset({204, 205, 304})


class TruncationDetector(httpx2.AsyncByteStream):
    """The raw stream of a response; `tail` holds its last bytes."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner
        self.tail = b""

    @classmethod
    def attach(cls, response: httpx2.Response) -> "TruncationDetector":
        """Observe a response that has not been read yet."""
        stream = response.stream
        if not isinstance(stream, httpx2.AsyncByteStream):
            raise TypeError(f"the body of a response is a {type(stream).__name__} and not an async stream")
        response.stream = detector = cls(stream)
        return detector

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            self.tail = (self.tail + chunk)[-_TRAILER_BYTES:]
            yield chunk

    async def aclose(self) -> None:
        """Close the observed stream."""
        await self._inner.aclose()


def is_truncated(response: httpx2.Response, detector: TruncationDetector, n_bytes: int) -> bool:
    """Whether a body of `n_bytes` after decompression seems to be cut off.

    The last bytes of gzip are the size of the original (RFC 1952, section 2.3.1). An empty body of type JSON counts
    as cut off too, unless the headers say that it is empty.
    """
    headers = response.headers
    if n_bytes and headers.get("content-encoding", "").strip().lower() in _GZIP:
        return int.from_bytes(detector.tail[_SIZE_OFFSET:], "little") != n_bytes % 2**32
    has_length = "content-length" in headers or "transfer-encoding" in headers
    expects_body = response.request.method != "HEAD" and response.status_code not in _BODILESS_STATUSES
    return not n_bytes and not has_length and expects_body and "json" in headers.get("content-type", "").lower()
