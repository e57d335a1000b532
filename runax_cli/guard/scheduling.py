"""Which of the calls asked for in one step run, in which order, and which do not.

A pure function of values: calls that were asked for, what became of earlier ones, and limits. Knows nothing of time,
of arguments (only their fingerprints) and of how a call runs.
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
    """A valid call that the model asks for."""

    tool: ToolSpec
    fingerprint: str


@dataclass(frozen=True, slots=True)
class CallHistory:
    """What became of earlier calls with one fingerprint in this turn, as far as the model can still see it.

    `version` is that of the evidence after the step of the last one.
    """

    is_success: bool = False
    dataset: str | None = None
    failures: int = 0
    version: int = 0

    def after(self, *, is_success: bool, dataset: str | None = None) -> "CallHistory":
        """The same with one more call."""
        if is_success:
            return replace(self, is_success=True, dataset=dataset)
        return replace(self, failures=self.failures + 1)

    def at(self, version: int) -> "CallHistory":
        """The same, with the version of the evidence that there was after its step."""
        return replace(self, version=version)


@dataclass(frozen=True, slots=True)
class RunCall:
    """The call is made, in the wave of that number; calls of one wave may run at the same time."""

    wave: int


@dataclass(frozen=True, slots=True)
class SuppressCall:
    """The call was made before: its result stands above (in `dataset`), or it failed as often as is worth trying."""

    dataset: str | None
    has_failed: bool = False


@dataclass(frozen=True, slots=True)
class SameStep:
    """The same call was asked for twice in this step; `index` is the one that is made."""

    index: int


@dataclass(frozen=True, slots=True)
class DeferCall:
    """The call was asked for in one step with one that runs alone (the named tool): the model is to decide again."""

    waits_for: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OverLimit:
    """No more calls may be made in this turn."""


Decision: TypeAlias = RunCall | SuppressCall | SameStep | DeferCall | OverLimit


def schedule(
    asked: Sequence[CandidateCall], past: Mapping[str, CallHistory], *, calls_left: int | None, version: int = 0
) -> tuple[Decision, ...]:
    """One decision for each call, in order. `calls_left` None is no limit; `version` is that of the evidence now."""
    first = _first_of_each(asked)
    decisions: list[Decision | None] = [
        _without_running(call, index, before=past.get(call.fingerprint, CallHistory()), first=first, version=version)
        for index, call in enumerate(asked)
    ]
    runnable = [index for index, decision in enumerate(decisions) if decision is None]
    for index, decision in _deferred(asked, runnable):
        decisions[index] = decision
    waves = _waves(asked, [index for index in runnable if decisions[index] is None], calls_left=calls_left)
    return tuple(decision or waves[index] for index, decision in enumerate(decisions))


def _first_of_each(asked: Sequence[CandidateCall]) -> dict[str, int]:
    first: dict[str, int] = {}
    for index, call in enumerate(asked):
        first.setdefault(call.fingerprint, index)
    return first


def _without_running(
    call: CandidateCall, index: int, *, before: CallHistory, first: Mapping[str, int], version: int
) -> SuppressCall | SameStep | None:
    is_read = call.tool.effect is Effect.READ
    is_answered = before.is_success and (before.version == version or not is_read)
    if is_answered and not (is_read and call.tool.requires_fresh_input):
        return SuppressCall(before.dataset)
    if before.failures >= (MAX_FAILURES if is_read else 1):
        return SuppressCall(None, has_failed=True)
    return SameStep(first[call.fingerprint]) if first[call.fingerprint] != index else None


def _deferred(asked: Sequence[CandidateCall], runnable: Sequence[int]) -> Iterator[tuple[int, DeferCall]]:
    """Where one of the calls runs alone, the others wait for the model to decide again."""
    alone = next((index for index in runnable if _runs_alone(asked[index].tool)), None)
    for index in runnable:
        if alone is not None and index != alone:
            yield index, DeferCall((asked[alone].tool.name,))


def _runs_alone(tool: ToolSpec) -> bool:
    return tool.requires_fresh_input or not tool.parallel_safe


def _waves(asked: Sequence[CandidateCall], indices: Sequence[int], *, calls_left: int | None) -> dict[int, Decision]:
    """Neighbours that may run at the same time share a wave; a write has its own."""
    decided: dict[int, Decision] = {}
    wave, is_open = -1, False
    for position, index in enumerate(indices):
        if calls_left is not None and position >= calls_left:
            decided[index] = OverLimit()
            continue
        bears_company = not _runs_alone(asked[index].tool) and asked[index].tool.effect is Effect.READ
        if not (is_open and bears_company):
            wave += 1
        is_open = bears_company
        decided[index] = RunCall(wave)
    return decided


_WORD = re.compile(r"\w+")


def fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Of the tool, its arguments and what the call is for; case and white space of the focus do not count."""
    focus = " ".join(unicodedata.normalize("NFC", arguments.focus or "").casefold().split())
    return _digest([tool, _canonical(arguments.api), focus, arguments.need, arguments.at_most])


def near_fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Of the tool and its arguments without case and order of words: equal for calls that ask for nearly the same."""
    return _digest([tool, _near(_canonical(arguments.api)), arguments.at_most])


def data_fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Of the tool and the data it asks for alone, whatever the call is for."""
    return _digest([tool, _canonical(arguments.api), arguments.at_most])


def _canonical(value: Any) -> Any:
    """Integral floats as integers, text in one normal form without white space around it.

    The order of members is left to the serialiser.
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
