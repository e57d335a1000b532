"""Client-side rate limiting: reads rate limit headers, and spaces requests so that the server need not refuse any.

`RateLimiter` is shared by all requests to one server. It neither sends nor waits: the caller reserves a slot first.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from adapters.clock import Clock

_REMAINING_HEADER = re.compile(
    r"(?P<stem>[a-z-]*?rate-?limit)(?P<before>(?:-[a-z]+)*?)-remaining(?P<after>(?:-[a-z]+)*)"
)
_HEADER_ITEM = re.compile(r"(?:^|[,;])\s*(r|t|q|limit|remaining|reset)\s*=\s*\"?(\d{1,12})")
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS_S = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_NUMBER = re.compile(r"\d{1,15}(\.\d+)?")
_EPOCH_S, _EPOCH_MS = 1e9, 1e12


@dataclass(frozen=True, slots=True)
class RateLimitStatus:
    """`remaining` requests until `reset_s` seconds from now; `limit` is that of a whole window, None if unknown.

    If the server counts something else (tokens), `remaining` is infinite as long as any of it is left.
    """

    remaining: float
    reset_s: float
    limit: float | None = None


def parse_rate_limit(headers: Mapping[str, str], *, now: float) -> RateLimitStatus | None:
    """Return the strictest rate limit in the headers, or None. `now` is the wall time of the response."""
    lower = {name.lower(): value for name, value in headers.items()}
    found = [*_from_structured_header(lower.get("ratelimit", "")), *_from_named_headers(lower, now)]
    return min(found, key=lambda each: (each.remaining, -each.reset_s), default=None)


def _from_structured_header(value: str) -> Iterator[RateLimitStatus]:
    """Read the header `RateLimit`: `"default";r=5;t=30` per policy, or `limit=100, remaining=5, reset=30`."""
    parts = value.split(",") if re.search(r";\s*r\s*=", value) else [value]
    for part in parts:
        figures = {name: float(figure) for name, figure in _HEADER_ITEM.findall(part)}
        remaining, reset = figures.get("r", figures.get("remaining")), figures.get("t", figures.get("reset"))
        if remaining is not None and reset is not None:
            yield RateLimitStatus(remaining, reset, figures.get("q", figures.get("limit")))


def _from_named_headers(headers: Mapping[str, str], now: float) -> Iterator[RateLimitStatus]:
    """Read `X-RateLimit-Remaining`, `-Reset` and `-Limit` in all their spellings."""
    for name, value in headers.items():
        matched = _REMAINING_HEADER.fullmatch(name)
        remaining = _leading_number(value)
        if matched is None or remaining is None:
            continue
        stem, before, after = matched.group("stem", "before", "after")
        names = (f"{stem}{before}-reset{after}", f"{stem}{before}-reset-after{after}")
        resets = [
            reset for reset in (parse_reset_s(headers.get(each, ""), now=now) for each in names) if reset is not None
        ]
        if resets:
            limit = _leading_number(headers.get(f"{stem}{before}-limit{after}", ""))
            yield _in_requests(RateLimitStatus(remaining, resets[0], limit), what=before + after)


def _in_requests(status: RateLimitStatus, *, what: str) -> RateLimitStatus:
    """Express a limit in requests. How many tokens a request takes is unknown, so any that are left suffice."""
    is_requests = "token" not in what
    return status if is_requests or not status.remaining else RateLimitStatus(math.inf, status.reset_s)


def parse_reset_s(value: str, *, now: float) -> float | None:
    """Return the seconds until a reset: seconds, epoch, duration (`1m30s`) or date; None if invalid, 0 if past."""
    text = value.strip()
    seconds = _leading_number(text)
    if seconds is not None:
        if seconds >= _EPOCH_S:
            seconds = (seconds / 1000 if seconds >= _EPOCH_MS else seconds) - now
        return max(0.0, seconds)
    matched = _DURATION.fullmatch(text) if text else None
    if matched is not None:
        return sum(float(part) * unit for part, unit in zip(matched.groups(), _UNITS_S, strict=True) if part)
    moment = _parse_datetime(text)
    return None if moment is None else max(0.0, moment - now)


def _parse_datetime(text: str) -> float | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(text)
        except (ValueError, TypeError, OverflowError):
            continue
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
    return None


def _leading_number(value: str) -> float | None:
    """Return the first number of a list: 100 for `100, 100;w=60`."""
    text = value.partition(",")[0].partition(";")[0].strip()
    return float(text) if _NUMBER.fullmatch(text) else None


MAX_RATE_LIMIT_WAIT_S = 60.0
"""Longer windows are not waited for: the server's 429 then reaches the user."""
_SAME_WINDOW_TOLERANCE_S = 1.5
"""Resets of one window, rounded to whole seconds, differ by at most this."""
_SCARCE_SHARE = 0.1
_SCARCE_REQUESTS = 2.0


class RateLimiter:
    """Spaces the requests to one server.

    While plenty of requests remain, none waits. The last tenth of a window (or the last two requests, if the size of
    the window is unknown) are spread over the time until the reset; once none remains, requests wait for the reset.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._remaining: float | None = None
        self._limit: float | None = None
        self._resets_at = 0.0
        self._next_at = 0.0
        self._paused_until = 0.0

    def reserve_s(self) -> float:
        """Reserve the next request and return the seconds to wait before sending it.

        It counts as sent at once, since others may be sent before its response arrives.
        """
        now = self._clock.monotonic()
        pause_s = max(0.0, self._paused_until - now)
        window_s = self._resets_at - now
        if self._remaining is None or window_s <= 0:
            self._remaining = None
            return pause_s
        remaining, self._remaining = self._remaining, max(0.0, self._remaining - 1)
        if window_s > MAX_RATE_LIMIT_WAIT_S:
            return pause_s
        if remaining < 1:
            return max(pause_s, window_s)
        return max(pause_s, self._spacing_s(remaining, now) if self._is_scarce(remaining) else 0.0)

    def _spacing_s(self, remaining: float, now: float) -> float:
        """Return the wait for the next of `remaining` requests, spread over the time until the reset."""
        slot = max(self._next_at, now)
        self._next_at = slot + (self._resets_at - slot) / (remaining + 1)
        return slot - now

    def update(self, headers: Mapping[str, str]) -> RateLimitStatus | None:
        """Take over the rate limit of a response and return it, or None.

        Responses of one window may arrive in any order: the lowest `remaining` counts.
        """
        status = parse_rate_limit(headers, now=self._clock.wall())
        if status is None:
            return None
        now = self._clock.monotonic()
        resets_at = now + status.reset_s
        is_same_window = self._remaining is not None and abs(resets_at - self._resets_at) <= _SAME_WINDOW_TOLERANCE_S
        remaining = min(self._remaining or 0.0, status.remaining) if is_same_window else status.remaining
        if not is_same_window:
            self._next_at = 0.0
        self._remaining, self._limit, self._resets_at = remaining, status.limit, resets_at
        return status

    def pause_for(self, wait_s: float) -> None:
        """Hold back all requests after the server refused one and asked to wait."""
        if wait_s <= MAX_RATE_LIMIT_WAIT_S:
            self._paused_until = max(self._paused_until, self._clock.monotonic() + wait_s)

    def _is_scarce(self, remaining: float) -> bool:
        return remaining <= (_SCARCE_REQUESTS if self._limit is None else _SCARCE_SHARE * self._limit)
