"""The walk over pages: simulated over servers of every size, with pages that come in any order."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.fetch.page_schedule import FAILURES_BEYOND, FAILURES_IN_A_ROW, PageSchedule, ScheduledPage

Records = Callable[[int], int]


def walked(
    walk: PageSchedule,
    held: Records,
    *,
    choices: list[int],
    in_flight: int = 4,
    says_more: bool = False,
    total: int = 0,
) -> list[int]:
    """A walk over a server whose page n holds `held(n)` records; answers come in an order drawn from `choices`."""
    asked: list[int] = [0]
    first = held(0)
    walk.saw(0, ScheduledPage(records=first, has_more=_more(says_more, 0, walk, total)))
    flying: list[int] = []
    for step in range(10_000):
        while len(flying) < in_flight and (index := walk.take()) is not None:
            flying.append(index)
            asked.append(index)
        if not flying:
            return asked
        index = flying.pop(choices[step % len(choices)] % len(flying) if choices else 0)
        walk.saw(index, ScheduledPage(records=held(index), has_more=_more(says_more, index, walk, total)))
    raise AssertionError("the walk does not end")


def _more(says_more: bool, index: int, walk: PageSchedule, total: int) -> bool | None:
    return (index + 1) * walk.stride < total if says_more else None


def server(total: int, stride: int) -> Records:
    return lambda index: max(0, min(stride, total - index * stride))


totals = st.integers(0, 400)
strides = st.integers(1, 60)
orders = st.lists(st.integers(0, 7), max_size=20)


@given(totals, strides, orders, st.integers(1, 6), st.booleans(), st.data())
def test_every_page_is_asked_for_once_whatever_was_announced(
    total: int, stride: int, order: list[int], in_flight: int, says_more: bool, data: st.DataObject
) -> None:
    announced = data.draw(st.one_of(st.none(), st.just(total), st.integers(1, 900)))
    walk = PageSchedule(stride=stride, announced=announced or None)
    asked = walked(walk, server(total, stride), choices=order, in_flight=in_flight, says_more=says_more, total=total)
    filled = -(-total // stride)
    assert len(asked) == len(set(asked))
    assert set(range(filled)) <= set(asked)
    assert walk.end is not None
    assert walk.short_pages() == ()


@given(totals, strides, orders)
def test_a_right_total_costs_at_most_one_page_more(total: int, stride: int, order: list[int]) -> None:
    walk = PageSchedule(stride=stride, announced=total or None)
    asked = walked(walk, server(total, stride), choices=order)
    assert len(asked) <= max(1, -(-total // stride)) + 1


@given(totals, strides, orders, st.integers(1, 6))
def test_without_a_total_few_pages_are_asked_for_in_vain(
    total: int, stride: int, order: list[int], in_flight: int
) -> None:
    walk = PageSchedule(stride=stride)
    asked = walked(walk, server(total, stride), choices=order, in_flight=in_flight)
    assert len(asked) <= -(-total // stride) + 1 + in_flight


@given(st.integers(5, 400), strides, orders, st.integers(1, 400))
def test_no_page_beyond_the_first_n_is_asked_for(total: int, stride: int, order: list[int], at_most: int) -> None:
    walk = PageSchedule(stride=stride, announced=total, at_most=at_most)
    asked = walked(walk, server(total, stride), choices=order)
    assert max(asked) < max(1, -(-at_most // stride))


@given(st.integers(1, 8), st.integers(10, 50), orders)
def test_a_short_page_amid_filled_ones_is_found_without_a_total(short: int, pages: int, order: list[int]) -> None:
    def held(index: int) -> int:
        return (3 if index == short else 10) if index < pages else 0

    walk = PageSchedule(stride=10)
    asked = walked(walk, held, choices=order)
    assert set(range(pages)) <= set(asked)
    assert walk.short_pages() == (short,)


def test_an_empty_page_ends_the_walk_only_if_nothing_follows() -> None:
    walk = PageSchedule(stride=10, announced=50)
    walk.saw(0, ScheduledPage(records=10))
    for index in (1, 2, 3, 4):
        assert walk.take() == index
    walk.saw(1, ScheduledPage(records=0))
    assert walk.end == 1
    walk.saw(2, ScheduledPage(records=10))
    assert walk.end is None


def test_an_absurd_total_is_not_followed_beyond_the_data() -> None:
    walk = PageSchedule(stride=10, announced=10**12)
    asked = walked(walk, server(95, 10), choices=[])
    assert max(asked) < 20


def test_pages_that_fail_one_after_the_other_end_the_walk() -> None:
    walk = PageSchedule(stride=10, announced=10_000)
    walk.saw(0, ScheduledPage(records=10))
    asked = 0
    while (index := walk.take()) is not None:
        walk.missed(index)
        asked += 1
    assert asked == FAILURES_IN_A_ROW
    assert walk.unasked() == 1000 - 1 - FAILURES_IN_A_ROW


def test_a_failed_page_does_not_hide_the_pages_after_it_where_none_was_announced() -> None:
    walk = PageSchedule(stride=10)
    walk.saw(0, ScheduledPage(records=10))
    assert walk.take() == 1
    walk.missed(1)
    taken = walk.take()
    assert taken == 2
    walk.saw(2, ScheduledPage(records=10))
    assert walk.take() == 3


def test_pages_beyond_the_data_that_fail_are_not_asked_for_long() -> None:
    walk = PageSchedule(stride=10)
    walk.saw(0, ScheduledPage(records=10))
    asked = 0
    while (index := walk.take()) is not None:
        walk.missed(index)
        asked += 1
    assert asked == FAILURES_BEYOND


def test_the_cap_of_pages_is_told() -> None:
    walk = PageSchedule(stride=10, max_pages=5)
    asked = walked(walk, server(10_000, 10), choices=[])
    assert max(asked) == 4
    assert walk.is_cut_by_cap


def test_the_last_page_is_expected_to_hold_the_rest() -> None:
    walk = PageSchedule(stride=100, announced=261)
    assert [walk.expected(index) for index in range(4)] == [100, 100, 61, None]
    assert walk.pages_expected == 3
