"""A source that hangs blocks nothing else: call timeouts, the concurrency limit, and a responsive event loop."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.base import CallResult, Json, PageAddress
from adapters.clock import ManualClock
from adapters.source_events import OnEvent, ignore_events
from runax_cli.executor.executor import Executor
from runax_cli.executor.fetch.source_client import ConcurrencyLimiter
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.runtime.runtime import REDUCER_PROMPTS
from tests.contract.executor.conftest import Bench, ticket
from tests.fakes.paged_api import PagedApi

MakeBench = Callable[..., Bench]


def with_limits(bench: Bench, folder: Path, *, source: Any = None, **limits: Any) -> Bench:
    """The same bench with an executor of other limits, over another source if one is given."""
    executor = Executor(
        source or bench.api,
        DatasetStore(folder / "limited"),
        bench.journal,
        counter=bench.counter,
        effective_tokens=bench.effective,
        prompts=REDUCER_PROMPTS,
        **limits,
    )
    return replace(bench, executor=executor)


def hanging_api() -> PagedApi:
    """An API that never answers; `at_gate` is set by the first request."""
    return PagedApi([], gate=asyncio.Event(), gate_from=0)


async def test_a_call_whose_pages_hang_ends_with_the_records_it_has(
    make: MakeBench, tmp_path: Path, jump_one_hour: Callable[[], None]
) -> None:
    clock = ManualClock()
    bench = with_limits(make(300, gate=asyncio.Event()), tmp_path, call_timeout_s=60.0, clock=clock)
    reading = asyncio.create_task(bench.read_all())
    await bench.api.at_gate.wait()
    clock.now += 3600.0
    jump_one_hour()
    outcome = await reading
    assert 0 < outcome.coverage.records_read < 300
    assert not outcome.coverage.is_complete
    assert any("--call-timeout" in reason.text for reason in outcome.coverage.reasons)


async def test_a_call_whose_first_response_hangs_is_an_error(
    make: MakeBench, tmp_path: Path, jump_one_hour: Callable[[], None]
) -> None:
    clock, hanging = ManualClock(), hanging_api()
    bench = with_limits(make(300), tmp_path, source=hanging, call_timeout_s=60.0, clock=clock)
    reading = asyncio.create_task(bench.read_all())
    await hanging.at_gate.wait()
    clock.now += 3600.0
    jump_one_hour()
    outcome = await reading
    assert outcome.envelope.status.value == "error"
    assert "--call-timeout" in outcome.envelope.to_model_text()


@dataclass
class TwoSources:
    """A source that hangs, next to one that answers."""

    hanging: PagedApi
    healthy: PagedApi

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ignore_events,
    ) -> CallResult:
        source = self.hanging if arguments.get("hangs") else self.healthy
        return await source.call(tool, arguments, page, observer=observer)


async def test_a_source_that_hangs_does_not_block_another(make: MakeBench, tmp_path: Path) -> None:
    bench, hanging = make(120), hanging_api()
    sources = TwoSources(hanging, bench.api)
    bench = with_limits(bench, tmp_path, source=sources, limiter=ConcurrencyLimiter(1, slow_after_s=0.1))
    stuck_tool = replace(bench.api.spec(bench.pagination), source="stuck")
    stuck = asyncio.create_task(bench.read_all(tool=stuck_tool, arguments={"hangs": True}, call_id="c2"))
    await hanging.at_gate.wait()

    outcome = await bench.read_all()

    assert outcome.coverage.records_read == 120
    assert not stuck.done()
    stuck.cancel()
    await asyncio.gather(stuck, return_exceptions=True)


async def test_the_number_of_requests_in_flight_is_limited() -> None:
    limiter, in_flight, most = ConcurrencyLimiter(3), 0, 0

    async def one() -> None:
        nonlocal in_flight, most
        async with limiter.slot():
            in_flight += 1
            most = max(most, in_flight)
            await asyncio.sleep(0)
            in_flight -= 1

    for _ in range(2):
        await asyncio.gather(*(one() for _ in range(50)))
    assert most == 3


async def test_a_slot_is_released_exactly_once() -> None:
    limiter = ConcurrencyLimiter(1, slow_after_s=0.0)
    # The only slot passes to the second holder while the first is still running, and then to a third.
    async with limiter.slot(), limiter.slot():
        await _pass_through(limiter)
    patient = ConcurrencyLimiter(1, slow_after_s=60.0)
    async with patient.slot():
        waiting = asyncio.create_task(_pass_through(patient))
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting


async def _pass_through(limiter: ConcurrencyLimiter) -> None:
    async with limiter.slot():
        await asyncio.sleep(0)


@asynccontextmanager
async def watched() -> AsyncIterator[list[float]]:
    """How long the event loop's thread worked before the loop handled a due event, in seconds, for each event.

    Only the thread's own CPU time counts: the load of the machine says nothing about the loop.
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


async def test_the_event_loop_stays_responsive_during_a_large_call(make: MakeBench, tmp_path: Path) -> None:
    wide = [ticket(number, chars=2000) for number in range(6000)]
    bench = make(records=wide, cap=2000, pagination=replace(make(1).pagination, max_size=2000), effective=30_000)
    bench = with_limits(bench, tmp_path)
    async with watched() as late:
        outcome = await bench.call(direct_limit=500)
    assert outcome.coverage.records_read == 6000
    assert max(late) < LONGEST_S, f"the loop worked for {max(late):.2f} s at a stretch"
