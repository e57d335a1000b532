"""The strategy: how a call's result reaches the model, as a pure function of sizes.

Knows the table of strategies and its limits. Knows no page, no request, no prompt.
"""

from dataclasses import dataclass
from enum import StrEnum

from runax_cli.executor.outcome import Need

COUNTED_BY_EYE = 20
"""So many records may be passed on as they are although figures are needed: a model can look them over."""
PASSED_FOR_FIGURES = 1000
"""And so many tokens: from there on the card of the table costs less, and SQL computes the figure in either case."""


class Strategy(StrEnum):
    """How a call's result reaches the model."""

    EMPTY = "empty"
    DIRECT_PASS = "direct_pass"  # noqa: S105 - no password
    SINGLE_REDUCTION = "single_reduction"
    PAGINATED_REDUCTION = "paginated_reduction"
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much there is. None is unknown, and never zero. `is_estimate` is False once every record was counted."""

    records: int | None
    tokens: int | None
    is_estimate: bool = True

    def __str__(self) -> str:
        about = "about " if self.is_estimate else ""
        records = "records of unknown number" if self.records is None else f"{self.records:,} records"
        return f"{records}, {'size unknown' if self.tokens is None else f'{about}{self.tokens:,} tokens'}"


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy, and why in words."""

    strategy: Strategy
    why: str


def choose(size: Size, need: Need, *, direct_limit: int, chunk_tokens: int) -> Choice:
    """The strategy for a size and a need; `direct_limit` and `chunk_tokens` are tokens."""
    if size.records == 0:
        return Choice(Strategy.EMPTY, "there is no record")
    if size.tokens is not None and size.tokens <= direct_limit and _may_pass(size, need):
        return Choice(Strategy.DIRECT_PASS, f"{size}: fits the direct limit of {direct_limit:,} tokens")
    if need == "compute":
        return Choice(Strategy.TABLE, f"{size}: figures are computed and not read")
    if size.tokens is None:
        return Choice(Strategy.PAGINATED_REDUCTION, f"{size}: read as they come")
    if size.tokens <= chunk_tokens:
        return Choice(Strategy.SINGLE_REDUCTION, f"{size}: fits one chunk of {chunk_tokens:,} tokens")
    return Choice(Strategy.PAGINATED_REDUCTION, f"{size}: more than one chunk of {chunk_tokens:,} tokens")


def _may_pass(size: Size, need: Need) -> bool:
    if need == "read" or size.records == 1:
        return True
    is_short = size.tokens is not None and size.tokens <= PASSED_FOR_FIGURES
    return is_short and size.records is not None and size.records <= COUNTED_BY_EYE
