"""HTTP for sources: one request with its deadline, cap, redirects and retries.

Knows the wire. Knows no document and no credential: the request comes with its headers, and the mask that hides
secrets is handed in. Nothing is followed to another origin, and no cookie outlives a response.
"""

import asyncio
import itertools
import os
import random
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http.cookiejar import DefaultCookiePolicy
from types import MappingProxyType
from typing import TypeAlias

import httpx2

from adapters.base import CallResult, OnEvent, RequestSent, RequestThrottled, RetryPlanned, RetryRefused, ignore_events
from adapters.clock import Clock, SystemClock
from adapters.errors import (
    CircuitOpen,
    ConnectError,
    ConnectionFailed,
    ForeignOrigin,
    HttpStatusError,
    MalformedResponse,
    ResponseTooLarge,
    SourceError,
    TimedOut,
)
from adapters.http.body_limits import TruncationDetector, is_truncated
from adapters.http.body_parser import MalformedBody, parse_body
from adapters.http.circuit_breaker import MAX_OUTAGE_RETRIES, CircuitBreaker, OutageWait, is_rate_limited
from adapters.http.rate_limit import RateLimiter, RateLimitStatus
from adapters.http.secret_mask import MASKED, SecretMask, hide_secrets_in_http_logs
from adapters.http.url_safety import Origin, block_metadata_addresses, resolve_url

_RETRYABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_TOO_MANY_REQUESTS = 429
_REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_EXCERPT_BYTES = 2_000
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 60.0
_USER_AGENT = "runax"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request, ready to leave. `is_repeatable` only if sending it twice does no harm.

    `timeout_s` goes before the limit of the transport. One that is not `is_followed` goes where it says and nowhere
    else. `hidden` are values that are taken out of the response's body before anybody reads it.
    """

    method: str
    url: httpx2.URL
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    is_repeatable: bool = False
    timeout_s: float | None = None
    is_followed: bool = True
    hidden: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """`timeout_s` is for one whole exchange, first byte to last; `max_bytes` for a body after decompression."""

    timeout_s: float = 30.0
    max_attempts: int = 3
    max_bytes: int = 256 * 2**20


def new_client(configured: Iterable[str | None] = ()) -> httpx2.AsyncClient:
    """A client that keeps no cookies and follows nothing by itself. Deadlines are set here, around each exchange.

    Addresses that no data may lead to are reached only where the `configured` URLs name them.
    """
    hide_secrets_in_http_logs()
    tls = _tls_context(*(os.environ.get(name) for name in _CERTIFICATE_VARIABLES))
    client = httpx2.AsyncClient(timeout=None, follow_redirects=False, verify=tls)
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return block_metadata_addresses(client, configured)


_CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@lru_cache(maxsize=4)
def _tls_context(*_certificates: str | None) -> ssl.SSLContext:
    """What connections are secured with, read once for all sources: it is a file of many certificates."""
    return httpx2.create_ssl_context()


class HttpTransport:
    """Sends requests of one source, at the pace that it allows, and leaves it alone where it fails and fails.

    `uniform` draws from [0, 1) for the jitter of waits.
    """

    def __init__(
        self,
        source: str,
        client: httpx2.AsyncClient,
        *,
        mask: SecretMask,
        limits: HttpLimits,
        clock: Clock | None = None,
        uniform: Callable[[], float] = random.random,
    ) -> None:
        self._source, self._client, self._mask, self._limits = source, client, mask, limits
        self._clock, self._uniform = clock or SystemClock(), uniform
        self._pace, self._breaker, self._patience = (
            RateLimiter(self._clock),
            CircuitBreaker(self._clock),
            OutageWait(self._clock),
        )
        hide_secrets_in_http_logs()

    async def send(self, request: HttpRequest, *, observer: OnEvent = ignore_events) -> CallResult:
        """The response, parsed, after as many attempts as the limits allow. Raises SourceError; never half a body."""
        return await self._repeated(request, self._result, observer)

    async def fetch(self, request: HttpRequest, *, observer: OnEvent = ignore_events) -> bytes:
        """The body of a success, as it is. Raises SourceError."""
        result = await self._repeated(request, _raw_result, observer)
        return bytes(result.payload)

    async def _repeated(self, request: HttpRequest, read: "_ReadResponse", observer: OnEvent) -> CallResult:
        started = self._clock.monotonic()
        location = f"{request.method} {self._mask.url(request.url)}"
        sent, answers = itertools.count(1), self._patience.answers
        for attempt in range(2, self._limits.max_attempts + MAX_OUTAGE_RETRIES + 2):
            try:
                await self._in_turn(location, observer)
                head, body = await self._watched(request, location, _Exchange(self._source, sent, observer))
                result = read(head, mask_in_body(body, request.hidden), location)
            except SourceError as error:
                wait_s = self._wait(request, error, attempt, is_alone=self._patience.answers == answers)
                answers = self._patience.answers
                if wait_s is None or not self._may_repeat(location, attempt, wait_s, error, observer):
                    error.requests = next(sent) - 1
                    raise
                await self._clock.sleep(wait_s)
            else:
                return replace(result, duration_s=self._clock.monotonic() - started, requests=next(sent) - 1)
        raise ValueError(f"'max_attempts' is {self._limits.max_attempts}; it must be at least 1")

    def _may_repeat(self, location: str, attempt: int, wait_s: float, error: SourceError, observer: OnEvent) -> bool:
        try:
            observer(RetryPlanned(self._source, location, attempt, wait_s, str(error)))
        except RetryRefused:
            return False
        return True

    async def _in_turn(self, location: str, observer: OnEvent) -> None:
        """Wait for as long as the source allows nothing more."""
        wait_s = self._pace.claim_s()
        if wait_s > 0:
            why = f"'{self._source}' says that it allows no more for now"
            observer(RequestThrottled(self._source, location, wait_s, why))
            await self._clock.sleep(wait_s)

    async def _watched(self, request: HttpRequest, location: str, hops: "_Exchange") -> tuple[httpx2.Response, bytes]:
        """One exchange, unless the source is to be left alone; what comes of it decides whether it is from now on."""
        left_s = self._breaker.open_for_s()
        if left_s is not None:
            text = f"the source '{self._source}' is left alone for {left_s:.0f} s more: {self._breaker.why}"
            raise CircuitOpen(text, source=self._source, location=location, retry_after_s=left_s)
        try:
            answer = await self._attempt(request, location, hops)
        except SourceError as error:
            self._came_to(error)
            raise
        except BaseException:
            self._breaker.left()
            raise
        self._breaker.answered()
        self._patience.answered()
        return answer

    def _came_to(self, error: SourceError) -> None:
        """A failure counts for the breaker, unless it belongs to an outage that is waited out by waits of its own."""
        self._patience.failed(error)
        if self._patience.outlasts(error):
            self._breaker.left()
        elif is_outage(error):
            self._breaker.failed(str(error))
        else:
            self._breaker.answered()

    def _wait(self, request: HttpRequest, error: SourceError, attempt: int, *, is_alone: bool) -> float | None:
        """Seconds until the coming attempt, or None where there is none: full jitter, never below Retry-After.

        An outage is waited out beyond the usual attempts, unless others were answered since (`is_alone` is False); so
        is a server that was asked too often, for as long as it answers any.
        """
        if not (request.is_repeatable and error.is_retryable):
            return None
        asked, beyond = error.retry_after_s or 0.0, attempt - self._limits.max_attempts
        if beyond > 0:
            draw = self._uniform()
            wait_s = self._patience.wait_s(error, beyond - 1, is_alone=is_alone, draw=draw)
            return None if self._limits.max_attempts == 1 else self._held(error, wait_s)
        if asked > _LONGEST_WAIT_S:
            return None
        if asked:
            self._pace.refused(asked)
        ceiling: float = min(_FIRST_WAIT_S * 2.0 ** (attempt - 2), _LONGEST_WAIT_S)
        return self._held(error, asked + ceiling * self._uniform())

    def _held(self, error: SourceError, wait_s: float | None) -> float | None:
        """A wait that all requests keep where one was told that there are too many, and not for how long."""
        if wait_s is not None and is_rate_limited(error) and error.retry_after_s is None:
            self._pace.refused(wait_s)
        return wait_s

    async def _attempt(self, request: HttpRequest, location: str, hops: "_Exchange") -> tuple[httpx2.Response, bytes]:
        """One exchange under one deadline, its failures in the words of this package."""
        timeout_s = request.timeout_s or self._limits.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                return await self._follow(request, hops)
        except (TimeoutError, httpx2.TimeoutException):
            text = f"no complete response within {timeout_s:g} s; raise the timeout or ask for less"
            raise TimedOut(text, source=self._source, location=location, is_retryable=True) from None
        except (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ProxyError) as error:
            text = f"the connection to '{Origin.of(request.url)}' failed: {self._said(error)}"
            kind = ConnectionFailed if hops.is_answered else ConnectError
            raise kind(text, source=self._source, location=location, is_retryable=True) from None
        except httpx2.DecodingError as error:
            text = f"the body is not what its content encoding says: {self._said(error)}"
            raise MalformedResponse(text, source=self._source, location=location, is_retryable=True) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            text = f"the request cannot be sent: {self._said(error)}"
            raise ConnectionFailed(text, source=self._source, location=location) from None

    def _said(self, error: Exception) -> str:
        """The library's words, masked. Its exception is not chained: it holds the request with its secrets."""
        return self._mask.text(str(error) or type(error).__name__)

    async def _follow(self, request: HttpRequest, hops: "_Exchange") -> tuple[httpx2.Response, bytes]:
        for _ in range(_MAX_REDIRECTS + 1):
            location = f"{request.method} {self._mask.url(request.url)}"
            hops.sent(location)
            response = await self._client.send(_httpx_request(request), stream=True, auth=None, follow_redirects=False)
            hops.is_answered = True
            try:
                allowance = self._pace.told(response.headers)
                target = response.headers.get("location") if response.status_code in _REDIRECT_STATUSES else None
                if target is None:
                    return response, await self._read(response, location, allowance)
            finally:
                await response.aclose()
            request = self._redirected(request, response.status_code, target, location)
        raise MalformedResponse(f"more than {_MAX_REDIRECTS} redirects", source=self._source, location=location)

    def _redirected(self, request: HttpRequest, status: int, target: str, location: str) -> HttpRequest:
        url = resolve_url(request.url, target)
        if url is None or Origin.of(url) != Origin.of(request.url):
            shown = self._mask.text(target.partition("?")[0])
            text = f"a redirect leads to '{shown}', another origin than '{Origin.of(request.url)}'; it was not followed"
            raise ForeignOrigin(text, source=self._source, location=location)
        if not request.is_followed:
            text = f"a redirect leads to '{self._mask.text(url.path)}'; what holds a secret goes only where it was sent"
            raise ForeignOrigin(text, source=self._source, location=location)
        if status in (307, 308) or request.method in ("GET", "HEAD"):
            return replace(request, url=url)
        return replace(request, url=url, method="GET", body=None)

    async def _read(self, response: httpx2.Response, location: str, allowance: RateLimitStatus | None) -> bytes:
        """The whole body of a success, or the error that its status stands for."""
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in _ENCODINGS:
            text = f"the body is encoded as '{encoding}', which was not asked for"
            raise MalformedResponse(text, source=self._source, location=location)
        if not 200 <= response.status_code < 300:
            raise await self._refusal(response, location, allowance)
        body, tail = bytearray(), TruncationDetector.of(response)
        self._require_size(_content_length(response), location)
        async for piece in response.aiter_bytes():
            body += piece
            self._require_size(len(body), location)
        if is_truncated(response, tail, len(body)):
            text = f"the body ends after {len(body):,} bytes, before its own end"
            raise MalformedResponse(text, source=self._source, location=location, is_retryable=True)
        return bytes(body)

    def _require_size(self, n_bytes: int, location: str) -> None:
        if n_bytes > self._limits.max_bytes:
            text = f"the body is larger than {self._limits.max_bytes:,} bytes; ask for a smaller page"
            raise ResponseTooLarge(text, source=self._source, location=location)

    async def _refusal(
        self, response: httpx2.Response, location: str, allowance: RateLimitStatus | None
    ) -> HttpStatusError:
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) >= _EXCERPT_BYTES:
                break
        status = response.status_code
        asked_s = parse_retry_after(response.headers.get("retry-after"), now=self._clock.wall())
        if asked_s is None and status == _TOO_MANY_REQUESTS and allowance is not None and allowance.remaining < 1:
            asked_s = allowance.reset_s
        excerpt = self._mask.text(bytes(body).decode("utf-8", "replace"))[: _EXCERPT_BYTES // 2]
        hint = "; check the credential of this source" if status in (401, 403) else ""
        return HttpStatusError(
            f"the server answered {status} {response.reason_phrase}{hint}",
            source=self._source,
            location=location,
            status=status,
            body=excerpt,
            is_retryable=status in _RETRYABLE_STATUSES,
            retry_after_s=asked_s,
        )

    def _result(self, head: httpx2.Response, body: bytes, location: str) -> CallResult:
        try:
            payload = parse_body(body, head.headers.get("content-type"))
        except MalformedBody as flaw:
            raise MalformedResponse(
                str(flaw), source=self._source, location=location, is_retryable=flaw.is_perhaps_cut
            ) from None
        headers = MappingProxyType({name.lower(): value for name, value in head.headers.items()})
        return CallResult(
            payload=payload, location=location, headers=headers, n_bytes=len(body), status=head.status_code
        )


def is_outage(error: SourceError) -> bool:
    """Whether a source did not answer, or only by saying that it is broken; a 429 is the answer of a healthy one."""
    if isinstance(error, HttpStatusError):
        return error.status >= 500
    return error.is_retryable and isinstance(error, ConnectionFailed | TimedOut)


def mask_in_body(body: bytes, hidden: tuple[str, ...]) -> bytes:
    """A body without some values, as they are and as JSON may spell them."""
    for value in hidden:
        for form in (value, value.replace("/", "\\/")):
            body = body.replace(form.encode(), MASKED.encode())
    return body


_ReadResponse: TypeAlias = Callable[[httpx2.Response, bytes, str], CallResult]


def _raw_result(head: httpx2.Response, body: bytes, location: str) -> CallResult:
    return CallResult(payload=body, location=location, n_bytes=len(body), status=head.status_code)


@dataclass(slots=True)
class _Exchange:
    """Counts the requests of one logical send and tells who listens. `is_answered`: one of an exchange was, if cut."""

    source: str
    count: "itertools.count[int]"
    observer: OnEvent
    is_answered: bool = False

    def sent(self, location: str) -> None:
        next(self.count)
        self.observer(RequestSent(self.source, location))


def _httpx_request(request: HttpRequest) -> httpx2.Request:
    headers = [("user-agent", _USER_AGENT), ("accept-encoding", "gzip"), *request.headers]
    return httpx2.Request(
        request.method, request.url, headers=[(n.encode("ascii"), v.encode("utf-8")) for n, v in headers],
        content=request.body,
    )  # fmt: skip


def parse_retry_after(value: str | None, *, now: float) -> float | None:
    """Seconds that a Retry-After header asks for: seconds or an HTTP date, seen from `now`; None for nonsense."""
    if not value:
        return None
    try:
        seconds = float(value) if value.strip()[:1].isdigit() else parsedate_to_datetime(value).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None
    return max(seconds, 0.0) if seconds < float("inf") else None


def _content_length(response: httpx2.Response) -> int:
    """The size that a body is announced with, 0 where there is no body or nothing is said."""
    told = response.headers.get("content-length", "")
    return int(told) if response.request.method != "HEAD" and told.isascii() and told.isdigit() else 0
