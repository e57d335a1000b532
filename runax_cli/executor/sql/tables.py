"""Keep the tables of one session: sealed datasets, and the labels of their rows, in one SQL engine.

A sealed dataset is registered by name, and becomes a table on first use. `basis` describes what the figures of a
statement are based on: complete data, labels, or only a part of the data.
"""

import asyncio
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from adapters.json_text import compact_json
from runax_cli.core.results import Coverage, Lineage, ReasonCode, counted
from runax_cli.executor.sql.columns import TableColumn, quoted
from runax_cli.executor.sql.engine import QueryableTable, QueryFailed, QueryResult, SqlEngine
from runax_cli.executor.sql.frames import Definition
from runax_cli.executor.sql.sandbox import where_clause
from runax_cli.executor.sql.stored_result import StoreRequest
from runax_cli.executor.sql.table_card import (
    CARD_TOKENS,
    MAX_RECORDS,
    profile_table,
    records_within,
    render_card,
    sample_rows,
)
from runax_cli.executor.sql.worker import SqlWorker
from runax_cli.executor.store.dataset import Dataset
from runax_cli.models.base import TokenCounter

_SAMPLE_RECORDS = 2
_T = TypeVar("_T")


@dataclass(slots=True)
class SealedDataset:
    """A sealed dataset, its coverage, the call that it came from (`made_by`), and the number of its label tables."""

    dataset: Dataset
    coverage: Coverage
    made_by: str = ""
    is_table: bool = False
    n_labels: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it has all records of its call, and not only the first n."""
        is_first_n = any(reason.code is ReasonCode.FIRST_N for reason in self.coverage.reasons)
        return self.coverage.is_complete and not is_first_n

    @property
    def extent(self) -> str:
        """How much of the data it has, in words."""
        read, total = self.coverage.records_read, self.coverage.records_total
        of = "an unknown number of records" if total is None else counted(total, "record")
        if self.coverage.is_complete and not self.is_whole:
            return f"the first {read:,} of {of}, as requested"
        return f"{'complete' if self.is_whole else 'INCOMPLETE'}: {read:,} of {of}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelTable:
    """Labels of a dataset's rows: their table, the view that joins them to the dataset, and their reliability."""

    name: str
    joined: str
    of: str
    agreement: float | None
    n_sample: int
    n_unusable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureBasis:
    """The datasets and labels that the figures of a statement are based on."""

    lineage: Lineage
    datasets: tuple[str, ...]
    labels: tuple[LabelTable, ...] = ()

    @property
    def agreement(self) -> float | None:
        """The lowest agreement of the labels; None if there are no labels or none was measured."""
        return min((table.agreement for table in self.labels if table.agreement is not None), default=None)


@dataclass(slots=True)
class TableCatalog:
    """Datasets and labels by name. Async methods run the engine in a thread; one statement runs at a time.

    `entries` and `labels` are replaced as a whole, never changed in place: other threads read them.
    """

    folder: Path
    counter: TokenCounter
    entries: Mapping[str, SealedDataset] = field(default_factory=dict)
    labels: Mapping[str, LabelTable] = field(default_factory=dict)
    _engine: SqlEngine | None = None
    _worker: SqlWorker | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def register(self, dataset: Dataset, coverage: Coverage, *, made_by: str = "") -> None:
        """Register a sealed dataset. One that could not be sealed is ignored, as it cannot be queried."""
        if dataset.is_sealed:
            entry = self.entries.get(dataset.name) or SealedDataset(dataset, coverage)
            entry.made_by = entry.made_by or made_by
            self.entries = {**self.entries, dataset.name: entry}

    async def add_table(self, dataset: Dataset, coverage: Coverage, *, made_by: str = "") -> dict[str, Any]:
        """Register a sealed dataset and return its table card. Raises QueryFailed if it is not sealed."""
        self.register(dataset, coverage, made_by=made_by)
        return await self.card(dataset.name)

    async def card(self, name: str) -> dict[str, Any]:
        """Return the card of a table as `table`, and a few small records by reference, within 800 tokens together.

        If no record fits, the card has shortened samples instead, which cannot be cited.
        """
        entry = self.entry(name)

        def render() -> dict[str, Any]:
            engine = self._engine_with([name])
            table = engine.tables[name]
            columns = tuple(column.name for column in table.columns)
            profile, as_sent = profile_table(engine, table), _AsSent(self.counter)
            card = render_card(profile, (), as_sent, coverage=entry.extent)
            left = CARD_TOKENS - as_sent.count(card.text)
            numbered = enumerate(entry.dataset.records(1, 1 + MAX_RECORDS), start=1)
            records = records_within(
                ((f"{name}#{row}", record) for row, record in numbered), self.counter, budget_tokens=left
            )
            if not records:
                rows = sample_rows(engine, table, columns, _SAMPLE_RECORDS)
                samples = [dict(zip(columns, row, strict=True)) for row in rows]
                card = render_card(profile, samples, as_sent, coverage=entry.extent)
            return {"table": card.text, **records}

        return await self._off_loop(render)

    async def columns(self, names: Sequence[str]) -> dict[str, tuple[TableColumn, ...]]:
        """Return the columns of registered datasets."""

        def described() -> dict[str, tuple[TableColumn, ...]]:
            engine = self._engine_with(names)
            return {name: engine.tables[name].columns for name in names}

        return await self._off_loop(described) if names else {}

    def entry(self, name: str) -> SealedDataset:
        """Return the dataset of that name. Raises QueryFailed with the existing names."""
        if name not in self.entries:
            near = get_close_matches(name, self.entries, n=3, cutoff=0.5) or list(self.entries)
            raise QueryFailed(f"unknown dataset '{name}'. Datasets: {', '.join(near) or 'none yet'}.")
        return self.entries[name]

    async def select(self, sql: str, *, store: StoreRequest | None = None) -> QueryResult:
        """Run one SELECT that reads a table, keep its first rows, and store all of them. Raises QueryFailed."""
        result = await self._off_loop(lambda: self._worker_with(self._mentioned(sql)).select(sql, store=store))
        if not result.tables:
            raise QueryFailed(f"the statement reads no table. Tables: {', '.join(self.names)}.")
        return result

    async def rows(self, name: str, where: str | None) -> list[int]:
        """Return the rows of a dataset that `where` selects, in order; without it all rows. Raises QueryFailed."""
        entry = self.entry(name)
        if where is None:
            return list(range(1, entry.dataset.n_records + 1))
        found = await self._select_all(f"SELECT row FROM {quoted(name)}{where_clause(name, where)} ORDER BY row", name)  # noqa: S608
        return [int(row) for (row,) in found.rows]

    async def texts(self, name: str, columns: Sequence[str], where: str | None) -> list[tuple[int, str | None]]:
        """Return rows and the text of some columns: of one as it is, of several as a JSON list. Raises QueryFailed."""
        self.entry(name)

        def statement() -> str:
            table = self._engine_with([name]).tables[name]
            shown = ", ".join(_as_text(_column(column, table.columns)) for column in columns)
            return f"SELECT row, {shown} FROM {quoted(name)}{where_clause(name, where)} ORDER BY row"  # noqa: S608

        found = await self._select_all(await self._off_loop(statement), name)
        return [(int(row), _text_value(values)) for row, *values in found.rows]

    async def add_labels(self, table: LabelTable, path: Path) -> None:
        """Add a file of labels as a table, and its join with the dataset as a view."""
        await self._off_loop(lambda: self._add_labels(table, path))
        self.labels = {**self.labels, table.name: table, table.joined: table}

    def basis(self, tables: Sequence[str]) -> FigureBasis:
        """Return what the figures of a statement that reads `tables` are based on."""
        used = {self.labels[name].name: self.labels[name] for name in tables if name in self.labels}
        names = [name for name in tables if name in self.entries] + [table.of for table in used.values()]
        datasets = tuple(dict.fromkeys(names))
        is_whole = all(self.entries[name].is_whole for name in datasets)
        has_all_labels = not any(table.n_unusable for table in used.values())
        lineage = Lineage.BY_LABEL if used else Lineage.EXACT
        return FigureBasis(
            lineage=lineage if is_whole and has_all_labels else Lineage.LOWER_BOUND,
            datasets=datasets,
            labels=tuple(used.values()),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names that can be queried."""
        return (*self.entries, *self.labels)

    def close(self) -> None:
        """Close the engine and end its worker."""
        if self._worker is not None:
            self._worker.close()
        if self._engine is not None:
            self._engine.close()

    async def _select_all(self, sql: str, name: str) -> QueryResult:
        return await self._off_loop(lambda: self._worker_with([name, *self._mentioned(sql)]).select(sql, max_rows=None))

    def _mentioned(self, sql: str) -> list[str]:
        """Return the datasets that a statement names, itself or by their labels; all datasets if it names none."""
        words = {word.casefold() for word in re.findall(r"\w+", sql)}
        found = [name for name in self.entries if name.casefold() in words]
        found += [table.of for name, table in self.labels.items() if name.casefold() in words]
        return found or list(self.entries)

    def _engine_with(self, names: Sequence[str]) -> SqlEngine:
        """Return the engine with these datasets as tables. Blocking: the first use of a dataset measures its text."""
        with self._lock:
            if self._engine is None:
                self._engine, self._worker = SqlEngine(self.folder), SqlWorker(self.folder)
            for name in names:
                if not self.entries[name].is_table:
                    self._define({name: self._engine.add_table(name, self.entries[name].dataset.table_path)})
                    self.entries[name].is_table = True
            return self._engine

    def _worker_with(self, names: Sequence[str]) -> SqlWorker:
        """Return the process that runs model-written SQL, with these datasets as tables. Blocking."""
        self._engine_with(names)
        return self._sql_worker

    @property
    def _sql_worker(self) -> SqlWorker:
        if self._worker is None:
            raise QueryFailed(f"there is no table. Datasets: {', '.join(self.names) or 'none yet'}.")
        return self._worker

    def _define(self, tables: Mapping[str, QueryableTable]) -> None:
        self._sql_worker.define(Definition(tables))

    def _add_labels(self, table: LabelTable, path: Path) -> None:
        engine = self._engine_with([table.of])
        engine.add_labels(table.name, path, of=table.of, joined=table.joined)
        self._define({name: engine.tables[name] for name in (table.name, table.joined)})

    async def _off_loop(self, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.to_thread(work)
        except asyncio.CancelledError:
            if self._engine is not None:
                self._engine.interrupt()
            if self._worker is not None:
                self._worker.interrupt()
            raise


@dataclass(frozen=True, slots=True)
class _AsSent:
    """Counts a text as it is sent in an envelope, where quotes and line ends are escaped."""

    counter: TokenCounter
    name: str = "as sent"

    def count(self, text: str) -> int:
        return self.counter.count(compact_json(text))


def _column(name: str, columns: Sequence[TableColumn]) -> tuple[str, TableColumn]:
    """Return the expression of a column, or of a field of a struct (`address.city`). Raises QueryFailed."""
    known = {column.name: column for column in columns}
    if name in known:
        return quoted(name), known[name]
    head, _, tail = name.partition(".")
    if tail and head in known:
        return ".".join(quoted(part) for part in (head, *tail.split("."))), known[head]
    near = get_close_matches(name, known, n=5, cutoff=0.4) or list(known)[:12]
    raise QueryFailed(f"unknown column '{name}'. Nearest columns: {', '.join(near)}.")


def _as_text(found: tuple[str, TableColumn]) -> str:
    expression, column = found
    if column.is_nested and expression == quoted(column.name):
        expression = f"to_json({expression})"
    return f"CAST({expression} AS VARCHAR)"


def _text_value(values: Sequence[str | None]) -> str | None:
    """Return the text of one column, or of several as a JSON list; None if all are blank."""
    if not any(value and value.strip() for value in values):
        return None
    return (values[0] or "").strip() if len(values) == 1 else compact_json(list(values))


def coverage_by_dataset(entries: Mapping[str, SealedDataset], names: Sequence[str]) -> dict[str, Coverage]:
    """Return the coverage of some datasets."""
    return {name: entries[name].coverage for name in names}
