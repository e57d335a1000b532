"""Schedule the calls of one step: which run, in which order, and which are blocked or deferred.

Duplicates are found by fingerprints of tool and arguments. Pure: a function of the calls, their history and limits.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from adapters.base import Effect, ToolSpec
from runax_cli.guard.visible_tool import SplitArguments

MAX_FAILURES = 2


@dataclass(frozen=True, slots=True)
class CandidateCall:
    """A valid call that the model requested."""

    tool: ToolSpec
    fingerprint: str


@dataclass(frozen=True, slots=True)
class CallHistory:
    """The earlier calls of this turn with one fingerprint, as far as the model can still see their results.

    `version` is that of the evidence after the step of the last call.
    """

    is_success: bool = False
    dataset: str | None = None
    failures: int = 0
    version: int = 0

    def after(self, *, is_success: bool, dataset: str | None = None) -> "CallHistory":
        """Return the history with one more call."""
        if is_success:
            return replace(self, is_success=True, dataset=dataset)
        return replace(self, failures=self.failures + 1)

    def at(self, version: int) -> "CallHistory":
        """Return the history with the version of the evidence after its step."""
        return replace(self, version=version)


@dataclass(frozen=True, slots=True)
class RunCall:
    """Run the call in the wave of this number. Calls of one wave may run concurrently."""

    wave: int


@dataclass(frozen=True, slots=True)
class SuppressCall:
    """Block a duplicate: the call succeeded before (its records are in `dataset`), or it failed too often."""

    dataset: str | None
    has_failed: bool = False


@dataclass(frozen=True, slots=True)
class SameStep:
    """Block a call that was requested twice in this step; `index` is the one that runs."""

    index: int


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
        _blocked(
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


def _blocked(
    call: CandidateCall, index: int, *, before: CallHistory, first_index: Mapping[str, int], version: int
) -> SuppressCall | SameStep | None:
    is_read = call.tool.effect is Effect.READ
    is_answered = before.is_success and (before.version == version or not is_read)
    if is_answered and not (is_read and call.tool.requires_fresh_input):
        return SuppressCall(before.dataset)
    if before.failures >= (MAX_FAILURES if is_read else 1):
        return SuppressCall(None, has_failed=True)
    return SameStep(first_index[call.fingerprint]) if first_index[call.fingerprint] != index else None


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


_WORD = re.compile(r"\w+")


def fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Fingerprint a call: tool, arguments, focus, need. Case and white space of the focus are ignored."""
    focus = " ".join(unicodedata.normalize("NFC", arguments.focus or "").casefold().split())
    return _digest([tool, _canonical(arguments.api), focus, arguments.need, arguments.at_most])


def near_fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Fingerprint a call by tool and arguments, ignoring case and order of words, to find near duplicates."""
    return _digest([tool, _near(_canonical(arguments.api)), arguments.at_most])


def data_fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Fingerprint the data of a call: tool and arguments, whatever the focus is."""
    return _digest([tool, _canonical(arguments.api), arguments.at_most])


def _canonical(value: Any) -> Any:
    """Normalize a value: integral floats become integers, text is stripped and in Unicode normal form C.

    The serializer sorts the members of objects.
    """
    match value:
        case dict():
            return {unicodedata.normalize("NFC", str(name)): _canonical(item) for name, item in value.items()}
        case list():
            return [_canonical(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case str():
            return unicodedata.normalize("NFC", value).strip()
        case _:
            return value


def _near(value: Any) -> Any:
    match value:
        case dict():
            return {name: _near(item) for name, item in value.items()}
        case list():
            return sorted((_near(item) for item in value), key=_digest)
        case str():
            return " ".join(sorted(_WORD.findall(unicodedata.normalize("NFKC", value).casefold())))
        case _:
            return value


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
