"""Conditions of the question: what it restricts must be in the SQL, in the arguments of a call, or in the cited data.

A condition counts only where code can see it: a value of a column, the name of a column of truth values, a date, or a
number after a comparison. The rest is left to the review.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runax_cli.agent.evidence.checks.context import Problem, StatementContext
from runax_cli.agent.evidence.checks.contrast import is_denied
from runax_cli.agent.evidence.dates import dates_in
from runax_cli.agent.evidence.figures import EvidencePool, figures_in, normalize_text, words_of
from runax_cli.agent.evidence.values import Mention, ValueIndex
from runax_cli.agent.locales import LOCALES, any_of
from runax_cli.core.results import Fault
from runax_cli.executor.sql.query_shape import Condition, QueryShape

_COMPARED = re.compile(
    rf"(?:\b{any_of(lambda locale: locale.number.over)}|\b{any_of(lambda locale: locale.number.under)}|[<>≥≤])\s*$",
    re.IGNORECASE,
)
_COUNTING = re.compile(rf"\b{any_of(lambda locale: locale.question.counting)}\b")
_MIN_WORD_CHARS = 5
_LOOK_BEHIND = 24
_MIN_MONTH_CHARS = 3
_YEAR = re.compile(r"(?<![\w.,-])(?:19|20)\d\d(?![\w,-]|\.\d)")
_MAX_WORDS_BETWEEN = 1
_MONTHS = {
    name: number
    for locale in LOCALES
    for number, names in enumerate(locale.date.months, 1)
    for name in names.split()
    if len(name) >= _MIN_MONTH_CHARS
}
_MONTH = re.compile(rf"(?<=\s)(?:{'|'.join(sorted({*_MONTHS, *map(str.capitalize, _MONTHS)} - {'march', 'may'}))})\b")
_EQUALITY = ("=", "in")


@dataclass(frozen=True, slots=True)
class QuestionConditions:
    """The question of one sub-question, the arguments of its calls, and all queries that the answer cites."""

    question: str
    arguments: EvidencePool
    argument_names: frozenset[str]
    shapes: Sequence[QueryShape]


def check_conditions(asked: QuestionConditions, context: StatementContext) -> Problem | None:
    """A condition of the question that none of the cited queries applies, for a statement that cites a query.

    The conditions of all queries count together: one part of an answer may be about all records.
    """
    if not context.queries or not context.shapes or not asked.question or context.support.records:
        return None
    missing = _missing_value(asked, context) or _missing_flag(asked, context)
    missing = missing or _missing_date(asked, context) or _missing_limit(asked, context)
    return Problem(Fault.CONTRADICTED, missing) if missing else None


def _missing_value(asked: QuestionConditions, context: StatementContext) -> str:
    for index in context.own_indexes:
        for mention in index.mentions(asked.question):
            if index.has_everywhere(mention) or asked.arguments.has_words(mention.value):
                continue
            if is_denied(mention, asked.question):
                continue
            if _is_applied(mention, asked, context):
                continue
            if other := _other_value(mention, asked):
                return (
                    f"the question asks for '{mention.value}', but the SQL selects {other.column} '{other.values[0]}'"
                )
            if not _is_ambiguous(mention, index) and not _is_implied(mention, index, asked):
                return f"the question asks for '{mention.value}', which no cited SQL and no argument selects"
    return ""


def _is_applied(mention: Mention, asked: QuestionConditions, context: StatementContext) -> bool:
    """Whether a query names the value, or part of it, or returns it, or shows its column."""
    if context.answer_rows.has_words(mention.value) or context.support.in_records.has_words(mention.value):
        return True
    words = words_of(mention.value)
    for shape in asked.shapes:
        for constant in shape.constants:
            given = words_of(constant)
            if given == words or (given and " ".join(given) in " ".join(words)) or " ".join(words) in " ".join(given):
                return True
        conditioned = {condition.column for condition in shape.conditions}
        if any(column in shape.used_columns and column not in conditioned for column in mention.columns):
            return True
    return False


def _other_value(mention: Mention, asked: QuestionConditions) -> Condition | None:
    """A condition that selects another value of the same column."""
    for shape in asked.shapes:
        for condition in shape.conditions:
            is_asked = any(set(words_of(value)) <= set(words_of(asked.question)) for value in condition.values)
            if condition.column in mention.columns and condition.operator in _EQUALITY and not is_asked:
                return condition
    return None


def _is_ambiguous(mention: Mention, index: ValueIndex) -> bool:
    """Whether the words may mean something else: one short word in lower case, or a column's name."""
    words = words_of(mention.value)
    is_column = any(word in column for word in words for column in index.columns)
    return is_column or not any(index.is_category(column) or " " in mention.value for column in mention.columns)


def _is_implied(mention: Mention, index: ValueIndex, asked: QuestionConditions) -> bool:
    """Whether a common word may be no condition, or an implied one.

    It may be a verb ("did customer 4 open"), a noun of the API, or follow from a column that lacks values: only sold
    lots have a price. Only SQL that restricts nothing is taken to miss it.
    """
    if " " in mention.value or not mention.value.islower():
        return False
    if len(mention.value) < _MIN_WORD_CHARS or any(shape.conditions or shape.group_by for shape in asked.shapes):
        return True
    return any(shape.used_columns & index.nullable for shape in asked.shapes)


def _missing_flag(asked: QuestionConditions, context: StatementContext) -> str:
    """A column of truth values that the question names and no query uses."""
    words = frozenset(words_of(asked.question))
    used = asked.argument_names.union(column for shape in asked.shapes for column in shape.used_columns)
    for index in context.own_indexes:
        for column in sorted(index.booleans):
            parts = [part for part in re.findall(r"[a-z]+", column) if part not in ("is", "has", "was")]
            is_asked = bool(parts) and all(part in words for part in parts)
            if is_asked and column not in used and not any(part in other for part in parts for other in used):
                return f"the question asks for '{' '.join(parts)}', but no cited SQL uses '{column}'"
    return ""


def _missing_date(asked: QuestionConditions, context: StatementContext) -> str:
    """A year or month of the question that is in no condition, argument or row, although the data has others too."""
    applied = _applied(asked, context)
    numbers = " ".join(normalize_text(text) for text in applied.texts)
    for shown, part, is_year in _calendar_parts(asked.question):
        known = [index.years if is_year else index.months for index in context.own_indexes]
        if all(values <= {part} for values in known) or applied.has_value(part):
            continue
        # A range may end before the first day of the next month.
        written = rf"(?<!\d)0?{part}(?!\d)" if is_year else rf"(?<!\d)0?(?:{part}|{part % 12 + 1})(?!\d)"
        if not re.search(written, numbers) and not (not is_year and applied.has_words(shown)):
            return f"the question asks for '{shown}', which no cited SQL and no argument selects"
    return ""


def _calendar_parts(text: str) -> Iterator[tuple[str, int, bool]]:
    """The years and months of a text: the words, the number, and whether it is a year."""
    for found in dates_in(text):
        if found.is_certain and len(found.readings) == 1:
            (day,) = found.readings
            shown = text[found.start : found.end]
            yield from ((shown, part, at == 0) for at, part in enumerate((day.year, day.month)) if part is not None)
    for match in _YEAR.finditer(text):
        yield match[0], int(match[0]), True
    for match in _MONTH.finditer(text):
        yield match[0], _MONTHS[match[0].casefold()], False


def _missing_limit(asked: QuestionConditions, context: StatementContext) -> str:
    """A number after "more than" or "below" that is in no condition and no argument."""
    applied = _applied(asked, context)
    if not _COUNTING.search(normalize_text(asked.question)):
        return ""
    for figure in figures_in(asked.question):
        before = asked.question[max(0, figure.start - _LOOK_BEHIND) : figure.start]
        if figure.number is None or figure.is_word or figure.dates or not _COMPARED.search(before):
            continue
        if not applied.has(figure, after=asked.question[figure.start + len(figure.text) :][:12]):
            return f"the question compares with {figure.text}, which no cited SQL and no argument does"
    return ""


def _applied(asked: QuestionConditions, context: StatementContext) -> EvidencePool:
    pool = EvidencePool(has_durations=True)
    pool.add_all(constant for shape in asked.shapes for constant in shape.constants)
    pool.add_all(asked.arguments.texts)
    pool.add_all(row for query in context.queries for row in query.rows)
    return pool


def _columns_asked(question: str, index: ValueIndex) -> Iterator[str]:
    """The columns that a question names by all words of their names, of at least two words, close together."""
    asked = words_of(question)
    for column in sorted(index.columns):
        parts = [part for part in re.findall(r"[a-z]+", column) if len(part) > 1]
        if len(parts) >= 2 and any(
            set(parts) <= set(asked[at : at + len(parts) + _MAX_WORDS_BETWEEN]) for at in range(len(asked))
        ):
            yield column


def check_columns(asked: QuestionConditions, context: StatementContext) -> Problem | None:
    """A column that the question names in full, where the cited SQL uses another one instead."""
    if not context.shapes or context.support.records:
        return None
    used = asked.argument_names.union(column for shape in asked.shapes for column in shape.used_columns)
    shown = frozenset(word for column in used for word in re.findall(r"[a-z]+", column))
    for index in context.own_indexes:
        for column in _columns_asked(asked.question, index):
            parts = re.findall(r"[a-z]+", column)
            if column not in used and not all(part in shown for part in parts):
                return Problem(Fault.CONTRADICTED, f"the question asks for '{column}', which no cited SQL uses")
    return None
