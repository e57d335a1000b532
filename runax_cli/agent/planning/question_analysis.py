"""Analyses the wording of a question: does it need figures or reading, is it one question or several.

Every decision names the words that led to it. The words of each language are in `agent.locales`.
"""

import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass

from adapters.locales import translate
from adapters.pagination.vocabulary.members import singular
from runax_cli.agent.locales import any_of, fold
from runax_cli.agent.locales.locale import QuestionWords
from runax_cli.guard.visible_tool import Need


def _words(select: Callable[[QuestionWords], str]) -> str:
    return any_of(lambda locale: select(locale.question))


_ASKING = _words(lambda q: q.asking)
_FILLERS = rf"(?:{_words(lambda q: q.filler)}\W+)*"
_CONJUNCTION = _words(lambda q: q.conjunction)
_SELECTING = _words(lambda q: q.selecting)
_STEM = _words(lambda q: q.quantity_stem)
_AND = any_of(lambda locale: locale.statement.list_conjunction)

_FIGURE = re.compile(rf"\b{_words(lambda q: q.figure)}\b|%")
_MEANING = re.compile(rf"\b{_words(lambda q: q.meaning)}\b")
_RANKING = re.compile(rf"\b{_words(lambda q: q.ranking)}\b")
_SECOND_QUESTION = re.compile(
    rf"\b{_CONJUNCTION}\W+{_FILLERS}(?!{_words(lambda q: q.reporting)}|{_words(lambda q: q.predicate)}){_ASKING}\b"
    rf"|\b{_ASKING}\b[^?]*,\s*{_FILLERS}{_words(lambda q: q.counting)}\b"
)
_SELECTS_ONE = re.compile(rf"\W*(?:{_words(lambda q: q.preposition)}\s+)?{_SELECTING}\b(?!.*\b{_STEM}\b.*\b{_STEM}\b)")
_QUANTITY_OF_SAME = re.compile(
    rf",?\s*\b{_AND}\s+{_words(lambda q: q.quantity)}(?:[\s,]+{_words(lambda q: q.same_thing)}\b)*\s*\?"
)
_FIGURE_OF_SAME = re.compile(
    rf",?\s*\b{_AND}\s+{_FILLERS}"
    rf"(?:{_ASKING}\b[^,;?.!]*?\b{_words(lambda q: q.possessive)}\s+(?:{_words(lambda q: q.figure)}"
    rf"|{_words(lambda q: q.ranking)})|{_words(lambda q: q.counting)}\s+{_words(lambda q: q.some_of_them)})"
    r"\b(?P<rest>[^,;?.!]*)(?=[?.!]|$)"
)
_JOINED = re.compile(rf"\b{_CONJUNCTION}\b")
_OUTPUT_FORMAT = re.compile(rf"(?<=[?.!])\s+{_words(lambda q: q.output_format)}\b[^?.!]*(?:[.!]|$)")
_ADDITION = re.compile(rf"\b{_words(lambda q: q.addition)}\b")
_COMPARISON = re.compile(rf"\b{_words(lambda q: q.comparison)}\b")
_RANGE = re.compile(rf"\b{_words(lambda q: q.range_start)}\b[^,;?]{{1,40}}?\b{_words(lambda q: q.range_middle)}\b")
_SECOND_NAME = re.compile(rf"\b{_words(lambda q: q.name_conjunction)}\s+(?:{_words(lambda q: q.naming)}\s+)*(?:#?\d|_)")
_QUOTED = re.compile(r"[\"“„][^\"“”„]{1,200}[\"”“]|\u201a[^\u2018]{1,200}\u2018|(?<!\w)'[^']{2,200}'(?!\w)")
_QUOTE_MARKS = "\"'\u201a\u2018\u201c\u201d\u201e"
_CAPITALIZED = re.compile(r"(?<=[\w,] )(?:[A-Z][a-z]\w*)")
_LIST_ITEM = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+\S", re.MULTILINE)
_LONG_CHARS = 600


@dataclass(frozen=True, slots=True)
class NeedDecision:
    """What a question needs, and the words that decided it."""

    need: Need
    why: str


def decide_need(question: str) -> NeedDecision:
    """Words that ask for a figure decide first, then words that ask for meaning, then rankings."""
    folded = fold(question)
    if found := _FIGURE.search(folded):
        return NeedDecision("compute", f"'{found[0]}' asks for a figure")
    if found := _MEANING.search(folded):
        return NeedDecision("read", f"'{found[0]}' asks for meaning")
    if found := _RANKING.search(folded):
        return NeedDecision("compute", f"'{found[0]}' asks for a ranking")
    return NeedDecision("read", "no word in the question asks for a figure")


def multi_part_reason(question: str, *, nouns: Collection[str] = ()) -> str | None:
    """Why the question may have several parts; None if it clearly has one.

    In doubt it has several: a needless plan costs one small request, an overlooked part costs its answer. `nouns` name
    the records of the tools, in the singular. A further figure of the same records is not a part.
    """
    text = _drop_figure_of_same(_drop_details(_mask_names(question)), nouns)
    rules = ((_ADDITION, "adds a part"), (_COMPARISON, "compares"), (_SECOND_QUESTION, "asks a second question"))
    for pattern, what in rules:
        if found := pattern.search(text):
            return f"'{_display(found[0])}' {what}"
    if re.search(r"\?.*\?", text, re.DOTALL):
        return "there is more than one question mark"
    if re.search(r"\w\W*;\W*\w", text):
        return "';' separates parts"
    if len(_LIST_ITEM.findall(question)) > 1:
        return "it is a list"
    if found := _SECOND_NAME.search(_RANGE.sub(" ", text)):
        return f"'{_display(found[0])}' adds a second name"
    questions = [part for part in re.split(r"[.!?\n]+\s", text) if re.match(rf"\W*{_FILLERS}{_ASKING}\b", part)]
    if len(questions) > 1:
        return "more than one sentence asks a question"
    return "it is long" if len(text) > _LONG_CHARS else None


def _drop_details(text: str) -> str:
    """Drop what only asks for details of the same thing: "and how many?", "Give its id."."""
    if _SELECTS_ONE.match(text):
        text = _QUANTITY_OF_SAME.sub("?", text, count=1)
    return _OUTPUT_FORMAT.sub("", text)


def _drop_figure_of_same(text: str, nouns: Collection[str]) -> str:
    """Drop what asks for one more figure of the records that were just asked about: "and what is their average age"."""
    found = _FIGURE_OF_SAME.search(text)
    if found is None:
        return text
    before = text[: found.start()]
    is_same = mentioned_nouns(found[0], nouns) <= mentioned_nouns(before, nouns)
    if not is_same or _JOINED.search(found["rest"]) or decide_need(before).need != "compute":
        return text
    return before + text[found.end() :]


def mentioned_nouns(text: str, nouns: Collection[str]) -> frozenset[str]:
    """Those of `nouns` (in the singular) that a text mentions, in any form or language that tool search knows."""
    words = set(re.findall(r"[^\W\d_]+", fold(text)))
    words |= {english for word in words for english in translate(word)}
    return frozenset(nouns) & {singular(word) for word in words}


def required_names(question: str) -> frozenset[str]:
    """What a plan must keep of a question: quoted text, folded, and numbers without leading zeros."""
    quoted = {fold(found[0].strip(_QUOTE_MARKS)) for found in _QUOTED.finditer(question)}
    return frozenset(quoted | _numbers(_QUOTED.sub(" ", question)))


def missing_names(names: frozenset[str], texts: str) -> tuple[str, ...]:
    """The names that do not appear in `texts`."""
    folded, numbers = fold(texts), _numbers(texts)
    return tuple(sorted(name for name in names if name not in numbers and (name.isdigit() or name not in folded)))


def _numbers(text: str) -> set[str]:
    return {str(int(digits)) for digits in re.findall(r"\d{1,40}", text) if digits.isascii()}


def _mask_names(question: str) -> str:
    """Fold, and put "_" in place of quotations and before names: they do not ask for anything."""
    bare = _QUOTED.sub(" _ ", question)
    plain = "".join(c for c in unicodedata.normalize("NFKD", bare) if not unicodedata.combining(c))
    return fold(_CAPITALIZED.sub(lambda found: f"_{found[0]}", plain))


def _display(found: str) -> str:
    return found.replace("_", "…").strip(" ,;.:")
