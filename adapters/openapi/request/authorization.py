"""Authorization of requests: configured credentials, and OAuth tokens that are fetched for them.

A token URL of the document must be of the site of the source or of its document; the settings may name any other.
It must be https, on this machine, or of an origin that the user configured.
"""

import ipaddress

import httpx2

from adapters.clock import Clock
from adapters.errors import MissingCredential
from adapters.http.secret_mask import SecretMask
from adapters.http.url_safety import Origin, is_same_site, resolve_url
from adapters.openapi.auth.oauth import TokenCache
from adapters.openapi.auth.schemes import Credential, MissingScheme, Security, SecurityScheme
from adapters.openapi.settings import OAuthClient, OpenApiSettings
from adapters.openapi.tools.tool import OpenApiTool
from adapters.source_events import OnEvent


class RequestAuthorizer:
    """Provides the credentials of one source; relative token URLs are resolved against `base`."""

    def __init__(
        self,
        settings: OpenApiSettings,
        security: Security,
        *,
        base: httpx2.URL | None,
        http: httpx2.AsyncClient,
        clock: Clock,
        mask: SecretMask,
    ) -> None:
        self._settings, self._security, self._base = settings, security, base
        self._http, self._clock, self._mask = http, clock, mask
        self._token_caches: dict[str, TokenCache] = {}

    async def credentials(self, tool: OpenApiTool, observer: OnEvent) -> tuple[Credential, ...]:
        """Return the credentials for a tool. Raises MissingCredential, TokenRequestFailed.

        None if nothing is configured: many servers are open although their document requires a credential.
        """
        missing = self.missing_credential(tool)
        if missing is not None:
            if self._security.has_no_credentials:
                return ()
            raise missing
        schemes = self._security.select(tool.operation.security)
        return tuple([self._security.credential(one, await self._token(one, observer)) for one in schemes])

    def missing_credential(self, tool: OpenApiTool) -> MissingCredential | None:
        """Return the error for a required credential that is not configured; None if nothing is missing."""
        try:
            self._security.select(tool.operation.security)
        except MissingScheme as error:
            text = f"the tool '{tool.spec.name}' requires a credential for '{error}'; set BASE_API_TOKEN"
            text = f"{text} or 'auth' of the source"
            return MissingCredential(text, source=self._settings.name, location=tool.spec.locator, requests=0)
        return None

    def invalidate_tokens(self, credentials: tuple[Credential, ...]) -> bool:
        """Drop the fetched tokens among refused credentials, and return whether there were any."""
        tokens = [one.token for one in credentials if one.token]
        for token in tokens:
            for cache in self._token_caches.values():
                cache.invalidate(token)
        return bool(tokens)

    async def _token(self, scheme: SecurityScheme, observer: OnEvent) -> str | None:
        client = self._security.oauth_client(scheme)
        if client is None:
            return None
        if scheme.name not in self._token_caches:
            url, http, clock, mask = self._token_url(scheme, client), self._http, self._clock, self._mask
            cache = TokenCache(self._settings, scheme.name, client, url=url, http=http, clock=clock, mask=mask)
            self._token_caches[scheme.name] = cache
        return await self._token_caches[scheme.name].token(observer)

    def _token_url(self, scheme: SecurityScheme, client: OAuthClient) -> httpx2.URL:
        """Return the URL that the client secret may be sent to. Raises MissingCredential."""
        stated = client.token_url or scheme.token_url
        if stated is None:
            raise self._error(f"no token URL for the scheme '{scheme.name}'; set 'token_url' in 'auth'")
        url = resolve_url(self._base, stated)
        if url is None:
            raise self._error(
                f"invalid token URL of the scheme '{scheme.name}': it must be an https URL; set 'token_url' in 'auth'"
            )
        if url.scheme != "https" and not is_loopback(url.host) and Origin.of(url) not in self._configured_origins():
            text = f"the token URL '{url.copy_with(query=None)}' of the scheme '{scheme.name}' is not encrypted"
            raise self._error(f"{text}; nothing was sent. Set 'token_url' in 'auth' to an https URL")
        if client.token_url is None and not self._is_own_site(url):
            text = f"the document names the token URL '{url.copy_with(query=None)}' for the scheme '{scheme.name}'"
            raise self._error(
                f"{text}, which is of another site than the source and its document; the client secret was not sent. "
                f"If you trust it, set 'token_url' in 'auth' to it"
            )
        return url

    def _is_own_site(self, url: httpx2.URL) -> bool:
        """Whether a URL is of the site of the source, or of a URL of the settings."""
        own = [*self._configured_urls(), *([] if self._base is None else [self._base])]
        return any(is_same_site(url, one) for one in own)

    def _configured_urls(self) -> list[httpx2.URL]:
        """Return the configured base URL and the URL of the document."""
        places = (self._settings.base_url, self._settings.document)
        urls = [resolve_url(None, place) for place in places if place and "://" in place]
        return [url for url in urls if url is not None]

    def _configured_origins(self) -> frozenset[Origin]:
        """Return the origins of the configured base URL and document."""
        return frozenset(map(Origin.of, self._configured_urls()))

    def _error(self, text: str) -> MissingCredential:
        return MissingCredential(text, source=self._settings.name, requests=0)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by a loopback address or a reserved name (RFC 6761)."""
    plain = host.lower().strip("[]").rstrip(".")
    try:
        return ipaddress.ip_address(plain).is_loopback
    except ValueError:
        return plain == "localhost" or plain.endswith(".localhost")
