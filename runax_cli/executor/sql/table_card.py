"""Render the table card: what a model must know about a table to write SQL over it, within a token budget.

`profile_table` measures every column over all rows; `render_card` turns the profile and sample records into text.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from adapters.json_text import compact_json
from runax_cli.executor.sql.columns import TableColumn, TypedColumn, identifier, quoted
from runax_cli.executor.sql.engine import QueryableTable, SqlEngine
from runax_cli.executor.sql.record_types import ListType, MapType, RecordType, StructType, parse_type
from runax_cli.executor.token_fitting import largest_fitting, truncate
from runax_cli.models.base import TokenCounter

FREQUENT_VALUES = 6
FREQUENT_KEYS = 12
MAX_DISTINCT = 2000
MAX_FIELDS = 24
_N_AGGREGATES = 7
_RANGED = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "DATE", "TIME", "UUID")


@dataclass(frozen=True, slots=True)
class KeyProfile:
    """The keys of a map or of JSON objects at `path`: the most frequent ones, and the number of different ones."""

    path: str
    frequent: tuple[str, ...]
    distinct: int


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """The profile of one column. `low` and `high` are set for ordered types, `frequent` for columns with few values.

    `avg_chars` is the mean length of text, `example` one text, `avg_items` the mean length of lists. `fields` are those
    of a struct, named by their path ("location.lat"), or those of the items of a list (one without a name if the items
    are not structs). `keys` are those of the maps in it.
    """

    column: TableColumn
    nulls: int
    distinct: int | None = None
    low: str | None = None
    high: str | None = None
    frequent: tuple[tuple[str, int], ...] = ()
    avg_chars: float | None = None
    avg_items: float | None = None
    example: str | None = None
    fields: tuple["ColumnProfile", ...] = ()
    keys: tuple[KeyProfile, ...] = ()


@dataclass(frozen=True, slots=True)
class TableProfile:
    """The profile of a table: its rows, and its columns in the table's order."""

    table: QueryableTable
    n_rows: int
    columns: tuple[ColumnProfile, ...]


@dataclass(frozen=True, slots=True)
class _Measurement:
    """An expression to measure over a source, and the name and type of its profile."""

    column: TableColumn
    expression: str


def profile_table(engine: SqlEngine, table: QueryableTable) -> TableProfile:
    """Measure every column over all rows."""
    source = quoted(table.name)
    n_rows, columns = _profiles(engine, source, [_Measurement(c, quoted(c.name)) for c in table.columns])
    return TableProfile(table, n_rows, tuple(_with_fields(engine, source, column) for column in columns))


def _with_fields(engine: SqlEngine, source: str, whole: ColumnProfile) -> ColumnProfile:
    name = quoted(whole.column.name)
    expression = name
    if whole.column.is_list:
        source, expression = f"(SELECT unnest({name}) AS item FROM {source})", "item"  # noqa: S608
    leaves = list(_leaves(whole.column, expression))[:MAX_FIELDS]
    kind = parse_type(whole.column.type)
    maps = _maps(kind.item if isinstance(kind, ListType) else kind, expression, whole.column.name)
    keys = tuple(filter(None, (_keys(engine, source, keys, path) for path, keys in maps)))
    return replace(whole, fields=_profiles(engine, source, leaves)[1] if leaves else (), keys=keys)


def _maps(kind: RecordType, expression: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path of each map and JSON object in a value, and the expression of its list of keys."""
    match kind:
        case MapType():
            yield path, f"map_keys({expression})"
        case StructType(fields):
            for name, inner in fields.items():
                yield from _maps(inner, f"{expression}.{quoted(name)}", f"{path}.{name}")
        case ListType():
            return
        case _ if str(kind) == "JSON":
            yield path, f"json_keys({expression})"


def _keys(engine: SqlEngine, source: str, keys: str, path: str) -> KeyProfile | None:
    listed = f"(SELECT unnest({keys}) AS key FROM {source})"  # noqa: S608
    statement = (
        f"SELECT key, count(*) OVER () FROM {listed} GROUP BY key ORDER BY count(*) DESC, key LIMIT {FREQUENT_KEYS}"  # noqa: S608
    )
    rows = engine.select(statement).rows
    return KeyProfile(path, tuple(str(key) for key, _ in rows), int(rows[0][1])) if rows else None


def _leaves(column: TableColumn, expression: str, path: str = "") -> Iterator[_Measurement]:
    """Yield the scalar fields of a struct and of the structs in it; lists are left out."""
    if column.is_list and not column.fields:
        yield from () if (item := TableColumn("", column.type[:-2])).is_nested else (_Measurement(item, expression),)
    for inner in column.fields:
        inner_path, inner_expression = f"{path}{inner.name}", f"{expression}.{quoted(inner.name)}"
        if inner.fields and not inner.is_list:
            yield from _leaves(inner, inner_expression, f"{inner_path}.")
        elif not inner.is_nested:
            yield _Measurement(TableColumn(inner_path, inner.type), inner_expression)


def _profiles(
    engine: SqlEngine, source: str, measured: Sequence[_Measurement]
) -> tuple[int, tuple[ColumnProfile, ...]]:
    aggregates = ["count(*)", *(aggregate for each in measured for aggregate in _aggregates(each))]
    # All aggregates in one statement cost one scan; one statement per column would cost a scan each.
    row = engine.select(f"SELECT {', '.join(aggregates)} FROM {source}").rows[0]  # noqa: S608
    values = iter(row[1:])
    profiles = (
        _column_profile(engine, source, each, [next(values) for _ in range(_N_AGGREGATES)], row[0]) for each in measured
    )
    return int(row[0]), tuple(profiles)


def _aggregates(measured: _Measurement) -> list[str]:
    column, value = measured.column, measured.expression
    is_ranged = column.type.startswith(_RANGED) or "INT" in column.type
    ordered = is_ranged and not column.is_nested
    return [
        f"count(*) - count({value})",
        "NULL" if column.is_nested else _distinct(column, value),
        f"CAST(min({value}) AS VARCHAR)" if ordered else "NULL",
        f"CAST(max({value}) AS VARCHAR)" if ordered else "NULL",
        f"avg(length(CAST({value} AS VARCHAR)))" if column.is_text else "NULL",
        f"avg(len({value}))" if column.is_list else "NULL",
        f"CAST(min({value}) AS VARCHAR)" if column.is_text else "NULL",
    ]


def _distinct(column: TableColumn, value: str) -> str:
    """Return the aggregate of distinct values. Texts are counted by their hashes, which need less memory."""
    return (
        f"count(DISTINCT CASE WHEN {value} IS NOT NULL THEN hash({value}) END)"
        if column.is_text
        else f"count(DISTINCT {value})"
    )


def _column_profile(
    engine: SqlEngine, source: str, measured: _Measurement, values: list[Any], n_rows: int
) -> ColumnProfile:
    nulls, distinct, low, high, avg_chars, avg_items, example = values
    is_short = avg_chars is None or avg_chars <= _SHORT_TEXT_CHARS
    is_ranged = low is not None
    wants_values = distinct is not None and 0 < distinct <= min(MAX_DISTINCT, 0.9 * n_rows + 5) and not is_ranged
    frequent = _frequent(engine, source, measured.expression) if wants_values and is_short else ()
    return ColumnProfile(measured.column, nulls, distinct, low, high, frequent, avg_chars, avg_items, example)


def _frequent(engine: SqlEngine, source: str, value: str) -> tuple[tuple[str, int], ...]:
    statement = (
        f"SELECT CAST({value} AS VARCHAR), count(*) AS n FROM {source} WHERE {value} IS NOT NULL "  # noqa: S608
        f"GROUP BY ALL ORDER BY n DESC, 1 LIMIT {FREQUENT_VALUES}"
    )
    return tuple((value, count) for value, count in engine.select(statement).rows)


def sample_rows(
    engine: SqlEngine, table: QueryableTable, columns: tuple[str, ...], n: int
) -> tuple[tuple[Any, ...], ...]:
    """Return the first `n` rows of some columns."""
    names = ", ".join(map(quoted, columns))
    return engine.select(f"SELECT {names} FROM {quoted(table.name)} ORDER BY row LIMIT {int(n)}").rows  # noqa: S608


CARD_TOKENS = 800
SAMPLE_CHARS = 60
MAX_RECORDS = 2
RECORD_TOKENS = 200
"""At most so many records, with so many tokens together, come along with a card as they are."""
_TYPE_CHARS = 240
_FIELDS_CHARS = 480
_KEY_LINES = 4
_FEW_VALUES = 30
_SHORT_TEXT_CHARS = 60


@dataclass(frozen=True, slots=True)
class TableCard:
    """The text of a card, and the names of the columns that it leaves out."""

    text: str
    dropped: tuple[str, ...] = ()


def render_card(
    profile: TableProfile,
    samples: Sequence[dict[str, Any]],
    counter: TokenCounter,
    *,
    coverage: str,
    budget_tokens: int = CARD_TOKENS,
) -> TableCard:
    """Render a profile within `budget_tokens`; the least useful columns are dropped first, and listed by name.

    `samples` are the first records; `coverage` is a sentence ("complete: 261 of 261 records").
    """
    read_as = {typed.source for typed in profile.table.typed}

    def usefulness(c: ColumnProfile) -> float:
        return _usefulness(c, profile.n_rows) - (0.8 if c.column.name in read_as else 0.0)

    ranked = sorted(profile.columns, key=usefulness, reverse=True)

    def render(n_columns: int, n_samples: int, n_values: int) -> TableCard:
        return _render(profile, ranked[:n_columns], samples[:n_samples], coverage, n_values=n_values)

    def fits(card: TableCard) -> bool:
        return counter.count(card.text) <= budget_tokens

    # Values of fields help more to write SQL than sample records, of which nested values are cut anyway.
    for n_samples, n_values in ((2, 6), (1, 6), (0, 6), (0, 3), (1, 0), (0, 0)):
        if fits(card := render(len(ranked), n_samples, n_values)):
            return card
    n_columns = largest_fitting(len(ranked), lambda n: fits(render(n, 0, 0)))
    return _within(render(n_columns, 0, 0), counter, budget_tokens)


def records_within(
    records: Iterable[tuple[str, Mapping[str, Any]]], counter: TokenCounter, *, budget_tokens: int
) -> dict[str, Mapping[str, Any]]:
    """Return the first records by reference, unchanged, as many as fit; at most `MAX_RECORDS` and `RECORD_TOKENS`."""
    kept: dict[str, Mapping[str, Any]] = {}
    for reference, record in islice(records, MAX_RECORDS):
        longer = kept | {reference: record}
        if counter.count(compact_json(longer)) > min(RECORD_TOKENS, budget_tokens):
            break
        kept = longer
    return kept


def _render(
    profile: TableProfile,
    shown: Sequence[ColumnProfile],
    samples: Sequence[dict[str, Any]],
    coverage: str,
    *,
    n_values: int,
) -> TableCard:
    names = {c.column.name for c in shown}
    typed = {t.name: t for t in profile.table.typed}
    read_as = {t.source: t for t in profile.table.typed}
    lines = [f"Table {profile.table.name}: {profile.n_rows} rows; {coverage}.", "Columns (name type; nulls; values):"]
    for c in (c for c in profile.columns if c.column.name in names):
        lines.append(_line(c, profile.n_rows, typed.get(c.column.name), read_as.get(c.column.name)))
        lines += _nested_lines(c)
        lines += _field_lines(c, n_values) if n_values else []
    dropped = tuple(c.column.name for c in profile.columns if c.column.name not in names)
    if dropped:
        lines.append(f"Not shown, can be queried too: {', '.join(dropped)}")
    for sample in samples:
        lines.append(f"Sample: {_sample({k: v for k, v in sample.items() if k in names and v is not None})}")
    return TableCard("\n".join(lines), dropped)


def _within(card: TableCard, counter: TokenCounter, budget_tokens: int) -> TableCard:
    """Replace the names of dropped columns by their number if they do not fit."""
    if counter.count(card.text) <= budget_tokens:
        return card
    head, _, tail = card.text.rpartition("\nNot shown, can be queried too: ")
    for kept in (20, 5, 0):
        names = ", ".join(_short(name) for name in card.dropped[:kept])
        text = f"{head}\nNot shown: {names}{' and ' if names else ''}{len(card.dropped) - kept} more; see DESCRIBE."
        if counter.count(text) <= budget_tokens:
            return TableCard(text, card.dropped)
    return TableCard((head or tail)[:budget_tokens], card.dropped)


def _line(c: ColumnProfile, n_rows: int, typed: TypedColumn | None, read_as: TypedColumn | None) -> str:
    if c.column.name == "row":
        return "row BIGINT; the row number, for citations"
    parts = [f"{identifier(c.column.name)} {_type_text(c.column)}"]
    if c.nulls:
        parts.append(f"{_percent(c.nulls, n_rows)} null")
    if typed is not None:
        unconverted = f", {typed.n_unconverted} don't fit" if typed.n_unconverted else ""
        note = f", {typed.note}" if typed.note else ""
        parts.append(f"{identifier(typed.source)} read as {typed.reading.value}{unconverted}{note}")
        # Different texts may be the same number, and some are none: they are counted in the text column.
        c = replace(c, distinct=None, frequent=())
    if read_as is not None:
        parts.append(f"{c.distinct} distinct, e.g. {_short(c.example)}" if c.example else "text")
        return "; ".join([*parts, f"as {read_as.reading.value} {identifier(read_as.name)}"])
    return "; ".join(parts + _values(c))


def _type_text(column: TableColumn) -> str:
    """Return the type; of a long one only the outer part, as its fields are listed below it."""
    if len(column.type) <= _TYPE_CHARS:
        return column.type
    kind, suffix = parse_type(column.type), ""
    while isinstance(kind, ListType):
        kind, suffix = kind.item, suffix + "[]"
    match kind:
        case StructType():
            return f"STRUCT{suffix}"
        case MapType():
            return f"MAP(VARCHAR, …){suffix}"
        case _:
            return truncate(column.type, _TYPE_CHARS)


def _nested_lines(c: ColumnProfile) -> list[str]:
    """Return the fields of a column whose type is too long to show, and the keys of its maps."""
    lines = []
    if len(c.column.type) > _TYPE_CHARS:
        paths = list(_field_paths(parse_type(c.column.type), ""))
        shown = largest_fitting(len(paths), lambda n: len(", ".join(paths[:n])) <= _FIELDS_CHARS)
        lines.append(f"  fields of {identifier(c.column.name)}: {_listed(paths[:shown], len(paths))}")
    for keys in c.keys[:_KEY_LINES]:
        shown_keys = [_short(key) for key in keys.frequent]
        lines.append(f"  keys of {keys.path} ({keys.distinct}): {_listed(shown_keys, keys.distinct)}")
    return lines


def _field_paths(kind: RecordType, path: str) -> Iterator[str]:
    match kind:
        case StructType(fields):
            for name, inner in fields.items():
                yield from _field_paths(inner, f"{path}.{name}" if path else name)
        case ListType(item):
            yield from _field_paths(item, f"{path}[]")
        case MapType(value):
            yield from _field_paths(value, f"{path}['…']")
        case _:
            yield path


def _listed(names: Sequence[str], total: int) -> str:
    return ", ".join(names) + (", …" if total > len(names) else "")


def _field_lines(c: ColumnProfile, n_values: int) -> list[str]:
    """Return a line with the values of fields that have a range or few values; no line if there is no such field."""
    fields = [(field.column.name, values) for field in c.fields if (values := _field_values(field, n_values))]
    listed = "; ".join(f"{name}: {values}" if name else values for name, values in fields)
    return [f"  in {identifier(c.column.name)}: {listed}"] if fields else []


def _field_values(field: ColumnProfile, n_values: int) -> str:
    if field.low is not None and field.low != field.high:
        return f"{field.low} … {field.high}"
    if not field.frequent or not field.distinct or field.distinct > _FEW_VALUES:
        return ""
    shown = [_short(value) for value, _ in field.frequent[:n_values]]
    return ", ".join(shown) + (", …" if field.distinct > len(shown) else "")


def _sample(record: dict[str, Any]) -> str:
    """Format a record as JSON, with nested values cut."""
    return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{_value(v)}" for name, v in record.items()) + "}"


def _value(value: Any) -> str:
    text = json.dumps(
        _short(value) if isinstance(value, str) else value, ensure_ascii=False, separators=(",", ":"), default=str
    )
    return truncate(text, SAMPLE_CHARS) if isinstance(value, list | dict) else text


def _values(c: ColumnProfile) -> list[str]:
    if c.distinct == 0:
        return ["always null"]
    parts = []
    if c.low is not None and c.high is not None:
        parts.append(f"{c.low} … {c.high}")
    elif c.frequent:
        listed = ", ".join(f"{_short(value)} ({count})" for value, count in c.frequent)
        parts.append(listed + (", …" if c.distinct and c.distinct > len(c.frequent) else ""))
    elif c.example and (c.avg_chars or 0) <= _SHORT_TEXT_CHARS:
        parts.append(f"e.g. {_short(c.example)}")
    if c.distinct is not None and (not c.frequent or c.distinct > len(c.frequent)):
        parts.append(f"{c.distinct} distinct")
    if c.avg_items is not None:
        parts.append(f"{c.avg_items:.1f} items on average")
    if c.avg_chars is not None and c.avg_chars > _SHORT_TEXT_CHARS:
        parts.append(f"text of {c.avg_chars:.0f} characters on average")
    return parts


def _usefulness(c: ColumnProfile, n_rows: int) -> float:
    """Rank columns: filled, varied and short ones are queried most. The row number always stays."""
    if c.column.name == "row":
        return 10.0
    if c.distinct in (0, 1):
        return 0.1 if c.distinct else 0.0
    filled = 1 - c.nulls / max(1, n_rows)
    shape = 1.0 if c.frequent or c.low is not None else 0.6 if c.column.is_nested else 0.5
    named = 0.4 if c.column.name.casefold() in {"id", "name", "status", "created_at", "date"} else 0.0
    return filled + shape + named


def _percent(part: int, whole: int) -> str:
    share = 100 * part / max(1, whole)
    return f"{share:.0f}%" if share >= 1 else "<1%"


def _short(text: str) -> str:
    return truncate(text, SAMPLE_CHARS)
