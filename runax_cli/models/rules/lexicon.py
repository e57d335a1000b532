"""Words: folding, stems, and the words that say nothing about what is meant.

Knows English function words and a light stemmer. Knows nothing of tools or records.
"""

import re
import unicodedata

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


def fold(text: str) -> str:
    """Lower case without diacritics, so that "Baláž" and "balaz" are the same word."""
    plain = unicodedata.normalize("NFKD", text)
    return "".join(c for c in plain if not unicodedata.combining(c)).casefold()


def words(text: str) -> list[str]:
    """The folded words of a text, in order; names in snake_case and camelCase fall apart into theirs."""
    return _WORD.findall(fold(_CAMEL.sub(" ", text)))


def stem(word: str) -> str:
    """A word without its most common English endings; words of up to three letters stay as they are."""
    if len(word) <= 3:
        return word
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("s", "")):
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= 3:
            return word[: len(word) - len(ending)] + instead
    return word


def stems(text: str) -> list[str]:
    """The stems of a text's words, in order."""
    return [stem(word) for word in words(text)]


def content_stems(text: str) -> list[str]:
    """The stems that say what a text is about, each once, in order."""
    kept = (stem(word) for word in words(text) if word not in STOP_WORDS and len(word) > 1)
    return list(dict.fromkeys(kept))
