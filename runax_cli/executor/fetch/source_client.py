"""The sender: one request of a call at a time, under the budget, with what happens on the way told as events.

Knows the source, the call's arguments, the budget of requests and the limit of concurrent ones. Knows no page's
content.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol, assert_never

from adapters.base import CallResult, Json, PageAddress
from adapters.clock import Clock
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
from runax_cli.executor.outcome import CallScope, DecidedCall
from runax_cli.executor.store.dataset import Dataset
from runax_cli.models.retry import count_retries


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """Caps of one call."""

    pages: int = 20_000
    records: int = 10_000_000
    n_bytes: int = 16 * 1024**3
    seconds: float = 3600.0


class Deadline:
    """Until when one call may send requests, from the moment this is made."""

    def __init__(self, limit_s: float, clock: Clock) -> None:
        self.limit_s = limit_s
        self._clock, self._until = clock, clock.monotonic() + limit_s

    @classmethod
    def of(cls, limit_s: float | None, clock: Clock) -> "Deadline | None":
        """The deadline by a limit; None for none."""
        return None if limit_s is None else cls(limit_s, clock)

    @property
    def left_s(self) -> float:
        """Seconds that are left; 0 where none are."""
        return max(0.0, self._until - self._clock.monotonic())


class CallCaps:
    """The limits of one call, held against what it has on disk. The time runs from the moment this is made."""

    def __init__(self, limits: FetchLimits, dataset: Dataset, clock: Clock) -> None:
        self.limits = limits
        self._dataset, self._clock = dataset, clock
        self._until = clock.monotonic() + limits.seconds

    def passed(self) -> str | None:
        """Which cap is reached, in words; None while all hold. A cap of records or bytes is told once it is passed."""
        limits, spool = self.limits, self._dataset.spool
        if len(spool.entries) >= limits.pages:
            return f"the cap of {limits.pages:,} pages of one call is reached"
        if self._dataset.n_records > limits.records:
            return f"the cap of {limits.records:,} records of one call is reached"
        if spool.n_bytes > limits.n_bytes:
            return f"the cap of {limits.n_bytes:,} bytes of one call is reached"
        if self._clock.monotonic() >= self._until:
            return f"the cap of {limits.seconds:,.0f} seconds of one call is reached"
        return None


PATIENCE_S = 5.0
"""A request that takes longer gives its place to another: a source that hangs must not stop those that answer."""


class ConcurrencyLimiter:
    """At most `most` holders at once that are not overdue. An overdue one goes on, and is not counted any more."""

    def __init__(self, most: int, *, patience_s: float = PATIENCE_S) -> None:
        self._free = asyncio.Semaphore(most)
        self._patience_s = patience_s

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Hold a place for a block, as long as patience lasts."""
        await self._free.acquire()
        overdue = asyncio.get_running_loop().call_later(self._patience_s, self._free.release)
        try:
            yield
        finally:
            if overdue.when() > asyncio.get_running_loop().time():
                overdue.cancel()
                self._free.release()


class Source(Protocol):
    """Whoever answers a tool's request: a catalog of sources, or one source."""

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ...,
    ) -> CallResult:
        """Send one request (and its retries). Raises SourceError."""


class SourceClient:
    """Sends the requests of one call; `requests` counts them, retries included."""

    def __init__(
        self,
        source: Source,
        call: DecidedCall,
        *,
        scope: CallScope,
        slots: asyncio.Semaphore,
        max_attempts: int,
        places: ConcurrencyLimiter | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        self.requests = 0
        self._source = source
        self._call = call
        self._scope = scope
        self._slots, self._places, self._deadline = slots, places, deadline
        self._max_attempts, self._worst = max_attempts, Amount(requests=max_attempts)
        self._count_retry = count_retries(scope.budget, scope.emitter)

    async def __call__(self, page: PageAddress | None) -> CallResult:
        """The response to one page's request. Raises SourceError, and BudgetExhausted before anything is sent."""
        async with self._slots, self._placed(), self._scope.budget.reservation(self._worst) as reservation:
            used, further = 0, _ExtraRequests(self._scope.budget)
            try:
                result = await self._in_time(page, lambda notice: self._tell(notice, further))
                used = result.requests
            except SourceError as error:
                used = error.requests
                raise
            finally:
                self.requests += used
                further.give_back()
                if used:
                    reservation.settle(Amount(requests=used))
            return result

    def _placed(self) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self._places is None else self._places.held()

    async def _in_time(self, page: PageAddress | None, observer: OnEvent) -> CallResult:
        """The response, within what is left of the call's time. What was sent by then counts as one request."""
        tool, deadline = self._call.tool, self._deadline
        if deadline is None:
            return await self._source.call(tool.name, self._call.arguments, page, observer=observer)
        try:
            async with asyncio.timeout(deadline.left_s) as limit:
                return await self._source.call(tool.name, self._call.arguments, page, observer=observer)
        except TimeoutError:
            if not limit.expired():
                raise
            text = f"the {deadline.limit_s:g} s that one call may take are used up; raise them with --call-timeout"
            raise TimedOut(text, source=tool.source, location=tool.locator) from None

    def _tell(self, notice: SourceEvent, further: "_ExtraRequests") -> None:
        emit = self._scope.emitter.emit
        match notice:
            case RequestSent():
                emit(SourceRequested(source=notice.source, location=notice.location))
            case RetryPlanned():
                self._repeat(notice, further)
            case RequestThrottled():
                emit(RequestDelayed(what=notice.location, wait_s=notice.wait_s, why=notice.why))
            case ProgressReported(source, location, done, total, text):
                emit(SourceProgressed(source=source, location=location, done=done, total=total, text=text))
            case SourceWarning():
                emit(Warned(code=notice.code, text=f"{notice.tool}: {notice.text}"))
            case _:
                assert_never(notice)

    def _repeat(self, planned: RetryPlanned, further: "_ExtraRequests") -> None:
        try:
            if planned.attempt > self._max_attempts:
                further.reserve()
            self._count_retry(
                RetryScheduled(what=planned.location, attempt=planned.attempt, wait_s=planned.wait_s, why=planned.why)
            )
        except BudgetExhausted as exhausted:
            raise RetryRefused(str(exhausted)) from exhausted


class _ExtraRequests:
    """Requests beyond the worst case that was set aside for one page, as an outage that is waited out takes."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._held: list[Reservation] = []

    def reserve(self) -> None:
        """Set one more aside, or raise BudgetExhausted."""
        self._held.append(self._budget.reserve(Amount(requests=1)))

    def give_back(self) -> None:
        """What was really sent is settled with the page."""
        for reservation in self._held:
            reservation.settle(Amount())
