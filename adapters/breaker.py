"""The breaker of one server: after many failures in a row it is left alone for a while, then tried by one request.

Knows how often in a row, why at last, and since when. Knows no request and sends none.
"""

from adapters.clock import Clock

FAILURES_IN_A_ROW = 12
COOLDOWN_S = 20.0


class Breaker:
    """Closed while the server answers. What it answers matters not: a refusal is an answer.

    Ask `open_for_s` before each request, and tell afterwards what came of it, also where nothing did (`left`).
    """

    def __init__(self, clock: Clock, *, failures: int = FAILURES_IN_A_ROW, cooldown_s: float = COOLDOWN_S) -> None:
        self._clock, self._limit, self._cooldown_s = clock, failures, cooldown_s
        self._failures = 0
        self._opened_at = 0.0
        self._is_tried = False
        self._why = ""

    def open_for_s(self) -> float | None:
        """Seconds for which nothing may be sent; None where a request may leave, which is then under way."""
        if self._failures < self._limit:
            return None
        left_s = self._opened_at + self._cooldown_s - self._clock.monotonic()
        if left_s > 0 or self._is_tried:
            return max(0.0, left_s)
        self._is_tried = True
        return None

    @property
    def why(self) -> str:
        """What is the matter, in words, without a full stop."""
        return f"{self._failures} requests failed in a row, the last one because {self._why}"

    def answered(self) -> None:
        """The server answered."""
        self._failures, self._is_tried = 0, False

    def failed(self, why: str) -> None:
        """The server gave no answer, or one that says that it cannot give any."""
        self._failures += 1
        self._why, self._is_tried = why, False
        self._opened_at = self._clock.monotonic()

    def left(self) -> None:
        """Whoever asked went away before the answer: nothing is known."""
        self._is_tried = False
