"""Names and values: what a statement calls something must be in the records or rows that it cites."""

import re
from collections.abc import Iterator
from typing import Any

from runax_cli.agent import locales
from runax_cli.agent.evidence.checks.context import Problem, StatementContext
from runax_cli.agent.evidence.checks.contrast import is_contrasted
from runax_cli.agent.evidence.figures import normalize_text, words_of
from runax_cli.agent.evidence.values import Mention, ValueIndex, leaves
from runax_cli.core.results import Fault

_MIN_VALUE_CHARS = 2
_UNIT_BEFORE = re.compile(r"\d[\s\u00a0]*$")
_TOKEN = re.compile(r"[^\W_][\w-]*[^\W_]|[^\W_]")
_IDENTIFIER = re.compile(
    r"(?=[\w-]*[A-Z])(?=(?:[\w-]*\d){3})[A-Z0-9][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*|[A-Z][a-z]+[A-Z]\w{2,}"
    r"|[A-Z]{2,}-[A-Z0-9]{2,}"
)
_CONNECTORS = frozenset("of the de van von und and a der".split())


def check_values(context: StatementContext) -> Problem | None:
    """A value of a column that the cited data does not have, although other records do."""
    for index in context.own_indexes:
        for mention in index.mentions(context.text):
            if _is_supported(mention, context) or is_contrasted(mention, context.text) or _is_unit(mention, context):
                continue
            if problem := _wrong_record_value(mention, index, context) or _not_in_rows(mention, context):
                return problem
    return None


def check_unknown_names(context: StatementContext) -> Problem | None:
    """An identifier, or a name of several capitalized words, of which nothing is in the data or the question."""
    if not context.dataset_names:
        return None
    # German capitalizes every noun.
    is_german = "de" in (locales.detect(context.text).code, locales.detect(context.question).code)
    names = () if is_german else tuple(_capitalized_runs(context.text))
    for name in (*_identifiers(context.text), *names):
        words = [word for word in words_of(name) if word not in _CONNECTORS]
        if words and not any(_is_known(word, context) for word in words):
            return Problem(Fault.UNSUPPORTED, f"'{name}' does not appear in the data")
    return None


def _identifiers(text: str) -> Iterator[str]:
    return (match[0] for match in _TOKEN.finditer(text) if _IDENTIFIER.fullmatch(match[0]))


def _capitalized_runs(text: str) -> Iterator[str]:
    """Runs of two or more capitalized words that do not begin a sentence."""
    run: list[str] = []
    end = 0
    for match in _TOKEN.finditer(text):
        gap = text[end : match.start()]
        is_name = match[0][0].isupper() and match[0][1:].islower() and not _starts_sentence(text, match.start())
        if not (is_name and gap in (" ", "-", "\u00a0") and run):
            if len(run) > 1:
                yield " ".join(run)
            run = []
        if is_name:
            run.append(match[0])
        end = match.end()
    if len(run) > 1:
        yield " ".join(run)


def _starts_sentence(text: str, at: int) -> bool:
    before = text[:at].rstrip(' *_"\u201c\u201e(')
    return not before or before[-1] in ".!?:;|\u2013\u2014"


def check_named_columns(context: StatementContext) -> Problem | None:
    """A value right after the name of a column, where the cited record or row has another value in that column."""
    for fields in _cited_fields(context):
        for column, own in fields.items():
            word = column.replace("_", " ")
            for other, value in fields.items():
                is_other = other != column and isinstance(value, str) and isinstance(own, str) and value != own
                is_own = isinstance(own, str) and _follows(context.text, word, own)
                if is_other and len(value) > _MIN_VALUE_CHARS and _follows(context.text, word, value) and not is_own:
                    note = f"'{value}' is '{other}' and not '{column}', which is '{own}'"
                    return Problem(Fault.CONTRADICTED, note)
    return None


def _cited_fields(context: StatementContext) -> Iterator[dict[str, Any]]:
    records = [cited.record for cited in context.support.records if cited.record is not None]
    if len(records) == 1:
        yield {str(name).casefold(): value for name, value in records[0].items()}
    for query in context.queries:
        if query.n_rows == 1 and query.rows:
            yield dict(zip(map(str.casefold, query.columns), query.rows[0], strict=True))


def _follows(text: str, word: str, value: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\W+{re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _is_known(word: str, context: StatementContext) -> bool:
    return any(pool.has_words(word) for pool in context.pools) or any(
        word in column for index in context.own_indexes for column in index.columns
    )


def _is_supported(mention: Mention, context: StatementContext) -> bool:
    if any(pool.has_words(mention.value) for pool in context.pools):
        return True
    shown = normalize_text(mention.value)
    return any((part := known.strip("% ")) and part in shown for known in context.support.filters.texts)


def _is_unit(mention: Mention, context: StatementContext) -> bool:
    """Whether a value is written like a unit: "9,420 EUR"."""
    is_short = mention.value.isupper() and " " not in mention.value
    return is_short and _UNIT_BEFORE.search(context.text[: mention.start]) is not None


def _wrong_record_value(mention: Mention, index: ValueIndex, context: StatementContext) -> Problem | None:
    """A cited record has another value in the column of the mentioned one, and the statement does not name that one."""
    records = [cited.record for cited in context.support.records if cited.record is not None]
    if not records or context.queries:
        return None
    stated = {other.value for other in index.mentions(context.text)}
    for column in mention.columns:
        own = [{value for name, value in leaves(record) if name == column} for record in records]
        texts = [{str(value) for value in values if value is not None} for values in own]
        if not all(texts) or any(values & stated for values in texts):
            continue
        true = ", ".join(sorted(texts[0])[:3])
        ref = context.support.records[0].ref
        note = f"'{mention.value}' is not the {column} of {ref.dataset}#{ref.row}, which is '{true}'"
        return Problem(Fault.CONTRADICTED, note)
    return None


def _not_in_rows(mention: Mention, context: StatementContext) -> Problem | None:
    """A name that the rows of the cited queries do not have, although they have a column of its kind."""
    if not context.queries or any(query.shape is None for query in context.queries):
        return None
    used = frozenset(column for shape in context.shapes for column in shape.used_columns)
    if not used.intersection(mention.columns) and _is_common_word(mention, context.text):
        return None
    refs = ", ".join(query.id for query in context.queries)
    return Problem(Fault.CONTRADICTED, f"'{mention.value}' is not in the result of {refs}")


def _is_common_word(mention: Mention, text: str) -> bool:
    """Whether a value may just as well be an ordinary word: one word in lower case, or any noun in German."""
    is_noun = locales.detect(text).code == "de" and mention.value.isalpha()
    is_lower = text[mention.start : mention.end].islower()
    return " " not in mention.value and (mention.value.islower() or is_lower or is_noun)
