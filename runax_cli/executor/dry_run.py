"""Preview calls instead of running them: probe, plan and measure a sample. Only small lookups are run.

`DryRunExecutor` replaces the executor of a session. What a call costs in tokens and money is computed elsewhere.
"""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from adapters.base import Json, PaginationStyle, ToolSpec
from adapters.clock import Clock
from adapters.errors import SourceError
from adapters.json_text import compact_json
from adapters.pagination import first_address, read_page
from adapters.pagination.probe.probe import ProbeResult, probe
from runax_cli.core.event_types import StrategyChosen
from runax_cli.core.events import Emitter
from runax_cli.core.results import Coverage, TotalIs
from runax_cli.executor.call_plan import (
    CallPlan,
    PlanLimits,
    chunking_event,
    counted_total,
    paging_event,
    plan_call,
    probe_event,
)
from runax_cli.executor.data_tools.router import SOURCE, DataTool
from runax_cli.executor.fetch.source_client import Source, SourceClient
from runax_cli.executor.outcome import CallExecutor, CallOutcome, CallScope, DecidedCall, ResultEnvelope
from runax_cli.executor.reduce.chunks import Chunk, ChunkUnit, TextWeight, format_chunk
from runax_cli.executor.reduce.reducer import ReducerPrompts, reply_tokens
from runax_cli.executor.reduce.replies import FINDINGS
from runax_cli.executor.responses import build_report, tool_fault
from runax_cli.executor.strategy import (
    COUNTED_BY_EYE,
    TOKENS_PER_BYTE,
    ResultSize,
    SizeEstimate,
    Strategy,
    StrategyChoice,
)
from runax_cli.models.base import Message, ModelRequest, Role
from runax_cli.models.tokens import CalibratedCounter, measure

SAMPLE_RECORDS = 20
LOOKUP_SHARE = 4
"""A lookup takes at most this part of the direct limit, so that no reducer has to read it."""
_MIN_SAMPLE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPreview:
    """What a dry run learned about a call. Tokens are those of the records as a model reads them.

    None means unknown, never zero. `outcome` is set if the call was run, as a small lookup; `error` if its source
    failed. `overhead` are the tokens of a reducer request without records, `read_share` is the size of the records in
    such a request relative to their JSON. `request_s` is the average duration of a request to the source.
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
        """Requests that the call will send to its source; None if the number of pages is unknown."""
        if self.choice is not None and self.choice.strategy is Strategy.EMPTY:
            return self.probe_requests
        return None if self.pages is None else self.pages + self.probe_requests

    @property
    def is_open(self) -> bool:
        """Whether the call was previewed and not run."""
        return self.outcome is None and self.error is None


class DryRunExecutor:
    """Previews calls of sources. Runs small lookups whose results other calls need, and SQL queries.

    `feeds_other_calls` says whether the ids that a tool returns are arguments of another tool. `required_parts` are the
    parts of a question that other parts wait for: their small calls are always run.
    """

    def __init__(
        self,
        executor: CallExecutor,
        source: Source,
        *,
        counter: CalibratedCounter,
        effective_tokens: int,
        prompts: ReducerPrompts,
        feeds_other_calls: Callable[[ToolSpec], bool],
        clock: Clock,
        concurrency: int = 4,
    ) -> None:
        self._executor, self._source, self._counter, self._effective = executor, source, counter, effective_tokens
        self._prompts, self._feeds_other_calls, self._clock = prompts, feeds_other_calls, clock
        self._slots = asyncio.Semaphore(concurrency)
        self.previews: list[CallPreview] = []
        self.required_parts: frozenset[int] = frozenset()

    def has_open_call(self, part: int | None) -> bool:
        """Whether a call of that part was previewed and not run, so that the part cannot go on."""
        return any(preview.is_open and preview.part == part for preview in self.previews)

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        """Preview a call, and run it if it is a small lookup that other calls need."""
        part = scope.emitter.stamp.sub_question
        if call.tool.source == SOURCE:
            return await self._preview_data_tool(call, scope, part=part, direct_limit=direct_limit)
        try:
            preview = await self._preview(call, scope, direct_limit=direct_limit)
        except SourceError as error:
            self.previews.append(CallPreview(call=call, part=part, error=str(error)))
            return _outcome(call, ResultEnvelope.failed(call.tool.name, tool_fault(error, retries_left=0)))
        if _is_small(preview, direct_limit) and (part in self.required_parts or self._feeds_other_calls(call.tool)):
            outcome = await self._executor.execute(call, scope, direct_limit=direct_limit)
            self.previews.append(replace(preview, outcome=outcome))
            return outcome
        self.previews.append(preview)
        return _not_run(call)

    async def _preview_data_tool(
        self, call: DecidedCall, scope: CallScope, *, part: int | None, direct_limit: int
    ) -> CallOutcome:
        """Run an SQL query, which needs no model; labels and readings would, and are not run."""
        if call.tool.locator == DataTool.QUERY:
            return await self._executor.execute(call, scope, direct_limit=direct_limit)
        self.previews.append(CallPreview(call=call, part=part))
        return _not_run(call)

    async def _preview(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallPreview:
        client = SourceClient(self._source, call, scope=scope, slots=self._slots, max_attempts=3)
        started_s = self._clock.monotonic()
        found = await probe(call.tool, client, given=call.arguments)
        sample = await self._sample(found, client)
        duration_s = self._clock.monotonic() - started_s
        is_counted = call.at_most == 0 and counted_total(found, n_first=0) is not None
        if call.at_most == 0 and not is_counted:
            call = replace(call, at_most=None)
        estimate = await asyncio.to_thread(self._estimate, found, sample)
        overhead = await asyncio.to_thread(self._overhead, call.focus)
        size = _expected_size(estimate, call)
        limits = PlanLimits(
            direct_limit=direct_limit,
            chunk_tokens=max(1, self._effective - reply_tokens(self._effective) - overhead),
        )
        # Chunks are packed by the upper bound of tokens, which is above their probable number.
        bound = replace(estimate, tokens_per_byte=estimate.tokens_per_byte * self._bound_ratio())
        plan = plan_call(call, found.pagination, size=size, estimate=bound, limits=limits)
        if is_counted:
            choice = StrategyChoice(Strategy.EMPTY, "only the number of records is asked for: nothing is fetched")
            plan = replace(plan, choice=choice)
        _emit(scope.emitter, call, found, plan, tokens=size.tokens)
        return CallPreview(
            call=call,
            part=scope.emitter.stamp.sub_question,
            total=found.total,
            total_is=TotalIs(found.certainty.value),
            records=size.records,
            tokens=size.tokens,
            choice=plan.choice,
            pages=_pages(found, plan, records=size.records),
            page_size=plan.page_size,
            chunks=plan.forecast.chunks,
            overhead=overhead,
            read_share=await asyncio.to_thread(self._read_share, sample),
            probe_requests=client.requests if found.first is None else 0,
            request_s=duration_s / max(1, client.requests),
        )

    async def _sample(self, found: ProbeResult, client: SourceClient) -> tuple[Json, ...]:
        """Return records to measure. A sample of few records is extended by one more request."""
        sample = tuple(found.sample)
        is_all = found.total is not None and len(sample) >= found.total
        if len(sample) >= _MIN_SAMPLE or is_all or found.pagination.size is None or found.total == 0:
            return sample
        size = min(found.pagination.max_size or SAMPLE_RECORDS, SAMPLE_RECORDS)
        try:
            result = await client(first_address(found.pagination, size=size))
        except SourceError:
            return sample
        reading = read_page(result, found.pagination, records_path=found.records_path)
        return tuple(reading.records) or sample

    def _estimate(self, found: ProbeResult, sample: tuple[Json, ...]) -> SizeEstimate:
        """Measure the sample. Blocking: the first measurement loads the vocabulary."""
        is_all = found.total is not None and len(sample) >= found.total
        text = "\n".join(compact_json(record) for record in sample)
        n_bytes = len(text.encode("utf-8", "replace"))
        tokens = self._counter.count(text) if sample else 0
        return SizeEstimate(
            records=_n_records(found),
            bytes_per_record=n_bytes / len(sample) if sample else found.bytes_per_record,
            tokens_per_byte=tokens / n_bytes if n_bytes else TOKENS_PER_BYTE,
            announced_tokens=None if is_all else found.tokens_estimation,
        )

    def _read_share(self, sample: tuple[Json, ...]) -> float:
        """Return the tokens of the sample as a reducer reads it, relative to its JSON. Blocking."""
        units = (
            ChunkUnit(row=n, page=0, text=compact_json(record), weight=TextWeight(), record_chars=0)
            for n, record in enumerate(sample, 1)
        )
        chunk = Chunk(index=1, units=tuple(units))
        return self._counter.count(format_chunk(chunk)) / max(1, self._counter.count(chunk.text()))

    def _overhead(self, focus: str) -> int:
        user = self._prompts.user.fill(focus=focus, records="")
        messages = (Message("system", self._prompts.system.text), Message("user", user))
        request = ModelRequest(role=Role.REDUCER, messages=messages, output=FINDINGS)
        return measure(request, self._counter).estimate(self._counter)

    def _bound_ratio(self) -> float:
        text = self._prompts.system.text
        return self._counter.bound(text) / max(1, self._counter.count(text))


def _emit(emitter: Emitter, call: DecidedCall, found: ProbeResult, plan: CallPlan, *, tokens: int | None) -> None:
    emitter.emit(paging_event(call.tool, found.pagination))
    emitter.emit(probe_event(call.tool, found, tokens=tokens))
    emitter.emit(StrategyChosen(strategy=plan.choice.strategy.value, why=plan.choice.why))
    emitter.emit(chunking_event(plan))


def _expected_size(estimate: SizeEstimate, call: DecidedCall) -> ResultSize:
    """Return the expected size of a result. A total of zero is taken at its word, as no page will be fetched."""
    records, per_record = estimate.records, estimate.tokens_per_record
    if call.at_most is not None:
        records = min(records or call.at_most, call.at_most)
    tokens = None if per_record is None or records is None else int(per_record * records)
    return ResultSize(records=records, tokens=tokens)


def _n_records(found: ProbeResult) -> int | None:
    """Return the announced total, or the records of the first page if it is the only one; None if unknown."""
    if found.total is not None or found.first is None:
        return found.total
    reading, is_single = found.first.reading, found.pagination.convention is PaginationStyle.SINGLE
    is_last = reading.next is None and (reading.has_more is False or (is_single and reading.has_more is None))
    return len(reading.records) if is_last else None


def _pages(found: ProbeResult, plan: CallPlan, *, records: int | None) -> int | None:
    """Return the number of pages. Without a page size parameter it follows from the size of the first page."""
    if plan.choice.strategy is Strategy.EMPTY:
        return 0
    if found.first is None or found.pagination.size is not None:
        return plan.forecast.pages
    return None if records is None else max(1, math.ceil(records / max(1, len(found.first.reading.records))))


def _is_small(preview: CallPreview, direct_limit: int) -> bool:
    """Whether a call returns few records with few tokens."""
    if preview.records is None or preview.tokens is None:
        return False
    return 0 < preview.records <= COUNTED_BY_EYE and preview.tokens <= direct_limit // LOOKUP_SHARE


def _not_run(call: DecidedCall) -> CallOutcome:
    hint = f"Dry run: {call.tool.name} was not called."
    return _outcome(call, ResultEnvelope.deferred(call.tool.name, call.arguments, waits_for=(), hint=hint))


def _outcome(call: DecidedCall, envelope: ResultEnvelope) -> CallOutcome:
    report = build_report(call.request, envelope)
    return CallOutcome(envelope=envelope, report=report, coverage=Coverage(is_complete=False), dataset=None)
