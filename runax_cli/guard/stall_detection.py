"""Detect that a turn no longer makes progress.

Evidence is the set of distinct results so far; it only grows, and its size is its version. A turn has stalled if its
steps repeat the same error, repeat the same calls, or return nothing new for several steps. Pure.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

SAME_ERROR_TIMES = 3
MAX_STEPS_WITHOUT_EVIDENCE = 4
_SAME_CALLS_TIMES = 3


class StallReason(StrEnum):
    """Why a turn has stalled."""

    SAME_ERROR = "same_error"
    CIRCLE = "circle"
    NOTHING_NEW = "nothing_new"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDigest:
    """One step: keys of its calls, its errors, and digests of its results."""

    calls: frozenset[str]
    errors: frozenset[str] = frozenset()
    results: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Stalled:
    """The turn has stalled; `error` is the repeated error, "" for other reasons."""

    kind: StallReason
    error: str = ""


@dataclass(frozen=True, slots=True)
class ProgressTracker:
    """The results of a turn, and its steps since (and including) the last one that returned a new result."""

    seen: frozenset[str] = frozenset()
    since: tuple[StepDigest, ...] = ()

    @property
    def version(self) -> int:
        """The version of the evidence, which changes with every new result."""
        return len(self.seen)

    def after(self, step: StepDigest) -> "ProgressTracker":
        """Return the tracker with one more step."""
        if step.results <= self.seen:
            return replace(self, since=(*self.since, step))
        return ProgressTracker(self.seen | step.results, (replace(step, errors=frozenset()),))

    @property
    def stalled(self) -> Stalled | None:
        """The reason to end the turn; None if it still makes progress."""
        steps = self.since[1:] if self.seen else self.since
        for error in sorted({error for step in self.since for error in step.errors}):
            if sum(error in step.errors for step in self.since) >= SAME_ERROR_TIMES:
                return Stalled(StallReason.SAME_ERROR, error)
        if self._repeats_calls(len(steps)):
            return Stalled(StallReason.CIRCLE)
        return Stalled(StallReason.NOTHING_NEW) if len(steps) >= MAX_STEPS_WITHOUT_EVIDENCE else None

    def _repeats_calls(self, n_steps: int) -> bool:
        """Whether the last steps made the same calls as those before them, without a new result."""
        calls = [step.calls for step in self.since]
        if len(calls) >= _SAME_CALLS_TIMES and len(set(calls[-_SAME_CALLS_TIMES:])) == 1:
            return True
        lengths = range(2, min(n_steps, len(calls) // 2) + 1)
        return any(calls[-length:] == calls[-2 * length : -length] for length in lengths)
