"""Reading: records of a dataset packed into chunks and reduced, while further pages still arrive.

Knows rows, chunks and what was read of each record. At most as many chunks are in memory as reducers run at once, so
that memory stays flat however long the dataset is. Knows no page's request and no envelope.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from runax_cli.events import ChunkFailed, ChunkPacked, ChunkReduced, Emitter
from runax_cli.executor.chunks import Chunk, Load, Packer, Unit, units_of
from runax_cli.executor.coverage import Notes
from runax_cli.executor.dataset import Dataset
from runax_cli.executor.fence import fenced
from runax_cli.executor.outcome import Finding
from runax_cli.executor.reduce import ChunkOutcome, Reducer
from runax_cli.results import ReasonCode

SLICE = 256
"""So many records are measured at once, off the event loop."""
_PREVIEW_CHARS = 300
_NAMED_ROWS = 8


@dataclass(slots=True)
class Read:
    """What was read so far: rows read whole, findings by chunk, and what all records weigh."""

    records: int = 0
    tokens: int = 0
    chunks: int = 0
    findings: dict[int, list[Finding]] = field(default_factory=dict)
    stopped: str | None = None

    def all_findings(self) -> list[Finding]:
        """Findings in the order of the chunks."""
        return [finding for index in sorted(self.findings) for finding in self.findings[index]]


class Reading:
    """One reading of a dataset (or of some of its rows) for one focus."""

    def __init__(
        self,
        dataset: Dataset,
        reducer: Reducer,
        *,
        emitter: Emitter,
        notes: Notes,
        concurrency: int,
        expected_chunks: int | None = None,
    ) -> None:
        self._dataset, self._reducer, self._emitter, self._notes = dataset, reducer, emitter, notes
        self._slots = asyncio.Semaphore(concurrency)
        self._packer = Packer(reducer.fits)
        self._expected = expected_chunks
        self._parts_read: dict[int, int] = {}
        self._row = 0
        self.result = Read()

    async def pages(self, indices: AsyncIterator[int]) -> None:
        """Read pages as they become available, in page order; returns when all of them were reduced."""
        async with asyncio.TaskGroup() as group:
            async for index in indices:
                await self._page(index, group)
            if rest := self._packer.rest():
                await self._start(rest, group, is_last=True)

    async def rows(self, rows: Sequence[int]) -> None:
        """Read some rows (from 1, ascending)."""
        async with asyncio.TaskGroup() as group:
            for start in range(0, len(rows), SLICE):
                some = rows[start : start + SLICE]
                await self._take(await asyncio.to_thread(self._units_of_rows, some), group)
            if rest := self._packer.rest():
                await self._start(rest, group, is_last=True)

    async def _page(self, index: int, group: asyncio.TaskGroup) -> None:
        entry = self._dataset.spool.entries[index]
        for start in range(0, entry.records, SLICE):
            units = await asyncio.to_thread(self._units_of_slice, index, start)
            await self._take(units, group)
        self._row += entry.records

    async def _take(self, units: Sequence[Unit], group: asyncio.TaskGroup) -> None:
        for unit in units:
            self.result.tokens += self._reducer.bound_of(unit.load)
            if chunk := self._packer.add(unit):
                await self._start(chunk, group)

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
            if self.result.stopped is None:
                outcome = await self._reducer.reduce(chunk)
            else:
                outcome = ChunkOutcome(failed=list(chunk.units), why=self.result.stopped)
        finally:
            self._slots.release()
        self._count(outcome)
        self.result.findings[chunk.index] = outcome.findings
        if outcome.stops is not None:
            self.result.stopped = str(outcome.stops)
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
        tokens = self._reducer.bound_of(Load(counted=self._reducer.measure(said), n_bytes=len(said.encode())))
        self._emitter.emit(
            ChunkReduced(
                index=chunk.index,
                of=of,
                findings=len(outcome.findings),
                tokens=tokens,
                preview=said[:_PREVIEW_CHARS],
                pages=chunk.pages,
                from_store=outcome.from_store,
            )
        )

    def _tell_failure(self, chunk: Chunk, of: int | None, outcome: ChunkOutcome) -> None:
        rows = sorted({unit.row for unit in outcome.failed})
        named = ", ".join(f"#{row}" for row in rows[:_NAMED_ROWS]) + (", …" if len(rows) > _NAMED_ROWS else "")
        text = f"{len(rows)} records of chunk {chunk.index} were not read ({named}): {outcome.why}"
        self._notes.missing(ReasonCode.BUDGET if self._is_budget(outcome) else ReasonCode.CHUNK_FAILED, text)
        self._emitter.emit(ChunkFailed(index=chunk.index, of=of, records=len(rows), why=outcome.why, pages=chunk.pages))

    def _is_budget(self, outcome: ChunkOutcome) -> bool:
        return outcome.why.startswith("the budget '")

    def _units_of_slice(self, index: int, start: int) -> list[Unit]:
        lines = islice(self._dataset.spool.lines(index, start), SLICE)
        units: list[Unit] = []
        for at, line in enumerate(lines, start=start + 1):
            units += self._units(line, row=self._row + at, page=index)
        return units

    def _units_of_rows(self, rows: Sequence[int]) -> list[Unit]:
        units: list[Unit] = []
        for row in rows:
            for line in self._dataset.lines(row, row + 1):
                units += self._units(line, row=row, page=0)
        return units

    def _units(self, line: bytes, *, row: int, page: int) -> Sequence[Unit]:
        text = fenced(line.decode("utf-8", "replace"))
        return list(units_of(text, row=row, page=page, measure=self._reducer.measure, fits=self._reducer.fits))
