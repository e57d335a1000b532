"""Whether a body came whole, where neither its length nor its framing tells.

Knows the end of a gzip stream, and that a body of JSON is never empty. HTTP/1.0 and every answer that ends with its
connection leave it open whether the end is the end (RFC 9112, section 6.3); decoders take half a stream without a word.
"""

from collections.abc import AsyncIterator

import httpx2

_GZIP = ("gzip", "x-gzip")
_TRAILER = 8
_SIZE = 4
_NO_BODY = frozenset({204, 205, 304})


class Tail(httpx2.AsyncByteStream):
    """The stream of a response as it comes over the wire, whose last bytes are kept."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner
        self.last = b""

    @classmethod
    def of(cls, response: httpx2.Response) -> "Tail":
        """The tail of a response that is not read yet."""
        stream = response.stream
        if not isinstance(stream, httpx2.AsyncByteStream):
            raise TypeError(f"the body of a response is a {type(stream).__name__}, which cannot be awaited")
        response.stream = tail = cls(stream)
        return tail

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            self.last = (self.last + piece)[-_TRAILER:]
            yield piece

    async def aclose(self) -> None:
        """Close the stream behind."""
        await self._inner.aclose()


def is_perhaps_cut(response: httpx2.Response, tail: Tail, n_bytes: int) -> bool:
    """Whether a body of `n_bytes` after decompression ends too early.

    The last bytes of gzip are the length of what was packed (RFC 1952, section 2.3.1). Nothing at all where JSON is
    announced is an end as well, unless the server itself says that the body is empty.
    """
    headers = response.headers
    if n_bytes and headers.get("content-encoding", "").strip().lower() in _GZIP:
        return int.from_bytes(tail.last[_SIZE:], "little") != n_bytes % 2**32
    is_told = "content-length" in headers or "transfer-encoding" in headers
    is_expected = response.request.method != "HEAD" and response.status_code not in _NO_BODY
    return not n_bytes and not is_told and is_expected and "json" in headers.get("content-type", "").lower()
