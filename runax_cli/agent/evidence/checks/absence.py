"""Absence: "no orders were cancelled" needs complete data in which the condition was evaluated and found nothing."""

import re
from collections.abc import Sequence

from runax_cli.agent.evidence.checks.context import StatementContext
from runax_cli.agent.evidence.figures import Figure
from runax_cli.agent.evidence.support import found_nothing, name_positions
from runax_cli.agent.locales import any_of
from runax_cli.core.results import Lineage
from runax_cli.executor.outcome import SqlEvidence

_ABSENCE = re.compile(rf"\b{any_of(lambda locale: locale.claim.absence)}\b", re.IGNORECASE)
_NOT_KNOWN = re.compile(rf"\b{any_of(lambda locale: locale.claim.not_known)}", re.IGNORECASE)


def claims_absence(text: str, figures: Sequence[Figure]) -> bool:
    """Whether a statement says that there is nothing of a kind: it denies, and counts nothing."""
    has_count = any(
        figure.number is not None and any(one.low > 0 for one in figure.number.readings) for figure in figures
    )
    return not has_count and _ABSENCE.search(text) is not None and _NOT_KNOWN.search(text) is None


def is_refuted(context: StatementContext) -> str:
    """Why a statement that there is nothing is wrong: the cited query has found something; "" if it may be right."""
    if len(context.queries) != 1:
        return ""
    (query,) = context.queries
    if wrong := _unmatched_condition(context, query):
        return wrong
    cells = [cell for row in query.rows for cell in row if not isinstance(cell, bool)]
    is_one_count = query.n_rows == 1 and bool(cells) and all(isinstance(cell, int) and cell > 0 for cell in cells)
    if not is_one_count and (found_nothing(query) or _names_rows(context)):
        return ""
    return f"says that there is nothing, but {query.id} has found {cells[0] if is_one_count else query.n_rows}"


def _unmatched_condition(context: StatementContext, query: SqlEvidence) -> str:
    """A condition that can match nothing because its value is spelled in another case in the data."""
    for condition in query.shape.conditions if query.shape is not None else ():
        for value in condition.values if condition.operator == "=" else ():
            spelled = [one for index in context.own_indexes if (one := index.spelling(condition.column, value))]
            if spelled and value not in spelled:
                return f"{query.id} compares {condition.column} with '{value}', which is spelled '{spelled[0]}'"
    return ""


def _names_rows(context: StatementContext) -> bool:
    """Whether a statement names what it cites: then its denial is about these, "only A and B are missing"."""
    texts = [cell for query in context.queries for row in query.rows for cell in row if isinstance(cell, str) and cell]
    return bool(context.support.records) or any(name_positions(context.text, texts))


def shows_absence(context: StatementContext) -> bool:
    """Whether a cited query over complete data found nothing, or a cited dataset is empty."""
    empty = any(context.totals.get(name) == 0 for name in context.dataset_names)
    return empty or any(found_nothing(query) and query.lineage is Lineage.EXACT for query in context.queries)
