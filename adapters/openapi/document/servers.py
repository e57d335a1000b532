"""Base URLs of operations: servers of the document, their variables, and the configured base URL.

The origin of a source is that of the configured base URL; without one, that of a local document's first server, or of
the URL that the document came from. Servers of other origins are not used.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import httpx2

from adapters.base import JsonObject, SkippedTool
from adapters.http.url_safety import Origin, resolve_url
from adapters.openapi.document import swagger2 as swagger
from adapters.openapi.document.document import DocumentNode, OpenApiDocument

_BARE_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?::\d+)?(?:/|$)")
"""A host without a scheme, a common mistake: it would otherwise be read as a path."""


@dataclass(frozen=True, slots=True)
class BaseUrl:
    """The URL that paths are appended to, or the reason why there is none."""

    url: httpx2.URL | None
    reason: str = ""


class Servers:
    """The servers of one document. `root` is the base URL of operations without servers of their own."""

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
            skipped.append(SkippedTool("#/servers", self.root.reason))

    def _choose_root(self, configured: str | None) -> BaseUrl:
        if configured is not None:
            url = parse_base_url(configured)
            return (
                BaseUrl(url)
                if url
                else BaseUrl(None, f"invalid base URL '{configured}': it must be an http or https URL")
            )
        if not self._declared:
            example = f", for example https://HOST{self._relative_paths[0]}" if self._relative_paths else ""
            return BaseUrl(None, f"the document has no server with a host; set BASE_API_URL or --base-url{example}")
        if self._document_uri.startswith("file:"):
            return BaseUrl(self._declared[0])
        here = httpx2.URL(self._document_uri)
        own = next((url for stated in self._declared if (url := _at_origin(stated, here)) is not None), None)
        reason = f"the document and its server '{self._declared[0]}' have different origins; set BASE_API_URL to the "
        return BaseUrl(own, "" if own else f"{reason}server's URL if you trust it")

    def base_of(self, declared: DocumentNode | None) -> BaseUrl:
        """Return the base URL of an operation; `declared` are its own servers or those of its path."""
        if declared is None or self.root.url is None:
            return self.root
        urls = self._resolve_all([node.fields for node in declared.children()], base=self.root.url)
        if not urls:
            return self.root
        origins = [Origin.of(url) for url in self._declared]
        for url in urls:
            same_origin = _at_origin(url, self.root.url)
            if same_origin is not None:
                return BaseUrl(same_origin)
            if Origin.of(url) in origins:
                return BaseUrl(self._rebase(url))
        reason = (
            f"the server '{urls[0]}' has another origin than '{self.origin}'; add a source with that base URL to use it"
        )
        return BaseUrl(None, reason)

    def _rebase(self, url: httpx2.URL) -> httpx2.URL:
        """Rebase a URL of a declared server on the configured base URL."""
        assert self.root.url is not None  # noqa: S101  checked by the caller
        server = next(one for one in self._declared if Origin.of(one) == Origin.of(url))
        if url == server:
            return self.root.url
        return self.root.url.copy_with(path=url.path)

    def _resolve_all(self, servers: Iterable[JsonObject], *, base: httpx2.URL | None = None) -> list[httpx2.URL]:
        found = (self._resolve(server, base) for server in servers)
        return [url for url in found if url is not None]

    def _resolve(self, server: JsonObject, base: httpx2.URL | None) -> httpx2.URL | None:
        """Return the URL of a server; in a local document a relative one is resolved against `base`."""
        text = _expand_variables(server)
        if text is None:
            return None
        if not self._document_uri.startswith("file:"):
            return resolve_url(httpx2.URL(self._document_uri), text)
        if base is not None and text.startswith("/") and not text.startswith("//"):
            return resolve_url(base, text)
        if _BARE_HOST.match(text):
            text = f"//{text}"
        return parse_base_url(f"https:{text}" if text.startswith("//") else text)


def _expand_variables(server: JsonObject) -> str | None:
    """Return the URL of a server with its variables expanded; None if one has no value."""
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
    """Return a URL if it has the origin of `home`; http is upgraded if `home` is https."""
    for candidate in (url, url.copy_with(scheme="https")):
        if Origin.of(candidate) == Origin.of(home):
            return candidate
    return None


def _variable_value(variable: object) -> str | None:
    """Return the default of a server variable, else the first of its values."""
    if not isinstance(variable, dict):
        return None
    listed = variable.get("enum")
    first = listed[0] if isinstance(listed, list) and listed else None
    value = variable.get("default", first)
    return str(value) if isinstance(value, str | int) else None


@lru_cache(maxsize=256)
def parse_base_url(text: str) -> httpx2.URL | None:
    """Parse a base URL from the settings or a local document; None if it is not an http URL."""
    url = resolve_url(None, text)
    return None if url is None else url.copy_with(query=None)


def _server_objects(root: DocumentNode) -> list[JsonObject]:
    if swagger.is_swagger2(root):
        return swagger.convert_servers(root)
    return [node.fields for node in root.child("servers").children()] or [{"url": "/"}]
