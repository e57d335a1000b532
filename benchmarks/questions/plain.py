"""Plain arithmetic for gold answers with Python's standard library; ambiguous answers are rejected.

It uses neither DuckDB nor runax, since it checks their results.
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
    """The percentage of true values, to two decimals."""
    listed = list(flags)
    return round(100 * sum(listed) / len(listed), 2)


def tally(values: Iterable[str]) -> list[tuple[str, int]]:
    """How often each value occurs."""
    return list(Counter(values).items())


def top(figures: Mapping[Name, float], k: int) -> list[tuple[Name, float]]:
    """The k largest with their names, largest first. Raises ValueError if a tie makes the answer ambiguous."""
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
