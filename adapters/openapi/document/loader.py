"""Loads documents from disk or over HTTP and parses JSON and YAML, with limits against hostile input.

A token is sent only to the origin of the configured base URL, and only after the server answered 401 or 403.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TypeVar

import httpx2
import orjson
import yaml

from adapters.base import Json
from adapters.errors import (
    DocumentError,
    ForeignOrigin,
    HttpStatusError,
    MalformedResponse,
    ResponseTooLarge,
    SourceError,
)
from adapters.http.secret_mask import SecretMask
from adapters.http.transport import HttpRequest, HttpTransport
from adapters.http.url_safety import Origin, is_http_url
from adapters.openapi.document.document import DocumentNotLoaded, OpenApiDocument, file_path, is_inside_folder
from adapters.openapi.gc_tuning import relaxed_gc
from adapters.source_events import OnEvent, ignore_events

_MARKUP_ERROR = (
    "it is HTML or other markup, not JSON or YAML; documentation pages usually link to the document itself, often "
    "at /openapi.json, /swagger.json or /v3/api-docs"
)
_ARCHIVE_MAGIC = ((b"\x1f\x8b", "gzip"), (b"PK\x03\x04", "zip"), (b"BZh", "bzip2"), (b"\x28\xb5\x2f\xfd", "zstd"))
_COMMENT = re.compile(rb"^[ \t]*(?://|/\*)|[,{\[][ \t]*(?://|/\*)", re.MULTILINE)
_COMMENTS = re.compile(rb'"(?:\\.|[^"\\])*+"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING_COMMA = re.compile(rb'"(?:\\.|[^"\\])*+"?|,(?=\s*[}\]])', re.DOTALL)
_TAB_INDENT = re.compile(rb"^ *\t", re.MULTILINE)
_MAX_DEPTH = 500
_MAX_VALUES = 5_000_000
_MAX_MERGED_KEYS = 100_000


class DocumentSyntaxError(ValueError):
    """The text is neither JSON nor YAML, or exceeds a limit."""


def parse_document(data: bytes) -> Json:
    """Parse a JSON or YAML text. Raises DocumentSyntaxError."""
    data = _to_utf8(data)
    begin = data[:1_000].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if begin == b"<":
        raise DocumentSyntaxError(_MARKUP_ERROR)
    if begin in (b"{", b"[", b"/"):
        try:
            return _parse_json(data)
        except DocumentSyntaxError:
            stripped = _strip_comments(data)
            if stripped != data:
                return _parse_json(stripped)
            if b"\n" not in data.strip():
                raise
    return _parse_yaml(data)


def _strip_comments(data: bytes) -> bytes:
    """Remove comments and trailing commas, which editors allow in JSON.

    Only if a line begins with a comment or a comment follows a delimiter: YAML would read it as part of a key, and
    `//` also occurs in URLs.
    """
    if not _COMMENT.search(data):
        return data
    return _TRAILING_COMMA.sub(_keep_string, _COMMENTS.sub(_keep_string, data))


def _keep_string(match: re.Match[bytes]) -> bytes:
    return match[0] if match[0].startswith(b'"') else b" "


def _to_utf8(data: bytes) -> bytes:
    """Convert a text to UTF-8 from the encoding that its first bytes show, with or without a byte order mark."""
    archive = next((kind for begin, kind in _ARCHIVE_MAGIC if data.startswith(begin)), None)
    if archive is not None:
        raise DocumentSyntaxError(f"it is compressed ({archive}); extract it and use the document inside")
    encoding = json.detect_encoding(data)
    if encoding.startswith("utf-8"):
        return data
    try:
        return data.decode(encoding).encode()
    except UnicodeError:
        raise DocumentSyntaxError(f"invalid {encoding.upper()} text") from None


def _parse_json(data: bytes) -> Json:
    try:
        return orjson.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        reason = str(error)
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise DocumentSyntaxError(f"invalid JSON: {reason}") from None


def _parse_yaml(data: bytes) -> Json:
    try:
        _check_yaml_size(data)
        return yaml.load(data, Loader=_JsonLikeLoader)  # noqa: S506  derived from the safe loader
    except yaml.YAMLError as error:
        hint = "; indent YAML with spaces: a line begins with a tab" if _TAB_INDENT.search(data) else ""
        raise DocumentSyntaxError(f"invalid JSON or YAML: {' '.join(str(error).split())}{hint}") from None
    except (RecursionError, ValueError, UnicodeError) as error:
        raise DocumentSyntaxError(f"invalid JSON or YAML: {error}") from None


def _check_yaml_size(data: bytes) -> None:
    """Raise DocumentSyntaxError for YAML that would exhaust the stack or the memory.

    Works on parser events, which need neither. An alias counts as all values of its anchor.
    """
    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = [(None, 0)]
    for event in yaml.parse(data, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, 1))
            if len(open_) > _MAX_DEPTH:
                raise DocumentSyntaxError(f"nested more than {_MAX_DEPTH} levels deep")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_.pop()
            sizes[anchor or ""] = size
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_):
                raise DocumentSyntaxError(f"the anchor '{event.anchor}' contains itself")
            size = sizes.get(event.anchor or "", 1)
        else:
            size = 1
        open_[-1] = (open_[-1][0], open_[-1][1] + size)
        if open_[-1][1] > _MAX_VALUES:
            raise DocumentSyntaxError(f"its aliases expand to more than {_MAX_VALUES:,} values")


class _JsonLikeLoader(yaml.CSafeLoader):
    """YAML 1.2 with the JSON schema, as OpenAPI requires: no dates, octals or `yes`; keys are strings."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  as the library has it

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Apply merge keys, up to a limit."""
        super().flatten_mapping(node)
        if len(node.value) > _MAX_MERGED_KEYS:
            raise yaml.constructor.ConstructorError(
                None, None, f"merge keys expand to more than {_MAX_MERGED_KEYS:,} keys", node.start_mark
            )

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Json]:  # noqa: FBT001, FBT002
        """Construct a mapping with its keys as written: `200:` is "200"."""
        self.flatten_mapping(node)
        return {self._key(key): self.construct_object(value, deep=deep) for key, value in node.value}

    def _key(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        raise yaml.constructor.ConstructorError(None, None, "a key must be a string", node.start_mark)

    def _plain_object(self, node: yaml.Node) -> Json:
        """Ignore tags of other applications."""
        if isinstance(node, yaml.ScalarNode):
            return self.construct_scalar(node)
        if isinstance(node, yaml.MappingNode):
            return self.construct_mapping(node, deep=True)
        return self.construct_sequence(node, deep=True) if isinstance(node, yaml.SequenceNode) else None


_RESOLVERS = (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:int", r"^[-+]?(?:0|[1-9][0-9]{0,4000})$", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$",
        "-+.0123456789",
    ),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
    ("tag:yaml.org,2002:merge", r"^(?:<<)$", "<"),
)
for _tag, _pattern, _first in _RESOLVERS:
    _characters = [character if character != "\0" else "" for character in _first]
    _JsonLikeLoader.add_implicit_resolver(_tag, re.compile(_pattern), _characters)
_JsonLikeLoader.yaml_constructors = {
    **yaml.CSafeLoader.yaml_constructors,
    None: _JsonLikeLoader._plain_object,
    "tag:yaml.org,2002:timestamp": yaml.CSafeLoader.construct_yaml_str,
    "tag:yaml.org,2002:binary": yaml.CSafeLoader.construct_yaml_str,
}


_T = TypeVar("_T")
MAX_DOCUMENT_BYTES = 64 * 2**20
_MAX_FILES = 500


class DocumentFetcher:
    """Loads a document and, one at a time, the files that it refers to. Raises DocumentError.

    `bearer` is sent to the origin `own` only. `digests` are those of the requested files, by URI; None for a file that
    could not be loaded.
    """

    def __init__(
        self,
        source: str,
        transport: HttpTransport,
        *,
        own: Origin | None = None,
        bearer: str | None = None,
        observer: OnEvent = ignore_events,
    ) -> None:
        self._source, self._transport, self._own, self._bearer = source, transport, own, bearer
        self._observer = observer
        self.digests: dict[str, str | None] = {}

    async def open(self, place: str) -> OpenApiDocument:
        """Load the document at a path or URL."""
        if place.lower().startswith(("http://", "https://")):
            uri = str(self._url(place))
        else:
            uri = await asyncio.to_thread(lambda: Path(place).expanduser().absolute().as_uri())
        value = await self.read(uri, root_uri=uri)
        if not isinstance(value, dict):
            raise DocumentError(
                f"the document '{place}' is not an OpenAPI document: it must be an object", source=self._source
            )
        return OpenApiDocument(uri, value)

    async def read(self, uri: str, *, root_uri: str) -> Json:
        """Load and parse one file."""
        self.digests[uri] = None
        if len(self.digests) > _MAX_FILES:
            raise self._error(uri, f"the document refers to more than {_MAX_FILES} files")
        data = await self._read_file(uri, root_uri) if uri.startswith("file:") else await self._download(uri)
        try:
            self.digests[uri], value = await asyncio.to_thread(_digest_and_parse, data)
        except DocumentSyntaxError as error:
            raise self._error(uri, str(error)) from None
        return value

    def _error(self, uri: str, reason: str) -> DocumentError:
        shown = SecretMask().url(httpx2.URL(uri)) if uri.startswith(("http:", "https:")) else uri
        return DocumentError(f"the document '{shown}' cannot be read: {reason}", source=self._source, location=shown)

    def _url(self, place: str) -> httpx2.URL:
        try:
            url = httpx2.URL(place).copy_with(fragment=None, userinfo=b"")
        except (httpx2.InvalidURL, UnicodeError):
            raise DocumentError(f"the document '{place}' cannot be read: invalid URL", source=self._source) from None
        if not is_http_url(url):
            raise self._error(place, "the URL must be http or https")
        return url

    async def _read_file(self, uri: str, root_uri: str) -> bytes:
        if not is_inside_folder(uri, root_uri):
            raise self._error(uri, "it is outside the document's folder")
        try:
            return await asyncio.to_thread(_read_limited, file_path(uri))
        except OSError as error:
            raise self._error(uri, error.strerror or str(error)) from None
        except ValueError as error:
            raise self._error(uri, str(error)) from None

    async def _download(self, uri: str) -> bytes:
        url = httpx2.URL(uri)
        try:
            return await self._get(url, ())
        except HttpStatusError as error:
            if error.status not in (401, 403) or self._bearer is None or Origin.of(url) != self._own:
                raise self._download_error(error) from error
        try:
            return await self._get(url, (("authorization", f"Bearer {self._bearer}"),))
        except SourceError as error:
            raise self._download_error(error) from error

    async def _get(self, url: httpx2.URL, headers: tuple[tuple[str, str], ...]) -> bytes:
        accept = ("accept", "application/json, application/yaml, */*")
        request = HttpRequest(method="GET", url=url, headers=(accept, *headers), is_repeatable=True)
        try:
            return await self._transport.fetch(request, observer=self._observer)
        except (ForeignOrigin, MalformedResponse) as error:
            raise self._download_error(error) from error
        except ResponseTooLarge as error:
            raise self._error(str(url), f"it is larger than {MAX_DOCUMENT_BYTES:,} bytes") from error

    def _download_error(self, error: SourceError) -> DocumentError:
        return DocumentError(
            f"the document cannot be fetched: {error}; set OPENAPI_SPEC to its path or URL",
            source=self._source,
            location=error.location,
            is_retryable=error.is_retryable,
            requests=error.requests,
        )


class LazyDocument:
    """A document whose further files are loaded when a step needs them. `value` is the document itself."""

    def __init__(self, fetcher: DocumentFetcher, value: OpenApiDocument) -> None:
        self._fetcher, self.value = fetcher, value

    async def run(self, step: Callable[[], _T]) -> _T:
        """Run a step off the event loop, and repeat it after loading each file that it raises DocumentNotLoaded for."""
        while True:
            try:
                return await asyncio.to_thread(step)
            except DocumentNotLoaded as needed:
                uri = needed.uri
            await self.load(uri)

    async def load(self, uri: str) -> None:
        """Add a file to the document, or mark it as unavailable."""
        try:
            self.value.add(uri, await self._fetcher.read(uri, root_uri=self.value.uri))
        except DocumentError as error:
            self.value.mark_unavailable(uri, str(error))

    @property
    def root_digest(self) -> str:
        """The digest of the root file."""
        return self._fetcher.digests[self.value.uri] or ""

    @property
    def other_digests(self) -> dict[str, str | None]:
        """The digests of the other files, by URI; None for those that could not be loaded."""
        return {uri: digest for uri, digest in self._fetcher.digests.items() if uri != self.value.uri}


def _digest_and_parse(data: bytes) -> tuple[str, Json]:
    """Return the SHA-256 digest of a file and its value."""
    with relaxed_gc():
        return hashlib.sha256(data).hexdigest(), parse_document(data)


def _read_limited(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"it is larger than {MAX_DOCUMENT_BYTES:,} bytes")
    return data
