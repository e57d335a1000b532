"""Pages of one call, asked for one by one: from the journal where it has them, else from the source.

Knows the call, its way of paging and its keys in the journal. A page that an earlier run stored is taken for the data
only under the same snapshot, and for a time; what this run stored itself, whenever that was. Knows no walk: which page,
and what becomes of it, is for others to say.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from adapters.base import CallResult, Json, PageAddress
from adapters.pagination import may_repeat_address
from adapters.probe import FirstPage, Probe
from runax_cli.executor.ledger import Ledger, key_of
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.page import Page, page_of, page_of_reading
from runax_cli.executor.snapshot import Snapshot
from runax_cli.executor.spool import PageEntry, Spool
from runax_cli.executor.stored import from_journal, to_journal
from runax_cli.executor.ways import other_ways
from runax_cli.memory.journal import EntryKind

Send: TypeAlias = Callable[[PageAddress | None], Awaitable[CallResult]]


class Pages:
    """Asks for pages. `pagination` changes where a guess proves wrong; `size` is kept over the whole walk.

    `from_store` counts pages that were not asked for, because the journal had them.
    """

    def __init__(
        self,
        call: DecidedCall,
        probe: Probe,
        *,
        send: Send,
        ledger: Ledger,
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

    async def seen_again(self, place: PageAddress) -> Page:
        """A page as it is now, whatever was read before; nothing of it is stored. Raises as `ask`."""
        return page_of(await self._send(place), self.pagination, records_path=self._path, size=self.size, asked=place)

    async def ask(self, place: PageAddress | None, *, is_first: bool = False) -> Page:
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

    async def given(self, first: FirstPage) -> Page:
        """The page that the probe brought; as it is stored, where it is."""
        key = self._key(first.address)
        if (page := await self._stored(key)) is not None:
            return page
        await self._ledger.started(key, EntryKind.PAGE)
        return self._with_ways(page_of_reading(first.reading, requests=0), first.result)

    async def done(self, place: PageAddress | None, page: Page, entry: PageEntry) -> None:
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

    async def _stored(self, key: str) -> Page | None:
        if self._call.tool.requires_fresh_input or may_repeat_address(self.pagination):
            # The same address of a scroll gives another page each time: what is stored is not what it would give.
            return None
        max_age_s = 0.0 if self._snapshot is None else self._snapshot.max_age_s
        payload = await self._ledger.found(key, max_age_s=max_age_s)
        return None if payload is None else await asyncio.to_thread(from_journal, payload)

    def _with_ways(self, page: Page, result: CallResult) -> Page:
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
