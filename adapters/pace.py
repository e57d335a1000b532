"""The pace of requests to one server: how long the next one waits, so that it need not be refused.

Knows what the server told last and what has left since. Sends nothing and waits for nothing: whoever sends asks
first. Shared by all who talk to the server.
"""

from collections.abc import Mapping

from adapters.allowance import Allowance, allowance_in
from adapters.clock import Clock

LONGEST_HOLD_S = 60.0
"""A window that is open for longer is not waited for: the server says then that it is used up, and the user knows."""
_SAME_WINDOW_S = 1.5
"""Resets in whole seconds of the same window differ by no more than this."""
_SCARCE = 0.1
_FEW = 2.0


class Pace:
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
        if left_s > LONGEST_HOLD_S:
            return held_s
        if remaining < 1:
            return max(held_s, left_s)
        return max(held_s, self._share_s(remaining, now) if self._is_scarce(remaining) else 0.0)

    def _share_s(self, remaining: float, now: float) -> float:
        """The wait for the next of `remaining` places, which are spread over the time until the reset."""
        place = max(self._next_at, now)
        self._next_at = place + (self._resets_at - place) / (remaining + 1)
        return place - now

    def told(self, headers: Mapping[str, str]) -> Allowance | None:
        """An answer came, with what it says is left. Answers of one window may come in any order: the least counts."""
        allowance = allowance_in(headers, now=self._clock.wall())
        if allowance is None:
            return None
        now = self._clock.monotonic()
        resets_at = now + allowance.reset_s
        is_same = self._remaining is not None and abs(resets_at - self._resets_at) <= _SAME_WINDOW_S
        least = min(self._remaining or 0.0, allowance.remaining) if is_same else allowance.remaining
        if not is_same:
            self._next_at = 0.0
        self._remaining, self._limit, self._resets_at = least, allowance.limit, resets_at
        return allowance

    def refused(self, wait_s: float) -> None:
        """The server refused a request and asked to wait: that holds for all who talk to it."""
        if wait_s <= LONGEST_HOLD_S:
            self._held_until = max(self._held_until, self._clock.monotonic() + wait_s)

    def _is_scarce(self, remaining: float) -> bool:
        return remaining <= (_FEW if self._limit is None else _SCARCE * self._limit)
