import asyncio
import os
import signal

import pytest

from adapters.clock import ManualClock
from runax_cli.ui.interrupt import ABORT_WITHIN_S, Interrupts, run_interruptible


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(("pause_s", "is_abort"), [(0.0, True), (ABORT_WITHIN_S, True), (ABORT_WITHIN_S + 0.1, False)])
def test_second_ctrl_c_within_two_seconds_aborts(pause_s: float, is_abort: bool) -> None:
    clock = ManualClock()
    interrupts = Interrupts(clock=clock)
    assert not interrupts.is_abort()
    clock.now += pause_s
    assert interrupts.is_abort() is is_abort


async def test_uninterrupted_turn_returns_its_value() -> None:
    assert await run_interruptible(asyncio.sleep(0, "done")) == "done"


async def test_error_of_the_turn_is_raised() -> None:
    async def turn() -> None:
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        await run_interruptible(turn())


async def test_first_ctrl_c_waits_for_the_turn_to_end() -> None:
    stored: list[str] = []

    async def turn() -> None:
        try:
            press()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            stored.append("page 1")

    with pytest.raises(asyncio.CancelledError):
        await run_interruptible(turn(), clock=ManualClock())
    assert stored == ["page 1"]


async def test_turn_that_completes_despite_ctrl_c_returns_its_result() -> None:
    async def turn() -> str:
        press()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "partial"
        return "never"

    assert await run_interruptible(turn()) == "partial"


async def test_second_ctrl_c_does_not_wait_for_the_turn() -> None:
    release = asyncio.Event()
    ended = asyncio.Event()

    async def turn() -> None:
        press()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            press()
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            ended.set()

    with pytest.raises(KeyboardInterrupt):
        await run_interruptible(turn(), clock=ManualClock())
    assert not ended.is_set()
    release.set()
    await ended.wait()


async def test_outside_cancellation_cancels_the_turn() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def turn() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    outer = asyncio.create_task(run_interruptible(turn()))
    await began.wait()
    outer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outer
    assert ended.is_set()


async def test_signal_handler_is_restored() -> None:
    await run_interruptible(asyncio.sleep(0))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
