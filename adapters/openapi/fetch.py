"""Documents from disk and over HTTP.

Knows paths, URLs and caps; hands the bytes to `text`. Knows nothing of what a document says. A token goes out only
to the origin of the base URL that the user configured, and only after the server asked for one.
"""

import asyncio
import hashlib
from pathlib import Path

import httpx2

from adapters.base import Json, Observer, nobody
from adapters.collector import seldom_collected
from adapters.errors import (
    DocumentError,
    ForeignOrigin,
    HttpStatusError,
    MalformedResponse,
    ResponseTooLarge,
    SourceError,
)
from adapters.masking import Mask
from adapters.openapi.document import Document, file_path, is_inside_folder
from adapters.openapi.text import NotADocument, parse_document
from adapters.origin import Origin, is_http
from adapters.transport import HttpRequest, HttpTransport

MAX_DOCUMENT_BYTES = 64 * 2**20
_MAX_FILES = 500


class DocumentFetcher:
    """Reads a document and, one at a time, the files that it refers to.

    `bearer` is sent to `own` only. Raises DocumentError, which names the document and the next step. `digests` are
    those of the files that were asked for, by URI; None for one that could not be had.
    """

    def __init__(
        self,
        source: str,
        transport: HttpTransport,
        *,
        own: Origin | None = None,
        bearer: str | None = None,
        observer: Observer = nobody,
    ) -> None:
        self._source, self._transport, self._own, self._bearer = source, transport, own, bearer
        self._observer = observer
        self.digests: dict[str, str | None] = {}

    async def open(self, place: str) -> Document:
        """The document at a path or URL."""
        if place.lower().startswith(("http://", "https://")):
            uri = str(self._url(place))
        else:
            uri = await asyncio.to_thread(_uri_of, place)
        value = await self.read(uri, root_uri=uri)
        if not isinstance(value, dict):
            raise DocumentError(f"the document '{place}' is no object; is it an OpenAPI document?", source=self._source)
        return Document(uri, value)

    async def read(self, uri: str, *, root_uri: str) -> Json:
        """The value of one file."""
        self.digests[uri] = None
        if len(self.digests) > _MAX_FILES:
            raise self._failed(uri, f"the document refers to more than {_MAX_FILES} files")
        data = await self._from_disk(uri, root_uri) if uri.startswith("file:") else await self._from_web(uri)
        try:
            self.digests[uri], value = await asyncio.to_thread(_taken_in, data)
        except NotADocument as error:
            raise self._failed(uri, str(error)) from None
        return value

    def _failed(self, uri: str, why: str) -> DocumentError:
        shown = Mask().url(httpx2.URL(uri)) if uri.startswith(("http:", "https:")) else uri
        return DocumentError(f"the document '{shown}' cannot be read: {why}", source=self._source, location=shown)

    def _url(self, place: str) -> httpx2.URL:
        try:
            url = httpx2.URL(place).copy_with(fragment=None, userinfo=b"")
        except (httpx2.InvalidURL, UnicodeError):
            raise DocumentError(f"the document '{place}' cannot be read: it is no URL", source=self._source) from None
        if not is_http(url):
            raise self._failed(place, "it is no http URL")
        return url

    async def _from_disk(self, uri: str, root_uri: str) -> bytes:
        if not is_inside_folder(uri, root_uri):
            raise self._failed(uri, "it lies outside of the document's folder")
        try:
            return await asyncio.to_thread(_read, file_path(uri))
        except OSError as error:
            raise self._failed(uri, error.strerror or str(error)) from None
        except ValueError as error:
            raise self._failed(uri, str(error)) from None

    async def _from_web(self, uri: str) -> bytes:
        url = httpx2.URL(uri)
        try:
            return await self._get(url, ())
        except HttpStatusError as error:
            if error.status not in (401, 403) or self._bearer is None or Origin.of(url) != self._own:
                raise self._unreachable(error) from error
        try:
            return await self._get(url, (("authorization", f"Bearer {self._bearer}"),))
        except SourceError as error:
            raise self._unreachable(error) from error

    async def _get(self, url: httpx2.URL, headers: tuple[tuple[str, str], ...]) -> bytes:
        accept = ("accept", "application/json, application/yaml, */*")
        request = HttpRequest(method="GET", url=url, headers=(accept, *headers), is_repeatable=True)
        try:
            return await self._transport.fetch(request, observer=self._observer)
        except (ForeignOrigin, MalformedResponse) as error:
            raise self._unreachable(error) from error
        except ResponseTooLarge as error:
            raise self._failed(str(url), f"it is larger than {MAX_DOCUMENT_BYTES:,} bytes") from error

    def _unreachable(self, error: SourceError) -> DocumentError:
        return DocumentError(
            f"the document cannot be fetched: {error}; set OPENAPI_SPEC to its path or URL",
            source=self._source,
            location=error.location,
            is_retryable=error.is_retryable,
            requests=error.requests,
        )


def _taken_in(data: bytes) -> tuple[str, Json]:
    """The digest of a file and its value."""
    with seldom_collected():
        return hashlib.sha256(data).hexdigest(), parse_document(data)


def _uri_of(place: str) -> str:
    return Path(place).expanduser().absolute().as_uri()


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"it is larger than {MAX_DOCUMENT_BYTES:,} bytes")
    return data
