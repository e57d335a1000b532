"""Page size and forecast: from the probe, then corrected by the first page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Pagination, PaginationStyle
from runax_cli.executor.strategy import UNKNOWN_CAP, SizeEstimate, correct_estimate, forecast, modest_size, page_size


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


def test_a_tool_without_a_size_gets_none() -> None:
    pagination = Pagination(convention=PaginationStyle.CURSOR, position="cursor")
    assert page_size(pagination, estimate(), chunk_tokens=1000, at_most=None) is None


def test_no_more_is_asked_for_than_is_wanted() -> None:
    assert page_size(paging(max_size=100), estimate(), chunk_tokens=10**6, at_most=7) == 7


def test_an_unknown_cap_is_not_tried_without_bounds() -> None:
    assert page_size(paging(), estimate(None, 10.0), chunk_tokens=10**6, at_most=None) == UNKNOWN_CAP


def test_a_lone_page_brings_as_much_as_it_can() -> None:
    assert page_size(Pagination(size="limit", max_size=50), estimate(), chunk_tokens=10, at_most=None) == 50


def test_announced_tokens_count_until_a_page_was_measured() -> None:
    first = SizeEstimate(records=261, bytes_per_record=None, tokens_per_byte=0.25, announced_tokens=355_000)
    assert first.tokens == 355_000
    better = correct_estimate(first, records=20, n_bytes=40_000, tokens=12_000)
    assert better.is_corrected
    assert better.tokens_per_record == pytest.approx(600)
    assert better.tokens == 261 * 600


def test_an_empty_first_page_corrects_nothing() -> None:
    assert correct_estimate(estimate(), records=0, n_bytes=0, tokens=0) == estimate()


def test_the_forecast_counts_pages_and_chunks() -> None:
    told = forecast(estimate(), chunk_tokens=10_000, page_size=29, at_most=None)
    assert (told.pages, told.chunks, told.records_per_chunk) == (9, 7, 40)
    fewer = forecast(estimate(), chunk_tokens=10_000, page_size=29, at_most=30)
    assert (fewer.pages, fewer.chunks) == (2, 1)


def test_what_is_unknown_stays_unknown() -> None:
    told = forecast(estimate(None, None), chunk_tokens=10_000, page_size=None, at_most=None)
    assert (told.pages, told.chunks) == (None, None)
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
def test_a_refusal_that_names_the_cap_is_believed(said: str, modest: int) -> None:
    assert modest_size(paging(), 500, said=said) == modest


def test_ever_smaller_sizes_are_asked_for_and_in_the_end_none() -> None:
    sizes: list[int | None] = [500]
    while sizes[-1] is not None:
        sizes.append(modest_size(paging(), sizes[-1]))
    assert sizes == [500, 100, 50, 25, 10, None]
