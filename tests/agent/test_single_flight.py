"""Equal calls of several parts at the same moment fetch once; if the result is incomplete, the next one fetches."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.base import Effect
from runax_cli.agent.loop.middleware import SingleFlight
from runax_cli.core.results import Coverage
from runax_cli.executor.outcome import DecidedCall
from runax_cli.models.base import Role


@dataclass
class Gate:
    """An executor that waits for a signal; `whole` says whether each fetch is complete."""

    whole: list[bool]
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[DecidedCall] = field(default_factory=list)
    fetched: int = 0

    async def execute(self, call: DecidedCall, _scope: Any, *, direct_limit: int) -> Any:
        self.asked.append(call)
        self.begun.set()
        if call.stored_dataset is not None:
            return SimpleNamespace(
                dataset=SimpleNamespace(name=call.stored_dataset), coverage=Coverage(is_complete=True)
            )
        self.fetched += 1
        number = self.fetched
        await self.opened.wait()
        await asyncio.sleep(0)
        coverage = Coverage(is_complete=self.whole[number - 1])
        return SimpleNamespace(dataset=SimpleNamespace(name=f"tickets_{number}"), coverage=coverage)


@dataclass
class Scope:
    told: list[Any] = field(default_factory=list)

    @property
    def emitter(self) -> Any:
        return SimpleNamespace(emit=self.told.append)


def call(stage: Any, at: int, **changes: Any) -> DecidedCall:
    arguments = changes.pop("arguments", {"customer_id": 4})
    spec = stage.tool("get_tickets", **changes)
    return DecidedCall(call_id=f"c{at}", tool=spec, arguments=arguments, focus=f"focus {at}")


async def run(gate: Gate, calls: list[DecidedCall], scope: Scope | None = None) -> list[Any]:
    flights = SingleFlight(gate, {"get_tickets": None})
    tasks = [asyncio.create_task(flights.execute(one, scope or Scope(), direct_limit=1)) for one in calls]  # type: ignore[arg-type]
    await gate.begun.wait()
    gate.opened.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_first_fetches_and_the_others_read_what_it_left(stage: Any) -> None:
    gate, scope = Gate([True]), Scope()
    outcomes = await run(gate, [call(stage, at) for at in range(3)], scope)
    assert gate.fetched == 1
    assert [one.stored_dataset for one in gate.asked] == [None, "tickets_1", "tickets_1"]
    assert [one.focus for one in gate.asked] == ["focus 0", "focus 1", "focus 2"]
    assert {outcome.dataset.name for outcome in outcomes} == {"tickets_1"}
    assert [body.code for body in scope.told] == ["read_again", "read_again"]


async def test_what_is_not_whole_is_fetched_by_the_next(stage: Any) -> None:
    gate = Gate([False, True])
    await run(gate, [call(stage, at) for at in range(3)])
    assert gate.fetched == 2
    assert [one.stored_dataset for one in gate.asked] == [None, None, "tickets_2"]


async def test_other_arguments_are_other_data(stage: Any) -> None:
    gate = Gate([True, True, True])
    calls = [call(stage, 0), call(stage, 1, arguments={"customer_id": 5}), replace(call(stage, 2), at_most=3)]
    await run(gate, calls)
    assert gate.fetched == 3


@pytest.mark.parametrize("changes", [{"effect": Effect.WRITE}, {"requires_fresh_input": True}])
async def test_changes_and_fresh_input_are_never_shared(stage: Any, changes: dict[str, Any]) -> None:
    gate = Gate([True, True])
    await run(gate, [call(stage, at, **changes) for at in range(2)])
    assert gate.fetched == 2


async def test_the_one_that_waits_goes_on_where_the_first_is_cancelled(stage: Any) -> None:
    gate = Gate([True, True])
    flights = SingleFlight(gate, {"get_tickets": None})
    first, second = (
        asyncio.create_task(flights.execute(call(stage, at), Scope(), direct_limit=1))  # type: ignore[arg-type]
        for at in range(2)
    )
    await gate.begun.wait()
    first.cancel()
    gate.opened.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await second).dataset is not None
    assert gate.fetched == 2


async def test_one_that_gives_up_waiting_leaves_the_others_alone(stage: Any) -> None:
    gate = Gate([True])
    flights = SingleFlight(gate, {"get_tickets": None})
    first, second, third = (
        asyncio.create_task(flights.execute(call(stage, at), Scope(), direct_limit=1))  # type: ignore[arg-type]
        for at in range(3)
    )
    await gate.begun.wait()
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    gate.opened.set()
    await asyncio.gather(first, third)
    assert gate.fetched == 1


async def test_two_parts_of_a_question_fetch_the_same_data_once(stage: Any) -> None:
    """Whole turns: both parts request the same data at the same moment, and one request is sent."""
    both = asyncio.Barrier(2)
    asked = {"need": "read", "after": [], "must_contain": "", "tools": ["get_tickets"]}
    parts = [{"question": question} | asked for question in ("What broke?", "Who waits?")]

    def script(request: Any) -> Any:
        if request.role is Role.PLANNER:
            return stage.says(json.dumps({"parts": parts}))
        if any(message.role == "tool" for message in request.messages):
            return stage.says("It is [tickets_1#1].")
        return stage.calls(("get_tickets", {"customer_id": 4}))

    bench = await stage.start(script, {"get_tickets": lambda _call: [{"id": 1}]})
    execute, again = bench.executor.execute, []

    async def slowly(call: Any, scope: Any, **options: Any) -> Any:
        again.append(call.stored_dataset)
        await asyncio.sleep(0)
        return await execute(call, scope, **options)

    flights = SingleFlight.execute

    async def together(self: SingleFlight, *args: Any, **options: Any) -> Any:
        async with asyncio.timeout(60):
            await both.wait()
        return await flights(self, *args, **options)

    bench.executor.execute = slowly
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SingleFlight, "execute", together)
        result = await bench.session.ask("What broke? And who waits?")
    assert again == [None, "tickets_1"]
    assert [call.status for call in result.calls] == ["success", "success"]
