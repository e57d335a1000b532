"""The figures of a statement: what has to stand in some evidence, apart from what only looks like a figure.

Ordinals, list numbers, versions, names with digits in them (RUN-17, 5G, IPv6) and numbers that count parts of the
answer itself ("step 2") claim nothing about data. Dates and times are figures of their own kind. Pure.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from runax_cli.agent.dates import Clock, Day, clocks_in, dates_in, first_day_of
from runax_cli.agent.numbers import Number, numbers_in

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
    number: Number | None = None
    days: tuple[Day, ...] = ()
    clock: Clock | None = None


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
        days: tuple[Day, ...] = ()
        if re.fullmatch(r"(?:1[6-9]|2[01])\d\d", number.text):
            days = (Day(int(number.text)),)
        yield Figure(number.text.strip(), number.start, number=number, days=days)


def _number(text: str) -> Number | None:
    return next(numbers_in(text.rstrip(". ")), None)


def _without_names(text: str) -> str:
    """The text with blanks where names, ordinals and numbers of parts stand; positions stay."""
    enumerators = (_ENUMERATED,) if "(1)" in text else ()
    for pattern in (_NAMES, _ORDINAL, *enumerators):
        text = pattern.sub(lambda match: " " * len(match[0]), text)
    return _COUNTED_PARTS.sub(lambda match: " " * len(match[0]), _FRACTION.sub(";", text))


def _without(text: str, start: int, end: int) -> str:
    return f"{text[:start]}{' ' * (end - start)}{text[end:]}"
