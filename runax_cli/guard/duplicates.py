"""Find duplicate calls: calls that were made before in this turn, or twice in one step.

Calls are compared by fingerprints of tool and arguments. Pure.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

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
class SuppressCall:
    """Block a duplicate: the call succeeded before (its records are in `dataset`), or it failed too often."""

    dataset: str | None
    has_failed: bool = False


@dataclass(frozen=True, slots=True)
class SameStep:
    """Block a call that was requested twice in this step; `index` is the one that runs."""

    index: int


def find_duplicate(
    call: CandidateCall, index: int, *, before: CallHistory, first_index: Mapping[str, int], version: int
) -> SuppressCall | SameStep | None:
    """Return why a call is blocked as a duplicate; None if it may run.

    A successful read may be repeated once there is new evidence, a write never. A read may fail twice, a write once.
    `index` is the call's position in its step, `first_index` the first position of each fingerprint.
    """
    is_read = call.tool.effect is Effect.READ
    is_answered = before.is_success and (before.version == version or not is_read)
    if is_answered and not (is_read and call.tool.requires_fresh_input):
        return SuppressCall(before.dataset)
    if before.failures >= (MAX_FAILURES if is_read else 1):
        return SuppressCall(None, has_failed=True)
    return SameStep(first_index[call.fingerprint]) if first_index[call.fingerprint] != index else None


_WORD = re.compile(r"\w+")


def fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Fingerprint a call: tool, arguments, focus, need. Case and white space of the focus are ignored."""
    focus = " ".join(unicodedata.normalize("NFC", arguments.focus or "").casefold().split())
    return _digest([tool, _canonical(arguments.api), focus, arguments.need, arguments.at_most])


def near_fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Fingerprint a call by tool and arguments, ignoring case and order of words, to find near duplicates."""
    return _digest([tool, _near(_canonical(arguments.api)), arguments.at_most])


def data_fingerprint(tool: str, arguments: SplitArguments) -> str:
    """Fingerprint the data of a call: tool and arguments, regardless of the focus."""
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
