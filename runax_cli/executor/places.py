"""Places for requests to sources: so many at once over all sources, and none of them for what hangs.

Knows how long a request has its place. Knows no source: that each has a limit of its own is the business of whoever
asks for a place here, after having one there.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PATIENCE_S = 5.0
"""A request that takes longer gives its place to another: a source that hangs must not stop those that answer."""


class Places:
    """At most `most` holders at once that are not overdue. An overdue one goes on, and is not counted any more."""

    def __init__(self, most: int, *, patience_s: float = PATIENCE_S) -> None:
        self._free = asyncio.Semaphore(most)
        self._patience_s = patience_s

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Hold a place for a block, as long as patience lasts."""
        await self._free.acquire()
        overdue = asyncio.get_running_loop().call_later(self._patience_s, self._free.release)
        try:
            yield
        finally:
            if overdue.when() > asyncio.get_running_loop().time():
                overdue.cancel()
                self._free.release()
