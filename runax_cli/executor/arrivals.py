"""Arrivals: pages come in any order and take their turn in theirs.

Knows page numbers and whether each is in, lost or empty. Holds no page: whoever has one waits for its turn, which at
most so many do as requests run at once.
"""

import asyncio
from collections.abc import AsyncIterator


class Arrivals:
    """Which pages are settled. `in_order` may be listened to while more arrive; `news` wakes whoever waits."""

    def __init__(self) -> None:
        self._front = 0
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
        while self._front in self._settled:
            self._front += 1
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

    async def turn(self, index: int) -> None:
        """Wait until every page before `index` is settled.

        Pages are judged and written in order: which of two equal ones repeats the other must not depend on the net.
        """
        while self._front < index:
            await self.news()

    async def in_order(self) -> AsyncIterator[int]:
        """Indices of pages that are on disk, in page order, each as soon as all before it are settled."""
        index = 0
        while True:
            while index >= self._front and not self._is_closed:
                await self.news()
            if index >= self._front:
                return
            if self._settled[index]:
                yield index
            index += 1
