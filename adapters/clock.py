"""Time as a seam: what is now, and wait until later.

Knows seconds. Nothing that decides by time reads another clock.
"""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Monotonic seconds, wall seconds since the epoch, and a way to wait."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    def wall(self) -> float:
        """Seconds since 1970-01-01 UTC."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's clock."""

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
    """A clock that moves only when somebody sleeps on it; sleeping yields once to the loop and takes no time."""

    def __init__(self, start: float = 0.0) -> None:
        self.now = start
        self.slept: list[float] = []

    def monotonic(self) -> float:
        """The hand of this clock."""
        return self.now

    def wall(self) -> float:
        """The hand of this clock, read as wall time."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Move the hand on."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
