"""Ordering words: "lowest" must not rest on the first row of a descending order, or on max()."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

from runax_cli.agent.evidence.checks.context import Problem, StatementContext, column_values
from runax_cli.agent.evidence.support import MAX_COMPARED_ROWS, name_positions, row_names
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
_CLAUSE_END = re.compile(r"[,;:](?!\d)\s|\s[\u2013\u2014-]\s")
_MIN_COMPARED_ROWS = 3
_ORDINAL_WORD = re.compile(rf"\b{any_of(lambda locale: locale.claim.ordinal)}\b", re.IGNORECASE)


def check_ordering(context: StatementContext) -> Problem | None:
    """A superlative against min(), max(), the order of the rows, or the extremes of all rows, clause by clause."""
    if len(context.queries) != 1:
        return None
    (query,) = context.queries
    if not _claims(context.text):
        return _checked(context, query, _claims(context.question), is_own=False)
    clauses = (replace(context, text=text) for text in _CLAUSE_END.split(context.text))
    return next((found for one in clauses if (found := _checked(one, query, _claims(one.text), is_own=True))), None)


def _checked(
    context: StatementContext, query: SqlEvidence, claimed: frozenset[tuple[End, bool]], *, is_own: bool
) -> Problem | None:
    """Compare a clause with its claim; `is_own`: the words are its own and not those of the question."""
    if len(claimed) != 1 or _ORDINAL_WORD.search(context.text):
        return None
    ((end, is_time),) = claimed
    found = _by_aggregate(query, end, is_time=is_time) or _by_order(context, query, end, is_time=is_time)
    found = found or (_by_rows(context, query, end) if is_own else "")
    return Problem(Fault.CONTRADICTED, found) if found else None


def claims_extreme(text: str) -> bool:
    """Whether a text has a superlative."""
    return bool(_claims(text))


def _claims(text: str) -> frozenset[tuple[End, bool]]:
    plain = _NOT_SUPERLATIVE.sub(lambda match: " " * len(match[0]), text)
    return frozenset((end, is_time) for end, is_time, pattern in _PATTERNS if pattern.search(plain))


def _word(end: End) -> str:
    return "the highest value" if end == "high" else "the lowest value"


def _by_aggregate(query: SqlEvidence, end: End, *, is_time: bool) -> str:
    """All aggregates of the statement take the other extreme."""
    shape = query.shape
    used = {output.aggregate for output in shape.outputs} & (_HIGH | _LOW) if shape and not shape.order else set()
    if not used or not used <= (_LOW if end == "high" else _HIGH):
        return ""
    kinds = {kind for row in query.rows for cell in row if (kind := _kind(cell))}
    if ("time" if is_time else "number") not in kinds:
        return ""
    return f"claims {_word(end)}, but {query.id} computes {min(used)}()"


def _by_order(context: StatementContext, query: SqlEvidence, end: End, *, is_time: bool) -> str:
    """The rows are cut off by LIMIT: the order must be in the claimed direction, and the named row the first."""
    shape = query.shape
    if shape is None or not shape.order or shape.limit is None or query.n_rows > shape.limit:
        return ""
    values = list(_ordered_values(query, shape))
    kinds = {kind for value in values if (kind := _kind(value))}
    if kinds != ({"time"} if is_time else {"number"}):
        return ""
    direction: End = "high" if shape.order[0].is_descending else "low"
    named = _named_rows(context, query)
    if direction != end and (query.n_rows <= 1 or len(named) == 1):
        order = "descending" if shape.order[0].is_descending else "ascending"
        return f"claims {_word(end)}, but {query.id} is in {order} order"
    is_tied = len(named) == 1 and bool(values) and len(values) > named[0] and values[named[0]] == values[0]
    if direction == end and len(named) == 1 and named[0] > 0 and not is_tied and _claims(context.text):
        return f"claims {_word(end)}, but that is the first row of {query.id}, and the named row is not"
    return ""


def _named_rows(context: StatementContext, query: SqlEvidence) -> list[int]:
    """The positions of the rows whose own texts the statement names."""
    by_row = row_names(query)[:MAX_COMPARED_ROWS]
    counts = Counter(name for names in by_row for name in set(names))
    return [
        at
        for at, names in enumerate(by_row)
        if any(name_positions(context.text, [name for name in names if counts[name] == 1]))
    ]


def _ordered_values(query: SqlEvidence, shape: QueryShape) -> Iterator[Any]:
    for at, name in enumerate(query.columns):
        if name.casefold() in shape.order[0].columns:
            yield from column_values(query, at)


def _by_rows(context: StatementContext, query: SqlEvidence, end: End) -> str:
    """All rows are known, and no figure of the statement is the extreme of its column."""
    is_cut = query.shape is not None and query.shape.limit is not None and query.n_rows >= query.shape.limit
    if query.n_rows != len(query.rows) or query.n_rows < _MIN_COMPARED_ROWS or is_cut:
        return ""
    stated: dict[str, list[str]] = {}
    for at, name in enumerate(query.columns):
        values = [value for value in column_values(query, at) if _kind(value) == "number"]
        if len(values) < query.n_rows - 1 or min(values) == max(values) or _is_label(query, at):
            continue
        extreme = max(values) if end == "high" else min(values)
        if context.states(Decimal(str(extreme))):
            return ""
        if given := [f"{value} in '{name}'" for value in dict.fromkeys(values) if context.states(Decimal(str(value)))]:
            stated[name.casefold()] = given
    ordered = query.shape.order[0].columns if query.shape is not None and query.shape.order else ()
    everywhere = [one for values in stated.values() for one in values]
    given = next((stated[name] for name in ordered if name in stated), everywhere)
    if len(given) != 1:
        return _names_another_row(context, query, end) if not given else ""
    return f"claims {_word(end)}, but {given[0]} of {query.id} is not"


def _names_another_row(context: StatementContext, query: SqlEvidence, end: End) -> str:
    """The statement gives no figure and names one row, which is not the extreme of the ordered column."""
    named, shape = _named_rows(context, query), query.shape
    if len(named) != 1 or shape is None or not shape.order:
        return ""
    values = list(_ordered_values(query, shape))
    if len(values) != len(query.rows) or any(_kind(value) != "number" for value in values):
        return ""
    extreme = max(values) if end == "high" else min(values)
    return "" if values[named[0]] == extreme else f"claims {_word(end)}, but that is another row of {query.id}"


def _is_label(query: SqlEvidence, at: int) -> bool:
    """Whether a column of numbers names the rows: a month, a year, an id, or the row number."""
    shape = query.shape
    if shape is None or len(shape.outputs) != len(query.columns):
        return query.columns[at].casefold() in ("row", "id")
    output = shape.outputs[at]
    names = {output.name, *output.of, query.columns[at].casefold()}
    return not output.aggregate and bool(names & {*shape.group_by, "row", "id"})


def _kind(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float | Decimal):
        return "number"
    if isinstance(value, date | datetime):
        return "time"
    return "time" if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d", value) else ""
