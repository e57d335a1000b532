"""Decides whether a question can only be answered from data. Pure."""

import re
from collections.abc import Iterable

from runax_cli.agent.evidence.figures import words_of
from runax_cli.agent.locales import any_of
from runax_cli.agent.planning.question_analysis import decide_need

_GREETING = re.compile(
    rf"\W*(?:(?:{any_of(lambda locale: locale.claim.greeting)})\b[\W_]*(?:[^\W\d]+[^\w?]*){{0,4}})+", re.IGNORECASE
)
_ABOUT_RUNAX = re.compile(rf"\b{any_of(lambda locale: locale.claim.about_runax)}", re.IGNORECASE)
_MIN_STEM = 4
_ENDING_CHARS = 2


def needs_data(question: str, nouns: Iterable[str], *, has_earlier_data: bool = False) -> bool:
    """Whether a question needs data.

    Greetings and questions about runax do not. `nouns` are the words in names of tools. If earlier turns have read
    data, only a question that asks for a figure or names what a tool returns needs more: others may be about the last
    answer.
    """
    if _GREETING.fullmatch(question) or _ABOUT_RUNAX.search(question):
        return False
    if not has_earlier_data:
        return bool(words_of(question))
    return decide_need(question).need == "compute" or names_any(question, nouns)


def names_any(question: str, nouns: Iterable[str]) -> bool:
    """Whether a question has one of these nouns, in singular or plural."""
    asked = words_of(question)
    wanted = {word for noun in nouns for word in words_of(noun.replace("_", " ")) if len(word) >= _MIN_STEM}
    return any(_is_same_noun(one, other) for one in asked for other in wanted)


def _is_same_noun(one: str, other: str) -> bool:
    common = min(len(one), len(other)) - 1
    return common >= _MIN_STEM - 1 and one[:common] == other[:common] and abs(len(one) - len(other)) <= _ENDING_CHARS
