"""How a question is taken up: one sub-question, the question itself, and whether it asks for meaning or for figures.

A pure function of the wording, in English and Czech; the rule that decided is told. Knows words and no tool.
"""

import re
import unicodedata
from dataclasses import dataclass

from runax_cli.guard.virtual import Need

_FIGURE = re.compile(
    r"\b(how (?:many|much|often)|numbers? of|counts?|average|mean|median|sum|total|percent(?:age)?|proportion|ratio"
    r"|kolik\w*|pocet|poctu|poctem|prumer\w*"
    r"|soucet|souctu|celkem|celkov\w*|median\w*|procent\w*|podil\w*|jak casto)\b|%"
)
_MEANING = re.compile(
    r"\b(why|reasons?|summari[sz]\w*|summary|describe|explain|list|find|show|tell|everything"
    r"|proc|duvod\w*|shrn\w*|souhrn\w*|popis\w*|vysvetl\w*|vypis\w*|najdi|najit|zjisti|zjistit|ukaz\w*|rekni|vse|vsechno)\b"
)
_RANKING = re.compile(
    r"\b(most|least|fewest|highest|lowest|largest|smallest|biggest|top \d+|distribution|group(?:ed)? by"
    r"|per (?:day|week|month|year)|nej\w+|rozlozeni|seskup\w*|podle (?:dne|dnu|mesic\w*|rok\w*|typu|stavu))\b"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """One sub-question and what it needs; `rule` says, in words, what decided."""

    question: str
    need: Need
    rule: str


def plan_of(question: str) -> Plan:
    """The plan for a question. Words that ask for a figure decide first, then words of meaning, then rankings."""
    folded = _fold(question)
    for pattern, need, kind in (
        (_FIGURE, "compute", "a figure"),
        (_MEANING, "read", "meaning"),
        (_RANKING, "compute", "a ranking"),
    ):
        if found := pattern.search(folded):
            return _plan(question, need, f"'{found[0]}' asks for {kind}")
    return _plan(question, "read", "nothing in its wording asks for a figure")


def _plan(question: str, need: str, why: str) -> Plan:
    decided: Need = "compute" if need == "compute" else "read"
    return Plan(question, decided, f"one sub-question, need '{decided}': {why}")


def _fold(text: str) -> str:
    """Lower case without diacritics, so that "Průměr" and "prumer" are one word."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in plain if not unicodedata.combining(character))
