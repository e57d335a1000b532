"""Caps of one call: the most pages, records, bytes and seconds that fetching may take.

Knows figures and a clock. Knows nothing of what is fetched. They end what would not end by itself: a source that makes
up another page for ever costs so much and no more.
"""

from dataclasses import dataclass

from adapters.clock import Clock
from runax_cli.executor.dataset import Dataset


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


class Caps:
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
