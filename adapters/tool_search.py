"""Which tools fit some words: by what their names, paths, descriptions and arguments have in common with them.

Pure and deterministic: BM25 over weighted fields, no model and no network. Words are compared by their stems; a word
that no tool has is tried in English (`adapters.glossary`), then by its sound, so that "repozitáře" finds repositories.
Knows tools as values. Knows nothing of who asks.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from adapters.base import Effect, ToolSpec
from adapters.czech_glossary import translate_czech

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_VARIABLE = re.compile(r"\{[^{}]*\}")
_STOP = frozenset(
    """
    a about all also am an and any are as at be been being but by can could data did do does each every for from get
    give had has have having he her here him his how i if in into is it its just let list many me more most much my no
    not of on one only or our out over please record records see she should show so some such tell than that the their
    them then there these they this those through to too under up us via want was we were what when where which while
    who whom whose why will with within would you your return returns retrieve fetch find lists gets api endpoint use
    used using given specified
    """.split()
)
_WRITING = frozenset(
    "create add delete remove update set edit change assign close open merge cancel replace post put patch".split()
)
_SOUNDS = str.maketrans({"z": "s", "k": "c", "y": "i", "w": "v", "q": "c"})
_DOUBLE = re.compile(r"(.)\1+")

_NAME, _PATH, _LEAD, _REST, _ARGUMENTS = 3.0, 2.0, 1.5, 0.7, 0.6
_SATURATION, _LENGTH_SHARE = 1.5, 0.6
_TRANSLATED, _SOUNDED = 0.9, 0.6
_LEAST_SOUND, _SOUND_SHARE = 4, 0.6
_UNREQUESTED_WRITE_FACTOR = 0.6
_QUALIFIER_WEIGHT = 0.4
"""Of the "customer" in "orders of customer 4", and of the words in "octo/app": they say whose, and not what."""
_IDENTIFIER = re.compile(r"[^\s/]+(?:/[^\s/]+)+|[^\s@]+@[^\s@]+")
_NAME_COVERAGE_BONUS = 0.5
_MAX_AREA_CHARS = 40
_AREA_SHARE, _LEAST_SPLIT = 0.34, 8


@dataclass(frozen=True, slots=True)
class RankedTool:
    """A tool and how well it fits; scores of one query can be compared with each other and with nothing else."""

    spec: ToolSpec
    score: float


class ToolIndex:
    """The words of some tools, ready to be asked. The order of the tools does not matter."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = sorted(tools, key=lambda spec: spec.name)
        self._names = [frozenset(_terms(spec.name)) for spec in self._tools]
        self._weights = _weigh_terms([_fields(spec) for spec in self._tools])
        self._holders: dict[str, list[int]] = {}
        for at, weights in enumerate(self._weights):
            for term in weights:
                self._holders.setdefault(term, []).append(at)
        self._by_sound: dict[str, list[str]] = {}
        for term in sorted(self._holders):
            self._by_sound.setdefault(_sound(term)[:_LEAST_SOUND], []).append(term)

    def ranked(self, query: str) -> tuple[RankedTool, ...]:
        """The tools that share a word with the query: one whose name it is, then the best, equals by their names."""
        asked = self._asked(query)
        scores: dict[int, float] = {}
        for term, weight in asked.items():
            rarity = self._rarity(term)
            for at in self._holders[term]:
                held = self._weights[at][term]
                scores[at] = scores.get(at, 0.0) + weight * rarity * held / (_SATURATION + held)
        words = _words(query)
        is_writing = requests_change(query)
        found = [
            RankedTool(self._tools[at], score * self._favour(at, asked, is_writing=is_writing))
            for at, score in scores.items()
        ]
        return tuple(sorted(found, key=lambda one: (_words(one.spec.name) != words, -one.score, one.spec.name)))

    def _asked(self, query: str) -> dict[str, float]:
        """Terms of the index that the query means, with the weight of each; in the order of its words."""
        asked: dict[str, float] = {}
        words = _words(query)
        named = frozenset(word for name in _IDENTIFIER.findall(query) for word in _words(name))
        for word, following in zip(words, [*words[1:], ""], strict=False):
            share = _QUALIFIER_WEIGHT if following.isdigit() or word in named else 1.0
            for term, weight in self._meant(word):
                asked[term] = max(weight * share, asked.get(term, 0.0))
        return asked

    def _meant(self, word: str) -> Iterator[tuple[str, float]]:
        term = _stem(word)
        if term in self._holders:
            if word not in _STOP:
                yield term, 1.0
            return
        translated = [_stem(other) for other in translate_czech(word) if _stem(other) in self._holders]
        if translated:
            yield from ((other, _TRANSLATED) for other in translated)
        elif word not in _STOP:
            yield from ((other, _SOUNDED) for other in self._sounding_like(term))

    def _sounding_like(self, term: str) -> Iterator[str]:
        sound = _sound(term)
        if len(sound) < _LEAST_SOUND:
            return
        for other in self._by_sound.get(sound[:_LEAST_SOUND], ()):
            theirs = _sound(other)
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(sound, theirs, strict=False)))
            if shared >= _SOUND_SHARE * max(len(sound), len(theirs)):
                yield other

    def _rarity(self, term: str) -> float:
        n_holders = len(self._holders[term])
        return math.log(1 + (len(self._tools) - n_holders + 0.5) / (n_holders + 0.5))

    def _favour(self, at: int, asked: Mapping[str, float], *, is_writing: bool) -> float:
        """More for a name that says nothing else than the query; less for a change where none is asked for."""
        names = self._names[at]
        well_named = sum(1 for term in names if term in asked) / len(names) if names else 0.0
        is_unasked_change = self._tools[at].effect is not Effect.READ and not is_writing
        return (1 + _NAME_COVERAGE_BONUS * well_named) * (_UNREQUESTED_WRITE_FACTOR if is_unasked_change else 1.0)


def requests_change(query: str) -> bool:
    """Whether the words ask for a change and not only for what there is."""
    return any(_WRITING & {word, *translate_czech(word)} for word in _words(query))


def count_areas(tools: Iterable[ToolSpec]) -> dict[str, int]:
    """What the tools are about: the first part of the path, or of the name, and how many tools each; the largest first.

    A part that too many share (`/rest`, `/api`) says nothing: the parts behind it stand in its place.
    """
    by_source: dict[str, list[tuple[str, ...]]] = {}
    for spec in tools:
        by_source.setdefault(spec.source, []).append(_path_parts(spec))
    counted: Counter[str] = Counter()
    for places in by_source.values():
        most = max(_LEAST_SPLIT, len(places) * _AREA_SHARE)
        counted.update(_count_parts(places, depth=0, most=most))
    return dict(sorted(counted.items(), key=lambda one: (-one[1], one[0])))


def _count_parts(places: Sequence[tuple[str, ...]], *, depth: int, most: float) -> Counter[str]:
    inside: dict[str, list[tuple[str, ...]]] = {}
    for place in places:
        if place:
            inside.setdefault(place[min(depth, len(place) - 1)], []).append(place)
    counted: Counter[str] = Counter()
    for part, those in inside.items():
        if len(those) > most and any(len(place) > depth + 1 for place in those):
            counted += _count_parts(those, depth=depth + 1, most=most)
        else:
            counted[part[:_MAX_AREA_CHARS]] += len(those)
    return counted


def _path_parts(spec: ToolSpec) -> tuple[str, ...]:
    """The fixed segments of a tool's path; without a path the words of its name."""
    path = spec.locator.partition(" ")[2]
    segments = tuple(part for part in _VARIABLE.sub("", path).split("/") if _WORD.search(part))
    return segments or tuple(_words(spec.name))


def _fields(spec: ToolSpec) -> tuple[tuple[float, list[str]], ...]:
    lead, _, rest = spec.description.partition(". ")
    path = _VARIABLE.sub(" ", spec.locator.partition(" ")[2])
    arguments = " ".join(spec.parameters.get("properties") or {})
    return (
        (_NAME, _terms(spec.name)),
        (_PATH, _terms(f"{path} {spec.noun}")),
        (_LEAD, _terms(lead)),
        (_REST, _terms(rest)),
        (_ARGUMENTS, _terms(arguments)),
    )


def _weigh_terms(tools: Sequence[tuple[tuple[float, list[str]], ...]]) -> list[dict[str, float]]:
    """For each tool its terms: how often in each field, against the field's usual length, times the field's weight."""
    columns = zip(*([terms for _, terms in fields] for fields in tools), strict=True)
    usual = [max(1.0, sum(map(len, column)) / len(tools)) for column in columns]
    weighted = []
    for fields in tools:
        held: dict[str, float] = {}
        for (weight, terms), length in zip(fields, usual, strict=True):
            norm = 1 - _LENGTH_SHARE + _LENGTH_SHARE * len(terms) / length
            for term in terms:
                held[term] = held.get(term, 0.0) + weight / norm
        weighted.append(held)
    return weighted


def _terms(text: str) -> list[str]:
    return [_stem(word) for word in _words(text) if word not in _STOP]


def _words(text: str) -> list[str]:
    """The folded words of a text; names in snake_case and camelCase fall apart into theirs."""
    plain = unicodedata.normalize("NFKD", _CAMEL.sub(" ", text))
    return _WORD.findall("".join(char for char in plain if not unicodedata.combining(char)).casefold())


_ENDINGS = (
    ("ies", "y"),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("ing", ""),
    ("ed", ""),
    ("s", ""),
    ("er", ""),
)
_LEAST_STEM = {ending: 5 if ending == "er" else 2 if ending == "xes" else 3 for ending, _ in _ENDINGS}


_SHORT_FORMS = {
    "admin": "administrator",
    "app": "application",
    "auth": "authentication",
    "config": "configuration",
    "db": "database",
    "dir": "directory",
    "doc": "document",
    "env": "environment",
    "img": "image",
    "info": "information",
    "msg": "message",
    "org": "organization",
    "param": "parameter",
    "pic": "picture",
    "ref": "reference",
    "repo": "repository",
    "spec": "specification",
    "sub": "subscription",
    "temp": "temperature",
    "vuln": "vulnerability",
}


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    whole = _SHORT_FORMS.get(word) or _SHORT_FORMS.get(word.removesuffix("s"))
    if whole is not None:
        return _stem(whole)
    if len(word) <= 3:
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) >= _LEAST_STEM[ending]:
            return _stem(word[: len(word) - len(ending)] + instead) if ending == "s" else word[: -len(ending)] + instead
    return word


@lru_cache(maxsize=8192)
def _sound(term: str) -> str:
    return _DOUBLE.sub(r"\1", term.translate(_SOUNDS).replace("ph", "f").replace("ck", "c"))
