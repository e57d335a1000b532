"""The strategy: how a call's result reaches the model, as a pure function of sizes.

Knows the table of strategies and its limits. Knows no page, no request, no prompt.
"""

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from adapters.base import Pagination, PaginationStyle
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
class ResultSize:
    """How much there is. None is unknown, and never zero. `is_estimate` is False once every record was counted."""

    records: int | None
    tokens: int | None
    is_estimate: bool = True

    def __str__(self) -> str:
        about = "about " if self.is_estimate else ""
        records = "records of unknown number" if self.records is None else f"{self.records:,} records"
        return f"{records}, {'size unknown' if self.tokens is None else f'{about}{self.tokens:,} tokens'}"


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """A strategy, and why in words."""

    strategy: Strategy
    why: str


def choose(size: ResultSize, need: Need, *, direct_limit: int, chunk_tokens: int) -> StrategyChoice:
    """The strategy for a size and a need; `direct_limit` and `chunk_tokens` are tokens."""
    if size.records == 0:
        return StrategyChoice(Strategy.EMPTY, "there is no record")
    if size.tokens is not None and size.tokens <= direct_limit and _may_pass(size, need):
        return StrategyChoice(Strategy.DIRECT_PASS, f"{size}: fits the direct limit of {direct_limit:,} tokens")
    if need == "compute":
        return StrategyChoice(Strategy.TABLE, f"{size}: figures are computed and not read")
    if size.tokens is None:
        return StrategyChoice(Strategy.PAGINATED_REDUCTION, f"{size}: read as they come")
    if size.tokens <= chunk_tokens:
        return StrategyChoice(Strategy.SINGLE_REDUCTION, f"{size}: fits one chunk of {chunk_tokens:,} tokens")
    return StrategyChoice(Strategy.PAGINATED_REDUCTION, f"{size}: more than one chunk of {chunk_tokens:,} tokens")


def _may_pass(size: ResultSize, need: Need) -> bool:
    if need == "read" or size.records == 1:
        return True
    is_short = size.tokens is not None and size.tokens <= PASSED_FOR_FIGURES
    return is_short and size.records is not None and size.records <= COUNTED_BY_EYE


HEADROOM_BEFORE = 0.9
"""How much of a chunk a page is to fill while the estimate rests on the probe alone."""
TOKENS_PER_BYTE = 0.35
"""For JSON, where nothing was counted yet."""
UNKNOWN_CAP = 500
"""The largest page that is asked for where the document names no maximum."""
MODEST_SIZE = 100
"""What is asked for after a server refused a larger page."""
_USUAL_SIZES = (MODEST_SIZE, 50, 25, 10)
_LEAST_CAP = 5
_STATED_CAP = re.compile(
    r"(?:\bmax(?:imum|imal\w*)?|\bmost|\bexceed\w*|\bup to|\b(?:more|greater|larger|less|fewer) than|\bequal to"
    r"|\bbetween \d+ (?:and|to)|\blimit(?:ed)? (?:to|is|of)|\bl(?:e|te)\b|<=|\u2264)"
    r"\W{0,12}(?:[a-z_]+\W{1,3}){0,3}?(\d{1,5})(?!\d)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\d.])\d{1,5}(?![\d.]*\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeEstimate:
    """What is thought to be behind a call. `tokens_per_byte` is in bound tokens, as chunks are packed."""

    records: int | None
    bytes_per_record: float | None
    tokens_per_byte: float
    announced_tokens: int | None = None
    is_corrected: bool = False

    @property
    def tokens_per_record(self) -> float | None:
        """From a real page, else from what the API announces, else from the probe's sample; None where none tells."""
        if self.announced_tokens is not None and self.records and not self.is_corrected:
            return self.announced_tokens / self.records
        return None if self.bytes_per_record is None else self.bytes_per_record * self.tokens_per_byte

    @property
    def tokens(self) -> int | None:
        """All records together."""
        if self.records is None or self.tokens_per_record is None:
            return None
        return math.ceil(self.records * self.tokens_per_record)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkForecast:
    """Pages and chunks to come; None where the total is unknown."""

    tokens_per_record: float
    records_per_chunk: int
    page_size: int | None
    pages: int | None
    chunks: int | None


def correct_estimate(estimate: SizeEstimate, *, records: int, n_bytes: int, tokens: int) -> SizeEstimate:
    """The estimate after a real page of `records`, which has `n_bytes` and `tokens` (bound)."""
    if records == 0 or n_bytes == 0:
        return estimate
    return replace(estimate, bytes_per_record=n_bytes / records, tokens_per_byte=tokens / n_bytes, is_corrected=True)


def page_size(pagination: Pagination, estimate: SizeEstimate, *, chunk_tokens: int, at_most: int | None) -> int | None:
    """Records to ask for in a page: about a chunk, within the API's cap; None where the tool has no size."""
    if pagination.size is None and pagination.convention is not PaginationStyle.RANGE:
        return None
    cap = pagination.max_size or max(UNKNOWN_CAP, pagination.default_size or 0)
    per_record = estimate.tokens_per_record
    wanted = (
        cap if per_record is None or chunk_tokens <= 0 else int(chunk_tokens * HEADROOM_BEFORE / max(per_record, 1.0))
    )
    if pagination.convention is PaginationStyle.SINGLE:
        wanted = cap
    if at_most is not None:
        wanted = min(wanted, at_most)
    return _listed(pagination, max(pagination.min_size or 1, min(wanted, cap), 1))


def legal_size(pagination: Pagination, wanted: int) -> int:
    """The smallest size that may be asked for and is not below `wanted`; the largest where there is none."""
    if pagination.sizes:
        return next((size for size in pagination.sizes if size >= wanted), pagination.sizes[-1])
    return max(wanted, pagination.min_size or 1)


def modest_size(pagination: Pagination, refused: int | None, *, said: str = "") -> int | None:
    """What to ask for where `refused` was too many: the cap that the refusal names in `said`, else a usual size.

    None where nothing smaller is left.
    """
    default = pagination.default_size or MODEST_SIZE
    usual = [size for size in (*_USUAL_SIZES, default) if refused is not None and size < refused]
    modest = stated_cap(said, below=refused) or max(usual, default=None)
    return None if modest is None else _listed(pagination, max(modest, pagination.min_size or 1))


def stated_cap(said: str, *, below: int | None) -> int | None:
    """The number that a refusal gives as the largest; without such words the only number it has below the refused."""
    if below is None:
        return None
    named = {int(found) for found in _STATED_CAP.findall(said)} & set(range(1, below))
    if named:
        return max(named)
    numbers = {int(found) for found in _NUMBER.findall(said)} & set(range(_LEAST_CAP, below))
    return numbers.pop() if len(numbers) == 1 else None


def _listed(pagination: Pagination, wanted: int) -> int:
    """The largest of the sizes that the document lists which is not above `wanted`."""
    if not pagination.sizes:
        return wanted
    return max((size for size in pagination.sizes if size <= wanted), default=pagination.sizes[0])


def forecast(estimate: SizeEstimate, *, chunk_tokens: int, page_size: int | None, at_most: int | None) -> ChunkForecast:
    """What is to come, for the log and for those who wait."""
    per_record = estimate.tokens_per_record or 0.0
    records = _wanted(estimate.records, at_most)
    tokens = None if records is None or not per_record else records * per_record
    return ChunkForecast(
        tokens_per_record=per_record,
        records_per_chunk=max(1, int(chunk_tokens / per_record)) if per_record else 1,
        page_size=page_size,
        pages=None if records is None or not page_size else max(1, math.ceil(records / page_size)),
        chunks=None if tokens is None or chunk_tokens <= 0 else max(1, math.ceil(tokens / chunk_tokens)),
    )


def _wanted(records: int | None, at_most: int | None) -> int | None:
    if records is None:
        return None
    return records if at_most is None else min(records, at_most)
