"""OpenAPI services as sources of tools: from document to tools, and from call to response.

Requests and responses are validated against the document; a response that does not match causes one warning per tool
and is used anyway. Links to another origin are never followed.
"""

import asyncio
import contextlib
import difflib
from collections.abc import Mapping
from dataclasses import replace

import httpx2

from adapters.base import CallResult, Effect, Json, JsonObject, PageAddress, RequestPreview, ToolList
from adapters.clock import Clock, SystemClock
from adapters.errors import (
    DocumentError,
    ForeignOrigin,
    HttpStatusError,
    InvalidRequest,
    MalformedResponse,
    SourceError,
    UnknownTool,
)
from adapters.http.secret_mask import SecretMask
from adapters.http.transport import HttpLimits, HttpRequest, HttpTransport, new_client
from adapters.http.url_safety import Origin, differs_only_in_scheme, resolve_url
from adapters.openapi.auth.schemes import Credential
from adapters.openapi.document.document import OpenApiDocument
from adapters.openapi.document.loader import MAX_DOCUMENT_BYTES, DocumentFetcher, LazyDocument
from adapters.openapi.document.servers import parse_base_url
from adapters.openapi.request.authorization import RequestAuthorizer
from adapters.openapi.request.builder import (
    BuiltRequest,
    InvalidArguments,
    build_request,
    undeclared_page_arguments,
    with_credentials,
    with_page_query,
)
from adapters.openapi.request.validation import CallValidator, ValidationNote
from adapters.openapi.settings import ANY_SCHEME, OpenApiSettings, ToolOverride
from adapters.openapi.tools.arguments import NotAnObject, set_arguments
from adapters.openapi.tools.builder import OpenApiToolBuilder
from adapters.openapi.tools.cache import CachedTools, DiskCache, cache_key, load_tools, store_tools
from adapters.openapi.tools.response_shape import declares_html
from adapters.openapi.tools.tool import OpenApiTool
from adapters.pagination import with_declared_types
from adapters.source_events import OnEvent, SourceWarning, ignore_events

__all__ = ["OpenApiSettings", "OpenApiSource", "ToolOverride"]

_DOCUMENT_TIMEOUT_S = 60.0
_SAFE_METHODS = frozenset({"GET", "HEAD"})
_UNAUTHORIZED, _FORBIDDEN = 401, 403
_IDEMPOTENCY_HEADERS = frozenset({"idempotency-key", "x-idempotency-key"})
"""Headers that make repeating a write safe."""


class OpenApiSource:
    """One OpenAPI service. Open it with `OpenApiSource.open`, close it with `aclose`."""

    def __init__(
        self,
        settings: OpenApiSettings,
        builder: OpenApiToolBuilder,
        document: LazyDocument,
        *,
        client: httpx2.AsyncClient,
        clock: Clock,
    ) -> None:
        self._settings, self._builder, self._document = settings, builder, document
        self._client = client
        self._validator = CallValidator(document.value, builder.reader)
        self._lock = asyncio.Lock()
        self._tools: ToolList | None = None
        self._cache = None if settings.cache_folder is None else DiskCache(settings.cache_folder)
        mask = SecretMask(builder.security.secrets, names=builder.security.secret_names)
        self._mask = mask
        limits = HttpLimits(
            timeout_s=settings.timeout_s, max_attempts=settings.max_attempts, max_bytes=settings.max_bytes
        )
        self._transport = HttpTransport(settings.name, client, mask=mask, limits=limits, clock=clock)
        base = builder.servers.root.url
        self._authorizer = RequestAuthorizer(settings, builder.security, base=base, http=client, clock=clock, mask=mask)

    @classmethod
    async def open(
        cls, settings: OpenApiSettings, *, clock: Clock | None = None, observer: OnEvent = ignore_events
    ) -> "OpenApiSource":
        """Load the document. Raises DocumentError if it is unusable; invalid parts only skip their operations."""
        clock, client = clock or SystemClock(), new_client((settings.base_url, settings.document))
        try:
            fetcher = _new_fetcher(settings, client, clock, observer)
            document = LazyDocument(fetcher, await fetcher.open(settings.document))
            _require_known_version(document.value, settings)
            builder = await document.run(lambda: OpenApiToolBuilder(document.value, settings))
        except BaseException:
            await client.aclose()
            raise
        return cls(settings, builder, document, client=client, clock=clock)

    @property
    def name(self) -> str:
        """The name of the source in the settings."""
        return self._settings.name

    async def list_tools(self) -> ToolList:
        """List all usable tools, and skipped parts with their JSON pointers. Raises DocumentError, ConnectionFailed."""
        async with self._lock:
            if self._tools is None:
                self._tools = await self._load_cached_tools() or await self._build_tools()
        return self._tools

    async def _build_tools(self) -> ToolList:
        await self._document.run(self._builder.build)
        tools = sorted(self._builder.tools.values(), key=lambda tool: tool.spec.name)
        listed = ToolList(tuple(tool.spec for tool in tools), tuple(dict.fromkeys(self._builder.skipped)))
        if self._cache is not None:
            entry = CachedTools(self._document.other_digests, listed)
            await asyncio.to_thread(store_tools, self._cache, self._cache_key(), entry, mask=self._mask)
        return listed

    async def _load_cached_tools(self) -> ToolList | None:
        """Return the tools that an earlier run built from the same files, if they are cached."""
        if self._cache is None:
            return None
        cached = await asyncio.to_thread(load_tools, self._cache, self._cache_key())
        if cached is None:
            return None
        for uri in cached.files:
            await self._document.load(uri)
        if self._document.other_digests != cached.files:
            return None
        self._builder.restore(cached.listed.tools)
        return cached.listed

    def _cache_key(self) -> str:
        parameters = self._builder.security.credential_parameters
        return cache_key(self._document.value.uri, self._document.root_digest, self._settings, parameters)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ignore_events,
    ) -> CallResult:
        """Send one request of a tool. `page.arguments` override the call's own; `page.url` replaces the URL.

        A fetched token that is refused is renewed once. Raises SourceError: InvalidRequest if nothing was sent,
        ForeignOrigin if the page is of another origin.
        """
        address = page or PageAddress()
        target = await self._tool(address.operation or tool)
        values = self._with_page_arguments(target, arguments, address)
        credentials = await self._authorizer.credentials(target, observer)
        try:
            return await self._send(target, values, address, credentials, observer)
        except HttpStatusError as error:
            self._require_credentials(target, credentials, error)
            if error.status != _UNAUTHORIZED or not self._authorizer.invalidate_tokens(credentials):
                raise
            n_sent = error.requests
        credentials = await self._authorizer.credentials(target, observer)
        try:
            result = await self._send(target, values, address, credentials, observer)
        except SourceError as error:
            error.requests += n_sent
            raise
        return replace(result, requests=result.requests + n_sent)

    def _require_credentials(
        self, tool: OpenApiTool, credentials: tuple[Credential, ...], error: HttpStatusError
    ) -> None:
        """Raise MissingCredential if a request without credentials was refused and the document requires some."""
        if credentials or error.status not in (_UNAUTHORIZED, _FORBIDDEN):
            return
        missing = self._authorizer.missing_credential(tool)
        if missing is not None:
            missing.requests = error.requests
            raise missing from error

    async def _send(
        self,
        tool: OpenApiTool,
        arguments: JsonObject,
        page: PageAddress,
        credentials: tuple[Credential, ...],
        observer: OnEvent,
    ) -> CallResult:
        """Build, validate and send one request, and validate its response."""
        built = self._build_request(tool, arguments, credentials)
        if page.url is None:
            url = with_page_query(built.url, undeclared_page_arguments(tool, page))
            await self._check_request(tool, built, observer)
        else:
            url = self._page_url(tool, built, page.url, credentials)
        tokens = tuple(one.token for one in credentials if one.token)
        request = replace(_http_request(tool, built, url, page), secrets=tokens)
        result = await self._transport.send(request, observer=observer)
        if not page.is_head:
            await self._check_response(tool, result, observer)
        return result

    async def preview_request(self, tool: str, arguments: Mapping[str, Json]) -> RequestPreview:
        """Return the request that a call would send, secrets masked. Raises SourceError if it would send none."""
        built = self._build_request(await self._tool(tool), dict(arguments), ())
        body = built.body_value if built.body_value is not None else (built.body or b"").decode("utf-8", "replace")
        return RequestPreview(built.method, self._mask.url(built.url), body or None)

    def _with_page_arguments(self, tool: OpenApiTool, arguments: Mapping[str, Json], page: PageAddress) -> JsonObject:
        """Set the arguments of a page; another operation gets only those of the call's arguments that it has."""
        values = dict(arguments)
        if page.operation is not None:
            values = {name: value for name, value in values.items() if name in tool.binding.arguments}
        try:
            undeclared = undeclared_page_arguments(tool, page)
            declared = {name: value for name, value in page.arguments.items() if name not in undeclared}
            page_values = with_declared_types(declared, tool.spec.pagination)
            return set_arguments(values, page_values, known=tool.binding.arguments)
        except NotAnObject as error:
            raise self._invalid_request(tool, (f"{error}: must be an object, since it has paging members",)) from None

    async def check_reachable(self) -> None:
        """Check that the server of the base URL responds, with any status. Raises ConnectionFailed, TimedOut."""
        url = self._builder.servers.root.url
        if url is None:
            return
        with contextlib.suppress(HttpStatusError, MalformedResponse, ForeignOrigin):
            await self._transport.send(HttpRequest(method="HEAD", url=url, follows_redirects=False))

    async def tools_missing_credentials(self) -> tuple[str, ...]:
        """Return the tools whose required credentials are not configured."""
        names = [spec.name for spec in (await self.list_tools()).tools]
        missing = [self._authorizer.missing_credential(await self._tool(name)) for name in names]
        return tuple(name for name, error in zip(names, missing, strict=True) if error is not None)

    async def aclose(self) -> None:
        """Close the HTTP client."""
        await self._client.aclose()

    async def _tool(self, name: str) -> OpenApiTool:
        if self._tools is None:
            await self.list_tools()
        tool = self._builder.tools.get(name)
        if tool is None:
            async with self._lock:
                tool = await self._document.run(lambda: self._builder.tool(name))
        if tool is None:
            near = difflib.get_close_matches(name, self._builder.names, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise UnknownTool(f"there is no tool '{name}' in '{self.name}'{hint}", source=self.name)
        return tool

    def _build_request(
        self, tool: OpenApiTool, arguments: Mapping[str, Json], credentials: tuple[Credential, ...]
    ) -> BuiltRequest:
        base = self._builder.base_of(tool.operation)
        if base.url is None:
            raise DocumentError(base.reason, source=self.name, location=tool.spec.locator, requests=0)
        try:
            return build_request(tool, arguments, base=base.url, credentials=credentials)
        except InvalidArguments as error:
            raise self._invalid_request(tool, error.violations) from None

    def _invalid_request(self, tool: OpenApiTool, violations: tuple[str, ...]) -> InvalidRequest:
        text = f"invalid arguments for '{tool.spec.name}': {'; '.join(violations)}"
        return InvalidRequest(text, source=self.name, location=tool.spec.locator, violations=violations)

    def _page_url(
        self, tool: OpenApiTool, built: BuiltRequest, text: str, credentials: tuple[Credential, ...]
    ) -> httpx2.URL:
        """Resolve the URL of a page from a response; it must be of the request's origin.

        Services behind a TLS-terminating proxy write the wrong scheme, so the request's own is used. For methods other
        than GET the path must be the request's own: data must not choose what a POST does.
        """
        url = resolve_url(built.url, text)
        if url is not None and differs_only_in_scheme(url, built.url):
            url = url.copy_with(scheme=built.url.scheme, port=built.url.port)
        if url is None or Origin.of(url) != Origin.of(built.url):
            raise self._foreign_origin(tool, text, f"another origin than '{Origin.of(built.url)}'")
        if built.method not in _SAFE_METHODS and url.path != built.url.path:
            raise self._foreign_origin(tool, text, f"another path than '{tool.spec.locator}', which is not a GET")
        return with_credentials(url, credentials)

    def _foreign_origin(self, tool: OpenApiTool, text: str, where: str) -> ForeignOrigin:
        target = self._mask.text(text.partition("?")[0])[:200]
        reason = f"link to the next page not followed: '{target}' has {where}"
        return ForeignOrigin(reason, source=self.name, location=tool.spec.locator, requests=0)

    async def _check_request(self, tool: OpenApiTool, built: BuiltRequest, observer: OnEvent) -> None:
        faults, note = await self._document.run(lambda: self._validator.check_request(tool, built))
        if faults:
            raise self._invalid_request(tool, faults)
        self._warn(tool, note, observer)

    async def _check_response(self, tool: OpenApiTool, result: CallResult, observer: OnEvent) -> None:
        if is_html(result) and not declares_html(self._builder.reader, tool.operation.entry):
            text = "the server returned a web page (HTML) instead of data; check the base URL and the credentials"
            raise MalformedResponse(text, source=self.name, location=result.location, requests=result.requests)
        if self._validator.should_check_response(tool, result):
            self._warn(tool, await self._document.run(lambda: self._validator.check_response(tool, result)), observer)

    def _warn(self, tool: OpenApiTool, note: ValidationNote | None, observer: OnEvent) -> None:
        if note is not None:
            observer(SourceWarning(self.name, tool.spec.name, note.code, self._mask.text(note.text)))


def _http_request(tool: OpenApiTool, built: BuiltRequest, url: httpx2.URL, page: PageAddress) -> HttpRequest:
    """Return the request of one page; HEAD has no body, and headers of the page override those of arguments."""
    overridden = {name.lower() for name in page.headers}
    headers = tuple(header for header in built.headers if header[0].lower() not in overridden)
    is_idempotent = any(name.lower() in _IDEMPOTENCY_HEADERS for name, _ in headers)
    return HttpRequest(
        method="HEAD" if page.is_head else built.method,
        url=url,
        headers=(*headers, *page.headers.items()),
        body=None if page.is_head else built.body,
        is_repeatable=tool.spec.effect is Effect.READ or is_idempotent,
        timeout_s=tool.spec.timeout_s,
    )


def is_html(result: CallResult) -> bool:
    """Whether a response is HTML; JSON with an HTML content type is not."""
    if not isinstance(result.payload, str):
        return False
    return result.headers.get("content-type", "").lower().lstrip().startswith(("text/html", "application/xhtml"))


def _new_fetcher(
    settings: OpenApiSettings, client: httpx2.AsyncClient, clock: Clock, observer: OnEvent
) -> DocumentFetcher:
    """Return the loader of the document, with its own limits, and the token for the configured origin only."""
    values = {name: secret.get_secret_value() for name, secret in settings.credentials.items()}
    limits = HttpLimits(
        timeout_s=max(settings.timeout_s, _DOCUMENT_TIMEOUT_S),
        max_attempts=settings.max_attempts,
        max_bytes=MAX_DOCUMENT_BYTES,
    )
    transport = HttpTransport(settings.name, client, mask=SecretMask(values.values()), limits=limits, clock=clock)
    own = None if settings.base_url is None else parse_base_url(settings.base_url)
    return DocumentFetcher(
        settings.name,
        transport,
        own=None if own is None else Origin.of(own),
        bearer=values.get(ANY_SCHEME) or None,
        observer=observer,
    )


def _require_known_version(document: OpenApiDocument, settings: OpenApiSettings) -> None:
    fields = document.root.fields
    version = fields.get("openapi", fields.get("swagger"))
    if str(version).split(".")[0] not in ("2", "3"):
        text = f"unsupported OpenAPI version '{version}' in '{settings.document}'; supported are 2.0 and 3.x"
        raise DocumentError(text, source=settings.name)
