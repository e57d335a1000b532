"""Whether the steps of a turn still lead anywhere.

Evidence is the set of distinct results seen; it only grows, and its size is its version. A turn whose steps bring the
same error, the same calls in a circle, or nothing new for long has stalled. A pure function of values: knows keys and
digests, not what they stand for.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

SAME_ERROR_TIMES = 3
MAX_STEPS_WITHOUT_EVIDENCE = 4
_SAME_CALLS_TIMES = 3


class StallReason(StrEnum):
    """Why a turn leads nowhere."""

    SAME_ERROR = "same_error"
    CIRCLE = "circle"
    NOTHING_NEW = "nothing_new"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDigest:
    """What one step asked for and brought: keys of its calls, its errors, and digests of its results."""

    calls: frozenset[str]
    errors: frozenset[str] = frozenset()
    results: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Stalled:
    """The turn leads nowhere; `error` is the one that came again and again, "" where it is something else."""

    kind: StallReason
    error: str = ""


@dataclass(frozen=True, slots=True)
class ProgressTracker:
    """The results seen in a turn, and the steps since the last one that brought something new, which is the first."""

    seen: frozenset[str] = frozenset()
    since: tuple[StepDigest, ...] = ()

    @property
    def version(self) -> int:
        """Of the evidence: changes exactly when something new was seen."""
        return len(self.seen)

    def after(self, step: StepDigest) -> "ProgressTracker":
        """The same with one more step."""
        if step.results <= self.seen:
            return replace(self, since=(*self.since, step))
        return ProgressTracker(self.seen | step.results, (replace(step, errors=frozenset()),))

    @property
    def stalled(self) -> Stalled | None:
        """Why the turn should end, if it should."""
        without = self.since[1:] if self.seen else self.since
        for error in sorted({error for step in self.since for error in step.errors}):
            if sum(error in step.errors for step in self.since) >= SAME_ERROR_TIMES:
                return Stalled(StallReason.SAME_ERROR, error)
        if self._goes_in_a_circle(len(without)):
            return Stalled(StallReason.CIRCLE)
        return Stalled(StallReason.NOTHING_NEW) if len(without) >= MAX_STEPS_WITHOUT_EVIDENCE else None

    def _goes_in_a_circle(self, n_without: int) -> bool:
        """Whether the last steps ask for what those before them asked for, and bring nothing that is new."""
        asked = [step.calls for step in self.since]
        if len(asked) >= _SAME_CALLS_TIMES and len(set(asked[-_SAME_CALLS_TIMES:])) == 1:
            return True
        lengths = range(2, min(n_without, len(asked) // 2) + 1)
        return any(asked[-length:] == asked[-2 * length : -length] for length in lengths)
