"""Plain arithmetic for gold answers: what Python's own library gives, and refusals where an answer is ambiguous.

Knows iterables. Deliberately knows nothing of DuckDB and of runax, whose results it is there to check.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from statistics import median as _median
from typing import TypeVar

Name = TypeVar("Name")


def mean(values: Iterable[float]) -> float:
    """The average, to two decimals."""
    listed = list(values)
    return round(sum(listed) / len(listed), 2)


def median(values: Iterable[float]) -> float:
    """The median."""
    return float(_median(values))


def percent(flags: Iterable[bool]) -> float:
    """Of how many per cent it is true, to two decimals."""
    listed = list(flags)
    return round(100 * sum(listed) / len(listed), 2)


def tally(values: Iterable[str]) -> list[tuple[str, int]]:
    """How often each value occurs."""
    return list(Counter(values).items())


def top(figures: Mapping[Name, float], k: int) -> list[tuple[Name, float]]:
    """The k largest with their names, largest first. Raises ValueError where a tie leaves the answer open."""
    ranked = sorted(figures.items(), key=lambda pair: -pair[1])
    values = [value for _, value in ranked[: k + 1]]
    if any(a - b <= 1e-9 * abs(a) for a, b in itertools.pairwise(values)):
        raise ValueError(f"the first {k} are not told apart: {ranked[: k + 1]}")
    return ranked[:k]


def count(values: Iterable[bool]) -> int:
    """How many are true."""
    return sum(map(bool, values))


def at(stamp: str) -> datetime:
    """An instant as the API writes it."""
    return datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
