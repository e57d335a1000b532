"""The workbench of one session: calls of sources leave tables on it, and three tools work over these.

Stands in front of the executor. A call of a source's tool runs there, and its dataset is kept here; a call of one of
the three tools runs over what is kept. Knows which call goes where. Knows no wire and no conversation.
"""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Protocol, assert_never

from adapters.clock import Clock
from runax_cli.core.errors import StoreError
from runax_cli.core.results import Reason, ReasonCode
from runax_cli.executor.data_tools.base import DataCall, DataCallResult, data_call_coverage
from runax_cli.executor.data_tools.label_dataset import label_rows
from runax_cli.executor.data_tools.labeler import Labeler, LabelerPrompts
from runax_cli.executor.data_tools.query_dataset import run_query
from runax_cli.executor.data_tools.read_dataset import read_rows, read_stored_call
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall, FaultCode, ResultEnvelope, ToolFault
from runax_cli.executor.reduce.pipeline import ReducerFactory
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.sql.tables import TableCatalog
from runax_cli.memory.journal import Journal
from runax_cli.models.tokens import CalibratedCounter

SOURCE = "datasets"
"""The source of the tools that work over datasets, as a call names it."""
MAX_LISTED = 8


class DataTool(StrEnum):
    """What can be done with datasets; the locator of a tool whose source is SOURCE."""

    QUERY = "query"
    LABEL = "label"
    READ = "read"


class RunsCalls(Protocol):
    """Runs calls of sources."""

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """The outcome of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelerDependencies:
    """What a labeller is made of, beside the model of a turn."""

    counter: CalibratedCounter
    prompts: LabelerPrompts
    effective_tokens: int
    concurrency: int


class DatasetToolRouter:
    """Calls and datasets of one session."""

    def __init__(
        self,
        executor: RunsCalls,
        folder: Path,
        journal: Journal,
        *,
        reader: ReducerFactory,
        labels: LabelerDependencies,
        clock: Clock,
    ) -> None:
        """`folder` is that of the datasets; nothing outside of it can be queried."""
        self._executor, self._journal, self._reader, self._labels = executor, journal, reader, labels
        self._clock = clock
        self._numbers = itertools.count(1)
        self.tables = TableCatalog(folder, reader.counter)

    @property
    def listing(self) -> str:
        """The latest datasets with the calls they came from, in one line; "" while there is none."""
        latest = list(self.tables.entries.items())[-MAX_LISTED:]
        return "; ".join(f"{name} ({entry.coverage.records_read:,} of {entry.made_by})" for name, entry in latest)

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """Run a call, of a source or over datasets. Raises nothing but cancellation."""
        if call.tool.source == SOURCE:
            return await self._guarded(call, scope, lambda begun: self._over_data(begun, direct_limit))
        if call.again is not None and call.again in self.tables.entries:
            return await self._guarded(call, scope, lambda begun: self._again(begun, direct_limit))
        outcome = await self._executor.execute(call, replace(scope, tables=self.tables), direct_limit=direct_limit)
        if outcome.dataset is not None:
            self.tables.register(outcome.dataset, outcome.coverage, made_by=call.words)
        return outcome

    def close(self) -> None:
        """Close the engine."""
        self.tables.close()

    async def _over_data(self, begun: DataCall, direct_limit: int) -> CallOutcome:
        tool = DataTool(begun.call.tool.locator)
        match tool:
            case DataTool.QUERY:
                return await run_query(begun, self.tables, new_ref=self._ref)
            case DataTool.LABEL:
                return await label_rows(begun, self.tables, self._labeller(begun.scope), new_ref=self._ref)
            case DataTool.READ:
                return await read_rows(begun, self.tables, self._reader, self._journal, direct_limit=direct_limit)
            case _:
                assert_never(tool)

    async def _again(self, begun: DataCall, direct_limit: int) -> CallOutcome:
        return await read_stored_call(begun, self.tables, self._reader, self._journal, direct_limit=direct_limit)

    async def _guarded(
        self, call: DecidedCall, scope: CallScope, run: Callable[[DataCall], Awaitable[CallOutcome]]
    ) -> CallOutcome:
        """A disk that takes nothing is an error of the call."""
        begun = DataCall(call, scope, self._reader.counter, self._clock, self._clock.monotonic())
        try:
            return await run(begun)
        except StoreError as error:
            fault = ToolFault(type="store", code=FaultCode.INTERNAL, message=str(error))
            reason = Reason(code=ReasonCode.STORE_ERROR, text=str(error))
            coverage = data_call_coverage(is_complete=False, reasons=(reason,))
            return await begun.ended(ResultEnvelope.failed(call.tool.name, fault), DataCallResult(coverage=coverage))

    def _labeller(self, scope: CallScope) -> Labeler:
        if scope.labeller is None:
            raise ValueError("this turn has no model for labels")
        told = replace(scope, emitter=scope.emitter.child(role="labeller"))
        return Labeler(
            scope.labeller,
            self._labels.counter,
            prompts=self._labels.prompts,
            ledger=RunCache(self._journal, told.emitter),
            effective_tokens=self._labels.effective_tokens,
            concurrency=self._labels.concurrency,
        )

    def _ref(self) -> str:
        return f"q{next(self._numbers)}"
