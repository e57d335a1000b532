"""Reading: records of a dataset packed into chunks and reduced, while further pages still arrive.

Knows rows, chunks and what was read of each record. At most as many chunks are in memory as reducers run at once, so
that memory stays flat however long the dataset is. Knows no page's request and no envelope.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

from adapters.json_text import compact
from runax_cli.core.errors import BudgetExhausted, ModelRefused, StoreError
from runax_cli.core.events import ChunkFailed, ChunkPacked, ChunkReduced, Emitter, FindingsMerged
from runax_cli.core.results import ReasonCode
from runax_cli.core.untrusted_text import fenced
from runax_cli.executor import responses as conclude
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.outcome import CallScope, Finding
from runax_cli.executor.reduce.chunks import Chunk, ChunkPacker, ChunkUnit, TextWeight, record_units, record_weight
from runax_cli.executor.reduce.reducer import ChunkOutcome, Reducer, ReducerPrompts, deduplicate, fitting_prefix
from runax_cli.executor.run_cache import RunCache
from runax_cli.executor.store.dataset import Dataset
from runax_cli.models.tokens import CalibratedCounter

SLICE_RECORDS = 256
"""So many records are measured at once, off the event loop."""
NO_ROOM = (
    "prompt and reply leave no room for records in the effective context; raise LLM_MAX_CONTEXT or "
    "LLM_CONTEXT_UTILIZATION"
)
_PREVIEW_CHARS = 300
_NAMED_ROWS = 8

MayPass: TypeAlias = Callable[[int, int], bool]
"""Whether so many records of so many tokens may reach the main model as they are. Once false, always false."""


def never_passes(_records: int, _tokens: int) -> bool:
    """Everything is reduced."""
    return False


@dataclass(slots=True)
class ReductionResult:
    """What was read so far: records read whole, findings by chunk, and what all `rows` weigh."""

    records: int = 0
    tokens: int = 0
    chunks: int = 0
    rows: int = 0
    findings: dict[int, list[Finding]] = field(default_factory=dict)
    stopped: BudgetExhausted | ModelRefused | None = None

    def all_findings(self) -> list[Finding]:
        """Findings in the order of the chunks."""
        return [finding for index in sorted(self.findings) for finding in self.findings[index]]


class ReductionPipeline:
    """One reading of a dataset (or of some of its rows) for one focus.

    Chunks wait for as long as `may_pass` says of the records and tokens so far that they may reach the main model as
    they are: it may be that nothing has to be reduced at all.
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
        self._expected = expected_chunks
        self._may_pass = may_pass
        self._held: list[Chunk] = []
        self._parts_read: dict[int, int] = {}
        self._row = 0
        self.result = ReductionResult()

    async def pages(self, indices: AsyncIterator[int]) -> None:
        """Read pages as they become available, in page order; returns when all of them were reduced, or are held."""
        async with asyncio.TaskGroup() as group:
            async for index in indices:
                await self._page(index, group)
            if not self.is_held:
                await self._finish(group)

    @property
    def is_held(self) -> bool:
        """Nothing was reduced so far, and all that was seen may still pass as it is."""
        return self.result.chunks == 0 and self._may_pass(self.result.rows, self.result.tokens)

    async def release(self) -> None:
        """Read what was held after all."""
        async with asyncio.TaskGroup() as group:
            await self._finish(group)

    async def rows(self, rows: Sequence[int]) -> None:
        """Read some rows (from 1, ascending)."""
        async with asyncio.TaskGroup() as group:
            for start in range(0, len(rows), SLICE_RECORDS):
                some = rows[start : start + SLICE_RECORDS]
                await self._take(await self._from_disk(partial(self._units_of_rows, some)), group)
            await self._finish(group)

    async def _finish(self, group: asyncio.TaskGroup) -> None:
        await self._start_held(group)
        if rest := self._packer.rest():
            await self._start(rest, group, is_last=True)

    async def _start_held(self, group: asyncio.TaskGroup) -> None:
        held, self._held = self._held, []
        for chunk in held:
            await self._start(chunk, group)

    async def _page(self, index: int, group: asyncio.TaskGroup) -> None:
        entry = self._dataset.spool.entries[index]
        for start in range(0, entry.records, SLICE_RECORDS):
            await self._take(await self._from_disk(partial(self._units_of_slice, index, start)), group)
        self._row += entry.records

    async def _from_disk(self, units: Callable[[], list[ChunkUnit]]) -> list[ChunkUnit]:
        """Records as units. Those that the disk does not give back are told, and cost none of the others."""
        try:
            return await asyncio.to_thread(units)
        except StoreError as error:
            self._notes.missing(ReasonCode.STORE_ERROR, str(error))
            return []

    async def _take(self, units: Sequence[ChunkUnit], group: asyncio.TaskGroup) -> None:
        for unit in units:
            self.result.tokens += self._reducer.bound_of(unit.load)
            self.result.rows += unit.part <= 1
            if chunk := self._packer.add(unit):
                self._held.append(chunk)
            if self._packer.is_fresh:
                self._packer.expect(await self._reducer.units_before(unit))
        if self._held and not self.is_held:
            await self._start_held(group)

    async def _start(self, chunk: Chunk, group: asyncio.TaskGroup, *, is_last: bool = False) -> None:
        await self._slots.acquire()
        self.result.chunks = chunk.index
        of = chunk.index if is_last else max(self._expected, chunk.index) if self._expected else None
        tokens = self._reducer.bound_of(chunk.load)
        self._emitter.emit(
            ChunkPacked(index=chunk.index, of=of, records=chunk.n_records, tokens=tokens, pages=chunk.pages)
        )
        group.create_task(self._reduced(chunk, of))

    async def _reduced(self, chunk: Chunk, of: int | None) -> None:
        try:
            if not self._reducer.has_room:
                outcome = ChunkOutcome(failed=list(chunk.units), why=NO_ROOM)
            elif self.result.stopped is None:
                outcome = await self._reducer.reduce(chunk)
            else:
                stopped = self.result.stopped
                outcome = ChunkOutcome(failed=list(chunk.units), why=str(stopped), stops=stopped)
        finally:
            self._slots.release()
        self._count(outcome)
        self.result.findings[chunk.index] = outcome.findings
        if outcome.stops is not None:
            self.result.stopped = outcome.stops
        if outcome.failed:
            self._tell_failure(chunk, of, outcome)
        if outcome.read:
            self._tell(chunk, of, outcome)

    def _count(self, outcome: ChunkOutcome) -> None:
        """A record counts as read when all of its parts were."""
        for unit in outcome.read:
            if not unit.part:
                self.result.records += 1
                continue
            read = self._parts_read.get(unit.row, 0) + len(unit.text)
            self._parts_read[unit.row] = read
            if read >= unit.whole_chars > read - len(unit.text):
                self.result.records += 1

    def _tell(self, chunk: Chunk, of: int | None, outcome: ChunkOutcome) -> None:
        said = " | ".join(finding.statement for finding in outcome.findings) or "nothing relevant"
        tokens = self._reducer.bound_of(TextWeight(counted=self._reducer.measure(said), n_bytes=len(said.encode())))
        self._emitter.emit(
            ChunkReduced(
                index=chunk.index,
                of=of,
                findings=len(outcome.findings),
                tokens=tokens,
                preview=said[:_PREVIEW_CHARS],
                pages=chunk.pages,
                from_store=outcome.from_store,
                saved_chars=outcome.saved_chars,
            )
        )

    def _tell_failure(self, chunk: Chunk, of: int | None, outcome: ChunkOutcome) -> None:
        rows = sorted({unit.row for unit in outcome.failed})
        named = ", ".join(f"#{row}" for row in rows[:_NAMED_ROWS]) + (", …" if len(rows) > _NAMED_ROWS else "")
        text = f"{len(rows)} records of chunk {chunk.index} were not read ({named}): {outcome.why}"
        is_budget = isinstance(outcome.stops, BudgetExhausted)
        self._notes.missing(ReasonCode.BUDGET if is_budget else ReasonCode.CHUNK_FAILED, text)
        self._emitter.emit(ChunkFailed(index=chunk.index, of=of, records=len(rows), why=outcome.why, pages=chunk.pages))

    def _units_of_slice(self, index: int, start: int) -> list[ChunkUnit]:
        lines = islice(self._dataset.spool.lines(index, start), SLICE_RECORDS)
        units: list[ChunkUnit] = []
        for at, line in enumerate(lines, start=start + 1):
            units += self._units(line, row=self._row + at, page=index)
        return units

    def _units_of_rows(self, rows: Sequence[int]) -> list[ChunkUnit]:
        units: list[ChunkUnit] = []
        for row in rows:
            for line in self._dataset.lines(row, row + 1):
                units += self._units(line, row=row, page=0)
        return units

    def _units(self, line: bytes, *, row: int, page: int) -> Sequence[ChunkUnit]:
        text = fenced(line.decode("utf-8", "replace"))
        if not self._reducer.has_room:
            load = record_weight(text, self._reducer.measure)
            return [ChunkUnit(row=row, page=page, text=text, load=load, whole_chars=len(text))]
        return list(record_units(text, row=row, page=page, measure=self._reducer.measure, fits=self._reducer.fits))


MERGE_SHARE = 4
_LONG_NAME = "x" * 24


class ReducerFactory:
    """Makes readings with one model, and merges what they find. What is small enough is read as it is."""

    def __init__(
        self, counter: CalibratedCounter, *, prompts: ReducerPrompts, effective_tokens: int, concurrency: int
    ) -> None:
        self.counter = counter
        self.effective_tokens = effective_tokens
        self._prompts, self._concurrency = prompts, concurrency

    async def reducer(self, focus: str, scope: CallScope, ledger: RunCache) -> Reducer:
        """Built off the event loop: it measures its prompt, and the first measurement loads the vocabulary."""

        def built() -> Reducer:
            return Reducer(
                scope.reducer,
                self.counter,
                prompts=self._prompts,
                focus=focus,
                effective_tokens=self.effective_tokens,
                ledger=ledger,
            )

        return await asyncio.to_thread(built)

    def reading(
        self,
        dataset: Dataset,
        reducer: Reducer,
        *,
        scope: CallScope,
        notes: CoverageNotes,
        expected_chunks: int | None,
        may_pass: MayPass = never_passes,
    ) -> ReductionPipeline:
        """One reading of `dataset`, told as the reducer's doing."""
        told = replace(scope, emitter=scope.emitter.child(role="reducer"))
        return ReductionPipeline(
            dataset,
            reducer,
            emitter=told.emitter,
            notes=notes,
            concurrency=self._concurrency,
            expected_chunks=expected_chunks,
            may_pass=may_pass,
        )

    async def merged(
        self, reducer: Reducer, result: ReductionResult, *, scope: CallScope, direct_limit: int
    ) -> tuple[tuple[Finding, ...], int]:
        """Findings within the merge budget, and how many of them have to be kept back all the same."""
        raw = result.all_findings()
        findings = deduplicate(raw)
        scope.emitter.emit(FindingsMerged(level=0, before=len(raw), after=len(findings)))
        budget = max(1, min(self.effective_tokens // MERGE_SHARE, direct_limit or self.effective_tokens))
        merged = await reducer.merge(findings, budget_tokens=budget)
        if len(merged) != len(findings):
            scope.emitter.emit(FindingsMerged(level=1, before=len(findings), after=len(merged)))
        if not merged:
            return (), 0
        fitting = await asyncio.to_thread(self._fitting, merged, budget)
        return merged, len(merged) - max(1, fitting)

    async def whole(self, dataset: Dataset, *, direct_limit: int) -> dict[str, Any] | None:
        """All records as they are; None where their references make them too much, or the disk does not give them."""

        def measured() -> dict[str, Any] | None:
            with suppress(StoreError):  # told where they are read
                data = conclude.direct_data(dataset.name, list(dataset.records()))
                return data if self.counter.bound(compact(data)) <= direct_limit else None
            return None

        return await asyncio.to_thread(measured)

    def _fitting(self, findings: Sequence[Finding], budget_tokens: int) -> int:
        """How many of the first findings fit as they are shown, references and quotes included."""
        shown = (compact(conclude.findings_data(_LONG_NAME, [finding])) for finding in findings)
        return fitting_prefix([self.counter.bound(text) for text in shown], budget=budget_tokens)
