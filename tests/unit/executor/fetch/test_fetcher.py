"""A fetch returns every record exactly once, or says why not, regardless of the faults of the server."""

import asyncio
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from adapters.base import Pagination, PaginationStyle
from runax_cli.core.budget import Budget, Limits
from runax_cli.executor.fetch.call_limits import CallLimits
from tests.fakes.fetch_bench import FetchResult, fetch_all
from tests.fakes.paged_api import Fault, PagedApi, cut, empty, first_page, timed_out, with_duplicate

ERROR, CUT, EMPTY, DUPLICATE, FIRST_PAGE = "error", "cut", "empty", "duplicate", "first page"
FAULTS: dict[str, Fault] = {
    ERROR: timed_out(),
    CUT: cut(1, keep=1),
    EMPTY: empty,
    DUPLICATE: with_duplicate,
    FIRST_PAGE: first_page,
}


def api_of(
    n: int,
    cap: int,
    style: PaginationStyle,
    *,
    announced: int | None = None,
    faults: dict[int, tuple[str, int]] | None = None,
    refuses_beyond: bool = False,
) -> PagedApi:
    """An API of `n` records. `faults` are by the record with which a page starts: what happens, and how often."""
    return PagedApi(
        records=[{"id": number} for number in range(n)],
        style=style,
        cap=cap,
        default_size=cap,
        says_total=announced is not None,
        announced=announced,
        faults={start: [FAULTS[what]] * times for start, (what, times) in (faults or {}).items()},
        refuses_beyond=refuses_beyond,
        skips_missing=True,
        seek=lambda position: max(0, position),
    )


async def fetched(api: PagedApi, *, size: int, **options: Any) -> FetchResult:
    position = {PaginationStyle.PAGE: "page", PaginationStyle.CURSOR: "cursor"}.get(api.style, "offset")
    first = int(api.style is PaginationStyle.PAGE)
    pagination = Pagination(convention=api.style, position=position, size="limit", first=first, max_size=size)
    assert not callable(api.announced)
    with TemporaryDirectory() as folder:
        return await fetch_all(
            api, pagination, Path(folder), page_size=size, total=api.announced, sample=({"id": 0},), **options
        )


STYLES = [PaginationStyle.OFFSET, PaginationStyle.PAGE, PaginationStyle.CURSOR]


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    n=st.integers(1, 50),
    cap=st.integers(1, 20),
    size=st.integers(1, 20),
    says_total=st.booleans(),
    at_most=st.none() | st.integers(1, 60),
    concurrency=st.integers(1, 4),
    refuses_beyond=st.booleans(),
)
def test_a_server_without_faults_returns_every_record_once_in_order(
    style: PaginationStyle,
    n: int,
    cap: int,
    size: int,
    says_total: bool,
    at_most: int | None,
    concurrency: int,
    refuses_beyond: bool,
) -> None:
    api = api_of(n, cap, style, announced=n if says_total else None, refuses_beyond=refuses_beyond)
    result = asyncio.run(fetched(api, size=size, at_most=at_most, concurrency=concurrency))
    wanted = n if at_most is None else min(n, at_most)
    assert result.ids == list(range(wanted))
    assert result.page_order == sorted(result.page_order)
    assert result.coverage.is_complete, result.coverage.reasons
    if wanted == n and at_most is None:
        assert (result.coverage.records_total, result.coverage.total_is) == (n, "exact")
    pages = -(-wanted // min(cap, size))
    assert len(api.requests) <= 3 * pages + 2 * concurrency + 8


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    n=st.integers(1, 50),
    size=st.integers(2, 12),
    drift=st.sampled_from([0, 0, 0, -5, 7, 400]),
    faults=st.dictionaries(
        st.integers(0, 9),
        st.tuples(st.sampled_from(list(FAULTS)), st.integers(1, 9)),
        max_size=3,
    ),
    concurrency=st.integers(1, 4),
)
def test_records_are_unique_and_missing_ones_are_reported_for_any_faults(
    style: PaginationStyle,
    n: int,
    size: int,
    drift: int,
    faults: dict[int, tuple[str, int]],
    concurrency: int,
) -> None:
    # If the total is too low, nothing shows that the last page lacks records.
    noticeable = (ERROR, FIRST_PAGE) if drift < 0 else (ERROR, CUT, EMPTY, DUPLICATE, FIRST_PAGE)
    at = {page * size: fault for page, fault in faults.items() if page > 0 and fault[0] in noticeable}
    api = api_of(n, size, style, announced=max(1, n + drift), faults=at)
    result = asyncio.run(fetched(api, size=size, concurrency=concurrency))
    assert not [number for number, times in Counter(result.ids).items() if times > 1], "no record twice"
    assert set(result.ids) <= set(range(n))
    if result.ids != list(range(n)):
        event("something is missing")
        assert not result.coverage.is_complete
        assert result.coverage.reasons
    if result.coverage.is_complete:
        event("complete")
        assert result.ids == list(range(n))
        assert result.coverage.records_total == n
    assert len(api.requests) < 12 * (n // size + 6)


@pytest.mark.parametrize("style", [PaginationStyle.OFFSET, PaginationStyle.PAGE])
@settings(max_examples=50, deadline=None)
@given(
    n=st.integers(1, 50),
    size=st.integers(2, 12),
    page=st.integers(0, 8),
    what=st.sampled_from([CUT, DUPLICATE, FIRST_PAGE]),
    concurrency=st.integers(1, 4),
)
@example(n=11, size=11, page=0, what=CUT, concurrency=1)
def test_a_page_that_is_wrong_once_is_repaired_without_a_total(
    style: PaginationStyle, n: int, size: int, page: int, what: str, concurrency: int
) -> None:
    api = api_of(n, size, style, faults={page * size: (what, 1)})
    result = asyncio.run(fetched(api, size=size, concurrency=concurrency))
    assert result.ids == list(range(n)) or not result.coverage.is_complete
    assert len(result.ids) == len(set(result.ids))


@pytest.mark.parametrize("style", [PaginationStyle.OFFSET, PaginationStyle.PAGE])
@pytest.mark.parametrize("says_total", [True, False])
async def test_a_failed_page_loses_only_its_own_records(style: PaginationStyle, says_total: bool) -> None:
    api = api_of(100, 10, style, announced=100 if says_total else None, faults={30: (ERROR, 99)})
    result = await fetched(api, size=10)
    assert result.ids == [number for number in range(100) if not 30 <= number < 40]
    assert result.coverage.pages_failed == 1
    assert result.codes == {"page_failed"}


async def test_a_server_that_is_down_is_not_asked_for_every_page() -> None:
    faults = dict.fromkeys(range(10, 2000, 10), (ERROR, 99))
    api = api_of(2000, 10, PaginationStyle.OFFSET, announced=2000, faults=faults)
    result = await fetched(api, size=10)
    assert result.ids == list(range(10))
    assert len(api.requests) < 20
    assert "announced pages not requested" in " ".join(r.text for r in result.coverage.reasons)


@pytest.mark.parametrize("style", STYLES)
async def test_call_limits_end_the_fetch_with_a_reason(style: PaginationStyle) -> None:
    api = api_of(500, 10, style)
    result = await fetched(api, size=10, limits=CallLimits(pages=7))
    assert 60 <= len(result.ids) <= 80
    assert result.codes == {"budget"}
    assert not result.coverage.is_complete


@pytest.mark.parametrize("style", STYLES)
async def test_an_exhausted_request_budget_keeps_the_fetched_pages(style: PaginationStyle) -> None:
    budget = Budget(Limits(requests=5), owner="turn")
    result = await fetched(api_of(500, 10, style, announced=500), size=10, concurrency=1, budget=budget)
    assert result.ids == list(range(50))
    assert "budget" in result.codes
    assert result.coverage.records_total == 500
    assert len(result.api.requests) == 5


async def test_a_first_page_that_stays_short_is_noticed_by_fuller_pages_after_it() -> None:
    api = api_of(90, 20, PaginationStyle.PAGE, faults={0: (CUT, 99)})
    result = await fetched(api, size=20)
    assert result.ids == [number for number in range(90) if number != 19]
    assert result.codes == {"page_short"}
    assert not result.coverage.is_complete
