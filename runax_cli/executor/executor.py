"""One call end to end: probe, strategy, pages, dataset, reading, envelope.

Knows the order of the stages. Knows no wire, no wording of a prompt, and nothing of the conversation around it.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

from adapters.clock import Clock, SystemClock
from adapters.errors import SourceError
from adapters.pagination import Certainty
from adapters.pagination.probe.probe import ProbeMemory, ProbeMethod, ProbeResult, probe
from runax_cli.core.errors import BudgetExhausted, StoreError
from runax_cli.core.events import Warned
from runax_cli.core.results import Coverage, Reason, ReasonCode, TotalIs
from runax_cli.executor import responses as conclude
from runax_cli.executor.call_context import CallContext
from runax_cli.executor.coverage import CoverageNotes, compare, coverage_of
from runax_cli.executor.fetch.fetcher import Fetcher
from runax_cli.executor.fetch.pages import CachedProbeClient, same_size
from runax_cli.executor.fetch.snapshot import Reuse, snapshot_of
from runax_cli.executor.fetch.source_client import ConcurrencyLimiter, Deadline, FetchLimits, Source, SourceClient
from runax_cli.executor.outcome import (
    CallOutcome,
    CallScope,
    DecidedCall,
    FaultCode,
    Finding,
    Need,
    ResultEnvelope,
    ToolFault,
)
from runax_cli.executor.reduce.pipeline import ReducerFactory, ReductionPipeline
from runax_cli.executor.reduce.reducer import ReducerPrompts
from runax_cli.executor.responses import CallStatistics
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.store.dataset import Dataset, DatasetStore
from runax_cli.executor.strategy import (
    TOKENS_PER_BYTE,
    ResultSize,
    SizeEstimate,
    Strategy,
    StrategyChoice,
    choose,
    correct_estimate,
    forecast,
    page_size,
)
from runax_cli.memory.journal import Journal
from runax_cli.models.tokens import CalibratedCounter

__all__ = ["CallOutcome", "CallScope", "DecidedCall", "Executor", "Finding", "Need"]
_SAMPLED = 256


class Executor:
    """Runs calls over a catalog of sources. Limits of concurrency hold over all calls together."""

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
        reuse: Reuse | None = None,
        places: ConcurrencyLimiter | None = None,
        call_timeout_s: float | None = None,
    ) -> None:
        self._catalog, self._store, self._journal = catalog, store, journal
        self._counter, self._api_concurrency = counter, api_concurrency
        self._reader = ReducerFactory(
            counter, prompts=prompts, effective_tokens=effective_tokens, concurrency=reducer_concurrency
        )
        self._max_attempts, self._clock = max_attempts, clock or SystemClock()
        self._reuse = reuse or Reuse()
        self._places, self._call_timeout_s = places, call_timeout_s
        self._source_slots: dict[str, asyncio.Semaphore] = {}
        self._probes = ProbeMemory()

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """Run a call. Failures of source, model, budget and disk end up in the outcome.

        Cancellation passes, and pages are kept. `direct_limit`: tokens that may reach the main model as they are.
        """
        run = await self._begun(call, scope, direct_limit=direct_limit)
        try:
            found = await self._probed(run)
            if _is_surely_empty(found):
                return await self._nothing(run)
            return await self._with_records(run, found)
        except (SourceError, StoreError, BudgetExhausted) as error:
            return await self._failed(run, error)

    async def read_all(self, call: DecidedCall, scope: CallScope) -> CallOutcome:
        """Fetch every record into a dataset, without any model: the envelope has no data, the dataset has it all."""
        run = await self._begun(call, scope, direct_limit=0)
        try:
            found = await self._probed(run)
            if _is_surely_empty(found):
                return await self._nothing(run)
            fetch, dataset, _ = await self._first_page(run, found)
            await self._fetched_and_sealed(run, fetch, dataset)
        except (SourceError, StoreError, BudgetExhausted) as error:
            return await self._failed(run, error)
        return await self._concluded(run, fetch, dataset, Strategy.DIRECT_PASS, data=None, read_by_model=0)

    async def _begun(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallContext:
        slots = self._source_slots.setdefault(call.tool.source, asyncio.Semaphore(self._api_concurrency))
        ledger = RunCache(self._journal, scope.emitter)
        call = call.sent_once
        sender = SourceClient(
            self._catalog,
            call,
            scope=scope,
            slots=slots,
            max_attempts=self._max_attempts,
            places=self._places,
            deadline=Deadline.of(self._call_timeout_s, self._clock),
        )
        return CallContext(
            call=call,
            scope=scope,
            sender=sender,
            ledger=ledger,
            notes=CoverageNotes(),
            reducer=await self._reader.reducer(call.focus, scope, ledger),
            direct_limit=direct_limit,
            began=self._clock.monotonic(),
        )

    async def _probed(self, run: CallContext) -> ProbeResult:
        """The probe without the page it may have brought, which the call holds until it is on disk."""
        recalled = CachedProbeClient(run.sender, run.call, run.ledger, identity=self._identity(run))
        found = await probe(run.call.tool, recalled, memory=self._probes, given=run.call.arguments)
        found = found if run.call.is_repeatable else replace(found, pagination=run.call.tool.pagination)
        run.snapshot = snapshot_of(found, recalled.sight, source=run.call.tool.source, reuse=self._reuse)
        run.first = None if _is_too_small_to_begin_with(found) else found.first
        run.tell_probe(found, self._estimate(found))
        return replace(found, first=None)

    def _identity(self, run: CallContext) -> str:
        return self._reuse.identity(run.call.tool.source)

    def _estimate(self, found: ProbeResult) -> SizeEstimate:
        per_byte = TOKENS_PER_BYTE if self._counter.is_calibrated else 1.0
        return SizeEstimate(
            records=found.total,
            bytes_per_record=found.bytes_per_record,
            tokens_per_byte=per_byte,
            announced_tokens=found.tokens_estimation if self._counter.is_calibrated else None,
        )

    async def _first_page(self, run: CallContext, found: ProbeResult) -> tuple[Fetcher, Dataset, SizeEstimate]:
        """The first page on disk, and the estimate corrected by it. Both forecasts are told."""
        estimate = self._estimate(found)
        chunk_tokens = run.reducer.chunk_tokens
        wanted = page_size(found.pagination, estimate, chunk_tokens=chunk_tokens, at_most=run.call.at_most)
        identity = self._identity(run)
        size = await same_size(wanted, run.call, run.ledger, snapshot=run.snapshot, identity=identity)
        run.tell_forecast(estimate, size)
        dataset = await asyncio.to_thread(self._store.create, run.call.tool.noun)
        fetch = Fetcher(
            run.call,
            found,
            dataset,
            send=run.sender,
            emitter=run.scope.emitter,
            ledger=run.ledger,
            notes=run.notes,
            first=run.first,
            size=size,
            concurrency=self._api_concurrency,
            snapshot=run.snapshot,
            identity=identity,
            limits=None if self._call_timeout_s is None else FetchLimits(seconds=self._call_timeout_s),
            clock=self._clock,
        )
        run.first = None
        await fetch.first()
        better = await asyncio.to_thread(self._corrected, estimate, dataset)
        run.tell_forecast(better, size)
        return fetch, dataset, better

    def _corrected(self, estimate: SizeEstimate, dataset: Dataset) -> SizeEstimate:
        """Counted on the first page's records themselves, as they are sent; a huge page by its first records."""
        lines: list[bytes] = []
        with suppress(StoreError):  # told where they are read
            lines += dataset.lines(1, 1 + _SAMPLED)
        text = b"\n".join(lines).decode("utf-8", "replace")
        tokens = self._counter.bound(text) if lines else 0
        entry = dataset.spool.entries.get(0)
        better = correct_estimate(estimate, records=len(lines), n_bytes=len(text.encode()), tokens=tokens)
        if entry is not None and entry.records:
            better = replace(better, bytes_per_record=entry.n_bytes / entry.records)
        return better

    async def _with_records(self, run: CallContext, found: ProbeResult) -> CallOutcome:
        """Fetch, seal and read at once. What turns out to fit passes as it is; everything else is reduced."""
        run.tell_choice(self._readable(run, _size(self._estimate(found), run.call)))
        fetch, dataset, estimate = await self._first_page(run, found)
        run.tell_choice(self._readable(run, _size(estimate, run.call)))
        if run.computes:
            return await self._computed(run, fetch, dataset, estimate)
        reading = self._reading(run, dataset, estimate)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._fetched_and_sealed(run, fetch, dataset))
            group.create_task(reading.pages(fetch.in_order()))
        run.tokens_raw = reading.result.tokens
        data = await self._reader.whole(dataset, direct_limit=run.direct_limit) if reading.is_held else None
        if data is None:
            await reading.release()
            return await self._reduced(run, fetch, dataset, reading)
        size = ResultSize(records=dataset.n_records, tokens=run.tokens_raw, is_estimate=False)
        run.tell_choice(self._choice(run, size))
        return await self._concluded(
            run, fetch, dataset, Strategy.DIRECT_PASS, data=data, read_by_model=dataset.n_records
        )

    def _reading(self, run: CallContext, dataset: Dataset, estimate: SizeEstimate) -> ReductionPipeline:
        expected = forecast(estimate, chunk_tokens=run.reducer.chunk_tokens, page_size=None, at_most=run.call.at_most)

        def may_pass(records: int, tokens: int) -> bool:
            size = ResultSize(records=records, tokens=tokens, is_estimate=False)
            return self._choice(run, size).strategy in (Strategy.DIRECT_PASS, Strategy.EMPTY)

        return self._reader.reading(
            dataset, run.reducer, scope=run.scope, notes=run.notes, expected_chunks=expected.chunks, may_pass=may_pass
        )

    def _choice(self, run: CallContext, size: ResultSize) -> StrategyChoice:
        return choose(size, run.call.need, direct_limit=run.direct_limit, chunk_tokens=run.reducer.chunk_tokens)

    async def _computed(
        self, run: CallContext, fetch: Fetcher, dataset: Dataset, estimate: SizeEstimate
    ) -> CallOutcome:
        """Fetch and seal. Few records pass as they are, more are offered as a table; without one they are read."""
        await self._fetched_and_sealed(run, fetch, dataset)
        run.tokens_raw = round(dataset.spool.n_bytes * estimate.tokens_per_byte)
        choice = self._choice(run, ResultSize(records=dataset.n_records, tokens=run.tokens_raw, is_estimate=False))
        if choice.strategy is not Strategy.TABLE:
            data = await self._reader.whole(dataset, direct_limit=run.direct_limit)
            if data is not None:
                run.tell_choice(choice)
                read = dataset.n_records
                return await self._concluded(run, fetch, dataset, choice.strategy, data=data, read_by_model=read)
        if dataset.n_records and not dataset.is_sealed:
            reading = self._reading(run, dataset, estimate)
            await reading.rows(range(1, dataset.n_records + 1))
            return await self._reduced(run, fetch, dataset, reading)
        run.tell_choice(StrategyChoice(Strategy.TABLE, choice.why))
        return await self._concluded(run, fetch, dataset, Strategy.TABLE, data=None, read_by_model=0)

    async def _card(self, run: CallContext, dataset: Dataset, coverage: Coverage) -> str | None:
        """What the main model is told of a table; None where there is no record."""
        tables = run.scope.tables
        return await tables.add(dataset, coverage, made_by=run.call.words) if tables and dataset.n_records else None

    def _readable(self, run: CallContext, size: ResultSize) -> StrategyChoice:
        """The strategy by the table; where that computes and nothing can, the way to read instead."""
        choice = self._choice(run, size)
        if choice.strategy is not Strategy.TABLE or run.computes:
            return choice
        read = choose(size, "read", direct_limit=0, chunk_tokens=run.reducer.chunk_tokens)
        return StrategyChoice(read.strategy, f"{choice.why}; without an engine they are read")

    async def _reduced(
        self, run: CallContext, fetch: Fetcher, dataset: Dataset, reading: ReductionPipeline
    ) -> CallOutcome:
        result = reading.result
        size = ResultSize(records=dataset.n_records, tokens=run.tokens_raw, is_estimate=False)
        way = Strategy.SINGLE_REDUCTION if result.chunks == 1 else Strategy.PAGINATED_REDUCTION
        run.tell_choice(StrategyChoice(way, f"{size}: read in {result.chunks:,} chunks"))
        if run.call.need == "compute":
            run.notes.note(ReasonCode.NOT_COMPUTED, "figures over the records were not computed")
        findings, kept_back = await self._reader.merged(
            run.reducer, result, scope=run.scope, direct_limit=run.direct_limit
        )
        return await self._concluded(
            run,
            fetch,
            dataset,
            way,
            data=conclude.findings_data(dataset.name, findings[: len(findings) - kept_back]),
            read_by_model=result.records,
            findings=findings,
            kept_back=kept_back,
        )

    async def _fetched_and_sealed(self, run: CallContext, fetch: Fetcher, dataset: Dataset) -> None:
        """Sealing needs no model: it goes on beside the reducers. A failure is told, and costs no answer."""
        await fetch.rest()
        run.tell_taken_over(dataset.name, fetch.from_store)
        if not dataset.n_records:
            return
        began = self._clock.monotonic()
        try:
            sealed = await asyncio.to_thread(seal, dataset)
        except StoreError as error:
            run.notes.note(ReasonCode.STORE_ERROR, str(error))
            run.tell(Warned(code="not_sealed", text=str(error)))
            return
        run.tell_sealed(dataset.name, sealed, took_s=self._clock.monotonic() - began)

    async def _concluded(
        self,
        run: CallContext,
        fetch: Fetcher,
        dataset: Dataset,
        strategy: Strategy,
        *,
        data: Any,
        read_by_model: int,
        findings: tuple[Finding, ...] = (),
        kept_back: int = 0,
    ) -> CallOutcome:
        """The outcome of a call that reached its source."""
        fetched = fetch.fetched()
        compare(fetched, run.notes, noun=run.call.tool.noun)
        coverage = coverage_of(fetched, run.notes, read_by_model=read_by_model)
        if strategy is Strategy.TABLE:
            coverage = coverage.model_copy(update={"selected": 0})
            data = await self._card(run, dataset, coverage)
        kept = dataset if dataset.n_records else None
        way = strategy if kept else Strategy.EMPTY
        name = kept.name if kept else None
        sent = conclude.build_envelope(
            run.call,
            coverage,
            way,
            dataset=name,
            data=data if kept else None,
            kept_back=kept_back,
            can_query=run.scope.tables is not None and dataset.is_sealed,
        )
        return await self._finished(run, sent, coverage, way, dataset=kept, findings=findings)

    async def _nothing(self, run: CallContext) -> CallOutcome:
        """A page showed that there is no record."""
        run.tell_choice(StrategyChoice(Strategy.EMPTY, "the probe found no record"))
        coverage = Coverage(records_total=0, total_is=TotalIs.EXACT)
        sent = conclude.build_envelope(run.call, coverage, Strategy.EMPTY, dataset=None, data=None)
        return await self._finished(run, sent, coverage, Strategy.EMPTY, dataset=None)

    async def _failed(self, run: CallContext, error: SourceError | StoreError | BudgetExhausted) -> CallOutcome:
        """Nothing was read: an error, which is not the same as no data."""
        tool = run.call.tool.name
        match error:
            case SourceError():
                code, sent = (
                    ReasonCode.SOURCE_ERROR,
                    ResultEnvelope.failed(tool, conclude.tool_fault(error, retries_left=1)),
                )
            case StoreError():
                fault = ToolFault(type="store", code=FaultCode.INTERNAL, message=str(error))
                code, sent = ReasonCode.STORE_ERROR, ResultEnvelope.failed(tool, fault)
            case BudgetExhausted():
                code = ReasonCode.BUDGET
                sent = ResultEnvelope.budget_exhausted(tool, run.call.arguments, why=str(error))
        reasons = (*run.notes.reasons, Reason(code=code, text=str(error)))
        return await self._finished(run, sent, Coverage(is_complete=False, reasons=reasons), None, dataset=None)

    async def _finished(
        self,
        run: CallContext,
        sent: ResultEnvelope,
        coverage: Coverage,
        strategy: Strategy | None,
        *,
        dataset: Dataset | None,
        findings: tuple[Finding, ...] = (),
    ) -> CallOutcome:
        to_model = await asyncio.to_thread(self._counter.count, sent.to_model_text())
        run.tell_end(sent, coverage, tokens_to_model=to_model)
        figures = CallStatistics(
            requests=run.sender.requests,
            tokens_raw=run.tokens_raw,
            tokens_to_model=to_model,
            duration_s=self._clock.monotonic() - run.began,
        )
        told = conclude.build_report(run.call, sent, coverage, figures, strategy=strategy)
        return CallOutcome(envelope=sent, report=told, coverage=coverage, dataset=dataset, findings=findings)


def _is_surely_empty(found: ProbeResult) -> bool:
    """A page was seen and held nothing. Zero from a metadata flag alone is checked by a page."""
    return found.total == 0 and found.certainty is Certainty.EXACT and found.rung is not ProbeMethod.METADATA


def _is_too_small_to_begin_with(found: ProbeResult) -> bool:
    """The smallest page is full: if there is more than was announced, the whole walk would go in steps of its size."""
    first = found.first
    if first is None or first.size is None or found.rung is not ProbeMethod.SMALLEST_PAGE:
        return False
    return len(first.reading.records) >= first.size and first.reading.has_more is not False


def _size(estimate: SizeEstimate, call: DecidedCall) -> ResultSize:
    """What is wanted of what is thought to be there. A total of nothing is not believed before a page was seen."""
    per_record, records = estimate.tokens_per_record, estimate.records or None
    if records is not None and call.at_most is not None:
        records = min(records, call.at_most)
    tokens = None if per_record is None or records is None else int(per_record * records) + 1
    return ResultSize(records=records, tokens=tokens)
