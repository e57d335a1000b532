"""The history of a conversation: questions and final answers, nothing of the work between them.

Knows exchanges and how many of the latest fit a number of tokens. Knows no tool, no record and no counter of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its final answer."""

    question: str
    answer: str


class History:
    """The exchanges of one conversation, oldest first."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def add(self, question: str, answer: str) -> None:
        """Remember a turn. One that ended without an answer leaves nothing that a later turn could build on."""
        if answer.strip():
            self.exchanges.append(Exchange(question, answer))

    def latest(self, budget_tokens: int, *, measure: Callable[[str], int]) -> tuple[Exchange, ...]:
        """The latest exchanges that `measure` puts under the budget, whole and without a gap; oldest first."""
        kept: list[Exchange] = []
        left = budget_tokens
        for exchange in reversed(self.exchanges):
            left -= measure(exchange.question) + measure(exchange.answer)
            if left < 0:
                break
            kept.append(exchange)
        return tuple(reversed(kept))
