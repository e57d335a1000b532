"""Pages take their turn, whatever the order they come in."""

import asyncio
import random

import pytest

from runax_cli.executor.fetch.page_writer import InOrderGate


@pytest.mark.parametrize("seed", range(5))
async def test_pages_are_handed_on_in_order_without_those_that_are_lost(seed: int) -> None:
    arrivals, order = InOrderGate(), list(range(30))
    random.Random(seed).shuffle(order)
    heard: list[int] = []

    async def listen() -> None:
        heard.extend([index async for index in arrivals.in_order()])

    async with asyncio.TaskGroup() as group:
        group.create_task(listen())
        for index in order:
            arrivals.settle(index, is_in={0: None, 1: False}.get(index % 7, True))
            await asyncio.sleep(0)
        arrivals.close()
    assert heard == [index for index in range(30) if index % 7 > 1]
    assert (arrivals.pages_in, arrivals.pages_lost) == (len(heard), 5)


async def test_a_page_is_handed_on_as_soon_as_all_before_it_are_settled() -> None:
    arrivals = InOrderGate()
    pages = arrivals.in_order()
    arrivals.settle(1, is_in=True)
    waiting = asyncio.ensure_future(anext(pages))
    await asyncio.sleep(0)
    assert not waiting.done()
    arrivals.settle(0, is_in=False)
    assert await waiting == 1
    await pages.aclose()


async def test_what_comes_after_a_page_that_never_settles_is_not_handed_on() -> None:
    arrivals = InOrderGate()
    arrivals.settle(0, is_in=True)
    arrivals.settle(2, is_in=True)
    arrivals.close()
    assert [index async for index in arrivals.in_order()] == [0]
