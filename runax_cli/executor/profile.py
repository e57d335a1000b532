"""What the columns of a table hold, measured over all rows.

Knows SQL aggregates and their results as values. Knows nothing of how a card shows them. Blocking.
"""

from dataclasses import dataclass
from typing import Any

from runax_cli.executor.columns import Column, quoted
from runax_cli.executor.query import Engine, Table

FREQUENT_VALUES = 6
MOST_DISTINCT = 2000
_RANGED = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "DATE", "TIME", "UUID")


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """Figures of one column. `low` and `high` are set for ordered types, `frequent` for columns with few values.

    `avg_chars` is the mean length of text, `avg_items` that of lists.
    """

    column: Column
    nulls: int
    distinct: int | None = None
    low: str | None = None
    high: str | None = None
    frequent: tuple[tuple[str, int], ...] = ()
    avg_chars: float | None = None
    avg_items: float | None = None


@dataclass(frozen=True, slots=True)
class TableProfile:
    """Figures of a table: its rows, and each column in the table's order."""

    table: Table
    n_rows: int
    columns: tuple[ColumnProfile, ...]


def profile(engine: Engine, table: Table) -> TableProfile:
    """Measure every column over all rows."""
    figures: list[str] = ["count(*)"]
    for column in table.columns:
        figures += _figures(column)
    # Many aggregates in one pass cost one scan; a statement a column would cost one each.
    row = engine.select(f"SELECT {', '.join(figures)} FROM {quoted(table.name)}").rows[0]  # noqa: S608
    values = iter(row[1:])
    columns = tuple(
        _profiled(engine, table, column, [next(values) for _ in range(6)], row[0]) for column in table.columns
    )
    return TableProfile(table, int(row[0]), columns)


def _figures(column: Column) -> list[str]:
    name = quoted(column.name)
    is_ranged = column.type.startswith(_RANGED) or "INT" in column.type
    ordered = is_ranged and not column.is_nested
    text = f"CAST({name} AS VARCHAR)"
    return [
        f"count(*) - count({name})",
        "NULL" if column.is_nested else f"count(DISTINCT {name})",
        f"CAST(min({name}) AS VARCHAR)" if ordered else "NULL",
        f"CAST(max({name}) AS VARCHAR)" if ordered else "NULL",
        f"avg(length({text}))" if column.is_text else "NULL",
        f"avg(len({name}))" if column.type.endswith("]") else "NULL",
    ]


def _profiled(engine: Engine, table: Table, column: Column, figures: list[Any], n_rows: int) -> ColumnProfile:
    nulls, distinct, low, high, avg_chars, avg_items = figures
    is_short = avg_chars is None or avg_chars <= 60
    wants_values = distinct is not None and 0 < distinct <= min(MOST_DISTINCT, 0.9 * n_rows + 5)
    frequent = _frequent(engine, table, column) if wants_values and is_short and column.name != "row" else ()
    return ColumnProfile(column, nulls, distinct, low, high, frequent, avg_chars, avg_items)


def _frequent(engine: Engine, table: Table, column: Column) -> tuple[tuple[str, int], ...]:
    name = quoted(column.name)
    statement = (
        f"SELECT CAST({name} AS VARCHAR), count(*) AS n FROM {quoted(table.name)} WHERE {name} IS NOT NULL "  # noqa: S608
        f"GROUP BY ALL ORDER BY n DESC, 1 LIMIT {FREQUENT_VALUES}"
    )
    return tuple((value, count) for value, count in engine.select(statement).rows)


def sample_rows(engine: Engine, table: Table, columns: tuple[str, ...], n: int) -> tuple[tuple[Any, ...], ...]:
    """The first `n` rows of some columns, as values."""
    names = ", ".join(map(quoted, columns))
    return engine.select(f"SELECT {names} FROM {quoted(table.name)} ORDER BY row LIMIT {int(n)}").rows  # noqa: S608
