"""The pace of requests to one server: how long the next one waits, so that it need not be refused.

Knows what the server told last and what has left since. Sends nothing and waits for nothing: whoever sends asks
first. Shared by all who talk to the server.
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
    """`remaining` requests until `parse_reset_s` seconds from now; `limit` is that of a whole window, None if unknown.

    Where a server counts something else (tokens), `remaining` is infinite as long as any of it is left.
    """

    remaining: float
    reset_s: float
    limit: float | None = None


def parse_rate_limit(headers: Mapping[str, str], *, now: float) -> RateLimitStatus | None:
    """The tightest of what the headers tell, seen from the wall time `now`; None where they tell nothing usable."""
    lower = {name.lower(): value for name, value in headers.items()}
    found = [*_from_structured_header(lower.get("ratelimit", "")), *_from_named_headers(lower, now)]
    return min(found, key=lambda each: (each.remaining, -each.reset_s), default=None)


def _from_structured_header(value: str) -> Iterator[RateLimitStatus]:
    """The one header `RateLimit`: `"default";r=5;t=30`, one for each policy, or `limit=100, remaining=5, reset=30`."""
    parts = value.split(",") if re.search(r";\s*r\s*=", value) else [value]
    for part in parts:
        figures = {name: float(figure) for name, figure in _HEADER_ITEM.findall(part)}
        remaining, reset = figures.get("r", figures.get("remaining")), figures.get("t", figures.get("reset"))
        if remaining is not None and reset is not None:
            yield RateLimitStatus(remaining, reset, figures.get("q", figures.get("limit")))


def _from_named_headers(headers: Mapping[str, str], now: float) -> Iterator[RateLimitStatus]:
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


def _in_requests(allowance: RateLimitStatus, *, what: str) -> RateLimitStatus:
    """The allowance in requests: of tokens nobody knows how many a request takes, so that only none is too few."""
    is_requests = "token" not in what
    return allowance if is_requests or not allowance.remaining else RateLimitStatus(math.inf, allowance.reset_s)


def parse_reset_s(value: str, *, now: float) -> float | None:
    """Seconds until a reset, in any of the forms that servers use; None for nonsense, 0 for what is over."""
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
    """A figure at the beginning of a list of them, as `100, 100;w=60` tells the limit."""
    text = value.partition(",")[0].partition(";")[0].strip()
    return float(text) if _NUMBER.fullmatch(text) else None


MAX_RATE_LIMIT_WAIT_S = 60.0
"""A window that is open for longer is not waited for: the server says then that it is used up, and the user knows."""
_SAME_WINDOW_TOLERANCE_S = 1.5
"""Resets in whole seconds of the same window differ by no more than this."""
_SCARCE_SHARE = 0.1
_SCARCE_REQUESTS = 2.0


class RateLimiter:
    """When the next request may leave.

    While plenty is left, nobody waits. Of the last tenth of a window's requests (or the last two, where the size of
    the window is unknown) each waits for its share of the time that is left, and once none is left, for the reset.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._remaining: float | None = None
        self._limit: float | None = None
        self._resets_at = 0.0
        self._next_at = 0.0
        self._held_until = 0.0

    def claim_s(self) -> float:
        """A place in the line: seconds until the request may leave, 0 where it may leave now.

        It counts as sent, since others may leave before its answer says so.
        """
        now = self._clock.monotonic()
        held_s = max(0.0, self._held_until - now)
        left_s = self._resets_at - now
        if self._remaining is None or left_s <= 0:
            self._remaining = None
            return held_s
        remaining, self._remaining = self._remaining, max(0.0, self._remaining - 1)
        if left_s > MAX_RATE_LIMIT_WAIT_S:
            return held_s
        if remaining < 1:
            return max(held_s, left_s)
        return max(held_s, self._share_s(remaining, now) if self._is_scarce(remaining) else 0.0)

    def _share_s(self, remaining: float, now: float) -> float:
        """The wait for the next of `remaining` places, which are spread over the time until the reset."""
        place = max(self._next_at, now)
        self._next_at = place + (self._resets_at - place) / (remaining + 1)
        return place - now

    def told(self, headers: Mapping[str, str]) -> RateLimitStatus | None:
        """An answer came, with what it says is left. Answers of one window may come in any order: the least counts."""
        allowance = parse_rate_limit(headers, now=self._clock.wall())
        if allowance is None:
            return None
        now = self._clock.monotonic()
        resets_at = now + allowance.reset_s
        is_same = self._remaining is not None and abs(resets_at - self._resets_at) <= _SAME_WINDOW_TOLERANCE_S
        least = min(self._remaining or 0.0, allowance.remaining) if is_same else allowance.remaining
        if not is_same:
            self._next_at = 0.0
        self._remaining, self._limit, self._resets_at = least, allowance.limit, resets_at
        return allowance

    def refused(self, wait_s: float) -> None:
        """The server refused a request and asked to wait: that holds for all who talk to it."""
        if wait_s <= MAX_RATE_LIMIT_WAIT_S:
            self._held_until = max(self._held_until, self._clock.monotonic() + wait_s)

    def _is_scarce(self, remaining: float) -> bool:
        return remaining <= (_SCARCE_REQUESTS if self._limit is None else _SCARCE_SHARE * self._limit)
