"""Stores pages and probe responses in the journal and reads them back, for resumed and later runs.

A page's journal entry points to its records in the spool of the run that fetched it.
"""

import asyncio
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle
from adapters.errors import ConnectionFailed, SourceError, TimedOut
from adapters.json_text import parse_json
from runax_cli.core.results import StoredModel
from runax_cli.executor.fetch.page import Continuation, FetchedPage
from runax_cli.executor.fetch.snapshot import ResponseVersion
from runax_cli.executor.fetch.source_client import SendRequest
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.run_cache import RunCache, key_of
from runax_cli.executor.store.spool import PageEntry
from runax_cli.memory.journal import EntryKind
from runax_cli.telemetry.credential_mask import CREDENTIAL_MASK

_PAGINATION = TypeAdapter(Pagination)


class StoredAddress(StoredModel):
    """The stored form of a page address. Field names of stored models are the format of the journal."""

    arguments: dict[str, Json]
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    operation: str | None = None

    @classmethod
    def from_address(cls, address: PageAddress) -> "StoredAddress":
        """Return the stored form of an address."""
        return cls(
            arguments=dict(address.arguments),
            url=address.url,
            headers=dict(address.headers),
            operation=address.operation,
        )

    def to_address(self) -> PageAddress:
        """Return the address."""
        return PageAddress(self.arguments, url=self.url, headers=self.headers, operation=self.operation)


class StoredContinuation(StoredModel):
    """The stored form of a continuation."""

    pagination: dict[str, Any]
    place: StoredAddress


class StoredPage(StoredModel):
    """The journal entry of a page: where its records are on disk, and what it says about the next page."""

    spool: str
    offset: int
    n_bytes: int
    checksum: int
    dropped: int = 0
    has_more: bool | None = None
    next: StoredAddress | None = None
    kind: PaginationStyle | None = None
    total: int | None = None
    ways: tuple[StoredContinuation, ...] = ()


def to_journal(page: FetchedPage, entry: PageEntry, spool: Path) -> bytes:
    """Serialize the journal entry of a page."""
    stored = StoredPage(
        spool=str(spool),
        offset=entry.offset,
        n_bytes=entry.n_bytes,
        checksum=entry.checksum,
        dropped=page.n_dropped,
        has_more=page.has_more,
        next=None if page.next is None else StoredAddress.from_address(page.next),
        kind=page.style,
        total=page.total,
        ways=tuple(
            StoredContinuation(pagination=asdict(one.pagination), place=StoredAddress.from_address(one.address))
            for one in page.alternatives
        ),
    )
    return stored.model_dump_json(exclude_none=True).encode()


def from_journal(payload: bytes) -> FetchedPage | None:
    """Read the page of a journal entry from its spool; None if the spool no longer has it. Blocking."""
    try:
        stored = StoredPage.model_validate_json(payload)
        alternatives = tuple(
            Continuation(_PAGINATION.validate_python(one.pagination), one.place.to_address()) for one in stored.ways
        )
        with Path(stored.spool).open("rb") as file:
            file.seek(stored.offset)
            body = file.read(stored.n_bytes)
    except (ValidationError, OSError):
        return None
    if zlib.crc32(body) != stored.checksum:
        return None
    return FetchedPage(
        records=[parse_json(line) for line in body.splitlines()],
        n_dropped=stored.dropped,
        has_more=stored.has_more,
        next=None if stored.next is None else stored.next.to_address(),
        total=stored.total,
        requests=0,
        is_cached=True,
        style=stored.kind,
        alternatives=alternatives,
    )


def address_key(address: PageAddress | None) -> Json:
    """Return everything that distinguishes one page address from another, as a JSON value."""
    if address is None:
        return None
    parts: list[Json] = [address.url, dict(address.arguments)]
    return [*parts, dict(address.headers), address.operation] if address.headers or address.operation else parts


_UNSTORED_HEADERS = frozenset({"set-cookie", "authorization", "www-authenticate", "proxy-authenticate"})
_MAX_STORED_BYTES = 2 * 2**20
"""A larger response is the data itself and is stored as a page."""


class StoredResponse(StoredModel):
    """The stored form of a response to a probe."""

    payload: Json
    location: str
    headers: dict[str, str]
    n_bytes: int
    status: int | None
    flaw: str = ""


class CachedProbeClient:
    """Sends the requests of a probe and stores the responses. `version` is that of the first response.

    `identity` is that of the source: a response for another account or from another server is never used.
    """

    def __init__(self, send: SendRequest, call: DecidedCall, cache: RunCache, *, identity: str = "") -> None:
        self._send, self._call, self._cache, self._identity = send, call, cache, identity
        self._has_version = False
        self.version = ResponseVersion()

    async def __call__(self, address: PageAddress | None) -> CallResult:
        """Return one response. Raises SourceError and BudgetExhausted."""
        key = self._key(address)
        result = await self._load(key)
        if result is None:
            result = await (self._send(address) if self._call.is_repeatable else self._send_once(key, address))
            await self._store(key, result)
        if not self._has_version:
            self._has_version, self.version = True, ResponseVersion.from_result(result)
        return result

    async def _send_once(self, key: str, address: PageAddress | None) -> CallResult:
        """Send a request that changes data. It is never repeated if its effect is unknown."""
        tool = self._call.tool
        if await self._cache.was_started(key):
            text = "the request was sent before the run was interrupted and its effect is unknown; it is not sent again"
            raise SourceError(text, source=tool.source, location=tool.locator, requests=0)
        await self._cache.mark_started(key, EntryKind.PAGE)
        try:
            return await self._send(address)
        except (ConnectionFailed, TimedOut):
            raise
        except Exception:
            await self._cache.mark_failed(key)
            raise

    async def _load(self, key: str) -> CallResult | None:
        payload = None if self._call.tool.requires_fresh_input else await self._cache.get(key)
        if payload is None:
            return None
        try:
            stored = await asyncio.to_thread(StoredResponse.model_validate_json, payload)
        except ValidationError:
            return None
        return CallResult(
            payload=stored.payload,
            location=stored.location,
            headers=stored.headers,
            n_bytes=stored.n_bytes,
            requests=0,
            status=stored.status,
            flaw=stored.flaw,
        )

    async def _store(self, key: str, result: CallResult) -> None:
        if result.n_bytes > _MAX_STORED_BYTES and self._call.is_repeatable:
            return
        stored = StoredResponse(
            payload=result.payload,
            location=result.location,
            headers={k: v for k, v in result.headers.items() if k not in _UNSTORED_HEADERS},
            n_bytes=result.n_bytes,
            status=result.status,
            flaw=result.flaw,
        )
        payload = stored.model_dump_json().encode("utf-8", "replace")
        # A response with masked credentials is no longer the response of the server: it is requested again.
        if not CREDENTIAL_MASK.has_credentials(payload):
            await self._cache.store(EntryKind.PAGE, {key: payload})

    def _key(self, address: PageAddress | None) -> str:
        call = self._call
        parts = [call.tool.source, call.tool.name, call.arguments]
        is_head = bool(address and address.is_head)
        return key_of("probe", self._cache.run_id, call.call_id, self._identity, *parts, address_key(address), is_head)
