"""Limits beyond the turn: of a session, and of a day that is shared with other processes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runax_cli.agent.session import TurnLimits
from runax_cli.core.budget import Amount, Budget, Limits
from runax_cli.core.results import RunStatus
from runax_cli.memory.spend_ledger import LedgerLimits, SharedLedger


def tickets(_call: Any) -> list[dict[str, Any]]:
    return [{"id": 501, "subject": "outage"}]


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Any]:
    """The budget of a session in another process, with the limits of the day."""
    ledgers: list[SharedLedger] = []

    def one(**limits: Any) -> Budget:
        ledger = SharedLedger(tmp_path / "ledger.sqlite", LedgerLimits(day=Limits(**limits)))
        ledgers.append(ledger)
        return Budget(Limits(), owner="session", shared=ledger)

    yield one
    for ledger in ledgers:
        ledger.close()


async def test_a_session_that_is_used_up_answers_no_further_question(stage: Any) -> None:
    budget = Budget(Limits(steps=3), owner="session", flags="--max-session-")
    script = [stage.calls(("get_tickets", {})), stage.says("Yes [tickets_1#1]."), stage.says("Once more.")]
    bench = await stage.start([*script, stage.says("Partial.")], {"get_tickets": tickets}, budget=budget)

    assert [(await bench.session.ask("q")).exit_code for _ in range(2)] == [0, 0]
    result = await bench.session.ask("q")

    assert (result.status, result.exit_code, result.answer) == (RunStatus.LIMIT, 6, "Partial.")
    assert "--max-session-steps" in result.error.message
    assert bench.model.requests[-1].tools == ()


async def test_a_session_has_no_more_time_than_its_own(stage: Any) -> None:
    bench = await stage.start([stage.says("Hello there.")], limits=TurnLimits(session_timeout_s=0.0))
    result = await bench.session.ask("q")
    assert (result.status, result.exit_code) == (RunStatus.LIMIT, 124)
    assert "--session-timeout" in result.error.message


async def test_the_forced_answer_was_set_aside_where_other_processes_see_it(stage: Any, day: Any) -> None:
    other = day(tokens=40_000)

    async def greedy() -> None:
        await other.refresh()
        await other.reserve_shared(Amount(tokens=int(other.remaining("tokens"))))

    class Greedy:
        async def execute(self, call: Any, scope: Any, *, direct_limit: int) -> Any:
            await greedy()
            return await inner.execute(call, scope, direct_limit=direct_limit)

    script = [stage.calls(("get_tickets", {})), stage.says("Partial [tickets_1#1].")]
    bench = await stage.start(script, {"get_tickets": tickets}, budget=day(tokens=40_000))
    inner, bench.session.executor = bench.executor, Greedy()
    result = await bench.session.ask("q")

    assert (result.status, result.exit_code, result.answer) == (RunStatus.LIMIT, 6, "Partial [tickets_1#1].")
    assert "--max-day-tokens" in result.error.message
    assert bench.model.requests[-1].tools == ()


async def test_calls_that_other_processes_used_up_meanwhile_are_refused_and_force_the_answer(
    stage: Any, day: Any
) -> None:
    other, budget = day(calls=3), day(calls=3)
    numbers = iter(range(9))

    def script(request: Any) -> Any:
        return stage.calls(("get_tickets", {"customer_id": next(numbers)})) if request.tools else stage.says("Partial.")

    class Busy:
        async def execute(self, call: Any, scope: Any, *, direct_limit: int) -> Any:
            await other.reserve_shared(Amount(calls=2))
            return await inner.execute(call, scope, direct_limit=direct_limit)

    bench = await stage.start(script, {"get_tickets": tickets}, budget=budget)
    inner, bench.session.executor = bench.executor, Busy()
    result = await bench.session.ask("q")

    assert (result.status, result.exit_code, result.answer) == (RunStatus.LIMIT, 6, "Partial.")
    assert "--max-day-calls" in result.error.message
    assert len(inner.executed) == 1
    assert bench.envelopes(-1)[-1]["status"] == "budget_exhausted"


async def test_everything_a_turn_uses_is_booked_for_the_day(stage: Any, day: Any) -> None:
    script = [stage.calls(("get_tickets", {})), stage.says("Yes [tickets_1#1].")]
    budget = day(tokens=1_000_000, steps=100)
    bench = await stage.start(script, {"get_tickets": tickets}, budget=budget)
    result = await bench.session.ask("q")
    await budget.refresh()

    used = result.usage.input_tokens + result.usage.output_tokens
    assert (budget.remaining("tokens"), budget.remaining("steps")) == (1_000_000 - used, 98)


async def test_nothing_is_sent_where_the_ledger_cannot_be_read(stage: Any, day: Any, tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"no database at all " * 100)
    bench = await stage.start([stage.says("Hello there.")], budget=day(usd=100.0))
    result = await bench.session.ask("q")

    assert (result.status, result.exit_code, result.answer) == (RunStatus.LIMIT, 6, "")
    assert "ledger.sqlite" in result.error.message
    assert bench.model.requests == []


async def test_a_ledger_without_limits_keeps_nobody_from_answering(stage: Any, day: Any, tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"no database at all " * 100)
    bench = await stage.start([stage.says("Hello there.")], budget=day())
    assert (await bench.session.ask("q")).exit_code == 0
