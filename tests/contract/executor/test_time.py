"""Nothing that hangs holds up what works: limits of time of a call, places for requests, and a loop that stays free."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from adapters.base import CallResult, Json, OnEvent, PageAddress, nobody
from adapters.clock import ManualClock
from runax_cli.executor.executor import Executor
from runax_cli.executor.fetch.source_client import ConcurrencyLimiter
from runax_cli.executor.store.dataset import DatasetStore
from tests.contract.executor.conftest import PROMPTS, Api, Bench, ticket

MakeBench = Callable[..., Bench]


def with_limits(bench: Bench, folder: Path, *, source: Any = None, **limits: Any) -> Bench:
    """The same bench with an executor of other limits, over another source where one is given."""
    executor = Executor(
        source or bench.api,
        DatasetStore(folder / "limited"),
        bench.journal,
        counter=bench.counter,
        effective_tokens=bench.effective,
        prompts=PROMPTS,
        **limits,
    )
    return replace(bench, executor=executor)


async def test_a_call_whose_pages_hang_ends_with_the_records_it_has(
    make: MakeBench, tmp_path: Path, hours_later: Callable[[], None]
) -> None:
    clock = ManualClock()
    bench = with_limits(make(300, gate=asyncio.Event()), tmp_path, call_timeout_s=60.0, clock=clock)
    reading = asyncio.create_task(bench.read_all())
    await bench.api.waits.wait()
    clock.now += 3600.0
    hours_later()
    outcome = await reading
    assert 0 < outcome.coverage.records_read < 300
    assert not outcome.coverage.is_complete
    assert any("--call-timeout" in reason.text for reason in outcome.coverage.reasons)


async def test_a_call_whose_first_answer_hangs_is_an_error(
    make: MakeBench, tmp_path: Path, hours_later: Callable[[], None]
) -> None:
    clock, hanging = ManualClock(), Hanging()
    bench = with_limits(make(300), tmp_path, source=hanging, call_timeout_s=60.0, clock=clock)
    reading = asyncio.create_task(bench.read_all())
    await hanging.began.wait()
    clock.now += 3600.0
    hours_later()
    outcome = await reading
    assert outcome.envelope.status.value == "error"
    assert "--call-timeout" in outcome.envelope.to_model_text()


@dataclass
class Hanging:
    """Takes requests and answers none; `began` is set by the first."""

    began: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = nobody,
    ) -> CallResult:
        del tool, arguments, page, observer
        self.began.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody waits so long")


@dataclass
class Two:
    """A source that hangs beside one that answers."""

    hanging: Hanging
    healthy: Api

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = nobody,
    ) -> CallResult:
        behind = self.hanging if arguments.get("hangs") else self.healthy
        return await behind.call(tool, arguments, page, observer=observer)


async def test_a_source_that_hangs_holds_no_place_of_another(make: MakeBench, tmp_path: Path) -> None:
    bench, hanging = make(120), Hanging()
    two = Two(hanging, bench.api)
    bench = with_limits(bench, tmp_path, source=two, limiter=ConcurrencyLimiter(1, patience_s=0.1))
    stuck_tool = replace(bench.api.spec(bench.pagination), source="stuck")
    stuck = asyncio.create_task(bench.read_all(tool=stuck_tool, arguments={"hangs": True}, call_id="c2"))
    await hanging.began.wait()

    outcome = await bench.read_all()

    assert outcome.coverage.records_read == 120
    assert not stuck.done()
    stuck.cancel()
    await asyncio.gather(stuck, return_exceptions=True)


async def test_no_more_requests_than_places_are_under_way_and_every_place_comes_back() -> None:
    places, under_way, most = ConcurrencyLimiter(3), 0, 0

    async def one() -> None:
        nonlocal under_way, most
        async with places.held():
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1

    for _ in range(2):
        await asyncio.gather(*(one() for _ in range(50)))
    assert most == 3


async def test_a_place_is_given_back_once_whether_patience_ended_or_not() -> None:
    places = ConcurrencyLimiter(1, patience_s=0.0)
    # The one place is given to the second while the first goes on, and to a third while both do.
    async with places.held(), places.held():
        await _through(places)
    patient = ConcurrencyLimiter(1, patience_s=60.0)
    async with patient.held():
        waiting = asyncio.create_task(_through(patient))
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting


async def _through(places: ConcurrencyLimiter) -> None:
    async with places.held():
        await asyncio.sleep(0)


@asynccontextmanager
async def watched() -> AsyncIterator[list[float]]:
    """How long its own thread worked before the loop came to something that was due, in seconds, as often as it did.

    Of the thread's own time: how long others have the processor says nothing of the loop.
    """
    late: list[float] = []

    async def watch() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.005)
            late.append(time.thread_time() - before)

    task = asyncio.create_task(watch())
    try:
        yield late
    finally:
        task.cancel()


LONGEST_S = 0.1


async def test_the_loop_stays_free_while_a_heavy_call_is_fetched_read_and_sealed(
    make: MakeBench, tmp_path: Path
) -> None:
    wide = [ticket(number, chars=2000) for number in range(6000)]
    bench = make(records=wide, cap=2000, pagination=replace(make(1).pagination, max_size=2000), effective=30_000)
    bench = with_limits(bench, tmp_path)
    async with watched() as late:
        outcome = await bench.call(direct_limit=500)
    assert outcome.coverage.records_read == 6000
    assert max(late) < LONGEST_S, f"the loop worked for {max(late):.2f} s at a stretch"
