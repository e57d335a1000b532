"""Pages of one call, asked for one by one: from the journal where it has them, else from the source.

Knows the call, its way of paging and its keys in the journal. A page that an earlier run stored is taken for the data
only under the same snapshot, and for a time; what this run stored itself, whenever that was. Knows no walk: which page,
and what becomes of it, is for others to say.
"""

import asyncio
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle
from adapters.errors import ConnectionFailed, SourceError, TimedOut
from adapters.json_text import parsed
from adapters.pagination import may_repeat_address
from adapters.pagination.probe.probe import FirstPage, ProbeResult
from runax_cli.core.results import StoredModel
from runax_cli.executor.fetch.page import Continuation, FetchedPage, other_ways, page_of, page_of_reading
from runax_cli.executor.fetch.snapshot import ResponseVersion, Snapshot
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.run_cache import RunCache, key_of
from runax_cli.executor.store.spool import PageEntry, Spool
from runax_cli.memory.journal import EntryKind
from runax_cli.telemetry.credential_mask import CREDENTIAL_MASK

_PAGINATION = TypeAdapter(Pagination)


class StoredAddress(StoredModel):
    """Where a page is."""

    arguments: dict[str, Json]
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    operation: str | None = None

    @classmethod
    def of(cls, place: PageAddress) -> "StoredAddress":
        """The stored form of an address."""
        return cls(
            arguments=dict(place.arguments), url=place.url, headers=dict(place.headers), operation=place.operation
        )

    def restored(self) -> PageAddress:
        """The address."""
        return PageAddress(self.arguments, url=self.url, headers=self.headers, operation=self.operation)


class StoredContinuation(StoredModel):
    """Another way to go on from a first page."""

    pagination: dict[str, Any]
    place: StoredAddress


class StoredPage(StoredModel):
    """The journal's entry of a page: where its bytes stand, and what it said of the walk."""

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
    """The payload of a page's journal entry."""
    stored = StoredPage(
        spool=str(spool),
        offset=entry.offset,
        n_bytes=entry.n_bytes,
        checksum=entry.checksum,
        dropped=page.dropped,
        has_more=page.has_more,
        next=None if page.next is None else StoredAddress.of(page.next),
        kind=page.kind,
        total=page.total,
        ways=tuple(
            StoredContinuation(pagination=asdict(way.pagination), place=StoredAddress.of(way.place))
            for way in page.ways
        ),
    )
    return stored.model_dump_json(exclude_none=True).encode()


def from_journal(payload: bytes) -> FetchedPage | None:
    """The page behind a journal entry, read from its spool; None where the spool no longer has it. Blocking."""
    try:
        stored = StoredPage.model_validate_json(payload)
        ways = tuple(
            Continuation(_PAGINATION.validate_python(way.pagination), way.place.restored()) for way in stored.ways
        )
        with Path(stored.spool).open("rb") as file:
            file.seek(stored.offset)
            body = file.read(stored.n_bytes)
    except (ValidationError, OSError):
        return None
    if zlib.crc32(body) != stored.checksum:
        return None
    return FetchedPage(
        records=[parsed(line) for line in body.splitlines()],
        dropped=stored.dropped,
        has_more=stored.has_more,
        next=None if stored.next is None else stored.next.restored(),
        total=stored.total,
        requests=0,
        from_store=True,
        kind=stored.kind,
        ways=ways,
    )


Send: TypeAlias = Callable[[PageAddress | None], Awaitable[CallResult]]


class PageClient:
    """Asks for pages. `pagination` changes where a guess proves wrong; `size` is kept over the whole walk.

    `from_store` counts pages that were not asked for, because the journal had them.
    """

    def __init__(
        self,
        call: DecidedCall,
        probe: ProbeResult,
        *,
        send: Send,
        ledger: RunCache,
        spool: Spool,
        size: int | None,
        snapshot: Snapshot | None = None,
        identity: str = "",
    ) -> None:
        self.pagination, self.size = probe.pagination, size
        self._snapshot, self._identity = snapshot, identity
        self.from_store = 0
        self._call, self._send, self._ledger, self._spool = call, send, ledger, spool
        self._path = probe.records_path

    async def seen_again(self, place: PageAddress) -> FetchedPage:
        """A page as it is now, whatever was read before; nothing of it is stored. Raises as `ask`."""
        return page_of(await self._send(place), self.pagination, records_path=self._path, size=self.size, asked=place)

    async def ask(self, place: PageAddress | None, *, is_first: bool = False) -> FetchedPage:
        """One page. Raises SourceError and BudgetExhausted."""
        key = self._key(place)
        if (page := await self._stored(key)) is not None:
            return page
        await self._ledger.started(key, EntryKind.PAGE)
        try:
            result = await self._send(place)
        except Exception:
            await self._ledger.failed(key)
            raise
        page = page_of(result, self.pagination, records_path=self._path, size=self.size, asked=place)
        return self._with_ways(page, result) if is_first else page

    async def given(self, first: FirstPage) -> FetchedPage:
        """The page that the probe brought; as it is stored, where it is."""
        key = self._key(first.address)
        if (page := await self._stored(key)) is not None:
            return page
        await self._ledger.started(key, EntryKind.PAGE)
        return self._with_ways(page_of_reading(first.reading, requests=0), first.result)

    async def done(self, place: PageAddress | None, page: FetchedPage, entry: PageEntry) -> None:
        """Write into the journal that a page is on disk. One that could not be read whole is asked for again."""
        if page.flaw:
            await self._ledger.failed(self._key(place))
            return
        payload = to_journal(page, entry, self._spool.path)
        if page.from_store:
            self.from_store += 1
            await self._ledger.moved(self._key(place), payload)
        else:
            await self._ledger.store(EntryKind.PAGE, {self._key(place): payload})

    async def _stored(self, key: str) -> FetchedPage | None:
        if self._call.tool.requires_fresh_input or may_repeat_address(self.pagination):
            # The same address of a scroll gives another page each time: what is stored is not what it would give.
            return None
        max_age_s = 0.0 if self._snapshot is None else self._snapshot.max_age_s
        payload = await self._ledger.found(key, max_age_s=max_age_s)
        return None if payload is None else await asyncio.to_thread(from_journal, payload)

    def _with_ways(self, page: FetchedPage, result: CallResult) -> FetchedPage:
        page.ways = other_ways(result, self.pagination, records_path=self._path, size=self.size)
        return page

    def _key(self, place: PageAddress | None) -> str:
        """Of one sight of the data; without one, of one run's one call of one source."""
        call, run = self._call, self._ledger.run_id
        within = [run, call.call_id, self._identity] if self._snapshot is None else [self._snapshot.digest]
        return key_of("page", *within, call.tool.source, call.tool.name, call.arguments, where_of(place))


def where_of(place: PageAddress | None) -> Json:
    """Everything that tells a page's address from another's, as a value."""
    if place is None:
        return None
    where: list[Json] = [place.url, dict(place.arguments)]
    return [*where, dict(place.headers), place.operation] if place.headers or place.operation else where


_UNSTORED_HEADERS = frozenset({"set-cookie", "authorization", "www-authenticate", "proxy-authenticate"})
_MOST_BYTES = 2 * 2**20
"""A larger answer is the data itself and is stored as a page."""


class StoredResponse(StoredModel):
    """A response as it stands in the journal."""

    payload: Json
    location: str
    headers: dict[str, str]
    n_bytes: int
    status: int | None
    flaw: str = ""


class CachedProbeClient:
    """Sends a probe's requests, and remembers their answers. `sight` is that of the first answer.

    `identity` is the source's: an answer to another account, or of another server, is no answer.
    """

    def __init__(self, send: Send, call: DecidedCall, ledger: RunCache, *, identity: str = "") -> None:
        self._send, self._call, self._ledger, self._identity = send, call, ledger, identity
        self.sight = ResponseVersion()
        self._has_seen = False

    async def __call__(self, place: PageAddress | None) -> CallResult:
        """One answer. Raises SourceError and BudgetExhausted."""
        key = self._key(place)
        result = await self._stored(key)
        if result is None:
            result = await (self._send(place) if self._call.is_repeatable else self._sent_once(key, place))
            await self._remember(key, result)
        if not self._has_seen:
            self._has_seen, self.sight = True, ResponseVersion.of(result)
        return result

    async def _sent_once(self, key: str, place: PageAddress | None) -> CallResult:
        """The answer to what changes data. It is never repeated where it is not known whether it happened."""
        tool = self._call.tool
        if await self._ledger.has_begun(key):
            text = "it was sent before the run was cut off, and nobody knows whether it happened; it is not sent again"
            raise SourceError(text, source=tool.source, location=tool.locator, requests=0)
        await self._ledger.started(key, EntryKind.PAGE)
        try:
            return await self._send(place)
        except (ConnectionFailed, TimedOut):
            raise
        except Exception:
            await self._ledger.failed(key)
            raise

    async def _stored(self, key: str) -> CallResult | None:
        payload = None if self._call.tool.requires_fresh_input else await self._ledger.found(key)
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

    async def _remember(self, key: str, result: CallResult) -> None:
        if result.n_bytes > _MOST_BYTES and self._call.is_repeatable:
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
        # What a credential was taken out of is no answer any more: it is asked for again.
        if not CREDENTIAL_MASK.has_credentials(payload):
            await self._ledger.store(EntryKind.PAGE, {key: payload})

    def _key(self, place: PageAddress | None) -> str:
        call = self._call
        where = [call.tool.source, call.tool.name, call.arguments, where_of(place), bool(place and place.is_head)]
        return key_of("probe", self._ledger.run_id, call.call_id, self._identity, *where)


async def same_size(
    wanted: int | None, call: DecidedCall, ledger: RunCache, *, snapshot: Snapshot | None, identity: str = ""
) -> int | None:
    """The size of the pages that are stored already, else `wanted`, which is then that of all further ones."""
    if wanted is None:
        return None
    within = [ledger.run_id, call.call_id, identity] if snapshot is None else [snapshot.digest]
    tool = call.tool
    key = key_of("size", *within, tool.source, tool.name, call.arguments, call.at_most)
    stored = await ledger.found(key, max_age_s=0.0 if snapshot is None else snapshot.max_age_s)
    if stored is not None and stored.isdigit():
        return int(stored)
    await ledger.store(EntryKind.PAGE, {key: str(wanted).encode()})
    return wanted
