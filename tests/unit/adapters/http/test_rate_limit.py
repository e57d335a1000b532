"""Rate limit headers in all their spellings, and the spacing of requests."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.clock import ManualClock
from adapters.http.rate_limit import (
    MAX_RATE_LIMIT_WAIT_S,
    RateLimiter,
    RateLimitStatus,
    parse_rate_limit,
    parse_reset_s,
)

NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"RateLimit": '"default";r=5;t=30'}, RateLimitStatus(5, 30)),
        ({"RateLimit": '"burst";r=9;t=1, "daily";r=2;t=3600'}, RateLimitStatus(2, 3600)),
        ({"RateLimit": "limit=100, remaining=5, reset=30"}, RateLimitStatus(5, 30, 100)),
        ({"RateLimit-Limit": "100", "RateLimit-Remaining": "0", "RateLimit-Reset": "7"}, RateLimitStatus(0, 7, 100)),
        (
            {"RateLimit-Limit": "100, 100;w=60", "RateLimit-Remaining": "3", "RateLimit-Reset": "7"},
            RateLimitStatus(3, 7, 100),
        ),
        ({"X-RateLimit-Remaining": "4", "X-RateLimit-Reset": f"{NOW + 20:.0f}"}, RateLimitStatus(4, 20)),
        ({"X-RateLimit-Remaining": "4", "X-RateLimit-Reset": f"{(NOW + 20) * 1000:.0f}"}, RateLimitStatus(4, 20)),
        ({"X-Rate-Limit-Remaining": "1", "X-Rate-Limit-Reset": "2026-01-01T00:00:09Z"}, RateLimitStatus(1, 9)),
        ({"X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "Thu, 01 Jan 2026 00:00:09 GMT"}, RateLimitStatus(1, 9)),
        ({"X-RateLimit-Remaining": "1", "X-RateLimit-Reset-After": "0.5"}, RateLimitStatus(1, 0.5)),
        (
            {"x-ratelimit-remaining-requests": "2", "x-ratelimit-reset-requests": "6m0s"},
            RateLimitStatus(2, 360),
        ),
        (
            {
                "anthropic-ratelimit-requests-remaining": "2",
                "anthropic-ratelimit-requests-reset": "2026-01-01T00:01:00Z",
            },
            RateLimitStatus(2, 60),
        ),
        (
            {
                "x-ratelimit-remaining-requests": "50",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "20ms",
            },
            RateLimitStatus(0, 0.02),
        ),
        ({"x-ratelimit-remaining-tokens": "3", "x-ratelimit-reset-tokens": "1s"}, RateLimitStatus(math.inf, 1)),
        ({"X-RateLimit-Remaining": "4"}, None),
        ({"X-RateLimit-Remaining": "many", "X-RateLimit-Reset": "4"}, None),
        ({"X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "soon"}, None),
        ({"Content-Type": "text/plain"}, None),
        ({}, None),
    ],
)
def test_rate_limit_headers_are_parsed(headers, expected):
    assert parse_rate_limit(headers, now=NOW) == expected


def test_a_past_reset_is_zero():
    assert parse_reset_s(f"{NOW - 100:.0f}", now=NOW) == 0
    assert parse_reset_s("2025-12-31T23:59:59Z", now=NOW) == 0


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=30), max_size=4), st.text(max_size=40))
def test_invalid_headers_are_ignored(headers, value):
    read = parse_rate_limit(
        headers | {"RateLimit": value, "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": value}, now=NOW
    )
    assert read is None or (read.remaining >= 0 and read.reset_s >= 0)


def _headers(remaining: int, reset: float, limit: int | None = None) -> dict[str, str]:
    headers = {"RateLimit-Remaining": str(remaining), "RateLimit-Reset": f"{reset:g}"}
    return headers if limit is None else headers | {"RateLimit-Limit": str(limit)}


def test_no_request_waits_while_plenty_remain():
    limiter = RateLimiter(ManualClock())
    assert [limiter.reserve_s() for _ in range(100)] == [0] * 100
    limiter.update(_headers(90, 10, 100))
    assert [limiter.reserve_s() for _ in range(70)] == [0] * 70


def test_an_exhausted_limit_waits_for_the_reset():
    clock = ManualClock()
    limiter = RateLimiter(clock)
    limiter.update(_headers(0, 8))
    assert limiter.reserve_s() == 8
    clock.now = 8.0
    assert limiter.reserve_s() == 0


def test_the_last_requests_of_a_window_are_spread():
    clock = ManualClock()
    limiter = RateLimiter(clock)
    limiter.update(_headers(4, 10, 100))
    waits = [limiter.reserve_s() for _ in range(5)]
    assert waits[0] == 0
    assert waits == sorted(waits)
    assert waits[3] < waits[4] == 10


def test_reserved_requests_count_before_their_responses():
    limiter = RateLimiter(ManualClock())
    limiter.update(_headers(1, 5, 5))
    assert limiter.reserve_s() == 0
    assert limiter.reserve_s() == 5


def test_a_late_response_does_not_raise_the_limit():
    limiter = RateLimiter(ManualClock())
    limiter.update(_headers(0, 5))
    limiter.update(_headers(3, 5))
    assert limiter.reserve_s() == 5


def test_a_long_window_is_not_waited_for():
    limiter = RateLimiter(ManualClock())
    limiter.update(_headers(0, MAX_RATE_LIMIT_WAIT_S + 1))
    assert limiter.reserve_s() == 0


def test_a_pause_holds_back_all_requests():
    clock = ManualClock()
    limiter = RateLimiter(clock)
    limiter.pause_for(3)
    clock.now = 1.0
    assert limiter.reserve_s() == 2


@given(
    st.integers(1, 30),
    st.floats(0.1, 50),
    st.integers(0, 30),
    st.integers(1, 60),
)
def test_no_more_requests_than_remain_are_sent_in_a_window(limit, reset, left, asked):
    clock = ManualClock()
    limiter = RateLimiter(clock)
    limiter.update({"RateLimit-Remaining": str(left), "RateLimit-Reset": str(reset), "RateLimit-Limit": str(limit)})
    within = [wait_s for wait_s in (limiter.reserve_s() for _ in range(asked)) if wait_s < reset - 1e-6]
    assert len(within) <= left
