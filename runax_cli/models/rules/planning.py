"""Taking an English question apart by its marks and words: "?", ";", "and also", "and how many".

Knows the surface of questions. Understands nothing: a name that a part leaves to a pronoun is repeated from the part
before.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from runax_cli.models.base import Message, ModelRequest
from runax_cli.models.rules.clues import Clues, clues_of

REVISION = "plan_revision"
_QUOTED = re.compile(r"[\"“„][^\"“”„]{1,200}[\"”“]|(?<!\w)'[^']{2,200}'(?!\w)")
_SEPARATOR = re.compile(
    r"\?\s+(?:and\s+(?:also\s+)?)?|\s*;\s+(?:and\s+(?:also\s+)?)?|,?\s+and\s+also\s+"
    r"|,?\s+and\s+(?=(?:how|what|which|who|whose|when|where|why|list|show|find)\b)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(they|them|their|he|him|his|she|her|it|its|this|that|those|these)\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"\b(how (?:many|much|often)|numbers? of|counts?|average|mean|median|sum|total|percent\w*|share|most|least)\b",
    re.IGNORECASE,
)
_HOLE = "\ufffc"
_MOST_ELLIPTIC_WORDS = 3


def plan(request: ModelRequest) -> dict[str, Any]:
    """The parts of the question in a planner's request; a plan is never revised."""
    if request.output is not None and request.output.name == REVISION:
        return {"parts": []}
    return {"parts": [_part(question) for question in parts_of(question_of(request.messages))]}


def question_of(messages: Sequence[Message]) -> str:
    """What stands under QUESTION in the last message."""
    return messages[-1].content.partition("QUESTION:")[2].strip() if messages else ""


def parts_of(question: str) -> list[str]:
    """The parts in order, each with the name that it is about."""
    parts: list[str] = []
    named = ""
    for piece in _pieces(question):
        clues = clues_of(piece)
        own = _name(clues)
        is_open = bool(named) and not own and (_PRONOUN.search(piece) or len(piece.split()) <= _MOST_ELLIPTIC_WORDS)
        parts.append(f"{piece.rstrip('?')} of {named}?" if is_open else piece)
        named = own or named
    return parts


def _pieces(question: str) -> Iterator[str]:
    """The text between separators; quoted text is never cut."""
    quotations = _QUOTED.findall(question)
    rest = iter(quotations)
    for piece in _SEPARATOR.split(_QUOTED.sub(_HOLE, question)):
        whole = re.sub(_HOLE, lambda _hole: next(rest), piece).strip(" \n,.?")
        if whole:
            yield f"{whole[0].upper()}{whole[1:]}?"


def _name(clues: Clues) -> str:
    """Whom a part is about, as it can be said again: 'customer 4', 'customer named "Baláž"'."""
    if clues.names:
        return f'{clues.names[0].before or "the one"} named "{clues.names[0].value}"'
    return f"{clues.numbers[0].before} {clues.numbers[0].value}".strip() if clues.numbers else ""


def _part(question: str) -> dict[str, Any]:
    need = "compute" if _FIGURE.search(question) else "read"
    return {"question": question, "need": need, "after": [], "must_contain": ""}
