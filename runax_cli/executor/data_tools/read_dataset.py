"""`read_dataset`: read rows of a sealed dataset for a focus, without a request to the source.

Rows that fit pass as they are, others are reduced; for figures the table card is shown. A repeated call of a source's
tool reads its stored dataset in the same way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runax_cli.core.results import Coverage, TotalIs
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.data_tools.base import DataCall, DataCallResult, data_call_coverage
from runax_cli.executor.outcome import CallOutcome
from runax_cli.executor.reduce.pipeline import ReducerFactory
from runax_cli.executor.responses import ReadResult, build_envelope, findings_data
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.sql.engine import QueryFailed
from runax_cli.executor.sql.tables import SealedDataset, TableCatalog
from runax_cli.executor.strategy import ResultSize, Strategy, reduction_choice
from runax_cli.memory.journal import Journal


async def read_rows(
    data_call: DataCall, tables: TableCatalog, reducers: ReducerFactory, journal: Journal, *, direct_limit: int
) -> CallOutcome:
    """Run `read_dataset` over the rows that `where` selects."""
    arguments = data_call.arguments
    name, where = str(arguments["dataset"]), arguments.get("where")
    try:
        entry = tables.entry(name)
        rows = await tables.rows(name, where)
    except QueryFailed as error:
        return await data_call.reject(error)
    reader = DatasetReader(data_call, entry, rows, focus=str(arguments["focus"]), reducers=reducers, journal=journal)
    return await reader.read(direct_limit=direct_limit)


async def read_stored_call(
    data_call: DataCall, tables: TableCatalog, reducers: ReducerFactory, journal: Journal, *, direct_limit: int
) -> CallOutcome:
    """Run a call of a source's tool whose records are stored: read all of them, or offer them as a table."""
    call, entry = data_call.call, tables.entry(str(data_call.call.stored_dataset))
    rows = range(1, entry.dataset.n_records + 1)
    reader = DatasetReader(data_call, entry, rows, focus=call.focus, reducers=reducers, journal=journal)
    if call.need == "compute":
        return await reader.offer_table(await tables.card(entry.dataset.name))
    return await reader.read(direct_limit=direct_limit)


class DatasetReader:
    """Reads rows of one sealed dataset."""

    def __init__(
        self,
        data_call: DataCall,
        entry: SealedDataset,
        rows: Sequence[int],
        *,
        focus: str,
        reducers: ReducerFactory,
        journal: Journal,
    ) -> None:
        self._data_call, self._entry, self._rows, self._focus = data_call, entry, rows, focus
        self._reducers, self._journal, self._notes = reducers, journal, CoverageNotes()

    async def offer_table(self, card: Mapping[str, Any]) -> CallOutcome:
        """Show the table card and the records beside it."""
        coverage = self._coverage(selected=0, read_by_model=0)
        return await self._finish(
            ReadResult(strategy=Strategy.TABLE, coverage=coverage, dataset=self._entry.dataset, data=card)
        )

    async def read(self, *, direct_limit: int) -> CallOutcome:
        """Pass the rows as they are if they fit `direct_limit` tokens, else reduce them."""
        dataset, n_rows = self._entry.dataset, len(self._rows)
        if not self._rows:
            coverage = self._coverage(selected=0, read_by_model=0)
            return await self._finish(ReadResult(strategy=Strategy.EMPTY, coverage=coverage, dataset=dataset))
        data = await self._reducers.load_direct(dataset, direct_limit=direct_limit, rows=self._rows)
        if data is None:
            return await self._reduce(direct_limit=direct_limit)
        coverage = self._coverage(selected=n_rows, read_by_model=n_rows)
        return await self._finish(
            ReadResult(strategy=Strategy.DIRECT_PASS, coverage=coverage, dataset=dataset, data=data)
        )

    async def _reduce(self, *, direct_limit: int) -> CallOutcome:
        scope, dataset = self._data_call.scope, self._entry.dataset
        reducer = await self._reducers.create_reducer(self._focus, scope, RunCache(self._journal, scope.emitter))
        pipeline = self._reducers.create_pipeline(
            dataset, reducer, scope=scope, notes=self._notes, expected_chunks=None
        )
        await pipeline.reduce_rows(self._rows)
        reduction = pipeline.result
        merged = await self._reducers.merge(reducer, reduction, scope=scope, direct_limit=direct_limit)
        size = ResultSize(records=len(self._rows), tokens=reduction.tokens, is_estimate=False)
        result = ReadResult(
            strategy=reduction_choice(size, chunks=reduction.chunks).strategy,
            coverage=self._coverage(selected=len(self._rows), read_by_model=reduction.records),
            dataset=dataset,
            data=findings_data(dataset.name, merged.shown),
            findings=merged.findings,
            kept_back=merged.kept_back,
        )
        return await self._finish(result, tokens_raw=reduction.tokens)

    def _coverage(self, *, selected: int, read_by_model: int) -> Coverage:
        """Return the coverage that the envelope shows: of the rows, and of records that the dataset lacks."""
        stored = self._entry.coverage
        return Coverage(
            records_read=len(self._rows),
            records_total=len(self._rows),
            total_is=TotalIs.EXACT if stored.is_complete else TotalIs.AT_LEAST,
            selected=selected,
            read_by_model=read_by_model,
            is_complete=stored.is_complete and not self._notes.is_incomplete,
            reasons=(*stored.reasons, *self._notes.reasons),
        )

    async def _finish(self, result: ReadResult, *, tokens_raw: int = 0) -> CallOutcome:
        call, dataset = self._data_call.call, self._entry.dataset
        noun = dataset.name.rpartition("_")[0] or dataset.name
        envelope = build_envelope(replace(call, tool=replace(call.tool, noun=noun)), result, can_query=True)
        own_coverage = data_call_coverage(
            selected=result.coverage.selected,
            read_by_model=result.coverage.read_by_model,
            reasons=self._notes.reasons,
            is_complete=not self._notes.is_incomplete,
        )
        return await self._data_call.finish(
            envelope,
            DataCallResult(
                coverage=own_coverage,
                dataset=dataset,
                name=dataset.name,
                records=len(self._rows),
                findings=result.findings,
                source_coverage={dataset.name: self._entry.coverage},
                tokens_raw=tokens_raw,
            ),
        )
