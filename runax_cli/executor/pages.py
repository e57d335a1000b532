"""Pages of one call, asked for one by one: from the journal where this run has them already, else from the source.

Knows the call, its way of paging and its keys in the journal. Knows no walk: which page, and what becomes of it, is for
others to say.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from adapters.base import CallResult, Json, PageAddress
from adapters.probe import FirstPage, Probe
from runax_cli.executor.ledger import Ledger, key_of
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.page import Page, from_journal, page_of, page_of_reading, to_journal
from runax_cli.executor.spool import PageEntry, Spool
from runax_cli.executor.ways import other_ways
from runax_cli.memory.journal import EntryKind

Send: TypeAlias = Callable[[PageAddress | None], Awaitable[CallResult]]


class Pages:
    """Asks for pages. `pagination` changes where a guess proves wrong; `size` is kept over the whole walk."""

    def __init__(
        self, call: DecidedCall, probe: Probe, *, send: Send, ledger: Ledger, spool: Spool, size: int | None
    ) -> None:
        self.pagination, self.size = probe.pagination, size
        self._call, self._send, self._ledger, self._spool = call, send, ledger, spool
        self._path = probe.records_path

    async def ask(self, place: PageAddress | None, *, is_first: bool = False) -> Page:
        """One page. Raises SourceError and BudgetExhausted."""
        key = self._key(place)
        payload = None if self._call.tool.requires_fresh_input else await self._ledger.found(key)
        if payload is not None and (page := await asyncio.to_thread(from_journal, payload)) is not None:
            return page
        await self._ledger.started(key, EntryKind.PAGE)
        result = await self._send(place)
        page = page_of(result, self.pagination, records_path=self._path, size=self.size, asked=place)
        return self._with_ways(page, result) if is_first else page

    async def given(self, first: FirstPage) -> Page:
        """The page that the probe brought."""
        await self._ledger.started(self._key(first.address), EntryKind.PAGE)
        return self._with_ways(page_of_reading(first.reading, requests=0), first.result)

    async def done(self, place: PageAddress | None, page: Page, entry: PageEntry) -> None:
        """Write into the journal that a page is on disk."""
        await self._ledger.done(self._key(place), to_journal(page, entry, self._spool.path))

    def _with_ways(self, page: Page, result: CallResult) -> Page:
        page.ways = other_ways(result, self.pagination, records_path=self._path, size=self.size)
        return page

    def _key(self, place: PageAddress | None) -> str:
        """Of one run's one call: what another run saw of the data may be out of date."""
        call = self._call
        return key_of("page", self._ledger.run_id, call.call_id, call.tool.source, call.tool.name, call.arguments,
                      where_of(place))  # fmt: skip


def where_of(place: PageAddress | None) -> Json:
    """Everything that tells a page's address from another's, as a value."""
    if place is None:
        return None
    where: list[Json] = [place.url, dict(place.arguments)]
    return [*where, dict(place.headers), place.operation] if place.headers or place.operation else where
