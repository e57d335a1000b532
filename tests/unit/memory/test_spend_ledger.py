"""What all processes of a user may use together in a day."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.clock import ManualClock
from runax_cli.core.budget import Amount, Budget, Limits
from runax_cli.core.errors import BudgetExhausted, LedgerClosed
from runax_cli.memory.spend_ledger import LedgerLimits, SharedLedger

NOON = 1_800_000_000.0
DAY = 86_400.0
MakeLedger = Callable[..., SharedLedger]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[MakeLedger]:
    """Ledgers over one file, each as in a separate process."""
    async with AsyncExitStack() as opened:

        def one(
            *, day: Limits | None = None, tenant: Limits | None = None, name: str = "", wall: float = NOON
        ) -> SharedLedger:
            limits = LedgerLimits(day=day or Limits(), tenant=tenant or Limits(), name=name)
            ledger = SharedLedger(tmp_path / "ledger.sqlite", limits, ManualClock(wall))
            opened.callback(ledger.close)
            return ledger

        yield one


async def test_two_processes_share_one_limit(make: MakeLedger) -> None:
    one, other = make(day=Limits(tokens=100)), make(day=Limits(tokens=100))
    hold = await one.reserve(Amount(tokens=80))
    with pytest.raises(BudgetExhausted, match=r"'tokens' of the day is limited to 100; 80 .*--max-day-tokens"):
        await other.reserve(Amount(tokens=30))

    hold.settle(Amount(tokens=50))
    await one.refresh()
    assert await other.reserve(Amount(tokens=50))


async def test_usage_is_booked_without_limits_too(make: MakeLedger) -> None:
    free = make(name="acme")
    (await free.reserve(Amount(tokens=900, usd=0.25))).settle(Amount(tokens=700, usd=0.1))
    (booked,) = await free.used()
    assert (booked.tenant, booked.amount) == ("acme", Amount(tokens=700, usd=0.1))
    with pytest.raises(BudgetExhausted):
        await make(day=Limits(tokens=1_000)).reserve(Amount(tokens=301))


async def test_a_settlement_after_close_counts_as_possibly_used(make: MakeLedger) -> None:
    aborted = make(day=Limits(tokens=100))
    hold = await aborted.reserve(Amount(tokens=80))
    aborted.close()
    hold.settle(Amount(tokens=50))
    other = make(day=Limits(tokens=100))
    await other.refresh()
    (booked,) = await other.used()
    assert (booked.amount, booked.perhaps) == (Amount(), Amount(tokens=80))


async def test_a_tenant_has_a_limit_of_its_own_within_the_day(make: MakeLedger) -> None:
    acme = make(day=Limits(usd=10), tenant=Limits(usd=1), name="acme")
    (await acme.reserve(Amount(usd=1))).settle(Amount(usd=1))
    with pytest.raises(BudgetExhausted, match=r"tenant 'acme' today is limited to 1.*--max-tenant-usd"):
        await acme.reserve(Amount(usd=0.01))

    other = make(day=Limits(usd=10), tenant=Limits(usd=20), name="other")
    await other.refresh()
    assert other.remaining("usd") == pytest.approx(9)
    with pytest.raises(BudgetExhausted, match="of the day"):
        await other.reserve(Amount(usd=9.5))


async def test_a_limit_is_known_before_the_first_refresh(make: MakeLedger) -> None:
    ledger = make(day=Limits(usd=10), tenant=Limits(usd=4, tokens=7))
    assert (ledger.remaining("usd"), ledger.remaining("tokens"), ledger.remaining("steps")) == (4, 7, None)


async def test_a_new_day_starts_at_zero(make: MakeLedger) -> None:
    today = make(day=Limits(tokens=10))
    (await today.reserve(Amount(tokens=10))).settle(Amount(tokens=10))
    assert await make(day=Limits(tokens=10), wall=NOON + DAY).reserve(Amount(tokens=10))


@pytest.mark.parametrize("back", [1, 3, 400])
async def test_setting_the_clock_back_does_not_free_budget(make: MakeLedger, back: int) -> None:
    today = make(day=Limits(tokens=10))
    (await today.reserve(Amount(tokens=10))).settle(Amount(tokens=10))
    await today.refresh()
    with pytest.raises(BudgetExhausted):
        await make(day=Limits(tokens=10), wall=NOON - back * DAY).reserve(Amount(tokens=1))


async def test_a_request_over_midnight_counts_on_the_day_it_was_reserved(make: MakeLedger) -> None:
    ledger = make(day=Limits(tokens=10))
    hold = await ledger.reserve(Amount(tokens=10))
    assert isinstance(ledger.clock, ManualClock)
    await ledger.clock.sleep(DAY)
    hold.settle(Amount(tokens=7))
    assert await ledger.reserve(Amount(tokens=10))
    days = [used.day for used in await ledger.used()]
    assert days == ["2027-01-15"]


@pytest.mark.parametrize("damage", ["garbage", "directory", "other version"])
async def test_an_unreadable_ledger_stops_limited_requests(make: MakeLedger, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "ledger.sqlite"
    if damage == "directory":
        path.mkdir()
    elif damage == "garbage":
        path.write_bytes(b"no database at all " * 100)
    else:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version=77")
        connection.close()
    limited = make(day=Limits(tokens=1_000_000))
    with pytest.raises(LedgerClosed, match=r"ledger\.sqlite.*no more requests are sent"):
        await limited.reserve(Amount(tokens=1))
    with pytest.raises(LedgerClosed):
        await limited.refresh()


async def test_an_unreadable_ledger_warns_once_without_limits(make: MakeLedger, tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"no database at all " * 100)
    free, told = make(), []
    free.on_error = told.append
    for _ in range(3):
        (await free.reserve(Amount(tokens=1))).settle(Amount(tokens=1))
    free.close()
    assert len(told) == 1


async def test_a_settlement_that_cannot_be_written_keeps_the_reservation(make: MakeLedger, tmp_path: Path) -> None:
    ledger = make(day=Limits(tokens=100))
    hold = await ledger.reserve(Amount(tokens=80))
    connection = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    connection.execute("ALTER TABLE used RENAME TO gone")
    hold.settle(Amount(tokens=1))
    with pytest.raises(LedgerClosed):
        await ledger.refresh()
    connection.execute("ALTER TABLE gone RENAME TO used")
    connection.close()
    with pytest.raises(BudgetExhausted, match="80 is spent or reserved"):
        await ledger.reserve(Amount(tokens=30))


async def test_a_cancelled_reservation_is_released(make: MakeLedger) -> None:
    ledger = make(day=Limits(tokens=100))
    waiting = asyncio.ensure_future(ledger.reserve(Amount(tokens=100)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await ledger.reserve(Amount(tokens=100))


async def test_the_files_are_private(make: MakeLedger, tmp_path: Path) -> None:
    await make(day=Limits(tokens=1)).reserve(Amount(tokens=1))
    assert modes_in(tmp_path) == {0o600}


def modes_in(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}


def started(script: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


HOLDER = """
import asyncio, sys
from pathlib import Path
from runax_cli.core.budget import Amount, Limits
from runax_cli.memory.spend_ledger import LedgerLimits, SharedLedger

async def main():
    ledger = SharedLedger(Path(sys.argv[1]), LedgerLimits(day=Limits(tokens=100)))
    await ledger.reserve(Amount(tokens=100))
    print("held", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_what_a_killed_process_reserved_counts_until_the_user_clears_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = SharedLedger(path, LedgerLimits(day=Limits(tokens=100)))
    holder = started(HOLDER, str(path))
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BudgetExhausted):
            await ledger.reserve(Amount(tokens=1))
        os.kill(holder.pid, signal.SIGKILL)
    finally:
        holder.kill()
        holder.communicate()
    with pytest.raises(BudgetExhausted, match=r"100 may have been billed by processes that died"):
        await ledger.reserve(Amount(tokens=1))
    await ledger.refresh()
    assert ledger.remaining("tokens") == 0
    (booked,) = await ledger.used()
    assert (booked.amount.tokens, booked.perhaps.tokens) == (0, 100)

    await ledger.clear_perhaps()
    assert await ledger.reserve(Amount(tokens=100))
    assert [spend.perhaps for spend in await ledger.used()] == [Amount()]
    ledger.close()


async def test_clearing_keeps_what_running_processes_reserved_and_what_was_settled(make: MakeLedger) -> None:
    crashed, running = make(day=Limits(tokens=100)), make(day=Limits(tokens=100))
    await crashed.reserve(Amount(tokens=30))
    (await running.reserve(Amount(tokens=20))).settle(Amount(tokens=20))
    await running.reserve(Amount(tokens=10))
    crashed.close()
    await running.clear_perhaps()
    await running.refresh()
    assert running.remaining("tokens") == 70


async def test_what_may_have_been_billed_to_one_tenant_leaves_another_its_limit(make: MakeLedger) -> None:
    crashed = make(tenant=Limits(tokens=100), name="acme")
    await crashed.reserve(Amount(tokens=100))
    crashed.close()
    with pytest.raises(BudgetExhausted, match="tenant 'acme' today"):
        await make(tenant=Limits(tokens=100), name="acme").reserve(Amount(tokens=1))
    assert await make(tenant=Limits(tokens=100), name="other").reserve(Amount(tokens=100))


CRASHERS = """
import asyncio, os, signal, socket, sys
from pathlib import Path
from runax_cli.core.budget import Amount, Limits
from runax_cli.core.errors import BudgetExhausted
from runax_cli.memory.spend_ledger import LedgerLimits, SharedLedger

async def request_and_die():
    ledger = SharedLedger(Path(sys.argv[1]), LedgerLimits(day=Limits(tokens=100_000)))
    try:
        await ledger.reserve(Amount(tokens=3_950))
    except BudgetExhausted:
        os._exit(0)
    with socket.create_connection(("127.0.0.1", int(sys.argv[2]))) as server:
        server.sendall(b"x" * 3_950)
        server.shutdown(socket.SHUT_WR)
        server.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)

def start():
    child = os.fork()
    if child == 0:
        asyncio.run(request_and_die())
    return child

for _ in range(10):
    children = [start() for _ in range(8)]
    print(sum(os.WIFSIGNALED(os.waitpid(child, 0)[1]) for child in children), flush=True)
"""


async def test_eighty_crashing_processes_never_bill_more_than_the_limit_of_the_day(tmp_path: Path) -> None:
    billed = 0

    async def bill(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal billed
        request = await reader.read(-1)
        billed += len(request)
        writer.write(b".")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(bill, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        crashers = started(CRASHERS, str(tmp_path / "ledger.sqlite"), str(port))
        out, _ = await asyncio.to_thread(crashers.communicate, timeout=100)
    killed = sum(map(int, out.split()))
    assert (crashers.returncode, billed) == (0, killed * 3_950)
    assert 90_000 <= billed <= 100_000, f"{killed} of 80 processes were let through"


SPENDER = """
import asyncio, random, sys
from pathlib import Path
from runax_cli.core.budget import Amount, Budget, Limits
from runax_cli.core.errors import BudgetExhausted
from runax_cli.memory.spend_ledger import LedgerLimits, SharedLedger

async def spend(budget, draw):
    total, refused = 0, 0
    while refused < 3:
        worst = draw.randint(1, 400)
        try:
            async with budget.reservation(Amount(tokens=worst, usd=worst / 1000)) as reservation:
                used = draw.randint(0, worst)
                await asyncio.sleep(0)
                reservation.settle(Amount(tokens=used, usd=used / 1000))
            total += used
        except BudgetExhausted:
            refused += 1
    return total

async def main():
    seed = int(sys.argv[2])
    ledger = SharedLedger(Path(sys.argv[1]), LedgerLimits(day=Limits(tokens=20_000, usd=20.0)))
    print("ready", flush=True)
    sys.stdin.readline()
    budget = Budget(Limits(), owner="session", shared=ledger)
    print(sum(await asyncio.gather(*(spend(budget, random.Random(seed * 10 + n)) for n in range(3)))))
    ledger.close()

asyncio.run(main())
"""


async def test_four_processes_never_exceed_the_limit_of_one_day(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    spenders = [started(SPENDER, str(path), str(seed)) for seed in range(4)]
    for spender in spenders:
        assert spender.stdout is not None
        assert spender.stdout.readline() == "ready\n"
    for spender in spenders:
        assert spender.stdin is not None
        spender.stdin.write("go\n")
        spender.stdin.flush()
    spent = [int(spender.communicate(timeout=100)[0]) for spender in spenders]
    assert [spender.returncode for spender in spenders] == [0] * 4

    ledger = SharedLedger(path, LedgerLimits(day=Limits(tokens=20_000)))
    (booked,) = await ledger.used()
    ledger.close()
    assert sum(spent) == booked.amount.tokens
    assert 19_000 <= sum(spent) <= 20_000
    assert sum(1 for part in spent if part) > 1, "they spent at the same time"
    assert booked.amount.usd == pytest.approx(sum(spent) / 1000)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12))
async def test_a_budget_with_a_ledger_never_exceeds_either_limit(steps: list[tuple[int, int]]) -> None:
    ledger = _InMemory(100)
    budget = Budget(Limits(tokens=80), owner="session", shared=ledger).child(Limits(), owner="turn")
    for worst, part in steps:
        try:
            async with budget.reservation(Amount(tokens=worst)) as reservation:
                reservation.settle(Amount(tokens=min(part, worst)))
        except BudgetExhausted:
            assert worst > min(budget.remaining("tokens") or 0, 100)
        assert budget.spent.tokens == ledger.used <= 80
    assert budget.reserved == Amount()


class _InMemory:
    """A ledger that only this process uses."""

    def __init__(self, limit: int) -> None:
        self.limit, self.used, self.reserved = limit, 0, 0

    def remaining(self, resource: str) -> float | None:
        return self.limit - self.used - self.reserved if resource == "tokens" else None

    async def refresh(self) -> None:
        """Nothing to look up."""

    async def reserve(self, amount: Amount) -> "_MemoryHold":
        rest = self.remaining("tokens") or 0
        if amount.tokens > rest:
            raise BudgetExhausted(
                resource="tokens", owner="day", limit=self.limit, used=self.used, requested=amount.tokens
            )
        self.reserved += amount.tokens
        return _MemoryHold(self, amount)


class _MemoryHold:
    def __init__(self, ledger: _InMemory, amount: Amount) -> None:
        self.ledger, self.amount = ledger, amount

    def settle(self, actual: Amount) -> None:
        self.ledger.reserved -= self.amount.tokens
        self.ledger.used += actual.tokens
