"""Parses numbers as people write them: 12,034 and 12 034 and 12.034, 12,5, 43 %, 1.2M, 12 tisíc, about 12 thousand.

A number in a text is parsed to intervals: all values that would be written that way, rounding included.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from runax_cli.agent.locales import LOCALES, any_of

_SPACE = "[ \u00a0\u202f\u2009'\N{RIGHT SINGLE QUOTATION MARK}]"
_BODY = rf"\d{{1,3}}(?:{_SPACE}\d{{3}}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,]\d+)*"
SCALES = sorted(
    ((name, zeros) for locale in LOCALES for name, zeros in locale.number.scales.items()),
    key=lambda scale: -len(scale[0]),
)
_LETTERS = {"k": 3, "K": 3, "M": 6, "B": 9}
_ATTACHED = rf"\s?(?:k\b|K\b|M\b|B\b|{any_of(lambda locale: locale.number.scale_abbreviations)})"
_WORDS = rf"\s?{any_of(lambda locale: locale.number.scale_words)}"
_PERCENT = rf"\s?(?:%|‰|{any_of(lambda locale: locale.number.percent)})"
_NUMBER = re.compile(
    rf"(?P<body>{_BODY})(?P<scale>{_ATTACHED}|{_WORDS})?(?P<percent>{_PERCENT})?",
)
_BEFORE_NUMBER = r"\s*[$€£]?\s*$"
_ABOUT = re.compile(rf"(?:\b{any_of(lambda locale: locale.number.about)}|~|≈){_BEFORE_NUMBER}", re.IGNORECASE)
_OVER = re.compile(rf"(?:\b{any_of(lambda locale: locale.number.over)}|[>≥]){_BEFORE_NUMBER}", re.IGNORECASE)
_UNDER = re.compile(rf"(?:\b{any_of(lambda locale: locale.number.under)}|[<≤]){_BEFORE_NUMBER}", re.IGNORECASE)
_NUMBER_WORDS = {
    name: value for locale in LOCALES for value, names in enumerate(locale.number.names) for name in names.split()
}
_LOOK_BACK = 24
_MAX_PARTS = 50
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Interval:
    """Values from `low` to `high`, both included."""

    low: Decimal
    high: Decimal


@dataclass(frozen=True, slots=True)
class NumberMention:
    """A number in a text. `readings` are the values that it may mean, `parts` are its pieces as separate numbers.

    "1.234" may be 1234 or 1.234; "12 345" may be two adjacent numbers.
    """

    text: str
    start: int
    end: int
    readings: tuple[Interval, ...]
    parts: tuple["NumberMention", ...] = ()
    is_percent: bool = False

    def includes(self, value: Decimal) -> bool:
        """Whether it may mean this value."""
        return any(one.low <= value <= one.high for one in self.readings)


def as_decimal(value: Any) -> Decimal | None:
    """A finite number as Decimal; None for anything else, also for a truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = Decimal(str(value))
    return number if number.is_finite() else None


def numbers_in(text: str) -> Iterator[NumberMention]:
    """The numbers of a text, from left to right. Digits inside a word count too."""
    for match in _NUMBER.finditer(text):
        yield _number(match, text[max(0, match.start() - _LOOK_BACK) : match.start()])


def number_words_in(text: str) -> frozenset[int]:
    """Small numbers written as words."""
    return frozenset(_NUMBER_WORDS[word] for word in map(str.casefold, _WORD.findall(text)) if word in _NUMBER_WORDS)


def exact_values(text: str) -> Iterator[Decimal]:
    """Every value that the numbers of a text may mean, without rounding."""
    for match in _NUMBER.finditer(text):
        scale = _scale_of(match["scale"])
        for value, _ in _values(match["body"]):
            yield value * scale
        if scale != 1:
            yield from (value for value, _ in _values(match["body"]))


def _number(match: re.Match[str], before: str) -> NumberMention:
    body, scale = match["body"], _scale_of(match["scale"])
    is_percent = match["percent"] is not None
    # "12 k" is a number and its scale, or a number followed by an unrelated letter.
    is_ambiguous = (match["scale"] or "").lstrip() in _LETTERS and (match["scale"] or "").startswith(" ")
    readings = [
        interval
        for value, step in _values(body)
        for factor in dict.fromkeys((scale, Decimal(1)) if is_ambiguous else (scale,))
        for interval in intervals(value * factor, step * factor, before)
    ]
    if is_percent:
        readings += [Interval(one.low / 100, one.high / 100) for one in readings]
    pieces = re.split(r"[^\d]+", body)[:_MAX_PARTS]
    parts = tuple(_piece(piece, match.start()) for piece in pieces) if len(pieces) > 1 and _may_be_list(body) else ()
    return NumberMention(match[0], match.start(), match.end(), tuple(readings), parts, is_percent)


def _piece(digits: str, start: int) -> NumberMention:
    return NumberMention(digits, start, start + len(digits), (Interval(Decimal(digits), Decimal(digits)),))


def _may_be_list(body: str) -> bool:
    """Whether the pieces may be separate numbers: "12 345" after "customer", or "1,2,3"."""
    return " " in body or body.count(",") > 1


def _values(body: str) -> Iterator[tuple[Decimal, Decimal]]:
    """Each way to read the separators: the value, and the step of its last digit."""
    marks = re.findall(r"[^\d]", body)
    whole = re.sub(r"\D", "", body)
    groups = re.split(r"[^\d]", body)
    is_grouped = len(groups) > 1 and 1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])
    if not marks or (is_grouped and len(set(marks)) == 1):
        yield Decimal(whole), Decimal(1)
    if marks and marks[-1] in ".," and marks.count(marks[-1]) == 1:
        decimals = groups[-1]
        yield Decimal(f"{whole[: -len(decimals)]}.{decimals}"), Decimal(1).scaleb(-len(decimals))


def intervals(value: Decimal, step: Decimal, before: str) -> Iterator[Interval]:
    """The values that a number written with this last digit may mean; `before` may hedge it: about, over, almost."""
    yield Interval(value - step / 2, value + step / 2)
    coarse = max(step, _last_digit_place(value))
    if _ABOUT.search(before):
        yield Interval(value - coarse / 2, value + coarse / 2)
    elif _OVER.search(before):
        yield Interval(value, value + coarse)
    elif _UNDER.search(before):
        yield Interval(value - coarse / 2, value)


def _last_digit_place(value: Decimal) -> Decimal:
    """The place of the last non-zero digit: 1000 for 12,000."""
    if value == 0:
        return Decimal(1)
    exponent = value.normalize().as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)


def _scale_of(text: str | None) -> Decimal:
    stripped = (text or "").strip()
    zeros = _LETTERS.get(stripped) or next((n for begin, n in SCALES if stripped.casefold().startswith(begin)), 0)
    return Decimal(1).scaleb(zeros)


def word_pattern(phrases: Iterable[str]) -> str:
    """A fragment of a regular expression for any of these phrases, the longest first, with any white space."""
    return "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in sorted(phrases, key=len, reverse=True))
