"""HTTP transport of the sources: one request with its deadline, size limit, redirects, retries and rate limit.

Redirects to another origin are not followed, and no cookie is kept. Errors and events have their secrets masked.
"""

import asyncio
import itertools
import os
import random
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from http.cookiejar import DefaultCookiePolicy
from types import MappingProxyType
from typing import TypeAlias

import httpx2

from adapters.base import CallResult
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
from adapters.http.circuit_breaker import CircuitBreaker
from adapters.http.rate_limit import RateLimiter, RateLimitStatus
from adapters.http.retry import (
    MAX_BACKOFF_S,
    MAX_OUTAGE_RETRIES,
    OutageWait,
    backoff_s,
    is_rate_limited,
    parse_retry_after,
)
from adapters.http.secret_mask import MASKED, SecretMask, hide_secrets_in_http_logs
from adapters.http.url_safety import Origin, block_metadata_addresses, resolve_url
from adapters.secret_forms import secret_forms
from adapters.source_events import OnEvent, RequestSent, RequestThrottled, RetryPlanned, RetryRefused, ignore_events

_RETRYABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_TOO_MANY_REQUESTS = 429
_REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_EXCERPT_BYTES = 2_000
_USER_AGENT = "runax"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request to send. `is_repeatable` only if sending it twice does no harm.

    `timeout_s` overrides the limit of the transport. `follows_redirects` is False if the request holds a secret that
    may go to its own URL only. `secrets` are masked in the body of the response before it is parsed.
    """

    method: str
    url: httpx2.URL
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    is_repeatable: bool = False
    timeout_s: float | None = None
    follows_redirects: bool = True
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """`timeout_s` limits one whole exchange, first byte to last; `max_bytes` a body after decompression."""

    timeout_s: float = 30.0
    max_attempts: int = 3
    max_bytes: int = 256 * 2**20


def new_client(configured: Iterable[str | None] = ()) -> httpx2.AsyncClient:
    """Return a client without cookies, redirects and timeouts; the transport handles redirects and deadlines.

    It reaches link-local and metadata addresses only if a `configured` URL names them.
    """
    hide_secrets_in_http_logs()
    tls = _tls_context(*(os.environ.get(name) for name in _CERTIFICATE_VARIABLES))
    client = httpx2.AsyncClient(timeout=None, follow_redirects=False, verify=tls)
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return block_metadata_addresses(client, configured)


_CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@lru_cache(maxsize=4)
def _tls_context(*_certificates: str | None) -> ssl.SSLContext:
    """Return the TLS context of all sources; loading the certificates takes a while, so it is cached."""
    return httpx2.create_ssl_context()


class HttpTransport:
    """Sends the requests of one source, with retries, rate limiting and a circuit breaker.

    `uniform` returns random numbers in [0, 1) for the jitter of waits.
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
        self._rate_limiter = RateLimiter(self._clock)
        self._breaker = CircuitBreaker(self._clock)
        self._outage = OutageWait(self._clock)
        hide_secrets_in_http_logs()

    async def send(self, request: HttpRequest, *, observer: OnEvent = ignore_events) -> CallResult:
        """Send a request, with retries, and return the parsed response. Raises SourceError; never a partial body."""
        return await self._send_with_retries(request, self._result, observer)

    async def fetch(self, request: HttpRequest, *, observer: OnEvent = ignore_events) -> bytes:
        """Send a request, with retries, and return the raw body. Raises SourceError."""
        result = await self._send_with_retries(request, _raw_result, observer)
        return bytes(result.payload)

    async def _send_with_retries(self, request: HttpRequest, parse: "_ParseResponse", observer: OnEvent) -> CallResult:
        started = self._clock.monotonic()
        location = f"{request.method} {self._mask.url(request.url)}"
        sent, n_successes = itertools.count(1), self._outage.successes
        for attempt in range(2, self._limits.max_attempts + MAX_OUTAGE_RETRIES + 2):
            try:
                await self._wait_for_rate_limit(location, observer)
                head, body = await self._send_through_breaker(
                    request, location, _Exchange(self._source, sent, observer)
                )
                result = parse(head, mask_in_body(body, request.secrets), location)
            except SourceError as error:
                is_down_for_all = self._outage.successes == n_successes
                wait_s = self._retry_wait_s(request, error, attempt, is_down_for_all=is_down_for_all)
                n_successes = self._outage.successes
                if wait_s is None or not self._may_retry(location, attempt, wait_s, error, observer):
                    error.requests = next(sent) - 1
                    raise
                await self._clock.sleep(wait_s)
            else:
                return replace(result, duration_s=self._clock.monotonic() - started, requests=next(sent) - 1)
        raise ValueError(f"'max_attempts' is {self._limits.max_attempts}; it must be at least 1")

    def _may_retry(self, location: str, attempt: int, wait_s: float, error: SourceError, observer: OnEvent) -> bool:
        try:
            observer(RetryPlanned(self._source, location, attempt, wait_s, str(error)))
        except RetryRefused:
            return False
        return True

    async def _wait_for_rate_limit(self, location: str, observer: OnEvent) -> None:
        """Wait until the rate limit of the source allows the next request."""
        wait_s = self._rate_limiter.reserve_s()
        if wait_s > 0:
            reason = f"'{self._source}' reports that its rate limit is reached"
            observer(RequestThrottled(self._source, location, wait_s, reason))
            await self._clock.sleep(wait_s)

    async def _send_through_breaker(
        self, request: HttpRequest, location: str, exchange: "_Exchange"
    ) -> tuple[httpx2.Response, bytes]:
        """Send a request unless the circuit is open, and record the outcome."""
        open_s = self._breaker.open_for_s()
        if open_s is not None:
            text = f"requests to '{self._source}' are paused for {open_s:.0f} s: {self._breaker.reason}"
            raise CircuitOpen(text, source=self._source, location=location, retry_after_s=open_s)
        try:
            response = await self._send_once(request, location, exchange)
        except SourceError as error:
            self._record_failure(error)
            raise
        except BaseException:
            self._breaker.release()
            raise
        self._breaker.record_success()
        self._outage.record_success()
        return response

    def _record_failure(self, error: SourceError) -> None:
        """Count a failure against the breaker, unless it belongs to an outage that is being waited out."""
        self._outage.record_failure(error)
        if self._outage.covers(error):
            self._breaker.release()
        elif is_outage(error):
            self._breaker.record_failure(str(error))
        else:
            self._breaker.record_success()

    def _retry_wait_s(
        self, request: HttpRequest, error: SourceError, attempt: int, *, is_down_for_all: bool
    ) -> float | None:
        """Return the seconds until the next attempt, or None: full jitter, and never less than Retry-After.

        Beyond the usual attempts an outage is waited out, unless other requests got responses meanwhile; so is a
        server that answers 429, as long as it answers any.
        """
        if not (request.is_repeatable and error.is_retryable):
            return None
        asked_s, n_extra = error.retry_after_s or 0.0, attempt - self._limits.max_attempts
        if n_extra > 0:
            jitter = self._uniform()
            wait_s = self._outage.wait_s(error, n_extra - 1, is_down_for_all=is_down_for_all, jitter=jitter)
            return None if self._limits.max_attempts == 1 else self._pause_if_rate_limited(error, wait_s)
        if asked_s > MAX_BACKOFF_S:
            return None
        if asked_s:
            self._rate_limiter.pause_for(asked_s)
        return self._pause_if_rate_limited(error, asked_s + backoff_s(attempt - 2, jitter=self._uniform()))

    def _pause_if_rate_limited(self, error: SourceError, wait_s: float | None) -> float | None:
        """Hold back all requests for the wait after a 429 that has no Retry-After."""
        if wait_s is not None and is_rate_limited(error) and error.retry_after_s is None:
            self._rate_limiter.pause_for(wait_s)
        return wait_s

    async def _send_once(
        self, request: HttpRequest, location: str, exchange: "_Exchange"
    ) -> tuple[httpx2.Response, bytes]:
        """Send a request under one deadline, and map the errors of the HTTP library to SourceError."""
        timeout_s = request.timeout_s or self._limits.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                return await self._send_and_follow(request, exchange)
        except (TimeoutError, httpx2.TimeoutException):
            text = (
                f"timed out: no complete response within {timeout_s:g} s; raise the timeout or request a smaller page"
            )
            raise TimedOut(text, source=self._source, location=location, is_retryable=True) from None
        except (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ProxyError) as error:
            text = f"the connection to '{Origin.of(request.url)}' failed: {self._describe(error)}"
            kind = ConnectionFailed if exchange.is_answered else ConnectError
            raise kind(text, source=self._source, location=location, is_retryable=True) from None
        except httpx2.DecodingError as error:
            text = f"the response body cannot be decompressed: {self._describe(error)}"
            raise MalformedResponse(text, source=self._source, location=location, is_retryable=True) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            text = f"the request cannot be sent: {self._describe(error)}"
            raise ConnectionFailed(text, source=self._source, location=location) from None

    def _describe(self, error: Exception) -> str:
        """Return the masked message of a library error. It is not chained, since it holds the request's secrets."""
        return self._mask.text(str(error) or type(error).__name__)

    async def _send_and_follow(self, request: HttpRequest, exchange: "_Exchange") -> tuple[httpx2.Response, bytes]:
        for _ in range(_MAX_REDIRECTS + 1):
            location = f"{request.method} {self._mask.url(request.url)}"
            exchange.record_request(location)
            response = await self._client.send(_httpx_request(request), stream=True, auth=None, follow_redirects=False)
            exchange.is_answered = True
            try:
                rate_limit = self._rate_limiter.update(response.headers)
                target = response.headers.get("location") if response.status_code in _REDIRECT_STATUSES else None
                if target is None:
                    return response, await self._read(response, location, rate_limit)
            finally:
                await response.aclose()
            request = self._redirect(request, response.status_code, target, location)
        raise MalformedResponse(
            f"too many redirects: more than {_MAX_REDIRECTS}", source=self._source, location=location
        )

    def _redirect(self, request: HttpRequest, status: int, target: str, location: str) -> HttpRequest:
        url = resolve_url(request.url, target)
        if url is None or Origin.of(url) != Origin.of(request.url):
            shown = self._mask.text(target.partition("?")[0])
            text = f"redirect to another origin not followed: '{shown}' is not of '{Origin.of(request.url)}'"
            raise ForeignOrigin(text, source=self._source, location=location)
        if not request.follows_redirects:
            text = f"redirect to '{self._mask.text(url.path)}' not followed: the request holds a secret"
            raise ForeignOrigin(text, source=self._source, location=location)
        if status in (307, 308) or request.method in ("GET", "HEAD"):
            return replace(request, url=url)
        return replace(request, url=url, method="GET", body=None)

    async def _read(self, response: httpx2.Response, location: str, rate_limit: RateLimitStatus | None) -> bytes:
        """Return the whole body of a success; raise HttpStatusError for any other status."""
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in _ENCODINGS:
            text = f"unsupported content encoding '{encoding}'"
            raise MalformedResponse(text, source=self._source, location=location)
        if not 200 <= response.status_code < 300:
            raise await self._status_error(response, location, rate_limit)
        body, detector = bytearray(), TruncationDetector.attach(response)
        self._check_size(_content_length(response), location)
        async for chunk in response.aiter_bytes():
            body += chunk
            self._check_size(len(body), location)
        if is_truncated(response, detector, len(body)):
            text = f"the response body is truncated after {len(body):,} bytes"
            raise MalformedResponse(text, source=self._source, location=location, is_retryable=True)
        return bytes(body)

    def _check_size(self, n_bytes: int, location: str) -> None:
        if n_bytes > self._limits.max_bytes:
            text = f"the response body is larger than {self._limits.max_bytes:,} bytes; request a smaller page"
            raise ResponseTooLarge(text, source=self._source, location=location)

    async def _status_error(
        self, response: httpx2.Response, location: str, rate_limit: RateLimitStatus | None
    ) -> HttpStatusError:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) >= _EXCERPT_BYTES:
                break
        status = response.status_code
        asked_s = parse_retry_after(response.headers.get("retry-after"), now=self._clock.wall())
        if asked_s is None and status == _TOO_MANY_REQUESTS and rate_limit is not None and rate_limit.remaining < 1:
            asked_s = rate_limit.reset_s
        excerpt = self._mask.text(bytes(body).decode("utf-8", "replace"))[: _EXCERPT_BYTES // 2]
        hint = "; check the credentials of this source" if status in (401, 403) else ""
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
        except MalformedBody as error:
            raise MalformedResponse(
                str(error), source=self._source, location=location, is_retryable=error.is_truncated
            ) from None
        headers = MappingProxyType({name.lower(): value for name, value in head.headers.items()})
        return CallResult(
            payload=payload, location=location, headers=headers, n_bytes=len(body), status=head.status_code
        )


def is_outage(error: SourceError) -> bool:
    """Whether a source is down: no response, or a server error. A 429 comes from a healthy server."""
    if isinstance(error, HttpStatusError):
        return error.status >= 500
    return error.is_retryable and isinstance(error, ConnectionFailed | TimedOut)


def mask_in_body(body: bytes, secrets: tuple[str, ...]) -> bytes:
    """Mask every form of some secrets in a body, the longest first."""
    forms = {form for secret in secrets for form in secret_forms(secret)}
    for form in sorted(forms, key=len, reverse=True):
        body = body.replace(form.encode("utf-8", "replace"), MASKED.encode())
    return body


_ParseResponse: TypeAlias = Callable[[httpx2.Response, bytes, str], CallResult]


def _raw_result(head: httpx2.Response, body: bytes, location: str) -> CallResult:
    return CallResult(payload=body, location=location, n_bytes=len(body), status=head.status_code)


@dataclass(slots=True)
class _Exchange:
    """Counts and reports the requests of one send. `is_answered` once any of them got a response."""

    source: str
    count: "itertools.count[int]"
    observer: OnEvent
    is_answered: bool = False

    def record_request(self, location: str) -> None:
        next(self.count)
        self.observer(RequestSent(self.source, location))


def _httpx_request(request: HttpRequest) -> httpx2.Request:
    headers = [("user-agent", _USER_AGENT), ("accept-encoding", "gzip"), *request.headers]
    return httpx2.Request(
        request.method, request.url, headers=[(n.encode("ascii"), v.encode("utf-8")) for n, v in headers],
        content=request.body,
    )  # fmt: skip


def _content_length(response: httpx2.Response) -> int:
    """Return the announced size of the body; 0 without a body or a valid header."""
    value = response.headers.get("content-length", "")
    return int(value) if response.request.method != "HEAD" and value.isascii() and value.isdigit() else 0
