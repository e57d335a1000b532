"""Slots for requests to models: so many at once, and the main model first.

Knows priorities and who waits. Knows nothing of models.
"""

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import IntEnum

from runax_cli.models.base import Role


class Priority(IntEnum):
    """Who goes first; lower is earlier."""

    MAIN = 0
    WORKER = 1


def priority_of(role: Role) -> Priority:
    """Whoever reads many chunks is a worker; a person waits for all others."""
    match role:
        case Role.PLANNER | Role.AGENT | Role.SUMMARIZER:
            return Priority.MAIN
        case Role.REDUCER | Role.LABELLER:
            return Priority.WORKER


class PrioritySlots:
    """At most `size` holders at once. A free slot goes to the highest priority, then to who came first.

    A main request waits for one running request at most, however many workers queue. Workers can wait for the main
    model only as long as it has requests, and it has one at a time.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"there must be at least one slot, not {size}")
        self._free = size
        self._order = itertools.count()
        self._waiting: list[tuple[Priority, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, priority: Priority) -> AsyncIterator[None]:
        """Hold a slot for a block."""
        await self._acquire(priority)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, priority: Priority) -> None:
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (priority, next(self._order), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()
            raise

    def _release(self) -> None:
        """Hand the slot to who is next; those that were cancelled while waiting are passed over."""
        while self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
