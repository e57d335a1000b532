"""Plan a call from what its probe found: strategy, page size, chunks. Pure; calls and dry runs share it.

Also builds the events that report a probe and a plan.
"""

from dataclasses import dataclass

from adapters.base import Pagination, ToolSpec
from adapters.pagination import Certainty
from adapters.pagination.probe.probe import ProbeMethod, ProbeResult
from runax_cli.core.event_types import CallProbed, ChunkingPlanned, PagingDetected
from runax_cli.core.results import TotalIs
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.strategy import (
    ChunkForecast,
    ResultSize,
    SizeEstimate,
    StrategyChoice,
    capped_records,
    choose,
    forecast,
    page_size,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """Limits of a plan in tokens, and whether an SQL engine is available (`can_compute`).

    `direct_limit`: tokens of records that may reach the main model as they are. `chunk_tokens`: tokens of records in
    one reducer request.
    """

    direct_limit: int
    chunk_tokens: int
    can_compute: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlan:
    """How a call is going to read its records. `page_size` is None if the tool has no such parameter."""

    estimate: SizeEstimate
    choice: StrategyChoice
    page_size: int | None
    at_most: int | None
    limits: PlanLimits

    @property
    def forecast(self) -> ChunkForecast:
        """The expected pages and chunks."""
        return forecast(
            self.estimate, chunk_tokens=self.limits.chunk_tokens, page_size=self.page_size, at_most=self.at_most
        )


def plan_call(
    call: DecidedCall, pagination: Pagination, *, size: ResultSize, estimate: SizeEstimate, limits: PlanLimits
) -> CallPlan:
    """Plan a call. `size` is the expected result; `estimate`, in bound tokens, sizes its pages and chunks."""
    return CallPlan(
        estimate=estimate,
        choice=choose_strategy(call, size, limits),
        page_size=page_size(pagination, estimate, chunk_tokens=limits.chunk_tokens, at_most=call.at_most),
        at_most=call.at_most,
        limits=limits,
    )


def choose_strategy(call: DecidedCall, size: ResultSize, limits: PlanLimits) -> StrategyChoice:
    """Choose the strategy of a call for a result of this size."""
    return choose(
        size,
        call.need,
        direct_limit=limits.direct_limit,
        chunk_tokens=limits.chunk_tokens,
        can_compute=limits.can_compute,
    )


def expected_size(estimate: SizeEstimate, *, at_most: int | None) -> ResultSize:
    """Return the expected size of a result. An announced total of zero is unknown until a page was fetched."""
    per_record, records = estimate.tokens_per_record, capped_records(estimate.records or None, at_most)
    tokens = None if per_record is None or records is None else int(per_record * records) + 1
    return ResultSize(records=records, tokens=tokens)


def is_surely_empty(probe: ProbeResult) -> bool:
    """Whether a page was fetched and had no records. A total of zero from metadata alone is checked by a page."""
    return probe.total == 0 and probe.certainty is Certainty.EXACT and probe.method is not ProbeMethod.METADATA


def counted_total(probe: ProbeResult, *, n_first: int) -> int | None:
    """Return the exact total that the source announced; None if there is none, so that records must be fetched.

    `n_first`: records of the first page. A total that is not larger may be the length of that page.
    """
    if probe.total is None or probe.certainty is not Certainty.EXACT:
        return None
    return probe.total if probe.total > max(n_first, len(probe.sample)) else None


def is_full_smallest_page(probe: ProbeResult) -> bool:
    """Whether the probe's page is as full as the smallest page size.

    Such a page is not used as the first page: if there are more records than announced, all pages would have its size.
    """
    first = probe.first
    if first is None or first.size is None or probe.method is not ProbeMethod.SMALLEST_PAGE:
        return False
    return len(first.reading.records) >= first.size and first.reading.has_more is not False


def paging_event(tool: ToolSpec, pagination: Pagination) -> PagingDetected:
    """Build the event that reports how a tool is paged."""
    return PagingDetected(
        tool=tool.name,
        convention=pagination.convention.value,
        hidden=pagination.hidden,
        has_metadata=pagination.metadata is not None,
    )


def probe_event(tool: ToolSpec, probe: ProbeResult, *, tokens: int | None) -> CallProbed:
    """Build the event that reports a probe; `tokens` are estimated for all records."""
    return CallProbed(
        tool=tool.name,
        total_items=probe.total,
        total_is=TotalIs(probe.certainty.value),
        total_tokens_est=tokens,
        rung=probe.method.value,
        records_path=probe.records_path,
    )


def chunking_event(plan: CallPlan) -> ChunkingPlanned:
    """Build the event that reports the expected pages and chunks."""
    expected = plan.forecast
    return ChunkingPlanned(
        budget_tokens=plan.limits.chunk_tokens,
        avg_tokens_per_item=round(expected.tokens_per_record, 1),
        items_per_chunk=expected.records_per_chunk,
        page_size=expected.page_size,
        pages=expected.pages,
        chunks=expected.chunks,
        is_corrected=plan.estimate.is_corrected,
    )
