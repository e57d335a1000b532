"""What is waited for beyond the usual attempts: a server that has answered before, and is away or says "too many".

Knows how many answers came, since when there is none, and how waits grow. Knows no request and sends none. A server
that never answered is not waited for: its address is likelier to be wrong than its process to be starting. What else a
server says while it is up (a 500, a refusal) is an answer, and no outage, whatever it costs the request.
"""

from adapters.clock import Clock
from adapters.errors import ConnectError, HttpStatusError, MalformedResponse, SourceError

OUTAGE_WAIT_S = 30.0
"""A restart takes some seconds, with its health checks perhaps twenty. Who waits for longer wants to be told."""
MAX_OUTAGE_RETRIES = 20
_MAX_RATE_LIMIT_RETRIES = 9
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 4.0
_UNAVAILABLE_STATUSES = frozenset({502, 503, 504})
_TOO_MANY_REQUESTS = 429


def is_unavailable(error: SourceError) -> bool:
    """Whether nobody was there: no connection, or a gateway that says that it reached nobody behind it."""
    return isinstance(error, ConnectError) or (
        isinstance(error, HttpStatusError) and error.status in _UNAVAILABLE_STATUSES
    )


def is_rate_limited(error: SourceError) -> bool:
    """Whether a server only says that it was asked too often."""
    return isinstance(error, HttpStatusError) and error.status == _TOO_MANY_REQUESTS


class OutageTimer:
    """Shared by all requests to one server, so that they wait for one outage together and not one after the other.

    `answers` counts what came. A request that sees the number grow between two failures of its own learns that the
    server is there for others, and has no outage to wait for.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_at: float | None = None
        self.answers = 0

    def answered(self) -> None:
        """The server gave an answer."""
        self.answers += 1
        self._began_at = None

    def failed(self) -> None:
        """Nobody was there."""
        if self._began_at is None:
            self._began_at = self._clock.monotonic()

    @property
    def left_s(self) -> float:
        """For how long an outage that is under way is still waited out; 0 where the server never answered."""
        if self._began_at is None or not self.answers:
            return 0.0
        return max(0.0, self._began_at + OUTAGE_WAIT_S - self._clock.monotonic())

    def wait_s(self, n_waits: int, *, asked_s: float, draw: float) -> float | None:
        """Seconds until the next look, after `n_waits` of such waits, or None where there is none. `draw`: in [0, 1).

        At least half of each wait is waited in any case: a server that is starting gains nothing from being hurried.
        """
        ceiling = min(_FIRST_WAIT_S * 2.0**n_waits, _LONGEST_WAIT_S)
        wait_s = asked_s + ceiling * (1.0 + draw) / 2.0
        return wait_s if wait_s <= self.left_s else None


class OutageWait:
    """The outages of one server, and its times of too many requests. A rush that lets some through is none to end."""

    def __init__(self, clock: Clock) -> None:
        self._away, self._rush = OutageTimer(clock), OutageTimer(clock)

    @property
    def answers(self) -> int:
        """How many answers came, refusals among them."""
        return self._away.answers

    def answered(self) -> None:
        """A request was granted."""
        self._away.answered()
        self._rush.answered()

    def failed(self, error: SourceError) -> None:
        """A request was not; what else than absence the server tells is an answer."""
        if is_rate_limited(error):
            self._rush.failed()
        if is_unavailable(error):
            self._away.failed()
        elif isinstance(error, HttpStatusError | MalformedResponse):
            self._away.answered()

    def outlasts(self, error: SourceError) -> bool:
        """Whether a failure belongs to an outage that is waited out."""
        return is_unavailable(error) and self._away.left_s > 0

    def wait_s(self, error: SourceError, n_waits: int, *, is_alone: bool, draw: float) -> float | None:
        """Seconds until the next look after `n_waits` of them, or None. `is_alone`: nobody else was answered since."""
        asked_s = error.retry_after_s or 0.0
        if is_rate_limited(error) and n_waits < _MAX_RATE_LIMIT_RETRIES:
            return self._rush.wait_s(n_waits, asked_s=asked_s, draw=draw)
        if is_unavailable(error) and is_alone and n_waits < MAX_OUTAGE_RETRIES:
            return self._away.wait_s(n_waits, asked_s=asked_s, draw=draw)
        return None


MAX_CONSECUTIVE_FAILURES = 12
COOLDOWN_S = 20.0


class CircuitBreaker:
    """Closed while the server answers. What it answers matters not: a refusal is an answer.

    Ask `open_for_s` before each request, and tell afterwards what came of it, also where nothing did (`left`).
    """

    def __init__(
        self, clock: Clock, *, failures: int = MAX_CONSECUTIVE_FAILURES, cooldown_s: float = COOLDOWN_S
    ) -> None:
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
