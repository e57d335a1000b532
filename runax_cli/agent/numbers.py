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
class Number:
    """A number where it stands in a text. `readings` are the values it may stand for, `parts` those of its pieces.

    "1.234" may be 1234 or 1.234; "12 345" may be two numbers that only stand beside each other.
    """

    text: str
    start: int
    end: int
    readings: tuple[Interval, ...]
    parts: tuple["Number", ...] = ()
    is_percent: bool = False


def numbers_in(text: str) -> Iterator[Number]:
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


def _number(match: re.Match[str], before: str) -> Number:
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
    return Number(match[0], match.start(), match.end(), tuple(readings), parts, is_percent)


def _piece(digits: str, start: int) -> Number:
    return Number(digits, start, start + len(digits), (Interval(Decimal(digits), Decimal(digits)),))


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
