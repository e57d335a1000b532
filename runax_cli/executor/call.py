"""One call end to end: probe, strategy, pages, dataset, reading, envelope.

Knows the order of the stages. Knows no wire, no wording of a prompt, and nothing of the conversation around it.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from adapters.clock import Clock, SystemClock
from adapters.errors import SourceError
from adapters.pagination import Certainty
from adapters.probe import Probe, probe
from runax_cli.errors import BudgetExhausted, StoreError
from runax_cli.events import (
    CallFinished,
    CallProbed,
    ChunkingPlanned,
    DatasetSealed,
    FindingsMerged,
    PagingDetected,
    StrategyChosen,
    StructureSeen,
    TokensChanged,
    Warned,
)
from runax_cli.executor import conclude
from runax_cli.executor.compact import compact
from runax_cli.executor.conclude import Figures
from runax_cli.executor.coverage import Notes, compare, coverage_of
from runax_cli.executor.dataset import Dataset, DatasetStore
from runax_cli.executor.envelope import Envelope, ToolFault
from runax_cli.executor.fetch import Fetch
from runax_cli.executor.ledger import Ledger
from runax_cli.executor.merge import deduplicated
from runax_cli.executor.outcome import CallOutcome, DecidedCall, Finding, Need, Scope
from runax_cli.executor.reading import Reading
from runax_cli.executor.reduce import Reducer, ReducerPrompts
from runax_cli.executor.seal import seal
from runax_cli.executor.sender import Sender, Source
from runax_cli.executor.sizing import TOKENS_PER_BYTE, Estimate, corrected, forecast, page_size
from runax_cli.executor.strategy import Choice, Size, Strategy, choose
from runax_cli.executor.structure import structure_of
from runax_cli.memory.journal import Journal
from runax_cli.models.tokens import CalibratedCounter
from runax_cli.results import Coverage, Reason, ReasonCode, TotalIs

__all__ = ["CallOutcome", "DecidedCall", "Executor", "Finding", "Need", "Scope"]

MERGE_SHARE = 4
_PREVIEW_CHARS = 2000
_SAMPLED = 256


@dataclass(slots=True)
class _Run:
    """One call under way."""

    call: DecidedCall
    scope: Scope
    sender: Sender
    ledger: Ledger
    notes: Notes
    reducer: Reducer
    direct_limit: int
    began: float
    tokens_raw: int = 0

    def emit(self, body: Any) -> None:
        self.scope.emitter.emit(body)


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
        reducer_model_name: str = "",
        api_concurrency: int = 4,
        reducer_concurrency: int = 8,
        max_attempts: int = 3,
        clock: Clock | None = None,
    ) -> None:
        self._catalog, self._store, self._journal = catalog, store, journal
        self._counter, self._effective, self._prompts = counter, effective_tokens, prompts
        self._reducer_model_name = reducer_model_name
        self._api_concurrency, self._reducer_concurrency = api_concurrency, reducer_concurrency
        self._max_attempts = max_attempts
        self._clock = clock or SystemClock()
        self._source_slots: dict[str, asyncio.Semaphore] = {}

    async def execute(self, call: DecidedCall, scope: Scope, *, direct_limit: int) -> CallOutcome:
        """Run a call. Failures of source and model end up in the outcome; cancellation passes, and pages are kept."""
        run = await self._begun(call, scope, direct_limit=direct_limit)
        try:
            found = await self._probed(run)
            if found.total == 0 and found.certainty is Certainty.EXACT:
                return await self._empty(run)
            return await self._with_records(run, found)
        except SourceError as error:
            return await self._failed(run, conclude.fault_of(error, retries_left=1), str(error))
        except BudgetExhausted as error:
            return await self._out_of_budget(run, error)

    async def read_all(self, call: DecidedCall, scope: Scope) -> CallOutcome:
        """Fetch every record into a dataset, without any model: the envelope has no data, the dataset has it all."""
        run = await self._begun(call, scope, direct_limit=0)
        try:
            found = await self._probed(run)
            if found.total == 0 and found.certainty is Certainty.EXACT:
                return await self._empty(run)
            fetch, dataset, _ = await self._first_page(run, found)
            await fetch.rest()
        except SourceError as error:
            return await self._failed(run, conclude.fault_of(error, retries_left=1), str(error))
        except BudgetExhausted as error:
            return await self._out_of_budget(run, error)
        return await self._concluded(run, fetch, dataset, Strategy.DIRECT_PASS, data=None, read_by_model=0)

    async def _begun(self, call: DecidedCall, scope: Scope, *, direct_limit: int) -> _Run:
        slots = self._source_slots.setdefault(call.tool.source, asyncio.Semaphore(self._api_concurrency))
        ledger = Ledger(self._journal, scope.emitter)
        sender = Sender(self._catalog, call, scope=scope, slots=slots, max_attempts=self._max_attempts)
        reducer = await asyncio.to_thread(self._reducer, call, scope, ledger)
        began = self._clock.monotonic()
        return _Run(call, scope, sender, ledger, Notes(), reducer, direct_limit, began)

    def _reducer(self, call: DecidedCall, scope: Scope, ledger: Ledger) -> Reducer:
        """Built off the event loop: it measures its prompt, and the first measurement loads the vocabulary."""
        reading = replace(scope, emitter=scope.emitter.child(role="reducer"))
        return Reducer(
            reading.reducer,
            self._counter,
            prompts=self._prompts,
            focus=call.focus,
            effective_tokens=self._effective,
            ledger=ledger,
        )

    async def _probed(self, run: _Run) -> Probe:
        tool = run.call.tool
        found = await probe(tool, run.sender)
        paging = found.pagination
        run.emit(
            PagingDetected(
                tool=tool.name,
                convention=paging.convention.value,
                hidden=paging.hidden,
                has_metadata=paging.metadata is not None,
            )
        )
        for note in found.notes:
            run.emit(Warned(code="probe", text=f"{tool.name}: {note}"))
        estimate = self._estimate(found)
        run.emit(
            CallProbed(
                tool=tool.name,
                total_items=found.total,
                total_is=TotalIs(found.certainty.value),
                total_tokens_est=estimate.tokens,
                rung=found.rung.value,
                records_path=found.records_path,
            )
        )
        if found.sample:
            run.emit(StructureSeen(tool=tool.name, text=structure_of(found.sample[0])))
        return found

    def _estimate(self, found: Probe) -> Estimate:
        per_byte = TOKENS_PER_BYTE if self._counter.is_calibrated else 1.0
        return Estimate(
            records=found.total,
            bytes_per_record=found.bytes_per_record,
            tokens_per_byte=per_byte,
            announced_tokens=found.tokens_estimation if self._counter.is_calibrated else None,
        )

    async def _first_page(self, run: _Run, found: Probe) -> tuple[Fetch, Dataset, Estimate]:
        """The first page on disk, and the estimate corrected by it. Both forecasts are told."""
        estimate = self._estimate(found)
        chunk_tokens = run.reducer.chunk_tokens
        size = page_size(found.pagination, estimate, chunk_tokens=chunk_tokens, at_most=run.call.at_most)
        self._tell_forecast(run, estimate, size, is_corrected=False)
        dataset = await asyncio.to_thread(self._store.create, run.call.tool.noun)
        fetch = Fetch(
            run.call,
            found,
            dataset,
            send=run.sender,
            emitter=run.scope.emitter,
            ledger=run.ledger,
            notes=run.notes,
            size=size,
            concurrency=self._api_concurrency,
        )
        await fetch.first()
        better = await asyncio.to_thread(self._corrected, estimate, dataset)
        self._tell_forecast(run, better, size, is_corrected=True)
        return fetch, dataset, better

    def _corrected(self, estimate: Estimate, dataset: Dataset) -> Estimate:
        """Counted on the first page's records themselves, as they are sent; a huge page by its first records."""
        lines = list(dataset.lines(1, 1 + _SAMPLED))
        text = b"\n".join(lines).decode("utf-8", "replace")
        tokens = self._counter.bound(text) if lines else 0
        entry = dataset.spool.entries.get(0)
        better = corrected(estimate, records=len(lines), n_bytes=len(text.encode()), tokens=tokens)
        if entry is not None and entry.records:
            better = replace(better, bytes_per_record=entry.n_bytes / entry.records)
        return better

    async def _with_records(self, run: _Run, found: Probe) -> CallOutcome:
        fetch, dataset, estimate = await self._first_page(run, found)
        is_whole = self._is_whole(run.call, found, dataset)
        records = dataset.n_records if is_whole else found.total
        choice = self._chosen(run, replace(estimate, records=records), is_whole=is_whole)
        if choice.strategy is Strategy.EMPTY:
            await fetch.rest()
            return await self._empty(run, fetch)
        if choice.strategy is Strategy.DIRECT_PASS:
            await fetch.rest()
            data = await self._direct(run, dataset)
            if data is not None:
                read = dataset.n_records
                return await self._concluded(run, fetch, dataset, choice.strategy, data=data, read_by_model=read)
            exact = replace(estimate, records=dataset.n_records)
            choice = self._chosen(run, exact, is_whole=True, direct_limit=0)
        return await self._reduced(run, fetch, dataset, choice, estimate)

    def _is_whole(self, call: DecidedCall, found: Probe, dataset: Dataset) -> bool:
        is_known = found.certainty is Certainty.EXACT and found.total is not None and dataset.n_records >= found.total
        return is_known or (call.at_most is not None and dataset.n_records >= call.at_most)

    def _chosen(self, run: _Run, estimate: Estimate, *, is_whole: bool, direct_limit: int | None = None) -> Choice:
        limit = run.direct_limit if direct_limit is None else direct_limit
        size = Size(
            records=_wanted(estimate.records, run.call), tokens=_tokens(estimate, run.call), is_estimate=not is_whole
        )
        choice = choose(size, run.call.need, direct_limit=limit, chunk_tokens=run.reducer.chunk_tokens)
        if choice.strategy is Strategy.TABLE:
            read = choose(size, "read", direct_limit=0, chunk_tokens=run.reducer.chunk_tokens)
            choice = Choice(read.strategy, f"{choice.why}; without an engine they are read")
            run.notes.note(ReasonCode.NOT_COMPUTED, "figures over the records were not computed")
        run.emit(StrategyChosen(strategy=choice.strategy.value, why=choice.why))
        return choice

    async def _direct(self, run: _Run, dataset: Dataset) -> dict[str, Any] | None:
        """All records as they are, or None where they turn out to be more than may pass."""

        def measured() -> tuple[dict[str, Any] | None, int]:
            if dataset.spool.n_bytes > 16 * max(run.direct_limit, 1):
                return None, 0
            data = conclude.direct_data(dataset.name, list(dataset.records()))
            tokens = self._counter.bound(compact(data))
            return (data if tokens <= run.direct_limit else None), tokens

        data, run.tokens_raw = await asyncio.to_thread(measured)
        return data

    async def _reduced(
        self, run: _Run, fetch: Fetch, dataset: Dataset, choice: Choice, estimate: Estimate
    ) -> CallOutcome:
        expected = forecast(estimate, chunk_tokens=run.reducer.chunk_tokens, page_size=None, at_most=run.call.at_most)
        reading = Reading(
            dataset,
            run.reducer,
            emitter=run.scope.emitter.child(role="reducer"),
            notes=run.notes,
            concurrency=self._reducer_concurrency,
            expected_chunks=expected.chunks,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(fetch.rest())
            group.create_task(reading.pages(fetch.in_order()))
        result = reading.result
        run.tokens_raw = result.tokens
        strategy = _as_read(choice.strategy, result.chunks)
        findings, kept_back = await self._merged(run, reading)
        shown = findings[: len(findings) - kept_back]
        data = conclude.findings_data(dataset.name, shown)
        return await self._concluded(
            run,
            fetch,
            dataset,
            strategy,
            data=data,
            read_by_model=result.records,
            findings=findings,
            kept_back=kept_back,
        )

    async def _merged(self, run: _Run, reading: Reading) -> tuple[tuple[Finding, ...], int]:
        """Findings within the merge budget, and how many of them have to be kept back all the same."""
        raw = reading.result.all_findings()
        findings = deduplicated(raw)
        run.emit(FindingsMerged(level=0, before=len(raw), after=len(findings)))
        budget = max(1, min(self._effective // MERGE_SHARE, run.direct_limit or self._effective))
        merged = await run.reducer.merge(findings, budget_tokens=budget)
        if len(merged) != len(findings):
            run.emit(FindingsMerged(level=1, before=len(findings), after=len(merged)))
        weighed = [len(compact(conclude.findings_data("x" * 12, [finding]))) for finding in merged]
        fitting = run.reducer.fitting(merged, budget_tokens=budget) if sum(weighed) > budget else len(merged)
        return merged, len(merged) - max(1, fitting) if merged else 0

    async def _concluded(
        self,
        run: _Run,
        fetch: Fetch,
        dataset: Dataset,
        strategy: Strategy,
        *,
        data: Any,
        read_by_model: int,
        findings: tuple[Finding, ...] = (),
        kept_back: int = 0,
    ) -> CallOutcome:
        fetched = fetch.fetched()
        compare(fetched, run.notes, noun=run.call.tool.noun)
        if dataset.n_records:
            await self._seal(run, dataset)
        coverage = coverage_of(fetched, run.notes, read_by_model=read_by_model)
        name = dataset.name if dataset.n_records else None
        strategy = strategy if dataset.n_records else Strategy.EMPTY
        sent = conclude.envelope(run.call, coverage, strategy, dataset=name, data=data, kept_back=kept_back)
        return await self._finished(run, sent, coverage, strategy, dataset=dataset if name else None, findings=findings)

    async def _seal(self, run: _Run, dataset: Dataset) -> None:
        began = self._clock.monotonic()
        try:
            sealed = await asyncio.to_thread(seal, dataset)
        except StoreError as error:
            run.notes.note(ReasonCode.STORE_ERROR, str(error))
            run.emit(Warned(code="not_sealed", text=str(error)))
            return
        took = self._clock.monotonic() - began
        run.emit(
            DatasetSealed(
                dataset=dataset.name, records=sealed.records, n_bytes=sealed.n_bytes, duration_s=round(took, 3)
            )
        )

    async def _empty(self, run: _Run, fetch: Fetch | None = None) -> CallOutcome:
        coverage = Coverage(records_total=0, total_is=TotalIs.EXACT)
        if fetch is not None:
            compare(fetch.fetched(), run.notes, noun=run.call.tool.noun)
            coverage = coverage_of(fetch.fetched(), run.notes, read_by_model=0)
        else:
            run.emit(StrategyChosen(strategy="empty", why="the probe found no record"))
        sent = conclude.envelope(run.call, coverage, Strategy.EMPTY, dataset=None, data=None)
        return await self._finished(run, sent, coverage, Strategy.EMPTY, dataset=None)

    async def _failed(self, run: _Run, fault: ToolFault, text: str) -> CallOutcome:
        reasons = (*run.notes.reasons, Reason(code=ReasonCode.SOURCE_ERROR, text=text))
        coverage = Coverage(is_complete=False, reasons=reasons)
        sent = Envelope.failed(run.call.tool.name, fault)
        return await self._finished(run, sent, coverage, None, dataset=None)

    async def _out_of_budget(self, run: _Run, error: BudgetExhausted) -> CallOutcome:
        reasons = (*run.notes.reasons, Reason(code=ReasonCode.BUDGET, text=str(error)))
        coverage = Coverage(is_complete=False, reasons=reasons)
        sent = Envelope.budget_exhausted(run.call.tool.name, run.call.arguments, why=str(error))
        return await self._finished(run, sent, coverage, None, dataset=None)

    async def _finished(
        self,
        run: _Run,
        sent: Envelope,
        coverage: Coverage,
        strategy: Strategy | None,
        *,
        dataset: Dataset | None,
        findings: tuple[Finding, ...] = (),
    ) -> CallOutcome:
        text = sent.to_model_text()
        to_model = await asyncio.to_thread(self._counter.count, text)
        if run.tokens_raw:
            run.emit(TokensChanged(before=run.tokens_raw, after=to_model))
        run.emit(
            CallFinished(
                tool=run.call.tool.name,
                status=sent.status.value,
                strategy=strategy.value if strategy else None,
                dataset=sent.dataset,
                coverage=coverage,
                tokens_to_model=to_model,
                preview=text[:_PREVIEW_CHARS],
            )
        )
        figures = Figures(
            requests=run.sender.requests,
            tokens_raw=run.tokens_raw,
            tokens_to_model=to_model,
            duration_s=self._clock.monotonic() - run.began,
        )
        told = conclude.report(run.call, sent, coverage, figures, strategy=strategy)
        return CallOutcome(envelope=sent, report=told, coverage=coverage, dataset=dataset, findings=findings)

    def _tell_forecast(self, run: _Run, estimate: Estimate, size: int | None, *, is_corrected: bool) -> None:
        chunk_tokens = run.reducer.chunk_tokens
        told = forecast(estimate, chunk_tokens=chunk_tokens, page_size=size, at_most=run.call.at_most)
        run.emit(
            ChunkingPlanned(
                budget_tokens=chunk_tokens,
                avg_tokens_per_item=round(told.tokens_per_record, 1),
                items_per_chunk=told.records_per_chunk,
                page_size=told.page_size,
                pages=told.pages,
                chunks=told.chunks,
                is_corrected=is_corrected,
            )
        )


def _wanted(records: int | None, call: DecidedCall) -> int | None:
    return records if records is None or call.at_most is None else min(records, call.at_most)


def _tokens(estimate: Estimate, call: DecidedCall) -> int | None:
    per_record, records = estimate.tokens_per_record, _wanted(estimate.records, call)
    return None if per_record is None or records is None else int(per_record * records) + 1


def _as_read(strategy: Strategy, chunks: int) -> Strategy:
    """What it came to in the end: an estimate may have been off by a chunk."""
    if strategy in (Strategy.SINGLE_REDUCTION, Strategy.PAGINATED_REDUCTION):
        return Strategy.SINGLE_REDUCTION if chunks <= 1 else Strategy.PAGINATED_REDUCTION
    return strategy
