"""Ordering words: "lowest" must not rest on the first row of a descending order, or on max()."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

from runax_cli.agent.evidence.checks.context import Problem, StatementContext, column_values
from runax_cli.agent.evidence.checks.names import named_rows
from runax_cli.agent.locales import any_of
from runax_cli.core.results import Fault
from runax_cli.executor.outcome import SqlEvidence
from runax_cli.executor.sql.query_shape import QueryShape

End = Literal["high", "low"]

_PATTERNS: tuple[tuple[End, bool, re.Pattern[str]], ...] = (
    ("high", False, re.compile(rf"\b{any_of(lambda locale: locale.claim.highest)}\b", re.IGNORECASE)),
    ("low", False, re.compile(rf"\b{any_of(lambda locale: locale.claim.lowest)}\b", re.IGNORECASE)),
    ("high", True, re.compile(rf"\b{any_of(lambda locale: locale.claim.latest)}\b", re.IGNORECASE)),
    ("low", True, re.compile(rf"\b{any_of(lambda locale: locale.claim.earliest)}\b", re.IGNORECASE)),
)
_NOT_SUPERLATIVE = re.compile(rf"\b{any_of(lambda locale: locale.claim.not_superlative)}\b", re.IGNORECASE)
_HIGH = frozenset({"max", "arg_max", "max_by"})
_LOW = frozenset({"min", "arg_min", "min_by"})
_MAX_FIRST_ROWS = 3


def check_ordering(context: StatementContext) -> Problem | None:
    """A superlative against min(), max(), the order of the rows, or the extremes of all rows."""
    claimed = _claims(context.text) or (_claims(context.question) if len(context.queries) == 1 else frozenset())
    if len(claimed) != 1 or len(context.queries) != 1:
        return None
    ((end, is_time),) = claimed
    (query,) = context.queries
    found = (
        _by_aggregate(query, end) or _by_order(context, query, end, is_time=is_time) or _by_rows(context, query, end)
    )
    return Problem(Fault.CONTRADICTED, found) if found else None


def _claims(text: str) -> frozenset[tuple[End, bool]]:
    plain = _NOT_SUPERLATIVE.sub(lambda match: " " * len(match[0]), text)
    return frozenset((end, is_time) for end, is_time, pattern in _PATTERNS if pattern.search(plain))


def _word(end: End) -> str:
    return "the highest value" if end == "high" else "the lowest value"


def _by_aggregate(query: SqlEvidence, end: End) -> str:
    """All aggregates of the statement take the other extreme."""
    shape = query.shape
    used = {output.aggregate for output in shape.outputs} & (_HIGH | _LOW) if shape and not shape.order else set()
    if not used or not used <= (_LOW if end == "high" else _HIGH):
        return ""
    return f"claims {_word(end)}, but {query.id} computes {sorted(used)[0]}()"


def _by_order(context: StatementContext, query: SqlEvidence, end: End, *, is_time: bool) -> str:
    """The first row of a result that is cut off by LIMIT, in the other direction."""
    shape = query.shape
    if shape is None or not shape.order or shape.limit is None or query.n_rows > shape.limit:
        return ""
    kinds = {kind for value in _ordered_values(query, shape) if (kind := _kind(value))}
    if kinds - ({"time"} if is_time else {"number"}) or not _states_first_row(context, query):
        return ""
    direction: End = "high" if shape.order[0].is_descending else "low"
    order = "descending" if shape.order[0].is_descending else "ascending"
    return "" if direction == end else f"claims {_word(end)}, but {query.id} is in {order} order"


def _states_first_row(context: StatementContext, query: SqlEvidence) -> bool:
    """Whether the statement is about the first row: the only one, or the one whose name it has."""
    if query.n_rows <= 1:
        return True
    names = [[cell for cell in row if isinstance(cell, str) and cell] for row in query.rows]
    first = bool(names[0]) and any(True for _ in named_rows(context.text, names[0]))
    others = [name for row in names[1:_MAX_FIRST_ROWS] for name in row if name not in names[0]]
    return first and not any(True for _ in named_rows(context.text, others))


def _ordered_values(query: SqlEvidence, shape: QueryShape) -> Iterator[Any]:
    for at, name in enumerate(query.columns):
        if name.casefold() in shape.order[0].columns:
            yield from column_values(query, at)


def _by_rows(context: StatementContext, query: SqlEvidence, end: End) -> str:
    """The named row has the other extreme of the column whose figure the statement gives."""
    if query.n_rows != len(query.rows) or query.n_rows < 2 or (query.shape and query.shape.limit == query.n_rows):
        return ""
    named = [row for row in query.rows if any(True for _ in named_rows(context.text, _texts(row)))]
    if len(named) != 1:
        return ""
    for at, name in enumerate(query.columns):
        values = [value for value in column_values(query, at) if _kind(value) == "number"]
        own = named[0][at] if at < len(named[0]) else None
        if _kind(own) != "number" or len(values) < query.n_rows or min(values) == max(values):
            continue
        opposite = min(values) if end == "high" else max(values)
        if own == opposite and any(_states(own, context) for _ in (0,)):
            return f"claims {_word(end)}, but {own} is the other end of '{name}' in {query.id}"
    return ""


def _states(value: Any, context: StatementContext) -> bool:
    number = Decimal(str(value))
    return any(
        reading.low <= number <= reading.high
        for figure in context.figures
        if figure.number is not None
        for reading in figure.number.readings
    )


def _texts(row: Sequence[Any]) -> list[str]:
    return [cell for cell in row if isinstance(cell, str) and cell]


def _kind(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float | Decimal):
        return "number"
    if isinstance(value, date | datetime):
        return "time"
    return "time" if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d", value) else ""
