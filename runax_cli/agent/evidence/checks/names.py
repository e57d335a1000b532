"""Names and values: what a statement calls something must be in the records or rows that it cites."""

import re
from collections.abc import Iterator, Sequence

from runax_cli.agent import locales
from runax_cli.agent.evidence.checks.context import Problem, StatementContext
from runax_cli.agent.evidence.figures import words_of
from runax_cli.agent.evidence.values import Mention, ValueIndex, leaves
from runax_cli.agent.locales import any_of
from runax_cli.core.results import Fault

_CONTRAST = re.compile(
    rf"\b{any_of(lambda locale: locale.claim.contrast)}\b|\b{any_of(lambda locale: locale.statement.negation)}\b",
    re.IGNORECASE,
)
_CONTRAST_CHARS = 30
_CAPITALIZED_RUN = re.compile(
    r"[^\W\d_a-z][\w'’.-]*(?:\s+(?:of|the|de|van|von|&)\s+|[\s-]+)(?:[^\W\d_a-z][\w'’-]*\s*)+"
)


def check_values(context: StatementContext) -> Problem | None:
    """A value of a column that the cited data does not have, although other records do."""
    for index in context.own_indexes:
        for mention in index.mentions(context.text):
            if _is_supported(mention, context) or _is_contrasted(mention, context.text):
                continue
            if problem := _wrong_record_value(mention, index, context) or _not_in_rows(mention, index, context):
                return problem
    return None


def check_unknown_names(context: StatementContext) -> Problem | None:
    """A name of several capitalized words of which no word is in the data or the question."""
    if not context.dataset_names or locales.detect(context.text).code == "de":
        return None
    for match in _CAPITALIZED_RUN.finditer(context.text):
        words = words_of(match[0])
        if match.start() == 0 or len(words) < 2 or any(_is_known(word, context) for word in words):
            continue
        name = match[0].strip()
        return Problem(Fault.UNSUPPORTED, f"'{name}' does not appear in the data")
    return None


def _is_known(word: str, context: StatementContext) -> bool:
    return any(pool.has_words(word) for pool in context.pools) or any(
        word in column for index in context.own_indexes for column in index.columns
    )


def _is_supported(mention: Mention, context: StatementContext) -> bool:
    return any(pool.has_words(mention.value) for pool in context.pools)


def _is_contrasted(mention: Mention, text: str) -> bool:
    """Whether the words before deny the value or compare with it: "not delivered", "rather than delivered"."""
    before = text[max(0, mention.start - _CONTRAST_CHARS) : mention.start]
    return any(match.end() >= len(before) - 12 for match in _CONTRAST.finditer(before))


def _wrong_record_value(mention: Mention, index: ValueIndex, context: StatementContext) -> Problem | None:
    """A cited record has another value in the column of the mentioned one, and the statement does not name that one."""
    records = [cited.record for cited in context.support.records if cited.record is not None]
    if not records or context.queries:
        return None
    stated = {other.value for other in index.mentions(context.text)}
    for column in mention.columns:
        own = [{value for name, value in leaves(record) if name == column} for record in records]
        texts = [{str(value) for value in values if value is not None} for values in own]
        if not all(texts) or any(values & stated for values in texts) or _is_free_text(column, index):
            continue
        true = ", ".join(sorted(texts[0])[:3])
        ref = context.support.records[0].ref
        note = f"'{mention.value}' is not the {column} of {ref.dataset}#{ref.row}, which is '{true}'"
        return Problem(Fault.CONTRADICTED, note)
    return None


def _is_free_text(column: str, index: ValueIndex) -> bool:
    return index.distinct.get(column, 0) > index.n_records * 0.9 and index.n_records > 1 and column not in index.columns


def _not_in_rows(mention: Mention, index: ValueIndex, context: StatementContext) -> Problem | None:
    """A name that the rows of the cited queries do not have, although they have a column of its kind."""
    if not context.queries or any(query.shape is None for query in context.queries):
        return None
    used = frozenset(column for shape in context.shapes for column in shape.used_columns)
    if not used.intersection(mention.columns) and _is_common_word(mention, index):
        return None
    refs = ", ".join(query.id for query in context.queries)
    return Problem(Fault.CONTRADICTED, f"'{mention.value}' is not in the result of {refs}")


def _is_common_word(mention: Mention, index: ValueIndex) -> bool:
    """Whether a value may just as well be an ordinary word: one word in lower case."""
    return " " not in mention.value and mention.value.islower()


def named_rows(text: str, names: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Where a text names one of these names as whole words: start, end, name."""
    for name in names:
        pattern = r"(?<![^\W_])" + r"\W+".join(map(re.escape, re.findall(r"[^\W_]+", name))) + r"(?![^\W_])"
        flags = 0 if len(name) <= 3 else re.IGNORECASE
        yield from ((match.start(), match.end(), name) for match in re.finditer(pattern, text, flags))
