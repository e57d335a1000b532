"""Tool search: ranks tools by the words of a query, with BM25 over names, paths, descriptions and arguments.

Deterministic, without a model or network. Words are compared by their stems. A word that no tool has is translated to
English (`adapters.locales`), then compared by its sound, so that "repozitáře" finds repositories.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from adapters.base import Effect, ToolSpec
from adapters.locales import translate
from adapters.locales.en import STOP_WORDS, WRITE_VERBS, stem
from adapters.text import fold

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_VARIABLE = re.compile(r"\{[^{}]*\}")
_SOUNDS = str.maketrans({"z": "s", "k": "c", "y": "i", "w": "v", "q": "c"})
_DOUBLE = re.compile(r"(.)\1+")

_NAME, _PATH, _LEAD, _REST, _ARGUMENTS = 3.0, 2.0, 1.5, 0.7, 0.6
_SATURATION, _LENGTH_SHARE = 1.5, 0.6
_TRANSLATED, _SOUNDED = 0.9, 0.6
_MIN_SOUND_CHARS, _SOUND_SHARE = 4, 0.6
_UNREQUESTED_WRITE_FACTOR = 0.6
_QUALIFIER_WEIGHT = 0.4
"""For "customer" in "orders of customer 4" and the words of "octo/app": they qualify the thing that is wanted."""
_IDENTIFIER = re.compile(r"[^\s/]+(?:/[^\s/]+)+|[^\s@]+@[^\s@]+")
_NAME_COVERAGE_BONUS = 0.5
_MAX_AREA_CHARS = 40
_AREA_SHARE, _MIN_SPLIT = 0.34, 8


@dataclass(frozen=True, slots=True)
class RankedTool:
    """A tool and its score; only scores of the same query are comparable."""

    spec: ToolSpec
    score: float


class ToolIndex:
    """A search index over tools. Their order does not matter."""

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
            self._by_sound.setdefault(_sound(term)[:_MIN_SOUND_CHARS], []).append(term)

    def search(self, query: str) -> tuple[RankedTool, ...]:
        """Return the tools that share a word with the query: an exact name first, then by score, ties by name."""
        query_terms = self._query_terms(query)
        scores: dict[int, float] = {}
        for term, weight in query_terms.items():
            rarity = self._idf(term)
            for at in self._holders[term]:
                frequency = self._weights[at][term]
                scores[at] = scores.get(at, 0.0) + weight * rarity * frequency / (_SATURATION + frequency)
        words = _words(query)
        is_write_query = requests_change(query)
        ranked = [
            RankedTool(self._tools[at], score * self._boost(at, query_terms, is_write_query=is_write_query))
            for at, score in scores.items()
        ]
        return tuple(sorted(ranked, key=lambda one: (_words(one.spec.name) != words, -one.score, one.spec.name)))

    def _query_terms(self, query: str) -> dict[str, float]:
        """Return the terms of the index that match the query, with their weights, in the order of its words."""
        terms: dict[str, float] = {}
        words = _words(query)
        in_identifiers = frozenset(word for name in _IDENTIFIER.findall(query) for word in _words(name))
        for word, following in zip(words, [*words[1:], ""], strict=False):
            share = _QUALIFIER_WEIGHT if following.isdigit() or word in in_identifiers else 1.0
            for term, weight in self._matching_terms(word):
                terms[term] = max(weight * share, terms.get(term, 0.0))
        return terms

    def _matching_terms(self, word: str) -> Iterator[tuple[str, float]]:
        term = _cached_stem(word)
        if term in self._holders:
            if word not in STOP_WORDS:
                yield term, 1.0
            return
        translated = [other for other in map(_cached_stem, translate(word)) if other in self._holders]
        if translated:
            yield from ((other, _TRANSLATED) for other in translated)
        elif word not in STOP_WORDS:
            yield from ((other, _SOUNDED) for other in self._sounding_like(term))

    def _sounding_like(self, term: str) -> Iterator[str]:
        sound = _sound(term)
        if len(sound) < _MIN_SOUND_CHARS:
            return
        for other in self._by_sound.get(sound[:_MIN_SOUND_CHARS], ()):
            theirs = _sound(other)
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(sound, theirs, strict=False)))
            if shared >= _SOUND_SHARE * max(len(sound), len(theirs)):
                yield other

    def _idf(self, term: str) -> float:
        n_holders = len(self._holders[term])
        return math.log(1 + (len(self._tools) - n_holders + 0.5) / (n_holders + 0.5))

    def _boost(self, at: int, query_terms: Mapping[str, float], *, is_write_query: bool) -> float:
        """Return the factor of a tool: more if the query covers its name, less for an unrequested change of data."""
        names = self._names[at]
        coverage = sum(1 for term in names if term in query_terms) / len(names) if names else 0.0
        is_unrequested_write = self._tools[at].effect is not Effect.READ and not is_write_query
        return (1 + _NAME_COVERAGE_BONUS * coverage) * (_UNREQUESTED_WRITE_FACTOR if is_unrequested_write else 1.0)


def requests_change(query: str) -> bool:
    """Whether a query contains a verb that changes data."""
    return any(WRITE_VERBS & {word, *translate(word)} for word in _words(query))


def count_areas(tools: Iterable[ToolSpec]) -> dict[str, int]:
    """Count tools by area: the first segment of the path, or word of the name. The largest area comes first.

    A segment that too many share (`/rest`, `/api`) is replaced by the segments after it.
    """
    by_source: dict[str, list[tuple[str, ...]]] = {}
    for spec in tools:
        by_source.setdefault(spec.source, []).append(_path_parts(spec))
    counted: Counter[str] = Counter()
    for places in by_source.values():
        most = max(_MIN_SPLIT, len(places) * _AREA_SHARE)
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
    """Return the fixed segments of a tool's path, or the words of its name if it has no path."""
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
    """Return the weighted term frequencies of each tool: per field, normalized by the field's average length."""
    columns = zip(*([terms for _, terms in fields] for fields in tools), strict=True)
    averages = [max(1.0, sum(map(len, column)) / len(tools)) for column in columns]
    weighted = []
    for fields in tools:
        frequencies: dict[str, float] = {}
        for (weight, terms), average in zip(fields, averages, strict=True):
            norm = 1 - _LENGTH_SHARE + _LENGTH_SHARE * len(terms) / average
            for term in terms:
                frequencies[term] = frequencies.get(term, 0.0) + weight / norm
        weighted.append(frequencies)
    return weighted


def _terms(text: str) -> list[str]:
    return [_cached_stem(word) for word in _words(text) if word not in STOP_WORDS]


def _words(text: str) -> list[str]:
    """Split a text into words in lower case and without diacritics; snake_case and camelCase are split too."""
    return _WORD.findall(fold(_CAMEL.sub(" ", text)))


_cached_stem = lru_cache(maxsize=8192)(stem)


@lru_cache(maxsize=8192)
def _sound(term: str) -> str:
    """Return a term with letters of the same sound written alike."""
    return _DOUBLE.sub(r"\1", term.translate(_SOUNDS).replace("ph", "f").replace("ck", "c"))
