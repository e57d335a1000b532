"""One stream of typed events: what a user may see, and what the log, metrics and traces record.

`Emitter` stamps an event body with the run, span, part, call and role it belongs to and hands it to a sink. The bodies
are in `event_types`.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import uuid4

from runax_cli.core.event_types import AnyEvent

EVENT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The context of an event: its run, span, part of the question, call and model role."""

    run_id: str
    session_id: str
    span_id: str
    parent_id: str | None = None
    sub_question: int | None = None
    call_id: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One event with its order (`seq`, from 1), time and context."""

    seq: int
    ts: datetime
    stamp: Stamp
    body: AnyEvent

    def as_json(self) -> dict[str, Any]:
        """The flat object of the JSONL stream: `{v, seq, ts, run_id, type, …}`."""
        head = {"v": EVENT_VERSION, "seq": self.seq, "ts": self.ts.isoformat()}
        context = {name: getattr(self.stamp, name) for name in Stamp.__slots__}
        return head | {k: v for k, v in context.items() if v is not None} | self.body.model_dump(mode="json")


class EventSink(Protocol):
    """A consumer of events. `emit` must not block and must not raise."""

    def emit(self, event: Event) -> None:
        """Receive one event."""


class CollectingSink:
    """Keeps every event in memory."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Emitter:
    """Stamps event data and passes it to a sink. Children share the sink and the numbering and narrow the context."""

    sink: EventSink
    stamp: Stamp
    numbers: Iterator[int]
    now: Callable[[], datetime] = _utc_now

    @classmethod
    def for_run(
        cls, sink: EventSink, *, run_id: str, session_id: str, now: Callable[[], datetime] = _utc_now
    ) -> "Emitter":
        """The root emitter of a run."""
        return cls(sink, Stamp(run_id=run_id, session_id=session_id, span_id=_span_id()), itertools.count(1), now)

    def emit(self, body: AnyEvent) -> None:
        """Send one event."""
        self.sink.emit(Event(next(self.numbers), self.now(), self.stamp, body))

    def child(
        self, *, sub_question: int | None = None, call_id: str | None = None, role: str | None = None
    ) -> "Emitter":
        """An emitter for a span inside this one; arguments that are not given are inherited."""
        stamp = self.stamp
        inner = replace(
            stamp,
            span_id=_span_id(),
            parent_id=stamp.span_id,
            sub_question=stamp.sub_question if sub_question is None else sub_question,
            call_id=call_id or stamp.call_id,
            role=role or stamp.role,
        )
        return replace(self, stamp=inner)


def _span_id() -> str:
    return uuid4().hex[:16]
