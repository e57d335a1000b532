"""Decides whether a question can only be answered from data. Pure."""

import re
from collections.abc import Collection

from runax_cli.agent.evidence.figures import words_of
from runax_cli.agent.locales import any_of
from runax_cli.agent.planning.question_analysis import decide_need, mentioned_nouns

_GREETING = re.compile(
    rf"\W*(?:(?:{any_of(lambda locale: locale.claim.greeting)})\b[\W_]*(?:[^\W\d]+[^\w?]*){{0,4}})+", re.IGNORECASE
)
_ABOUT_RUNAX = re.compile(rf"\b{any_of(lambda locale: locale.claim.about_runax)}", re.IGNORECASE)


def needs_data(question: str, nouns: Collection[str], *, has_earlier_data: bool = False) -> bool:
    """Whether a question needs data.

    Greetings and questions about runax do not. `nouns` name the records of the tools, in the singular. If earlier turns
    have read data, only a question that asks for a figure or names what a tool returns needs more: others may be about
    the last answer.
    """
    if _GREETING.fullmatch(question) or _ABOUT_RUNAX.search(question):
        return False
    if not has_earlier_data:
        return bool(words_of(question))
    return decide_need(question).need == "compute" or bool(mentioned_nouns(question, nouns))
