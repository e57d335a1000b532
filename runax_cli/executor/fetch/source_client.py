"""Sends the requests of one call within its budget, concurrency and time limits, and reports them as events."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Protocol, TypeAlias, assert_never

from adapters.base import CallResult, Json, PageAddress
from adapters.errors import SourceError, TimedOut
from adapters.source_events import (
    OnEvent,
    ProgressReported,
    RequestSent,
    RequestThrottled,
    RetryPlanned,
    RetryRefused,
    SourceEvent,
    SourceWarning,
)
from runax_cli.core.budget import Amount, Budget, Reservation
from runax_cli.core.errors import BudgetExhausted
from runax_cli.core.event_types import RequestDelayed, RetryScheduled, SourceProgressed, SourceRequested, Warned
from runax_cli.executor.fetch.call_limits import Deadline
from runax_cli.executor.outcome import CallScope, DecidedCall
from runax_cli.models.retry import count_retries

SendRequest: TypeAlias = Callable[[PageAddress | None], Awaitable[CallResult]]
"""Sends the request for one page of a call, as `SourceClient` does."""

SLOW_AFTER_S = 5.0
"""A request that takes longer frees its slot, so that a source that hangs does not block those that answer."""


class ConcurrencyLimiter:
    """Limits the requests in flight to `limit`. A slow request continues but no longer counts."""

    def __init__(self, limit: int, *, slow_after_s: float = SLOW_AFTER_S) -> None:
        self._free = asyncio.Semaphore(limit)
        self._slow_after_s = slow_after_s

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold a slot for the duration of a block, at most until the request counts as slow."""
        await self._free.acquire()
        early_release = asyncio.get_running_loop().call_later(self._slow_after_s, self._free.release)
        try:
            yield
        finally:
            if early_release.when() > asyncio.get_running_loop().time():
                early_release.cancel()
                self._free.release()


class Source(Protocol):
    """Answers requests of tools: a catalog of sources, or one source."""

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ...,
    ) -> CallResult:
        """Send one request, with its retries. Raises SourceError."""


class SourceClient:
    """Sends the requests of one call. `requests` counts them, including retries."""

    def __init__(
        self,
        source: Source,
        call: DecidedCall,
        *,
        scope: CallScope,
        slots: asyncio.Semaphore,
        max_attempts: int,
        limiter: ConcurrencyLimiter | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        self.requests = 0
        self._source = source
        self._call = call
        self._scope = scope
        self._slots, self._limiter, self._deadline = slots, limiter, deadline
        self._max_attempts, self._worst_case = max_attempts, Amount(requests=max_attempts)
        self._count_retry = count_retries(scope.budget, scope.emitter)

    async def __call__(self, page: PageAddress | None) -> CallResult:
        """Return the response for one page. Raises SourceError, and BudgetExhausted before anything is sent."""
        async with self._slots, self._limiter_slot(), self._scope.budget.reservation(self._worst_case) as reservation:
            used, extra = 0, _ExtraRequests(self._scope.budget)
            try:
                result = await self._send(page, lambda event: self._handle_event(event, extra))
                used = result.requests
            except SourceError as error:
                used = error.requests
                raise
            finally:
                self.requests += used
                extra.release()
                if used:
                    reservation.settle(Amount(requests=used))
            return result

    def _limiter_slot(self) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self._limiter is None else self._limiter.slot()

    async def _send(self, page: PageAddress | None, observer: OnEvent) -> CallResult:
        """Send a request within the time left for the call. A request that times out counts as one request."""
        tool, deadline = self._call.tool, self._deadline
        if deadline is None:
            return await self._source.call(tool.name, self._call.arguments, page, observer=observer)
        try:
            async with asyncio.timeout(deadline.remaining_s) as limit:
                return await self._source.call(tool.name, self._call.arguments, page, observer=observer)
        except TimeoutError:
            if not limit.expired():
                raise
            text = f"the call timed out after {deadline.limit_s:g} s; raise the limit with --call-timeout"
            raise TimedOut(text, source=tool.source, location=tool.locator) from None

    def _handle_event(self, event: SourceEvent, extra: "_ExtraRequests") -> None:
        emit = self._scope.emitter.emit
        match event:
            case RequestSent():
                emit(SourceRequested(source=event.source, location=event.location))
            case RetryPlanned():
                self._approve_retry(event, extra)
            case RequestThrottled():
                emit(RequestDelayed(what=event.location, wait_s=event.wait_s, why=event.reason))
            case ProgressReported(source, location, done, total, text):
                emit(SourceProgressed(source=source, location=location, done=done, total=total, text=text))
            case SourceWarning():
                emit(Warned(code=event.code, text=f"{event.tool}: {event.text}"))
            case _:
                assert_never(event)

    def _approve_retry(self, planned: RetryPlanned, extra: "_ExtraRequests") -> None:
        """Count a planned retry against the budget. Raises RetryRefused if no request is left."""
        try:
            if planned.attempt > self._max_attempts:
                extra.reserve()
            self._count_retry(
                RetryScheduled(
                    what=planned.location, attempt=planned.attempt, wait_s=planned.wait_s, why=planned.reason
                )
            )
        except BudgetExhausted as exhausted:
            raise RetryRefused(str(exhausted)) from exhausted


class _ExtraRequests:
    """Reservations for requests beyond `max_attempts` of one page, as waiting for the end of an outage needs them."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._reservations: list[Reservation] = []

    def reserve(self) -> None:
        """Reserve one more request. Raises BudgetExhausted."""
        self._reservations.append(self._budget.reserve(Amount(requests=1)))

    def release(self) -> None:
        """Release the reservations; the requests that were really sent are settled with the page."""
        for reservation in self._reservations:
            reservation.settle(Amount())
