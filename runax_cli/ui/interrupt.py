"""Ctrl-C while a turn runs: the first cancels the turn, a second within two seconds aborts.

Knows a turn as an awaitable only. A turn that is cancelled keeps what it has stored; one that is aborted is not
waited for.
"""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from adapters.clock import Clock, SystemClock

ABORT_WITHIN_S = 2.0
_T = TypeVar("_T")


class Interrupts:
    """Decides what each Ctrl-C means: cancel, or abort where one came less than two seconds before."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._last_s: float | None = None

    def is_abort(self) -> bool:
        """Take note of a Ctrl-C; whether it aborts."""
        now_s, last_s = self._clock.monotonic(), self._last_s
        self._last_s = now_s
        return last_s is not None and now_s - last_s <= ABORT_WITHIN_S


async def run_interruptible(turn: Coroutine[Any, Any, _T], *, clock: Clock | None = None) -> _T:
    """Run `turn` as a child task that Ctrl-C cancels.

    Raises CancelledError when the turn was cancelled and has wound up, and KeyboardInterrupt at once when it is to
    be aborted. In the main thread only, since signals arrive there.
    """
    loop = asyncio.get_running_loop()
    interrupts = Interrupts(clock=clock or SystemClock())
    aborted: asyncio.Future[None] = loop.create_future()
    task = asyncio.ensure_future(turn)
    # What an aborted turn dies of is of interest to nobody; asyncio would print it.
    task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def on_signal() -> None:
        if interrupts.is_abort() and not aborted.done():
            aborted.set_result(None)
        task.cancel()

    loop.add_signal_handler(signal.SIGINT, on_signal)
    ends: set[asyncio.Future[Any]] = {task, aborted}
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if aborted.done():
            raise KeyboardInterrupt
        return task.result()
    except asyncio.CancelledError:
        # Cancelled from outside, where the task is not done: it must not outlive us.
        task.cancel()
        await asyncio.wait({task})
        raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        aborted.cancel()
