"""Run SQL over sealed datasets, in the sandbox of `sandbox.py`.

Only one SELECT at a time is accepted, within limits of time and memory. Blocking: callers run it off the event loop.
"""

import difflib
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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

TIME_LIMIT_S = 30.0
MEMORY_LIMIT = "1GB"
MAX_ROWS = 1000
_FETCH_ROWS = 2048
_CLOSE_RETRY_S = 0.02
_WORD = re.compile(r'"((?:[^"]|"")+)"|([^\W\d]\w*)')


class QueryFailed(RunaxError):
    """A statement was rejected or failed. The message names the closest tables or columns."""


@dataclass(frozen=True, slots=True)
class QueryableTable:
    """A table that can be queried: all its columns, the typed ones among them, and the views that define it."""

    name: str
    path: Path
    columns: tuple[TableColumn, ...]
    typed: tuple[TypedColumn, ...] = ()
    views: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of one SELECT: `rows` are the first of `n_rows`; `tables` are those that it read.

    `sources` is the lineage of each column, `filters` are the literals of the conditions, `shape` is the structure of
    the statement. They are empty and None if the statement could not be analyzed.
    """

    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    n_rows: int
    tables: tuple[str, ...]
    sources: tuple[ColumnLineage, ...] = ()
    filters: tuple[str, ...] | None = None
    shape: QueryShape | None = None


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
            table = QueryableTable(name, path, describe_columns(self._connection, name), typed, (view, statement))
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
                added = QueryableTable(table, path, describe_columns(self._connection, table), views=(view,))
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

    def select(self, sql: str, *, max_rows: int | None = MAX_ROWS) -> QueryResult:
        """Run one SELECT and keep `max_rows` of its rows (None: all). Raises QueryFailed for anything else."""
        with self._locked():
            statement = self._only_select(sql)
            with self._time_limit():
                cursor = self._run(statement)
                columns = tuple(str(entry[0]) for entry in cursor.description or ())
                rows, n_rows = self._fetch(cursor, statement, max_rows=max_rows)
            sources, filters, shape = self._analyze(statement, len(columns))
        return QueryResult(statement, columns, rows, n_rows, self._tables_in(statement), sources, filters, shape)

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
        return sql.strip().rstrip(";").strip()

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
        sources = column_lineage(serialized, tables)
        # A different number of columns means that a star was expanded wrongly, so the lineage is unknown.
        known = sources if len(sources) == n_columns else ()
        filters = None if serialized.get("error") else filter_values(serialized)
        return known, filters, query_shape(serialized)

    def _run(self, statement: str) -> Any:
        import duckdb

        try:
            cursor = self._connection.execute(statement)
            unzoned = _unzoned(statement, [(str(name), str(kind)) for name, kind, *_ in cursor.description or ()])
            return self._connection.execute(unzoned) if unzoned else cursor
        except duckdb.Error as error:
            raise self._query_failed(error, statement) from error

    def _fetch(self, cursor: Any, statement: str, *, max_rows: int | None) -> tuple[tuple[tuple[Any, ...], ...], int]:
        import duckdb

        kept: list[tuple[Any, ...]] = []
        n_rows = 0
        try:
            while batch := cursor.fetchmany(_FETCH_ROWS):
                kept += batch if max_rows is None else batch[: max(0, max_rows - n_rows)]
                n_rows += len(batch)
        except duckdb.Error as error:
            raise self._query_failed(error, statement) from error
        return tuple(kept), n_rows

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


def _unzoned(statement: str, columns: Sequence[tuple[str, str]]) -> str | None:
    """Return the statement with times with zone as timestamps in UTC, which can be fetched without a time zone library.

    `columns` are the names and types of its result. None if it has no such column.
    """
    if not any(ZONED in kind for _, kind in columns):
        return None
    values = ", ".join(
        (f"CAST(c{at} AS {kind.replace(ZONED, 'TIMESTAMP')})" if ZONED in kind else f"c{at}") + f" AS {quoted(name)}"
        for at, (name, kind) in enumerate(columns)
    )
    names = ", ".join(f"c{at}" for at in range(len(columns)))
    return f"SELECT {values} FROM ({statement}\n) AS result({names})"  # noqa: S608


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
