"""Schedule the calls of one step: which run, in which order, and which are blocked or deferred. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from adapters.base import Effect, ToolSpec
from runax_cli.guard.duplicates import CallHistory, CandidateCall, SameStep, SuppressCall, find_duplicate


@dataclass(frozen=True, slots=True)
class RunCall:
    """Run the call in the wave of this number. Calls of one wave may run concurrently."""

    wave: int


@dataclass(frozen=True, slots=True)
class DeferCall:
    """Defer the call: another call of the step runs alone (`waits_for`), and the model decides again after it."""

    waits_for: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OverLimit:
    """Block the call: the turn has no calls left."""


Decision: TypeAlias = RunCall | SuppressCall | SameStep | DeferCall | OverLimit


def schedule(
    calls: Sequence[CandidateCall], history: Mapping[str, CallHistory], *, calls_left: int | None, version: int = 0
) -> tuple[Decision, ...]:
    """Return one decision per call, in order. `calls_left` None means no limit; `version` is that of the evidence."""
    first_index = _first_index(calls)
    decisions: list[Decision | None] = [
        find_duplicate(
            call, index, before=history.get(call.fingerprint, CallHistory()), first_index=first_index, version=version
        )
        for index, call in enumerate(calls)
    ]
    runnable = [index for index, decision in enumerate(decisions) if decision is None]
    for index, decision in _deferred(calls, runnable):
        decisions[index] = decision
    waves = _waves(calls, [index for index in runnable if decisions[index] is None], calls_left=calls_left)
    return tuple(decision or waves[index] for index, decision in enumerate(decisions))


def _first_index(calls: Sequence[CandidateCall]) -> dict[str, int]:
    first: dict[str, int] = {}
    for index, call in enumerate(calls):
        first.setdefault(call.fingerprint, index)
    return first


def _deferred(calls: Sequence[CandidateCall], runnable: Sequence[int]) -> Iterator[tuple[int, DeferCall]]:
    """Defer all other calls if one of them runs alone."""
    alone = next((index for index in runnable if _runs_alone(calls[index].tool)), None)
    for index in runnable:
        if alone is not None and index != alone:
            yield index, DeferCall((calls[alone].tool.name,))


def _runs_alone(tool: ToolSpec) -> bool:
    return tool.requires_fresh_input or not tool.parallel_safe


def _waves(calls: Sequence[CandidateCall], indices: Sequence[int], *, calls_left: int | None) -> dict[int, Decision]:
    """Group consecutive calls that may run concurrently into waves; a write has its own wave."""
    decided: dict[int, Decision] = {}
    wave, is_open = -1, False
    for position, index in enumerate(indices):
        if calls_left is not None and position >= calls_left:
            decided[index] = OverLimit()
            continue
        can_join_wave = not _runs_alone(calls[index].tool) and calls[index].tool.effect is Effect.READ
        if not (is_open and can_join_wave):
            wave += 1
        is_open = can_join_wave
        decided[index] = RunCall(wave)
    return decided
