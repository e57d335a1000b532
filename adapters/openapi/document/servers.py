"""Where the operations of a document are served, and which of its addresses may be believed.

Knows servers, their variables and the base URL of the settings. The source's own origin is that of the configured
base URL; without one, of a local document's first server, or of the URL that the document came from. A server of
another origin is never believed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import httpx2

from adapters.base import JsonObject, SkippedTool
from adapters.http.url_safety import Origin, is_http_url, resolve_url
from adapters.openapi.document import swagger2 as swagger
from adapters.openapi.document.document import DocumentNode, OpenApiDocument

_BARE_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?::\d+)?(?:/|$)")
"""A host without a scheme, which is a slip: read as it stands it would be a path."""


@dataclass(frozen=True, slots=True)
class BaseUrl:
    """The URL that paths are appended to, or why there is none."""

    url: httpx2.URL | None
    why: str = ""


class Servers:
    """The addresses of one document. `stated` are its own servers, `root` the base of operations that name none."""

    def __init__(self, document: OpenApiDocument, configured: str | None, skipped: list[SkippedTool]) -> None:
        self._document_uri = document.uri
        servers = _server_objects(document.root)
        self._declared = self._resolve_all(servers)
        self._relative_paths = [
            text for one in servers if (text := _expand_variables(one)) is not None and text.strip("/")
        ]
        self.root = self._choose_root(configured)
        self.origin = Origin.of(self.root.url) if self.root.url is not None else None
        if self.root.url is None:
            skipped.append(SkippedTool("#/servers", self.root.why))

    def _choose_root(self, configured: str | None) -> BaseUrl:
        if configured is not None:
            url = parse_base_url(configured)
            return BaseUrl(url) if url else BaseUrl(None, f"the base URL '{configured}' is no http URL")
        if not self._declared:
            where = f" to the URL that '{self._relative_paths[0]}' stands for" if self._relative_paths else ""
            return BaseUrl(None, f"the document names no server with a host; set BASE_API_URL or --base-url{where}")
        if self._document_uri.startswith("file:"):
            return BaseUrl(self._declared[0])
        here = httpx2.URL(self._document_uri)
        own = next((url for stated in self._declared if (url := _at_origin(stated, here)) is not None), None)
        why = f"the document comes from another origin than its server '{self._declared[0]}'; set BASE_API_URL to that "
        return BaseUrl(own, "" if own else f"{why}URL if you trust it")

    def base_of(self, stated: DocumentNode | None) -> BaseUrl:
        """The base of an operation; `stated` are its own servers or those of its path."""
        if stated is None or self.root.url is None:
            return self.root
        urls = self._resolve_all([node.fields for node in stated.children()], seen_from=self.root.url)
        if not urls:
            return self.root
        origins = [Origin.of(url) for url in self._declared]
        for url in urls:
            at_home = _at_origin(url, self.root.url)
            if at_home is not None:
                return BaseUrl(at_home)
            if Origin.of(url) in origins:
                return BaseUrl(self._rebase(url))
        why = f"its own server '{urls[0]}' is of another origin than '{self.origin}'; a source with that base URL reaches it"
        return BaseUrl(None, why)

    def _rebase(self, url: httpx2.URL) -> httpx2.URL:
        """A URL of the document's usual server, seen from the base URL that is configured in its place."""
        assert self.root.url is not None  # noqa: S101  the caller has looked
        usual = next(known for known in self._declared if Origin.of(known) == Origin.of(url))
        if url == usual:
            return self.root.url
        return self.root.url.copy_with(path=url.path)

    def _resolve_all(self, servers: Iterable[JsonObject], *, seen_from: httpx2.URL | None = None) -> list[httpx2.URL]:
        found = (self._resolve(server, seen_from) for server in servers)
        return [url for url in found if url is not None]

    def _resolve(self, server: JsonObject, seen_from: httpx2.URL | None) -> httpx2.URL | None:
        """The URL of a server; what is relative in a local document is seen from `seen_from`."""
        text = _expand_variables(server)
        if text is None:
            return None
        if not self._document_uri.startswith("file:"):
            return resolve_url(httpx2.URL(self._document_uri), text)
        if seen_from is not None and text.startswith("/") and not text.startswith("//"):
            return resolve_url(seen_from, text)
        if _BARE_HOST.match(text):
            text = f"//{text}"
        return parse_base_url(f"https:{text}" if text.startswith("//") else text)


def _expand_variables(server: JsonObject) -> str | None:
    """The text of a server's URL with its variables filled in; None where one has no value."""
    text = server.get("url")
    if not isinstance(text, str):
        return None
    variables = server.get("variables")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        value, place = _variable_value(variable), "{" + str(name) + "}"
        if value is not None:
            text = text.replace(f"/{place}", f"/{value.lstrip('/')}").replace(place, value)
    return None if "{" in text else text


def _at_origin(url: httpx2.URL, home: httpx2.URL) -> httpx2.URL | None:
    """A URL of the same origin as another one; where that is secure, its host's insecure spelling is taken for it."""
    for known in (url, url.copy_with(scheme="https")):
        if Origin.of(known) == Origin.of(home):
            return known
    return None


def _variable_value(variable: object) -> str | None:
    """The default of a server variable, else the first of its values."""
    if not isinstance(variable, dict):
        return None
    listed = variable.get("enum")
    first = listed[0] if isinstance(listed, list) and listed else None
    value = variable.get("default", first)
    return str(value) if isinstance(value, str | int) else None


@lru_cache(maxsize=256)
def parse_base_url(text: str) -> httpx2.URL | None:
    """A base URL as it was written by the user or in a local document; None where it is no http URL."""
    try:
        url = httpx2.URL(text.strip()).copy_with(fragment=None, query=None, userinfo=b"")
    except (httpx2.InvalidURL, UnicodeError):
        return None
    return url if is_http_url(url) else None


def _server_objects(root: DocumentNode) -> list[JsonObject]:
    if swagger.is_swagger2(root):
        return swagger.convert_servers(root)
    return [node.fields for node in root.child("servers").children()] or [{"url": "/"}]
