"""Pages are passed on in order, regardless of the order of their arrival."""

import asyncio
import random

import pytest

from runax_cli.executor.fetch.page_writer import InOrderGate, PageState


@pytest.mark.parametrize("seed", range(5))
async def test_stored_pages_are_passed_on_in_order(seed: int) -> None:
    gate, order = InOrderGate(), list(range(30))
    random.Random(seed).shuffle(order)
    received: list[int] = []

    async def listen() -> None:
        received.extend([index async for index in gate.in_order()])

    async with asyncio.TaskGroup() as group:
        group.create_task(listen())
        for index in order:
            gate.settle(index, {0: PageState.EMPTY, 1: PageState.FAILED}.get(index % 7, PageState.STORED))
            await asyncio.sleep(0)
        gate.close()
    assert received == [index for index in range(30) if index % 7 > 1]
    assert (gate.pages_stored, gate.pages_failed) == (len(received), 5)


async def test_a_page_is_passed_on_as_soon_as_all_before_it_are_settled() -> None:
    gate = InOrderGate()
    pages = gate.in_order()
    gate.settle(1, PageState.STORED)
    waiting = asyncio.ensure_future(anext(pages))
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.settle(0, PageState.FAILED)
    assert await waiting == 1
    await pages.aclose()


async def test_pages_after_one_that_never_settles_are_not_passed_on() -> None:
    gate = InOrderGate()
    gate.settle(0, PageState.STORED)
    gate.settle(2, PageState.STORED)
    gate.close()
    assert [index async for index in gate.in_order()] == [0]
