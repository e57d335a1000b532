"""A run is compared with the forecast of its probes, made before a page was read."""

from typing import Any

from runax_cli.agent.forecast import (
    REDUCER_OVERHEAD_TOKENS,
    ExpectedCall,
    ForecastTracker,
    TokenEstimate,
    forecast_tokens,
)
from runax_cli.core.event_types import CallProbed, ChunkingPlanned, ModelReplied, StrategyChosen
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.core.results import TotalIs, UsageReport
from runax_cli.executor.strategy import Strategy

EFFECTIVE = 32_768


def replied(tokens_in: int, tokens_out: int) -> ModelReplied:
    return ModelReplied(
        model="m",
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        cost_usd=0.0,
        duration_s=0.1,
        first_token_s=None,
        preview="",
    )


def probed(items: int | None, tokens: int | None) -> CallProbed:
    return CallProbed(
        tool="t", total_items=items, total_is=TotalIs.EXACT, total_tokens_est=tokens, rung="metadata", records_path=""
    )


def chunking(chunks: int, *, is_corrected: bool = False) -> ChunkingPlanned:
    return ChunkingPlanned(
        budget_tokens=28_000,
        avg_tokens_per_item=10,
        items_per_chunk=100,
        page_size=10,
        pages=10,
        chunks=chunks,
        is_corrected=is_corrected,
    )


def heard(*bodies: tuple[Any, str | None]) -> ForecastTracker:
    foretold = ForecastTracker(CollectingSink())
    root = Emitter.for_run(foretold, run_id="r", session_id="s")
    for body, role in bodies:
        (root.child(role=role) if role else root.child(call_id="c1")).emit(body)
    return foretold


def used(tokens: int) -> UsageReport:
    return UsageReport(input_tokens=tokens)


def test_the_first_figures_of_a_call_count_and_corrections_do_not() -> None:
    reduction = StrategyChosen(strategy="paginated_reduction", why="")
    foretold = heard(
        (replied(2000, 40), "agent"),
        (probed(100, 50_000), None),
        (reduction, None),
        (chunking(2), None),
        (chunking(9, is_corrected=True), None),
        (StrategyChosen(strategy="direct_pass", why=""), None),
        (replied(60_000, 400), "reducer"),
        (replied(2800, 90), "agent"),
    )
    call = ExpectedCall(
        strategy=Strategy.PAGINATED_REDUCTION, records=100, tokens=50_000, chunks=2, overhead=REDUCER_OVERHEAD_TOKENS
    )
    expected = forecast_tokens([TokenEstimate(2000, 40, 1)], [call], effective_tokens=EFFECTIVE).total
    check = foretold.check(used(expected * 2), effective_tokens=EFFECTIVE, data_tool_tokens=0)
    assert check is not None
    assert (check.tokens_forecast, check.tokens_used, check.off_by) == (expected, expected * 2, -0.5)


def test_the_planner_counts_as_what_it_took() -> None:
    table = (StrategyChosen(strategy="table", why=""), None)
    with_planner = heard((replied(700, 50), "planner"), (replied(2000, 40), "agent"), (probed(9, 900), None), table)
    without = heard((replied(2000, 40), "agent"), (probed(9, 900), None), table)
    both = [told.check(used(1000), effective_tokens=EFFECTIVE, data_tool_tokens=0) for told in (with_planner, without)]
    assert both[0] is not None
    assert both[1] is not None
    assert both[0].tokens_forecast - both[1].tokens_forecast == 750


def test_a_run_without_a_probe_has_nothing_to_be_held_against() -> None:
    foretold = heard((replied(2000, 40), "agent"))
    assert foretold.check(used(2040), effective_tokens=EFFECTIVE, data_tool_tokens=0) is None


def test_every_event_is_handed_on() -> None:
    foretold = heard((replied(2000, 40), "agent"), (probed(None, None), None))
    assert isinstance(foretold.to, CollectingSink)
    assert [event.body.type for event in foretold.to.events] == ["model.replied", "call.probed"]
