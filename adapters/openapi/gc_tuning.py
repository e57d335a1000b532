"""Python's collector of cycles, told to look less often while a large value that stays is put together.

Knows the thresholds of the process, and that several threads may ask at once. Knows nothing of what is built. The
collector is never off: after so many new containers it looks, as always, and what came meanwhile counts as old.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

RELAXED_THRESHOLD = 200_000
"""How many may come before the collector looks: some 40 MB, if all of them were garbage in cycles."""


class _GcThreshold:
    """The threshold of the process while somebody asks for it; as it was before when the last one leaves."""

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
        """Put the threshold back, unless somebody else has changed it meanwhile."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._original is not None:
                if gc.get_threshold()[0] == RELAXED_THRESHOLD:
                    _promote_to_oldest_generation()
                    gc.set_threshold(*self._original)
                self._original = None


def _promote_to_oldest_generation() -> None:
    """Count what is new among the old, which are looked at in a full collection: else all of it would be at once.

    What somebody has frozen must stay so; then nothing is done.
    """
    if gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()


_threshold = _GcThreshold()


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """While this is open in any thread, cycles are looked for once in `RELAXED_THRESHOLD` new containers."""
    _threshold.enter()
    try:
        yield
    finally:
        _threshold.exit()
