"""Limits of one call: pages, records, bytes and time."""

from dataclasses import dataclass

from adapters.clock import Clock
from runax_cli.core.results import counted
from runax_cli.executor.store.dataset import Dataset

DEFAULT_CALL_TIMEOUT_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """How much one call may fetch. The time limit is a `Deadline`."""

    pages: int = 20_000
    records: int = 10_000_000
    n_bytes: int = 16 * 1024**3


class Deadline:
    """The time limit of one call, counted from the creation of this object. Requests and the fetch share it."""

    def __init__(self, limit_s: float, clock: Clock) -> None:
        self.limit_s = limit_s
        self._clock, self._ends_at = clock, clock.monotonic() + limit_s

    @property
    def remaining_s(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self._ends_at - self._clock.monotonic())

    @property
    def is_expired(self) -> bool:
        """Whether no time is left."""
        return self.remaining_s <= 0


class LimitChecker:
    """Compares what a call has on disk with its limits."""

    def __init__(self, limits: CallLimits, deadline: Deadline, dataset: Dataset) -> None:
        self.limits = limits
        self._deadline, self._dataset = deadline, dataset

    def exceeded(self) -> str | None:
        """Describe the limit that is reached, or return None. Records and bytes may reach their limit exactly."""
        limits, spool = self.limits, self._dataset.spool
        if len(spool.entries) >= limits.pages:
            return f"the limit of {counted(limits.pages, 'page')} per call is reached"
        if self._dataset.n_records > limits.records:
            return f"the limit of {counted(limits.records, 'record')} per call is reached"
        if spool.n_bytes > limits.n_bytes:
            return f"the limit of {counted(limits.n_bytes, 'byte')} per call is reached"
        if self._deadline.is_expired:
            return f"the call timed out after {self._deadline.limit_s:,.0f} s (--call-timeout)"
        return None
