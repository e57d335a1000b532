"""A turn under Ctrl-C: the first cancels it, a second within two seconds ends the process at once.

Knows what is to be done between the two. Which press is which is decided in `ui.interrupt`.
"""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from runax_cli.ending import abort
from runax_cli.ui.interrupt import run_interruptible

_Result = TypeVar("_Result")


async def run_turn(turn: Coroutine[Any, Any, _Result], *, before_abort: Callable[[], None]) -> _Result:
    """What the turn returns. Raises CancelledError where it was cancelled; does not return where it was aborted."""
    try:
        return await run_interruptible(turn)
    except KeyboardInterrupt:
        # Closing connections may hang, which is why somebody pressed twice.
        before_abort()
        abort()
