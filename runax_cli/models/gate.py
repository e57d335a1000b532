"""The gate before one model endpoint: the pace that it allows, and whether it is left alone for a while.

Knows when a request may leave and which failures speak of the endpoint. Shared by all roles that use the endpoint;
knows no request.
"""

from adapters.breaker import Breaker
from adapters.clock import Clock
from adapters.pace import Pace
from runax_cli.errors import ModelError
from runax_cli.models.wire import UnusableReply

_BROKEN = 500


class Gate:
    """Ask `claim_s` before a request, `require_open` when it leaves, and tell afterwards what came of it."""

    def __init__(self, clock: Clock) -> None:
        self.pace = Pace(clock)
        self._breaker = Breaker(clock)

    def claim_s(self) -> float:
        """Seconds until the next request may leave; it counts as sent."""
        return self.pace.claim_s()

    def require_open(self, model: str) -> None:
        """Raise ModelError where the endpoint is to be left alone."""
        left_s = self._breaker.open_for_s()
        if left_s is not None:
            why = self._breaker.why.rstrip(".")
            text = f"the endpoint of the model '{model}' is left alone for {left_s:.0f} s more: {why}."
            raise ModelError(text, model=model, retryable=False)

    def answered(self) -> None:
        """A reply came."""
        self._breaker.answered()

    def failed(self, error: ModelError) -> None:
        """No reply came: a refusal or a reply of no use comes from an endpoint that works."""
        if error.retry_after_s is not None:
            self.pace.refused(error.retry_after_s)
        is_outage = error.retryable and not isinstance(error, UnusableReply)
        if is_outage and (error.status is None or error.status >= _BROKEN):
            self._breaker.failed(str(error))
        else:
            self._breaker.answered()

    def left(self) -> None:
        """Whoever asked went away before the reply."""
        self._breaker.left()
