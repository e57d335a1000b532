"""Pack the records of a dataset into chunks and reduce them, while further pages still arrive.

Only as many chunks are in memory as reducers run at once, so memory does not grow with the dataset.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, pairwise
from typing import Any, TypeAlias

from adapters.json_text import compact_json
from runax_cli.core.errors import BudgetExhausted, ModelRefused, StoreError
from runax_cli.core.event_types import ChunkFailed, ChunkPacked, ChunkReduced, FindingsMerged
from runax_cli.core.events import Emitter
from runax_cli.core.results import ReasonCode, counted
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.outcome import CallScope, Finding
from runax_cli.executor.reduce.chunks import Chunk, ChunkPacker, ChunkUnit, TextWeight, record_units, record_weight
from runax_cli.executor.reduce.reducer import ChunkOutcome, Reducer, ReducerPrompts, deduplicate
from runax_cli.executor.responses import findings_data, list_rows
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.store.dataset import Dataset
from runax_cli.executor.token_fitting import prefix_within
from runax_cli.models.tokens import CalibratedCounter

SLICE_RECORDS = 256
"""Records that are measured at once, off the event loop."""
NO_ROOM = (
    "prompt and reply leave no room for records in the effective context; raise LLM_MAX_CONTEXT or "
    "LLM_CONTEXT_UTILIZATION"
)
_PREVIEW_CHARS = 300

MayPass: TypeAlias = Callable[[int, int], bool]
"""Whether this many records of this many tokens may reach the main model as they are. Once False, always False."""


def never_passes(_records: int, _tokens: int) -> bool:
    """Reduce everything."""
    return False


@dataclass(slots=True)
class ReductionResult:
    """The state of a reduction: records read whole, chunks started, and rows and tokens seen.

    `findings` are by the index of their chunk. `stopped` is the error after which no further chunk is sent.
    """

    records: int = 0
    tokens: int = 0
    chunks: int = 0
    rows: int = 0
    findings: dict[int, list[Finding]] = field(default_factory=dict)
    stopped: BudgetExhausted | ModelRefused | None = None

    def all_findings(self) -> list[Finding]:
        """Return the findings in the order of the chunks."""
        return [finding for index in sorted(self.findings) for finding in self.findings[index]]


class ReductionPipeline:
    """Reduces a dataset, or some of its rows, for one focus.

    Chunks are buffered as long as the records seen so far may pass to the main model as they are (`may_pass`): perhaps
    nothing has to be reduced at all.
    """

    def __init__(
        self,
        dataset: Dataset,
        reducer: Reducer,
        *,
        emitter: Emitter,
        notes: CoverageNotes,
        concurrency: int,
        expected_chunks: int | None = None,
        may_pass: MayPass = never_passes,
    ) -> None:
        self._dataset, self._reducer, self._emitter, self._notes = dataset, reducer, emitter, notes
        self._slots = asyncio.Semaphore(concurrency)
        self._packer = ChunkPacker(reducer.fits)
        self._expected_chunks = expected_chunks
        self._may_pass = may_pass
        self._buffer: list[Chunk] = []
        self._chars_read: dict[int, int] = {}
        self._last_row = 0
        self.result = ReductionResult()

    @property
    def is_buffering(self) -> bool:
        """Whether no chunk was reduced yet, and all records seen may still pass as they are."""
        return self.result.chunks == 0 and self._may_pass(self.result.rows, self.result.tokens)

    async def reduce_pages(self, indices: AsyncIterator[int]) -> None:
        """Reduce pages in page order as they arrive. Returns when all are reduced, or buffered."""
        async with asyncio.TaskGroup() as group:
            async for index in indices:
                await self._reduce_page(index, group)
            if not self.is_buffering:
                await self._start_rest(group)

    async def reduce_rows(self, rows: Sequence[int]) -> None:
        """Reduce some rows (from 1, ascending)."""
        async with asyncio.TaskGroup() as group:
            for start in range(0, len(rows), SLICE_RECORDS):
                part = rows[start : start + SLICE_RECORDS]
                await self._pack(await self._load(partial(self._units_of_rows, part)), group)
            await self._start_rest(group)

    async def flush(self) -> None:
        """Reduce the buffered chunks."""
        async with asyncio.TaskGroup() as group:
            await self._start_rest(group)

    async def _reduce_page(self, index: int, group: asyncio.TaskGroup) -> None:
        entry = self._dataset.spool.entries[index]
        for start in range(0, entry.records, SLICE_RECORDS):
            await self._pack(await self._load(partial(self._units_of_slice, index, start)), group)
        self._last_row += entry.records

    async def _load(self, units: Callable[[], list[ChunkUnit]]) -> list[ChunkUnit]:
        """Load records as units. Records that the disk does not return are noted; the others are still read."""
        try:
            return await asyncio.to_thread(units)
        except StoreError as error:
            self._notes.note_missing(ReasonCode.STORE_ERROR, str(error))
            return []

    async def _pack(self, units: Sequence[ChunkUnit], group: asyncio.TaskGroup) -> None:
        for unit in units:
            self.result.tokens += self._reducer.bound_of(unit.weight)
            self.result.rows += unit.part <= 1
            if chunk := self._packer.add(unit):
                self._buffer.append(chunk)
            if self._packer.has_one_unit:
                self._packer.expect(await self._reducer.stored_chunk_size(unit))
        if self._buffer and not self.is_buffering:
            await self._start_buffered(group)

    async def _start_rest(self, group: asyncio.TaskGroup) -> None:
        await self._start_buffered(group)
        if last := self._packer.close():
            await self._start(last, group, is_last=True)

    async def _start_buffered(self, group: asyncio.TaskGroup) -> None:
        chunks, self._buffer = self._buffer, []
        for chunk in chunks:
            await self._start(chunk, group)

    async def _start(self, chunk: Chunk, group: asyncio.TaskGroup, *, is_last: bool = False) -> None:
        await self._slots.acquire()
        self.result.chunks = chunk.index
        expected = max(self._expected_chunks, chunk.index) if self._expected_chunks else None
        of = chunk.index if is_last else expected
        tokens = self._reducer.bound_of(chunk.weight)
        self._emitter.emit(
            ChunkPacked(index=chunk.index, of=of, records=chunk.n_records, tokens=tokens, pages=chunk.pages)
        )
        group.create_task(self._reduce_chunk(chunk, of))

    async def _reduce_chunk(self, chunk: Chunk, of: int | None) -> None:
        try:
            outcome = await self._chunk_outcome(chunk)
        finally:
            self._slots.release()
        self._count_records(outcome)
        self.result.findings[chunk.index] = outcome.findings
        if outcome.stops is not None:
            self.result.stopped = outcome.stops
        if outcome.failed:
            self._note_failure(chunk, of, outcome)
        if outcome.read:
            self._emit_reduced(chunk, of, outcome)

    async def _chunk_outcome(self, chunk: Chunk) -> ChunkOutcome:
        if not self._reducer.has_room:
            return ChunkOutcome(failed=list(chunk.units), why=NO_ROOM)
        if self.result.stopped is not None:
            stopped = self.result.stopped
            return ChunkOutcome(failed=list(chunk.units), why=str(stopped), stops=stopped)
        return await self._reducer.reduce(chunk)

    def _count_records(self, outcome: ChunkOutcome) -> None:
        """Count a record as read once all of its parts were read."""
        for unit in outcome.read:
            if not unit.part:
                self.result.records += 1
                continue
            read = self._chars_read.get(unit.row, 0) + len(unit.text)
            self._chars_read[unit.row] = read
            if read >= unit.record_chars > read - len(unit.text):
                self.result.records += 1

    def _emit_reduced(self, chunk: Chunk, of: int | None, outcome: ChunkOutcome) -> None:
        text = " | ".join(finding.statement for finding in outcome.findings) or "nothing relevant"
        tokens = self._reducer.bound_of(TextWeight(counted=self._reducer.measure(text), n_bytes=len(text.encode())))
        self._emitter.emit(
            ChunkReduced(
                index=chunk.index,
                of=of,
                findings=len(outcome.findings),
                tokens=tokens,
                preview=text[:_PREVIEW_CHARS],
                pages=chunk.pages,
                from_store=outcome.from_store,
                saved_chars=outcome.saved_chars,
            )
        )

    def _note_failure(self, chunk: Chunk, of: int | None, outcome: ChunkOutcome) -> None:
        rows = sorted({unit.row for unit in outcome.failed})
        verb = "was" if len(rows) == 1 else "were"
        text = (
            f"{counted(len(rows), 'record')} of chunk {chunk.index} {verb} not read ({list_rows(rows)}): {outcome.why}"
        )
        is_budget = isinstance(outcome.stops, BudgetExhausted)
        self._notes.note_missing(ReasonCode.BUDGET if is_budget else ReasonCode.CHUNK_FAILED, text)
        self._emitter.emit(ChunkFailed(index=chunk.index, of=of, records=len(rows), why=outcome.why, pages=chunk.pages))

    def _units_of_slice(self, index: int, start: int) -> list[ChunkUnit]:
        lines = islice(self._dataset.spool.lines(index, start), SLICE_RECORDS)
        units: list[ChunkUnit] = []
        for at, line in enumerate(lines, start=start + 1):
            units += self._units(line, row=self._last_row + at, page=index)
        return units

    def _units_of_rows(self, rows: Sequence[int]) -> list[ChunkUnit]:
        units: list[ChunkUnit] = []
        for start, stop in row_ranges(rows):
            for row, line in enumerate(self._dataset.lines(start, stop), start=start):
                units += self._units(line, row=row, page=0)
        return units

    def _units(self, line: bytes, *, row: int, page: int) -> Sequence[ChunkUnit]:
        text = escape_for_prompt(line.decode("utf-8", "replace"))
        if not self._reducer.has_room:
            weight = record_weight(text, self._reducer.measure)
            return [ChunkUnit(row=row, page=page, text=text, weight=weight, record_chars=len(text))]
        return list(record_units(text, row=row, page=page, measure=self._reducer.measure, fits=self._reducer.fits))


def row_ranges(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield ascending rows as ranges without gaps: the first row, and the one after the last."""
    if not rows:
        return
    start = rows[0]
    for before, after in pairwise(rows):
        if after != before + 1:
            yield start, before + 1
            start = after
    yield start, rows[-1] + 1


MERGE_SHARE = 4
MAX_BYTES_PER_TOKEN = 16
"""No text has more bytes per token: a larger one need not be counted."""
_LONG_NAME = "x" * 24


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedFindings:
    """Findings of a reduction, of which the last `kept_back` do not fit the merge budget."""

    findings: tuple[Finding, ...] = ()
    kept_back: int = 0

    @property
    def shown(self) -> tuple[Finding, ...]:
        """The findings that fit."""
        return self.findings[: len(self.findings) - self.kept_back]


class ReducerFactory:
    """Creates reducers and pipelines, merges their findings, and loads records that need no reduction."""

    def __init__(
        self, counter: CalibratedCounter, *, prompts: ReducerPrompts, effective_tokens: int, concurrency: int
    ) -> None:
        self.counter = counter
        self.effective_tokens = effective_tokens
        self._prompts, self._concurrency = prompts, concurrency

    async def create_reducer(self, focus: str, scope: CallScope, cache: RunCache) -> Reducer:
        """Create a reducer, off the event loop: it measures its prompt, which may load the vocabulary."""

        def create() -> Reducer:
            return Reducer(
                scope.reducer,
                self.counter,
                prompts=self._prompts,
                focus=focus,
                effective_tokens=self.effective_tokens,
                cache=cache,
            )

        return await asyncio.to_thread(create)

    def create_pipeline(
        self,
        dataset: Dataset,
        reducer: Reducer,
        *,
        scope: CallScope,
        notes: CoverageNotes,
        expected_chunks: int | None,
        may_pass: MayPass = never_passes,
    ) -> ReductionPipeline:
        """Create a pipeline over a dataset; its events carry the role of the reducer."""
        return ReductionPipeline(
            dataset,
            reducer,
            emitter=scope.emitter.child(role="reducer"),
            notes=notes,
            concurrency=self._concurrency,
            expected_chunks=expected_chunks,
            may_pass=may_pass,
        )

    async def merge(
        self, reducer: Reducer, result: ReductionResult, *, scope: CallScope, direct_limit: int
    ) -> MergedFindings:
        """Deduplicate the findings and condense them to the merge budget."""
        raw = result.all_findings()
        findings = deduplicate(raw)
        scope.emitter.emit(FindingsMerged(level=0, before=len(raw), after=len(findings)))
        budget = max(1, min(self.effective_tokens // MERGE_SHARE, direct_limit or self.effective_tokens))
        merged = await reducer.merge(findings, budget_tokens=budget)
        if len(merged) != len(findings):
            scope.emitter.emit(FindingsMerged(level=1, before=len(findings), after=len(merged)))
        if not merged:
            return MergedFindings()
        n_fitting = await asyncio.to_thread(self._n_fitting, merged, budget)
        return MergedFindings(findings=merged, kept_back=len(merged) - max(1, n_fitting))

    def _n_fitting(self, findings: Sequence[Finding], budget_tokens: int) -> int:
        """Return how many of the first findings fit as they are shown, references and quotes included."""
        texts = (compact_json(findings_data(_LONG_NAME, [finding])) for finding in findings)
        return prefix_within([self.counter.bound(text) for text in texts], budget=budget_tokens)

    async def load_direct(
        self, dataset: Dataset, *, direct_limit: int, rows: Sequence[int] | None = None
    ) -> dict[str, Any] | None:
        """Return records by their references, of all rows or of some.

        None if they have more than `direct_limit` tokens, references included, or if the disk does not return them.
        """
        selected = range(1, dataset.n_records + 1) if rows is None else rows

        def load() -> dict[str, Any] | None:
            try:
                return self._load_within(dataset, selected, direct_limit)
            except StoreError:  # reported when the records are reduced
                return None

        return await asyncio.to_thread(load)

    def _load_within(self, dataset: Dataset, rows: Sequence[int], direct_limit: int) -> dict[str, Any] | None:
        data: dict[str, Any] = {}
        size = 0
        for start, stop in row_ranges(rows):
            for row, record in enumerate(dataset.records(start, stop), start=start):
                data[f"{dataset.name}#{row}"] = record
                size += len(compact_json(record))
                if size > MAX_BYTES_PER_TOKEN * direct_limit:
                    return None
        return data if self.counter.bound(compact_json(data)) <= direct_limit else None
