"""How fast requests leave, and when nothing leaves at all."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.clock import ManualClock
from adapters.http.circuit_breaker import CircuitBreaker
from adapters.http.rate_limit import MAX_RATE_LIMIT_WAIT_S, RateLimiter


def _headers(remaining: int, reset: float, limit: int | None = None) -> dict[str, str]:
    told = {"RateLimit-Remaining": str(remaining), "RateLimit-Reset": f"{reset:g}"}
    return told if limit is None else told | {"RateLimit-Limit": str(limit)}


def test_nobody_waits_where_nothing_is_told_or_plenty_is_left():
    pace = RateLimiter(ManualClock())
    assert [pace.reserve_s() for _ in range(100)] == [0] * 100
    pace.update(_headers(90, 10, 100))
    assert [pace.reserve_s() for _ in range(70)] == [0] * 70


def test_with_nothing_left_the_reset_is_waited_for_and_then_all_is_well():
    clock = ManualClock()
    pace = RateLimiter(clock)
    pace.update(_headers(0, 8))
    assert pace.reserve_s() == 8
    clock.now = 8.0
    assert pace.reserve_s() == 0


def test_the_last_requests_of_a_window_are_spread_over_the_time_that_is_left():
    clock = ManualClock()
    pace = RateLimiter(clock)
    pace.update(_headers(4, 10, 100))
    waits = [pace.reserve_s() for _ in range(5)]
    assert waits[0] == 0
    assert waits == sorted(waits)
    assert waits[3] < waits[4] == 10


def test_requests_under_way_count_before_their_answers_come():
    pace = RateLimiter(ManualClock())
    pace.update(_headers(1, 5, 5))
    assert pace.reserve_s() == 0
    assert pace.reserve_s() == 5


def test_an_answer_that_comes_late_gives_nothing_back():
    pace = RateLimiter(ManualClock())
    pace.update(_headers(0, 5))
    pace.update(_headers(3, 5))
    assert pace.reserve_s() == 5


def test_a_long_window_is_not_waited_for():
    pace = RateLimiter(ManualClock())
    pace.update(_headers(0, MAX_RATE_LIMIT_WAIT_S + 1))
    assert pace.reserve_s() == 0


def test_what_one_was_asked_to_wait_all_wait():
    clock = ManualClock()
    pace = RateLimiter(clock)
    pace.pause_for(3)
    clock.now = 1.0
    assert pace.reserve_s() == 2


@given(
    st.integers(1, 30),
    st.floats(0.1, 50),
    st.integers(0, 30),
    st.integers(1, 60),
)
def test_never_more_leave_in_a_window_than_are_left_of_it(limit, reset, left, asked):
    clock = ManualClock()
    pace = RateLimiter(clock)
    pace.update({"RateLimit-Remaining": str(left), "RateLimit-Reset": str(reset), "RateLimit-Limit": str(limit)})
    within = [wait_s for wait_s in (pace.reserve_s() for _ in range(asked)) if wait_s < reset - 1e-6]
    assert len(within) <= left


def test_the_breaker_opens_after_failures_in_a_row_and_tries_one_request_later():
    clock = ManualClock()
    breaker = CircuitBreaker(clock, failures=3, cooldown_s=10)
    for _ in range(2):
        breaker.record_failure("no route")
    breaker.record_success()
    for _ in range(2):
        breaker.record_failure("no route")
        assert breaker.open_for_s() is None
    breaker.record_failure("no route")
    assert breaker.open_for_s() == 10
    assert breaker.why == "3 requests failed in a row; last error: no route"
    clock.now = 10.0
    assert breaker.open_for_s() is None
    assert breaker.open_for_s() == 0
    breaker.record_failure("no route")
    assert breaker.open_for_s() == 10
    clock.now = 20.0
    assert breaker.open_for_s() is None
    breaker.release()
    assert breaker.open_for_s() is None
    breaker.record_success()
    assert breaker.open_for_s() is None
