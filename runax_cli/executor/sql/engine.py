"""The engine: SQL over sealed datasets, in an in-memory DuckDB that may read one folder and nothing else.

Knows tables, one SELECT at a time, limits of time and memory. Knows nothing of models. Blocking: callers run it off
the event loop. The lock-down follows DuckDB's "Securing DuckDB" guide.
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
    columns_of,
    identifier,
    literal,
    quoted,
    typed_columns,
)
from runax_cli.executor.sql.lineage import ColumnLineage, column_lineage, filter_values

TIME_LIMIT_S = 30.0
MEMORY_LIMIT = "1GB"
KEPT_ROWS = 1000
_BATCH = 2048
_STOPPING_S = 0.02
_WORD = re.compile(r'"((?:[^"]|"")+)"|([^\W\d]\w*)')


class QueryFailed(RunaxError):
    """A statement was refused or failed; the message says why and names what comes nearest."""


@dataclass(frozen=True, slots=True)
class QueryableTable:
    """A table that can be queried: its columns, those offered beside columns of text, and the views it is made of."""

    name: str
    path: Path
    columns: tuple[TableColumn, ...]
    typed: tuple[TypedColumn, ...] = ()
    views: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of one SELECT: `rows` holds the first of all `n_rows`; `tables` are those it read.

    `sources` says of each column what it depends on, `filters` are the literals of its conditions; empty and None
    where the statement could not be analyzed.
    """

    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    n_rows: int
    tables: tuple[str, ...]
    sources: tuple[ColumnLineage, ...] = ()
    filters: tuple[str, ...] | None = None


class SqlEngine:
    """Tables over Parquet files in one folder. One statement runs at a time; threads may share an engine."""

    def __init__(self, folder: Path, *, time_limit_s: float = TIME_LIMIT_S, memory_limit: str = MEMORY_LIMIT) -> None:
        self.folder = folder.resolve()
        # Replaced as a whole, under the lock, and never changed in place: statements that are over look names up here.
        self.tables: Mapping[str, QueryableTable] = {}
        self._time_limit_s = time_limit_s
        self._is_closed = False
        self._lock = threading.Lock()
        self._connection = _locked_down(self.folder, memory_limit)

    def add(self, name: str, path: Path) -> QueryableTable:
        """Make a sealed file known as `name`, with a column `row` (from 1) in front and typed columns at the end."""
        with self._alone():
            raw = f"raw_{name}"
            view = _view(raw, path, ())
            self._connection.execute(view)
            columns = columns_of(self._connection, raw)
            if zoned := tuple(column for column in columns if ZONED in column.type):
                view = _view(raw, path, zoned)
                self._connection.execute(view)
                columns = columns_of(self._connection, raw)
            typed = typed_columns(self._connection, raw, columns)
            offered = "".join(f", {t.expression} AS {quoted(t.name)}" for t in typed)
            statement = f"CREATE OR REPLACE VIEW {quoted(name)} AS SELECT *{offered} FROM {quoted(raw)}"  # noqa: S608
            self._connection.execute(statement)
            table = QueryableTable(name, path, columns_of(self._connection, name), typed, (view, statement))
            self.tables = {**self.tables, name: table}
            return table

    def add_labels(self, name: str, path: Path, *, of: str, joined: str) -> None:
        """Make labels (a file with a column `row`) known as `name`, and the table `of` with them as `joined`."""
        with self._alone():
            source = f"read_parquet({literal(str(path.resolve()))})"
            views = {
                name: f"CREATE OR REPLACE VIEW {quoted(name)} AS SELECT * FROM {source}",  # noqa: S608
                joined: f"CREATE OR REPLACE VIEW {quoted(joined)} AS "  # noqa: S608
                f"SELECT * FROM {quoted(of)} LEFT JOIN {quoted(name)} USING (row)",
            }
            for table, view in views.items():
                self._connection.execute(view)
                made = QueryableTable(table, path, columns_of(self._connection, table), views=(view,))
                self.tables = {**self.tables, table: made}

    def define(self, tables: Mapping[str, QueryableTable]) -> None:
        """Create the views of tables that another engine over the same folder has looked at already."""
        with self._alone():
            for view in (view for table in tables.values() for view in table.views):
                self._connection.execute(view)
            self.tables = {**self.tables, **tables}

    def interrupt(self) -> None:
        """Stop the statement that runs; it fails as one over its limit of time does."""
        self._connection.interrupt()

    def select(self, sql: str, *, most: int | None = KEPT_ROWS) -> QueryResult:
        """Run one SELECT and keep `most` rows (None: all); QueryFailed for any other statement, an error, a limit."""
        with self._alone():
            statement = self._only_select(sql)
            with self._time_limit():
                cursor = self._run(statement)
                columns = tuple(str(entry[0]) for entry in cursor.description or ())
                rows, n_rows = self._fetched(cursor, statement, most=most)
            sources, filters = self._analyzed(statement, len(columns))
        return QueryResult(statement, columns, rows, n_rows, self._tables_in(statement), sources, filters)

    def close(self) -> None:
        """Close the connection; a statement that still runs is stopped first. A second call changes nothing."""
        self._is_closed = True
        # One that is only about to begin does not hear it: then once more.
        while not self._lock.acquire(timeout=_STOPPING_S):
            self._connection.interrupt()
        try:
            self._connection.close()
        finally:
            self._lock.release()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The connection takes one statement at a time, and none once it is closed."""
        with self._lock:
            if self._is_closed:
                raise QueryFailed("the tables are closed: the session is over.")
            yield

    def _only_select(self, sql: str) -> str:
        import duckdb

        try:
            statements = self._connection.extract_statements(sql)
        except duckdb.Error as error:
            message = f"the statement cannot be read: {_first_line(error)}.{self._unquoted(sql)}"
            raise QueryFailed(message) from error
        if len(statements) != 1:
            raise QueryFailed(f"one statement at a time; this text has {len(statements)}. Send a single SELECT.")
        if statements[0].type != duckdb.StatementType.SELECT:
            kind = statements[0].type.name
            raise QueryFailed(f"only SELECT is allowed, and this is '{kind}'. Tables are read-only.")
        return sql.strip().rstrip(";").strip()

    def _analyzed(self, statement: str, n_columns: int) -> tuple[tuple[ColumnLineage, ...], tuple[str, ...] | None]:
        import duckdb

        try:
            found = self._connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchone()
        except duckdb.Error:
            return (), None
        serialized = json.loads(found[0]) if found else {"error": True}
        tables = {name: [column.name for column in table.columns] for name, table in self.tables.items()}
        sources = column_lineage(serialized, tables)
        # A star over columns that are not known by name gives another number of columns: nothing is known then.
        known = sources if len(sources) == n_columns else ()
        return known, None if serialized.get("error") else filter_values(serialized)

    def _run(self, statement: str) -> Any:
        import duckdb

        try:
            cursor = self._connection.execute(statement)
            unzoned = _unzoned(statement, [(str(name), str(kind)) for name, kind, *_ in cursor.description or ()])
            return self._connection.execute(unzoned) if unzoned else cursor
        except duckdb.Error as error:
            raise self._failed(error, statement) from error

    def _fetched(self, cursor: Any, statement: str, *, most: int | None) -> tuple[tuple[tuple[Any, ...], ...], int]:
        import duckdb

        kept: list[tuple[Any, ...]] = []
        n_rows = 0
        try:
            while batch := cursor.fetchmany(_BATCH):
                kept += batch if most is None else batch[: max(0, most - n_rows)]
                n_rows += len(batch)
        except duckdb.Error as error:
            raise self._failed(error, statement) from error
        return tuple(kept), n_rows

    @contextmanager
    def _time_limit(self) -> Iterator[None]:
        timer = threading.Timer(self._time_limit_s, self._connection.interrupt)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _failed(self, error: Exception, statement: str) -> QueryFailed:
        import duckdb

        if isinstance(error, duckdb.InterruptException):
            return QueryFailed(over_time(self._time_limit_s))
        return QueryFailed(f"{_first_line(error)}{self._nearest(str(error), statement)}")

    def _unquoted(self, sql: str) -> str:
        """What to do where a word of SQL may have been meant as a column's name."""
        bare = {word.casefold() for _, word in _WORD.findall(sql) if word}
        names = (c.name for table in self.tables.values() for c in table.columns)
        meant = sorted({quoted(n) for n in names if n.casefold() in bare and identifier(n.casefold()) != n.casefold()})
        return f" Words of SQL that are columns here need double quotes: {', '.join(meant)}." if meant else ""

    def _nearest(self, message: str, statement: str) -> str:
        """The names that come nearest to one that is not known."""
        unknown = re.search(r'(?:column|Table with name) "?([^"!\n]+?)"? (?:not found|does not exist)', message)
        if unknown is None:
            return ""
        if "Table" in message.split("\n", 1)[0]:
            return f" Tables: {', '.join(self.tables) or 'none yet'}."
        meant = [self.tables[name] for name in self._tables_in(statement)] or list(self.tables.values())
        names = {c.name: f"{c.name} ({table.name})" for table in meant for c in table.columns}
        near = difflib.get_close_matches(unknown[1], list(names), n=5, cutoff=0.4) or list(names)[:12]
        return f" Nearest columns: {', '.join(names[name] for name in near)}."

    def _tables_in(self, sql: str) -> tuple[str, ...]:
        words = {(a.replace('""', '"') if a else b).casefold() for a, b in _WORD.findall(sql)}
        return tuple(name for name in self.tables if name.casefold() in words)


def over_time(limit_s: float) -> str:
    """What is told of a statement that ran longer than it may."""
    return f"the statement ran over its limit of {limit_s:g} s. Filter or group earlier."


def _locked_down(folder: Path, memory_limit: str) -> Any:
    import duckdb

    connection = duckdb.connect()
    settings: Mapping[str, str] = {
        "memory_limit": literal(memory_limit),
        "threads": "2",
        "TimeZone": "'UTC'",
        "temp_directory": "''",
        "allowed_directories": f"[{literal(f'{folder}/')}]",
        "enable_external_access": "false",
        "lock_configuration": "true",
    }
    for name, value in settings.items():
        connection.execute(f"SET {name} = {value}")
    return connection


def _view(name: str, path: Path, zoned: tuple[TableColumn, ...]) -> str:
    """The file with row numbers; instants become timestamps in UTC, which need no time zone to compare or to fetch."""
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
    """The statement with instants as timestamps in UTC, since no others can be fetched; None where it has no instants.

    `columns` are names and types of the result.
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
