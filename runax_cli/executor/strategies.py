"""Read the records of a fetched call with the strategy that was chosen for it.

Each strategy is one function from a `FetchedCall` to a `ReadResult`; `STRATEGIES` maps the names to the functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from runax_cli.core.results import Coverage, ReasonCode
from runax_cli.executor.call_context import CallContext
from runax_cli.executor.coverage import fetch_coverage, note_discrepancies
from runax_cli.executor.fetch.fetcher import Fetcher
from runax_cli.executor.reduce.pipeline import ReducerFactory, ReductionPipeline
from runax_cli.executor.responses import ReadResult, findings_data
from runax_cli.executor.store.dataset import Dataset
from runax_cli.executor.strategy import ResultSize, Strategy, StrategyChoice, reduction_choice


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedCall:
    """A call whose records are all on disk.

    `pipeline` has seen them all while they arrived, unless the call computes figures; as long as they may be passed as
    they are, it only buffered them. `choice` is based on their exact size.
    """

    ctx: CallContext
    fetcher: Fetcher
    dataset: Dataset
    pipeline: ReductionPipeline
    reducers: ReducerFactory
    choice: StrategyChoice

    @property
    def size(self) -> ResultSize:
        """The counted size of all records."""
        return ResultSize(records=self.dataset.n_records, tokens=self.ctx.tokens_raw, is_estimate=False)

    def coverage(self, *, read_by_model: int) -> Coverage:
        """Compare what was read with what was announced. Call it once, after reading: it adds to the notes."""
        summary = self.fetcher.summary()
        note_discrepancies(summary, self.ctx.notes, noun=self.ctx.call.tool.noun)
        return fetch_coverage(summary, self.ctx.notes, read_by_model=read_by_model)


class ReadStrategy(Protocol):
    """Reads the records of a call."""

    async def __call__(self, fetched: FetchedCall) -> ReadResult:
        """Return what the main model sees of the records. Raises StoreError, BudgetExhausted."""


async def read_nothing(fetched: FetchedCall) -> ReadResult:
    """`empty`: the call returned no records."""
    fetched.ctx.emit_choice(fetched.choice)
    return ReadResult(strategy=Strategy.EMPTY, coverage=fetched.coverage(read_by_model=0))


async def pass_directly(fetched: FetchedCall) -> ReadResult:
    """`direct_pass`: the main model gets the records as they are.

    If their references make them too large after all, or the disk does not return them, another strategy is used.
    """
    data = await fetched.reducers.load_direct(fetched.dataset, direct_limit=fetched.ctx.direct_limit)
    if data is None:
        return await (offer_table(fetched) if fetched.ctx.computes else reduce_records(fetched))
    fetched.ctx.emit_choice(fetched.choice)
    return ReadResult(
        strategy=Strategy.DIRECT_PASS,
        coverage=fetched.coverage(read_by_model=fetched.dataset.n_records),
        dataset=fetched.dataset,
        data=data,
    )


async def reduce_records(fetched: FetchedCall) -> ReadResult:
    """`single_reduction`, `paginated_reduction`: reducers read the records, the main model gets their findings."""
    ctx, pipeline = fetched.ctx, fetched.pipeline
    if ctx.computes:
        await pipeline.reduce_rows(range(1, fetched.dataset.n_records + 1))
    else:
        await pipeline.flush()
    reduction = pipeline.result
    choice = reduction_choice(fetched.size, chunks=reduction.chunks)
    ctx.emit_choice(choice)
    if ctx.call.need == "compute":
        ctx.notes.note(ReasonCode.NOT_COMPUTED, "figures over the records were not computed")
    merged = await fetched.reducers.merge(ctx.reducer, reduction, scope=ctx.scope, direct_limit=ctx.direct_limit)
    return ReadResult(
        strategy=choice.strategy,
        coverage=fetched.coverage(read_by_model=reduction.records),
        dataset=fetched.dataset,
        data=findings_data(fetched.dataset.name, merged.shown),
        findings=merged.findings,
        kept_back=merged.kept_back,
    )


async def offer_table(fetched: FetchedCall) -> ReadResult:
    """`table`: the main model gets the table card with a few small records, and queries all of them with SQL.

    A dataset that could not be sealed is not a table; its records are reduced.
    """
    ctx, dataset, tables = fetched.ctx, fetched.dataset, fetched.ctx.scope.tables
    if tables is None or not dataset.is_sealed:
        return await reduce_records(fetched)
    ctx.emit_choice(StrategyChoice(Strategy.TABLE, fetched.choice.why))
    coverage = fetched.coverage(read_by_model=0).model_copy(update={"selected": 0})
    card = await tables.add_table(dataset, coverage, made_by=ctx.call.summary)
    return ReadResult(strategy=Strategy.TABLE, coverage=coverage, dataset=dataset, data=card)


STRATEGIES: Mapping[Strategy, ReadStrategy] = {
    Strategy.EMPTY: read_nothing,
    Strategy.DIRECT_PASS: pass_directly,
    Strategy.SINGLE_REDUCTION: reduce_records,
    Strategy.PAGINATED_REDUCTION: reduce_records,
    Strategy.TABLE: offer_table,
}
