"""The values of a dataset's columns, and where a text mentions them.

A checker needs to know that "delivered" is a value of `status`, and that "Puerto Rico" is one of `country`, before it
can say that a statement names the wrong one. Pure.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from runax_cli.agent.evidence.figures import normalize_text
from runax_cli.agent.locales import LOCALES, any_of

MAX_INDEXED_RECORDS = 50_000
"""Values are collected from this many records of a dataset: reading more would delay each answer by seconds."""
MAX_VALUES_PER_COLUMN = 20_000
MAX_CATEGORIES = 50
"""A column with at most this many different texts holds categories, otherwise names or free text."""
_MAX_VALUE_CHARS = 60
_MAX_VALUE_WORDS = 8
_SHORT = 3
_TOKEN = re.compile(r"[^\W_]+")
_ISO_DATE = re.compile(r"(\d{4})-(\d\d)")
_FUNCTION_WORD = re.compile(
    "|".join(
        any_of(select)
        for select in (
            lambda locale: locale.statement.negation,
            lambda locale: locale.claim.highest,
            lambda locale: locale.claim.lowest,
            lambda locale: locale.claim.latest,
            lambda locale: locale.claim.earliest,
            lambda locale: locale.claim.calculated,
            lambda locale: locale.claim.contrast,
            lambda locale: locale.claim.absence,
            lambda locale: locale.number.over,
            lambda locale: locale.number.under,
            lambda locale: locale.number.about,
            lambda locale: locale.statement.list_conjunction,
        )
    ),
    re.IGNORECASE,
)
_CALENDAR_WORDS = frozenset(
    name for locale in LOCALES for names in (*locale.date.months, *locale.number.names) for name in names.split()
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A value of a column that a text mentions. `columns` are all columns that have it, `start` is where it begins."""

    value: str
    columns: tuple[str, ...]
    start: int
    end: int


@dataclass(slots=True)
class _Known:
    words: tuple[str, ...]
    value: str
    columns: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class ValueIndex:
    """The texts in the columns of a dataset; a nested member is a column of its own, by its last name.

    `distinct` has the number of different texts of each column, `booleans` the columns of truth values, `columns` all
    columns, `nullable` those that lack a value in some record, `years` and `months` (1 to 12) those of all dates in
    ISO 8601. All names are in lower case.
    """

    n_records: int
    columns: frozenset[str]
    booleans: frozenset[str]
    distinct: Mapping[str, int]
    nullable: frozenset[str]
    years: frozenset[int]
    months: frozenset[int]
    _by_first_word: Mapping[str, tuple[_Known, ...]]

    @classmethod
    def of_records(cls, records: Iterable[Mapping[str, Any]]) -> "ValueIndex":
        """Index the first records."""
        known: dict[str, _Known] = {}
        distinct: Counter[str] = Counter()
        columns: set[str] = set()
        booleans: set[str] = set()
        dates: set[tuple[int, int]] = set()
        filled: Counter[str] = Counter()
        n_records = 0
        for record in islice(records, MAX_INDEXED_RECORDS):
            n_records += 1
            for column, value in leaves(record):
                columns.add(column)
                filled[column] += value is not None
                if isinstance(value, bool):
                    booleans.add(column)
                elif isinstance(value, str) and (iso := _ISO_DATE.match(value)):
                    dates.add((int(iso[1]), int(iso[2])))
                elif isinstance(value, str) and distinct[column] < MAX_VALUES_PER_COLUMN:
                    _add(known, distinct, column, value)
        by_first: dict[str, list[_Known]] = {}
        for entry in known.values():
            by_first.setdefault(entry.words[0], []).append(entry)
        ordered = {word: tuple(sorted(found, key=lambda one: -len(one.words))) for word, found in by_first.items()}
        years, months = (frozenset(date[at] for date in dates) for at in (0, 1))
        nullable = frozenset(column for column in columns if filled[column] < n_records)
        return cls(n_records, frozenset(columns), frozenset(booleans), dict(distinct), nullable, years, months, ordered)

    def mentions(self, text: str) -> tuple[Mention, ...]:
        """The values that a text mentions, the longest at each place, from left to right."""
        tokens = [(normalize_text(match[0]), match) for match in _TOKEN.finditer(text)]
        found: list[Mention] = []
        at = 0
        while at < len(tokens):
            words = [word for word, _ in tokens[at : at + _MAX_VALUE_WORDS]]
            entry = next((one for one in self._by_first_word.get(words[0], ()) if self._is_at(one, words)), None)
            end = at + len(entry.words) if entry else at + 1
            if entry is not None:
                start, stop = tokens[at][1].start(), tokens[end - 1][1].end()
                if self._is_meant(entry, text[start:stop]):
                    found.append(Mention(entry.value, tuple(entry.columns), start, stop))
            at = end
        return tuple(found)

    def has_value(self, value: str) -> bool:
        """Whether any column has this text, whatever its case and punctuation."""
        words = words_of_value(value)
        return any(one.words == words for one in self._by_first_word.get(words[0] if words else "", ()))

    def spelling(self, column: str, value: str) -> str:
        """How a column spells a value, whatever its case; "" if it does not have it, the value itself if it does."""
        words = words_of_value(value)
        found = [
            one.value
            for one in self._by_first_word.get(words[0] if words else "", ())
            if one.value.casefold() == value.casefold() and column in one.columns
        ]
        return value if value in found else next(iter(found), "")

    def is_category(self, column: str) -> bool:
        """Whether a column has few different texts."""
        return 0 < self.distinct.get(column, 0) <= MAX_CATEGORIES

    def has_everywhere(self, mention: Mention) -> bool:
        """Whether all records have this value in one of its columns."""
        entries = self._by_first_word.get(words_of_value(mention.value)[0], ())
        counts = next((one.columns for one in entries if one.value == mention.value), Counter())
        return any(count >= self.n_records for count in counts.values())

    @staticmethod
    def _is_at(entry: _Known, words: list[str]) -> bool:
        return tuple(words[: len(entry.words)]) == entry.words

    def _is_meant(self, entry: _Known, shown: str) -> bool:
        """Whether these words can be the value: short and rare values must be spelled alike, common words never are."""
        if len(entry.words) > 1 or shown == entry.value:
            return True
        if len(entry.value) <= _SHORT or entry.value.isupper():
            return False
        return all(self.is_category(column) for column in entry.columns)


def words_of_value(value: str) -> tuple[str, ...]:
    """The words of a value, in lower case without diacritics."""
    return tuple(_TOKEN.findall(normalize_text(value)))


def leaves(value: Any, column: str = "") -> Iterator[tuple[str, Any]]:
    """The single values of a record with the last name on their path, in lower case."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from leaves(member, str(name).casefold())
    elif isinstance(value, list | tuple):
        for member in value:
            yield from leaves(member, column)
    else:
        yield column, value


def _add(known: dict[str, _Known], distinct: Counter[str], column: str, value: str) -> None:
    if len(value) > _MAX_VALUE_CHARS:
        distinct[column] += 1
        return
    entry = known.get(value)
    if entry is None:
        words = words_of_value(value)
        if not words or len(words) > _MAX_VALUE_WORDS or not _is_name(value, words):
            return
        entry = known[value] = _Known(words, value)
    if not entry.columns[column]:
        distinct[column] += 1
    entry.columns[column] += 1


def _is_name(value: str, words: tuple[str, ...]) -> bool:
    """Whether a value can be told from ordinary words, dates and numbers."""
    if not any(char.isalpha() for char in value):
        return False
    if len(words) > 1:
        return True
    return len(value) > 1 and words[0] not in _CALENDAR_WORDS and _FUNCTION_WORD.fullmatch(value) is None
