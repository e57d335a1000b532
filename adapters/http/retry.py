"""Retry rules of HTTP requests: Retry-After, backoff, and waiting out an outage.

Usual attempts back off with jitter. Beyond them, a server that has responded before is waited for while it is
unavailable (502, 503, 504, no connection) or rate limits (429). A server that never responded is not waited for: its
address is more likely to be wrong than its process to be starting.
"""

from email.utils import parsedate_to_datetime

from adapters.clock import Clock
from adapters.errors import ConnectError, HttpStatusError, MalformedResponse, SourceError

OUTAGE_WAIT_S = 30.0
"""How long an outage is waited out: a restart with its health checks takes up to about 20 s."""
MAX_OUTAGE_RETRIES = 20
MAX_BACKOFF_S = 60.0
_FIRST_BACKOFF_S = 0.5
_MAX_RATE_LIMIT_RETRIES = 9
_FIRST_WAIT_S, _MAX_WAIT_S = 1.0, 4.0
_UNAVAILABLE_STATUSES = frozenset({502, 503, 504})
_TOO_MANY_REQUESTS = 429


def parse_retry_after(value: str | None, *, now: float) -> float | None:
    """Return the seconds of a Retry-After header (a number, or an HTTP date seen from `now`); None if invalid."""
    if not value:
        return None
    try:
        seconds = float(value) if value.strip()[:1].isdigit() else parsedate_to_datetime(value).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None
    return max(seconds, 0.0) if seconds < float("inf") else None


def backoff_s(n_retries: int, *, jitter: float) -> float:
    """Return the wait after `n_retries` retries: exponential with full jitter. `jitter` is in [0, 1)."""
    ceiling: float = min(_FIRST_BACKOFF_S * 2.0**n_retries, MAX_BACKOFF_S)
    return ceiling * jitter


def is_unavailable(error: SourceError) -> bool:
    """Whether the server could not be reached, directly or behind its gateway."""
    if isinstance(error, HttpStatusError):
        return error.status in _UNAVAILABLE_STATUSES
    return isinstance(error, ConnectError)


def is_rate_limited(error: SourceError) -> bool:
    """Whether the server answered 429."""
    return isinstance(error, HttpStatusError) and error.status == _TOO_MANY_REQUESTS


class OutageTimer:
    """Times one outage of a server. Shared by all requests, so that they wait for it together.

    `successes` counts responses. A request that sees it grow between two failures of its own knows that the server is
    up for other requests, and has no outage to wait for.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_at: float | None = None
        self.successes = 0

    def record_success(self) -> None:
        """End the outage."""
        self.successes += 1
        self._began_at = None

    def record_failure(self) -> None:
        """Begin an outage, unless one has begun."""
        if self._began_at is None:
            self._began_at = self._clock.monotonic()

    @property
    def remaining_s(self) -> float:
        """For how long the current outage is still waited out; 0 if the server never responded."""
        if self._began_at is None or not self.successes:
            return 0.0
        return max(0.0, self._began_at + OUTAGE_WAIT_S - self._clock.monotonic())

    def wait_s(self, n_waits: int, *, retry_after_s: float, jitter: float) -> float | None:
        """Return the seconds until the next attempt after `n_waits` of them, or None if there is none left.

        `jitter` is in [0, 1). At least half of each wait is kept: a server that is starting gains nothing from haste.
        """
        ceiling = min(_FIRST_WAIT_S * 2.0**n_waits, _MAX_WAIT_S)
        wait_s = retry_after_s + ceiling * (1.0 + jitter) / 2.0
        return wait_s if wait_s <= self.remaining_s else None


class OutageWait:
    """Decides on retries beyond the usual attempts, while a server is unavailable or rate limits."""

    def __init__(self, clock: Clock) -> None:
        self._unavailable, self._rate_limited = OutageTimer(clock), OutageTimer(clock)

    @property
    def successes(self) -> int:
        """How many responses came, error responses included."""
        return self._unavailable.successes

    def record_success(self) -> None:
        """Note a successful response."""
        self._unavailable.record_success()
        self._rate_limited.record_success()

    def record_failure(self, error: SourceError) -> None:
        """Note a failed request; an error response other than 502, 503 and 504 shows that the server is up."""
        if is_rate_limited(error):
            self._rate_limited.record_failure()
        if is_unavailable(error):
            self._unavailable.record_failure()
        elif isinstance(error, HttpStatusError | MalformedResponse):
            self._unavailable.record_success()

    def covers(self, error: SourceError) -> bool:
        """Whether a failure belongs to an outage that is being waited out."""
        return is_unavailable(error) and self._unavailable.remaining_s > 0

    def wait_s(self, error: SourceError, n_waits: int, *, is_down_for_all: bool, jitter: float) -> float | None:
        """Return the seconds until the next attempt, or None for no further one.

        `is_down_for_all` is False if another request got a response since the last failure of this one.
        """
        asked_s = error.retry_after_s or 0.0
        if is_rate_limited(error) and n_waits < _MAX_RATE_LIMIT_RETRIES:
            return self._rate_limited.wait_s(n_waits, retry_after_s=asked_s, jitter=jitter)
        if is_unavailable(error) and is_down_for_all and n_waits < MAX_OUTAGE_RETRIES:
            return self._unavailable.wait_s(n_waits, retry_after_s=asked_s, jitter=jitter)
        return None
