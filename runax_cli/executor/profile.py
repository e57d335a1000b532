"""What the columns of a table hold, measured over all rows; of structures and lists of structures, their fields.

Knows SQL aggregates and their results as values. Knows nothing of how a card shows them. Blocking.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runax_cli.executor.columns import Column, quoted
from runax_cli.executor.query import Engine, Table

FREQUENT_VALUES = 6
MOST_DISTINCT = 2000
MOST_FIELDS = 24
_FIGURES = 7
_RANGED = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "DATE", "TIME", "UUID")


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """Figures of one column. `low` and `high` are set for ordered types, `frequent` for columns with few values.

    `avg_chars` is the mean length of text, `example` one text, `avg_items` the mean length of lists. `fields` are those
    of a structure, named by their path ("location.lat"), or those of a list's items (one without a name, where items
    are no structures).
    """

    column: Column
    nulls: int
    distinct: int | None = None
    low: str | None = None
    high: str | None = None
    frequent: tuple[tuple[str, int], ...] = ()
    avg_chars: float | None = None
    avg_items: float | None = None
    example: str | None = None
    fields: tuple["ColumnProfile", ...] = ()


@dataclass(frozen=True, slots=True)
class TableProfile:
    """Figures of a table: its rows, and each column in the table's order."""

    table: Table
    n_rows: int
    columns: tuple[ColumnProfile, ...]


@dataclass(frozen=True, slots=True)
class _Measured:
    """What is measured: an expression over a source, told under a column's name and type."""

    column: Column
    expression: str


def profile(engine: Engine, table: Table) -> TableProfile:
    """Measure every column over all rows."""
    source = quoted(table.name)
    n_rows, columns = _profiles(engine, source, [_Measured(c, quoted(c.name)) for c in table.columns])
    return TableProfile(table, n_rows, tuple(_with_fields(engine, source, column) for column in columns))


def _with_fields(engine: Engine, source: str, whole: ColumnProfile) -> ColumnProfile:
    name = quoted(whole.column.name)
    expression = name
    if whole.column.is_list:
        source, expression = f"(SELECT unnest({name}) AS item FROM {source})", "item"  # noqa: S608
    leaves = list(_leaves(whole.column, expression))[:MOST_FIELDS]
    return replace(whole, fields=_profiles(engine, source, leaves)[1]) if leaves else whole


def _leaves(column: Column, expression: str, path: str = "") -> Iterator[_Measured]:
    """The scalar fields of a structure, those of structures in it included, and no lists."""
    if column.is_list and not column.fields:
        yield from () if (item := Column("", column.type[:-2])).is_nested else (_Measured(item, expression),)
    for inner in column.fields:
        inner_path, inner_expression = f"{path}{inner.name}", f"{expression}.{quoted(inner.name)}"
        if inner.fields and not inner.is_list:
            yield from _leaves(inner, inner_expression, f"{inner_path}.")
        elif not inner.is_nested:
            yield _Measured(Column(inner_path, inner.type), inner_expression)


def _profiles(engine: Engine, source: str, measured: Sequence[_Measured]) -> tuple[int, tuple[ColumnProfile, ...]]:
    figures = ["count(*)", *(figure for each in measured for figure in _figures(each))]
    # Many aggregates in one pass cost one scan; a statement a column would cost one each.
    row = engine.select(f"SELECT {', '.join(figures)} FROM {source}").rows[0]  # noqa: S608
    values = iter(row[1:])
    profiles = (_profiled(engine, source, each, [next(values) for _ in range(_FIGURES)], row[0]) for each in measured)
    return int(row[0]), tuple(profiles)


def _figures(measured: _Measured) -> list[str]:
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


def _distinct(column: Column, value: str) -> str:
    """How many values there are. Of texts by their hashes: a million long texts would not fit into memory."""
    return (
        f"count(DISTINCT CASE WHEN {value} IS NOT NULL THEN hash({value}) END)"
        if column.is_text
        else f"count(DISTINCT {value})"
    )


def _profiled(engine: Engine, source: str, measured: _Measured, figures: list[Any], n_rows: int) -> ColumnProfile:
    nulls, distinct, low, high, avg_chars, avg_items, example = figures
    is_short = avg_chars is None or avg_chars <= 60
    is_ranged = low is not None
    wants_values = distinct is not None and 0 < distinct <= min(MOST_DISTINCT, 0.9 * n_rows + 5) and not is_ranged
    frequent = _frequent(engine, source, measured.expression) if wants_values and is_short else ()
    return ColumnProfile(measured.column, nulls, distinct, low, high, frequent, avg_chars, avg_items, example)


def _frequent(engine: Engine, source: str, value: str) -> tuple[tuple[str, int], ...]:
    statement = (
        f"SELECT CAST({value} AS VARCHAR), count(*) AS n FROM {source} WHERE {value} IS NOT NULL "  # noqa: S608
        f"GROUP BY ALL ORDER BY n DESC, 1 LIMIT {FREQUENT_VALUES}"
    )
    return tuple((value, count) for value, count in engine.select(statement).rows)


def sample_rows(engine: Engine, table: Table, columns: tuple[str, ...], n: int) -> tuple[tuple[Any, ...], ...]:
    """The first `n` rows of some columns, as values."""
    names = ", ".join(map(quoted, columns))
    return engine.select(f"SELECT {names} FROM {quoted(table.name)} ORDER BY row LIMIT {int(n)}").rows  # noqa: S608
