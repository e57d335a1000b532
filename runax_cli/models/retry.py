"""Retries of model requests: attempts, full jitter, `Retry-After`, rate limit and circuit breaker of an endpoint.

The only retry layer for models. Errors with `retryable` (such as 429 and 5xx) are retried. It wraps `MeteredModel`, so
that each attempt reserves its own budget and no concurrency slot is held while waiting.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from adapters.clock import Clock
from adapters.http.circuit_breaker import CircuitBreaker
from adapters.http.rate_limit import RateLimiter
from runax_cli.core.budget import Amount, Budget
from runax_cli.core.errors import BudgetExhausted, ModelError
from runax_cli.core.event_types import RequestDelayed, RetryScheduled, Warned
from runax_cli.core.events import Emitter
from runax_cli.models.base import Model, ModelReply, ModelRequest, OnText
from runax_cli.models.wire import UnusableReply

_SERVER_ERROR = 500


class RequestGate:
    """Rate limiter and circuit breaker of one endpoint.

    Call `claim_s` and `require_closed` before a request, and one of `succeeded`, `failed`, `cancelled` after it.
    """

    def __init__(self, clock: Clock) -> None:
        self.rate_limiter = RateLimiter(clock)
        self._breaker = CircuitBreaker(clock)

    def claim_s(self) -> float:
        """Seconds to wait before the next request, which counts as sent from now on."""
        return self.rate_limiter.reserve_s()

    def require_closed(self, model: str) -> None:
        """Raise ModelError while the circuit breaker is open."""
        left_s = self._breaker.open_for_s()
        if left_s is not None:
            why = self._breaker.reason.rstrip(".")
            text = f"the endpoint of the model '{model}' keeps failing; no requests for another {left_s:.0f} s: {why}."
            raise ModelError(text, model=model, retryable=False)

    def succeeded(self) -> None:
        """A reply arrived."""
        self._breaker.record_success()

    def failed(self, error: ModelError) -> None:
        """A request failed. A rejected request and an unusable reply still come from an endpoint that works."""
        if error.retry_after_s is not None:
            self.rate_limiter.pause_for(error.retry_after_s)
        is_outage = error.retryable and not isinstance(error, UnusableReply)
        if is_outage and (error.status is None or error.status >= _SERVER_ERROR):
            self._breaker.record_failure(str(error))
        else:
            self._breaker.record_success()

    def cancelled(self) -> None:
        """The request was cancelled before its reply arrived."""
        self._breaker.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Exponential backoff with full jitter: between 0 and `base_s`, doubled for each attempt, at most `cap_s`.

    `Retry-After` of the endpoint is respected; if it is longer than `max_retry_after_s`, there is no retry.
    """

    attempts: int = 3
    base_s: float = 0.5
    cap_s: float = 20.0
    max_retry_after_s: float = 60.0

    def wait_s(self, attempt: int, *, retry_after_s: float | None, draw: float) -> float | None:
        """Seconds to wait before attempt `attempt` (from 2), None to give up. `draw` is random in [0, 1)."""
        if attempt > self.attempts or (retry_after_s is not None and retry_after_s > self.max_retry_after_s):
            return None
        jitter = draw * min(self.cap_s, self.base_s * 2.0 ** (attempt - 1))
        return jitter if retry_after_s is None else retry_after_s + jitter


def count_retries(budget: Budget, emitter: Emitter) -> Callable[[RetryScheduled], None]:
    """A listener that charges each retry to `budget` and emits it. It raises BudgetExhausted if none is left."""

    def on_retry(scheduled: RetryScheduled) -> None:
        one = Amount(retries=1)
        try:
            budget.reserve(one).settle(one)
        except BudgetExhausted as exhausted:
            emitter.emit(Warned(code="retries_used_up", text=f"no retry of {scheduled.what}: {exhausted}"))
            raise
        emitter.emit(scheduled)

    return on_retry


class RetryModel:
    """A model that retries failed requests.

    `on_retry` can raise BudgetExhausted to prevent the retry. `gate` is shared by all users of the endpoint.
    """

    def __init__(
        self,
        inner: Model,
        *,
        clock: Clock,
        on_retry: Callable[[RetryScheduled], None],
        policy: RetryPolicy | None = None,
        draw: Callable[[], float] = random.random,
        gate: RequestGate | None = None,
        on_delay: Callable[[RequestDelayed], None] = lambda _delayed: None,
    ) -> None:
        self._inner = inner
        self._gate = gate or RequestGate(clock)
        self._on_delay = on_delay
        self._clock = clock
        self._on_retry = on_retry
        self._policy = policy or RetryPolicy()
        self._draw = draw

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self._inner.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`. Text that was streamed already is not streamed again: see `_StreamedText`."""
        streamed = None if on_text is None else _StreamedText(on_text)
        attempt = 1
        while True:
            try:
                await self._wait_for_rate_limit()
                reply = await self._through_gate(request, None if streamed is None else streamed.begin_attempt())
            except ModelError as error:
                attempt += 1
                await self._wait_before_retry(error, attempt)
            else:
                if streamed is not None:
                    streamed.finish(reply.text)
                return replace(reply, requests=reply.requests + attempt - 1)

    async def aclose(self) -> None:
        """Close the wrapped model."""
        await self._inner.aclose()

    async def _wait_for_rate_limit(self) -> None:
        """Wait until the rate limit of the endpoint allows a request."""
        wait_s = self._gate.claim_s()
        if wait_s > 0:
            why = "rate limit of the endpoint"
            self._on_delay(RequestDelayed(what=f"model {self.name}", wait_s=wait_s, why=why))
            await self._clock.sleep(wait_s)

    async def _through_gate(self, request: ModelRequest, on_text: OnText | None) -> ModelReply:
        self._gate.require_closed(self.name)
        try:
            reply = await self._inner.complete(request, on_text=on_text)
        except ModelError as error:
            self._gate.failed(error)
            raise
        except BaseException:
            self._gate.cancelled()
            raise
        self._gate.succeeded()
        return reply

    async def _wait_before_retry(self, error: ModelError, attempt: int) -> None:
        """Wait before `attempt`, or raise `error` if there is no further attempt."""
        wait_s = self._policy.wait_s(attempt, retry_after_s=error.retry_after_s, draw=self._draw())
        if not error.retryable or wait_s is None:
            raise error
        try:
            self._on_retry(RetryScheduled(what=f"model {self.name}", attempt=attempt, wait_s=wait_s, why=str(error)))
        except BudgetExhausted:
            raise error from None
        await self._clock.sleep(wait_s)


class _StreamedText:
    """Text that was streamed to the listener, over all attempts.

    Streamed text cannot be taken back. The text of a further attempt is buffered until it is complete; then its rest is
    passed on if it starts with what was streamed, otherwise all of it after a blank line.
    """

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._text = ""
        self._is_buffering = False

    def begin_attempt(self) -> OnText:
        """The listener for one attempt."""
        self._is_buffering = bool(self._text)
        return self._ignore if self._is_buffering else self._pass_on

    def finish(self, whole: str) -> None:
        """The attempt succeeded with the text `whole`."""
        if not self._is_buffering:
            return
        has_same_start = whole.startswith(self._text)
        self._on_text(whole[len(self._text) :] if has_same_start else f"\n\n{whole}")

    def _pass_on(self, piece: str) -> None:
        self._text += piece
        self._on_text(piece)

    def _ignore(self, _piece: str) -> None:
        """Drop the piece; `finish` passes the text on."""
