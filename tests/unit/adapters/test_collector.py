"""The collector of cycles looks less often while something large is built, and as before afterwards."""

import gc
import threading
from collections.abc import Iterator

import pytest

from adapters.openapi.gc_tuning import RELAXED_THRESHOLD, relaxed_gc


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_collector_looks_seldom_inside_and_as_before_afterwards():
    with relaxed_gc():
        assert gc.isenabled()
        assert gc.get_threshold() == (RELAXED_THRESHOLD, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


def test_a_failure_inside_puts_it_back():
    with pytest.raises(ValueError, match="no"), relaxed_gc():
        raise ValueError("no")
    assert gc.get_threshold() == (700, 10, 10)


def test_it_is_put_back_when_the_last_of_several_threads_is_done():
    first_is_in, second_is_out = threading.Event(), threading.Event()
    seen = []

    def first() -> None:
        with relaxed_gc():
            first_is_in.set()
            second_is_out.wait()
            seen.append(gc.get_threshold()[0])

    thread = threading.Thread(target=first)
    thread.start()
    first_is_in.wait()
    with relaxed_gc():
        pass
    second_is_out.set()
    thread.join()
    assert seen == [RELAXED_THRESHOLD]
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("own", [(0, 10, 10), (RELAXED_THRESHOLD * 2, 5, 5)])
def test_who_looks_never_or_more_seldom_is_left_alone(own):
    gc.set_threshold(*own)
    with relaxed_gc():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_what_somebody_sets_meanwhile_stays():
    with relaxed_gc():
        gc.set_threshold(1_000, 10, 10)
    assert gc.get_threshold() == (1_000, 10, 10)


def test_cycles_are_found_while_it_is_open():
    class Ring:
        def __init__(self) -> None:
            self.me = self

    alive = []
    with relaxed_gc():
        for _ in range(RELAXED_THRESHOLD + 1_000):
            Ring()
        alive = [one for one in gc.get_objects() if type(one) is Ring]
    assert len(alive) <= RELAXED_THRESHOLD // 2


def test_what_was_built_counts_as_old_afterwards_and_nothing_stays_frozen():
    with relaxed_gc():
        built = [[n] for n in range(10_000)]
    assert len(gc.get_objects(generation=0)) < len(built)
    assert gc.get_freeze_count() == 0
    assert gc.is_tracked(built)


def test_what_somebody_has_frozen_stays_frozen():
    gc.freeze()
    try:
        with relaxed_gc():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
