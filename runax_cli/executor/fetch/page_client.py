"""Fetches single pages of a call: from the journal if they are stored there, otherwise from the source.

A page that an earlier run stored is used only under the same snapshot and for a limited time; pages that the run itself
stored are always used.
"""

import asyncio
from dataclasses import dataclass

from adapters.base import CallResult, Json, PageAddress
from adapters.pagination import may_repeat_address
from adapters.pagination.probe.probe import FirstPage, ProbeResult
from runax_cli.core.events import Emitter
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.fetch.page import FetchedPage, alternative_continuations, page_from_reading, parse_page
from runax_cli.executor.fetch.page_cache import address_key, from_journal, to_journal
from runax_cli.executor.fetch.snapshot import Snapshot
from runax_cli.executor.fetch.source_client import SendRequest
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.run_cache import RunCache, key_of
from runax_cli.executor.store.spool import PageEntry, Spool
from runax_cli.memory.journal import EntryKind


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
