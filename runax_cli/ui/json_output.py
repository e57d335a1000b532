"""JSON output on stdout: `-o json` prints one object, `-o jsonl` one line per event.

A stream of events ends with exactly one `run.finished`.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pydantic import TypeAdapter

from runax_cli.core import event_types as ev
from runax_cli.core.events import EVENT_VERSION, Event, Stamp
from runax_cli.core.results import RunResult
from runax_cli.ui.console import Environment, SafeStream

_UNSAFE = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def to_json(value: Any, *, is_ascii: bool = False) -> str:
    r"""`value` as compact JSON on one line. Control characters and unencodable characters are escaped as `\uXXXX`."""
    text = json.dumps(_finite(value), ensure_ascii=is_ascii, separators=(",", ":"), default=str, allow_nan=False)
    return escape_controls(text)


def escape_controls(json_text: str) -> str:
    r"""Encoded JSON with all control characters escaped as `\uXXXX`."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)


def _finite(value: Any) -> Any:
    """`value` with NaN and infinity replaced by None."""
    match value:
        case float():
            return value if value - value == 0 else None
        case dict():
            return {str(key): _finite(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_finite(inner) for inner in value]
        case _:
            return value


def line_schema() -> dict[str, Any]:
    """The JSON Schema of one line: the fields of its event type and those common to all events."""
    schema: dict[str, Any] = TypeAdapter(ev.AnyEvent).json_schema()
    stamp: dict[str, Any] = TypeAdapter(Stamp).json_schema()
    head = {
        "v": {"const": EVENT_VERSION},
        "seq": {"type": "integer", "minimum": 1},
        "ts": {"type": "string", "format": "date-time"},
    }
    for reference in schema["discriminator"]["mapping"].values():
        kind = schema["$defs"][reference.rpartition("/")[2]]
        kind["properties"] = head | stamp["properties"] | kind["properties"]
        kind["required"] = [*head, *stamp["required"], "type", *kind.get("required", ())]
    return schema


class JsonAnswer:
    """The result as one object."""

    def __init__(self, env: Environment) -> None:
        self._outlet = SafeStream(env.stdout)

    def emit(self, event: Event) -> None:
        """Events are not part of the object."""

    def finish(self, result: RunResult) -> None:
        """Print the object."""
        self._outlet.line(to_json(result.model_dump(mode="json"), is_ascii=not self._outlet.is_unicode))


def _utc_now() -> datetime:
    return datetime.now(UTC)


class JsonlAnswer:
    """One flushed line per event. After `run.finished`, nothing is written until another run starts."""

    def __init__(self, env: Environment, *, now: Callable[[], datetime] = _utc_now) -> None:
        self._outlet = SafeStream(env.stdout)
        self._now = now
        self._last_seq = 0
        self._is_finished = False

    def emit(self, event: Event) -> None:
        """Print one event."""
        if self._is_finished and not isinstance(event.body, ev.RunStarted):
            return
        self._last_seq = event.seq
        self._is_finished = isinstance(event.body, ev.RunFinished)
        self._outlet.line(to_json(event.as_json(), is_ascii=not self._outlet.is_unicode))

    def finish(self, result: RunResult) -> None:
        """Print `run.finished` if the run ended without it, for example because it could not start."""
        stamp = Stamp(run_id=result.run_id, session_id=result.session_id, span_id=uuid4().hex[:16])
        self.emit(Event(self._last_seq + 1, self._now(), stamp, ev.RunFinished(result=result)))
