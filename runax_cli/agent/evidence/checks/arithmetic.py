"""Arithmetic over cited values: differences, sums, ratios and percentages are computed again.

Only values that the statement itself names, or a few that it cites, are combined: among many numbers some pair gives
any result.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations

from runax_cli.agent.evidence.checks.context import StatementContext
from runax_cli.agent.evidence.figures import Figure, figures_in
from runax_cli.agent.evidence.numbers import as_decimal
from runax_cli.agent.evidence.support import MAX_COMPARED_ROWS, data_numbers, name_positions, row_names
from runax_cli.agent.evidence.values import leaves
from runax_cli.agent.locales import any_of

_CALCULATED = re.compile(rf"\b{any_of(lambda locale: locale.claim.calculated)}\b|%", re.IGNORECASE)
MAX_OPERANDS = 12
"""At most this many cited values are combined: 12 values have 132 pairs."""
_MAX_FREE_OPERANDS = 4
_ID_COLUMN = re.compile(r"(?:^|_)(?:id|no|nr|number|row|zip|code)$", re.IGNORECASE)
_MAX_STATED = 6
_MAX_DIFFERENCE_ROWS = 40
_RARE_DIGITS = 4


def is_calculated(figure: Figure, context: StatementContext, *, before: str = "") -> bool:
    """Whether a figure follows from cited values by one difference, sum, mean, ratio or percentage.

    `before` is the text of the statements before, whose figures may be meant too.
    """
    if figure.number is None:
        return False
    cited = list(_cited_values(context))
    stated = _stated_values(context, cited, figure, before)
    has_word = _CALCULATED.search(context.text) is not None
    candidates: list[Decimal] = []
    if has_word or len(_significant(figure)) > 1:
        whole = [*stated, *_totals(context)]
        candidates += _pair_results(stated, whole, is_percent=figure.number.is_percent)
        if len(cited) <= MAX_OPERANDS:
            others = cited if len(cited) <= _MAX_FREE_OPERANDS else stated
            candidates += _pair_results(cited, others, is_percent=figure.number.is_percent)
        candidates += [one + other for one, other in combinations(stated, 2)]
        candidates += [sum(stated, Decimal(0)), *_column_results(context), *_record_sums(context)]
    if len(_significant(figure)) >= _RARE_DIGITS:
        candidates += _column_differences(context)
    return any(figure.number.includes(abs(value)) for value in candidates)


def _significant(figure: Figure) -> str:
    """The digits of a figure without zeros at its ends: few figures agree in three or more by chance."""
    return re.sub(r"\D", "", figure.text).strip("0")


def _cited_values(context: StatementContext) -> Iterator[Decimal]:
    """The numbers of the cited rows and records that are from data."""
    found: dict[Decimal, None] = {}
    for query in context.queries:
        rows = data_numbers(query, context.given)
        found.update((number, None) for row in rows for cell in row if (number := as_decimal(cell)) is not None)
    for cited in context.support.records:
        for column, value in leaves(cited.record or {}):
            if _ID_COLUMN.search(column) is None and (number := as_decimal(value)) is not None:
                found[number] = None
    yield from found


def _totals(context: StatementContext) -> list[Decimal]:
    """Totals of datasets and numbers of rows: they are combined with values that the statement gives."""
    rows = (query.n_rows for query in context.queries)
    return [Decimal(total) for total in (*context.totals.values(), *context.records_read, *rows)]


def _stated_values(context: StatementContext, cited: Sequence[Decimal], figure: Figure, before: str) -> list[Decimal]:
    """The cited values that the statement itself, or those before it, give, and those of the rows that it names."""
    others = [one for one in (*context.figures, *figures_in(before)) if one.text != figure.text]
    found = [value for value in cited if any(one.number and one.number.includes(abs(value)) for one in others)]
    named = [
        number
        for query in context.queries
        for row, names in zip(data_numbers(query, context.given)[:MAX_COMPARED_ROWS], row_names(query), strict=False)
        if any(name_positions(context.text, names))
        for cell in row
        if (number := as_decimal(cell)) is not None
    ]
    known = [one for one in others if one.number and any(pool.has(one) for pool in context.pools)]
    middle = [(one.number.readings[0].low + one.number.readings[0].high) / 2 for one in known if one.number]
    return list(dict.fromkeys([*found, *named[:_MAX_STATED], *middle]))[: 2 * _MAX_STATED]


def _pair_results(values: Sequence[Decimal], others: Sequence[Decimal], *, is_percent: bool) -> Iterator[Decimal]:
    """Differences and ratios of each value with each of the others, or percentages."""
    for one, other in ((one, other) for one in values for other in others if one != other):
        if not is_percent:
            yield one - other
        for part, whole in ((one, other), (other, one)):
            if part and whole:
                ratio = part / whole
                yield from (ratio * 100, (ratio - 1) * 100) if is_percent else (ratio,)


def _column_differences(context: StatementContext) -> Iterator[Decimal]:
    """Differences between rows of the same column."""
    for query in context.queries:
        for at in range(len(query.columns)):
            cells = (row[at] for row in data_numbers(query, context.given)[:_MAX_DIFFERENCE_ROWS])
            numbers = [number for value in cells if (number := as_decimal(value)) is not None]
            yield from (one - other for one, other in combinations(numbers, 2))


def _record_sums(context: StatementContext) -> Iterator[Decimal]:
    """Sums of each numeric column over the cited records."""
    sums: dict[str, Decimal] = {}
    for cited in context.support.records:
        for column, value in leaves(cited.record or {}):
            if (number := as_decimal(value)) is not None:
                sums[column] = sums.get(column, Decimal(0)) + number
    yield from sums.values()


def _column_results(context: StatementContext) -> Iterator[Decimal]:
    """The sum of each column of a cited result; if the result is whole, also its mean and the shares of the sum."""
    for query in context.queries:
        if query.shape is None or query.n_rows != len(query.rows) or query.n_rows < 2:
            continue
        for at in range(len(query.columns)):
            cells = (row[at] for row in data_numbers(query, context.given))
            numbers = [number for value in cells if (number := as_decimal(value)) is not None]
            if len(numbers) == query.n_rows:
                total = sum(numbers, Decimal(0))
                yield total
                if query.shape.limit is None:
                    yield total / len(numbers)
                    yield from (number / total * 100 for number in numbers if total)
