"""What servers tell of their limits, in all the ways in which they tell it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.http.rate_limit import RateLimitStatus, parse_rate_limit, parse_reset_s

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
def test_every_way_of_telling_a_limit_is_read(headers, expected):
    assert parse_rate_limit(headers, now=NOW) == expected


def test_a_reset_that_is_over_is_none():
    assert parse_reset_s(f"{NOW - 100:.0f}", now=NOW) == 0
    assert parse_reset_s("2025-12-31T23:59:59Z", now=NOW) == 0


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=30), max_size=4), st.text(max_size=40))
def test_nonsense_tells_nothing_and_breaks_nothing(headers, value):
    read = parse_rate_limit(
        headers | {"RateLimit": value, "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": value}, now=NOW
    )
    assert read is None or (read.remaining >= 0 and read.reset_s >= 0)
