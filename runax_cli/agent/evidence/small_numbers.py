"""Small numbers in words: most count something, some only join or multiply."""

import re
from collections import Counter
from collections.abc import Sequence

from runax_cli.agent.evidence.figures import Figure, figures_in
from runax_cli.agent.evidence.support import (
    Support,
)
from runax_cli.agent.evidence.values import leaves
from runax_cli.agent.locales import any_of

_SMALL = 12
_PART_OF = re.compile(rf"\s+{any_of(lambda locale: locale.claim.part_of)}\s+", re.IGNORECASE)
_PART_OF_END = re.compile(rf"\s+{any_of(lambda locale: locale.claim.part_of)}\s+$", re.IGNORECASE)
_FACTOR = re.compile(rf"[\s-]?{any_of(lambda locale: locale.claim.times)}\b", re.IGNORECASE)


def without_factors(found: Sequence[Figure], text: str) -> tuple[Figure, ...]:
    """Drop small numbers in words that count nothing: "one in five", "two of three", "three times"."""
    return tuple(one for one in found if not (is_small_word(one) and _is_factor(one, text)))


def group_sizes(support: Support) -> frozenset[int]:
    """How many cited rows or records have the same value in a column."""
    sizes: set[int] = set()
    for query in support.queries:
        for at in range(len(query.columns)):
            sizes.update(Counter(str(row[at]) for row in query.rows).values())
    fields = Counter((name, str(value)) for cited in support.records for name, value in leaves(cited.record or {}))
    return frozenset((*sizes, *fields.values()))


def is_small_word(figure: Figure) -> bool:
    """Whether a figure is a small number in words."""
    return figure.is_word and figure.number is not None and figure.number.readings[0].low <= _SMALL


def _is_factor(figure: Figure, text: str) -> bool:
    """Whether a small number multiplies, or is part of a ratio of two small numbers."""
    after = text[figure.start + len(figure.text) :]
    before = text[: figure.start]
    others = [one for one in figures_in(text) if is_small_word(one) and one is not figure]
    is_part = (match := _PART_OF.match(after)) is not None and any(
        one.start == figure.start + len(figure.text) + match.end() for one in others
    )
    return _FACTOR.match(after) is not None or is_part or _PART_OF_END.search(before) is not None
