"""Finds the figures of a statement, and looks them up in evidence.

Ordinals, list numbers, versions, names with digits (RUN-17, 5G, IPv6) and numbers of parts of a text ("step 2") are not
figures: they say nothing about data. Dates and times of day are.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from runax_cli.agent.evidence.dates import CalendarDate, TimeOfDay, dates_in, range_start, times_in
from runax_cli.agent.evidence.number_words import word_numbers_in
from runax_cli.agent.evidence.numbers import NumberMention, exact_values, numbers_in, word_pattern
from runax_cli.agent.locales import LOCALES, any_of
from runax_cli.agent.locales.locale import TimeUnit

_UNIT = (
    r"(?:k|K|M|B|x|\N{MULTIPLICATION SIGN}|%|‰|ms|s|h|d|kB|KB|MB|GB|TB|kb|Mb|Gb|Mbit|Gbit|Mbps|Gbps|kbps|km|m|cm|mm|kg|"
    r"g|mg|t|l|ml|kW|kWh|MW|W|V|A|Hz|kHz|MHz|GHz|CZK|EUR|USD|GBP|px|C|F|"
    rf"{any_of(lambda locale: locale.statement.unit)})"
)
_ORDINAL_SUFFIX = any_of(lambda locale: locale.date.ordinal_suffix)
_CAPITALS = "".join(locale.statement.capitals for locale in LOCALES)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_NAMES = re.compile(
    r"https?://\S+|\S+@\S+\.\w+"  # addresses
    rf"|\b(?:{_OCTET}\.){{3}}{_OCTET}(?:/\d+)?(?::\d+)?\b"  # IPv4
    r"|\b(?:[0-9A-Fa-f]{2}:){3,7}[0-9A-Fa-f]{2}\b"  # MAC
    r"|(?<![\w.,])(?!\d{1,3}(?:\.\d{3})+(?![\w.]))\d+(?:\.\d+){2,}(?!\w)"  # versions
    r"|[^\W\d_][^\W_]*(?:[-_][^\W_]+)*-?\d[\w-]*(?:[./_-]\w+)*"  # RUN-17, v1.2, IPv6, Q3
    rf"|(?<![\w.,])\d+(?!(?:{_UNIT})\b)(?:{_ORDINAL_SUFFIX}\b|[A-Z]\w*|[a-z]+\d\w*)(?:-\w+)*"  # 1st, 5G, 9f3a-…
    r"|\b24/7\b|\b50/50\b|(?<=#)\d{1,2}\b",
)
_NUMBERED_PART = re.compile(
    rf"\b{any_of(lambda locale: locale.statement.numbered_part)}\s*"
    r"(\d{1,2}(?:\.\d{1,2})?)\b(?![.,]?\d|\s?%)",
    re.IGNORECASE,
)
_ORDINAL = re.compile(rf"(?<![\w.,])\d{{1,2}}\.(?=\s+[^\W\d_{_CAPITALS}])|^\d{{1,2}}[.)](?=\s)")
_ENUMERATED = re.compile(r"\(\d{1,2}\)")
_FRACTION = re.compile(r"(?<=\d)/(?=\d)")


_FRACTION_WORDS = re.compile(
    rf"(?<!\w)(?:{word_pattern(phrase for locale in LOCALES for phrase in locale.claim.fractions)})(?!\w)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, the readings of a date, or a time of day. An uncertain date also has its number.

    `is_word`: the number is written as a word.
    """

    text: str
    start: int
    number: NumberMention | None = None
    dates: tuple[CalendarDate, ...] = ()
    time: TimeOfDay | None = None
    is_word: bool = False


def figures_in(text: str) -> tuple[Figure, ...]:
    """The figures of a text that need evidence, in order."""
    times = times_in(text)
    found = [Figure(text[one.start : one.end], one.start, time=one) for one in times]
    rest = text
    for date_ in dates_in(text):
        shown = text[date_.start : date_.end]
        number = None if date_.is_certain else _number(shown)
        found.append(Figure(shown, date_.start, number=number, dates=date_.readings))
        if first := range_start(text, date_):
            found.append(Figure(shown, date_.start, dates=(first,)))
        rest = _blank_out(rest, date_.start, date_.end)
    for one in times:
        rest = _blank_out(rest, one.start, one.end)
    plain = _blank_out_names(rest)
    found += _numbers(plain)
    for number_ in numbers_in(plain):
        plain = _blank_out(plain, number_.start, number_.end)
    plain = _FRACTION_WORDS.sub(lambda match: " " * len(match[0]), plain)
    found += (Figure(one.text, one.start, number=one, is_word=True) for one in word_numbers_in(plain))
    return tuple(sorted(found, key=lambda figure: figure.start))


def _numbers(text: str) -> Iterator[Figure]:
    for number in numbers_in(text):
        dates: tuple[CalendarDate, ...] = ()
        if re.fullmatch(r"(?:1[6-9]|2[01])\d\d", number.text):
            dates = (CalendarDate(int(number.text)),)
        yield Figure(number.text.strip(), number.start, number=number, dates=dates)


def _number(text: str) -> NumberMention | None:
    return next(numbers_in(text.rstrip(". ")), None)


def _blank_out_names(text: str) -> str:
    """Replace names, ordinals and numbers of parts by blanks, so that positions stay the same."""
    enumerators = (_ENUMERATED,) if "(1)" in text else ()
    for pattern in (_NAMES, _ORDINAL, *enumerators):
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return _NUMBERED_PART.sub(lambda match: " " * len(match[0]), _FRACTION.sub(";", text))


def _blank_out(text: str, start: int, end: int) -> str:
    return f"{text[:start]}{' ' * (end - start)}{text[end:]}"


MAX_TEXT_CHARS = 200_000
"""Only this much of one text is searched for figures: a record may hold a whole book."""
_LONG_ID_DIGITS = 5
_MARKS = re.compile(
    r"[\"“”„«»\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}'`*_"
    r"\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}\N{SINGLE LOW-9 QUOTATION MARK}]"
)
_TOKEN = re.compile(r"[^\W_]+")
_EPOCHS = ((500_000_000, 2_500_000_000, 1), (500_000_000_000, 2_500_000_000_000, 1000))
_DAY_S = 86_400
_HALF = Decimal("0.5")
_FACTORS: Mapping[TimeUnit, tuple[int, ...]] = {
    "week": (7, 7 * 24, 7 * _DAY_S),
    "day": (_DAY_S, 24, 1440),
    "hour": (3600, 60, 3_600_000),
    "minute": (60, 60_000),
    "second": (1000,),
}
"""How many smaller units one unit of time is: a figure in hours may be stored in seconds, minutes or milliseconds."""
_TIME_UNITS = tuple((beginning, unit) for locale in LOCALES for beginning, unit in locale.date.time_units.items())


@dataclass(slots=True)
class EvidencePool:
    """All values and texts of some evidence. `has_durations`: some of its numbers are durations."""

    has_durations: bool = False
    _values: set[Decimal] = field(default_factory=set)
    _sorted: list[Decimal] | None = None
    _dates: set[CalendarDate] = field(default_factory=set)
    _times: set[tuple[int, int]] = field(default_factory=set)
    _digits: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _token_texts: list[str] | None = None
    _word_values: set[Decimal] | None = None

    def add(self, value: Any) -> None:
        """Add a value of any kind, with everything nested in it."""
        match value:
            case bool() | None:
                return
            case int() | float() | Decimal():
                self._add_number(value)
            case datetime():
                self._add_day(value)
                self._times.add((value.hour, value.minute))
            case date():
                self._add_day(value)
            case time():
                self._times.add((value.hour, value.minute))
            case timedelta():
                self.has_durations = True
                self._add_number(value.total_seconds())
            case str():
                self._add_text(value)
            case Mapping():
                self.add_all(value.values())
            case list() | tuple() | set():
                self.add_all(value)
            case _:
                self._add_text(str(value))

    def add_all(self, values: Iterable[Any]) -> None:
        """Add several values."""
        for value in values:
            self.add(value)

    def has(self, figure: Figure, *, after: str = "") -> bool:
        """Whether the evidence contains the figure. `after` is the text that follows it, perhaps with a unit."""
        if figure.time is not None:
            return self._has_time(figure.time)
        if figure.dates and any(self._has_day(day) for day in figure.dates):
            return True
        return figure.number is not None and self._has_number(figure.number, after)

    def has_date_parts(self, figure: Figure, others: Iterable["EvidencePool"]) -> bool:
        """Whether each part of a date is a number in some evidence: the month in a row, the year in a filter."""
        pools = (self, *others)
        return any(
            day.month is not None
            and all(
                any(pool.has_value(part) or pool._has_day(CalendarDate(part)) for pool in pools)
                for part in (day.year, day.month, day.day)
                if part is not None
            )
            for day in figure.dates
        )

    def has_value(self, value: int | Decimal) -> bool:
        """Whether the evidence contains exactly this number, whatever its sign."""
        return abs(Decimal(value)) in self._values

    def has_text(self, text: str) -> bool:
        """Whether a text contains these words in this order, ignoring case and white space. "…" matches anything."""
        pieces = [normalize_text(piece).strip(" .,;:!?") for piece in re.split(r"…|\.\.\.|\[…\]", text)]
        return any(_has_pieces(known, pieces) for known in self._texts)

    def has_words(self, text: str) -> bool:
        """Whether a text contains these whole words next to each other, ignoring case, diacritics and punctuation."""
        if self._token_texts is None:
            self._token_texts = [f" {' '.join(words_of(known))} " for known in self._texts]
        wanted = f" {' '.join(words_of(text))} "
        return any(wanted in known for known in self._token_texts)

    @property
    def texts(self) -> Sequence[str]:
        """All texts, normalized."""
        return self._texts

    def _add_number(self, value: float | Decimal) -> None:
        try:
            exact = Decimal(str(value))
        except InvalidOperation:
            return
        if not exact.is_finite():
            return
        self._values.add(abs(exact))
        self._sorted = None
        digits = re.sub(r"\D", "", str(value))
        if len(digits) >= _LONG_ID_DIGITS:
            self._digits.append(digits)
        for low, high, per_s in _EPOCHS:
            if low < exact < high:
                self._add_day(datetime.fromtimestamp(float(exact) / per_s, UTC))

    def _add_text(self, text: str) -> None:
        text = text[:MAX_TEXT_CHARS]
        self._texts.append(normalize_text(text))
        self._token_texts = self._word_values = None
        if not re.search(r"\d", text):
            return
        self._digits += [digits for run in re.findall(r"\d[\d\s./-]{3,}\d", text) if (digits := re.sub(r"\D", "", run))]
        rest = text
        for date_ in dates_in(text):
            self._dates.update(date_.readings)
            if date_.is_certain:
                # The 3 of "3 March" does not count anything.
                rest = _blank_out(rest, date_.start, date_.end)
        self._times.update((one.hour, one.minute) for one in times_in(text))
        self._values.update(exact_values(rest))
        self._sorted = None

    def _add_day(self, day: date) -> None:
        self._dates.add(CalendarDate(day.year, day.month, day.day))

    def _has_time(self, time: TimeOfDay) -> bool:
        is_full_hour = time.minute == 0 and Decimal(time.hour) in self._values
        return is_full_hour or (time.hour, time.minute) in self._times

    def _has_day(self, day: CalendarDate) -> bool:
        if any(day.is_part_of(known) for known in self._dates):
            return True
        is_edge = day.day is not None and (day.day == 1 or day.day >= 28)
        return is_edge and any(
            known.day is None and CalendarDate(day.year, day.month).is_part_of(known) for known in self._dates
        )

    def _has_number(self, number: NumberMention, after: str) -> bool:
        if any(self._has_between(one.low, one.high) for one in number.readings):
            return True
        if number.parts and all(self._has_number(part, "") for part in number.parts):
            return True
        if any(
            self._has_between((one.low - step) * factor, (one.high + step) * factor)
            for factor in (_factors(after) if self.has_durations else ())
            for one in number.readings
            for step in (_HALF if one.low == one.high else 0,)
        ):
            return True
        digits = re.sub(r"\D", "", number.text)
        if len(digits) >= _LONG_ID_DIGITS and any(digits in known for known in self._digits):
            return True
        return any(one.low <= value <= one.high for value in self._values_in_words() for one in number.readings)

    def _values_in_words(self) -> set[Decimal]:
        """The numbers that the texts write as words."""
        if self._word_values is None:
            mentions = (one for known in self._texts for one in word_numbers_in(known))
            self._word_values = {reading.low for one in mentions for reading in one.readings}
        return self._word_values

    def _has_between(self, low: Decimal, high: Decimal) -> bool:
        if self._sorted is None:
            self._sorted = sorted(self._values)
        at = bisect_left(self._sorted, low)
        return at < len(self._sorted) and self._sorted[at] <= high


def normalize_text(text: str) -> str:
    """Lower case without diacritics, quotation marks, emphasis and repeated white space."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(char for char in plain if not unicodedata.combining(char))
    return " ".join(_MARKS.sub("", kept).split())


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case without diacritics."""
    return _TOKEN.findall(normalize_text(text))


def _has_pieces(text: str, pieces: Sequence[str]) -> bool:
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def has_time_unit(after: str) -> bool:
    """Whether the text after a figure begins with a unit of time."""
    return bool(_factors(after))


def _factors(after: str) -> tuple[int, ...]:
    """The factors of the unit of time after a figure."""
    unit = f"{after.lstrip(' -').casefold()} "
    return next((_FACTORS[name] for beginning, name in _TIME_UNITS if unit.startswith(beginning)), ())
