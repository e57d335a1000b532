"""Retries: as often as allowed, no earlier than requested, and no text is shown twice."""

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.clock import ManualClock
from adapters.http.circuit_breaker import MAX_CONSECUTIVE_FAILURES
from runax_cli.core.budget import Amount, Budget, Limits
from runax_cli.core.errors import ModelError, ModelRefused
from runax_cli.core.event_types import RequestDelayed, RetryScheduled
from runax_cli.core.events import CollectingSink, Emitter, Stamp
from runax_cli.models.base import Message, ModelReply, ModelRequest, OnText, Role, ScriptedModel
from runax_cli.models.retry import RequestGate, RetryModel, RetryPolicy, count_retries

REQUEST = ModelRequest(role=Role.AGENT, messages=(Message("user", "Hello"),))
GOOD = ModelReply(text="good", model="m")


def _busy(retry_after_s: float | None = None) -> ModelError:
    return ModelError("busy", model="m", retryable=True, retry_after_s=retry_after_s)


class Retried:
    """A retrying model over a script, with its clock and its output."""

    def __init__(self, inner: Any, **policy: Any) -> None:
        self.inner, self.clock = inner, ManualClock()
        self.said: list[RetryScheduled] = []
        self.model = RetryModel(
            inner, clock=self.clock, on_retry=self.said.append, policy=RetryPolicy(**policy), draw=lambda: 0.5
        )


async def test_a_temporary_failure_is_retried_and_counted() -> None:
    retried = Retried(ScriptedModel([_busy(), _busy(), GOOD]))
    reply = await retried.model.complete(REQUEST)
    assert (reply.text, reply.requests) == ("good", 3)
    assert retried.clock.slept == [0.5, 1.0]
    assert [event.attempt for event in retried.said] == [2, 3]
    assert retried.said[0].what == "model scripted"


async def test_the_last_error_is_raised() -> None:
    retried = Retried(ScriptedModel([_busy(), _busy(), ModelError("still busy", model="m", retryable=True), GOOD]))
    with pytest.raises(ModelError, match="still busy"):
        await retried.model.complete(REQUEST)
    assert len(retried.inner.requests) == 3


async def test_a_rejected_request_is_never_retried() -> None:
    retried = Retried(ScriptedModel([ModelRefused("no", model="m", retryable=False), GOOD]))
    with pytest.raises(ModelRefused):
        await retried.model.complete(REQUEST)
    assert len(retried.inner.requests) == 1
    assert retried.clock.slept == []


async def test_retry_after_is_the_minimum_wait() -> None:
    retried = Retried(ScriptedModel([_busy(7.0), GOOD]))
    await retried.model.complete(REQUEST)
    assert retried.clock.slept == [7.5]


async def test_a_retry_after_beyond_the_policy_is_not_retried() -> None:
    retried = Retried(ScriptedModel([_busy(3600.0), GOOD]))
    with pytest.raises(ModelError, match="busy"):
        await retried.model.complete(REQUEST)
    assert retried.clock.slept == []


@given(st.integers(2, 40), st.floats(0, 0.999), st.none() | st.floats(0, 60))
def test_a_wait_is_bounded_and_never_shorter_than_retry_after(
    attempt: int, draw: float, retry_after_s: float | None
) -> None:
    wait_s = RetryPolicy(attempts=40).wait_s(attempt, retry_after_s=retry_after_s, draw=draw)
    assert wait_s is not None
    assert (retry_after_s or 0) <= wait_s <= (retry_after_s or 0) + 20


class Breaking:
    """Streams the pieces of each text of a script; a text that is not whole breaks off after them."""

    name = "breaking"

    def __init__(self, *script: tuple[list[str], bool]) -> None:
        self.script = list(script)

    async def complete(self, _request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        pieces, is_whole = self.script.pop(0)
        for piece in pieces:
            assert on_text is not None
            on_text(piece)
        if not is_whole:
            raise _busy()
        return ModelReply(text="".join(pieces), model="m")

    async def aclose(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ([(["Good ", "day"], True)], "Good day"),
        ([([], False), (["Good ", "day"], True)], "Good day"),
        ([(["Good "], False), (["Good ", "day"], True)], "Good day"),
        ([(["Good "], False), (["Goo"], False), (["Good ", "day"], True)], "Good day"),
        ([(["Good "], False), (["Hello"], True)], "Good \n\nHello"),
    ],
)
async def test_the_listener_gets_the_whole_reply_and_no_piece_twice(script: Any, shown: str) -> None:
    pieces: list[str] = []
    reply = await Retried(Breaking(*script)).model.complete(REQUEST, on_text=pieces.append)
    assert "".join(pieces) == shown
    assert shown.endswith(reply.text)


async def test_cancelling_while_waiting_passes_through() -> None:
    class Forever(ManualClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    model = RetryModel(ScriptedModel([_busy(), GOOD]), clock=Forever(), on_retry=lambda _event: None)
    task = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_retries_end_with_the_retry_budget() -> None:
    budget, sink = Budget(Limits(retries=1), owner="turn"), CollectingSink()
    emitter = Emitter(sink=sink, stamp=Stamp(run_id="r", session_id="s", span_id="p"), numbers=itertools.count())
    inner = ScriptedModel([_busy(), _busy(), GOOD])
    model = RetryModel(inner, clock=ManualClock(), on_retry=count_retries(budget, emitter), draw=lambda: 0.5)
    with pytest.raises(ModelError, match="busy"):
        await model.complete(REQUEST)
    assert (len(inner.requests), budget.spent.retries, budget.reserved) == (2, 1, Amount())
    assert [event.body.type for event in sink.events] == ["retry.scheduled", "warned"]


async def test_the_circuit_breaker_of_a_failing_endpoint_applies_to_all_its_users() -> None:
    clock = ManualClock()
    gate = RequestGate(clock)
    inner = ScriptedModel([_busy() for _ in range(MAX_CONSECUTIVE_FAILURES)] + [GOOD])
    models = [
        RetryModel(inner, clock=clock, on_retry=lambda _: None, policy=RetryPolicy(attempts=1), gate=gate)
        for _ in range(MAX_CONSECUTIVE_FAILURES + 1)
    ]
    for model in models[:-1]:
        with pytest.raises(ModelError, match="busy"):
            await model.complete(REQUEST)
    with pytest.raises(ModelError, match="no requests for another 20 s: 12 requests failed in a row") as left:
        await models[-1].complete(REQUEST)
    assert not left.value.retryable
    await clock.sleep(20)
    assert (await models[-1].complete(REQUEST)).text == "good"


async def test_a_429_does_not_open_the_circuit_breaker() -> None:
    busy = [ModelError("429", model="m", retryable=True, status=429) for _ in range(MAX_CONSECUTIVE_FAILURES + 1)]
    retried = Retried(ScriptedModel([*busy, GOOD]), attempts=40)
    assert (await retried.model.complete(REQUEST)).text == "good"


async def test_a_request_waits_for_the_rate_limit_of_its_endpoint() -> None:
    held: list[RequestDelayed] = []
    clock = ManualClock()
    gate = RequestGate(clock)
    gate.rate_limiter.update({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "4s"})
    model = RetryModel(ScriptedModel([GOOD]), clock=clock, on_retry=lambda _: None, gate=gate, on_delay=held.append)
    await model.complete(REQUEST)
    assert clock.slept == [4]
    assert [(event.what, event.wait_s) for event in held] == [("model scripted", 4)]
