"""The strategy of a call, its page size and its forecast."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Pagination, PaginationStyle
from runax_cli.executor.strategy import (
    COUNTED_BY_EYE,
    PASSED_FOR_FIGURES,
    UNKNOWN_CAP,
    ResultSize,
    SizeEstimate,
    Strategy,
    choose,
    correct_estimate,
    forecast,
    modest_size,
    page_size,
    reduction_choice,
)


@pytest.mark.parametrize(
    ("records", "tokens", "need", "wanted"),
    [
        (0, 0, "read", "empty"),
        (0, None, "compute", "empty"),
        (5, 1000, "read", "direct_pass"),
        (500, 1000, "read", "direct_pass"),
        (20, 1000, "compute", "direct_pass"),
        (21, 1000, "compute", "table"),
        (500, 1001, "read", "single_reduction"),
        (5, 1001, "compute", "table"),
        (500, 4000, "read", "single_reduction"),
        (500, 4001, "read", "paginated_reduction"),
        (500, 4001, "compute", "table"),
        (None, None, "read", "paginated_reduction"),
        (None, None, "compute", "table"),
        (500, None, "read", "paginated_reduction"),
        (1, 4001, "read", "paginated_reduction"),
    ],
)
def test_the_strategy_follows_from_size_and_need(
    records: int | None, tokens: int | None, need: str, wanted: str
) -> None:
    size = ResultSize(records=records, tokens=tokens)
    choice = choose(size, need, direct_limit=1000, chunk_tokens=4000)  # type: ignore[arg-type]
    assert choice.strategy == wanted
    assert choice.why


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 10**5), st.integers(1, 10**5))
def test_a_larger_result_never_makes_a_direct_pass_possible(records: int, tokens: int, limit: int, chunk: int) -> None:
    for need in ("read", "compute"):
        small = choose(ResultSize(records=records, tokens=tokens), need, direct_limit=limit, chunk_tokens=chunk)
        large = choose(ResultSize(records=records + 1, tokens=tokens + 1), need, direct_limit=limit, chunk_tokens=chunk)
        if large.strategy is Strategy.DIRECT_PASS:
            assert small.strategy is Strategy.DIRECT_PASS


def test_the_reason_names_the_figures_and_marks_estimates() -> None:
    size = ResultSize(records=261, tokens=355_000)
    why = choose(size, "read", direct_limit=1000, chunk_tokens=27_000).why
    assert "261 records" in why
    assert "about 355,000 tokens" in why
    assert "27,000" in why
    exact = ResultSize(records=261, tokens=355_000, is_estimate=False)
    assert "about" not in choose(exact, "read", direct_limit=1000, chunk_tokens=27_000).why
    assert COUNTED_BY_EYE == 20


@pytest.mark.parametrize(
    ("records", "tokens", "wanted"),
    [(12, PASSED_FOR_FIGURES, "direct_pass"), (12, PASSED_FOR_FIGURES + 1, "table"), (1, 5000, "direct_pass")],
)
def test_few_long_records_become_a_table_and_a_single_one_passes(records: int, tokens: int, wanted: str) -> None:
    size = ResultSize(records=records, tokens=tokens)
    assert choose(size, "compute", direct_limit=8000, chunk_tokens=27_000).strategy == wanted


def test_without_an_engine_records_that_need_figures_are_reduced() -> None:
    size = ResultSize(records=500, tokens=900)
    choice = choose(size, "compute", direct_limit=1000, chunk_tokens=4000, can_compute=False)
    assert choice.strategy is Strategy.SINGLE_REDUCTION
    assert "no SQL engine" in choice.why


@pytest.mark.parametrize(("chunks", "wanted"), [(1, "single_reduction"), (2, "paginated_reduction")])
def test_a_reduction_is_named_by_its_chunks(chunks: int, wanted: str) -> None:
    assert reduction_choice(ResultSize(records=9, tokens=900), chunks=chunks).strategy == wanted


def paging(**more: int) -> Pagination:
    return Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit", **more)


def estimate(records: int | None = 261, per_record: float | None = 1000.0, per_byte: float = 0.25) -> SizeEstimate:
    return SizeEstimate(records=records, bytes_per_record=per_record, tokens_per_byte=per_byte)


@given(st.floats(1, 1e6), st.floats(0.1, 1.0), st.integers(100, 100_000), st.integers(1, 5000), st.integers(1, 20))
def test_a_page_is_within_the_cap_and_about_a_chunk(
    per_record: float, per_byte: float, chunk: int, cap: int, least: int
) -> None:
    pagination = paging(max_size=max(cap, least), min_size=least)
    size = page_size(pagination, estimate(None, per_record, per_byte), chunk_tokens=chunk, at_most=None)
    assert size is not None
    assert least <= size <= max(cap, least)
    if size > least:
        assert size * per_record * per_byte <= chunk + per_byte * per_record


def test_a_tool_without_a_page_size_parameter_has_no_page_size() -> None:
    pagination = Pagination(convention=PaginationStyle.CURSOR, position="cursor")
    assert page_size(pagination, estimate(), chunk_tokens=1000, at_most=None) is None


def test_the_page_size_does_not_exceed_the_records_wanted() -> None:
    assert page_size(paging(max_size=100), estimate(), chunk_tokens=10**6, at_most=7) == 7


def test_an_unknown_maximum_is_capped() -> None:
    assert page_size(paging(), estimate(None, 10.0), chunk_tokens=10**6, at_most=None) == UNKNOWN_CAP


def test_a_single_page_is_as_large_as_permitted() -> None:
    assert page_size(Pagination(size="limit", max_size=50), estimate(), chunk_tokens=10, at_most=None) == 50


def test_announced_tokens_are_used_until_a_page_was_measured() -> None:
    first = SizeEstimate(records=261, bytes_per_record=None, tokens_per_byte=0.25, announced_tokens=355_000)
    assert first.tokens == 355_000
    better = correct_estimate(first, records=20, n_bytes=40_000, tokens=12_000)
    assert better.is_corrected
    assert better.tokens_per_record == pytest.approx(600)
    assert better.tokens == 261 * 600


def test_an_empty_first_page_corrects_nothing() -> None:
    assert correct_estimate(estimate(), records=0, n_bytes=0, tokens=0) == estimate()


def test_the_forecast_counts_pages_and_chunks() -> None:
    expected = forecast(estimate(), chunk_tokens=10_000, page_size=29, at_most=None)
    assert (expected.pages, expected.chunks, expected.records_per_chunk) == (9, 7, 40)
    fewer = forecast(estimate(), chunk_tokens=10_000, page_size=29, at_most=30)
    assert (fewer.pages, fewer.chunks) == (2, 1)


def test_an_unknown_total_has_no_forecast() -> None:
    expected = forecast(estimate(None, None), chunk_tokens=10_000, page_size=None, at_most=None)
    assert (expected.pages, expected.chunks) == (None, None)
    assert estimate(None).tokens is None


@pytest.mark.parametrize(
    ("said", "modest"),
    [
        ('{"message": "limit must be less than or equal to 60"}', 60),
        ('{"detail": [{"msg": "Input should be less than or equal to 35", "ctx": {"le": 35}}]}', 35),
        ("page_size: maximum is 200", 200),
        ("size must be between 1 and 75", 75),
        ("the page is limited to 40 rows", 40),
        ("H\u00f6chstens 80 Eintr\u00e4ge", 80),
        ("you asked for 500, and at most 30 are given", 30),
        ("bad request", 100),
        ("error 17 in module 23", 100),
        ("limit 500 is too large", 100),
    ],
)
def test_the_maximum_that_a_refusal_states_is_used(said: str, modest: int) -> None:
    assert modest_size(paging(), 500, said=said) == modest


def test_smaller_sizes_are_tried_until_none_is_left() -> None:
    sizes: list[int | None] = [500]
    while sizes[-1] is not None:
        sizes.append(modest_size(paging(), sizes[-1]))
    assert sizes == [500, 100, 50, 25, 10, None]
