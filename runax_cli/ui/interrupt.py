"""Ctrl-C during a turn: the first one cancels the turn, a second one within two seconds aborts the process.

A cancelled turn keeps its stored data; an aborted one is not awaited.
"""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from adapters.clock import Clock, SystemClock

ABORT_WITHIN_S = 2.0
_T = TypeVar("_T")


class Interrupts:
    """Decides what a Ctrl-C means: cancel, or abort if the previous one was less than two seconds ago."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._last_s: float | None = None

    def is_abort(self) -> bool:
        """Record a Ctrl-C; whether it aborts."""
        now_s, last_s = self._clock.monotonic(), self._last_s
        self._last_s = now_s
        return last_s is not None and now_s - last_s <= ABORT_WITHIN_S


async def run_interruptible(turn: Coroutine[Any, Any, _T], *, clock: Clock | None = None) -> _T:
    """Run `turn` as a child task that Ctrl-C cancels.

    Raises CancelledError when a cancelled turn has ended, and KeyboardInterrupt immediately when it is aborted. Must
    be called in the main thread, which receives signals.
    """
    loop = asyncio.get_running_loop()
    interrupts = Interrupts(clock=clock or SystemClock())
    aborted: asyncio.Future[None] = loop.create_future()
    task = asyncio.ensure_future(turn)
    # Retrieve the exception of an aborted turn, which asyncio would print otherwise.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def on_signal() -> None:
        if interrupts.is_abort() and not aborted.done():
            aborted.set_result(None)
        task.cancel()

    loop.add_signal_handler(signal.SIGINT, on_signal)
    futures: set[asyncio.Future[Any]] = {task, aborted}
    try:
        await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
        if aborted.done():
            raise KeyboardInterrupt
        return task.result()
    except asyncio.CancelledError:
        # If this coroutine is cancelled from outside, the task must not outlive it.
        task.cancel()
        await asyncio.wait({task})
        raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        aborted.cancel()
