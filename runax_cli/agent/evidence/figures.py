"""The figures of a statement: what has to stand in some evidence, apart from what only looks like a figure.

Ordinals, list numbers, versions, names with digits in them (RUN-17, 5G, IPv6) and numbers that count parts of the
answer itself ("step 2") claim nothing about data. Dates and times are figures of their own kind. Pure.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from runax_cli.agent.evidence.notation import (
    CalendarDate,
    NumberMention,
    TimeOfDay,
    clocks_in,
    dates_in,
    exact_values,
    first_day_of,
    numbers_in,
)

_UNIT = (
    r"(?:k|K|M|B|bn|mil|mio|x|\N{MULTIPLICATION SIGN}|%|‰|ms|s|sec|min|h|hod|d|dní|kB|KB|MB|GB|TB|kb|Mb|Gb|Mbit|Gbit|"
    r"Mbps|Gbps|kbps|km|m|cm|mm|kg|g|mg|t|l|ml|kW|kWh|MW|W|V|A|Hz|kHz|MHz|GHz|Kč|CZK|EUR|USD|GBP|pp|px|C|F|am|pm)"
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_NAMES = re.compile(
    r"https?://\S+|\S+@\S+\.\w+"  # addresses
    rf"|\b(?:{_OCTET}\.){{3}}{_OCTET}(?:/\d+)?(?::\d+)?\b"  # IPv4
    r"|\b(?:[0-9A-Fa-f]{2}:){3,7}[0-9A-Fa-f]{2}\b"  # MAC
    r"|(?<![\w.,])(?!\d{1,3}(?:\.\d{3})+(?![\w.]))\d+(?:\.\d+){2,}(?!\w)"  # versions
    r"|[^\W\d_][^\W_]*(?:[-_][^\W_]+)*-?\d[\w-]*(?:[./_-]\w+)*"  # RUN-17, v1.2, IPv6, Q3
    rf"|(?<![\w.,])\d+(?!(?:{_UNIT})\b)(?:(?:st|nd|rd|th)\b|[A-Z]\w*|[a-z]+\d\w*)(?:-\w+)*"  # 1st, 5G, 9f3a-…
    r"|\b24/7\b|\b50/50\b|(?<=#)\d{1,2}\b",
)
_COUNTED_PARTS = re.compile(
    r"\b(?:steps?|options?|parts?|points?|phases?|levels?|pages?|chapters?|sections?|version|release|windows|android|ios|"
    r"usb|https?|iso|rfc|wi-?fi|office|python|java|html|wcag|type|question|sub-question|table|figure|top|first|last|ranks?|"
    r"places?|positions?|no\.|nr\.?|"
    r"kroku?|částí?|bodu?|fáze|úrove[ňn]|stran[aěu]|kapitol[aey]|verz[eí]|typu?|otázk[aey]|tabulk[aey]|místo|místě|"
    r"prvních|posledních|pořadí|č\.)\s*(\d{1,2}(?:\.\d{1,2})?)\b(?![.,]?\d|\s?%)",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"(?<![\w.,])\d{1,2}\.(?=\s+[^\W\d_A-ZÁČĎÉĚÍŇÓŘŠŤÚŮÝŽ])|^\d{1,2}[.)](?=\s)")
_ENUMERATED = re.compile(r"\(\d{1,2}\)")
_FRACTION = re.compile(r"(?<=\d)/(?=\d)")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: a number, the ways to read a date, or a time of day; a doubtful date has its number as well."""

    text: str
    start: int
    number: NumberMention | None = None
    days: tuple[CalendarDate, ...] = ()
    clock: TimeOfDay | None = None


def figures_in(text: str) -> tuple[Figure, ...]:
    """What has to be proven in a text, in order."""
    clocks = clocks_in(text)
    found = [Figure(text[clock.start : clock.end], clock.start, clock=clock) for clock in clocks]
    rest = text
    for dated in dates_in(text):
        shown = text[dated.start : dated.end]
        found.append(Figure(shown, dated.start, number=None if dated.is_sure else _number(shown), days=dated.readings))
        if first := first_day_of(text, dated):
            found.append(Figure(shown, dated.start, days=(first,)))
        rest = _without(rest, dated.start, dated.end)
    for clock in clocks:
        rest = _without(rest, clock.start, clock.end)
    found += _numbers(_without_names(rest))
    return tuple(sorted(found, key=lambda figure: figure.start))


def _numbers(text: str) -> Iterator[Figure]:
    for number in numbers_in(text):
        days: tuple[CalendarDate, ...] = ()
        if re.fullmatch(r"(?:1[6-9]|2[01])\d\d", number.text):
            days = (CalendarDate(int(number.text)),)
        yield Figure(number.text.strip(), number.start, number=number, days=days)


def _number(text: str) -> NumberMention | None:
    return next(numbers_in(text.rstrip(". ")), None)


def _without_names(text: str) -> str:
    """The text with blanks where names, ordinals and numbers of parts stand; positions stay."""
    enumerators = (_ENUMERATED,) if "(1)" in text else ()
    for pattern in (_NAMES, _ORDINAL, *enumerators):
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return _COUNTED_PARTS.sub(lambda match: " " * len(match[0]), _FRACTION.sub(";", text))


def _without(text: str, start: int, end: int) -> str:
    return f"{text[:start]}{' ' * (end - start)}{text[end:]}"


MOST_CHARS = 200_000
"""So much of one text is searched for figures; a record may hold a whole book."""
_LONG_ID_DIGITS = 5
_MARKS = re.compile(r"[\"“”„'`*_\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}]")
_EPOCHS = ((500_000_000, 2_500_000_000, 1), (500_000_000_000, 2_500_000_000_000, 1000))
_DAY_S = 86_400
_UNITS_S: Mapping[str, tuple[int, ...]] = {
    "hour": (3600, 60, 3_600_000),
    "hr": (3600, 60, 3_600_000),
    "h ": (3600, 60, 3_600_000),
    "hod": (3600, 60, 3_600_000),
    "minut": (60, 60_000),
    "min": (60, 60_000),
    "day": (_DAY_S, 24, 1440),
    "dn": (_DAY_S, 24, 1440),
    "den": (_DAY_S, 24, 1440),
    "sec": (1000,),
    "sek": (1000,),
    "s ": (1000,),
}


@dataclass(slots=True)
class EvidencePool:
    """Everything that some evidence says, ready to be asked. `is_in_time_units`: some of it are spans of time."""

    is_in_time_units: bool = False
    _values: set[Decimal] = field(default_factory=set)
    _sorted: list[Decimal] | None = None
    _days: set[CalendarDate] = field(default_factory=set)
    _clocks: set[tuple[int, int]] = field(default_factory=set)
    _digits: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)

    def add(self, value: Any) -> None:
        """A value of any kind; whatever is nested is added too."""
        match value:
            case bool() | None:
                return
            case int() | float() | Decimal():
                self._add_number(value)
            case datetime():
                self._add_day(value)
                self._clocks.add((value.hour, value.minute))
            case date():
                self._add_day(value)
            case time():
                self._clocks.add((value.hour, value.minute))
            case timedelta():
                self.is_in_time_units = True
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
        """Several values."""
        for value in values:
            self.add(value)

    def has(self, figure: Figure, *, after: str = "") -> bool:
        """Whether the figure stands in this evidence; `after` is the text behind it, for its unit."""
        if figure.clock is not None:
            return self._has_clock(figure.clock)
        if figure.days and any(self._has_day(day) for day in figure.days):
            return True
        return figure.number is not None and self._has_number(figure.number, after)

    def has_value(self, value: int | Decimal) -> bool:
        """Whether exactly this number stands in it."""
        return abs(Decimal(value)) in self._values

    def has_text(self, text: str) -> bool:
        """Whether the words stand in it in this order, white space and case apart; "…" stands for anything."""
        pieces = [folded(piece).strip(" .,;:!?") for piece in re.split(r"…|\.\.\.|\[…\]", text)]
        return any(_has_pieces(known, pieces) for known in self._texts)

    @property
    def texts(self) -> Sequence[str]:
        """All texts, folded."""
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
        text = text[:MOST_CHARS]
        self._texts.append(folded(text))
        if not re.search(r"\d", text):
            return
        self._digits += [digits for run in re.findall(r"\d[\d\s./-]{3,}\d", text) if (digits := re.sub(r"\D", "", run))]
        rest = text
        for dated in dates_in(text):
            self._days.update(dated.readings)
            if dated.is_sure:
                # The 3 of "3 March" is no number of anything.
                rest = f"{rest[: dated.start]}{' ' * (dated.end - dated.start)}{rest[dated.end :]}"
        self._clocks.update((clock.hour, clock.minute) for clock in clocks_in(text))
        self._values.update(exact_values(rest))
        self._sorted = None

    def _add_day(self, day: date) -> None:
        self._days.add(CalendarDate(day.year, day.month, day.day))

    def _has_clock(self, clock: TimeOfDay) -> bool:
        return (clock.hour, clock.minute) in self._clocks

    def _has_day(self, day: CalendarDate) -> bool:
        if any(day.is_part_of(known) for known in self._days):
            return True
        is_edge = day.day is not None and (day.day == 1 or day.day >= 28)
        return is_edge and any(
            known.day is None and CalendarDate(day.year, day.month).is_part_of(known) for known in self._days
        )

    def _has_number(self, number: NumberMention, after: str) -> bool:
        if any(self._has_between(one.low, one.high) for one in number.readings):
            return True
        if number.parts and all(self._has_number(part, "") for part in number.parts):
            return True
        if any(
            self._has_between(one.low * factor, one.high * factor)
            for factor in (_factors(after) if self.is_in_time_units else ())
            for one in number.readings
        ):
            return True
        digits = re.sub(r"\D", "", number.text)
        return len(digits) >= _LONG_ID_DIGITS and any(digits in known for known in self._digits)

    def _has_between(self, low: Decimal, high: Decimal) -> bool:
        if self._sorted is None:
            self._sorted = sorted(self._values)
        at = bisect_left(self._sorted, low)
        return at < len(self._sorted) and self._sorted[at] <= high


def folded(text: str) -> str:
    """Lower case without marks, quotes and superfluous white space."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(char for char in plain if not unicodedata.combining(char))
    return " ".join(_MARKS.sub("", kept).split())


def _has_pieces(text: str, pieces: Sequence[str]) -> bool:
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _factors(after: str) -> tuple[int, ...]:
    """How many smaller units of time the unit behind a figure may stand for: hours may be kept as seconds."""
    unit = f"{after.lstrip(' -').casefold()} "
    return next((factors for begin, factors in _UNITS_S.items() if unit.startswith(begin)), ())
