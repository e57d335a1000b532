"""Relaxed garbage collection while large values that stay are built.

Python's cycle collector examines new containers every 700 allocations, which costs 10 to 20 % of the time to load a
large document. The threshold is raised meanwhile and restored when the last thread is done; the collector is never off.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

RELAXED_THRESHOLD = 200_000
"""New containers between two collections; at most about 40 MB of garbage."""


class _GcThreshold:
    """The threshold of the process, raised while at least one thread asks for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._original: tuple[int, int, int] | None = None

    def enter(self) -> None:
        """Raise the threshold, unless it is higher already or the collector is off."""
        with self._lock:
            self._depth += 1
            own = gc.get_threshold()
            if self._depth == 1 and gc.isenabled() and 0 < own[0] < RELAXED_THRESHOLD:
                self._original = own
                gc.set_threshold(RELAXED_THRESHOLD, *own[1:])

    def exit(self) -> None:
        """Restore the threshold after the last thread, unless other code has changed it meanwhile."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._original is not None:
                if gc.get_threshold()[0] == RELAXED_THRESHOLD:
                    _promote_to_oldest_generation()
                    gc.set_threshold(*self._original)
                self._original = None


def _promote_to_oldest_generation() -> None:
    """Move all new containers to the oldest generation, so that the next allocation does not examine all of them.

    Does nothing if other code has frozen objects, since unfreezing would include them.
    """
    if gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()


_threshold = _GcThreshold()


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Collect garbage once in `RELAXED_THRESHOLD` new containers while this is open in any thread."""
    _threshold.enter()
    try:
        yield
    finally:
        _threshold.exit()
