"""A look at a call instead of the call: probe, strategy, pages and chunks; nothing is read but small lookups.

Stands in front of whoever runs calls, as an executor of its own. Knows probes and sizes. What a look costs in tokens
and money is worked out elsewhere.
"""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from adapters.base import Json, PaginationStyle, ToolSpec
from adapters.clock import Clock
from adapters.errors import SourceError
from adapters.json_text import compact
from adapters.pagination import first_address, read_page
from adapters.pagination.probe.probe import ProbeResult, probe
from runax_cli.core.events import CallProbed, ChunkingPlanned, PagingDetected, StrategyChosen
from runax_cli.core.results import CallReport, Coverage, TotalIs
from runax_cli.executor import responses as conclude
from runax_cli.executor.data_tools.router import SOURCE, DataTool
from runax_cli.executor.fetch.source_client import Source, SourceClient
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall, ResultEnvelope
from runax_cli.executor.reduce.chunks import Chunk, ChunkUnit, TextWeight, format_chunk
from runax_cli.executor.reduce.reducer import MAX_OUTPUT_TOKENS, MIN_OUTPUT_TOKENS, ReducerPrompts
from runax_cli.executor.reduce.replies import FINDINGS
from runax_cli.executor.strategy import (
    COUNTED_BY_EYE,
    TOKENS_PER_BYTE,
    ChunkForecast,
    ResultSize,
    SizeEstimate,
    Strategy,
    StrategyChoice,
    choose,
    forecast,
    page_size,
)
from runax_cli.models.base import Message, ModelRequest, Role
from runax_cli.models.tokens import CalibratedCounter, measure

SAMPLE_RECORDS = 20
LOOKUP_SHARE = 4
"""A lookup takes no more than this part of the direct limit: it must not be read by a reducer after all."""
_FEW = 5


class Runs(Protocol):
    """Runs calls."""

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """The outcome of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPreview:
    """What a look saw. Tokens are those of the records as a model would read them; None is unknown, and never zero.

    `outcome` is set where the call was run, as a small lookup; `error` where its source failed. `overhead` are the
    tokens of a reducer's request without records, and `read_share` what the form in which it gets them leaves of their
    tokens; `request_s` is what one request to the source took on average.
    """

    call: DecidedCall
    part: int | None
    total: int | None = None
    total_is: TotalIs = TotalIs.UNKNOWN
    records: int | None = None
    tokens: int | None = None
    choice: StrategyChoice | None = None
    pages: int | None = None
    page_size: int | None = None
    chunks: int | None = None
    overhead: int = 0
    read_share: float = 1.0
    probe_requests: int = 0
    request_s: float = 0.0
    outcome: CallOutcome | None = None
    error: str | None = None

    @property
    def requests(self) -> int | None:
        """Requests that the call itself will make of its source; None where the number of pages is unknown."""
        if self.choice is not None and self.choice.strategy is Strategy.EMPTY:
            return self.probe_requests
        return None if self.pages is None else self.pages + self.probe_requests

    @property
    def is_open(self) -> bool:
        """It was looked at and not run."""
        return self.outcome is None and self.error is None


class DryRunExecutor:
    """Looks at calls. `leads_on` says of a tool whether the ids that it returns are arguments of another one.

    `awaited` are the parts that others wait for: what is small there is run in any case.
    """

    def __init__(
        self,
        runs: Runs,
        source: Source,
        *,
        counter: CalibratedCounter,
        effective_tokens: int,
        prompts: ReducerPrompts,
        leads_on: Callable[[ToolSpec], bool],
        clock: Clock,
        concurrency: int = 4,
    ) -> None:
        self._runs, self._source, self._counter, self._effective = runs, source, counter, effective_tokens
        self._prompts, self._leads_on, self._clock = prompts, leads_on, clock
        self._slots = asyncio.Semaphore(concurrency)
        self.sights: list[CallPreview] = []
        self.awaited: frozenset[int] = frozenset()

    def holds(self, part: int | None) -> bool:
        """Whether a call of that part was looked at and not run: nothing further can be known of the part."""
        return any(sight.is_open and sight.part == part for sight in self.sights)

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """Look, and run what is small and leads on to other calls. Everything else is only seen."""
        part = scope.emitter.stamp.sub_question
        if call.tool.source == SOURCE:
            return await self._over_data(call, scope, part=part, direct_limit=direct_limit)
        try:
            seen = await self._seen(call, scope, direct_limit=direct_limit)
        except SourceError as error:
            self.sights.append(CallPreview(call=call, part=part, error=str(error)))
            return _failed(call, error)
        if _is_small(seen, direct_limit) and (part in self.awaited or self._leads_on(call.tool)):
            outcome = await self._runs.execute(call, scope, direct_limit=direct_limit)
            self.sights.append(replace(seen, outcome=outcome))
            return outcome
        self.sights.append(seen)
        return _not_run(call)

    async def _over_data(
        self, call: DecidedCall, scope: CallScope, *, part: int | None, direct_limit: int
    ) -> CallOutcome:
        """A query costs no tokens of its own and is run; labels and readings would."""
        if call.tool.locator == DataTool.QUERY:
            return await self._runs.execute(call, scope, direct_limit=direct_limit)
        self.sights.append(CallPreview(call=call, part=part))
        return _not_run(call)

    async def _seen(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallPreview:
        sender = SourceClient(self._source, call, scope=scope, slots=self._slots, max_attempts=3)
        began = self._clock.monotonic()
        found = await probe(call.tool, sender, given=call.arguments)
        sample = await self._sample(found, sender)
        took = self._clock.monotonic() - began
        estimate, overhead = await asyncio.to_thread(self._measured, found, sample, call)
        read_share = await asyncio.to_thread(self._read_share, sample)
        bound = replace(estimate, tokens_per_byte=estimate.tokens_per_byte * self._bound_ratio())
        chunk_tokens = max(1, self._effective - _output_tokens(self._effective) - overhead)
        wanted = estimate.records if call.at_most is None else min(estimate.records or call.at_most, call.at_most)
        tokens = _tokens(estimate, wanted)
        size = ResultSize(records=wanted, tokens=tokens)
        choice = choose(size, call.need, direct_limit=direct_limit, chunk_tokens=chunk_tokens)
        at_once = page_size(found.pagination, bound, chunk_tokens=chunk_tokens, at_most=call.at_most)
        told = forecast(bound, chunk_tokens=chunk_tokens, page_size=at_once, at_most=call.at_most)
        self._tell(scope, call, found=found, choice=choice, told=told, chunk_tokens=chunk_tokens, tokens=tokens)
        return CallPreview(
            call=call,
            part=scope.emitter.stamp.sub_question,
            total=found.total,
            total_is=TotalIs(found.certainty.value),
            records=wanted,
            tokens=tokens,
            choice=choice,
            pages=_pages(found, choice, told, records=wanted),
            page_size=at_once,
            chunks=told.chunks,
            overhead=overhead,
            read_share=read_share,
            probe_requests=sender.requests if found.first is None else 0,
            request_s=took / max(1, sender.requests),
        )

    async def _sample(self, found: ProbeResult, sender: SourceClient) -> tuple[Json, ...]:
        """Records to measure. One record alone says little of the others: then a few more are asked for."""
        sample = tuple(found.sample)
        is_all = found.total is not None and len(sample) >= found.total
        if len(sample) >= _FEW or is_all or found.pagination.size is None or found.total == 0:
            return sample
        size = min(found.pagination.max_size or SAMPLE_RECORDS, SAMPLE_RECORDS)
        try:
            result = await sender(first_address(found.pagination, size=size))
        except SourceError:
            return sample
        reading = read_page(result, found.pagination, records_path=found.records_path)
        return tuple(reading.records) or sample

    def _measured(self, found: ProbeResult, sample: tuple[Json, ...], call: DecidedCall) -> tuple[SizeEstimate, int]:
        """Blocking: the first measurement loads the vocabulary."""
        is_all = found.total is not None and len(sample) >= found.total
        text = "\n".join(compact(record) for record in sample)
        n_bytes = len(text.encode("utf-8", "replace"))
        counted = self._counter.count(text) if sample else 0
        estimate = SizeEstimate(
            records=_all_of(found),
            bytes_per_record=n_bytes / len(sample) if sample else found.bytes_per_record,
            tokens_per_byte=counted / n_bytes if n_bytes else TOKENS_PER_BYTE,
            announced_tokens=None if is_all else found.tokens_estimation,
        )
        return estimate, self._overhead(call.focus)

    def _read_share(self, sample: tuple[Json, ...]) -> float:
        """Blocking. Long texts stay what they are, and short fields cost little more than their values."""
        units = (
            ChunkUnit(row=n, page=0, text=compact(r), load=TextWeight(), whole_chars=0) for n, r in enumerate(sample, 1)
        )
        chunk = Chunk(index=1, units=tuple(units))
        return self._counter.count(format_chunk(chunk)) / max(1, self._counter.count(chunk.text()))

    def _overhead(self, focus: str) -> int:
        user = self._prompts.user.fill(focus=focus, records="")
        messages = (Message("system", self._prompts.system.text), Message("user", user))
        request = ModelRequest(role=Role.REDUCER, messages=messages, output=FINDINGS)
        return measure(request, self._counter).estimate(self._counter)

    def _bound_ratio(self) -> float:
        """Chunks are packed by what no request may exceed, which is more than what it will probably have."""
        text = self._prompts.system.text
        return self._counter.bound(text) / max(1, self._counter.count(text))

    def _tell(
        self,
        scope: CallScope,
        call: DecidedCall,
        *,
        found: ProbeResult,
        choice: StrategyChoice,
        told: ChunkForecast,
        chunk_tokens: int,
        tokens: int | None,
    ) -> None:
        name, paging, emit = call.tool.name, found.pagination, scope.emitter.emit
        has_metadata, convention = paging.metadata is not None, paging.convention.value
        emit(PagingDetected(tool=name, convention=convention, hidden=paging.hidden, has_metadata=has_metadata))
        emit(
            CallProbed(
                tool=name,
                total_items=found.total,
                total_is=TotalIs(found.certainty.value),
                total_tokens_est=tokens,
                rung=found.rung.value,
                records_path=found.records_path,
            )
        )
        emit(StrategyChosen(strategy=choice.strategy.value, why=choice.why))
        emit(
            ChunkingPlanned(
                budget_tokens=chunk_tokens,
                avg_tokens_per_item=round(told.tokens_per_record, 1),
                items_per_chunk=told.records_per_chunk,
                page_size=told.page_size,
                pages=told.pages,
                chunks=told.chunks,
                is_corrected=False,
            )
        )


def _output_tokens(effective: int) -> int:
    return max(MIN_OUTPUT_TOKENS, min(MAX_OUTPUT_TOKENS, effective // 8))


def _all_of(found: ProbeResult) -> int | None:
    """How many records there are: as announced, or those of the one page that there is; None where none tells."""
    if found.total is not None or found.first is None:
        return found.total
    reading, is_single = found.first.reading, found.pagination.convention is PaginationStyle.SINGLE
    is_last = reading.next is None and (reading.has_more is False or (is_single and reading.has_more is None))
    return len(reading.records) if is_last else None


def _pages(found: ProbeResult, choice: StrategyChoice, told: ChunkForecast, *, records: int | None) -> int | None:
    """Pages of the call; where their size is not ours to choose, as many as the first one makes it."""
    if choice.strategy is Strategy.EMPTY:
        return 0
    if found.first is None or found.pagination.size is not None:
        return told.pages
    return None if records is None else max(1, math.ceil(records / max(1, len(found.first.reading.records))))


def _tokens(estimate: SizeEstimate, records: int | None) -> int | None:
    per_record = estimate.tokens_per_record
    return None if per_record is None or records is None else int(per_record * records)


def _is_small(seen: CallPreview, direct_limit: int) -> bool:
    """Few records, and few tokens of them."""
    if seen.records is None or seen.tokens is None:
        return False
    return 0 < seen.records <= COUNTED_BY_EYE and seen.tokens <= direct_limit // LOOKUP_SHARE


def _not_run(call: DecidedCall) -> CallOutcome:
    hint = f"{call.tool.name} was looked at and not called."
    sent = ResultEnvelope.deferred(call.tool.name, call.arguments, waits_for=(), hint=hint)
    return _outcome(call, sent)


def _failed(call: DecidedCall, error: SourceError) -> CallOutcome:
    return _outcome(call, ResultEnvelope.failed(call.tool.name, conclude.tool_fault(error, retries_left=0)))


def _outcome(call: DecidedCall, sent: ResultEnvelope) -> CallOutcome:
    report = CallReport(
        tool=call.tool.name,
        source=call.tool.source,
        arguments=call.arguments,
        focus=call.focus,
        need=call.need,
        status=sent.status.value,
    )
    return CallOutcome(envelope=sent, report=report, coverage=Coverage(is_complete=False), dataset=None)
