"""Columns of a table: what they hold, and how columns of text read as numbers or dates.

Knows SQL expressions and what was measured over all records. Opens nothing: connections are handed in.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

SHORT_CHARS = 40
FITTING_SHARE = 0.5
CODED_SHARE = 0.01
_SAMPLED = 2000
ZONED = "TIMESTAMP WITH TIME ZONE"

_STRUCTURE = re.compile(r"STRUCT\((.*)\)(?:\[\])?", re.DOTALL)
_TYPE_TOKEN = re.compile(r'"(?:[^"]|"")*"|[(),]|[^(),"]+')
_FIELD = re.compile(r'(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^" ]+)) (?P<type>.*)', re.DOTALL)
_CURRENCY = "([$€£¥]|Kč|CZK|USD|EUR|GBP)"
_POINT = r"[-+]?(\d{1,3}([ ,'\x{00A0}\x{202F}]\d{3})+|\d+)(\.\d+)?([eE][-+]?\d+)?"
_COMMA = r"[-+]?(\d{1,3}([ .\x{00A0}\x{202F}]\d{3})+|\d+)(,\d+)?"
_CODE = r"0\d+|\+\d[\d ()-]{7,}"
"""Leading zeros, and telephone numbers: what has digits and is no quantity."""
_LONG_CODE = r"\d{8,}"
"""Where all values of a column are such and equally long: numbers of invoices, accounts, registers."""
_LIKE_DOTTED = r"^\s*\d{1,2}\. ?\d{1,2}\. ?\d{4}"
_LIKE_SLASHED = r"^\s*\d{1,2}[/-]\d{1,2}[/-]\d{4}"
_LIKE_WORDED = r"^\s*(\d{1,2}[ /-])?[A-Z][a-z]{2,}.*\d"
_LIKE_ISO = r"^\s*\d{4}[-/]\d{1,2}[-/]\d{1,2}"
_DOTTED = ("%d.%m.%Y", "%d. %m. %Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d. %m. %Y %H:%M")
_DAY_FIRST = ("%d/%m/%Y", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%d-%m-%Y")
_MONTH_FIRST = ("%m/%d/%Y", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%m-%d-%Y", "%m/%d/%Y %I:%M %p")
_WORDED = (
    "%a %b %d %H:%M:%S %Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y",
    "%d/%b/%Y:%H:%M:%S", "%a, %d %b %Y %H:%M:%S", "%d %b %Y %H:%M", "%d %b %Y %H:%M:%S",
)  # fmt: skip


_WORDS_OF_SQL = frozenset(
    """
    all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case cast check
    collate collation column concurrently constraint create cross default deferrable desc describe distinct do else
    end except false fetch for foreign freeze from full glob group having ilike in initially inner intersect into is
    isnull join lambda lateral leading left like limit natural not notnull null offset on only or order outer
    overlaps pivot pivot_longer pivot_wider placing positional primary qualify references returning right select
    semi show similar some summarize symmetric table tablesample then to trailing true union unique unpack unpivot
    using variadic verbose when where window with
    """.split()
)
"""What DuckDB does not take for a column without quotes; a test asks it for each of its keywords."""


class SqlConnection(Protocol):
    """What is needed of a DuckDB connection or cursor."""

    def execute(self, query: str) -> Any:
        """Run one statement."""


class ColumnReading(StrEnum):
    """As what a column of text can be read."""

    NUMBER = "number"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class TableColumn:
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

    @property
    def is_list(self) -> bool:
        """Whether values are lists."""
        return self.type.endswith("]")

    @property
    def fields(self) -> tuple["TableColumn", ...]:
        """The fields of a structure, or of the structures in a list; none for other types."""
        inner = _STRUCTURE.fullmatch(self.type)
        return tuple(map(_field, _split(inner[1]))) if inner else ()


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column offered beside a text column: `expression` computes it, `misfits` values of the original don't fit."""

    name: str
    source: str
    reading: ColumnReading
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
    long_codes: int
    is_one_length: bool
    day_first: int
    month_first: int

    @property
    def is_coded(self) -> bool:
        """Whether digits name things here and count nothing."""
        return self.coded > CODED_SHARE * self.filled or (self.is_one_length and self.long_codes == self.filled > 1)


def identifier(name: str) -> str:
    """A name as SQL takes it, in quotes only where it needs them."""
    is_bare = name.isidentifier() and name.isascii() and name == name.lower() and name not in _WORDS_OF_SQL
    return name if is_bare else quoted(name)


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _split(fields: str) -> list[str]:
    """The fields of a structure's type at its commas, but for those inside of inner types and of quoted names."""
    parts, depth = [""], 0
    for token in _TYPE_TOKEN.findall(fields):
        depth += (token == "(") - (token == ")")  # noqa: S105
        if token == "," and depth == 0:  # noqa: S105
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts]


def _field(text: str) -> TableColumn:
    named = _FIELD.fullmatch(text)
    if named is None:
        return TableColumn(text, "")
    return TableColumn(named["bare"] or named["quoted"].replace('""', '"'), named["type"])


def describe_columns(connection: SqlConnection, table: str) -> tuple[TableColumn, ...]:
    """The columns of a table or view, in order."""
    rows = connection.execute(f"DESCRIBE {quoted(table)}").fetchall()
    return tuple(TableColumn(row[0], row[1]) for row in rows)


def typed_columns(connection: SqlConnection, table: str, columns: tuple[TableColumn, ...]) -> tuple[TypedColumn, ...]:
    """Numbers and dates that are written as text, wherever at least half of the values fit; over all records."""
    taken = {column.name.casefold() for column in columns}
    found = []
    for column in filter(lambda c: c.is_text and _is_promising(connection, table, c), columns):
        typed = _typed(connection, table, column)
        if typed is not None and typed.name.casefold() not in taken:
            found.append(typed)
    return tuple(found)


def _is_promising(connection: SqlConnection, table: str, column: TableColumn) -> bool:
    """Whether measuring all records is worth it: in a spread sample enough values look like numbers or dates."""
    text = _text_of(column)
    looks = [_number_test(text, _POINT), _number_test(text, _COMMA)]
    looks += [_looks(text, look) for look in (_LIKE_ISO, _LIKE_DOTTED, _LIKE_SLASHED, _LIKE_WORDED)]
    likely = f"length({text}) <= {SHORT_CHARS} AND ({' OR '.join(looks)})"
    filled_only = f"SELECT {quoted(column.name)} FROM {quoted(table)} WHERE trim({text}) <> ''"  # noqa: S608
    sampled = f"{filled_only} USING SAMPLE reservoir({_SAMPLED} ROWS) REPEATABLE (1)"
    statement = f"SELECT count(*), count(*) FILTER ({likely}) FROM ({sampled})"  # noqa: S608
    filled, fitting = connection.execute(statement).fetchone()
    return bool(fitting >= FITTING_SHARE / 2 * filled > 0)


def _typed(connection: SqlConnection, table: str, column: TableColumn) -> TypedColumn | None:
    text = _text_of(column)
    fits = _measured(connection, table, text)
    if not fits.filled:
        return None
    numbers = max(fits.point, fits.comma)
    if numbers >= FITTING_SHARE * fits.filled:
        return None if fits.is_coded else _number(column, text, fits)
    dates = _date_count(connection, table, _date_expression(text, fits))
    if dates >= FITTING_SHARE * fits.filled:
        note = "day and month are ambiguous, read as month/day" if _is_ambiguous(fits) else ""
        expression = _date_expression(text, fits)
        return TypedColumn(
            f"{column.name}_date", column.name, ColumnReading.DATE, expression, fits.filled - dates, note
        )
    return None


def _number(column: TableColumn, text: str, fits: _Fits) -> TypedColumn:
    is_point = fits.point >= fits.comma
    bare = f"regexp_replace({text}, '{_CURRENCY}|%|[^0-9.,eE+-]', '', 'g')"
    plain = f"replace({bare}, ',', '')" if is_point else f"replace(replace({bare}, '.', ''), ',', '.')"
    fitting = _number_test(text, _POINT if is_point else _COMMA)
    expression = f"CASE WHEN {fitting} THEN TRY_CAST({plain} AS DOUBLE) END"
    note = "" if is_point else "decimal comma"
    misfits = fits.filled - max(fits.point, fits.comma)
    return TypedColumn(f"{column.name}_num", column.name, ColumnReading.NUMBER, expression, misfits, note)


def _measured(connection: SqlConnection, table: str, text: str) -> _Fits:
    def count(test: str) -> str:
        return f"count(*) FILTER (length({text}) <= {SHORT_CHARS} AND ({test}))"

    tests = (
        _number_test(text, _POINT),
        _number_test(text, _COMMA),
        f"regexp_full_match(trim({text}), {literal(_CODE)})",
        f"regexp_full_match(trim({text}), {literal(_LONG_CODE)})",
    )
    dates = (
        f"CASE WHEN {_looks(text, _LIKE_SLASHED)} THEN {_strptime(text, formats)} END IS NOT NULL"
        for formats in (_DAY_FIRST, _MONTH_FIRST)
    )
    filled = f"trim({text}) <> ''"
    length = f"length(trim({text}))"
    one_length = f"coalesce(min({length}) FILTER ({filled}) = max({length}), false)"
    figures = [f"count(*) FILTER ({filled})", *map(count, tests), one_length, *map(count, dates)]
    row = connection.execute(f"SELECT {', '.join(figures)} FROM {quoted(table)}").fetchone()  # noqa: S608
    return _Fits(*row)


def _date_count(connection: SqlConnection, table: str, expression: str) -> int:
    statement = f"SELECT count({expression}) FROM {quoted(table)}"  # noqa: S608
    counted: int = connection.execute(statement).fetchone()[0]
    return counted


def _date_expression(text: str, fits: _Fits) -> str:
    """What reads a date. A look comes before each parse: one that fails costs a hundred times as much as a look."""
    slashes = _DAY_FIRST if fits.day_first > fits.month_first else _MONTH_FIRST
    readings = {
        # By way of an instant: a cast straight to TIMESTAMP drops an offset ("+02:00") without applying it.
        _LIKE_ISO: f"CAST(TRY_CAST({text} AS {ZONED}) AS TIMESTAMP)",
        _LIKE_DOTTED: _strptime(text, _DOTTED),
        _LIKE_SLASHED: _strptime(text, slashes),
        _LIKE_WORDED: _strptime(text, _WORDED),
    }
    cases = " ".join(f"WHEN {_looks(text, look)} THEN {reading}" for look, reading in readings.items())
    return f"CASE WHEN length({text}) > {SHORT_CHARS} THEN NULL {cases} END"


def _is_ambiguous(fits: _Fits) -> bool:
    return fits.day_first > 0 and fits.day_first == fits.month_first


def _strptime(text: str, formats: tuple[str, ...]) -> str:
    listed = ", ".join(literal(f) for f in formats)
    return f"try_strptime(trim({text}), [{listed}])"


def _looks(text: str, look: str) -> str:
    return f"regexp_matches({text}, {literal(look)})"


def _number_test(text: str, number: str) -> str:
    pattern = rf"\s*{_CURRENCY}?\s*{number}\s*({_CURRENCY}|%)?\s*"
    return f"regexp_full_match({text}, {literal(pattern)})"


def _text_of(column: TableColumn) -> str:
    return f"({quoted(column.name)} ->> '$')" if column.type == "JSON" else quoted(column.name)
