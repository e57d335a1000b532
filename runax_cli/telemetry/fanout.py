"""One stream of events, many listeners.

Knows sinks only. A listener that fails is heard of once and loses no other listener an event.
"""

import logging
from collections.abc import Sequence

from runax_cli.events import Event, EventSink

_log = logging.getLogger(__name__)


class FanOutSink:
    """Hands each event to every sink, in their order.

    A sink must not raise; one that does all the same is reported once with its error, and is asked again at the next
    event: a run is worth more than its display.
    """

    def __init__(self, sinks: Sequence[EventSink]) -> None:
        self._sinks = tuple(sinks)
        self._reported: set[int] = set()

    def emit(self, event: Event) -> None:
        """Hand one event to everybody."""
        for position, sink in enumerate(self._sinks):
            try:
                sink.emit(event)
            except Exception:
                if position not in self._reported:
                    self._reported.add(position)
                    _log.exception("the listener '%s' failed at '%s'", type(sink).__name__, event.body.type)
