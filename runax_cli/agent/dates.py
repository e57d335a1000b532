"""Dates in a text, in the notations that people and APIs use: 2024-02-01, 1. 2. 2024, 2/1/2024, February 1, 1. února.

Knows calendars' spellings in English and Czech. A date may lack its year or its day. Where a notation can be read in
two ways, both are given. Pure.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MONTHS = (
    "january jan leden ledna lednu lednem",
    "february feb únor února únoru únorem",
    "march mar březen března březnu březnem",
    "april apr duben dubna dubnu dubnem",
    "may květen května květnu květnem",
    "june jun červen června červnu červnem",
    "july jul červenec července červenci červencem",
    "august aug srpen srpna srpnu srpnem",
    "september sept sep září zářím",
    "october oct říjen října říjnu říjnem",
    "november nov listopad listopadu listopadem",
    "december dec prosinec prosince prosinci prosincem",
)
_NUMBER_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH = r"(?P<month>" + "|".join(sorted(_NUMBER_OF, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b\.?"
_TO = r"\s*(?:[-\N{EN DASH}]|\bto\b|\band\b|\baž\b|\ba\b)\s*"
_FROM = rf"(?:(?P<first>\d{{1,2}})(?:st|nd|rd|th)?\.?{_TO})?"
_YEAR = r"(?P<year>(?:1[6-9]|2[01])\d\d)\b"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\w-])(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})(?=T\d\d:|(?![\w-]))",
        r"(?<![\w/])(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?![\w/])",
        rf"(?<![\w.])(?:(?P<first>\d{{1,2}})\.{_TO})?(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}",
        r"(?<![\w/])(?P<either>\d{1,2})/(?P<other>\d{1,2})/(?P<year>\d{4})(?![\w/])",
        r"(?<![\w-])(?P<either>\d{1,2})-(?P<other>\d{1,2})-(?P<year>\d{4})(?![\w-])",
        rf"(?<![\w.]){_FROM}{_DAY}\s*(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?",
        rf"\b{_MONTH}\s+{_FROM}{_DAY}(?:,?\s+{_YEAR})?(?![\d:])",
        rf"\b{_MONTH},?\s+(?:of\s+|roku\s+)?{_YEAR}",
        r"(?<![\w-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\w-])",
        rf"(?<![\w.])(?:(?P<first>\d{{1,2}})\.{_TO})?(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.(?!\d)",
    )
)
_CLOCK = re.compile(
    r"(?<![\w:.])(?:\d{4}-\d\d-\d\dT)?(\d{1,2}):(\d\d)(?::\d\d(?:\.\d+)?)?(?:\s?([ap])\.?m\b\.?)?(?![\w:])|"
    r"(?<=T)(\d\d):(\d\d)(?::\d\d(?:\.\d+)?)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Day:
    """A date; `year` or `day` (with `month`) may be missing."""

    year: int | None
    month: int | None = None
    day: int | None = None

    def is_part_of(self, whole: "Day") -> bool:
        """Whether everything that this date says is said by `whole` as well."""
        pairs = ((self.year, whole.year), (self.month, whole.month), (self.day, whole.day))
        return all(mine is None or mine == theirs for mine, theirs in pairs)

    @property
    def is_possible(self) -> bool:
        """Whether the calendar may have such a day."""
        return 1 <= (self.month or 1) <= 12 and 1 <= (self.day or 1) <= 31


@dataclass(frozen=True, slots=True)
class Dated:
    """Where a date stands in a text, and the ways to read it. `is_sure` False: it may be a number or two instead."""

    start: int
    end: int
    readings: tuple[Day, ...]
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class Clock:
    """Where a time of day stands in a text; `hour` from 0."""

    start: int
    end: int
    hour: int
    minute: int


def dates_in(text: str) -> tuple[Dated, ...]:
    """The dates of a text from left to right, none within another."""
    found: list[Dated] = []
    taken = bytearray(len(text))
    for number, pattern in enumerate(_PATTERNS):
        for match in pattern.finditer(text):
            readings = tuple(day for day in _readings(match) if day.is_possible)
            if readings and not any(taken[match.start() : match.end()]):
                taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
                # "12.5." may be a sum at the end of a sentence, and "12 may" the begin of a verb.
                is_sure = number < len(_PATTERNS) - 1 and not re.fullmatch(r"\d+\s+may", match[0], re.IGNORECASE)
                found.append(Dated(match.start(), match.end(), readings, is_sure=is_sure))
    return tuple(sorted(found, key=lambda dated: dated.start))


def clocks_in(text: str) -> tuple[Clock, ...]:
    """The times of day of a text: 14:30, 2:30 pm, and those behind a date."""
    return tuple(clock for match in _CLOCK.finditer(text) if (clock := _clock(match)))


def _clock(match: re.Match[str]) -> Clock | None:
    hour, minute = int(match[1] or match[4]), int(match[2] or match[5])
    if match[3]:
        hour = hour % 12 + (12 if match[3].lower() == "p" else 0)
    return Clock(match.start(), match.end(), hour, minute) if hour < 25 and minute < 60 else None


def _readings(match: re.Match[str]) -> Iterator[Day]:
    parts = {name: value for name, value in match.groupdict().items() if value}
    year = int(parts["year"]) if "year" in parts else None
    if "either" in parts:
        one, two = int(parts["either"]), int(parts["other"])
        yield Day(year, two, one)
        yield Day(year, one, two)
        return
    yield Day(year, _month(parts["month"]), int(parts["day"]) if "day" in parts else None)


def first_day_of(text: str, dated: Dated) -> Day | None:
    """The day that a range begins with, where `dated` ends one: the 1 of "1.\N{EN DASH}3. 2. 2024"."""
    for pattern in _PATTERNS:
        match = pattern.match(text, dated.start)
        if match and match.end() == dated.end and match.groupdict().get("first"):
            last = dated.readings[0]
            return Day(last.year, last.month, int(match["first"]))
    return None


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBER_OF[text.casefold()]
