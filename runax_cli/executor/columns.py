"""Columns of a table: what they hold, and how columns of text read as numbers or dates.

Knows SQL expressions and what was measured over all records. Opens nothing: connections are handed in.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

SHORT_CHARS = 40
FITTING_SHARE = 0.5

_CURRENCY = "([$€£¥]|Kč|CZK|USD|EUR|GBP)"
_POINT = r"[-+]?(\d{1,3}([ ,'\x{00A0}\x{202F}]\d{3})+|\d+)(\.\d+)?([eE][-+]?\d+)?"
_COMMA = r"[-+]?(\d{1,3}([ .\x{00A0}\x{202F}]\d{3})+|\d+)(,\d+)?"
_DOTTED = ("%d.%m.%Y", "%d. %m. %Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d. %m. %Y %H:%M")
_DAY_FIRST = ("%d/%m/%Y", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d-%m-%Y")
_MONTH_FIRST = ("%m/%d/%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m-%d-%Y", "%m/%d/%Y %I:%M %p")
_WORDED = (
    "%a %b %d %H:%M:%S %Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y",
    "%d/%b/%Y:%H:%M:%S", "%a, %d %b %Y %H:%M:%S", "%d %b %Y %H:%M", "%d %b %Y %H:%M:%S",
)  # fmt: skip


class Connection(Protocol):
    """What is needed of a DuckDB connection or cursor."""

    def execute(self, query: str) -> Any:
        """Run one statement."""


class Reading(StrEnum):
    """As what a column of text can be read."""

    NUMBER = "number"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table: its name, its DuckDB type."""

    name: str
    type: str

    @property
    def is_text(self) -> bool:
        """Whether values are text, or JSON of mixed types."""
        return self.type in {"VARCHAR", "JSON"}

    @property
    def is_nested(self) -> bool:
        """Whether values are lists, structures or maps."""
        return self.type.endswith("]") or self.type.startswith(("STRUCT", "MAP"))


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column offered beside a text column: `expression` computes it, `misfits` values of the original don't fit."""

    name: str
    source: str
    reading: Reading
    expression: str
    misfits: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Fits:
    """How many non-blank values of a text column fit each notation."""

    filled: int
    point: int
    comma: int
    coded: int
    iso: int
    dotted: int
    day_first: int
    month_first: int
    worded: int


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def columns_of(connection: Connection, table: str) -> tuple[Column, ...]:
    """The columns of a table or view, in order."""
    rows = connection.execute(f"DESCRIBE {quoted(table)}").fetchall()
    return tuple(Column(row[0], row[1]) for row in rows)


def typed_columns(connection: Connection, table: str, columns: tuple[Column, ...]) -> tuple[TypedColumn, ...]:
    """Numbers and dates that are written as text, wherever at least half of the values fit; over all records."""
    taken = {column.name.casefold() for column in columns}
    found = []
    for column in columns:
        typed = _typed(connection, table, column) if column.is_text else None
        if typed is not None and typed.name.casefold() not in taken:
            found.append(typed)
    return tuple(found)


def _typed(connection: Connection, table: str, column: Column) -> TypedColumn | None:
    text = _text_of(column)
    fits = _measured(connection, table, text)
    if not fits.filled:
        return None
    numbers = max(fits.point, fits.comma)
    if numbers >= FITTING_SHARE * fits.filled:
        return None if fits.coded else _number(column, text, fits)
    dates = _date_count(connection, table, _date_expression(text, fits))
    if dates >= FITTING_SHARE * fits.filled:
        note = "day and month are ambiguous, read as month/day" if _is_ambiguous(fits) else ""
        expression = _date_expression(text, fits)
        return TypedColumn(f"{column.name}_date", column.name, Reading.DATE, expression, fits.filled - dates, note)
    return None


def _number(column: Column, text: str, fits: _Fits) -> TypedColumn:
    is_point = fits.point >= fits.comma
    bare = f"regexp_replace({text}, '{_CURRENCY}|%|[^0-9.,eE+-]', '', 'g')"
    plain = f"replace({bare}, ',', '')" if is_point else f"replace(replace({bare}, '.', ''), ',', '.')"
    fitting = _number_test(text, _POINT if is_point else _COMMA)
    expression = f"CASE WHEN {fitting} THEN TRY_CAST({plain} AS DOUBLE) END"
    note = "" if is_point else "decimal comma"
    misfits = fits.filled - max(fits.point, fits.comma)
    return TypedColumn(f"{column.name}_num", column.name, Reading.NUMBER, expression, misfits, note)


def _measured(connection: Connection, table: str, text: str) -> _Fits:
    def count(test: str) -> str:
        return f"count(*) FILTER (length({text}) <= {SHORT_CHARS} AND ({test}))"

    tests = (
        _number_test(text, _POINT), _number_test(text, _COMMA), rf"regexp_full_match(trim({text}), '0\d+')",
        f"TRY_CAST({text} AS TIMESTAMP) IS NOT NULL",
        *(f"{_strptime(text, formats)} IS NOT NULL" for formats in (_DOTTED, _DAY_FIRST, _MONTH_FIRST, _WORDED)),
    )  # fmt: skip
    figures = ", ".join([f"count(*) FILTER (trim({text}) <> '')", *map(count, tests)])
    row = connection.execute(f"SELECT {figures} FROM {quoted(table)}").fetchone()  # noqa: S608
    return _Fits(*row)


def _date_count(connection: Connection, table: str, expression: str) -> int:
    statement = f"SELECT count({expression}) FROM {quoted(table)}"  # noqa: S608
    counted: int = connection.execute(statement).fetchone()[0]
    return counted


def _date_expression(text: str, fits: _Fits) -> str:
    slashes = _DAY_FIRST if fits.day_first > fits.month_first else _MONTH_FIRST
    readings = [f"TRY_CAST({text} AS TIMESTAMP)", *(_strptime(text, f) for f in (_DOTTED, slashes, _WORDED))]
    return f"CASE WHEN length({text}) <= {SHORT_CHARS} THEN coalesce({', '.join(readings)}) END"


def _is_ambiguous(fits: _Fits) -> bool:
    return fits.day_first > 0 and fits.day_first == fits.month_first


def _strptime(text: str, formats: tuple[str, ...]) -> str:
    listed = ", ".join(literal(f) for f in formats)
    return f"try_strptime(trim({text}), [{listed}])"


def _number_test(text: str, number: str) -> str:
    pattern = rf"\s*{_CURRENCY}?\s*{number}\s*({_CURRENCY}|%)?\s*"
    return f"regexp_full_match({text}, {literal(pattern)})"


def _text_of(column: Column) -> str:
    return f"({quoted(column.name)} ->> '$')" if column.type == "JSON" else quoted(column.name)
