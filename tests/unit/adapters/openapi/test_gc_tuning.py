"""Relaxed garbage collection: the threshold inside and afterwards."""

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


def test_the_threshold_is_raised_inside_and_restored_afterwards():
    with relaxed_gc():
        assert gc.isenabled()
        assert gc.get_threshold() == (RELAXED_THRESHOLD, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


def test_an_error_inside_restores_the_threshold():
    with pytest.raises(ValueError, match="no"), relaxed_gc():
        raise ValueError("no")
    assert gc.get_threshold() == (700, 10, 10)


def test_the_last_of_several_threads_restores_the_threshold():
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
def test_a_higher_threshold_or_disabled_gc_is_kept(own):
    gc.set_threshold(*own)
    with relaxed_gc():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_a_threshold_set_meanwhile_is_kept():
    with relaxed_gc():
        gc.set_threshold(1_000, 10, 10)
    assert gc.get_threshold() == (1_000, 10, 10)


def test_cycles_are_still_collected_inside():
    class Ring:
        def __init__(self) -> None:
            self.me = self

    alive = []
    with relaxed_gc():
        for _ in range(RELAXED_THRESHOLD + 1_000):
            Ring()
        alive = [one for one in gc.get_objects() if type(one) is Ring]
    assert len(alive) <= RELAXED_THRESHOLD // 2


def test_new_objects_move_to_the_oldest_generation():
    with relaxed_gc():
        built = [[n] for n in range(10_000)]
    assert len(gc.get_objects(generation=0)) < len(built)
    assert gc.get_freeze_count() == 0
    assert gc.is_tracked(built)


def test_frozen_objects_stay_frozen():
    gc.freeze()
    try:
        with relaxed_gc():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
