"""Run one call end to end: probe, plan, fetch, read with the chosen strategy, finish."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace

from adapters.clock import Clock, SystemClock
from adapters.errors import SourceError
from adapters.pagination.probe.probe import ProbeMemory, ProbeResult, probe
from runax_cli.core.errors import BudgetExhausted, StoreError
from runax_cli.core.event_types import Warned
from runax_cli.core.results import Coverage, Reason, ReasonCode, TotalIs
from runax_cli.executor.call_context import CallContext
from runax_cli.executor.call_plan import (
    CallPlan,
    choose_strategy,
    counted_total,
    expected_size,
    is_full_smallest_page,
    is_surely_empty,
    plan_call,
)
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.fetch.call_limits import DEFAULT_CALL_TIMEOUT_S, Deadline
from runax_cli.executor.fetch.fetcher import Fetcher, FetchOptions
from runax_cli.executor.fetch.page_cache import CachedProbeClient
from runax_cli.executor.fetch.page_client import FetchContext, stored_page_size
from runax_cli.executor.fetch.snapshot import ReusePolicy, snapshot_of
from runax_cli.executor.fetch.source_client import ConcurrencyLimiter, Source, SourceClient
from runax_cli.executor.outcome import (
    CallOutcome,
    CallScope,
    DecidedCall,
    FaultCode,
    Finding,
    ResultEnvelope,
    ToolFault,
)
from runax_cli.executor.reduce.pipeline import ReducerFactory, ReductionPipeline
from runax_cli.executor.reduce.reducer import ReducerPrompts
from runax_cli.executor.responses import (
    CallStatistics,
    ReadResult,
    build_envelope,
    build_report,
    count_envelope,
    finished_events,
    tool_fault,
)
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.store.dataset import Dataset, DatasetStore
from runax_cli.executor.strategies import STRATEGIES, FetchedCall
from runax_cli.executor.strategy import (
    TOKENS_PER_BYTE,
    ResultSize,
    SizeEstimate,
    Strategy,
    StrategyChoice,
    correct_estimate,
    reduction_choice,
)
from runax_cli.memory.journal import Journal
from runax_cli.models.tokens import CalibratedCounter

_MEASURED_RECORDS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenFetch:
    """A fetch whose first page is on disk, and the plan that this page corrected."""

    fetcher: Fetcher
    dataset: Dataset
    plan: CallPlan


class Executor:
    """Runs calls of the tools of a catalog. Its concurrency limits hold over all calls together."""

    def __init__(
        self,
        catalog: Source,
        store: DatasetStore,
        journal: Journal,
        *,
        counter: CalibratedCounter,
        effective_tokens: int,
        prompts: ReducerPrompts,
        api_concurrency: int = 4,
        reducer_concurrency: int = 8,
        max_attempts: int = 3,
        clock: Clock | None = None,
        reuse: ReusePolicy | None = None,
        limiter: ConcurrencyLimiter | None = None,
        call_timeout_s: float | None = None,
    ) -> None:
        self._catalog, self._store, self._journal = catalog, store, journal
        self._counter, self._api_concurrency = counter, api_concurrency
        self._reducers = ReducerFactory(
            counter, prompts=prompts, effective_tokens=effective_tokens, concurrency=reducer_concurrency
        )
        self._max_attempts, self._clock = max_attempts, clock or SystemClock()
        self._reuse = reuse or ReusePolicy()
        self._limiter, self._call_timeout_s = limiter, call_timeout_s
        self._source_slots: dict[str, asyncio.Semaphore] = {}
        self._probes = ProbeMemory()

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """Run a call. Failures of source, model, budget and disk end up in the outcome.

        Only cancellation is raised; pages that are on disk stay there. `direct_limit`: tokens of records that may
        reach the main model as they are.
        """
        ctx = await self._start(call, scope, direct_limit=direct_limit)
        try:
            found = await self._probe(ctx)
            if (outcome := await self._answer_from_probe(ctx, found)) is not None:
                return outcome
            plan = self._plan(ctx, found, self._estimate(found))
            ctx.emit_choice(plan.choice)
            opened = await self._fetch_first(ctx, found, plan)
            ctx.emit_choice(opened.plan.choice)
            fetched = await self._fetch_all(ctx, opened)
            result = await STRATEGIES[fetched.choice.strategy](fetched)
            return await self._finish(ctx, result)
        except (SourceError, StoreError, BudgetExhausted) as error:
            return await self._fail(ctx, error)

    async def read_all(self, call: DecidedCall, scope: CallScope) -> CallOutcome:
        """Fetch all records into a dataset without any model. The envelope has no data."""
        ctx = await self._start(call, scope, direct_limit=0)
        try:
            found = await self._probe(ctx)
            if (outcome := await self._answer_from_probe(ctx, found)) is not None:
                return outcome
            opened = await self._fetch_first(ctx, found, self._plan(ctx, found, self._estimate(found)))
            await self._fetch_rest(ctx, opened)
        except (SourceError, StoreError, BudgetExhausted) as error:
            return await self._fail(ctx, error)
        fetched = self._fetched(ctx, opened, self._create_pipeline(ctx, opened))
        coverage = fetched.coverage(read_by_model=0)
        result = ReadResult(strategy=Strategy.DIRECT_PASS, coverage=coverage, dataset=opened.dataset)
        return await self._finish(ctx, result)

    async def _answer_from_probe(self, ctx: CallContext, found: ProbeResult) -> CallOutcome | None:
        """Finish a call that its probe already answers; None if records have to be fetched.

        If only the number of records is asked for and the source does not announce it reliably, all are fetched.
        """
        if is_surely_empty(found):
            return await self._finish(ctx, _no_records(ctx))
        if ctx.call.at_most != 0:
            return None
        n_first = 0 if ctx.first_page is None else len(ctx.first_page.reading.records)
        total = counted_total(found, n_first=n_first)
        if total is None:
            ctx.call = replace(ctx.call, at_most=None)
            return None
        dataset = await asyncio.to_thread(self._store.create, ctx.call.tool.noun)
        return await self._finish_counted(ctx, total, dataset)

    async def _finish_counted(self, ctx: CallContext, total: int, dataset: Dataset) -> CallOutcome:
        """Build the outcome of a call whose records were only counted. Its empty dataset is the name to cite."""
        noun = ctx.call.tool.noun
        text = f"{total:,} {noun} were counted by the source; none were read"
        coverage = Coverage(
            records_total=total,
            total_is=TotalIs.EXACT,
            reasons=(*ctx.notes.reasons, Reason(code=ReasonCode.COUNTED_ONLY, text=text)),
        )
        envelope = count_envelope(ctx.call, total=total, dataset=dataset.name)
        return await self._outcome(ctx, envelope, coverage, dataset=dataset)

    async def _start(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallContext:
        call = call.without_unsafe_paging
        cache = RunCache(self._journal, scope.emitter)
        deadline = Deadline(self._call_timeout_s or DEFAULT_CALL_TIMEOUT_S, self._clock)
        source = SourceClient(
            self._catalog,
            call,
            scope=scope,
            slots=self._source_slots.setdefault(call.tool.source, asyncio.Semaphore(self._api_concurrency)),
            max_attempts=self._max_attempts,
            limiter=self._limiter,
            deadline=None if self._call_timeout_s is None else deadline,
        )
        return CallContext(
            call=call,
            scope=scope,
            source=source,
            cache=cache,
            notes=CoverageNotes(),
            reducer=await self._reducers.create_reducer(call.focus, scope, cache),
            direct_limit=direct_limit,
            deadline=deadline,
            started_s=self._clock.monotonic(),
        )

    async def _probe(self, ctx: CallContext) -> ProbeResult:
        """Probe the source. The page that the probe may have fetched is kept in the context until it is on disk."""
        cached = CachedProbeClient(ctx.source, ctx.call, ctx.cache, identity=self._identity(ctx))
        found = await probe(ctx.call.tool, cached, memory=self._probes, given=ctx.call.arguments)
        found = found if ctx.call.is_repeatable else replace(found, pagination=ctx.call.tool.pagination)
        ctx.snapshot = snapshot_of(found, cached.version, source=ctx.call.tool.source, reuse=self._reuse)
        ctx.first_page = None if is_full_smallest_page(found) else found.first
        ctx.emit_probe(found, self._estimate(found))
        return replace(found, first=None)

    def _identity(self, ctx: CallContext) -> str:
        return self._reuse.identity(ctx.call.tool.source)

    def _estimate(self, found: ProbeResult) -> SizeEstimate:
        is_calibrated = self._counter.is_calibrated
        return SizeEstimate(
            records=found.total,
            bytes_per_record=found.bytes_per_record,
            tokens_per_byte=TOKENS_PER_BYTE if is_calibrated else 1.0,
            announced_tokens=found.tokens_estimation if is_calibrated else None,
        )

    def _plan(self, ctx: CallContext, found: ProbeResult, estimate: SizeEstimate) -> CallPlan:
        size = expected_size(estimate, at_most=ctx.call.at_most)
        return plan_call(ctx.call, found.pagination, size=size, estimate=estimate, limits=ctx.limits)

    async def _fetch_first(self, ctx: CallContext, found: ProbeResult, plan: CallPlan) -> _OpenFetch:
        """Fetch the first page, and correct the plan by it. Pages that are stored keep their size."""
        context = self._fetch_context(ctx)
        size = await stored_page_size(plan.page_size, context)
        plan = replace(plan, page_size=size)
        ctx.emit_chunking(plan)
        dataset = await asyncio.to_thread(self._store.create, ctx.call.tool.noun)
        options = FetchOptions(page_size=size, concurrency=self._api_concurrency, deadline=ctx.deadline)
        fetcher = Fetcher(context, found, dataset, options, first_page=ctx.first_page)
        ctx.first_page = None
        await fetcher.fetch_first()
        estimate = await asyncio.to_thread(self._measure_first_page, plan.estimate, dataset)
        plan = replace(self._plan(ctx, found, estimate), page_size=size)
        ctx.emit_chunking(plan)
        return _OpenFetch(fetcher=fetcher, dataset=dataset, plan=plan)

    def _fetch_context(self, ctx: CallContext) -> FetchContext:
        return FetchContext(
            call=ctx.call,
            send=ctx.source,
            emitter=ctx.scope.emitter,
            cache=ctx.cache,
            notes=ctx.notes,
            snapshot=ctx.snapshot,
            identity=self._identity(ctx),
        )

    def _measure_first_page(self, estimate: SizeEstimate, dataset: Dataset) -> SizeEstimate:
        """Correct an estimate by the records of the first page; of a huge page only the first records are counted."""
        lines: list[bytes] = []
        with suppress(StoreError):  # reported when the records are read
            lines += dataset.lines(1, 1 + _MEASURED_RECORDS)
        text = b"\n".join(lines).decode("utf-8", "replace")
        tokens = self._counter.bound(text) if lines else 0
        entry = dataset.spool.entries.get(0)
        better = correct_estimate(estimate, records=len(lines), n_bytes=len(text.encode()), tokens=tokens)
        if entry is not None and entry.records:
            better = replace(better, bytes_per_record=entry.n_bytes / entry.records)
        return better

    async def _fetch_all(self, ctx: CallContext, opened: _OpenFetch) -> FetchedCall:
        """Fetch and seal the rest. Pages go to the reducers as they arrive, unless figures are to be computed."""
        pipeline = self._create_pipeline(ctx, opened)
        if ctx.computes:
            await self._fetch_rest(ctx, opened)
            ctx.tokens_raw = round(opened.dataset.spool.n_bytes * opened.plan.estimate.tokens_per_byte)
        else:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._fetch_rest(ctx, opened))
                group.create_task(pipeline.reduce_pages(opened.fetcher.in_order()))
            ctx.tokens_raw = pipeline.result.tokens
        return self._fetched(ctx, opened, pipeline)

    def _fetched(self, ctx: CallContext, opened: _OpenFetch, pipeline: ReductionPipeline) -> FetchedCall:
        size = ResultSize(records=opened.dataset.n_records, tokens=ctx.tokens_raw, is_estimate=False)
        is_undecided = ctx.computes or pipeline.is_buffering
        return FetchedCall(
            ctx=ctx,
            fetcher=opened.fetcher,
            dataset=opened.dataset,
            pipeline=pipeline,
            reducers=self._reducers,
            choice=choose_strategy(ctx.call, size, ctx.limits)
            if is_undecided
            else reduction_choice(size, chunks=pipeline.result.chunks),
        )

    def _create_pipeline(self, ctx: CallContext, opened: _OpenFetch) -> ReductionPipeline:
        def may_pass(records: int, tokens: int) -> bool:
            size = ResultSize(records=records, tokens=tokens, is_estimate=False)
            return choose_strategy(ctx.call, size, ctx.limits).strategy in (Strategy.DIRECT_PASS, Strategy.EMPTY)

        return self._reducers.create_pipeline(
            opened.dataset,
            ctx.reducer,
            scope=ctx.scope,
            notes=ctx.notes,
            expected_chunks=opened.plan.forecast.chunks,
            may_pass=may_pass,
        )

    async def _fetch_rest(self, ctx: CallContext, opened: _OpenFetch) -> None:
        """Fetch the other pages and seal the dataset. Sealing needs no model, so it may run while records are reduced.

        If sealing fails, a warning says so and the records are still read.
        """
        dataset = opened.dataset
        await opened.fetcher.fetch_rest()
        ctx.emit_reused_pages(dataset.name, opened.fetcher.n_cached_pages)
        if not dataset.n_records:
            return
        started_s = self._clock.monotonic()
        try:
            sealed = await asyncio.to_thread(seal, dataset)
        except StoreError as error:
            ctx.notes.note(ReasonCode.STORE_ERROR, str(error))
            ctx.emit(Warned(code="not_sealed", text=str(error)))
            return
        ctx.emit_sealed(dataset.name, sealed, duration_s=self._clock.monotonic() - started_s)

    async def _finish(self, ctx: CallContext, result: ReadResult) -> CallOutcome:
        """Build the outcome of a call that reached its source."""
        if result.dataset is None or not result.dataset.n_records:
            result = replace(result, strategy=Strategy.EMPTY, dataset=None, data=None)
        can_query = ctx.scope.tables is not None and result.dataset is not None and result.dataset.is_sealed
        envelope = build_envelope(ctx.call, result, can_query=can_query)
        return await self._outcome(ctx, envelope, result.coverage, dataset=result.dataset, findings=result.findings)

    async def _fail(self, ctx: CallContext, error: SourceError | StoreError | BudgetExhausted) -> CallOutcome:
        """Build the outcome of a call that failed. A failure is not the same as an empty result."""
        tool = ctx.call.tool.name
        match error:
            case SourceError():
                code = ReasonCode.SOURCE_ERROR
                envelope = ResultEnvelope.failed(tool, tool_fault(error, retries_left=1))
            case StoreError():
                code = ReasonCode.STORE_ERROR
                fault = ToolFault(type="store", code=FaultCode.INTERNAL, message=str(error))
                envelope = ResultEnvelope.failed(tool, fault)
            case BudgetExhausted():
                code = ReasonCode.BUDGET
                envelope = ResultEnvelope.budget_exhausted(tool, ctx.call.arguments, why=str(error))
        reasons = (*ctx.notes.reasons, Reason(code=code, text=str(error)))
        return await self._outcome(ctx, envelope, Coverage(is_complete=False, reasons=reasons))

    async def _outcome(
        self,
        ctx: CallContext,
        envelope: ResultEnvelope,
        coverage: Coverage,
        *,
        dataset: Dataset | None = None,
        findings: tuple[Finding, ...] = (),
    ) -> CallOutcome:
        statistics = CallStatistics(
            records_read=coverage.records_read,
            records_total=coverage.records_total,
            pages=coverage.pages_read,
            requests=ctx.source.requests,
            tokens_raw=ctx.tokens_raw,
            tokens_to_model=await asyncio.to_thread(self._counter.count, envelope.to_model_text()),
            duration_s=self._clock.monotonic() - ctx.started_s,
        )
        report = build_report(ctx.call.request, envelope, statistics)
        for event in finished_events(report, envelope, coverage):
            ctx.emit(event)
        return CallOutcome(envelope=envelope, report=report, coverage=coverage, dataset=dataset, findings=findings)


def _no_records(ctx: CallContext) -> ReadResult:
    """Return the result of a call whose probe fetched a page without records."""
    ctx.emit_choice(StrategyChoice(Strategy.EMPTY, "the probe found no records"))
    return ReadResult(strategy=Strategy.EMPTY, coverage=Coverage(records_total=0, total_is=TotalIs.EXACT))
