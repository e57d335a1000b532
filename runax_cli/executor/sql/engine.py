"""Run SQL over sealed datasets, in the sandbox of `sandbox.py`.

Only one SELECT at a time is accepted, within limits of time and memory. Blocking: callers run it off the event loop.
"""

import difflib
import errno
import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runax_cli.core.errors import RunaxError
from runax_cli.executor.sql.columns import (
    ZONED,
    TableColumn,
    TypedColumn,
    describe_columns,
    identifier,
    literal,
    quoted,
    typed_columns,
)
from runax_cli.executor.sql.lineage import ColumnLineage, column_lineage, filter_values
from runax_cli.executor.sql.query_shape import QueryShape, query_shape
from runax_cli.executor.sql.sandbox import open_sandbox
from runax_cli.executor.sql.stored_result import StoreRequest, cast_columns, copy_statements, first_rows, unzoned

TIME_LIMIT_S = 30.0
MEMORY_LIMIT = "1GB"
MAX_ROWS = 1000
_FETCH_ROWS = 2048
_CLOSE_RETRY_S = 0.02
_FEWER_ROWS = 10
_WORD = re.compile(r'"((?:[^"]|"")+)"|([^\W\d]\w*)')


class QueryFailed(RunaxError):
    """A statement was rejected or failed. The message names the closest tables or columns."""


@dataclass(frozen=True, slots=True)
class QueryableTable:
    """A table that can be queried: all its columns, the typed ones among them, and the views that define it.

    `rows_of` is the dataset that its column `row` counts.
    """

    name: str
    path: Path
    columns: tuple[TableColumn, ...]
    typed: tuple[TypedColumn, ...] = ()
    views: tuple[str, ...] = ()
    rows_of: str = ""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of one SELECT: `rows` are the first of `n_rows`; `tables` are those that it read.

    `sources` is the lineage of each column, `filters` are the literals of the conditions, `shape` is the structure of
    the statement. They are empty and None if the statement could not be analyzed.
    `is_stored`: the requested file has the whole result; `not_stored` says why it could not be written.
    """

    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    n_rows: int
    tables: tuple[str, ...]
    sources: tuple[ColumnLineage, ...] = ()
    filters: tuple[str, ...] | None = None
    shape: QueryShape | None = None
    is_stored: bool = False
    not_stored: str = ""


@dataclass(frozen=True, slots=True)
class _Fetched:
    """The columns of a result, its first rows, and the number of all of them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    n_rows: int


class _NotStored(Exception):
    """The result could not be written; the statement itself may still run."""


class SqlEngine:
    """Tables over the Parquet files of one folder. One statement runs at a time; threads may share an engine."""

    def __init__(self, folder: Path, *, time_limit_s: float = TIME_LIMIT_S, memory_limit: str = MEMORY_LIMIT) -> None:
        self.folder = folder.resolve()
        # Replaced as a whole under the lock, never changed in place: finished statements read it without the lock.
        self.tables: Mapping[str, QueryableTable] = {}
        self._time_limit_s = time_limit_s
        self._is_closed = False
        self._lock = threading.Lock()
        self._connection = open_sandbox(self.folder, memory_limit)

    def add_table(self, name: str, path: Path) -> QueryableTable:
        """Add a sealed file as table `name`, with a column `row` (from 1) in front and typed columns at the end."""
        with self._locked():
            raw = f"raw_{name}"
            view = _view(raw, path, ())
            self._connection.execute(view)
            columns = describe_columns(self._connection, raw)
            if zoned := tuple(column for column in columns if ZONED in column.type):
                view = _view(raw, path, zoned)
                self._connection.execute(view)
                columns = describe_columns(self._connection, raw)
            typed = typed_columns(self._connection, raw, columns)
            typed_sql = "".join(f", {t.expression} AS {quoted(t.name)}" for t in typed)
            statement = f"CREATE OR REPLACE VIEW {quoted(name)} AS SELECT *{typed_sql} FROM {quoted(raw)}"  # noqa: S608
            self._connection.execute(statement)
            described = describe_columns(self._connection, name)
            table = QueryableTable(name, path, described, typed, (view, statement), rows_of=name)
            self.tables = {**self.tables, name: table}
            return table

    def add_labels(self, name: str, path: Path, *, of: str, joined: str) -> None:
        """Add a file of labels (with a column `row`) as table `name`, and its join with table `of` as view `joined`."""
        with self._locked():
            source = f"read_parquet({literal(str(path.resolve()))})"
            views = {
                name: f"CREATE OR REPLACE VIEW {quoted(name)} AS SELECT * FROM {source}",  # noqa: S608
                joined: f"CREATE OR REPLACE VIEW {quoted(joined)} AS "  # noqa: S608
                f"SELECT * FROM {quoted(of)} LEFT JOIN {quoted(name)} USING (row)",
            }
            for table, view in views.items():
                self._connection.execute(view)
                described = describe_columns(self._connection, table)
                added = QueryableTable(table, path, described, views=(view,), rows_of=of)
                self.tables = {**self.tables, table: added}

    def define(self, tables: Mapping[str, QueryableTable]) -> None:
        """Create the views of tables that another engine over the same folder has already measured."""
        with self._locked():
            for view in (view for table in tables.values() for view in table.views):
                self._connection.execute(view)
            self.tables = {**self.tables, **tables}

    def interrupt(self) -> None:
        """Interrupt the running statement; it fails like one that exceeds the time limit."""
        self._connection.interrupt()

    def select(self, sql: str, *, max_rows: int | None = MAX_ROWS, store: StoreRequest | None = None) -> QueryResult:
        """Run one SELECT and keep `max_rows` of its rows (None: all). Raises QueryFailed for anything else.

        With `store` all rows are written to a Parquet file, in order, without holding them in memory.
        """
        with self._locked():
            statement = self._only_select(sql)
            not_stored = ""
            with self._time_limit():
                try:
                    found = self._fetch_all(statement, max_rows) if store is None else self._store(statement, store)
                except _NotStored as error:
                    found, not_stored = self._fetch_all(statement, max_rows), str(error)
            sources, filters, shape = self._analyze(statement, len(found.columns))
        is_stored = store is not None and not not_stored
        return QueryResult(
            statement,
            found.columns,
            found.rows if max_rows is None else found.rows[:max_rows],
            found.n_rows,
            self._tables_in(statement),
            sources,
            filters,
            shape,
            is_stored,
            not_stored,
        )

    def close(self) -> None:
        """Close the connection. A running statement is interrupted first. Closing twice is allowed."""
        self._is_closed = True
        # A statement that is only about to start ignores the interrupt, so it is repeated.
        while not self._lock.acquire(timeout=_CLOSE_RETRY_S):
            self._connection.interrupt()
        try:
            self._connection.close()
        finally:
            self._lock.release()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the connection for one statement. Raises QueryFailed once it is closed."""
        with self._lock:
            if self._is_closed:
                raise QueryFailed("the tables are closed because the session has ended.")
            yield

    def _only_select(self, sql: str) -> str:
        import duckdb

        try:
            statements = self._connection.extract_statements(sql)
        except duckdb.Error as error:
            message = f"the statement cannot be parsed: {_first_line(error)}.{self._quoting_hint(sql)}"
            raise QueryFailed(message) from error
        if len(statements) != 1:
            raise QueryFailed(f"expected one statement, got {len(statements)}. Send a single SELECT.")
        if statements[0].type != duckdb.StatementType.SELECT:
            kind = statements[0].type.name
            raise QueryFailed(f"only SELECT is allowed, got '{kind}'. Tables are read-only.")
        return self._without_tail(sql)

    def _without_tail(self, sql: str) -> str:
        """The statement without its semicolon and what follows that, so that it can stand in parentheses."""
        import duckdb

        for match in re.finditer(";", sql):
            with suppress(duckdb.Error):
                if not self._connection.extract_statements(sql[match.end() :]):
                    return sql[: match.start()].strip()
        return sql.strip()

    def _analyze(
        self, statement: str, n_columns: int
    ) -> tuple[tuple[ColumnLineage, ...], tuple[str, ...] | None, QueryShape | None]:
        import duckdb

        try:
            found = self._connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchone()
        except duckdb.Error:
            return (), None, None
        serialized = json.loads(found[0]) if found else {"error": True}
        tables = {name: [column.name for column in table.columns] for name, table in self.tables.items()}
        rows_of = {name: table.rows_of for name, table in self.tables.items()}
        sources = column_lineage(serialized, tables, rows_of)
        # A different number of columns means that a star was expanded wrongly, so the lineage is unknown.
        known = sources if len(sources) == n_columns else ()
        filters = None if serialized.get("error") else filter_values(serialized)
        return known, filters, query_shape(serialized)

    def _store(self, statement: str, request: StoreRequest) -> _Fetched:
        """Write the whole result to a file and read its first rows from there. Raises QueryFailed and _NotStored."""
        described = [
            (str(name), str(kind)) for name, kind, *_ in self._execute(f"DESCRIBE (\n{statement}\n)", statement)
        ]
        why = "the result has no columns"
        for copy in copy_statements(statement, described, request.path):
            try:
                n_rows = self._copy(copy, request, statement)
                return _Fetched(tuple(name for name, _ in described), self._first_rows(request.path), n_rows)
            except _NotStored as error:
                why = str(error)
        raise _NotStored(why)

    def _copy(self, copy: str, request: StoreRequest, statement: str) -> int:
        import duckdb

        try:
            with file_size_limit(request.max_bytes):
                row = self._connection.execute(copy).fetchone()
        except duckdb.InterruptException as error:
            raise self._query_failed(error, statement) from error
        except duckdb.Error as error:
            is_too_large = os.strerror(errno.EFBIG) in str(error)
            limit = f"it takes more than the {request.max_bytes:,} bytes that are left for stored results"
            raise _NotStored(limit if is_too_large else _first_line(error)) from error
        return int(row[0]) if row else 0

    def _first_rows(self, path: Path) -> tuple[tuple[Any, ...], ...]:
        """Read the first rows of a stored result; fewer if they do not fit into memory."""
        import duckdb

        n_rows = MAX_ROWS
        while n_rows:
            try:
                return tuple(self._connection.execute(first_rows(path, n_rows)).fetchall())
            except (duckdb.OutOfMemoryException, MemoryError):
                n_rows //= _FEWER_ROWS
            except duckdb.Error as error:
                raise self._query_failed(error, "") from error
        return ()

    def _execute(self, sql: str, statement: str) -> list[tuple[Any, ...]]:
        import duckdb

        try:
            return list(self._connection.execute(sql).fetchall())
        except duckdb.Error as error:
            raise self._query_failed(error, statement) from error

    def _fetch_all(self, statement: str, max_rows: int | None) -> _Fetched:
        """Run a statement, keep its first rows and count all of them."""
        import duckdb

        kept: list[tuple[Any, ...]] = []
        n_rows = 0
        try:
            cursor = self._connection.execute(statement)
            described = [(str(name), str(kind)) for name, kind, *_ in cursor.description or ()]
            if any(ZONED in kind for _, kind in described):
                casts = [unzoned(kind) for _, kind in described]
                cursor = self._connection.execute(cast_columns(statement, described, casts))
            while batch := cursor.fetchmany(_FETCH_ROWS):
                kept += batch if max_rows is None else batch[: max(0, max_rows - n_rows)]
                n_rows += len(batch)
        except duckdb.Error as error:
            raise self._query_failed(error, statement) from error
        return _Fetched(tuple(name for name, _ in described), tuple(kept), n_rows)

    @contextmanager
    def _time_limit(self) -> Iterator[None]:
        timer = threading.Timer(self._time_limit_s, self._connection.interrupt)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _query_failed(self, error: Exception, statement: str) -> QueryFailed:
        import duckdb

        if isinstance(error, duckdb.InterruptException):
            return QueryFailed(timeout_message(self._time_limit_s))
        return QueryFailed(f"{_first_line(error)}{self._suggestion(str(error), statement)}")

    def _quoting_hint(self, sql: str) -> str:
        """Name the columns that are SQL keywords and were used without quotes."""
        bare = {word.casefold() for _, word in _WORD.findall(sql) if word}
        names = (c.name for table in self.tables.values() for c in table.columns)
        keywords = sorted(
            {quoted(n) for n in names if n.casefold() in bare and identifier(n.casefold()) != n.casefold()}
        )
        return f" Columns that are SQL keywords need double quotes: {', '.join(keywords)}." if keywords else ""

    def _suggestion(self, message: str, statement: str) -> str:
        """Name the tables or columns that are closest to an unknown one."""
        unknown = re.search(r'(?:column|Table with name) "?([^"!\n]+?)"? (?:not found|does not exist)', message)
        if unknown is None:
            return ""
        if "Table" in message.split("\n", 1)[0]:
            return f" Tables: {', '.join(self.tables) or 'none yet'}."
        tables = [self.tables[name] for name in self._tables_in(statement)] or list(self.tables.values())
        names = {c.name: f"{c.name} ({table.name})" for table in tables for c in table.columns}
        near = difflib.get_close_matches(unknown[1], list(names), n=5, cutoff=0.4) or list(names)[:12]
        return f" Nearest columns: {', '.join(names[name] for name in near)}."

    def _tables_in(self, sql: str) -> tuple[str, ...]:
        words = {(a.replace('""', '"') if a else b).casefold() for a, b in _WORD.findall(sql)}
        return tuple(name for name in self.tables if name.casefold() in words)


def timeout_message(limit_s: float) -> str:
    """Return the message for a statement that exceeded its time limit."""
    return f"the statement timed out after {limit_s:g} s. Filter or group earlier."


def too_large_message(max_bytes: int) -> str:
    """Return the message for a result that is larger than it may be."""
    return f"the result is larger than {max_bytes / 2**20:,.0f} MiB. Select fewer columns or rows, or aggregate."


@contextmanager
def file_size_limit(max_bytes: int) -> Iterator[None]:
    """Let no file of this process grow beyond `max_bytes` (0: no limit); the kernel keeps the limit."""
    if not max_bytes or sys.platform == "win32":
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    most = max_bytes if before[1] == resource.RLIM_INFINITY else min(max_bytes, before[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _view(name: str, path: Path, zoned: tuple[TableColumn, ...]) -> str:
    """Return the view of a file with row numbers. Times with zone become timestamps in UTC, without a zone."""
    source = f"read_parquet({literal(str(path.resolve()))}, file_row_number=true)"
    casts = ", ".join(
        f"CAST({quoted(c.name)} AS {c.type.replace(ZONED, 'TIMESTAMP')}) AS {quoted(c.name)}" for c in zoned
    )
    replaced = f" REPLACE ({casts})" if casts else ""
    return (
        f"CREATE OR REPLACE VIEW {quoted(name)} AS "  # noqa: S608
        f"SELECT file_row_number + 1 AS row, * EXCLUDE (file_row_number){replaced} FROM {source}"
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
