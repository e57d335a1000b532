"""Finds numbers written as words: "thirty-eight", "achtunddreißig", "třicet osm".

The words of a language come from its locale for small numbers, with all their forms, and from num2words for the others.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from itertools import product

from runax_cli.agent.evidence.numbers import SCALES, NumberMention, intervals
from runax_cli.agent.locales import LOCALES, any_of

_WORD = re.compile(r"[^\W\d_]+")
_GAP = re.compile(r"[ \u00a0-]+")
_SCALE = re.compile(rf"[ \u00a0]({any_of(lambda locale: locale.number.scale_words)})\b")
_FIRST_FROM_LIBRARY = 13
_LARGEST = 1000
_MAX_WORDS = 6
_LOOK_BACK = 24
_MIN_CLAIMED = 2
"""Words for 0 and 1 are mostly articles and pronouns."""


def word_numbers_in(text: str) -> Iterator[NumberMention]:
    """The numbers from 2 that a text writes as words, the longest match at each place."""
    names = _names()
    words = list(_WORD.finditer(text))
    at = 0
    while at < len(words):
        length, value = _longest(words[at : at + _MAX_WORDS], text, names)
        if value is not None and value >= _MIN_CLAIMED:
            start, end = words[at].start(), words[at + length - 1].end()
            number, scale = Decimal(value), _scale_after(text[end:])
            step = Decimal(scale) if scale > 1 else Decimal(0)
            before = text[max(0, start - _LOOK_BACK) : start]
            yield NumberMention(text[start:end], start, end, tuple(intervals(number * scale, step, before)))
        at += max(1, length)


def _scale_after(text: str) -> int:
    """The factor of a word such as "million" right after a number; 1 without one."""
    match = _SCALE.match(text)
    return 10 ** next(zeros for begin, zeros in SCALES if match[1].casefold().startswith(begin)) if match else 1


def _longest(words: list[re.Match[str]], text: str, names: Mapping[str, int]) -> tuple[int, int | None]:
    """How many of the first words name one number, and that number."""
    if words[0][0].casefold() not in _first_words():
        return 1, None
    found: tuple[int, int | None] = (1, None)
    phrase = ""
    for length, word in enumerate(words, 1):
        if length > 1 and not _GAP.fullmatch(text[words[length - 2].end() : word.start()]):
            break
        phrase = f"{phrase} {word[0].casefold()}".strip()
        if phrase in names:
            found = length, names[phrase]
    return found


@cache
def _first_words() -> frozenset[str]:
    return frozenset(name.partition(" ")[0] for name in _names())


@cache
def _names() -> Mapping[str, int]:
    """All names of numbers in all languages, in lower case, with spaces instead of hyphens."""
    from num2words import num2words

    names: dict[str, int] = {}
    for locale in LOCALES:
        for number in range(_FIRST_FROM_LIBRARY, _LARGEST + 1):
            name = _GAP.sub(" ", num2words(number, lang=locale.code).casefold())
            names[name] = number
            names.setdefault(name.replace(" and ", " "), number)
        for tens, unit in product(range(20, 100, 10), range(1, 10)) if locale.number.inverted_by else ():
            for form in locale.number.names[unit].split():
                ten = num2words(tens, lang=locale.code)
                names.setdefault(f"{form}{locale.number.inverted_by}{ten}".casefold(), tens + unit)
        for number, forms in enumerate(locale.number.names):
            for form in forms.split():
                if form not in locale.number.pronouns.split():
                    names.setdefault(form, number)
    return names
