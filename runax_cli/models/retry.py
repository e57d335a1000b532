"""The one retry layer for models: attempts, full jitter, and what the endpoint asks to wait.

Wraps a model. Knows which errors are worth another attempt because they say so themselves (`retryable`). It stands
outside of `metered`, so that each attempt is reserved by itself and no slot is held while waiting.
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

_BROKEN = 500


class RequestGate:
    """Ask `claim_s` before a request, `require_open` when it leaves, and tell afterwards what came of it."""

    def __init__(self, clock: Clock) -> None:
        self.pace = RateLimiter(clock)
        self._breaker = CircuitBreaker(clock)

    def claim_s(self) -> float:
        """Seconds until the next request may leave; it counts as sent."""
        return self.pace.reserve_s()

    def require_open(self, model: str) -> None:
        """Raise ModelError where the endpoint is to be left alone."""
        left_s = self._breaker.open_for_s()
        if left_s is not None:
            why = self._breaker.why.rstrip(".")
            text = f"the endpoint of the model '{model}' is left alone for {left_s:.0f} s more: {why}."
            raise ModelError(text, model=model, retryable=False)

    def answered(self) -> None:
        """A reply came."""
        self._breaker.record_success()

    def failed(self, error: ModelError) -> None:
        """No reply came: a refusal or a reply of no use comes from an endpoint that works."""
        if error.retry_after_s is not None:
            self.pace.pause_for(error.retry_after_s)
        is_outage = error.retryable and not isinstance(error, UnusableReply)
        if is_outage and (error.status is None or error.status >= _BROKEN):
            self._breaker.record_failure(str(error))
        else:
            self._breaker.record_success()

    def left(self) -> None:
        """Whoever asked went away before the reply."""
        self._breaker.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Full jitter between 0 and `base_s` doubled for each attempt, at most `cap_s`.

    What an endpoint asks to wait is waited, unless it is longer than `longest_wait_s`: then the error stands.
    """

    attempts: int = 3
    base_s: float = 0.5
    cap_s: float = 20.0
    longest_wait_s: float = 60.0

    def wait_s(self, attempt: int, *, asked_s: float | None, draw: float) -> float | None:
        """Seconds before attempt `attempt` (from 2), or None where it is not worth it. `draw` is in [0, 1)."""
        if attempt > self.attempts or (asked_s is not None and asked_s > self.longest_wait_s):
            return None
        jitter = draw * min(self.cap_s, self.base_s * 2.0 ** (attempt - 1))
        return jitter if asked_s is None else asked_s + jitter


def count_retries(budget: Budget, emitter: Emitter) -> Callable[[RetryScheduled], None]:
    """What tells of each retry and counts it. The listener raises BudgetExhausted where the run may have no more."""

    def tell(scheduled: RetryScheduled) -> None:
        one = Amount(retries=1)
        try:
            budget.reserve(one).settle(one)
        except BudgetExhausted as exhausted:
            emitter.emit(Warned(code="retries_used_up", text=f"{scheduled.what} is not sent again: {exhausted}"))
            raise
        emitter.emit(scheduled)

    return tell


class RetryModel:
    """A model that is asked again where that can help.

    `on_retry` may raise BudgetExhausted: the failure then stands. `gate` is shared with all who ask its endpoint.
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
        on_held: Callable[[RequestDelayed], None] = lambda _held: None,
    ) -> None:
        self._inner = inner
        self._gate = gate or RequestGate(clock)
        self._on_held = on_held
        self._clock = clock
        self._on_retry = on_retry
        self._policy = policy or RetryPolicy()
        self._draw = draw

    @property
    def name(self) -> str:
        """The name of the model behind."""
        return self._inner.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`. Text that was streamed is not streamed a second time: see `_StreamedText`."""
        shown = None if on_text is None else _StreamedText(on_text)
        attempt = 1
        while True:
            try:
                await self._in_turn()
                reply = await self._through_gate(request, None if shown is None else shown.begin())
            except ModelError as error:
                attempt += 1
                await self._wait(error, attempt)
            else:
                if shown is not None:
                    shown.finish(reply.text)
                return replace(reply, requests=reply.requests + attempt - 1)

    async def aclose(self) -> None:
        """Close the model behind."""
        await self._inner.aclose()

    async def _in_turn(self) -> None:
        """Wait for as long as the endpoint allows nothing more."""
        wait_s = self._gate.claim_s()
        if wait_s > 0:
            why = "its endpoint says that it allows no more for now"
            self._on_held(RequestDelayed(what=f"model {self.name}", wait_s=wait_s, why=why))
            await self._clock.sleep(wait_s)

    async def _through_gate(self, request: ModelRequest, on_text: OnText | None) -> ModelReply:
        self._gate.require_open(self.name)
        try:
            reply = await self._inner.complete(request, on_text=on_text)
        except ModelError as error:
            self._gate.failed(error)
            raise
        except BaseException:
            self._gate.left()
            raise
        self._gate.answered()
        return reply

    async def _wait(self, error: ModelError, attempt: int) -> None:
        """Wait before `attempt`, or raise `error` where there will be none."""
        wait_s = self._policy.wait_s(attempt, asked_s=error.retry_after_s, draw=self._draw())
        if not error.retryable or wait_s is None:
            raise error
        try:
            self._on_retry(RetryScheduled(what=f"model {self.name}", attempt=attempt, wait_s=wait_s, why=str(error)))
        except BudgetExhausted:
            raise error from None
        await self._clock.sleep(wait_s)


class _StreamedText:
    """What was already streamed to the listener, over all attempts.

    A stream that breaks cannot be called back. The next attempt is held back, and when it is whole, either the rest
    of it is handed over (it begins like what was shown) or, after a blank line, all of it.
    """

    def __init__(self, on_text: OnText) -> None:
        self._on_text = on_text
        self._text = ""
        self._is_held = False

    def begin(self) -> OnText:
        """A listener for one attempt."""
        self._is_held = bool(self._text)
        return self._hold if self._is_held else self._show

    def finish(self, whole: str) -> None:
        """The attempt succeeded with `whole`."""
        if not self._is_held:
            return
        is_rest = whole.startswith(self._text)
        self._on_text(whole[len(self._text) :] if is_rest else f"\n\n{whole}")

    def _show(self, piece: str) -> None:
        self._text += piece
        self._on_text(piece)

    def _hold(self, _piece: str) -> None:
        """The whole text comes at the end."""
