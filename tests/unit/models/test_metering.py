"""Metering: nothing above the bound is sent, nothing above the budget is spent, and everything is reported."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.core.budget import Amount, Budget, Limits
from runax_cli.core.errors import BudgetExhausted, ModelError, ModelRefused
from runax_cli.core.event_types import ModelReplied, ModelRequested
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.core.results import RoleUsage
from runax_cli.models.base import Message, Model, ModelReply, ModelRequest, OnText, Role, ScriptedModel, ToolCall, Usage
from runax_cli.models.metering import (
    MeteredModel,
    Metering,
    Priority,
    PrioritySlots,
    RequestTooLarge,
    UsageMeter,
    priority_of,
)
from runax_cli.models.pricing import FreePrice
from runax_cli.models.tokens import CalibratedCounter, O200kCounter, measure
from runax_cli.models.wire import UnusableReply


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    O200kCounter().warm()


class PerToken:
    """One dollar per token."""

    def cost_usd(self, usage: Usage) -> float | None:
        return float(usage.input_tokens + usage.output_tokens)


class Unpriced:
    """Every price is unknown."""

    def cost_usd(self, _usage: Usage) -> float | None:
        return None


class Bench:
    """A metered model and the sinks of its reports."""

    def __init__(self, inner: Model, limits: Limits | None = None, **changes: Any) -> None:
        self.budget = Budget(limits or Limits(), owner="turn")
        self.sink, self.meter = CollectingSink(), UsageMeter()
        self.counter = changes.get("counter") or CalibratedCounter(O200kCounter())
        defaults: dict[str, Any] = {
            "role": Role.REDUCER,
            "effective_tokens": 10_000,
            "counter": self.counter,
            "slots": PrioritySlots(8),
            "price": PerToken(),
            "budget": self.budget,
            "emitter": Emitter.for_run(self.sink, run_id="r", session_id="s"),
            "meter": self.meter,
        }
        self.model = MeteredModel(inner, metering=Metering(**(defaults | changes)))


def _request(text: str = "hello world", **changes: Any) -> ModelRequest:
    return ModelRequest(role=Role.REDUCER, messages=(Message("user", text),), **changes)


def _reply(text: str = "ok", usage: Usage | None = None, **changes: Any) -> ModelReply:
    return ModelReply(text=text, model="m-2", usage=usage or Usage(700, 30), **changes)


async def test_a_success_settles_with_the_reported_usage() -> None:
    bench = Bench(ScriptedModel([_reply()]))
    reply = await bench.model.complete(_request())
    assert bench.budget.spent == Amount(tokens=730, usd=730.0)
    assert bench.budget.reserved == Amount()
    assert reply.cost_usd == 730.0
    assert bench.meter.report().by_role == {"reducer": RoleUsage(requests=1, input_tokens=700, output_tokens=30)}


async def test_the_worst_case_is_reserved_while_the_request_runs() -> None:
    seen: list[Amount] = []
    bench = Bench(ScriptedModel(lambda _request: (seen.append(bench.budget.reserved), _reply())[1]))
    request = _request(max_output_tokens=500)
    await bench.model.complete(request)
    assert seen == [Amount(tokens=measure(request, CalibratedCounter(O200kCounter())).n_bytes + 500, usd=seen[0].usd)]
    assert seen[0].usd == seen[0].tokens


@pytest.mark.parametrize("limits", [Limits(tokens=400), Limits(usd=400.0)])
async def test_a_request_whose_worst_case_exceeds_the_budget_is_not_sent(limits: Limits) -> None:
    bench = Bench(ScriptedModel([_reply()]), limits)
    with pytest.raises(BudgetExhausted):
        await bench.model.complete(_request(max_output_tokens=500))
    assert bench.sink.events == []
    assert bench.budget.reserved == Amount()


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 200)), min_size=1, max_size=30), st.integers(500, 4000))
def test_concurrent_requests_never_spend_more_than_the_budget(uses: list[tuple[int, int]], limit: int) -> None:
    async def play() -> None:
        class Slow:
            name = "slow"

            async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
                await asyncio.sleep(0)
                used_in, used_out = uses[int(request.run_id)]
                return _reply(usage=Usage(min(used_in, len(request.messages[0].content)), used_out))

            async def aclose(self) -> None:
                """Nothing is open."""

        bench = Bench(Slow(), Limits(tokens=limit))
        requests = [
            _request("x" * used_in, max_output_tokens=200, run_id=str(number))
            for number, (used_in, _) in enumerate(uses)
        ]
        await asyncio.gather(*(bench.model.complete(request) for request in requests), return_exceptions=True)
        assert bench.budget.spent.tokens <= limit
        assert bench.budget.reserved == Amount()

    asyncio.run(play())


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
async def test_a_reply_far_above_its_token_limit_is_cut_off(is_streamed: bool) -> None:
    heard: list[str] = []
    bench = Bench(ScriptedModel([replace(_reply(usage=Usage(10, 500_000)), text="blah " * 400_000)]))
    with pytest.raises(UnusableReply, match=r"exceeds max_output_tokens \(200\)"):
        await bench.model.complete(_request(max_output_tokens=200), on_text=heard.append if is_streamed else None)
    assert heard == []
    assert bench.budget.reserved == Amount()


async def test_a_refusal_is_not_billed() -> None:
    bench = Bench(ScriptedModel([ModelRefused("no", model="m", retryable=False)]))
    with pytest.raises(ModelRefused):
        await bench.model.complete(_request())
    assert bench.budget.spent == Amount()
    assert bench.meter.report().requests == 1


async def test_a_broken_reply_counts_its_input_and_the_received_text() -> None:
    class Breaking(ScriptedModel):
        async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
            assert on_text is not None
            on_text("hello ")
            on_text("world")
            raise ModelError("cut", model="m", retryable=True)

    bench, heard = Bench(Breaking([])), []
    with pytest.raises(ModelError):
        await bench.model.complete(_request(), on_text=heard.append)
    assert heard == ["hello ", "world"]
    assert bench.budget.spent.tokens == measure(_request(), bench.counter).counted + 2
    assert bench.budget.reserved == Amount()


async def test_an_unusable_reply_settles_with_the_usage_it_came_with() -> None:
    bench = Bench(ScriptedModel([UnusableReply("cut", model="m", retryable=False, usage=Usage(50, 9))]))
    with pytest.raises(UnusableReply):
        await bench.model.complete(_request())
    assert bench.budget.spent.tokens == 59


async def test_a_cancelled_request_gives_its_reservation_back_and_its_input_counts() -> None:
    class Hanging(ScriptedModel):
        async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

    started = asyncio.Event()
    bench = Bench(Hanging([]))
    task = asyncio.create_task(bench.model.complete(_request()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.budget.reserved == Amount()
    assert bench.budget.spent.tokens == measure(_request(), bench.counter).counted


async def test_a_request_above_the_effective_context_is_not_sent() -> None:
    inner = ScriptedModel([_reply()])
    bench = Bench(inner, effective_tokens=100)
    with pytest.raises(
        RequestTooLarge, match=r"reducer request is too large: up to 1,0\d\d tokens .* effective context is 100"
    ):
        await bench.model.complete(_request("x" * 1000))
    assert inner.requests == []


async def test_bytes_bound_a_request_until_the_first_usage_is_reported() -> None:
    short, long = _request("hello world " * 60), _request("hello world " * 200)
    counter = CalibratedCounter(O200kCounter())
    usage = Usage(measure(short, counter).counted, 5)
    bench = Bench(ScriptedModel([_reply(usage=usage)] * 2), effective_tokens=1000, counter=counter)
    with pytest.raises(RequestTooLarge):
        await bench.model.complete(long)
    await bench.model.complete(short)
    assert (await bench.model.complete(long)).text == "ok"


async def test_a_queued_request_is_checked_again_with_the_calibrated_counter() -> None:
    counter = CalibratedCounter(O200kCounter(), ratio=1.0)
    slots = PrioritySlots(1)
    text = "hello world " * 200
    bench = Bench(ScriptedModel([_reply()]), effective_tokens=600, counter=counter, slots=slots)
    async with slots.slot(Priority.WORKER):
        task = asyncio.create_task(bench.model.complete(_request(text)))
        for _ in range(5):
            await asyncio.sleep(0)
        counter.observe(1000, 2000)
    with pytest.raises(RequestTooLarge):
        await task


async def test_missing_usage_is_counted_and_marked_as_not_reported() -> None:
    call = ToolCall("c", "get_tickets", '{"id": 4}')
    bench = Bench(ScriptedModel([_reply("hello world", Usage(is_reported=False), tool_calls=(call,))]))
    reply = await bench.model.complete(_request())
    assert not reply.usage.is_reported
    assert reply.usage.input_tokens == measure(_request(), bench.counter).counted
    assert reply.usage.output_tokens > 2
    assert not bench.counter.is_calibrated


async def test_requests_and_replies_are_emitted() -> None:
    bench = Bench(ScriptedModel([_reply("a\n  b", duration_s=1.5, first_token_s=0.2)]))
    await bench.model.complete(_request("hello\n world"))
    asked, answered = (event.body for event in bench.sink.events)
    assert asked == ModelRequested(
        model="scripted",
        tokens_in=measure(_request("hello\n world"), bench.counter).counted,
        n_messages=1,
        n_tools=0,
        preview="hello world",
    )
    assert answered == ModelReplied(
        model="m-2",
        input_tokens=700,
        output_tokens=30,
        cost_usd=730.0,
        duration_s=1.5,
        first_token_s=0.2,
        preview="a b",
    )


async def test_an_unknown_price_is_none_and_never_zero() -> None:
    bench = Bench(ScriptedModel([_reply()]), price=Unpriced())
    assert (await bench.model.complete(_request())).cost_usd is None
    assert bench.meter.cost_usd is None


async def test_a_free_model_costs_nothing() -> None:
    bench = Bench(ScriptedModel([_reply()]), price=FreePrice())
    await bench.model.complete(_request())
    assert bench.meter.cost_usd == 0.0


def test_the_meter_reports_each_role_and_the_total() -> None:
    meter = UsageMeter()
    meter.record(Role.AGENT, Usage(10, 1), requests=1, cost_usd=0.5)
    meter.record(Role.REDUCER, Usage(20, 2), requests=3, cost_usd=0.25)
    report = meter.report()
    assert (report.requests, report.input_tokens, report.output_tokens) == (4, 30, 3)
    assert set(report.by_role) == {"agent", "reducer"}
    assert meter.cost_usd == 0.75
    meter.record(Role.AGENT, Usage(1, 1), requests=1, cost_usd=None)
    assert meter.cost_usd is None


async def _settled() -> None:
    """Let every task run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


class Holders:
    """Tasks that take a slot and keep it until they are released."""

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


async def test_a_cancelled_waiter_does_not_lose_a_slot() -> None:
    holders = Holders(1)
    for number in range(3):
        holders.come(number, Priority.WORKER)
    await _settled()
    holders.tasks[1].cancel()
    await _settled()
    await holders.leave_all()
    assert holders.entered == [0, 2]


async def test_a_slot_given_to_a_task_that_is_being_cancelled_goes_to_the_next() -> None:
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


def test_the_number_of_slots_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        PrioritySlots(0)


def test_roles_that_read_chunks_have_worker_priority() -> None:
    assert {role for role in Role if priority_of(role) is Priority.WORKER} == {Role.REDUCER, Role.LABELLER}
