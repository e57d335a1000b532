"""Counted nouns: rows are not called hospitals if several rows are about the same hospital."""

import re
from collections.abc import Iterator
from decimal import Decimal

from runax_cli.agent.evidence.checks.context import Problem, StatementContext, column_values
from runax_cli.agent.evidence.figures import Figure, normalize_text
from runax_cli.agent.locales import any_of, fold
from runax_cli.core.results import Fault
from runax_cli.executor.outcome import SqlEvidence

_TOKEN = re.compile(r"[^\W\d_]+")
_ROW_COUNTS = frozenset({"count", "count_star"})
_NOUN_WORDS = 2
_COUNTING = re.compile(rf"\b{any_of(lambda locale: locale.question.counting)}\s+", re.IGNORECASE)
_SHORT_STEM = 4


def check_counted_noun(context: StatementContext) -> Problem | None:
    """A number of rows that is given as a number of different things."""
    for figure in context.figures:
        column = _counted_column(context, figure)
        if column and (source := _counts_rows(context, figure, column)):
            note = f"{figure.text} is the number of records in {source}, not of different values of '{column}'"
            return Problem(Fault.CONTRADICTED, note)
    return None


def check_output_name(context: StatementContext) -> Problem | None:
    """A figure followed by the name of another column of the same row: "24 makers" where `makers` is 3."""
    for query in context.queries:
        if query.n_rows != 1 or len(query.rows) != 1 or len(query.columns) < 2:
            continue
        by_name = {_stem(fold(name)): cell for name, cell in zip(query.columns, query.rows[0], strict=True)}
        for figure in context.figures:
            nouns = _nouns(context.text[figure.start + len(figure.text) :])[:1]
            named = next((name for name in by_name if len(name) >= _SHORT_STEM and name in nouns), None)
            if named is not None and any(_is_number(other, by_name[named]) for other in context.figures):
                continue
            others = [cell for name, cell in by_name.items() if name != named]
            is_other = any(_is_number(figure, cell) for cell in others)
            if named is not None and not _is_number(figure, by_name[named]) and is_other:
                note = f"{figure.text} is not '{named}' in {query.id}, which is {by_name[named]}"
                return Problem(Fault.CONTRADICTED, note)
    return None


def _counted_column(context: StatementContext, figure: Figure) -> str | None:
    """The text column that the noun after a figure names, or that the question counts."""
    if figure.number is None or figure.number.is_percent:
        return None
    after = _nouns(context.text[figure.start + len(figure.text) :])
    asked = [noun for match in _COUNTING.finditer(context.question) for noun in _nouns(context.question[match.end() :])]
    for nouns in (after, asked if not after or not _names_records(context, after) else []):
        if _names_records(context, nouns):
            return None
        for index in context.own_indexes:
            named = (c for c in index.distinct if c not in index.booleans and 1 < index.distinct[c] < index.n_records)
            if found := next((c for c in named if any(_is_noun_of(noun, c) for noun in nouns)), None):
                return found
    return None


def _nouns(text: str) -> list[str]:
    return [_stem(word) for word in _TOKEN.findall(normalize_text(text))[:_NOUN_WORDS]]


def _names_records(context: StatementContext, nouns: list[str]) -> bool:
    own = {_stem(word) for name in context.dataset_names for word in name.rpartition("_")[0].split("_")}
    return any(noun in own for noun in nouns)


def _is_noun_of(noun: str, column: str) -> bool:
    words = [_stem(word) for word in re.findall(r"[a-z]+", column)]
    return len(noun) >= _SHORT_STEM and noun in words[:1] and words[-1] not in ("date", "time", "count")


def _stem(word: str) -> str:
    for ending, replacement in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("s", "")):
        if word.endswith(ending) and len(word) > len(ending) + 2 and not word.endswith("ss"):
            return word[: -len(ending)] + replacement
    return word


def _counts_rows(context: StatementContext, figure: Figure, column: str) -> str:
    """The evidence of the figure if that counts rows only; "" if any counts different values, or holds the figure."""
    sources = list(_sources(context, figure, column))
    return sources[0][0] if sources and not any(is_distinct for _, is_distinct in sources) else ""


def _sources(context: StatementContext, figure: Figure, column: str) -> Iterator[tuple[str, bool]]:
    for query in context.queries:
        yield from _query_sources(query, figure, column)
    for name, total in context.totals.items():
        if _is_number(figure, total) and name in context.dataset_names:
            yield name, False


def _query_sources(query: SqlEvidence, figure: Figure, column: str) -> Iterator[tuple[str, bool]]:
    shape = query.shape
    if shape is None or len(shape.outputs) != len(query.columns):
        return
    if _is_number(figure, query.n_rows):
        yield query.id, column in shape.group_by or shape.is_distinct
    for at, output in enumerate(shape.outputs):
        if any(_is_number(figure, value) for value in column_values(query, at)):
            counts_rows = output.aggregate in _ROW_COUNTS and not output.is_distinct
            yield query.id, not counts_rows or column in shape.group_by


def _is_number(figure: Figure, value: object) -> bool:
    if figure.number is None or isinstance(value, bool) or not isinstance(value, int):
        return False
    return figure.number.includes(Decimal(value))
