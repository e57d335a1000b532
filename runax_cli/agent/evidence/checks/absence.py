"""Absence: "no orders were cancelled" needs complete data in which the condition was evaluated and found nothing."""

import re
from collections.abc import Sequence

from runax_cli.agent.evidence.checks.context import StatementContext
from runax_cli.agent.evidence.figures import Figure
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


def claims_not_known(text: str) -> bool:
    """Whether a statement says that the data does not answer something."""
    return _NOT_KNOWN.search(text) is not None


def shows_absence(context: StatementContext) -> bool:
    """Whether a cited query over complete data found nothing, or a cited dataset is empty."""
    empty = any(context.totals.get(name) == 0 for name in context.dataset_names)
    return empty or any(found_nothing(query) and query.lineage is Lineage.EXACT for query in context.queries)


def found_nothing(query: SqlEvidence) -> bool:
    """Whether a query returned no row, or a figure that is zero or missing."""
    return not query.n_rows or any(
        cell in (0, None) for row in query.rows for cell in row if not isinstance(cell, bool)
    )
