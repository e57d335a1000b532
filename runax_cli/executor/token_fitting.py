"""Fit lists and texts into a token budget. Pure: weights and token counts are handed in."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

CountTokens: TypeAlias = Callable[[str], int]


def pack(weights: Sequence[int], *, budget: int, max_items: int | None = None) -> list[range]:
    """Group consecutive positions so that the weights of each group sum up to at most `budget`.

    A position that is heavier than the budget gets its own group.
    """
    groups: list[range] = []
    start, used = 0, 0
    for at, weight in enumerate(weights):
        if at > start and (used + weight > budget or at - start == max_items):
            groups.append(range(start, at))
            start, used = at, 0
        used += weight
    return [*groups, range(start, len(weights))] if weights else []


def prefix_within(weights: Sequence[int], *, budget: int) -> int:
    """Return how many of the first positions fit into `budget` together."""
    used = 0
    for at, weight in enumerate(weights):
        used += weight
        if used > budget:
            return at
    return len(weights)


def largest_fitting(upper: int, fits: Callable[[int], bool]) -> int:
    """Return the largest n up to `upper` for which `fits(n)` is true, by binary search; 0 if there is none.

    `fits` must be monotonic: if it holds for n, it holds for every smaller number.
    """
    low, high = 0, upper
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def truncate(text: str, limit: int) -> str:
    """Return `text` in at most `limit` characters, with an ellipsis at the end if it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def truncate_tokens(text: str, count: CountTokens, *, max_tokens: int) -> str:
    """Return the beginning of `text` within `max_tokens`.

    The text is shortened by a fifth at a time: an exact cut would need the tokens themselves.
    """
    while text and count(text) > max_tokens:
        text = text[: len(text) * 4 // 5]
    return text


def truncate_middle(text: str, count: CountTokens, *, max_tokens: int) -> str:
    """Return `text`, or its beginning and end with an ellipsis between them if it has more than `max_tokens`."""
    half = len(text)
    shortened = text
    while count(shortened) > max_tokens and half > 1:
        half = min(half // 2, max_tokens)
        shortened = f"{text[:half]} … {text[-half:]}"
    return shortened
