"""The spend ledger: what all processes of a user reserve and use per day and tenant, in one SQLite file.

An amount is booked on the day (UTC) and the tenant of its reservation. A limit is checked and the worst case reserved
in one transaction, so that processes cannot exceed it together. What a process had reserved when it died may have been
billed: it counts toward the limits as `perhaps` until the user clears it. If a limit is set and the ledger cannot be
read, nothing may be used.
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
"""Dollars are booked as integers of a billionth each: sums of floats would drift."""

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
# Later days count too, in case the clock was set back.
_IN_USE = (
    "SELECT (SELECT coalesce(sum(amount + perhaps), 0) FROM used WHERE day >= :day AND resource = :resource {tenant})"
    " + (SELECT coalesce(sum(amount), 0) FROM reserved WHERE day >= :day AND resource = :resource {tenant})"
)
_OF_DAY = _IN_USE.format(tenant="")
_OF_TENANT = _IN_USE.format(tenant="AND tenant = :tenant")
_PERHAPS = "SELECT coalesce(sum(perhaps), 0) FROM used WHERE day >= :day AND resource = :resource {tenant}"
_PERHAPS_OF_DAY = _PERHAPS.format(tenant="")
_PERHAPS_OF_TENANT = _PERHAPS.format(tenant="AND tenant = :tenant")
_BOOK = (
    "INSERT INTO used (day, tenant, resource, {column}) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (day, tenant, resource) DO UPDATE SET {column} = {column} + excluded.{column}"
)
_BOOK_USED, _BOOK_POSSIBLE = _BOOK.format(column="amount"), _BOOK.format(column="perhaps")
_RESOURCES = tuple(item.name for item in fields(Amount))
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLimits:
    """The limits of one day for all tenants (`day`) and for the tenant `name` (`tenant`)."""

    day: Limits = field(default_factory=Limits)
    tenant: Limits = field(default_factory=Limits)
    name: str = ""

    @property
    def is_any(self) -> bool:
        """Whether there is any limit."""
        return self.day != Limits() or self.tenant != Limits()


@dataclass(frozen=True, slots=True)
class TenantSpend:
    """The usage of a tenant on a day. `perhaps` is what processes had reserved when they died."""

    day: str
    tenant: str
    amount: Amount
    perhaps: Amount


@dataclass(slots=True)
class _LedgerReservation:
    """A reservation in the ledger; `id` is None without limits, when only the usage is booked."""

    ledger: "SharedLedger"
    day: str
    id: str | None
    is_open: bool = True

    def settle(self, actual: Amount) -> None:
        """See `SharedReservation.settle`. Booked in the thread of the ledger."""
        if self.is_open:
            self.is_open = False
            self.ledger.book(self.day, actual, reservation_id=self.id)


@dataclass(slots=True)
class _LedgerFile:
    """The open file, used by the thread of the ledger only."""

    connection: sqlite3.Connection
    process: ProcessLock


@dataclass(slots=True)
class SharedLedger:
    """The ledger file of this process. All work on it is done in order, in its own thread."""

    path: Path
    limits: LedgerLimits = field(default_factory=LedgerLimits)
    clock: Clock = field(default_factory=SystemClock)
    on_error: Callable[[str], None] = lambda _why: None
    _open: _LedgerFile | None = None
    _remaining: Mapping[str, float] | None = None
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")
    )
    _has_failed: bool = False

    def remaining(self, resource: str) -> float | None:
        """See `SharedLimits.remaining`. Before the first refresh it is the limit itself."""
        if self._remaining is not None:
            return self._remaining.get(resource)
        limits: list[float | None] = [getattr(scope, resource) for scope in (self.limits.day, self.limits.tenant)]
        return min((limit for limit in limits if limit is not None), default=None)

    async def refresh(self) -> None:
        """See `SharedLimits.refresh`."""
        if self.limits.is_any:
            await self._in_thread(self._refresh)

    async def reserve(self, amount: Amount) -> _LedgerReservation:
        """See `SharedLimits.reserve`. Without limits, only the usage is booked."""
        day = self._today()
        if not self.limits.is_any:
            return _LedgerReservation(self, day, None)
        reservation = _LedgerReservation(self, day, uuid4().hex)
        try:
            await self._in_thread(lambda: self._insert_reservation(reservation, amount))
        except asyncio.CancelledError:
            reservation.settle(Amount())
            raise
        return reservation

    def book(self, day: str, actual: Amount, *, reservation_id: str | None = None) -> None:
        """Book the usage instead of a reservation. Returns immediately; on failure the reservation remains."""
        if actual == Amount() and reservation_id is None:
            return
        # A pool that was shut down accepts no work: an aborted run does not wait.
        with suppress(RuntimeError):
            self._pool.submit(self._book, day, actual, reservation_id)

    async def used(self) -> tuple[TenantSpend, ...]:
        """All booked usage, latest day first. Raises LedgerClosed."""
        return await self._in_thread(self._read_used)

    async def clear_perhaps(self) -> None:
        """Forget what dead processes may have used, on all days and of all tenants. Raises LedgerClosed."""
        await self._in_thread(self._clear_perhaps)

    def close(self) -> None:
        """Finish pending bookings and close the file. A second call changes nothing."""
        self._pool.shutdown(wait=True)
        if self._open is not None:
            self._open.connection.close()
            self._open.process.release()
            self._open = None

    async def _in_thread(self, action: Callable[[], _T]) -> _T:
        return await asyncio.wrap_future(self._submit(action))

    def _submit(self, action: Callable[[], _T]) -> Future[_T]:
        def guarded() -> _T:
            with _errors_as_ledger_closed(self.path):
                return action()

        return self._pool.submit(guarded)

    def _limited(self, amount: Amount) -> Iterator[tuple[str, str, Limits]]:
        """Scope, resource and limits of each limited resource in `amount`."""
        for scope, limits in (("day", self.limits.day), ("tenant", self.limits.tenant)):
            for resource in _RESOURCES:
                if getattr(amount, resource) > 0 and getattr(limits, resource) is not None:
                    yield scope, resource, limits

    def _insert_reservation(self, reservation: _LedgerReservation, amount: Amount) -> None:
        opened = self._ensure_open()
        with _transaction(opened.connection) as connection:
            self._move_dead(opened)
            for scope, resource, limits in self._limited(amount):
                self._require(connection, scope, resource, limits=limits, day=reservation.day, amount=amount)
            rows = [
                (reservation.id, resource, opened.process.name, reservation.day, self.limits.name, units)
                for resource in _RESOURCES
                if (units := _units(resource, getattr(amount, resource))) > 0
            ]
            connection.executemany("INSERT INTO reserved VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._remaining = self._compute_remaining(connection)

    def _require(
        self, connection: sqlite3.Connection, scope: str, resource: str, *, limits: Limits, day: str, amount: Amount
    ) -> None:
        used = self._in_use(connection, scope, resource, day=day)
        limit: float = getattr(limits, resource)
        requested: float = getattr(amount, resource)
        if used + _units(resource, requested) > _units(resource, limit, is_limit=True):
            owner = "day" if scope == "day" else f"tenant '{self.limits.name}' today"
            flag = f"--max-{scope}-{resource}"
            statement = _PERHAPS_OF_DAY if scope == "day" else _PERHAPS_OF_TENANT
            raise BudgetExhausted(
                resource=resource,
                owner=owner,
                limit=limit,
                used=_value(resource, used),
                requested=requested,
                flag=flag,
                unsettled=_value(resource, self._sum(connection, statement, resource, day=day)),
            )

    def _in_use(self, connection: sqlite3.Connection, scope: str, resource: str, *, day: str) -> int:
        return self._sum(connection, _OF_DAY if scope == "day" else _OF_TENANT, resource, day=day)

    def _sum(self, connection: sqlite3.Connection, statement: str, resource: str, *, day: str) -> int:
        values = {"day": day, "resource": resource, "tenant": self.limits.name}
        (units,) = connection.execute(statement, values).fetchone()
        return int(units)

    def _move_dead(self, opened: _LedgerFile) -> None:
        """Book the reservations of dead processes as `perhaps`: their requests may have been billed."""
        names = [name for (name,) in opened.connection.execute("SELECT DISTINCT process FROM reserved")]
        for name in names:
            if not opened.process.is_alive(name):
                rows = opened.connection.execute(
                    "DELETE FROM reserved WHERE process=? RETURNING day, tenant, resource, amount", (name,)
                ).fetchall()
                opened.connection.executemany(_BOOK_POSSIBLE, rows)

    def _book(self, day: str, actual: Amount, reservation_id: str | None) -> None:
        try:
            with _errors_as_ledger_closed(self.path), _transaction(self._ensure_open().connection) as connection:
                connection.execute("DELETE FROM reserved WHERE id=?", (reservation_id,))
                rows = [
                    (day, self.limits.name, resource, units)
                    for resource in _RESOURCES
                    if (units := _units(resource, getattr(actual, resource))) > 0
                ]
                connection.executemany(_BOOK_USED, rows)
                self._remaining = self._compute_remaining(connection)
        except LedgerClosed as error:
            if not self._has_failed:
                self._has_failed = True
                self.on_error(str(error))

    def _refresh(self) -> None:
        opened = self._ensure_open()
        with _transaction(opened.connection) as connection:
            self._move_dead(opened)
            self._remaining = self._compute_remaining(connection)

    def _compute_remaining(self, connection: sqlite3.Connection) -> Mapping[str, float]:
        remaining: dict[str, float] = {}
        every = Amount(**dict.fromkeys(_RESOURCES, 1))
        for scope, resource, limits in self._limited(every):
            used = self._in_use(connection, scope, resource, day=self._today())
            left = max(0, _units(resource, getattr(limits, resource), is_limit=True) - used)
            remaining[resource] = min(_value(resource, left), remaining.get(resource, math.inf))
        return remaining

    def _read_used(self) -> tuple[TenantSpend, ...]:
        opened = self._ensure_open()
        with _transaction(opened.connection) as connection:
            self._move_dead(opened)
            rows = connection.execute(
                "SELECT day, tenant, resource, amount, perhaps FROM used ORDER BY day DESC, tenant, resource"
            ).fetchall()
        booked: dict[tuple[str, str], tuple[dict[str, float], dict[str, float]]] = {}
        for day, tenant, resource, amount, perhaps in rows:
            used, maybe = booked.setdefault((day, tenant), ({}, {}))
            used[resource], maybe[resource] = _value(resource, amount), _value(resource, perhaps)
        return tuple(TenantSpend(*key, _amount(used), _amount(maybe)) for key, (used, maybe) in booked.items())

    def _clear_perhaps(self) -> None:
        opened = self._ensure_open()
        with _transaction(opened.connection) as connection:
            self._move_dead(opened)
            connection.execute("UPDATE used SET perhaps = 0 WHERE perhaps > 0")

    def _ensure_open(self) -> _LedgerFile:
        if self._open is None:
            connection = _connect(self.path)
            try:
                process = ProcessLock(self.path.with_name(f"{self.path.name}.processes"))
            except BaseException:
                connection.close()
                raise
            self._open = _LedgerFile(connection, process)
        return self._open

    def _today(self) -> str:
        return datetime.fromtimestamp(self.clock.wall(), UTC).date().isoformat()


def _amount(values: Mapping[str, float]) -> Amount:
    usd = values.get("usd", 0.0)
    return Amount(usd=usd, **{name: int(value) for name, value in values.items() if name != "usd"})


def _units(resource: str, value: float, *, is_limit: bool = False) -> int:
    """The booked integer: dollars are rounded up, a limit in dollars is rounded down."""
    if resource != "usd":
        return int(value)
    exact = round(value * NANO, 3)
    return math.floor(exact) if is_limit else math.ceil(exact)


def _value(resource: str, units: int) -> float:
    return units / NANO if resource == "usd" else float(units)


def _connect(path: Path) -> sqlite3.Connection:
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
        raise LedgerClosed(f"it has version {version}, but this runax supports version {_VERSION}", path=str(path))


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A write transaction; other writers wait."""
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
