"""Whatever goes wrong, in any combination: a call that says it is complete has every record, once and in order."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.base import Pagination, PaginationStyle
from adapters.errors import HttpStatusError, TimedOut

PAGED = {
    "offset": Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit", min_size=1, max_size=20),
    "page": Pagination(
        convention=PaginationStyle.PAGE, position="page", size="limit", first=1, min_size=1, max_size=20
    ),
    "cursor": Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit", max_size=20),
}
Fault = Callable[[], Any]


def cut(n: int) -> Any:
    return lambda api, start, size: api.records[start : start + size][: -n or None]


def other(shift: int) -> Any:
    return lambda api, start, size: api.records[max(0, start + shift * size) : max(0, start + shift * size) + size]


def twin(at: int) -> Any:
    def page(api: Any, start: int, size: int) -> list[Any]:
        records = api.records[start : start + size]
        return [*records[:at], *records[:1], *records[at:]][:size] if records else records

    return page


errors = st.one_of(
    st.builds(lambda: TimedOut("late", source="crm", location="GET", is_retryable=True, requests=3)),
    st.sampled_from([400, 500]).map(
        lambda status: HttpStatusError("refused", source="crm", location="GET", status=status)
    ),
)
starts = st.integers(0, 8).map(lambda page: page * 20)


def plans(faults: Any) -> Any:
    return st.dictionaries(starts, st.lists(faults, min_size=1, max_size=4), max_size=4)


ANYTHING = plans(
    st.one_of(errors, st.integers(1, 20).map(cut), st.integers(-2, -1).map(other), st.integers(1, 19).map(twin))
)
"""Where a right total is announced, whatever is lost is missed."""
NOTICEABLE = plans(st.one_of(errors, st.integers(1, 6).map(cut), st.integers(1, 19).map(twin)))
"""Without one, a last page that comes short is like any other end: such faults are kept from the last pages."""


def noticeable(plan: dict[int, list[Any]], n: int, wrong: int | None) -> dict[int, list[Any]]:
    """A wrong total may by chance be that of the records left: only errors before it can be noticed then."""
    return {
        start: [fault for fault in faults if isinstance(fault, Exception) or wrong is None]
        for start, faults in plan.items()
        if 0 < start < n - 20 and (wrong is None or start < wrong)
    }


def no_false_cap(plan: dict[int, list[Any]]) -> dict[int, list[Any]]:
    """A first page by number that is cut twice in the same way is like that of a server whose cap is lower."""
    return {start: faults[:1] if start == 0 else faults for start, faults in plan.items()}


@pytest.mark.parametrize("style", list(PAGED))
@given(
    n=st.integers(0, 150),
    announced=st.one_of(st.none(), st.integers(0, 200)),
    says_total=st.booleans(),
    cap=st.sampled_from([7, 20, 50]),
    anything=ANYTHING,
    noticed=NOTICEABLE,
    at_most=st.one_of(st.none(), st.integers(1, 160)),
    concurrency=st.integers(1, 5),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_complete_means_complete(
    make: Any,
    style: str,
    n: int,
    announced: int | None,
    says_total: bool,
    cap: int,
    anything: dict[int, list[Any]],
    noticed: dict[int, list[Any]],
    at_most: int | None,
    concurrency: int,
) -> None:
    # A wrong total that is by chance the cap of a page is in accord with everything that is seen.
    announced = None if announced == cap else announced
    is_told = says_total and announced in (None, n)
    plan = no_false_cap(anything) if is_told else noticeable(noticed, n, announced if says_total else None)
    bench = make(
        n,
        pagination=PAGED[style],
        announced=announced,
        says_total=says_total,
        cap=cap,
        faults={start: list(faults) for start, faults in plan.items()},
        concurrency=concurrency,
        effective=12_000,
    )
    outcome = asyncio.run(bench.read_all(at_most=at_most))
    coverage = outcome.coverage
    ids = bench.ids(outcome) if outcome.dataset else []
    assert coverage.records_read == len(ids)
    wanted = n if at_most is None else min(n, at_most)
    if coverage.is_complete:
        assert ids == [1000 + number for number in range(wanted)], (coverage, bench.api.asked)
        assert outcome.envelope.status in ("success", "empty")
    else:
        assert coverage.reasons
        assert outcome.envelope.status in ("partial", "error")
    assert len(set(ids)) == len(ids), "no record is kept twice"
    assert len(bench.api.asked) < 80
