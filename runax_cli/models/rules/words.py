"""Extracts numbers, names, quoted text and dates from an English question, each with the word before it."""

import re
from dataclasses import dataclass

from adapters.text import fold

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

READING_VERBS = frozenset(
    """
    get list find search fetch read show query lookup describe count retrieve
    """.split()
)

STOP_WORDS = frozenset(
    """
    a about above after all also am an and any anything are as at be been before being below between
    both but by can could data did do does doing down during each ever every everything few for from
    further give given had has have having he her here hers him his how i if in into is it its
    itself just know list look many me mention mentions mentioned mentioning more most much my name
    named named nor not of off on once only or other our out over own please record records report
    reported say says saying same say she should show so some such summarise summarize tell than
    that the their them then there these they this those through to too under until up us user very
    was we were what whatever when where whether which while who whom whose why will with within
    would write you your exist exists belong belongs contain contains find out get read called
    concerning regarding
    """.split()
)


def words(text: str) -> list[str]:
    """The folded words of a text in order; snake_case and camelCase names are split."""
    return _WORD.findall(fold(_CAMEL.sub(" ", text)))


def stem(word: str) -> str:
    """A word without its most common English endings; words of up to three letters are unchanged."""
    if len(word) <= 3:
        return word
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("s", "")):
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= 3:
            return word[: len(word) - len(ending)] + instead
    return word


def stems(text: str) -> list[str]:
    """The stems of the words of a text, in order."""
    return [stem(word) for word in words(text)]


def content_stems(text: str) -> list[str]:
    """The stems of a text without stop words, each once, in order."""
    kept = (stem(word) for word in words(text) if word not in STOP_WORDS and len(word) > 1)
    return list(dict.fromkeys(kept))


_QUOTED = re.compile(r"[\"“„]([^\"“”„]{1,200})[\"”“]|(?<![^\W_])['\u2018]([^'\u2019]{2,200})['\u2019](?![^\W_])")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_NUMBER = re.compile(r"(?:\b([^\W\d_]+)\s+)?(?:(?:id|no|number|nr)\.?\s+)?#?(?<![\w.-])(\d+)\b(?!-\d)", re.IGNORECASE)
_NAME = re.compile(r"(?:\b([^\W\d_]+)\s+)?\b([A-ZÀ-ÖØ-Þ\u0100-\u017F][\w.-]*(?:\s+[A-ZÀ-ÖØ-Þ\u0100-\u017F][\w.-]*)*)")
_FIRST_N = re.compile(r"\bfirst\s+(\d+)\b", re.IGNORECASE)
_NOT_NAMES = frozenset(
    """
    what which who whom whose when where why how is are was were do does did list show find tell
    give i january february march april may june july august september october november december
    """.split()
)


@dataclass(frozen=True, slots=True)
class Clue:
    """A value in the question, and the folded word before it ("" if there is none)."""

    value: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class Clues:
    """All values in a question."""

    numbers: tuple[Clue, ...]
    names: tuple[Clue, ...]
    quoted: tuple[str, ...]
    dates: tuple[Clue, ...]
    stems: frozenset[str]
    text: str
    first_n: int | None = None
    wants_everything: bool = False

    @property
    def qualifiers(self) -> frozenset[str]:
        """Stems of the words before a value: "customer" in "customer 4" and "customer Novák"."""
        return frozenset(stem(clue.before) for clue in (*self.numbers, *self.names) if clue.before)


_NAMING = frozenset("named called name".split())
_PREPOSITIONS = frozenset("in from to at".split())
_CALLED = re.compile(r"\b(?:named|called)\s+([^\W\d_][\w.-]*)", re.IGNORECASE)
_OPENERS = frozenset("which what list show find count any all many".split())
_MAX_NOUN_WORDS = 2


def topic_stems(question: str) -> list[str]:
    """The stems of the topic of a question: without the kind of record and without its owner.

    "Which open tickets of customer 4 mention a router?" is about routers: "open tickets" is the kind of record, and
    "customer 4" is a filter.
    """
    clues = read_clues(question)
    owners = [clue for clue in (*clues.numbers, *clues.names) if clue.before and clue.before not in STOP_WORDS]
    dropped = {s for clue in owners for s in stems(f"{clue.before} {clue.value}")} | _record_kind(words(question))
    return [word for word in content_stems(question) if word not in dropped]


def _record_kind(asked: list[str]) -> set[str]:
    for at, word in enumerate(asked):
        if word in _OPENERS:
            rest = asked[at + 1 :]
            while rest and rest[0] in STOP_WORDS:
                rest = rest[1:]
            end = next((i for i, later in enumerate(rest) if later in STOP_WORDS), len(rest))
            return {stem(later) for later in rest[: min(end, _MAX_NOUN_WORDS)]}
    return set()


def read_clues(question: str) -> Clues:
    """Extract the clues of a question."""
    named, quoted = _quotations(question)
    bare = _QUOTED.sub(" ", question)
    first_n = _FIRST_N.search(bare)
    return Clues(
        numbers=tuple(Clue(number, fold(before)) for before, number in _NUMBER.findall(_DATE.sub(" ", bare))),
        names=(*named, *_called(bare), *_names(bare)),
        quoted=quoted,
        dates=_dates(bare),
        stems=frozenset(stems(question)),
        text=question,
        first_n=int(first_n[1]) if first_n else None,
        wants_everything=bool(re.search(r"\b(everything|all) (there is )?(about|on|of)\b", question, re.IGNORECASE)),
    )


def _quotations(question: str) -> tuple[tuple[Clue, ...], tuple[str, ...]]:
    """Quoted values ("the customer named …", "in the city …"), and quoted text to search for."""
    named, quoted = [], []
    for match in _QUOTED.finditer(question):
        text, before = match[1] or match[2], _word_before(question, match.start())
        if before in STOP_WORDS - _PREPOSITIONS or not before:
            quoted.append(text)
        else:
            named.append(Clue(text, before))
    return tuple(named), tuple(quoted)


def _called(text: str) -> tuple[Clue, ...]:
    """Names after "named" or "called", in any spelling: "the customer named balaz"."""
    return tuple(Clue(match[1], _word_before(text, match.start(1))) for match in _CALLED.finditer(text))


def _dates(text: str) -> tuple[Clue, ...]:
    return tuple(Clue(date[0], _word_before(text, date.start())) for date in _DATE.finditer(text))


def _word_before(text: str, end: int) -> str:
    """The word that says what a value is: "customer" in "customer named …"."""
    earlier = [fold(word) for word in re.findall(r"[^\W\d_]+", text[:end])]
    while len(earlier) > 1 and earlier[-1] in _NAMING:
        earlier.pop()
    return earlier[-1] if earlier else ""


def _names(text: str) -> tuple[Clue, ...]:
    found = []
    for match in _NAME.finditer(text):
        before, name = match[1] or "", match[2].rstrip(".-")
        parts = name.split()
        while parts and (
            fold(parts[0]) in _NOT_NAMES or fold(parts[0]) in STOP_WORDS or _starts_sentence(text, match, parts, name)
        ):
            before, parts = parts[0], parts[1:]
        if parts:
            found.append(Clue(" ".join(parts), fold(before)))
    return tuple(found)


def _starts_sentence(text: str, match: re.Match[str], parts: list[str], name: str) -> bool:
    """Whether the first part only starts a sentence, so that its capital letter does not make it a name."""
    at_start = not text[: match.start(2)].strip(" \t\n\"'(") or text[: match.start(2)].rstrip().endswith(
        (".", "?", "!")
    )
    return at_start and len(parts) == len(name.split()) and not parts[0].isupper()
