"""Clocks: reading the time and sleeping, with a manual clock for tests. Nothing that depends on time uses another."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Reads the time and sleeps."""

    def monotonic(self) -> float:
        """Return seconds of a clock that never goes back."""

    def wall(self) -> float:
        """Return seconds since 1970-01-01 UTC."""

    async def sleep(self, seconds: float) -> None:
        """Sleep for some seconds."""


class SystemClock:
    """The system's clock."""

    def monotonic(self) -> float:
        """See `time.monotonic`."""
        return time.monotonic()

    def wall(self) -> float:
        """See `time.time`."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """See `asyncio.sleep`."""
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that only `sleep` advances; sleeping takes no time, but yields once to the event loop."""

    def __init__(self, start: float = 0.0) -> None:
        self.now = start
        self.slept: list[float] = []

    def monotonic(self) -> float:
        """Return the current time of this clock."""
        return self.now

    def wall(self) -> float:
        """Return the current time of this clock as wall time."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Advance the clock and record the wait in `slept`."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
