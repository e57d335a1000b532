"""OAuth 2.0 client credentials (RFC 6749, sections 2.3.1, 4.4 and 5): fetches tokens, caches and renews them.

The client secret is sent to the token URL only, never to a redirect, and appears in no error.
"""

import asyncio
import base64
import json
import re
from dataclasses import dataclass
from urllib.parse import quote_plus, urlencode

import httpx2

from adapters.base import Json
from adapters.clock import Clock
from adapters.errors import HttpStatusError, SourceError, TokenRequestFailed
from adapters.http.secret_mask import SecretMask
from adapters.http.transport import HttpLimits, HttpRequest, HttpTransport
from adapters.openapi.settings import OAuthClient, OpenApiSettings
from adapters.source_events import OnEvent

_MAX_BYTES = 2**20
_EXPIRY_MARGIN_S = 30.0
_ERROR_FIELD = re.compile(r'"error"\s*:\s*"(\w+)"')
_STANDARD_CODES = frozenset(
    {"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type"}
) | {"invalid_scope"}
_RETRY_IN_BODY_CODES = frozenset({"invalid_client", "invalid_request"})
"""Error codes of a 400 after which the client credentials are sent in the body instead of the header."""
_TOKEN = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class _CachedToken:
    """A token and the monotonic second at which it expires; None if it has no lifetime."""

    value: str
    expires_at: float | None

    def is_valid(self, now_s: float) -> bool:
        return self.expires_at is None or now_s < self.expires_at


class TokenCache:
    """The token of one scheme of one source. Concurrent requests share one fetch, and its failure."""

    def __init__(
        self,
        settings: OpenApiSettings,
        scheme: str,
        client: OAuthClient,
        *,
        url: httpx2.URL,
        http: httpx2.AsyncClient,
        clock: Clock,
        mask: SecretMask,
    ) -> None:
        self._source, self._scheme, self._client, self._url = settings.name, scheme, client, url
        self._clock, self._mask, self._timeout_s = clock, mask, settings.timeout_s
        limits = HttpLimits(timeout_s=settings.timeout_s, max_attempts=settings.max_attempts, max_bytes=_MAX_BYTES)
        self._transport = HttpTransport(settings.name, http, mask=mask, limits=limits, clock=clock)
        self._cached: _CachedToken | None = None
        self._lock, self._n_fetches = asyncio.Lock(), 0
        self._last_error: TokenRequestFailed | None = None
        self._sends_id_in_body = False

    async def token(self, observer: OnEvent) -> str:
        """Return a valid token, fetched if needed. Raises TokenRequestFailed."""
        n_before = self._n_fetches
        async with self._lock:
            if self._cached is not None and self._cached.is_valid(self._clock.monotonic()):
                return self._cached.value
            error = self._last_error
            if self._n_fetches != n_before and error is not None:
                raise self._error(str(error), code=error.code, is_retryable=error.is_retryable, requests=0)
            try:
                return await self._refresh(observer)
            except TokenRequestFailed as failed:
                self._last_error = failed
                raise
            finally:
                self._n_fetches += 1

    def invalidate(self, token: str) -> None:
        """Drop a token that was refused, unless it has been replaced already."""
        if self._cached is not None and self._cached.value == token:
            self._cached = None

    async def _refresh(self, observer: OnEvent) -> str:
        self._last_error = None
        try:
            async with asyncio.timeout(self._timeout_s):
                self._cached = await self._fetch(observer)
        except TimeoutError:
            raise self._error(f"timed out after {self._timeout_s:g} s", is_retryable=True) from None
        except HttpStatusError as error:
            code = _error_code(error)
            reason = f"the token server answered {error.status}" + (f" '{code}'" if code else "") + _hint_for(code)
            raise self._error(reason, code=code, is_retryable=error.is_retryable, requests=error.requests) from None
        except SourceError as error:
            raise self._error(str(error), is_retryable=error.is_retryable, requests=error.requests) from None
        return self._cached.value

    async def _fetch(self, observer: OnEvent) -> _CachedToken:
        started_s = self._clock.monotonic()
        try:
            body = await self._request(observer)
        except HttpStatusError as error:
            is_retried_in_body = error.status == 401 or (
                error.status == 400 and _error_code(error) in _RETRY_IN_BODY_CODES
            )
            if self._sends_id_in_body or not is_retried_in_body:
                raise
            self._sends_id_in_body = True
            try:
                body = await self._request(observer)
            except BaseException:
                self._sends_id_in_body = False
                raise
        return self._parse(body, started_s)

    async def _request(self, observer: OnEvent) -> bytes:
        """Request a token and return the response body; the client authenticates in the header, or in the body."""
        client, headers = self._client, [("accept", "application/json")]
        name, secret = client.client_id.get_secret_value().strip(), client.client_secret.get_secret_value().strip()
        form = {"grant_type": "client_credentials", "scope": client.scope, "audience": client.audience}
        basic = base64.b64encode(f"{quote_plus(name)}:{quote_plus(secret)}".encode()).decode()
        self._mask.add((secret, basic))
        if self._sends_id_in_body:
            form |= {"client_id": name, "client_secret": secret}
        else:
            headers.append(("authorization", f"Basic {basic}"))
        request = HttpRequest(
            method="POST",
            url=self._url,
            headers=(*headers, ("content-type", "application/x-www-form-urlencoded")),
            body=urlencode({key: value for key, value in form.items() if value}).encode(),
            is_repeatable=True,
            follows_redirects=False,
        )
        return await self._transport.fetch(request, observer=observer)

    def _parse(self, body: bytes, started_s: float) -> _CachedToken:
        """Parse a token response. Errors do not repeat its content."""
        try:
            response: Json = json.loads(body)
        except (ValueError, RecursionError):
            response = None
        fields = response if isinstance(response, dict) else {}
        token, kind = fields.get("access_token"), fields.get("token_type")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise self._error("the response has no valid 'access_token'")
        self._mask.add((token,))
        if isinstance(kind, str) and kind.strip().lower() != "bearer":
            raise self._error("the token type is not 'Bearer'")
        lifetime_s = _lifetime_s(fields.get("expires_in"))
        if lifetime_s is None:
            return _CachedToken(token, None)
        return _CachedToken(token, started_s + lifetime_s - min(_EXPIRY_MARGIN_S, lifetime_s / 2))

    def _error(
        self, reason: str, *, code: str = "", is_retryable: bool = False, requests: int = 1
    ) -> TokenRequestFailed:
        place = str(self._url.copy_with(query=None, fragment=None, userinfo=b""))
        prefix = f"cannot get a token for the scheme '{self._scheme}' from '{place}': "
        error = TokenRequestFailed(
            reason if reason.startswith(prefix) else prefix + reason,
            source=self._source,
            location=f"POST {place}",
            is_retryable=is_retryable,
            requests=requests,
        )
        error.code = code
        return error


def _error_code(error: HttpStatusError) -> str:
    """Return the error code if it is one of RFC 6749, section 5.2, else an empty string."""
    found = _ERROR_FIELD.search(error.body)
    return found.group(1) if found and found.group(1) in _STANDARD_CODES else ""


def _hint_for(code: str) -> str:
    match code:
        case "invalid_client":
            return "; check the environment variables named by 'client_id' and 'client_secret'"
        case "invalid_scope":
            return "; check 'scope' in 'auth'"
        case _:
            return ""


def _lifetime_s(value: Json) -> float | None:
    """Parse `expires_in`, a number or its text; None if invalid."""
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds < float("inf") else None
