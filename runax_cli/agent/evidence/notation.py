"""Numbers as people write them: 12,034 and 12 034 and 12.034, 12,5, 43 %, 1.2M, 12 tisíc, about 12 thousand.

A number read from a text is a set of intervals: the values that would be written so, rounding included. Knows
notation. Knows nothing of what a number is about. Pure.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_SPACE = "[ \u00a0\u202f\u2009'\N{RIGHT SINGLE QUOTATION MARK}]"
_BODY = rf"\d{{1,3}}(?:{_SPACE}\d{{3}}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,]\d+)*"
_ZEROS = (("thousand", 3), ("tis", 3), ("miliard", 9), ("mld", 9), ("mil", 6), ("mio", 6), ("bn", 9), ("billion", 9))
_LETTERS = {"k": 3, "K": 3, "M": 6, "B": 9}
_ATTACHED = r"\s?(?:k\b|K\b|M\b|B\b|bn\b|mil\b\.?|mio\b)"
_WORDS = r"\s?(?:thousands?|tisíc\w*|tis\.|mili[oó]n\w*|millions?|billions?|miliard\w*|mld\.?)"
_PERCENT = r"\s?(?:%|‰|percent\w*|per cent|procent\w*|p\.\s?b\.)"
_NUMBER = re.compile(
    rf"(?P<body>{_BODY})(?P<scale>{_ATTACHED}|{_WORDS})?(?P<percent>{_PERCENT})?",
)
_ABOUT = re.compile(
    r"(?:\b(?:about|around|approximately|approx\.?|roughly|circa|some|ca\.?|cca\.?|asi|zhruba|přibližně|kolem|okolo)|~|≈)"
    r"\s*[$€£]?\s*$",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"(?:\b(?:over|more than|above|at least|no fewer than|no less than|exceeds|přes|více než|víc než|nad|alespoň|"
    r"nejméně|minimálně|přinejmenším)|[>≥])\s*[$€£]?\s*$",
    re.IGNORECASE,
)
_UNDER = re.compile(
    r"(?:\b(?:almost|nearly|close to|under|less than|fewer than|below|up to|at most|téměř|skoro|méně než|pod|do|"
    r"nejvýše|maximálně)|[<≤])\s*[$€£]?\s*$",
    re.IGNORECASE,
)
_WORDED = {
    name: value
    for value, names in enumerate(
        (
            "zero no none žádný žádná žádné žádní nikdo",
            "one jeden jedna jedno jednou",
            "two dva dvě dvou oba obě both",
            "three tři tří",
            "four čtyři čtyř",
            "five pět pěti",
            "six šest šesti",
            "seven sedm sedmi",
            "eight osm osmi",
            "nine devět devíti",
            "ten deset deseti",
            "eleven jedenáct jedenácti",
            "twelve dvanáct dvanácti",
        )
    )
    for name in names.split()
}
_LOOK_BACK = 24
_MOST_PARTS = 50
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Interval:
    """Values from `low` to `high`, both included."""

    low: Decimal
    high: Decimal


@dataclass(frozen=True, slots=True)
class NumberMention:
    """A number where it stands in a text. `readings` are the values it may stand for, `parts` those of its pieces.

    "1.234" may be 1234 or 1.234; "12 345" may be two numbers that only stand beside each other.
    """

    text: str
    start: int
    end: int
    readings: tuple[Interval, ...]
    parts: tuple["NumberMention", ...] = ()
    is_percent: bool = False


def numbers_in(text: str) -> Iterator[NumberMention]:
    """The numbers of a text, from left to right. Digits that belong to a word are numbers too."""
    for match in _NUMBER.finditer(text):
        yield _number(match, text[max(0, match.start() - _LOOK_BACK) : match.start()])


def worded_in(text: str) -> frozenset[int]:
    """Small numbers that are written as words."""
    return frozenset(_WORDED[word] for word in map(str.casefold, _WORD.findall(text)) if word in _WORDED)


def exact_values(text: str) -> Iterator[Decimal]:
    """Every value that the numbers of a text may stand for, without any rounding."""
    for match in _NUMBER.finditer(text):
        scale = _scale_of(match["scale"])
        for value, _ in _values(match["body"]):
            yield value * scale
        if scale != 1:
            yield from (value for value, _ in _values(match["body"]))


def _number(match: re.Match[str], before: str) -> NumberMention:
    body, scale = match["body"], _scale_of(match["scale"])
    is_percent = match["percent"] is not None
    # "12 k" is a number and its scale, or a number and a letter of something else.
    is_doubtful = (match["scale"] or "").lstrip() in _LETTERS and (match["scale"] or "").startswith(" ")
    readings = [
        interval
        for value, step in _values(body)
        for factor in dict.fromkeys((scale, Decimal(1)) if is_doubtful else (scale,))
        for interval in _intervals(value * factor, step * factor, before)
    ]
    if is_percent:
        readings += [Interval(one.low / 100, one.high / 100) for one in readings]
    pieces = re.split(r"[^\d]+", body)[:_MOST_PARTS]
    parts = tuple(_piece(piece, match.start()) for piece in pieces) if len(pieces) > 1 and _may_be_a_list(body) else ()
    return NumberMention(match[0], match.start(), match.end(), tuple(readings), parts, is_percent)


def _piece(digits: str, start: int) -> NumberMention:
    return NumberMention(digits, start, start + len(digits), (Interval(Decimal(digits), Decimal(digits)),))


def _may_be_a_list(body: str) -> bool:
    """Whether the pieces may be numbers of their own: "12 345" after "customer", or "1,2,3"."""
    return " " in body or body.count(",") > 1


def _values(body: str) -> Iterator[tuple[Decimal, Decimal]]:
    """Values and the step of their last digit, for each way to read the separators."""
    marks = re.findall(r"[^\d]", body)
    whole = re.sub(r"\D", "", body)
    groups = re.split(r"[^\d]", body)
    is_grouped = len(groups) > 1 and 1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])
    if not marks or (is_grouped and len(set(marks)) == 1):
        yield Decimal(whole), Decimal(1)
    if marks and marks[-1] in ".," and marks.count(marks[-1]) == 1:
        decimals = groups[-1]
        yield Decimal(f"{whole[: -len(decimals)]}.{decimals}"), Decimal(1).scaleb(-len(decimals))


def _intervals(value: Decimal, step: Decimal, before: str) -> Iterator[Interval]:
    yield Interval(value - step / 2, value + step / 2)
    coarse = max(step, _last_place(value))
    if _ABOUT.search(before):
        yield Interval(value - coarse / 2, value + coarse / 2)
    elif _OVER.search(before):
        yield Interval(value, value + coarse)
    elif _UNDER.search(before):
        yield Interval(value - coarse / 2, value)


def _last_place(value: Decimal) -> Decimal:
    """The place of the last digit that is no zero: 1000 for 12,000."""
    if value == 0:
        return Decimal(1)
    exponent = value.normalize().as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)


def _scale_of(text: str | None) -> Decimal:
    stripped = (text or "").strip()
    zeros = _LETTERS.get(stripped) or next((n for begin, n in _ZEROS if stripped.casefold().startswith(begin)), 0)
    return Decimal(1).scaleb(zeros)


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
class CalendarDate:
    """A date; `year` or `day` (with `month`) may be missing."""

    year: int | None
    month: int | None = None
    day: int | None = None

    def is_part_of(self, whole: "CalendarDate") -> bool:
        """Whether everything that this date says is said by `whole` as well."""
        pairs = ((self.year, whole.year), (self.month, whole.month), (self.day, whole.day))
        return all(mine is None or mine == theirs for mine, theirs in pairs)

    @property
    def is_possible(self) -> bool:
        """Whether the calendar may have such a day."""
        return 1 <= (self.month or 1) <= 12 and 1 <= (self.day or 1) <= 31


@dataclass(frozen=True, slots=True)
class DateMention:
    """Where a date stands in a text, and the ways to read it. `is_sure` False: it may be a number or two instead."""

    start: int
    end: int
    readings: tuple[CalendarDate, ...]
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """Where a time of day stands in a text; `hour` from 0."""

    start: int
    end: int
    hour: int
    minute: int


def dates_in(text: str) -> tuple[DateMention, ...]:
    """The dates of a text from left to right, none within another."""
    found: list[DateMention] = []
    taken = bytearray(len(text))
    for number, pattern in enumerate(_PATTERNS):
        for match in pattern.finditer(text):
            readings = tuple(day for day in _readings(match) if day.is_possible)
            if readings and not any(taken[match.start() : match.end()]):
                taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
                # "12.5." may be a sum at the end of a sentence, and "12 may" the begin of a verb.
                is_sure = number < len(_PATTERNS) - 1 and not re.fullmatch(r"\d+\s+may", match[0], re.IGNORECASE)
                found.append(DateMention(match.start(), match.end(), readings, is_sure=is_sure))
    return tuple(sorted(found, key=lambda dated: dated.start))


def clocks_in(text: str) -> tuple[TimeOfDay, ...]:
    """The times of day of a text: 14:30, 2:30 pm, and those behind a date."""
    return tuple(clock for match in _CLOCK.finditer(text) if (clock := _clock(match)))


def _clock(match: re.Match[str]) -> TimeOfDay | None:
    hour, minute = int(match[1] or match[4]), int(match[2] or match[5])
    if match[3]:
        hour = hour % 12 + (12 if match[3].lower() == "p" else 0)
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


def first_day_of(text: str, dated: DateMention) -> CalendarDate | None:
    """The day that a range begins with, where `dated` ends one: the 1 of "1.\N{EN DASH}3. 2. 2024"."""
    for pattern in _PATTERNS:
        match = pattern.match(text, dated.start)
        if match and match.end() == dated.end and match.groupdict().get("first"):
            last = dated.readings[0]
            return CalendarDate(last.year, last.month, int(match["first"]))
    return None


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBER_OF[text.casefold()]
