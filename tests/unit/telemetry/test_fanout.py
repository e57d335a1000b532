import logging
from datetime import UTC, datetime

import pytest

from runax_cli.core import event_types as ev
from runax_cli.core.events import CollectingSink, Event, Stamp
from runax_cli.telemetry.recorder import FanOutSink


class Broken:
    """A listener that fails at everything."""

    def emit(self, event: Event) -> None:
        raise RuntimeError("no")


def event(seq: int) -> Event:
    stamp = Stamp(run_id="r", session_id="s", span_id="x")
    return Event(seq, datetime(2026, 1, 1, tzinfo=UTC), stamp, ev.Resumed(text="x"))


def test_every_listener_hears_every_event_in_order() -> None:
    first, second = CollectingSink(), CollectingSink()
    sink = FanOutSink([first, second])
    events = [event(1), event(2)]
    for each in events:
        sink.emit(each)
    assert first.events == second.events == events


def test_a_listener_that_fails_is_reported_once_and_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    kept = CollectingSink()
    sink = FanOutSink([Broken(), kept])
    with caplog.at_level(logging.ERROR):
        sink.emit(event(1))
        sink.emit(event(2))
    assert len(kept.events) == 2
    assert [record.getMessage() for record in caplog.records] == ["the listener 'Broken' failed at 'resumed'"]
