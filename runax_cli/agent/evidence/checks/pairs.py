"""Pairs of a name and a figure: a statement that names several rows must give each its own figures."""

from collections.abc import Mapping, Sequence
from typing import Any

from runax_cli.agent.evidence.checks.context import Problem, StatementContext
from runax_cli.agent.evidence.figures import EvidencePool, Figure
from runax_cli.agent.evidence.support import MAX_COMPARED_ROWS, names_in, row_names
from runax_cli.core.results import Fault
from runax_cli.executor.outcome import SqlEvidence

_MAX_NAME_CHARS = 80

Row = Sequence[Any]


def check_pairs(context: StatementContext) -> Problem | None:
    """A figure that belongs to another row than the one it is given to."""
    groups = [_rows_by_name(query) for query in context.queries]
    records = {
        str(value): tuple(cited.record.values())
        for cited in context.support.records
        if cited.record is not None
        for value in cited.record.values()
        if isinstance(value, str) and 0 < len(value) <= _MAX_NAME_CHARS
    }
    for rows in (*groups, records if len(context.support.records) > 1 else {}):
        if problem := _swapped(context, rows):
            return problem
    return None


def _rows_by_name(query: SqlEvidence) -> Mapping[str, Row]:
    """The rows of a result by their names, without names that several rows have."""
    found: dict[str, Row] = {}
    repeated: set[str] = set()
    for row, names in zip(query.rows[:MAX_COMPARED_ROWS], row_names(query), strict=False):
        for name in names:
            if name in found and found[name] != row:
                repeated.add(name)
            found[name] = row
    return {name: row for name, row in found.items() if name not in repeated}


def _swapped(context: StatementContext, rows: Mapping[str, Row]) -> Problem | None:
    names = names_in(context.text, list(rows))
    named = list(dict.fromkeys(name for _, _, name in names))
    if not named or len({id(rows[name]) for name in named}) < 2:
        return None
    pools = {name: _pool(rows[name]) for name in named}
    counts = EvidencePool()
    counts.add_all(query.n_rows for query in context.queries)
    figures = [one for one in context.figures if not counts.has(one) and _is_of_one(one, pools, rows)]
    in_names = [figure for figure in figures if not any(start <= figure.start < end for start, end, _ in names)]
    if len(in_names) < 2 or _is_consistent(in_names, names, pools):
        return None
    shown = ", ".join(dict.fromkeys(figure.text for figure in in_names))
    return Problem(Fault.CONTRADICTED, f"{shown}: not the figures of {', '.join(named)} in this order")


def _pool(row: Row) -> EvidencePool:
    pool = EvidencePool()
    pool.add_all(cell for cell in row if not isinstance(cell, str))
    return pool


def _is_of_one(figure: Figure, pools: Mapping[str, EvidencePool], rows: Mapping[str, Row]) -> bool:
    """Whether exactly one of the named rows has the figure."""
    return len({id(rows[name]) for name, pool in pools.items() if pool.has(figure)}) == 1


def _is_consistent(
    figures: Sequence[Figure], names: Sequence[tuple[int, int, str]], pools: Mapping[str, EvidencePool]
) -> bool:
    """Whether each figure belongs to the name before it, each to the name after it, or both lists have one order."""
    before = [next((name for start, _, name in reversed(names) if start < figure.start), None) for figure in figures]
    after = [next((name for start, _, name in names if start > figure.start), None) for figure in figures]
    ordered = list(dict.fromkeys(name for _, _, name in names))
    in_order = list(ordered) if len(ordered) == len(figures) else [None] * len(figures)
    return any(
        all(name is not None and pools[name].has(figure) for figure, name in zip(figures, given, strict=True))
        for given in (before, after, in_order)
    )
