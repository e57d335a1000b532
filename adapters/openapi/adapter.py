"""A service behind an OpenAPI document as a source of tools.

Knows the way from a document to tools and from a call to a response: build, check, send, check. Knows no step of it
in detail. What does not fit the document is reported once a tool and used all the same; what leads to another
origin is never followed.
"""

import asyncio
import contextlib
import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import httpx2

from adapters.base import (
    CallResult,
    Effect,
    Json,
    JsonObject,
    OnEvent,
    PageAddress,
    RequestPreview,
    SourceWarning,
    ToolList,
    nobody,
)
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
from adapters.http.url_safety import Origin, is_other_scheme, joined
from adapters.openapi.auth.schemes import Credential
from adapters.openapi.document.document import DocumentNotLoaded, OpenApiDocument
from adapters.openapi.document.loader import MAX_DOCUMENT_BYTES, DocumentFetcher
from adapters.openapi.document.servers import configured_url
from adapters.openapi.request.authorization import RequestAuthorizer
from adapters.openapi.request.builder import (
    BuiltRequest,
    InvalidArguments,
    build_request,
    undeclared,
    with_credentials,
    with_undeclared,
)
from adapters.openapi.request.validation import CallValidator, ValidationNote
from adapters.openapi.settings import ANY_SCHEME, OpenApiSettings, ToolOverride
from adapters.openapi.tools import cache as kept
from adapters.openapi.tools.arguments import NotAnObject, with_members
from adapters.openapi.tools.builder import OpenApiToolBuilder
from adapters.openapi.tools.cache import DiskCache
from adapters.openapi.tools.response_shape import declares_html
from adapters.openapi.tools.tool import OpenApiTool
from adapters.pagination import with_declared_types

__all__ = ["OpenApiSettings", "OpenApiSource", "ToolOverride"]

_DOCUMENT_TIMEOUT_S = 60.0
_SAFE = frozenset({"GET", "HEAD"})
_NOT_LET_IN = frozenset({401, 403})
_KEYS = frozenset({"idempotency-key", "x-idempotency-key"})
"""Headers by which a server knows a write again, so that sending it twice does it once."""
_T = TypeVar("_T")


class OpenApiSource:
    """One OpenAPI service. Open it with `OpenApiSource.open`, close it with `aclose`."""

    def __init__(
        self,
        settings: OpenApiSettings,
        builder: OpenApiToolBuilder,
        *,
        fetcher: DocumentFetcher,
        document: OpenApiDocument,
        client: httpx2.AsyncClient,
        owns_client: bool,
        clock: Clock,
    ) -> None:
        self._settings, self._builder, self._fetcher, self._document = settings, builder, fetcher, document
        self._client, self._owns_client = client, owns_client
        self._verifier = CallValidator(document, builder.reader)
        self._building = asyncio.Lock()
        self._listed: ToolList | None = None
        self._shelf = None if settings.cache_folder is None else DiskCache(settings.cache_folder)
        mask = SecretMask(builder.security.secrets, names=builder.security.secret_names)
        self._mask = mask
        limits = HttpLimits(
            timeout_s=settings.timeout_s, max_attempts=settings.max_attempts, max_bytes=settings.max_bytes
        )
        self._transport = HttpTransport(settings.name, client, mask=mask, limits=limits, clock=clock)
        base = builder.servers.root.url
        self._access = RequestAuthorizer(settings, builder.security, base=base, http=client, clock=clock, mask=mask)

    @classmethod
    async def open(
        cls,
        settings: OpenApiSettings,
        *,
        client: httpx2.AsyncClient | None = None,
        clock: Clock | None = None,
        observer: OnEvent = nobody,
    ) -> "OpenApiSource":
        """Read the document. Raises DocumentError where it is none at all; a flaw inside costs only its operation."""
        clock, http = clock or SystemClock(), client or new_client((settings.base_url, settings.document))
        try:
            fetcher = _fetcher(settings, http, clock, observer)
            document = await fetcher.open(settings.document)
            _refuse_foreign_versions(document, settings)
            builder = await _loaded(fetcher, document, lambda: OpenApiToolBuilder(document, settings))
        except BaseException:
            if client is None:
                await http.aclose()
            raise
        return cls(
            settings, builder, fetcher=fetcher, document=document, client=http, owns_client=client is None, clock=clock
        )

    @property
    def name(self) -> str:
        """The name under which the settings know it."""
        return self._settings.name

    async def list_tools(self) -> ToolList:
        """All usable tools, and what was left out with its JSON pointer. Raises DocumentError, ConnectionFailed."""
        async with self._building:
            if self._listed is None:
                self._listed = await self._kept() or await self._built_tools()
        return self._listed

    async def _built_tools(self) -> ToolList:
        await _loaded(self._fetcher, self._document, self._builder.build)
        tools = sorted(self._builder.tools.values(), key=lambda tool: tool.spec.name)
        listed = ToolList(tuple(tool.spec for tool in tools), tuple(dict.fromkeys(self._builder.left_out)))
        if self._shelf is not None:
            found = kept.CachedTools(self._other_files(), listed)
            await asyncio.to_thread(kept.keep, self._shelf, self._key(), found, mask=self._mask)
        return listed

    async def _kept(self) -> ToolList | None:
        """What an earlier run built of the same files, if it was kept."""
        found = None if self._shelf is None else await asyncio.to_thread(kept.find, self._shelf, self._key())
        if found is None:
            return None
        for uri in found.files:
            await _load(self._fetcher, self._document, uri)
        if self._other_files() != found.files:
            return None
        self._builder.restore(found.listed.tools)
        return found.listed

    def _other_files(self) -> dict[str, str | None]:
        return {uri: digest for uri, digest in self._fetcher.digests.items() if uri != self._document.uri}

    def _key(self) -> str:
        digest = self._fetcher.digests[self._document.uri] or ""
        return kept.key_of(self._document.uri, digest, self._settings, self._builder.security.provided)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = nobody,
    ) -> CallResult:
        """Send one request of a tool. `page.arguments` go over the call's own; `page.url` replaces the URL.

        A fetched token that is refused is fetched anew, once. Raises SourceError: InvalidRequest where nothing was
        sent, ForeignOrigin where a page is elsewhere.
        """
        place = page or PageAddress()
        known = await self._tool(place.operation or tool)
        own = self._placed(known, arguments, place)
        credentials = await self._access.credentials(known, observer)
        try:
            return await self._exchanged(known, own, place, credentials, observer)
        except HttpStatusError as error:
            if not credentials and error.status in _NOT_LET_IN and (missing := self._access.missing(known)) is not None:
                missing.requests = error.requests
                raise missing from error
            if error.status != 401 or not self._access.forgets(credentials):
                raise
            n_sent = error.requests
        credentials = await self._access.credentials(known, observer)
        try:
            result = await self._exchanged(known, own, place, credentials, observer)
        except SourceError as error:
            error.requests += n_sent
            raise
        return replace(result, requests=result.requests + n_sent)

    async def _exchanged(
        self,
        known: OpenApiTool,
        arguments: JsonObject,
        place: PageAddress,
        credentials: tuple[Credential, ...],
        observer: OnEvent,
    ) -> CallResult:
        """One request with some credentials, and its response."""
        built = self._built(known, arguments, credentials)
        if place.url is None:
            url = with_undeclared(built.url, undeclared(known, place))
            await self._check_request(known, built, observer)
        else:
            url = self._page_url(known, built, place.url, credentials)
        tokens = tuple(one.token for one in credentials if one.token)
        request = replace(_request(known, built, url, place), hidden=tokens)
        result = await self._transport.send(request, observer=observer)
        if not place.is_head:
            await self._check_response(known, result, observer)
        return result

    async def shown(self, tool: str, arguments: Mapping[str, Json]) -> RequestPreview:
        """The request that a call would send, its secrets masked. Raises SourceError where it would send none."""
        known = await self._tool(tool)
        built = self._built(known, dict(arguments), ())
        body = built.body_value if built.body_value is not None else (built.body or b"").decode("utf-8", "replace")
        return RequestPreview(built.method, self._mask.url(built.url), body or None)

    def _placed(self, tool: OpenApiTool, arguments: Mapping[str, Json], place: PageAddress) -> JsonObject:
        """The call's arguments with those of the page; another operation gets the ones that it knows."""
        own = dict(arguments)
        if place.operation is not None:
            own = {name: value for name, value in own.items() if name in tool.binding.arguments}
        try:
            foreign = undeclared(tool, place)
            declared = {name: value for name, value in place.arguments.items() if name not in foreign}
            of_page = with_declared_types(declared, tool.spec.pagination)
            return with_members(own, of_page, known=tool.binding.arguments)
        except NotAnObject as error:
            raise self._invalid(tool, (f"{error}: it must be an object, since the page is said inside it",)) from None

    async def reach(self) -> None:
        """Find out whether anybody answers at the base URL, whatever the answer. Raises ConnectionFailed, TimedOut."""
        url = self._builder.servers.root.url
        if url is None:
            return
        with contextlib.suppress(HttpStatusError, MalformedResponse, ForeignOrigin):
            await self._transport.send(HttpRequest(method="HEAD", url=url, is_followed=False))

    async def unmet(self) -> tuple[str, ...]:
        """The tools that no configured credential lets in, although the document requires one."""
        names = [spec.name for spec in (await self.list_tools()).tools]
        return tuple([name for name in names if self._access.missing(await self._tool(name)) is not None])

    async def aclose(self) -> None:
        """Close the connections that were opened here."""
        if self._owns_client:
            await self._client.aclose()

    async def _tool(self, name: str) -> OpenApiTool:
        if self._listed is None:
            await self.list_tools()
        found = self._builder.tools.get(name)
        if found is None:
            async with self._building:
                found = await _loaded(self._fetcher, self._document, lambda: self._builder.tool(name))
        if found is None:
            near = difflib.get_close_matches(name, self._builder.names, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise UnknownTool(f"there is no tool '{name}' in '{self.name}'{hint}", source=self.name)
        return found

    def _built(
        self, tool: OpenApiTool, arguments: Mapping[str, Json], credentials: tuple[Credential, ...]
    ) -> BuiltRequest:
        base = self._builder.base_of(tool.operation)
        if base.url is None:
            raise DocumentError(base.why, source=self.name, location=tool.spec.locator, requests=0)
        try:
            return build_request(tool, arguments, base=base.url, credentials=credentials)
        except InvalidArguments as error:
            raise self._invalid(tool, error.violations) from None

    def _invalid(self, tool: OpenApiTool, violations: tuple[str, ...]) -> InvalidRequest:
        text = f"the arguments do not fit '{tool.spec.name}': {'; '.join(violations)}"
        return InvalidRequest(text, source=self.name, location=tool.spec.locator, violations=violations)

    def _page_url(
        self, tool: OpenApiTool, built: BuiltRequest, text: str, credentials: tuple[Credential, ...]
    ) -> httpx2.URL:
        """The URL of a page that a response named: seen from the request's own, and of its origin.

        A service behind a proxy that ends TLS writes the wrong scheme: the page is asked for by the request's own.
        What is sent by another method than GET goes to its own path only: data must not choose what a POST does.
        """
        url = joined(built.url, text)
        if url is not None and is_other_scheme(url, built.url):
            url = url.copy_with(scheme=built.url.scheme, port=built.url.port)
        if url is None or Origin.of(url) != Origin.of(built.url):
            raise self._foreign(tool, text, f"another origin than '{Origin.of(built.url)}'")
        if built.method not in _SAFE and url.path != built.url.path:
            raise self._foreign(tool, text, f"another path than that of '{tool.spec.locator}', and no GET")
        return with_credentials(url, credentials)

    def _foreign(self, tool: OpenApiTool, text: str, where: str) -> ForeignOrigin:
        shown = self._mask.text(text.partition("?")[0])[:200]
        why = f"the next page is at '{shown}', {where}; it was not followed"
        return ForeignOrigin(why, source=self.name, location=tool.spec.locator, requests=0)

    async def _check_request(self, tool: OpenApiTool, built: BuiltRequest, observer: OnEvent) -> None:
        faults, remark = await _loaded(self._fetcher, self._document, lambda: self._verifier.request(tool, built))
        if faults:
            raise self._invalid(tool, faults)
        self._tell(tool, remark, observer)

    async def _check_response(self, tool: OpenApiTool, result: CallResult, observer: OnEvent) -> None:
        if is_web_page(result) and not declares_html(self._builder.reader, tool.operation.entry):
            text = (
                "the server answered with a web page where the document has none; check the base URL and the credential"
            )
            raise MalformedResponse(text, source=self.name, location=result.location, requests=result.requests)
        if self._verifier.is_worth_a_look(tool, result):
            remark = await _loaded(self._fetcher, self._document, lambda: self._verifier.response(tool, result))
            self._tell(tool, remark, observer)

    def _tell(self, tool: OpenApiTool, remark: ValidationNote | None, observer: OnEvent) -> None:
        if remark is not None:
            observer(SourceWarning(self.name, tool.spec.name, remark.code, self._mask.text(remark.text)))


def _request(tool: OpenApiTool, built: BuiltRequest, url: httpx2.URL, place: PageAddress) -> HttpRequest:
    """The request of one page: by HEAD it has no body, and its own headers go before those of the arguments."""
    own = {name.lower() for name in place.headers}
    headers = tuple(header for header in built.headers if header[0].lower() not in own)
    return HttpRequest(
        method="HEAD" if place.is_head else built.method,
        url=url,
        headers=(*headers, *place.headers.items()),
        body=None if place.is_head else built.body,
        is_repeatable=tool.spec.effect is Effect.READ or any(name.lower() in _KEYS for name, _ in headers),
        timeout_s=tool.spec.timeout_s,
    )


def is_web_page(result: CallResult) -> bool:
    """Whether the response is HTML; JSON that calls itself HTML is JSON."""
    if not isinstance(result.payload, str):
        return False
    return result.headers.get("content-type", "").lower().lstrip().startswith(("text/html", "application/xhtml"))


def _fetcher(settings: OpenApiSettings, client: httpx2.AsyncClient, clock: Clock, observer: OnEvent) -> DocumentFetcher:
    """What reads the document: its own limits, and the token only for the configured origin."""
    values = {name: secret.get_secret_value() for name, secret in settings.credentials.items()}
    limits = HttpLimits(
        timeout_s=max(settings.timeout_s, _DOCUMENT_TIMEOUT_S),
        max_attempts=settings.max_attempts,
        max_bytes=MAX_DOCUMENT_BYTES,
    )
    transport = HttpTransport(settings.name, client, mask=SecretMask(values.values()), limits=limits, clock=clock)
    own = None if settings.base_url is None else configured_url(settings.base_url)
    return DocumentFetcher(
        settings.name,
        transport,
        own=None if own is None else Origin.of(own),
        bearer=values.get(ANY_SCHEME) or None,
        observer=observer,
    )


def _refuse_foreign_versions(document: OpenApiDocument, settings: OpenApiSettings) -> None:
    fields = document.root.fields
    version = fields.get("openapi", fields.get("swagger"))
    if str(version).split(".")[0] not in ("2", "3"):
        text = f"the document '{settings.document}' has no OpenAPI version that is known: '{version}'; 2.0 and 3.x are"
        raise DocumentError(text, source=settings.name)


async def _loaded(fetcher: DocumentFetcher, document: OpenApiDocument, step: Callable[[], _T]) -> _T:
    """The value of a step, taken off the event loop, again after each file that it turned out to need."""
    while True:
        try:
            return await asyncio.to_thread(step)
        except DocumentNotLoaded as needed:
            uri = needed.uri
        await _load(fetcher, document, uri)


async def _load(fetcher: DocumentFetcher, document: OpenApiDocument, uri: str) -> None:
    """Add one more file to a document, or take note that it cannot be had."""
    try:
        document.add(uri, await fetcher.read(uri, root_uri=document.uri))
    except DocumentError as error:
        document.refuse(uri, str(error))
