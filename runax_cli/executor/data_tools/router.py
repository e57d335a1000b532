"""Route the calls of one session: tools of sources to the executor, `*_dataset` tools to the stored datasets.

Datasets of calls to sources are registered here; `query_dataset`, `label_dataset` and `read_dataset` work over them.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from adapters.clock import Clock
from runax_cli.core.errors import StoreError
from runax_cli.core.results import Reason, ReasonCode
from runax_cli.executor.data_tools.base import DataCall, DataCallResult, data_call_coverage
from runax_cli.executor.data_tools.label_dataset import label_rows
from runax_cli.executor.data_tools.labeler import Labeler, LabelerPrompts
from runax_cli.executor.data_tools.query_dataset import run_query
from runax_cli.executor.data_tools.read_dataset import read_rows, read_stored_call
from runax_cli.executor.outcome import (
    CallExecutor,
    CallOutcome,
    CallScope,
    DecidedCall,
    FaultCode,
    ResultEnvelope,
    ToolFault,
)
from runax_cli.executor.reduce.pipeline import ReducerFactory
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.sql.columns import TableColumn, identifier
from runax_cli.executor.sql.tables import TableCatalog
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.executor.token_fitting import largest_fitting
from runax_cli.memory.journal import Journal
from runax_cli.models.tokens import CalibratedCounter

SOURCE = "datasets"
"""The source name of the tools that work over datasets."""
MAX_LISTED = 8
_COLUMNS_CHARS = 500
"""The columns of one dataset of an earlier turn are listed in at most so many characters."""
MAX_RESULT_BYTES = 5_000_000_000


class DataTool(StrEnum):
    """Tools over datasets; the locator of a tool whose source is SOURCE."""

    QUERY = "query"
    LABEL = "label"
    READ = "read"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelerDependencies:
    """The dependencies of a labeler, apart from the model of a turn."""

    counter: CalibratedCounter
    prompts: LabelerPrompts
    effective_tokens: int
    concurrency: int


class DatasetToolRouter:
    """Runs the calls of one session and keeps its datasets as tables."""

    def __init__(
        self,
        executor: CallExecutor,
        store: DatasetStore,
        journal: Journal,
        *,
        reducers: ReducerFactory,
        labels: LabelerDependencies,
        clock: Clock,
        max_result_bytes: int = MAX_RESULT_BYTES,
    ) -> None:
        """`store` holds the datasets; no file outside of its folder can be queried.

        `max_result_bytes` is the size of all SQL results that are stored.
        """
        self._executor, self._journal, self._reducers, self._labels = executor, journal, reducers, labels
        self._clock = clock
        self._columns: Mapping[str, str] = {}
        self._results = store.results(max_bytes=max_result_bytes)
        self.tables = TableCatalog(store.folder, reducers.counter)

    @property
    def listing(self) -> str:
        """The latest datasets and the calls they came from, on one line; "" if there is none.

        Those of earlier turns have their columns too: the results that showed them are gone.
        """
        latest = list(self.tables.entries.items())[-MAX_LISTED:]
        return "; ".join(
            f"{name} ({entry.coverage.records_read:,} of {entry.made_by}){self._columns.get(name, '')}"
            for name, entry in latest
        )

    async def start_turn(self) -> None:
        """List all datasets that exist now with their columns from here on."""
        found = await self.tables.columns(list(self.tables.entries)[-MAX_LISTED:])
        self._columns = {name: f" with columns {_column_list(columns)}" for name, columns in found.items()}

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """Run a call, of a source or over datasets. Only cancellation is raised."""
        if call.tool.source == SOURCE:
            return await self._guarded(call, scope, lambda data_call: self._run_data_tool(data_call, direct_limit))
        if call.stored_dataset is not None and call.stored_dataset in self.tables.entries:
            return await self._guarded(call, scope, lambda data_call: self._read_stored(data_call, direct_limit))
        outcome = await self._executor.execute(call, replace(scope, tables=self.tables), direct_limit=direct_limit)
        if outcome.dataset is not None:
            self.tables.register(outcome.dataset, outcome.coverage, made_by=call.summary)
        return outcome

    def close(self) -> None:
        """Close the SQL engine; stored results stay."""
        self.tables.close()
        self._results.close()

    async def _run_data_tool(self, data_call: DataCall, direct_limit: int) -> CallOutcome:
        tool = DataTool(data_call.call.tool.locator)
        match tool:
            case DataTool.QUERY:
                return await run_query(data_call, self.tables, self._results)
            case DataTool.LABEL:
                labeler = self._create_labeler(data_call.scope)
                return await label_rows(data_call, self.tables, labeler, self._results)
            case DataTool.READ:
                return await read_rows(data_call, self.tables, self._reducers, self._journal, direct_limit=direct_limit)
            case _:
                assert_never(tool)

    async def _read_stored(self, data_call: DataCall, direct_limit: int) -> CallOutcome:
        return await read_stored_call(data_call, self.tables, self._reducers, self._journal, direct_limit=direct_limit)

    async def _guarded(
        self, call: DecidedCall, scope: CallScope, run: Callable[[DataCall], Awaitable[CallOutcome]]
    ) -> CallOutcome:
        """Run a call over datasets; a StoreError becomes its outcome."""
        data_call = DataCall(call, scope, self._reducers.counter, self._clock, self._clock.monotonic())
        try:
            return await run(data_call)
        except StoreError as error:
            fault = ToolFault(type="store", code=FaultCode.INTERNAL, message=str(error))
            reason = Reason(code=ReasonCode.STORE_ERROR, text=str(error))
            coverage = data_call_coverage(is_complete=False, reasons=(reason,))
            envelope = ResultEnvelope.failed(call.tool.name, fault)
            return await data_call.finish(envelope, DataCallResult(coverage=coverage))

    def _create_labeler(self, scope: CallScope) -> Labeler:
        if scope.labeler is None:
            raise ValueError("this turn has no model for labels")
        return Labeler(
            scope.labeler,
            self._labels.counter,
            prompts=self._labels.prompts,
            cache=RunCache(self._journal, scope.emitter.child(role="labeller")),
            effective_tokens=self._labels.effective_tokens,
            concurrency=self._labels.concurrency,
        )


def _column_list(columns: Sequence[TableColumn]) -> str:
    """List columns with the outer part of their types; text columns without it."""
    kinds = [column.type.partition("(")[0] for column in columns]
    listed = [
        f"{identifier(column.name)}{'' if column.type == 'VARCHAR' else f' {kind}'}"
        for column, kind in zip(columns, kinds, strict=True)
    ]
    n_shown = largest_fitting(len(listed), lambda n: len(", ".join(listed[:n])) <= _COLUMNS_CHARS)
    return ", ".join(listed[:n_shown]) + (", …" if n_shown < len(listed) else "")
