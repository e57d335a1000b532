"""Parses dates and times of day as people write them: 2024-02-01, 1. 2. 2024, 3 March, 2/3/2024, 2:30 pm.

A date may have several readings: 2/3/2024 is in February or in March.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from runax_cli.agent.locales import LOCALES, any_of

_MONTH_NUMBERS = {
    name: number for locale in LOCALES for number, names in enumerate(locale.date.months, 1) for name in names.split()
}
_AMBIGUOUS_MONTHS = "|".join(month for locale in LOCALES for month in locale.date.ambiguous_months)
_MONTH = r"(?P<month>" + "|".join(sorted(_MONTH_NUMBERS, key=len, reverse=True)) + r")\b\.?"
_ORDINAL = any_of(lambda locale: locale.date.ordinal_suffix)
_DAY = rf"(?P<day>\d{{1,2}}){_ORDINAL}?\b\.?"
_TO = rf"\s*(?:[-\N{{EN DASH}}]|\b{any_of(lambda locale: locale.date.range_word)}\b)\s*"
_FROM = rf"(?:(?P<first>\d{{1,2}}){_ORDINAL}?\.?{_TO})?"
_AFTER_DAY = rf"(?:{any_of(lambda locale: locale.date.after_day)}\s+)?"
_BEFORE_YEAR = rf"(?:{any_of(lambda locale: locale.date.before_year)}\s+)?"
_YEAR = r"(?P<year>(?:1[6-9]|2[01])\d\d)\b"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\w-])(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})(?=T\d\d:|(?![\w-]))",
        r"(?<![\w/])(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?![\w/])",
        rf"(?<![\w.])(?:(?P<first>\d{{1,2}})\.{_TO})?(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}",
        r"(?<![\w/])(?P<either>\d{1,2})/(?P<other>\d{1,2})/(?P<year>\d{4})(?![\w/])",
        r"(?<![\w-])(?P<either>\d{1,2})-(?P<other>\d{1,2})-(?P<year>\d{4})(?![\w-])",
        rf"(?<![\w.]){_FROM}{_DAY}\s*{_AFTER_DAY}{_MONTH}(?:,?\s+{_YEAR})?",
        rf"\b{_MONTH}\s+{_FROM}{_DAY}(?:,?\s+{_YEAR})?(?![\d:]|[.,\s\u00a0]?\d{{3}}(?!\d))",
        rf"\b{_MONTH},?\s+{_BEFORE_YEAR}{_YEAR}",
        r"(?<![\w-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\w-])",
        rf"(?<![\w.])(?:(?P<first>\d{{1,2}})\.{_TO})?(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.(?!\d)",
    )
)
_IS_AMBIGUOUS = re.compile(rf"\d+\s+(?:{_AMBIGUOUS_MONTHS})", re.IGNORECASE)
_TIME = re.compile(
    r"(?<![\w:.])(?:\d{4}-\d\d-\d\dT)?(\d{1,2}):(\d\d)(?::\d\d(?:\.\d+)?)?(?:\s?([ap])\.?m\b\.?)?(?![\w:])|"
    r"(?<=T)(\d\d):(\d\d)(?::\d\d(?:\.\d+)?)?|"
    r"(?<![\w:.,])(\d{1,2})\s?([ap])\.?m\b\.?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CalendarDate:
    """A date. `year` may be missing, or `day`, or `day` and `month`."""

    year: int | None
    month: int | None = None
    day: int | None = None

    def is_part_of(self, whole: "CalendarDate") -> bool:
        """Whether `whole` has every component that this date has, with the same value."""
        pairs = ((self.year, whole.year), (self.month, whole.month), (self.day, whole.day))
        return all(mine is None or mine == theirs for mine, theirs in pairs)

    @property
    def is_possible(self) -> bool:
        """Whether month and day are in range."""
        return 1 <= (self.month or 1) <= 12 and 1 <= (self.day or 1) <= 31


@dataclass(frozen=True, slots=True)
class DateMention:
    """The position of a date in a text, and its readings. If not `is_certain`, it may be one or two numbers instead."""

    start: int
    end: int
    readings: tuple[CalendarDate, ...]
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """A time of day and its position in a text; `hour` is 0 to 24."""

    start: int
    end: int
    hour: int
    minute: int


def dates_in(text: str) -> tuple[DateMention, ...]:
    """The dates of a text from left to right, without overlaps."""
    found: list[DateMention] = []
    taken = bytearray(len(text))
    for number, pattern in enumerate(_PATTERNS):
        for match in pattern.finditer(text):
            readings = tuple(day for day in _readings(match) if day.is_possible)
            if readings and not any(taken[match.start() : match.end()]):
                taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
                # "12.5." may be a number that ends a sentence, and "12 may" a number before a verb.
                is_certain = number < len(_PATTERNS) - 1 and not _IS_AMBIGUOUS.fullmatch(match[0])
                found.append(DateMention(match.start(), match.end(), readings, is_certain=is_certain))
    return tuple(sorted(found, key=lambda dated: dated.start))


def times_in(text: str) -> tuple[TimeOfDay, ...]:
    """The times of day of a text: 14:30, 2:30 pm, and the time of a timestamp."""
    return tuple(clock for match in _TIME.finditer(text) if (clock := _time_of_day(match)))


def _time_of_day(match: re.Match[str]) -> TimeOfDay | None:
    hour, minute = int(match[1] or match[4] or match[6]), int(match[2] or match[5] or 0)
    if half := match[3] or match[7]:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    return TimeOfDay(match.start(), match.end(), hour, minute) if hour < 25 and minute < 60 else None


def _readings(match: re.Match[str]) -> Iterator[CalendarDate]:
    parts = {name: value for name, value in match.groupdict().items() if value}
    year = int(parts["year"]) if "year" in parts else None
    if "either" in parts:
        one, two = int(parts["either"]), int(parts["other"])
        yield CalendarDate(year, two, one)
        yield CalendarDate(year, one, two)
        return
    yield CalendarDate(year, _month(parts["month"]), int(parts["day"]) if "day" in parts else None)


def range_start(text: str, dated: DateMention) -> CalendarDate | None:
    """The first day of a range that `dated` ends: the 1 of "1.\N{EN DASH}3. 2. 2024"."""
    for pattern in _PATTERNS:
        match = pattern.match(text, dated.start)
        if match and match.end() == dated.end and match.groupdict().get("first"):
            last = dated.readings[0]
            return CalendarDate(last.year, last.month, int(match["first"]))
    return None


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _MONTH_NUMBERS[text.casefold()]
