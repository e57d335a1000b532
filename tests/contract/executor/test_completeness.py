"""For any combination of faults: a call that claims to be complete has every record, once and in order."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.base import Pagination, PaginationStyle
from tests.fakes.paged_api import cut, http_error, shifted, timed_out, with_inserted_duplicate

PAGED = {
    "offset": Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit", min_size=1, max_size=20),
    "page": Pagination(
        convention=PaginationStyle.PAGE, position="page", size="limit", first=1, min_size=1, max_size=20
    ),
    "cursor": Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit", max_size=20),
}

errors = st.one_of(st.builds(timed_out), st.sampled_from([400, 500]).map(http_error))
starts = st.integers(0, 8).map(lambda page: page * 20)


def plans(faults: Any) -> Any:
    return st.dictionaries(starts, st.lists(faults, min_size=1, max_size=4), max_size=4)


ANYTHING = plans(
    st.one_of(
        errors,
        st.integers(1, 20).map(cut),
        st.integers(-2, -1).map(shifted),
        st.integers(1, 19).map(with_inserted_duplicate),
    )
)
"""With a correct total, every lost record is noticed."""
NOTICEABLE = plans(st.one_of(errors, st.integers(1, 6).map(cut), st.integers(1, 19).map(with_inserted_duplicate)))
"""Without a total, a short last page looks like any other end: such faults are excluded from the last pages."""


def noticeable(plan: dict[int, list[Any]], n: int, wrong: int | None) -> dict[int, list[Any]]:
    """A wrong total may equal the number of remaining records: then only errors before it are noticed."""
    return {
        start: [fault for fault in faults if isinstance(fault, Exception) or wrong is None]
        for start, faults in plan.items()
        if 0 < start < n - 20 and (wrong is None or start < wrong)
    }


def no_false_cap(plan: dict[int, list[Any]]) -> dict[int, list[Any]]:
    """A numbered first page that is cut twice in the same way looks like that of a server with a lower cap."""
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
@settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_a_complete_call_has_every_record(
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
    # A wrong total that equals the page cap is consistent with everything the fetch sees.
    announced = None if announced == cap else announced
    is_total_correct = says_total and announced in (None, n)
    plan = no_false_cap(anything) if is_total_correct else noticeable(noticed, n, announced if says_total else None)
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
        assert ids == [1000 + number for number in range(wanted)], (coverage, bench.api.requests)
        assert outcome.envelope.status in ("success", "empty")
    else:
        assert coverage.reasons
        assert outcome.envelope.status in ("partial", "error")
    assert len(set(ids)) == len(ids), "no duplicates"
    assert len(bench.api.requests) < 80
