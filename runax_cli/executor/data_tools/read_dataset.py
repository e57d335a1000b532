"""Reading again what is there already: rows of a sealed dataset for a focus, without asking the source.

What fits passes as it is, the rest is reduced; figures get the card of the table. Knows strategies, readings and
envelopes. Fetches nothing.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from adapters.json_text import compact
from runax_cli.core.errors import StoreError
from runax_cli.core.results import Coverage, Reason, TotalIs
from runax_cli.executor import responses as conclude
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.data_tools.base import DataCall, DataCallResult, data_call_coverage
from runax_cli.executor.outcome import CallOutcome, Finding, ResultEnvelope
from runax_cli.executor.reduce.pipeline import ReducerFactory
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.sql.engine import QueryFailed
from runax_cli.executor.sql.tables import SealedDataset, TableCatalog
from runax_cli.executor.store.dataset import Dataset
from runax_cli.executor.strategy import Strategy
from runax_cli.memory.journal import Journal

_BYTES_A_TOKEN = 16
"""No text has more bytes a token: what is larger need not be counted to be known as too large."""


async def read_rows(
    data_call: DataCall, tables: TableCatalog, reader: ReducerFactory, journal: Journal, *, direct_limit: int
) -> CallOutcome:
    """`read_dataset`: the rows that `where` selects."""
    arguments = data_call.arguments
    name, where = str(arguments["dataset"]), arguments.get("where")
    try:
        entry = tables.entry(name)
        rows = await tables.rows(name, where)
    except QueryFailed as error:
        return await data_call.refused(error)
    again = DatasetReader(data_call, entry, rows, str(arguments["focus"]), reader, journal)
    return await again.read(direct_limit=direct_limit)


async def read_stored_call(
    data_call: DataCall, tables: TableCatalog, reader: ReducerFactory, journal: Journal, *, direct_limit: int
) -> CallOutcome:
    """A call of a source's tool whose records are there: all of them, read or offered as a table as it needs."""
    entry = tables.entry(str(data_call.call.again))
    again = DatasetReader(
        data_call, entry, range(1, entry.dataset.n_records + 1), data_call.call.focus, reader, journal
    )
    if data_call.call.need == "compute":
        return await again.offered(await tables.card(entry.dataset.name))
    return await again.read(direct_limit=direct_limit)


class DatasetReader:
    """One reading of rows that are on disk."""

    def __init__(
        self,
        data_call: DataCall,
        entry: SealedDataset,
        rows: Sequence[int],
        focus: str,
        reader: ReducerFactory,
        journal: Journal,
    ) -> None:
        self._data_call, self._entry, self._rows, self._focus = data_call, entry, rows, focus
        self._reader, self._journal, self._notes = reader, journal, CoverageNotes()

    async def offered(self, card: str) -> CallOutcome:
        """The card of the table."""
        return await self._ended(Strategy.TABLE, card, read_by_model=0)

    async def read(self, *, direct_limit: int) -> CallOutcome:
        """As they are where they fit `direct_limit` tokens, else what a reducer finds in them."""
        if not self._rows:
            return await self._ended(Strategy.EMPTY, None, read_by_model=0)
        data = await asyncio.to_thread(self._direct, direct_limit)
        if data is not None:
            return await self._ended(Strategy.DIRECT_PASS, data, read_by_model=len(self._rows))
        scope, dataset = self._data_call.scope, self._entry.dataset
        reducer = await self._reader.reducer(self._focus, scope, RunCache(self._journal, scope.emitter))
        reading = self._reader.reading(dataset, reducer, scope=scope, notes=self._notes, expected_chunks=None)
        await reading.rows(self._rows)
        result = reading.result
        merged, kept_back = await self._reader.merged(reducer, result, scope=scope, direct_limit=direct_limit)
        way = Strategy.SINGLE_REDUCTION if result.chunks <= 1 else Strategy.PAGINATED_REDUCTION
        return await self._ended(
            way,
            conclude.findings_data(dataset.name, merged[: len(merged) - kept_back]),
            read_by_model=result.records,
            findings=merged,
            kept_back=kept_back,
            tokens_raw=result.tokens,
        )

    def _direct(self, direct_limit: int) -> dict[str, Any] | None:
        """All rows as they are; None where they are too much, or the disk does not give them."""
        try:
            return self._within(direct_limit)
        except StoreError:  # told where they are read
            return None

    def _within(self, direct_limit: int) -> dict[str, Any] | None:
        most_bytes, n_bytes = _BYTES_A_TOKEN * direct_limit, 0
        data: dict[str, Any] = {}
        for row, record in _records(self._entry.dataset, self._rows):
            data[f"{self._entry.dataset.name}#{row}"] = record
            n_bytes += len(compact(record))
            if n_bytes > most_bytes:
                return None
        return data if self._reader.counter.bound(compact(data)) <= direct_limit else None

    async def _ended(
        self,
        way: Strategy,
        data: Any,
        *,
        read_by_model: int,
        findings: tuple[Finding, ...] = (),
        kept_back: int = 0,
        tokens_raw: int = 0,
    ) -> CallOutcome:
        base, name = self._entry.coverage, self._entry.dataset.name
        seen = self._seen(base, way, read_by_model)
        sent = self._envelope(seen, way, data, kept_back)
        own = data_call_coverage(
            selected=seen.selected,
            read_by_model=read_by_model,
            reasons=self._notes.reasons,
            is_complete=not self._notes.is_short,
        )
        ends = DataCallResult(
            coverage=own,
            dataset=self._entry.dataset,
            name=name,
            records=len(self._rows),
            findings=findings,
            behind={name: base},
            tokens_raw=tokens_raw,
        )
        return await self._data_call.ended(sent, ends)

    def _seen(self, base: Coverage, way: Strategy, read_by_model: int) -> Coverage:
        """What the hint speaks of: the rows that were selected, and what the dataset lacks anyway."""
        reasons: tuple[Reason, ...] = (*base.reasons, *self._notes.reasons)
        return Coverage(
            records_read=len(self._rows),
            records_total=len(self._rows),
            total_is=TotalIs.EXACT if base.is_complete else TotalIs.AT_LEAST,
            selected=0 if way is Strategy.TABLE else len(self._rows),
            read_by_model=read_by_model,
            is_complete=base.is_complete and not self._notes.is_short,
            reasons=reasons,
        )

    def _envelope(self, seen: Coverage, way: Strategy, data: Any, kept_back: int) -> ResultEnvelope:
        call, name = self._data_call.call, self._entry.dataset.name
        of_rows = replace(call, tool=replace(call.tool, noun=name.rpartition("_")[0] or name))
        return conclude.build_envelope(of_rows, seen, way, dataset=name, data=data, kept_back=kept_back, can_query=True)


def _records(dataset: Dataset, rows: Sequence[int]) -> Iterator[tuple[int, Any]]:
    """Rows and their records; neighbours are read together."""
    for start, stop in row_ranges(rows):
        yield from enumerate(dataset.records(start, stop), start=start)


def row_ranges(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Ascending rows as ranges without gaps: first row, and the one after the last."""
    if not rows:
        return
    start = rows[0]
    for before, after in pairwise(rows):
        if after != before + 1:
            yield start, before + 1
            start = after
    yield start, rows[-1] + 1
