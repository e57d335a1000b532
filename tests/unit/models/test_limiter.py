"""Slots: never more than there are, main model first, first come first served, none lost."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.models.base import Role
from runax_cli.models.metering import Priority, PrioritySlots, priority_of


async def _settled() -> None:
    """Let every task run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


class Holders:
    """Tasks that take a slot and keep it until told to leave."""

    def __init__(self, size: int) -> None:
        self.slots = PrioritySlots(size)
        self.entered: list[int] = []
        self.running: set[int] = set()
        self.most = 0
        self.doors: dict[int, asyncio.Event] = {}
        self.tasks: dict[int, asyncio.Task[None]] = {}

    def come(self, number: int, priority: Priority) -> None:
        self.doors[number] = asyncio.Event()
        self.tasks[number] = asyncio.create_task(self._hold(number, priority))

    async def _hold(self, number: int, priority: Priority) -> None:
        async with self.slots.slot(priority):
            self.entered.append(number)
            self.running.add(number)
            self.most = max(self.most, len(self.running))
            try:
                await self.doors[number].wait()
            finally:
                self.running.discard(number)

    async def leave_all(self) -> None:
        for door in self.doors.values():
            door.set()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)


async def test_a_waiting_main_model_goes_before_workers_that_came_earlier() -> None:
    holders = Holders(1)
    for number, priority in enumerate([Priority.WORKER, Priority.WORKER, Priority.WORKER, Priority.MAIN]):
        holders.come(number, priority)
        await _settled()
    await holders.leave_all()
    assert holders.entered == [0, 3, 1, 2]


async def test_a_waiter_that_is_cancelled_does_not_take_a_slot_along() -> None:
    holders = Holders(1)
    for number in range(3):
        holders.come(number, Priority.WORKER)
    await _settled()
    holders.tasks[1].cancel()
    await _settled()
    await holders.leave_all()
    assert holders.entered == [0, 2]


async def test_a_slot_that_is_handed_to_a_task_as_it_is_cancelled_goes_on_to_the_next() -> None:
    holders = Holders(1)
    async with holders.slots.slot(Priority.WORKER):
        for number in (1, 2):
            holders.come(number, Priority.WORKER)
        await _settled()
    holders.tasks[1].cancel()
    await _settled()
    assert holders.entered == [2]
    await holders.leave_all()


@given(
    st.integers(1, 4),
    st.lists(
        st.tuples(st.sampled_from(["come", "leave", "cancel"]), st.integers(0, 15), st.sampled_from(Priority)),
        max_size=40,
    ),
)
def test_whatever_happens_slots_are_kept_busy_and_never_exceeded(
    size: int, steps: list[tuple[str, int, Priority]]
) -> None:
    async def play() -> None:
        holders = Holders(size)
        for step, number, priority in steps:
            if step == "come" and number not in holders.tasks:
                holders.come(number, priority)
            elif step == "leave" and number in holders.running:
                holders.doors[number].set()
            elif step == "cancel" and number in holders.tasks:
                holders.tasks[number].cancel()
            await _settled()
            alive = sum(not task.done() for task in holders.tasks.values())
            assert len(holders.running) == min(size, alive)
        await holders.leave_all()
        assert holders.most <= size
        assert holders.slots._free == size

    asyncio.run(play())


def test_there_must_be_a_slot() -> None:
    with pytest.raises(ValueError, match="at least one slot"):
        PrioritySlots(0)


def test_workers_are_those_who_read_chunks() -> None:
    assert {role for role in Role if priority_of(role) is Priority.WORKER} == {Role.REDUCER, Role.LABELLER}
