"""Describe the columns of a table, and find text columns that hold numbers or dates.

A typed column is offered in addition to such a text column. It is found by measuring all records with SQL expressions.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

MAX_VALUE_CHARS = 40
MIN_TYPED_SHARE = 0.5
MAX_CODE_SHARE = 0.01
"""If more of the values are codes, the column holds identifiers, and no number is offered for it."""
_SAMPLE_ROWS = 2000
ZONED = "TIMESTAMP WITH TIME ZONE"

_STRUCTURE = re.compile(r"STRUCT\((.*)\)(?:\[\])?", re.DOTALL)
_TYPE_TOKEN = re.compile(r'"(?:[^"]|"")*"|[(),]|[^(),"]+')
_FIELD = re.compile(r'(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^" ]+)) (?P<type>.*)', re.DOTALL)
_CURRENCY = "([$€£¥]|Kč|CZK|USD|EUR|GBP)"
_POINT = r"[-+]?(\d{1,3}([ ,'\x{00A0}\x{202F}]\d{3})+|\d+)(\.\d+)?([eE][-+]?\d+)?"
_COMMA = r"[-+]?(\d{1,3}([ .\x{00A0}\x{202F}]\d{3})+|\d+)(,\d+)?"
_CODE = r"0\d+|\+\d[\d ()-]{7,}"
"""Numbers with leading zeros, and telephone numbers: digits that are not a quantity."""
_LONG_CODE = r"\d{8,}"
"""If all values of a column are such and equally long, they are numbers of invoices, accounts or registers."""
_BOUND = r"\s*(?:[<>≤≥~≈]=?\s*[-+]?[\d.,]+|[-+]?[\d.,]+\s*\+)\s*"
"""Bounds of a quantity such as ">100" and "10+", which are not codes."""
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


_RESERVED_WORDS = frozenset(
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
"""Words that DuckDB does not accept as a column name without quotes; a test asks DuckDB for its keywords."""


class SqlConnection(Protocol):
    """The part of a DuckDB connection or cursor that is used here."""

    def execute(self, query: str) -> Any:
        """Run one statement."""


class ColumnReading(StrEnum):
    """The type as which a text column can be read."""

    NUMBER = "number"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table: its name and its DuckDB type."""

    name: str
    type: str

    @property
    def is_text(self) -> bool:
        """Whether the values are text, or JSON of mixed types."""
        return self.type in {"VARCHAR", "JSON"}

    @property
    def is_nested(self) -> bool:
        """Whether the values are lists, structs or maps."""
        return self.type.endswith("]") or self.type.startswith(("STRUCT", "MAP"))

    @property
    def is_list(self) -> bool:
        """Whether the values are lists."""
        return self.type.endswith("]")

    @property
    def fields(self) -> tuple["TableColumn", ...]:
        """The fields of a struct, or of the structs in a list; none for other types."""
        inner = _STRUCTURE.fullmatch(self.type)
        return tuple(map(_field, _split(inner[1]))) if inner else ()


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A typed column for a text column. `expression` computes it; it is null for `n_unconverted` values."""

    name: str
    source: str
    reading: ColumnReading
    expression: str
    n_unconverted: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class _NotationCounts:
    """How many non-blank values of a text column have each notation. `mixed` have digits among other characters."""

    filled: int
    point: int
    comma: int
    coded: int
    mixed: int
    long_codes: int
    is_one_length: bool
    day_first: int
    month_first: int

    @property
    def is_coded(self) -> bool:
        """Whether the digits are identifiers and not quantities, such as the tickets "113803" and "A/5 21171"."""
        most = MAX_CODE_SHARE * self.filled
        has_codes = self.coded > most or self.mixed > most
        return has_codes or (self.is_one_length and self.long_codes == self.filled > 1)


def identifier(name: str) -> str:
    """Return a name as SQL accepts it, quoted only if needed."""
    is_bare = name.isidentifier() and name.isascii() and name == name.lower() and name not in _RESERVED_WORDS
    return name if is_bare else quoted(name)


def quoted(name: str) -> str:
    """Return a name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _split(fields: str) -> list[str]:
    """Split the type of a struct at its commas, apart from commas in inner types and in quoted names."""
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
    """Return the columns of a table or view, in order."""
    rows = connection.execute(f"DESCRIBE {quoted(table)}").fetchall()
    return tuple(TableColumn(row[0], row[1]) for row in rows)


def typed_columns(connection: SqlConnection, table: str, columns: tuple[TableColumn, ...]) -> tuple[TypedColumn, ...]:
    """Find text columns in which at least half of the values are numbers or dates, measured over all records."""
    taken = {column.name.casefold() for column in columns}
    found = []
    for column in filter(lambda c: c.is_text and _is_promising(connection, table, c), columns):
        typed = _typed(connection, table, column)
        if typed is not None and typed.name.casefold() not in taken:
            found.append(typed)
    return tuple(found)


def _is_promising(connection: SqlConnection, table: str, column: TableColumn) -> bool:
    """Whether enough values of a sample look like numbers or dates for measuring all records to be worthwhile."""
    text = _text_of(column)
    tests = [_number_test(text, _POINT), _number_test(text, _COMMA)]
    tests += [_matches(text, pattern) for pattern in (_LIKE_ISO, _LIKE_DOTTED, _LIKE_SLASHED, _LIKE_WORDED)]
    likely = f"length({text}) <= {MAX_VALUE_CHARS} AND ({' OR '.join(tests)})"
    filled_only = f"SELECT {quoted(column.name)} FROM {quoted(table)} WHERE trim({text}) <> ''"  # noqa: S608
    sampled = f"{filled_only} USING SAMPLE reservoir({_SAMPLE_ROWS} ROWS) REPEATABLE (1)"
    statement = f"SELECT count(*), count(*) FILTER ({likely}) FROM ({sampled})"  # noqa: S608
    filled, typed = connection.execute(statement).fetchone()
    return bool(typed >= MIN_TYPED_SHARE / 2 * filled > 0)


def _typed(connection: SqlConnection, table: str, column: TableColumn) -> TypedColumn | None:
    text = _text_of(column)
    counts = _count_notations(connection, table, text)
    if not counts.filled:
        return None
    numbers = max(counts.point, counts.comma)
    if numbers >= MIN_TYPED_SHARE * counts.filled:
        return None if counts.is_coded else _number(column, text, counts)
    dates = _date_count(connection, table, _date_expression(text, counts))
    if dates >= MIN_TYPED_SHARE * counts.filled:
        note = "day and month are ambiguous, read as month/day" if _is_ambiguous(counts) else ""
        expression = _date_expression(text, counts)
        return TypedColumn(
            f"{column.name}_date", column.name, ColumnReading.DATE, expression, counts.filled - dates, note
        )
    return None


def _number(column: TableColumn, text: str, counts: _NotationCounts) -> TypedColumn:
    is_point = counts.point >= counts.comma
    bare = f"regexp_replace({text}, '{_CURRENCY}|%|[^0-9.,eE+-]', '', 'g')"
    plain = f"replace({bare}, ',', '')" if is_point else f"replace(replace({bare}, '.', ''), ',', '.')"
    is_number = _number_test(text, _POINT if is_point else _COMMA)
    expression = f"CASE WHEN {is_number} THEN TRY_CAST({plain} AS DOUBLE) END"
    note = "" if is_point else "decimal comma"
    n_unconverted = counts.filled - max(counts.point, counts.comma)
    return TypedColumn(f"{column.name}_num", column.name, ColumnReading.NUMBER, expression, n_unconverted, note)


def _count_notations(connection: SqlConnection, table: str, text: str) -> _NotationCounts:
    def count(test: str) -> str:
        return f"count(*) FILTER (length({text}) <= {MAX_VALUE_CHARS} AND ({test}))"

    tests = (
        _number_test(text, _POINT),
        _number_test(text, _COMMA),
        f"regexp_full_match(trim({text}), {literal(_CODE)})",
        _is_mixed(text),
        f"regexp_full_match(trim({text}), {literal(_LONG_CODE)})",
    )
    dates = (
        f"CASE WHEN {_matches(text, _LIKE_SLASHED)} THEN {_strptime(text, formats)} END IS NOT NULL"
        for formats in (_DAY_FIRST, _MONTH_FIRST)
    )
    filled = f"trim({text}) <> ''"
    length = f"length(trim({text}))"
    one_length = f"coalesce(min({length}) FILTER ({filled}) = max({length}), false)"
    figures = [f"count(*) FILTER ({filled})", *map(count, tests), one_length, *map(count, dates)]
    row = connection.execute(f"SELECT {', '.join(figures)} FROM {quoted(table)}").fetchone()  # noqa: S608
    return _NotationCounts(*row)


def _is_mixed(text: str) -> str:
    """Return the test for a value that has digits and is neither a number nor a bound of one."""
    others = (_number_test(text, _POINT), _number_test(text, _COMMA), f"regexp_full_match({text}, {literal(_BOUND)})")
    return f"regexp_matches({text}, '[0-9]') AND NOT ({' OR '.join(others)})"


def _date_count(connection: SqlConnection, table: str, expression: str) -> int:
    statement = f"SELECT count({expression}) FROM {quoted(table)}"  # noqa: S608
    counted: int = connection.execute(statement).fetchone()[0]
    return counted


def _date_expression(text: str, counts: _NotationCounts) -> str:
    """Return the expression that parses a date.

    A regular expression comes before each parse: a parse that fails costs a hundred times as much.
    """
    slashes = _DAY_FIRST if counts.day_first > counts.month_first else _MONTH_FIRST
    readings = {
        # Through a time with zone: a cast straight to TIMESTAMP drops an offset ("+02:00") without applying it.
        _LIKE_ISO: f"CAST(TRY_CAST({text} AS {ZONED}) AS TIMESTAMP)",
        _LIKE_DOTTED: _strptime(text, _DOTTED),
        _LIKE_SLASHED: _strptime(text, slashes),
        _LIKE_WORDED: _strptime(text, _WORDED),
    }
    cases = " ".join(f"WHEN {_matches(text, pattern)} THEN {reading}" for pattern, reading in readings.items())
    return f"CASE WHEN length({text}) > {MAX_VALUE_CHARS} THEN NULL {cases} END"


def _is_ambiguous(counts: _NotationCounts) -> bool:
    return counts.day_first > 0 and counts.day_first == counts.month_first


def _strptime(text: str, formats: tuple[str, ...]) -> str:
    listed = ", ".join(literal(f) for f in formats)
    return f"try_strptime(trim({text}), [{listed}])"


def _matches(text: str, pattern: str) -> str:
    return f"regexp_matches({text}, {literal(pattern)})"


def _number_test(text: str, number: str) -> str:
    pattern = rf"\s*{_CURRENCY}?\s*{number}\s*({_CURRENCY}|%)?\s*"
    return f"regexp_full_match({text}, {literal(pattern)})"


def _text_of(column: TableColumn) -> str:
    return f"({quoted(column.name)} ->> '$')" if column.type == "JSON" else quoted(column.name)
