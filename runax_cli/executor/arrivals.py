"""Arrivals: pages come in any order and are handed on in theirs.

Knows page numbers and whether each is in or lost. Holds no page, so that memory does not grow with the pages that
wait for an earlier one.
"""

import asyncio
from collections.abc import AsyncIterator


class Arrivals:
    """Which pages are settled. `in_order` may be listened to while more arrive; `news` wakes whoever waits."""

    def __init__(self) -> None:
        self._settled: dict[int, bool | None] = {}
        self._is_closed = False
        self._news = asyncio.Event()

    @property
    def pages_in(self) -> int:
        """Pages that are on disk."""
        return sum(is_in is True for is_in in self._settled.values())

    @property
    def pages_lost(self) -> int:
        """Pages that could not be had."""
        return sum(is_in is False for is_in in self._settled.values())

    def settle(self, index: int, *, is_in: bool | None) -> None:
        """Page `index` is on disk, or is known to be lost; None: it holds nothing."""
        self._settled[index] = is_in
        self.tell()

    def close(self) -> None:
        """No further page will come."""
        self._is_closed = True
        self.tell()

    def tell(self) -> None:
        """Wake everyone who waits for news."""
        self._news.set()
        self._news = asyncio.Event()

    async def news(self) -> None:
        """Wait until anything changes."""
        await self._news.wait()

    async def in_order(self) -> AsyncIterator[int]:
        """Indices of pages that are on disk, in page order, each as soon as all before it are settled."""
        index = 0
        while True:
            while index not in self._settled and not self._is_closed:
                await self.news()
            if index not in self._settled and index > max(self._settled, default=-1):
                return
            if self._settled.get(index):
                yield index
            index += 1
