"""The ledger of a day: what all processes of a user have reserved and used, in one SQLite file.

Each amount is booked on the day (UTC) and the tenant it was reserved for. A limit is checked and the worst case set
aside in one transaction, so that processes cannot pass it together; what dead processes had set aside is given back.
Where a limit rests on a ledger that cannot be read, nothing may be used. Knows amounts, days, tenants. Knows nothing
of what is bought.
"""

import asyncio
import math
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from adapters.clock import Clock, SystemClock
from runax_cli.core.budget import Amount, Limits
from runax_cli.core.errors import BudgetExhausted, LedgerClosed
from runax_cli.memory.process_lock import ProcessLock

BUSY_TIMEOUT_S = 30.0
NANO = 1_000_000_000
"""Money is booked in whole billionths of a dollar: sums of floats would drift."""

_VERSION = 1
_SCHEMA = """
CREATE TABLE used (
    day TEXT NOT NULL, tenant TEXT NOT NULL, resource TEXT NOT NULL, amount INTEGER NOT NULL DEFAULT 0,
    perhaps INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (day, tenant, resource)
) STRICT, WITHOUT ROWID;
CREATE TABLE reserved (
    id TEXT NOT NULL, resource TEXT NOT NULL, process TEXT NOT NULL, day TEXT NOT NULL, tenant TEXT NOT NULL,
    amount INTEGER NOT NULL, PRIMARY KEY (id, resource)
) STRICT, WITHOUT ROWID;
CREATE INDEX reserved_by_process ON reserved (process);
"""
# Later days count too: where the clock was put back, what was used stays used.
_IN_USE = (
    "SELECT (SELECT coalesce(sum(amount), 0) FROM used WHERE day >= :day AND resource = :resource {tenant})"
    " + (SELECT coalesce(sum(amount), 0) FROM reserved WHERE day >= :day AND resource = :resource {tenant})"
)
_OF_DAY = _IN_USE.format(tenant="")
_OF_TENANT = _IN_USE.format(tenant="AND tenant = :tenant")
_BOOK = (
    "INSERT INTO used (day, tenant, resource, {column}) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (day, tenant, resource) DO UPDATE SET {column} = {column} + excluded.{column}"
)
_BOOK_USED, _BOOK_PERHAPS = _BOOK.format(column="amount"), _BOOK.format(column="perhaps")
_RESOURCES = tuple(item.name for item in fields(Amount))
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLimits:
    """The most that one day may use, and the most that `tenant` may use of it."""

    day: Limits = field(default_factory=Limits)
    tenant: Limits = field(default_factory=Limits)
    name: str = ""

    @property
    def is_any(self) -> bool:
        """Whether anything is limited at all."""
        return self.day != Limits() or self.tenant != Limits()


@dataclass(frozen=True, slots=True)
class TenantSpend:
    """What a tenant used on a day. `perhaps` is what requests may have cost whose process died while they ran."""

    day: str
    tenant: str
    amount: Amount
    perhaps: Amount


@dataclass(slots=True)
class _LedgerReservation:
    """A worst case in the ledger; `id` is None where nothing limits it and only its use is booked."""

    ledger: "SharedLedger"
    day: str
    id: str | None
    is_open: bool = True

    def settle(self, actual: Amount) -> None:
        """See `budget.Hold.settle`: booked in the ledger's own thread."""
        if self.is_open:
            self.is_open = False
            self.ledger.book(self.day, actual, instead_of=self.id)


@dataclass(slots=True)
class _LedgerFile:
    """The file, as the ledger's thread has it."""

    connection: sqlite3.Connection
    presence: ProcessLock


@dataclass(slots=True)
class SharedLedger:
    """One ledger file as one process sees it. All work on it is done in a thread of its own, in order."""

    path: Path
    limits: LedgerLimits = field(default_factory=LedgerLimits)
    clock: Clock = field(default_factory=SystemClock)
    on_lost: Callable[[str], None] = lambda _why: None
    _open: _LedgerFile | None = None
    _rests: Mapping[str, float] | None = None
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")
    )
    _is_lost: bool = False

    def remaining(self, resource: str) -> float | None:
        """See `budget.Shared.rest`. Before the first look it is the limit itself."""
        if self._rests is not None:
            return self._rests.get(resource)
        limits: list[float | None] = [getattr(scope, resource) for scope in (self.limits.day, self.limits.tenant)]
        return min((limit for limit in limits if limit is not None), default=None)

    async def refresh(self) -> None:
        """See `budget.Shared.refresh`."""
        if self.limits.is_any:
            await self._in_thread(self._looked)

    async def reserve(self, amount: Amount) -> _LedgerReservation:
        """See `budget.Shared.reserve`. Where nothing is limited, only what was used is booked."""
        day = self._today()
        if not self.limits.is_any:
            return _LedgerReservation(self, day, None)
        hold = _LedgerReservation(self, day, uuid4().hex)
        try:
            await self._in_thread(lambda: self._set_aside(hold, amount))
        except asyncio.CancelledError:
            hold.settle(Amount())
            raise
        return hold

    def book(self, day: str, actual: Amount, *, instead_of: str | None = None) -> None:
        """Book what was used, in place of what was set aside. Returns at once; a failure leaves it set aside."""
        if actual == Amount() and instead_of is None:
            return
        # A pool that is shut down takes nothing more: of a run that was aborted nobody waits for the end.
        with suppress(RuntimeError):
            self._pool.submit(self._booked, day, actual, instead_of)

    async def used(self) -> tuple[TenantSpend, ...]:
        """Everything that is booked, the latest day first. Raises LedgerClosed."""
        return await self._in_thread(self._all_used)

    def close(self) -> None:
        """Book what is under way, and leave. A second call changes nothing."""
        self._pool.shutdown(wait=True)
        if self._open is not None:
            self._open.connection.close()
            self._open.presence.release()
            self._open = None

    async def _in_thread(self, action: Callable[[], _T]) -> _T:
        return await asyncio.wrap_future(self._submitted(action))

    def _submitted(self, action: Callable[[], _T]) -> Future[_T]:
        def guarded() -> _T:
            with _errors_as_ledger_closed(self.path):
                return action()

        return self._pool.submit(guarded)

    def _limited(self, amount: Amount) -> Iterator[tuple[str, str, Limits]]:
        """Scope, resource and limits of everything in `amount` that is limited."""
        for scope, limits in (("day", self.limits.day), ("tenant", self.limits.tenant)):
            for resource in _RESOURCES:
                if getattr(amount, resource) > 0 and getattr(limits, resource) is not None:
                    yield scope, resource, limits

    def _set_aside(self, hold: _LedgerReservation, amount: Amount) -> None:
        opened = self._opened()
        with _transaction(opened.connection) as connection:
            self._expire(opened)
            for scope, resource, limits in self._limited(amount):
                self._require(connection, scope, resource, limits=limits, day=hold.day, amount=amount)
            rows = [
                (hold.id, resource, opened.presence.name, hold.day, self.limits.name, units)
                for resource in _RESOURCES
                if (units := _units(resource, getattr(amount, resource))) > 0
            ]
            connection.executemany("INSERT INTO reserved VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._rests = self._measured(connection)

    def _require(
        self, connection: sqlite3.Connection, scope: str, resource: str, *, limits: Limits, day: str, amount: Amount
    ) -> None:
        used = self._in_use(connection, scope, resource, day=day)
        limit: float = getattr(limits, resource)
        requested: float = getattr(amount, resource)
        if used + _units(resource, requested) > _units(resource, limit, is_limit=True):
            owner = "day" if scope == "day" else f"tenant '{self.limits.name}' today"
            flag = f"--max-{scope}-{resource}"
            spent = _value(resource, used)
            raise BudgetExhausted(
                resource=resource, owner=owner, limit=limit, used=spent, requested=requested, flag=flag
            )

    def _in_use(self, connection: sqlite3.Connection, scope: str, resource: str, *, day: str) -> int:
        statement = _OF_DAY if scope == "day" else _OF_TENANT
        values = {"day": day, "resource": resource, "tenant": self.limits.name}
        (units,) = connection.execute(statement, values).fetchone()
        return int(units)

    def _expire(self, opened: _LedgerFile) -> None:
        """Give back what dead processes had set aside. Their requests may have been billed: that is kept beside."""
        names = [name for (name,) in opened.connection.execute("SELECT DISTINCT process FROM reserved")]
        for name in names:
            if not opened.presence.is_alive(name):
                rows = opened.connection.execute(
                    "DELETE FROM reserved WHERE process=? RETURNING day, tenant, resource, amount", (name,)
                ).fetchall()
                opened.connection.executemany(_BOOK_PERHAPS, rows)

    def _booked(self, day: str, actual: Amount, instead_of: str | None) -> None:
        try:
            with _errors_as_ledger_closed(self.path), _transaction(self._opened().connection) as connection:
                connection.execute("DELETE FROM reserved WHERE id=?", (instead_of,))
                rows = [
                    (day, self.limits.name, resource, units)
                    for resource in _RESOURCES
                    if (units := _units(resource, getattr(actual, resource))) > 0
                ]
                connection.executemany(_BOOK_USED, rows)
                self._rests = self._measured(connection)
        except LedgerClosed as lost:
            if not self._is_lost:
                self._is_lost = True
                self.on_lost(str(lost))

    def _looked(self) -> None:
        opened = self._opened()
        with _transaction(opened.connection) as connection:
            self._expire(opened)
            self._rests = self._measured(connection)

    def _measured(self, connection: sqlite3.Connection) -> Mapping[str, float]:
        rests: dict[str, float] = {}
        every = Amount(**dict.fromkeys(_RESOURCES, 1))
        for scope, resource, limits in self._limited(every):
            used = self._in_use(connection, scope, resource, day=self._today())
            rest = max(0, _units(resource, getattr(limits, resource), is_limit=True) - used)
            rests[resource] = min(_value(resource, rest), rests.get(resource, math.inf))
        return rests

    def _all_used(self) -> tuple[TenantSpend, ...]:
        rows = self._opened().connection.execute(
            "SELECT day, tenant, resource, amount, perhaps FROM used ORDER BY day DESC, tenant, resource"
        )
        booked: dict[tuple[str, str], tuple[dict[str, float], dict[str, float]]] = {}
        for day, tenant, resource, amount, perhaps in rows:
            used, maybe = booked.setdefault((day, tenant), ({}, {}))
            used[resource], maybe[resource] = _value(resource, amount), _value(resource, perhaps)
        return tuple(TenantSpend(*key, _amount(used), _amount(maybe)) for key, (used, maybe) in booked.items())

    def _opened(self) -> _LedgerFile:
        if self._open is None:
            connection = _connected(self.path)
            try:
                presence = ProcessLock(self.path.with_name(f"{self.path.name}.processes"))
            except BaseException:
                connection.close()
                raise
            self._open = _LedgerFile(connection, presence)
        return self._open

    def _today(self) -> str:
        return datetime.fromtimestamp(self.clock.wall(), UTC).date().isoformat()


def _amount(values: Mapping[str, float]) -> Amount:
    usd = values.get("usd", 0.0)
    return Amount(usd=usd, **{name: int(value) for name, value in values.items() if name != "usd"})


def _units(resource: str, value: float, *, is_limit: bool = False) -> int:
    """As it is booked: money rounded up, and a limit of money rounded down."""
    if resource != "usd":
        return int(value)
    exact = round(value * NANO, 3)
    return math.floor(exact) if is_limit else math.ceil(exact)


def _value(resource: str, units: int) -> float:
    return units / NANO if resource == "usd" else float(units)


def _connected(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        with _transaction(connection):
            _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={_VERSION}")
    elif version != _VERSION:
        raise LedgerClosed(f"it has version {version}, and this runax reads version {_VERSION}", path=str(path))


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Everything inside or nothing; whoever else writes waits."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def _errors_as_ledger_closed(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError, ValueError, OverflowError) as error:
        raise LedgerClosed(str(error), path=str(path)) from error
