"""Recognizes a request for everything about one entity: "Find everything about customer Novak". Pure.

The words of each language are in `agent.locales`.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from adapters.locales import translate
from adapters.pagination.vocabulary.members import singular
from runax_cli.agent.locales import LOCALES
from runax_cli.agent.locales.locale import EverythingWords

_WORD = re.compile(r"[^\W\d_]+")
_MARKS = "\"'\u201a\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
_QUOTED = re.compile(rf"[{_MARKS}]([^{_MARKS}]{{1,80}})[{_MARKS}]")
_SENTENCE_END = re.compile(r"[?!;,\n]|(?<=\w{3})\.(?=\s|$)")
_EDGES = " \t.,:;!?()[]#\"'"
_MAX_LOWER_CASE_WORDS = 3
MAX_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class EntityRequest:
    """The entity as the user named it. `kinds` are the words for its kind, in the singular; empty if there is none."""

    name: str
    kinds: frozenset[str] = frozenset()

    @property
    def is_id(self) -> bool:
        """Whether the name looks like an id: one word with a digit."""
        return re.fullmatch(r"[\w-]*\d[\w-]*", self.name) is not None


@dataclass(frozen=True, slots=True)
class _Pattern:
    lead: re.Pattern[str]
    naming: re.Pattern[str]
    particle: re.Pattern[str]


def entity_request(question: str, *, nouns: Collection[str] = ()) -> EntityRequest | None:
    """The entity that a question wants to know everything about; None if it asks for something else.

    `nouns` name the records of the tools, in the singular. A name has a capital letter or a digit, is quoted, or stands
    after one of these nouns.
    """
    folded = _fold_letters(question)
    for pattern in _PATTERNS:
        if (found := pattern.lead.search(folded)) is not None:
            rest = question[found.end() :].strip()
            return _entity_in(rest, pattern, nouns)
    return None


def _entity_in(rest: str, pattern: _Pattern, nouns: Collection[str]) -> EntityRequest | None:
    """The kind and the name at the beginning of a text."""
    kinds, named = _split_kind(rest, nouns)
    folded = _fold_letters(named)
    if (naming := pattern.naming.match(folded)) is not None:
        named = named[naming.end() :].strip()
    name = _name_in(named, pattern, may_be_lower_case=bool(kinds & set(nouns)))
    return EntityRequest(name, kinds) if name else None


def _split_kind(text: str, nouns: Collection[str]) -> tuple[frozenset[str], str]:
    """The kinds that the first word names, and the rest; no kinds and the whole text if it is part of a name.

    The first word is a kind if it is a noun of the tools or known to tool search, or in lower case before more words.
    """
    first, _, rest = text.partition(" ")
    word = _fold_letters(first).strip(_EDGES)
    if not rest.strip() or not _WORD.fullmatch(word):
        return frozenset(), text
    kinds = frozenset(singular(form) for form in (word, *translate(word)))
    is_known = len(kinds) > 1 or bool(kinds & set(nouns))
    return (kinds, rest.strip()) if is_known or first[:1].islower() else (frozenset(), text)


def _name_in(text: str, pattern: _Pattern, *, may_be_lower_case: bool) -> str:
    """The name at the beginning of a text; "" if there is none."""
    if (quoted := _QUOTED.match(text)) is not None:
        return quoted[1].strip()
    end = _SENTENCE_END.search(text)
    words = (text if end is None else text[: end.start()]).split()
    named = list(_name_words(words, pattern))
    if not any(_stands_out(word) for word in named):
        named = words if may_be_lower_case and len(words) <= _MAX_LOWER_CASE_WORDS else []
    return " ".join(named).strip(_EDGES)[:MAX_NAME_CHARS].strip()


def _name_words(words: list[str], pattern: _Pattern) -> Iterator[str]:
    """The first words that belong to a name: those that stand out, and particles between them."""
    for at, word in enumerate(words):
        is_particle = pattern.particle.fullmatch(_fold_letters(word)) is not None
        if not _stands_out(word) and not (is_particle and any(map(_stands_out, words[at + 1 : at + 3]))):
            return
        yield word


def _stands_out(word: str) -> bool:
    return word.lstrip(_EDGES)[:1].isupper() or any(char.isdigit() or char in "@_" for char in word)


def _fold_letters(text: str) -> str:
    """Lower case without diacritics, of the same length, so that positions stay valid."""
    return "".join(_fold_letter(char) for char in text)


def _fold_letter(char: str) -> str:
    return unicodedata.normalize("NFKD", char)[:1].lower()[:1] or char


def _compiled(words: EverythingWords) -> _Pattern:
    return _Pattern(
        lead=re.compile(rf"\b(?:{words.everything})\s+(?:{words.about})\s+(?:(?:{words.article})\s+)?"),
        naming=re.compile(rf"(?:{words.naming})[\s:#]+"),
        particle=re.compile(words.name_particle),
    )


_PATTERNS = tuple(_compiled(locale.everything) for locale in LOCALES)
