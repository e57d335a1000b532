"""Arithmetic over cited values: differences, sums, ratios and percentages are computed again.

Only values that the statement itself names, or a few that it cites, are combined: among many numbers some pair gives any
result.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, DivisionByZero, InvalidOperation
from itertools import permutations

from runax_cli.agent.evidence.checks.context import StatementContext, column_values
from runax_cli.agent.evidence.checks.pairs import as_decimal
from runax_cli.agent.evidence.figures import Figure
from runax_cli.agent.evidence.values import leaves
from runax_cli.agent.locales import any_of

_CALCULATED = re.compile(rf"\b{any_of(lambda locale: locale.claim.calculated)}\b|%", re.IGNORECASE)
MAX_OPERANDS = 12
"""At most this many cited values are combined: 12 values have 132 pairs."""
_MAX_STATED = 6


def is_calculated(figure: Figure, context: StatementContext) -> bool:
    """Whether a figure follows from cited values by one difference, sum, mean, ratio or percentage."""
    if figure.number is None or not _CALCULATED.search(context.text):
        return False
    cited = list(_cited_values(context))
    stated = _stated_values(context, cited, figure)
    operands = stated if len(stated) >= 2 else cited if len(cited) <= MAX_OPERANDS else []
    candidates = [*_pair_results(operands, is_percent=figure.number.is_percent), *_column_results(context)]
    return any(reading.low <= abs(value) <= reading.high for value in candidates for reading in figure.number.readings)


def _cited_values(context: StatementContext) -> Iterator[Decimal]:
    """The numbers of the cited rows and records, totals of datasets, and numbers of rows."""
    found: dict[Decimal, None] = {}
    for query in context.queries:
        for at in range(len(query.columns)):
            found.update(
                (number, None) for value in column_values(query, at) if (number := as_decimal(value)) is not None
            )
        found[Decimal(query.n_rows)] = None
    for cited in context.support.records:
        for _, value in leaves(cited.record or {}):
            if (number := as_decimal(value)) is not None:
                found[number] = None
    found.update((Decimal(total), None) for total in context.totals.values())
    yield from found


def _stated_values(context: StatementContext, cited: Sequence[Decimal], figure: Figure) -> list[Decimal]:
    """The cited values that the statement itself gives, apart from the figure in question."""
    others = [one for one in context.figures if one is not figure and one.number is not None]
    found = [
        value
        for value in cited
        if any(
            reading.low <= abs(value) <= reading.high for one in others if one.number for reading in one.number.readings
        )
    ]
    return found[:_MAX_STATED]


def _pair_results(values: Sequence[Decimal], *, is_percent: bool) -> Iterator[Decimal]:
    for one, other in permutations(values, 2):
        if not is_percent:
            yield one - other
            yield one + other
        try:
            ratio = one / other
        except (DivisionByZero, InvalidOperation):
            continue
        yield from (ratio * 100, (ratio - 1) * 100) if is_percent else (ratio, ratio * 100, (ratio - 1) * 100)


def _column_results(context: StatementContext) -> Iterator[Decimal]:
    """Sum and mean of each column of a cited result whose rows are all known, and shares of that sum."""
    for query in context.queries:
        if query.n_rows != len(query.rows) or query.n_rows < 2:
            continue
        for at in range(len(query.columns)):
            numbers = [number for value in column_values(query, at) if (number := as_decimal(value)) is not None]
            if len(numbers) == query.n_rows:
                total = sum(numbers, Decimal(0))
                yield from (total, total / len(numbers))
                yield from (number / total * 100 for number in numbers if total)
