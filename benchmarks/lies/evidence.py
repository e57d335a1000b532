"""Makes what an answer rests on: datasets from records, and results from real SQL over them."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.lies.cases import CallMade, Case
from runax_cli.agent.evidence.shown import ShownCall, ShownData, ShownDataset
from runax_cli.core.results import Coverage, Lineage, Reason, ReasonCode, TotalIs
from runax_cli.executor.data_tools.query_dataset import to_json_value
from runax_cli.executor.outcome import SqlEvidence
from runax_cli.executor.sql.engine import SqlEngine
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.store.dataset import Dataset, DatasetStore

RESULT_CHARS = 3200
"""About as much of a result as a model is shown."""


class EvidenceBuilder:
    """Builds what the model was shown in each case. Datasets of equal calls are made once."""

    def __init__(self, folder: Path, collections: Mapping[str, list[dict[str, Any]]]) -> None:
        self._folder, self._collections = folder, collections
        self._made: dict[str, tuple[SqlEngine, dict[str, Dataset]]] = {}

    def shown(self, case: Case) -> ShownData:
        """Everything that the model was shown before this answer."""
        engine, datasets = self._tables(case.calls)
        data = ShownData()
        for call, (name, dataset) in zip(case.calls, datasets.items(), strict=True):
            coverage = self._coverage(call, dataset)
            shown = ShownDataset(dataset, set(case.shown.get(name, ())), records_read=dataset.n_records)
            shown.exact_total = coverage.records_total
            shown.is_whole = coverage.is_complete and call.at_most is None
            data.datasets[name] = shown
            data.uncited_values += [coverage.records_total, dataset.n_records, dict(call.arguments)]
            data.arguments.append(dict(call.arguments))
            data.calls.append(_shown_call(call, dataset, coverage))
        partial = any(call.fetched is not None or call.at_most is not None for call in case.calls)
        for number, sql in enumerate(case.sql, 1):
            query = _evidence(engine, f"q{number}", sql, is_whole=not partial)
            data.queries[query.id] = query
            _show_rows(data, query)
        return data

    def _tables(self, calls: Sequence[CallMade]) -> tuple[SqlEngine, dict[str, Dataset]]:
        key = repr(calls)
        if key not in self._made:
            self._made[key] = self._make(calls, self._folder / str(len(self._made)))
        return self._made[key]

    def _make(self, calls: Sequence[CallMade], folder: Path) -> tuple[SqlEngine, dict[str, Dataset]]:
        store, engine = DatasetStore(folder), SqlEngine(folder)
        datasets: dict[str, Dataset] = {}
        numbers: Counter[str] = Counter()
        for call in calls:
            numbers[call.noun] += 1
            dataset = store.create(call.noun)
            dataset.add_page(0, self._records(call), position="all")
            if dataset.n_records:
                seal(dataset)
                engine.add_table(dataset.name, dataset.table_path)
            datasets[dataset.name] = dataset
        return engine, datasets

    def _matching(self, call: CallMade) -> list[dict[str, Any]]:
        wanted = call.arguments.items()
        return [
            one for one in self._collections[call.noun] if all(_same(one.get(name), value) for name, value in wanted)
        ]

    def _records(self, call: CallMade) -> list[dict[str, Any]]:
        most = min((n for n in (call.fetched, call.at_most) if n is not None), default=None)
        return self._matching(call)[:most]

    def _coverage(self, call: CallMade, dataset: Dataset) -> Coverage:
        total = len(self._matching(call))
        reason = Reason(code=ReasonCode.PAGE_FAILED, text="a page failed")
        is_complete = call.fetched is None or dataset.n_records == total
        return Coverage(
            records_read=dataset.n_records,
            records_total=total,
            total_is=TotalIs.EXACT,
            is_complete=is_complete,
            reasons=() if is_complete else (reason,),
        )


def _show_rows(data: ShownData, query: SqlEvidence) -> None:
    """Count records whose `row` a result has as shown."""
    if "row" in query.columns and query.datasets:
        at = query.columns.index("row")
        data.datasets[query.datasets[0]].rows.update(int(row[at]) for row in query.rows)


def _shown_call(call: CallMade, dataset: Dataset, coverage: Coverage) -> ShownCall:
    return ShownCall(
        tool=f"list_{call.noun}",
        arguments=dict(call.arguments),
        dataset=dataset.name if dataset.n_records else None,
        records_read=dataset.n_records,
        records_total=coverage.records_total,
        is_complete=coverage.is_complete and call.at_most is None,
    )


def _same(one: Any, other: Any) -> bool:
    return str(one).casefold() == str(other).casefold()


def _evidence(engine: SqlEngine, ref: str, sql: str, *, is_whole: bool) -> SqlEvidence:
    result = asyncio.run(_select(engine, sql))
    rows = [tuple(to_json_value(cell) for cell in row) for row in result.rows]
    size = 0
    shown = []
    for row in rows:
        size += sum(len(str(cell)) + 1 for cell in row)
        if size > RESULT_CHARS:
            break
        shown.append(row)
    return SqlEvidence(
        id=ref,
        sql=result.sql,
        columns=result.columns,
        rows=tuple(shown),
        n_rows=result.n_rows,
        datasets=result.tables,
        lineage=Lineage.EXACT if is_whole else Lineage.LOWER_BOUND,
        sources=result.sources,
        filters=result.filters,
        shape=result.shape,
    )


async def _select(engine: SqlEngine, sql: str) -> Any:
    return await asyncio.to_thread(engine.select, sql)
