"""Circuit breaker: stops requests to a server after many consecutive failures, and tries again after a cooldown."""

from adapters.clock import Clock

MAX_CONSECUTIVE_FAILURES = 12
COOLDOWN_S = 20.0


class CircuitBreaker:
    """Closed while the server responds; an error response counts as a response.

    Call `open_for_s` before each request, and `record_success`, `record_failure` or `release` after it.
    """

    def __init__(
        self, clock: Clock, *, failures: int = MAX_CONSECUTIVE_FAILURES, cooldown_s: float = COOLDOWN_S
    ) -> None:
        self._clock, self._limit, self._cooldown_s = clock, failures, cooldown_s
        self._failures = 0
        self._opened_at = 0.0
        self._is_probing = False
        self._why = ""

    def open_for_s(self) -> float | None:
        """Return the seconds for which requests are blocked, or None if one may be sent now.

        After the cooldown one request is let through as a probe, and the others stay blocked until it ends.
        """
        if self._failures < self._limit:
            return None
        remaining_s = self._opened_at + self._cooldown_s - self._clock.monotonic()
        if remaining_s > 0 or self._is_probing:
            return max(0.0, remaining_s)
        self._is_probing = True
        return None

    @property
    def reason(self) -> str:
        """Why the circuit is open, as a clause without a full stop."""
        return f"{self._failures} requests failed in a row; last error: {self._why}"

    def record_success(self) -> None:
        """Close the circuit: the server responded."""
        self._failures, self._is_probing = 0, False

    def record_failure(self, reason: str) -> None:
        """Count a request without a usable response."""
        self._failures += 1
        self._why, self._is_probing = reason, False
        self._opened_at = self._clock.monotonic()

    def release(self) -> None:
        """End a request without an outcome, for example because it was cancelled."""
        self._is_probing = False
