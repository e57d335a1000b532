"""Fetches single pages of a call: from the journal if they are stored there, otherwise from the source.

A page that an earlier run stored is used only under the same snapshot and for a limited time; pages that the run itself
stored are always used.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle
from adapters.errors import ConnectionFailed, SourceError, TimedOut
from adapters.json_text import parse_json
from adapters.pagination import may_repeat_address
from adapters.pagination.probe.probe import FirstPage, ProbeResult
from runax_cli.core.events import Emitter
from runax_cli.core.results import StoredModel
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.fetch.page import (
    Continuation,
    FetchedPage,
    alternative_continuations,
    page_from_reading,
    parse_page,
)
from runax_cli.executor.fetch.snapshot import ResponseVersion, Snapshot
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.run_cache import RunCache, key_of
from runax_cli.executor.store.spool import PageEntry, Spool
from runax_cli.memory.journal import EntryKind
from runax_cli.telemetry.credential_mask import CREDENTIAL_MASK

_PAGINATION = TypeAdapter(Pagination)

SendRequest: TypeAlias = Callable[[PageAddress | None], Awaitable[CallResult]]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchContext:
    """The call that is fetched and what its fetch uses.

    `snapshot`: the state of the data under which stored pages of other runs may be used; None for this run's only.
    `identity`: the account and server of the source.
    """

    call: DecidedCall
    send: SendRequest
    emitter: Emitter
    cache: RunCache
    notes: CoverageNotes
    snapshot: Snapshot | None = None
    identity: str = ""

    @property
    def cached_page_max_age_s(self) -> float:
        """How old a page of another run may be."""
        return 0.0 if self.snapshot is None else self.snapshot.max_age_s

    @property
    def cache_scope(self) -> list[Json]:
        """What the cache keys of pages start with: the snapshot, or else one call of one run."""
        if self.snapshot is None:
            return [self.cache.run_id, self.call.call_id, self.identity]
        return [self.snapshot.digest]


class PageClient:
    """Fetches pages one by one.

    `pagination` is replaced when it turns out to be wrong; `size` is the requested page size of the whole fetch.
    `n_cached` counts pages that were taken from the journal.
    """

    def __init__(self, context: FetchContext, probe: ProbeResult, *, spool: Spool, size: int | None) -> None:
        self.pagination, self.size = probe.pagination, size
        self.n_cached = 0
        self._context, self._call, self._cache = context, context.call, context.cache
        self._records_path, self._spool = probe.records_path, spool

    async def fetch(self, address: PageAddress | None, *, is_first: bool = False) -> FetchedPage:
        """Return one page. Raises SourceError and BudgetExhausted."""
        key = self._key(address)
        if (page := await self._load(key)) is not None:
            return page
        await self._cache.mark_started(key, EntryKind.PAGE)
        try:
            result = await self._context.send(address)
        except Exception:
            await self._cache.mark_failed(key)
            raise
        page = self._parse(result, address)
        return self._with_alternatives(page, result) if is_first else page

    async def fetch_uncached(self, address: PageAddress) -> FetchedPage:
        """Return a page as it is now, without reading or writing the journal. Raises as `fetch` does."""
        return self._parse(await self._context.send(address), address)

    async def from_probe(self, first: FirstPage) -> FetchedPage:
        """Return the page that the probe fetched, or its stored form if it is in the journal."""
        key = self._key(first.address)
        if (page := await self._load(key)) is not None:
            return page
        await self._cache.mark_started(key, EntryKind.PAGE)
        return self._with_alternatives(page_from_reading(first.reading, requests=0), first.result)

    async def store(self, address: PageAddress | None, page: FetchedPage, entry: PageEntry) -> None:
        """Record in the journal that a page is on disk. A page that was not read completely is fetched again later."""
        if page.flaw:
            await self._cache.mark_failed(self._key(address))
            return
        payload = to_journal(page, entry, self._spool.path)
        if page.is_cached:
            self.n_cached += 1
            await self._cache.update_location(self._key(address), payload)
        else:
            await self._cache.store(EntryKind.PAGE, {self._key(address): payload})

    async def _load(self, key: str) -> FetchedPage | None:
        if self._call.tool.requires_fresh_input or may_repeat_address(self.pagination):
            # The same address of a scroll returns another page each time.
            return None
        payload = await self._cache.get(key, max_age_s=self._context.cached_page_max_age_s)
        return None if payload is None else await asyncio.to_thread(from_journal, payload)

    def _parse(self, result: CallResult, address: PageAddress | None) -> FetchedPage:
        return parse_page(result, self.pagination, records_path=self._records_path, size=self.size, address=address)

    def _with_alternatives(self, page: FetchedPage, result: CallResult) -> FetchedPage:
        page.alternatives = alternative_continuations(
            result, self.pagination, records_path=self._records_path, size=self.size
        )
        return page

    def _key(self, address: PageAddress | None) -> str:
        tool, scope = self._call.tool, self._context.cache_scope
        return key_of("page", *scope, tool.source, tool.name, self._call.arguments, address_key(address))


def address_key(address: PageAddress | None) -> Json:
    """Return everything that distinguishes one page address from another, as a JSON value."""
    if address is None:
        return None
    parts: list[Json] = [address.url, dict(address.arguments)]
    return [*parts, dict(address.headers), address.operation] if address.headers or address.operation else parts


async def stored_page_size(wanted: int | None, context: FetchContext) -> int | None:
    """Return the page size of the pages that are stored already; otherwise store and return `wanted`.

    Pages of another size have other addresses, so that the stored ones would not be found.
    """
    if wanted is None:
        return None
    call, cache = context.call, context.cache
    parts = [call.tool.source, call.tool.name, call.arguments, call.at_most]
    key = key_of("size", *context.cache_scope, *parts)
    stored = await cache.get(key, max_age_s=context.cached_page_max_age_s)
    if stored is not None and stored.isdigit():
        return int(stored)
    await cache.store(EntryKind.PAGE, {key: str(wanted).encode()})
    return wanted


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
        if not CREDENTIAL_MASK.is_touched(payload):
            await self._cache.store(EntryKind.PAGE, {key: payload})

    def _key(self, address: PageAddress | None) -> str:
        call = self._call
        parts = [call.tool.source, call.tool.name, call.arguments]
        is_head = bool(address and address.is_head)
        return key_of("probe", self._cache.run_id, call.call_id, self._identity, *parts, address_key(address), is_head)
