"""Shares in words: "two thirds", "more than half", "a minority"."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from runax_cli.agent.evidence.checks.context import Problem, StatementContext, column_values
from runax_cli.agent.evidence.number_words import word_numbers_in
from runax_cli.agent.evidence.numbers import as_decimal, numbers_in, word_pattern
from runax_cli.agent.evidence.support import name_positions, row_names
from runax_cli.agent.evidence.values import leaves
from runax_cli.agent.locales import LOCALES, any_of
from runax_cli.core.results import Fault
from runax_cli.executor.outcome import SqlEvidence

_MAJORITY = re.compile(rf"\b{any_of(lambda locale: locale.claim.majority)}(?!\w)", re.IGNORECASE)
_MINORITY = re.compile(rf"\b{any_of(lambda locale: locale.claim.minority)}(?!\w)", re.IGNORECASE)
_FRACTIONS = {phrase: parts for locale in LOCALES for phrase, parts in locale.claim.fractions.items()}
_FRACTION = re.compile(rf"(?<!\w)(?:{word_pattern(_FRACTIONS)})(?!\w)", re.IGNORECASE)
_TOLERANCE = Decimal("0.035")
_HALF = Decimal("0.5")
_ONE = Decimal(1)
_MEDIANS = frozenset({"median", "quantile", "quantile_cont", "quantile_disc"})
"""Half of the values are below a median, whatever they are."""
_COUNTS = frozenset({"count", "count_star", "countif", "count_if"})
_NEARLY = Decimal("0.85")
_MULTIPLES = {word: Decimal(factor) for locale in LOCALES for word, factor in locale.claim.multiples.items()}
_MULTIPLE = re.compile(
    rf"\b(?:(?P<number>[^\W\d_]+|\d+)[\s-]?{any_of(lambda locale: locale.claim.times)}"
    rf"|(?P<word>{word_pattern(_MULTIPLES)})\w*)\b",
    re.IGNORECASE,
)
_LOOK_BEHIND = 24
_ABOVE = re.compile(rf"{any_of(lambda locale: locale.number.over)}\s*(?:\w+\s)?$", re.IGNORECASE)
_BELOW = re.compile(rf"{any_of(lambda locale: locale.number.under)}\s*(?:\w+\s)?$", re.IGNORECASE)


def check_multiples(context: StatementContext) -> Problem | None:
    """A multiple, such as "three times as many" or "twice", that no two cited values give."""
    numbers = list(_numbers(context)) if context.queries else []
    for match in _MULTIPLE.finditer(context.text) if numbers else ():
        word = (match["number"] or match["word"]).casefold()
        factor = _MULTIPLES.get(word) or _number_of(match["number"] or "")
        # "3 times" may also count how often something happened.
        if not factor or factor in numbers:
            continue
        before = context.text[max(0, match.start() - _LOOK_BEHIND) : match.start()]
        low = factor if _ABOVE.search(before) else factor * _NEARLY
        high = factor if _BELOW.search(before) else factor * (_ONE + _HALF)
        if not any(low <= ratio <= high for ratio in _ratios(context, numbers)):
            return Problem(Fault.CONTRADICTED, f"'{match[0]}' does not fit the cited figures")
    return None


def _ratios(context: StatementContext, numbers: Sequence[Decimal]) -> Iterator[Decimal]:
    """The ratios of the values that the statement gives; of one such value, or none, with all cited ones."""
    stated = [value for value in numbers if context.states(value)] or list(numbers)
    others = stated if len(set(stated)) > 1 else numbers
    pairs = ((one, other) for one in stated for other in others)
    yield from (max(pair) / min(pair) for pair in pairs if min(pair) > 0)


def _number_of(text: str) -> Decimal | None:
    mention = next(iter((*word_numbers_in(text), *numbers_in(text))), None)
    if mention is None or not mention.readings:
        return None
    return (mention.readings[0].low + mention.readings[0].high) / 2


def check_shares(context: StatementContext) -> Problem | None:
    """A share in words that no share of the cited values fits."""
    if not context.queries or any(query.shape is None or _MEDIANS & _aggregates(query) for query in context.queries):
        return None
    for phrase, low, high in _claimed(context.text):
        shares = list(_shares(context))
        if not shares:
            return Problem(Fault.UNSUPPORTED, f"'{phrase}' cannot be computed from the cited data")
        if not any(low <= share <= high for share in shares):
            return Problem(Fault.CONTRADICTED, f"'{phrase}' does not fit the cited figures")
    return None


def _claimed(text: str) -> Iterator[tuple[str, Decimal, Decimal]]:
    """Each share with the range that it may be in."""
    for pattern, low, high in ((_MAJORITY, _HALF, _ONE), (_MINORITY, Decimal(0), _HALF)):
        if match := pattern.search(text):
            yield match[0], low, high
            return
    for match in _FRACTION.finditer(text):
        numerator, denominator = _FRACTIONS[" ".join(match[0].casefold().split())]
        share = Decimal(numerator) / denominator
        before = text[max(0, match.start() - _LOOK_BEHIND) : match.start()]
        low = (
            share if _ABOVE.search(before) else share - 2 * _TOLERANCE if _BELOW.search(before) else share - _TOLERANCE
        )
        high = (
            share if _BELOW.search(before) else share + 3 * _TOLERANCE if _ABOVE.search(before) else share + _TOLERANCE
        )
        yield match[0], low, high


def _shares(context: StatementContext) -> Iterator[Decimal]:
    """Shares that the statement may mean.

    Of named rows: their part of each column, and the ratios in them. Otherwise a stated figure of another number, and
    percentages.
    """
    named = list(_named_numbers(context))
    yield from (value / 100 for value in _percentages(context))
    if named:
        yield from _column_shares(context)
        yield from (part / whole for row in named for part in row for whole in row if 0 <= part < whole)
        return
    numbers = [*_numbers(context), *map(Decimal, context.totals.values())]
    stated = [value for value in numbers if context.states(value)]
    yield from (
        part / whole
        for part in numbers
        for whole in numbers
        if 0 <= part < whole and (not stated or part in stated or whole in stated)
    )
    yield from (value for value in numbers if 0 <= value <= 1)


def _aggregates(query: SqlEvidence) -> frozenset[str]:
    return frozenset(output.aggregate for output in query.shape.outputs) if query.shape is not None else frozenset()


def _count_columns(query: SqlEvidence) -> list[int]:
    """The columns that count: only these are parts of each other within a row."""
    outputs = query.shape.outputs if query.shape is not None else ()
    return [at for at, output in enumerate(outputs) if output.aggregate in _COUNTS and at < len(query.columns)]


def _named_numbers(context: StatementContext) -> Iterator[list[Decimal]]:
    """The counts in each row that the statement names."""
    for query in context.queries:
        for row, names in zip(query.rows, row_names(query), strict=True):
            if any(name_positions(context.text, names)):
                counts = _count_columns(query)
                yield [number for at in counts if (number := as_decimal(row[at])) is not None]


def _numbers(context: StatementContext) -> Iterator[Decimal]:
    for query in context.queries:
        for row in query.rows:
            yield from (number for cell in row if (number := as_decimal(cell)) is not None)
    for cited in context.support.records:
        for _, value in leaves(cited.record or {}):
            if (number := as_decimal(value)) is not None:
                yield number


def _percentages(context: StatementContext) -> Iterator[Decimal]:
    """Numbers up to 100 of columns that are not whole numbers or are named like a percentage."""
    for query in context.queries:
        for at, name in enumerate(query.columns):
            for value in column_values(query, at):
                number = as_decimal(value)
                is_share = isinstance(value, float) or re.search(
                    r"pct|perc|share|rate|ratio|anteil|podil", name, re.IGNORECASE
                )
                if number is not None and 0 <= number <= 100 and is_share:
                    yield number


def _column_shares(context: StatementContext) -> Iterator[Decimal]:
    for query in context.queries:
        if query.n_rows != len(query.rows) or query.n_rows < 2:
            continue
        for at in range(len(query.columns)):
            numbers = [as_decimal(value) for value in column_values(query, at)]
            total = sum((number for number in numbers if number is not None), Decimal(0))
            together = Decimal(0)
            for names, number in zip(row_names(query), numbers, strict=True):
                if number is not None and total > 0 and any(name_positions(context.text, names)):
                    together += number
                    yield number / total
            yield from [together / total] if total > 0 else ()
