"""The arithmetic of forecasts: it adds up, grows with the data, and reports unknown sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.agent.forecast import (
    ANSWER_TOKENS,
    FINDINGS_TOKENS,
    ExpectedCall,
    TokenEstimate,
    TokenForecast,
    duration_range,
    forecast_tokens,
    range_around,
    reducer_tokens,
    relative_error,
    result_tokens,
    total_price,
)
from runax_cli.executor.strategy import Strategy
from runax_cli.settings.settings import ReviewMode

EFFECTIVE = 32_768
amounts = st.integers(min_value=0, max_value=10**7)
steps = st.lists(st.builds(TokenEstimate, amounts, amounts, st.just(1)), max_size=4)
aheads = st.builds(
    ExpectedCall,
    strategy=st.sampled_from(Strategy),
    records=st.none() | amounts,
    tokens=st.none() | amounts,
    chunks=st.none() | st.integers(min_value=0, max_value=500),
    overhead=st.integers(min_value=0, max_value=2000),
)


def ahead(
    strategy: Strategy, *, records: int = 100, tokens: int = 5000, chunks: int = 3, overhead: int = 600
) -> ExpectedCall:
    return ExpectedCall(strategy=strategy, records=records, tokens=tokens, chunks=chunks, overhead=overhead)


@given(steps, st.lists(aheads, max_size=3), amounts)
def test_a_part_takes_no_less_than_what_it_took_already(
    made: list[TokenEstimate], calls: list[ExpectedCall], to_come: int
) -> None:
    told = forecast_tokens(made, calls, effective_tokens=EFFECTIVE, data_tool_tokens=to_come)
    assert told.agent.total >= sum(step.total for step in made)
    assert told.agent.requests >= len(made) + (1 if calls else 0)
    assert told.total == told.agent.total + told.reducer.total


@given(steps, st.lists(aheads, max_size=3), aheads)
def test_one_call_more_never_takes_less(
    made: list[TokenEstimate], calls: list[ExpectedCall], more: ExpectedCall
) -> None:
    before = forecast_tokens(made, calls, effective_tokens=EFFECTIVE)
    after = forecast_tokens(made, [*calls, more], effective_tokens=EFFECTIVE)
    assert after.total >= before.total
    assert after.is_known <= before.is_known or not calls


@given(aheads, amounts)
def test_more_records_never_take_less(call: ExpectedCall, more: int) -> None:
    larger = ExpectedCall(
        strategy=call.strategy,
        records=(call.records or 0) + more,
        tokens=(call.tokens or 0) + more,
        chunks=call.chunks,
        overhead=call.overhead,
    )
    assert reducer_tokens(larger).total >= reducer_tokens(call).total
    assert result_tokens(larger, effective_tokens=EFFECTIVE) >= result_tokens(call, effective_tokens=EFFECTIVE)


@given(steps, st.lists(aheads, max_size=3), st.sampled_from(["auto", "always"]))
def test_a_review_is_one_request_more_and_adds_to_the_total(
    made: list[TokenEstimate], calls: list[ExpectedCall], mode: ReviewMode
) -> None:
    without = forecast_tokens(made, calls, effective_tokens=EFFECTIVE)
    told = forecast_tokens(made, calls, effective_tokens=EFFECTIVE, review=mode)
    assert without.reviewer == TokenEstimate()
    assert (told.agent, told.reducer) == (without.agent, without.reducer)
    assert told.total == without.total + told.reviewer.total
    assert told.reviewer.requests <= 1


@pytest.mark.parametrize(
    ("strategy", "mode", "requests"),
    [
        (Strategy.PAGINATED_REDUCTION, "auto", 1),
        (Strategy.DIRECT_PASS, "auto", 1),
        (Strategy.TABLE, "auto", 0),
        (Strategy.TABLE, "always", 1),
        (Strategy.EMPTY, "auto", 0),
        (Strategy.DIRECT_PASS, "never", 0),
    ],
)
def test_a_review_is_expected_where_a_model_reads_records(strategy: Strategy, mode: ReviewMode, requests: int) -> None:
    told = forecast_tokens([], [ahead(strategy)], effective_tokens=EFFECTIVE, review=mode)
    assert told.reviewer.requests == requests
    assert (told.reviewer.input > 700) == bool(requests)


@pytest.mark.parametrize("strategy", [Strategy.EMPTY, Strategy.DIRECT_PASS, Strategy.TABLE])
def test_only_reductions_ask_readers(strategy: Strategy) -> None:
    assert reducer_tokens(ahead(strategy)) == TokenEstimate()


def test_readers_read_every_record_and_their_prompt_for_each_chunk() -> None:
    read = reducer_tokens(ahead(Strategy.PAGINATED_REDUCTION))
    assert read == TokenEstimate(4500 + 450 + 3 * 600, 3 * FINDINGS_TOKENS, 3)


def test_a_table_is_the_same_for_a_thousand_and_for_a_million_records() -> None:
    small = forecast_tokens([TokenEstimate(2000, 50, 1)], [ahead(Strategy.TABLE)], effective_tokens=EFFECTIVE)
    large = forecast_tokens(
        [TokenEstimate(2000, 50, 1)],
        [ahead(Strategy.TABLE, records=10**6, tokens=10**9, chunks=40_000)],
        effective_tokens=EFFECTIVE,
    )
    assert small == large
    assert small.agent.requests == 3


def test_a_part_without_calls_ahead_had_its_last_step() -> None:
    assert forecast_tokens([TokenEstimate(10, 2, 1)], [], effective_tokens=EFFECTIVE).agent == TokenEstimate(10, 2, 1)


def test_a_later_step_sends_again_what_was_said_before() -> None:
    told = forecast_tokens([TokenEstimate(1000, 50, 1)], [ahead(Strategy.EMPTY)], effective_tokens=EFFECTIVE)
    assert told.agent == TokenEstimate(1000 + 1050 + 150, 50 + ANSWER_TOKENS, 2)


def test_figures_over_a_few_records_are_queried_too() -> None:
    read = ExpectedCall(strategy=Strategy.DIRECT_PASS, records=5, tokens=100, chunks=1)
    computed = ExpectedCall(strategy=Strategy.DIRECT_PASS, records=5, tokens=100, chunks=1, is_computed=True)
    requests = [forecast_tokens([], [call], effective_tokens=EFFECTIVE).agent.requests for call in (read, computed)]
    assert requests == [1, 2]


def test_tools_over_datasets_are_offered_only_where_there_will_be_one() -> None:
    nothing = forecast_tokens([], [ahead(Strategy.EMPTY)], effective_tokens=EFFECTIVE, data_tool_tokens=500)
    assert nothing == forecast_tokens([], [ahead(Strategy.EMPTY)], effective_tokens=EFFECTIVE)
    table = forecast_tokens([], [ahead(Strategy.TABLE)], effective_tokens=EFFECTIVE, data_tool_tokens=500)
    assert table.total - forecast_tokens([], [ahead(Strategy.TABLE)], effective_tokens=EFFECTIVE).total == 1000


def test_an_unknown_size_is_told_and_has_no_upper_end() -> None:
    call = ExpectedCall(strategy=Strategy.PAGINATED_REDUCTION, records=None, tokens=None, chunks=None)
    assert not forecast_tokens([], [call], effective_tokens=EFFECTIVE).is_known
    assert range_around(100, is_known=False).high is None


@given(st.floats(min_value=0, max_value=1e9))
def test_a_range_holds_what_is_expected(expected: float) -> None:
    spread = range_around(expected)
    assert spread.high is not None
    assert spread.low <= expected <= spread.high


def test_a_price_is_unknown_as_soon_as_one_is() -> None:
    used, unused = TokenEstimate(100, 10, 1), TokenEstimate()
    assert total_price([(used, lambda tokens: tokens.total / 100), (used, lambda _: 0.5)]) == pytest.approx(1.6)
    assert total_price([(used, lambda _: 1.0), (used, lambda _: None)]) is None
    assert total_price([(used, lambda _: 1.0), (unused, lambda _: None)]) == 1.0


@given(st.integers(min_value=1, max_value=50), st.integers(min_value=0, max_value=500))
def test_what_runs_at_the_same_time_takes_no_longer_one_by_one(at_once: int, chunks: int) -> None:
    part = TokenForecast(agent=TokenEstimate(1, 1, 2), reducer=TokenEstimate(1, 1, chunks))
    figures = {"requests": 40, "request_s": 0.1, "model_s": 2.0}
    many = duration_range([part], **figures, api_concurrency=at_once, model_concurrency=at_once)
    one = duration_range([part], **figures, api_concurrency=1, model_concurrency=1)
    assert many.high is not None
    assert one.high is not None
    assert many.high <= one.high
    assert many.low <= many.high


def test_how_far_a_forecast_was_off_is_a_share_of_what_was_used() -> None:
    assert relative_error(forecast=110, used=100) == pytest.approx(0.1)
    assert relative_error(forecast=110, used=0) is None
