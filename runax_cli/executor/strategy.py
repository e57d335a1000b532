"""Choose how the records of a call reach the model, and size its pages. Pure functions of sizes.

`choose` decides between passing records as they are, reducing them in chunks, and offering them as an SQL table.
"""

import math
import re
from dataclasses import dataclass, replace
from enum import StrEnum

from adapters.base import Pagination, PaginationStyle
from runax_cli.core.results import counted
from runax_cli.executor.outcome import Need

COUNTED_BY_EYE = 20
"""Up to this many records may be passed as they are although figures are needed: a model can count them itself."""
PASSED_FOR_FIGURES = 1000
"""Such records may have at most this many tokens. Beyond that the table card is shorter, and SQL computes the figure
in either case."""


class Strategy(StrEnum):
    """How the records of a call reach the model."""

    EMPTY = "empty"
    DIRECT_PASS = "direct_pass"  # noqa: S105 - no password
    SINGLE_REDUCTION = "single_reduction"
    PAGINATED_REDUCTION = "paginated_reduction"
    TABLE = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSize:
    """Records and tokens of a result. None means unknown, never zero.

    `is_estimate` is False once every record was counted.
    """

    records: int | None
    tokens: int | None
    is_estimate: bool = True

    def __str__(self) -> str:
        about = "about " if self.is_estimate else ""
        records = "unknown number of records" if self.records is None else counted(self.records, "record")
        tokens = "unknown size" if self.tokens is None else f"{about}{counted(self.tokens, 'token')}"
        return f"{records}, {tokens}"


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """A strategy and the reason for it."""

    strategy: Strategy
    why: str


def choose(
    size: ResultSize, need: Need, *, direct_limit: int, chunk_tokens: int, can_compute: bool = True
) -> StrategyChoice:
    """Choose the strategy for a size and a need. `direct_limit` and `chunk_tokens` are tokens.

    Without an SQL engine (`can_compute` is False) records that need figures are reduced instead.
    """
    if size.records == 0:
        return StrategyChoice(Strategy.EMPTY, "there are no records")
    if size.tokens is not None and size.tokens <= direct_limit and _may_pass(size, need):
        return StrategyChoice(Strategy.DIRECT_PASS, f"{size}: fits the direct limit of {direct_limit:,} tokens")
    if need == "compute" and can_compute:
        return StrategyChoice(Strategy.TABLE, f"{size}: figures are computed with SQL")
    note = "; no SQL engine is available, so the records are read" if need == "compute" else ""
    if size.tokens is None:
        return StrategyChoice(Strategy.PAGINATED_REDUCTION, f"{size}: read page by page{note}")
    if size.tokens <= chunk_tokens:
        return StrategyChoice(Strategy.SINGLE_REDUCTION, f"{size}: fits one chunk of {chunk_tokens:,} tokens{note}")
    return StrategyChoice(Strategy.PAGINATED_REDUCTION, f"{size}: more than one chunk of {chunk_tokens:,} tokens{note}")


def reduction_choice(size: ResultSize, *, chunks: int) -> StrategyChoice:
    """Return the strategy of a reduction that took `chunks`."""
    strategy = Strategy.SINGLE_REDUCTION if chunks == 1 else Strategy.PAGINATED_REDUCTION
    return StrategyChoice(strategy, f"{size}: read in {counted(chunks, 'chunk')}")


def _may_pass(size: ResultSize, need: Need) -> bool:
    if need == "read" or size.records == 1:
        return True
    is_short = size.tokens is not None and size.tokens <= PASSED_FOR_FIGURES
    return is_short and size.records is not None and size.records <= COUNTED_BY_EYE


HEADROOM_BEFORE = 0.9
"""Share of a chunk that a page should fill while the estimate is based on the probe alone."""
TOKENS_PER_BYTE = 0.35
"""Tokens per byte of JSON before anything was counted."""
UNKNOWN_CAP = 500
"""The largest page that is requested if the document states no maximum."""
MODEST_SIZE = 100
"""The page size that is requested after a server refused a larger one."""
_USUAL_SIZES = (MODEST_SIZE, 50, 25, 10)
_MIN_STATED_CAP = 5
_STATED_CAP = re.compile(
    r"(?:\bmax(?:imum|imal\w*)?|\bmost|\bexceed\w*|\bup to|\b(?:more|greater|larger|less|fewer) than|\bequal to"
    r"|\bbetween \d+ (?:and|to)|\blimit(?:ed)? (?:to|is|of)|\bl(?:e|te)\b|<=|\u2264)"
    r"\W{0,12}(?:[a-z_]+\W{1,3}){0,3}?(\d{1,5})(?!\d)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\d.])\d{1,5}(?![\d.]*\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeEstimate:
    """The estimated size of all records of a call.

    `tokens_per_byte` counts bound tokens (the upper bound that chunks are packed by). `is_corrected` is True once a
    page was measured.
    """

    records: int | None
    bytes_per_record: float | None
    tokens_per_byte: float
    announced_tokens: int | None = None
    is_corrected: bool = False

    @property
    def tokens_per_record(self) -> float | None:
        """From a measured page, else from the size that the API announces, else from the probe's sample."""
        if self.announced_tokens is not None and self.records and not self.is_corrected:
            return self.announced_tokens / self.records
        return None if self.bytes_per_record is None else self.bytes_per_record * self.tokens_per_byte

    @property
    def tokens(self) -> int | None:
        """Tokens of all records together; None if unknown."""
        if self.records is None or self.tokens_per_record is None:
            return None
        return math.ceil(self.records * self.tokens_per_record)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkForecast:
    """The expected pages and chunks of a call; None if the total is unknown."""

    tokens_per_record: float
    records_per_chunk: int
    page_size: int | None
    pages: int | None
    chunks: int | None


def correct_estimate(estimate: SizeEstimate, *, records: int, n_bytes: int, tokens: int) -> SizeEstimate:
    """Correct an estimate by a measured page of `records`, which has `n_bytes` and `tokens` (bound)."""
    if records == 0 or n_bytes == 0:
        return estimate
    return replace(estimate, bytes_per_record=n_bytes / records, tokens_per_byte=tokens / n_bytes, is_corrected=True)


def page_size(pagination: Pagination, estimate: SizeEstimate, *, chunk_tokens: int, at_most: int | None) -> int | None:
    """Return how many records to request per page: about a chunk, within the API's cap.

    None if the tool has no page size parameter.
    """
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
    return _listed_size(pagination, max(pagination.min_size or 1, min(wanted, cap), 1))


def legal_size(pagination: Pagination, wanted: int) -> int:
    """Return the smallest permitted page size that is not below `wanted`, or the largest one if all are below it."""
    if pagination.sizes:
        return next((size for size in pagination.sizes if size >= wanted), pagination.sizes[-1])
    return max(wanted, pagination.min_size or 1)


def modest_size(pagination: Pagination, refused: int | None, *, said: str = "") -> int | None:
    """Return a smaller page size after `refused` was too large: the cap that the refusal states, else a usual size.

    `said` is the text of the refusal. None if no smaller size is left.
    """
    default = pagination.default_size or MODEST_SIZE
    usual = [size for size in (*_USUAL_SIZES, default) if refused is not None and size < refused]
    modest = stated_cap(said, below=refused) or max(usual, default=None)
    return None if modest is None else _listed_size(pagination, max(modest, pagination.min_size or 1))


def stated_cap(said: str, *, below: int | None) -> int | None:
    """Return the maximum that the text of a refusal states.

    If no number is stated as a maximum, the only number below the refused size counts.
    """
    if below is None:
        return None
    stated = {int(match) for match in _STATED_CAP.findall(said)} & set(range(1, below))
    if stated:
        return max(stated)
    numbers = {int(match) for match in _NUMBER.findall(said)} & set(range(_MIN_STATED_CAP, below))
    return numbers.pop() if len(numbers) == 1 else None


def _listed_size(pagination: Pagination, wanted: int) -> int:
    """Return the largest size that the document lists and that is not above `wanted`."""
    if not pagination.sizes:
        return wanted
    return max((size for size in pagination.sizes if size <= wanted), default=pagination.sizes[0])


def forecast(estimate: SizeEstimate, *, chunk_tokens: int, page_size: int | None, at_most: int | None) -> ChunkForecast:
    """Forecast the pages and chunks of a call."""
    per_record = estimate.tokens_per_record or 0.0
    records = capped_records(estimate.records, at_most)
    tokens = None if records is None or not per_record else records * per_record
    return ChunkForecast(
        tokens_per_record=per_record,
        records_per_chunk=max(1, int(chunk_tokens / per_record)) if per_record else 1,
        page_size=page_size,
        pages=None if records is None or not page_size else max(1, math.ceil(records / page_size)),
        chunks=None if tokens is None or chunk_tokens <= 0 else max(1, math.ceil(tokens / chunk_tokens)),
    )


def capped_records(records: int | None, at_most: int | None) -> int | None:
    """Return the smaller of a total and the number of records that suffice; None if the total is unknown."""
    if records is None:
        return None
    return records if at_most is None else min(records, at_most)
