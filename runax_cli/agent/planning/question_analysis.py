"""What the wording of a question tells, in English and in Czech: meaning or figures, one question or several.

Pure functions over words; each says which words decided. Knows no tool, no model and no plan.
"""

import re
import unicodedata
from dataclasses import dataclass

from runax_cli.guard.visible_tool import Need

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
_ASKS = (
    r"(?:how|what|which|who|whom|whose|when|where|why|is|are|was|were|does|do|did|has|have|can|list|show|find|count"
    r"|give|tell|compare|summari[sz]e|describe|explain|compute|calculate|kolik\w*|jak\w*|kter\w+|kdo|koho|komu|kdy|kde"
    r"|proc|ci|co|ceho|cim|najdi|vypis|zjisti|ukaz|spocitej|shrn|porovnej|rekni|popis|vysvetli|uved)"
)
_FILLERS = (
    r"(?:(?:also|then|please|finally|if so|in|for|of|from|to|on|with|at|by"
    r"|take|taky|pak|potom|dale|prosim|u|v|z|s)\W+)*"
)
_BINDING = r"(?:and|or|but|plus|then|a|i|ale|nebo|pak|potom|pote)"
_PREDICATE = (
    r"(?:is|are|was|were|has|have)\s+"
    r"(?!(?:there|the|any|all|they|it|he|she|we|his|her|its|their|this|that|these|a|an)\b)"
)
"""As in "events that come from R7 and are errors": what goes on is no question."""
_SECOND_ASKED = re.compile(
    rf"\b{_BINDING}\W+{_FILLERS}(?!tell|give|rekni|uved|{_PREDICATE}){_ASKS}\b"
    rf"|\b{_ASKS}\b[^?]*,\s*{_FILLERS}(?:how (?:many|much|often)|kolik\w*)\b"
)
_WHICH = re.compile(
    r"\W*(?:(?:in|from|on|for|at|v|ve|z|ze|u)\s+)?(?:which|what|who|kter\w+|kdo|co)\b(?!.*\bhow\b.*\bhow\b)"
)
_OF_THEM = (
    r"(?:they|them|it|each|there|are|is|does|do|have|has|from|of|in|per|cent|percent|to|two|decimals?|times"
    r"|jich|kazd\w+|ma|maji|je)"
)
_AND_HOW_MANY = re.compile(
    rf",?\s*\b(?:and|a)\s+(?:how (?:many|much|often|large|long|high|big)|kolik)(?:[\s,]+{_OF_THEM}\b)*\s*\?"
)
_FORM_WANTED = re.compile(r"(?<=[?.!])\s+(?:give|list them|state|write|round|uved|vypis je)\b[^?.!]*(?:[.!]|$)")
_ADDITION = re.compile(
    r"\b(and also|and then|after that|as well as|in addition|additionally|besides that|furthermore|moreover"
    r"|respectively|a take|a taky|a dale|a pak|a potom|a pote|a zaroven|jakoz i|krome toho|navic|dale pak)\b"
)
_COMPARISON = re.compile(
    r"\b(compare[ds]?|comparison|versus|vs|differences? between|for each of|porovn\w+|srovn\w+|rozdil\w* mezi)\b"
)
_RANGE = re.compile(r"\b(?:between|from|mezi|od)\b[^,;?]{1,40}?\b(?:and|to|a|do)\b")
_SECOND_NAMED = re.compile(
    r"\b(?:and|or|a|i|nebo)\s+(?:(?:of|for|by|the|customer|user|u|pro|od|zakaznik\w*|uzivatel\w*)\s+)*(?:#?\d|_)"
)
_QUOTED = re.compile(r"[\"“„][^\"“”„]{1,200}[\"”“]|\u201a[^\u2018]{1,200}\u2018|(?<!\w)'[^']{2,200}'(?!\w)")
_MARKS = "\"'\u201a\u2018\u201c\u201d\u201e"
_CAPITAL = re.compile(r"(?<=[\w,] )(?:[A-Z][a-z]\w*)")
_LISTED = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+\S", re.MULTILINE)
_CZECH = re.compile(r"[ěščřžýůťďňĚŠČŘŽÝŮŤĎŇ]")
_CZECH_WORDS = re.compile(
    r"\b(kolik|jak|jaky|jake|ktery|ktere|kdo|kdy|kde|proc|najdi|vypis|zjisti|zakaznik\w*|je|ma|maji)\b"
)
_LONG_CHARS = 600


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """What the wording says, and the words that decided."""

    need: Need
    why: str


def need_of(question: str) -> QuestionReading:
    """Words that ask for a figure decide first, then words of meaning, then rankings."""
    folded = fold(question)
    if found := _FIGURE.search(folded):
        return QuestionReading("compute", f"'{found[0]}' asks for a figure")
    if found := _MEANING.search(folded):
        return QuestionReading("read", f"'{found[0]}' asks for meaning")
    if found := _RANKING.search(folded):
        return QuestionReading("compute", f"'{found[0]}' asks for a ranking")
    return QuestionReading("read", "nothing in its wording asks for a figure")


def why_several(question: str) -> str | None:
    """Why the question may have several parts, in words; None where it is plainly single.

    Doubt counts as several: a needless plan costs one small request, a part that is overlooked costs its answer.
    """
    text = _without_details(_marked(question))
    for pattern, what in ((_ADDITION, "adds a part"), (_COMPARISON, "compares"), (_SECOND_ASKED, "asks once more")):
        if found := pattern.search(text):
            return f"'{_shown(found[0])}' {what}"
    if re.search(r"\?.*\?", text, re.DOTALL):
        return "there is more than one question mark"
    if re.search(r"\w\W*;\W*\w", text):
        return "';' separates parts"
    if len(_LISTED.findall(question)) > 1:
        return "it is a list"
    if found := _SECOND_NAMED.search(_RANGE.sub(" ", text)):
        return f"'{_shown(found[0])}' names one thing more"
    asking = [part for part in re.split(r"[.!?\n]+\s", text) if re.match(rf"\W*{_FILLERS}{_ASKS}\b", part)]
    if len(asking) > 1:
        return "more than one sentence asks"
    return "it is long" if len(text) > _LONG_CHARS else None


def _without_details(text: str) -> str:
    """The text without what only says more of the one thing asked for: "and how many?", "Give its id."."""
    if _WHICH.match(text):
        text = _AND_HOW_MANY.sub("?", text, count=1)
    return _FORM_WANTED.sub("", text)


def is_czech(text: str) -> bool:
    """Whether the text is Czech by its letters or its commonest words."""
    return bool(_CZECH.search(text) or len(_CZECH_WORDS.findall(fold(text))) > 1)


def named_in(question: str) -> frozenset[str]:
    """What must not get lost of a question: quoted text, folded, and numbers without leading zeros."""
    quoted = {fold(found[0].strip(_MARKS)) for found in _QUOTED.finditer(question)}
    return frozenset(quoted | _numbers(_QUOTED.sub(" ", question)))


def lost_from(named: frozenset[str], texts: str) -> tuple[str, ...]:
    """Those of `named` that stand nowhere in `texts`."""
    folded, numbers = fold(texts), _numbers(texts)
    return tuple(sorted(name for name in named if name not in numbers and (name.isdigit() or name not in folded)))


def fold(text: str) -> str:
    """Lower case without diacritics, so that "Průměr" and "prumer" are one word."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in plain if not unicodedata.combining(character))


def _numbers(text: str) -> set[str]:
    return {str(int(digits)) for digits in re.findall(r"\d{1,40}", text) if digits.isascii()}


def _marked(question: str) -> str:
    """Folded, with "_" in place of every quotation and before every name: neither asks for anything itself."""
    bare = _QUOTED.sub(" _ ", question)
    plain = "".join(c for c in unicodedata.normalize("NFKD", bare) if not unicodedata.combining(c))
    return fold(_CAPITAL.sub(lambda found: f"_{found[0]}", plain))


def _shown(found: str) -> str:
    return found.replace("_", "…").strip(" ,;.:")
