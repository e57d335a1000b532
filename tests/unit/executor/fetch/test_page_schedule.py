"""The page schedule, simulated over servers of every size with pages that arrive in any order."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.fetch.page_schedule import (
    MAX_FAILURES_IN_A_ROW,
    MAX_FAILURES_UNANNOUNCED,
    PageSchedule,
    ReceivedPage,
)

Records = Callable[[int], int]


def simulate(
    schedule: PageSchedule,
    records_of: Records,
    *,
    choices: list[int],
    in_flight: int = 4,
    has_more_flag: bool = False,
    total: int = 0,
) -> list[int]:
    """Fetch from a server whose page n holds `records_of(n)` records; the order of arrival is drawn from `choices`."""
    requested: list[int] = [0]
    first = records_of(0)
    schedule.record_page(0, ReceivedPage(records=first, has_more=_more(has_more_flag, 0, schedule, total)))
    in_flight_pages: list[int] = []
    for step in range(10_000):
        while len(in_flight_pages) < in_flight and (index := schedule.take()) is not None:
            in_flight_pages.append(index)
            requested.append(index)
        if not in_flight_pages:
            return requested
        index = in_flight_pages.pop(choices[step % len(choices)] % len(in_flight_pages) if choices else 0)
        schedule.record_page(
            index, ReceivedPage(records=records_of(index), has_more=_more(has_more_flag, index, schedule, total))
        )
    raise AssertionError("the schedule does not end")


def _more(has_more_flag: bool, index: int, schedule: PageSchedule, total: int) -> bool | None:
    return (index + 1) * schedule.page_size < total if has_more_flag else None


def server(total: int, size: int) -> Records:
    return lambda index: max(0, min(size, total - index * size))


totals = st.integers(0, 400)
page_sizes = st.integers(1, 60)
orders = st.lists(st.integers(0, 7), max_size=20)


@given(totals, page_sizes, orders, st.integers(1, 6), st.booleans(), st.data())
def test_every_page_is_requested_once_for_any_total(
    total: int, size: int, order: list[int], in_flight: int, has_more_flag: bool, data: st.DataObject
) -> None:
    announced = data.draw(st.one_of(st.none(), st.just(total), st.integers(1, 900)))
    schedule = PageSchedule(page_size=size, total=announced or None)
    requested = simulate(
        schedule,
        server(total, size),
        choices=order,
        in_flight=in_flight,
        has_more_flag=has_more_flag,
        total=total,
    )
    filled = -(-total // size)
    assert len(requested) == len(set(requested))
    assert set(range(filled)) <= set(requested)
    assert schedule.end is not None
    assert schedule.short_pages() == ()


@given(totals, page_sizes, orders)
def test_a_correct_total_costs_at_most_one_extra_page(total: int, size: int, order: list[int]) -> None:
    schedule = PageSchedule(page_size=size, total=total or None)
    requested = simulate(schedule, server(total, size), choices=order)
    assert len(requested) <= max(1, -(-total // size)) + 1


@given(totals, page_sizes, orders, st.integers(1, 6))
def test_without_a_total_few_pages_are_requested_beyond_the_end(
    total: int, size: int, order: list[int], in_flight: int
) -> None:
    schedule = PageSchedule(page_size=size)
    requested = simulate(schedule, server(total, size), choices=order, in_flight=in_flight)
    assert len(requested) <= -(-total // size) + 1 + in_flight


@given(st.integers(5, 400), page_sizes, orders, st.integers(1, 400))
def test_no_page_beyond_the_first_n_is_requested(total: int, size: int, order: list[int], at_most: int) -> None:
    schedule = PageSchedule(page_size=size, total=total, at_most=at_most)
    requested = simulate(schedule, server(total, size), choices=order)
    assert max(requested) < max(1, -(-at_most // size))


@given(st.integers(1, 8), st.integers(10, 50), orders)
def test_a_short_page_among_full_ones_is_found_without_a_total(short: int, pages: int, order: list[int]) -> None:
    def records_of(index: int) -> int:
        return (3 if index == short else 10) if index < pages else 0

    schedule = PageSchedule(page_size=10)
    requested = simulate(schedule, records_of, choices=order)
    assert set(range(pages)) <= set(requested)
    assert schedule.short_pages() == (short,)


def test_an_empty_page_is_the_end_only_if_nothing_follows() -> None:
    schedule = PageSchedule(page_size=10, total=50)
    schedule.record_page(0, ReceivedPage(records=10))
    for index in (1, 2, 3, 4):
        assert schedule.take() == index
    schedule.record_page(1, ReceivedPage(records=0))
    assert schedule.end == 1
    schedule.record_page(2, ReceivedPage(records=10))
    assert schedule.end is None


def test_an_absurd_total_is_not_followed_beyond_the_data() -> None:
    schedule = PageSchedule(page_size=10, total=10**12)
    requested = simulate(schedule, server(95, 10), choices=[])
    assert max(requested) < 20


def test_failures_in_a_row_stop_the_schedule() -> None:
    schedule = PageSchedule(page_size=10, total=10_000)
    schedule.record_page(0, ReceivedPage(records=10))
    requested = 0
    while (index := schedule.take()) is not None:
        schedule.record_failure(index)
        requested += 1
    assert requested == MAX_FAILURES_IN_A_ROW
    assert schedule.count_unrequested() == 1000 - 1 - MAX_FAILURES_IN_A_ROW


def test_a_failed_unannounced_page_does_not_hide_the_pages_after_it() -> None:
    schedule = PageSchedule(page_size=10)
    schedule.record_page(0, ReceivedPage(records=10))
    assert schedule.take() == 1
    schedule.record_failure(1)
    taken = schedule.take()
    assert taken == 2
    schedule.record_page(2, ReceivedPage(records=10))
    assert schedule.take() == 3


def test_failing_unannounced_pages_soon_stop_the_schedule() -> None:
    schedule = PageSchedule(page_size=10)
    schedule.record_page(0, ReceivedPage(records=10))
    requested = 0
    while (index := schedule.take()) is not None:
        schedule.record_failure(index)
        requested += 1
    assert requested == MAX_FAILURES_UNANNOUNCED


def test_the_page_limit_is_reported() -> None:
    schedule = PageSchedule(page_size=10, max_pages=5)
    requested = simulate(schedule, server(10_000, 10), choices=[])
    assert max(requested) == 4
    assert schedule.is_cut_by_limit


def test_the_last_page_is_expected_to_hold_the_rest() -> None:
    schedule = PageSchedule(page_size=100, total=261)
    assert [schedule.expected_records(index) for index in range(4)] == [100, 100, 61, None]
    assert schedule.expected_pages == 3
