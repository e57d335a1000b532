"""Budgets: reserve the worst case, then settle what was really used.

Check-then-spend overshoots under concurrency; a reservation cannot. A budget may have a parent, and a reservation
then counts in every ancestor; what the last of them shares with other processes is behind a seam. Knows amounts and
limits only: no clock, no prices, no I/O.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, fields
from typing import Protocol

from runax_cli.core.errors import BudgetExhausted


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much of each resource. `usd` is money; requests are those to sources, retries those to anybody."""

    steps: int = 0
    calls: int = 0
    requests: int = 0
    retries: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(**{f.name: getattr(self, f.name) - getattr(other, f.name) for f in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most of each resource that may be used; None is no limit."""

    steps: int | None = None
    calls: int | None = None
    requests: int | None = None
    retries: int | None = None
    tokens: int | None = None
    usd: float | None = None


class SharedReservation(Protocol):
    """A worst case that is set aside where other processes see it."""

    def settle(self, actual: Amount) -> None:
        """Replace it by what was really used. Never blocks and never raises: what is not settled stays set aside."""


class SharedLimits(Protocol):
    """Limits that other processes use up as well."""

    def rest(self, resource: str) -> float | None:
        """What was left of `resource` when it was last looked; None where nothing limits it. Advice only."""

    async def refresh(self) -> None:
        """Look what is left. Raises BudgetExhausted where that cannot be learnt and a limit depends on it."""

    async def reserve(self, amount: Amount) -> SharedReservation:
        """Set `amount` aside, or raise BudgetExhausted and change nothing."""


class Reservation:
    """A worst case that is set aside. Settle it once with what was really used; leaving it unsettled keeps it."""

    def __init__(self, budget: "Budget", amount: Amount) -> None:
        self._budget = budget
        self.amount = amount
        self.is_open = True
        self.hold: SharedReservation | None = None

    def settle(self, actual: Amount) -> None:
        """Replace the reservation by `actual`. A second call changes nothing."""
        if self.is_open:
            self.is_open = False
            self._budget._settle(self.amount, actual)
            if self.hold is not None:
                self.hold.settle(actual)


class Budget:
    """Limits of one owner ("turn", "session", …), with what is spent and what is reserved.

    `shared` are limits beyond this process, which `take` and `held` observe; `reserve` stays inside of it.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        owner: str,
        parent: "Budget | None" = None,
        shared: SharedLimits | None = None,
        flags: str = "--max-",
    ) -> None:
        """`flags` is how the options begin that raise these limits."""
        self.limits = limits
        self.owner = owner
        self.flags = flags
        self.spent = Amount()
        self.reserved = Amount()
        self._parent = parent
        self._shared: SharedLimits | None = parent._shared if parent is not None else shared

    def child(self, limits: Limits, *, owner: str) -> "Budget":
        """A budget whose reservations count here too."""
        return Budget(limits, owner=owner, parent=self)

    def remaining(self, resource: str) -> float | None:
        """What may still be reserved of `resource` here and in every ancestor; None where nothing limits it.

        What is left of limits that other processes use up too is as it was when last looked at.
        """
        rests = [rest for budget in self._chain() if (rest := budget._rest(resource)) is not None]
        if self._shared is not None and (common := self._shared.rest(resource)) is not None:
            rests.append(common)
        return min(rests) if rests else None

    async def refresh(self) -> None:
        """Learn what other processes have left. Raises BudgetExhausted where that is not to be learnt."""
        if self._shared is not None:
            await self._shared.refresh()

    async def take(self, amount: Amount) -> Reservation:
        """Set `amount` aside here, in all ancestors and among all processes, or raise BudgetExhausted."""
        reservation = self.reserve(amount)
        if self._shared is not None:
            try:
                reservation.hold = await self._shared.reserve(amount)
            except BaseException:
                reservation.settle(Amount())
                raise
        return reservation

    @asynccontextmanager
    async def held(self, amount: Amount) -> AsyncIterator[Reservation]:
        """Take for a block. A block that leaves without settling has used the worst case."""
        reservation = await self.take(amount)
        try:
            yield reservation
        finally:
            reservation.settle(amount)

    def reserve(self, amount: Amount) -> Reservation:
        """Set `amount` aside in this budget and all its ancestors, or raise BudgetExhausted and change nothing."""
        for budget in self._chain():
            budget._require(amount)
        for budget in self._chain():
            budget.reserved = budget.reserved + amount
        return Reservation(self, amount)

    def charge(self, amount: Amount) -> None:
        """Count what was used before this budget was made, even where that is above a limit."""
        self.spent = self.spent + amount

    @contextmanager
    def reserved_for(self, amount: Amount) -> Iterator[Reservation]:
        """Reserve for a block. A block that leaves without settling has used the worst case."""
        reservation = self.reserve(amount)
        try:
            yield reservation
        finally:
            reservation.settle(amount)

    def _chain(self) -> "Iterator[Budget]":
        budget: Budget | None = self
        while budget is not None:
            yield budget
            budget = budget._parent

    def _rest(self, resource: str) -> float | None:
        limit: float | None = getattr(self.limits, resource)
        if limit is None:
            return None
        return max(0.0, limit - self._used(resource))

    def _used(self, resource: str) -> float:
        used: float = getattr(self.spent, resource) + getattr(self.reserved, resource)
        return used

    def _require(self, amount: Amount) -> None:
        for field in fields(amount):
            asked: float = getattr(amount, field.name)
            rest = self._rest(field.name)
            if asked > 0 and rest is not None and asked > rest:
                given: float | None = getattr(self.limits, field.name)
                limit = self._used(field.name) + rest if given is None else given
                raise BudgetExhausted(
                    resource=field.name,
                    owner=self.owner,
                    limit=limit,
                    used=limit - rest,
                    asked=asked,
                    flag=self.flags + field.name,
                )

    def _settle(self, reserved: Amount, actual: Amount) -> None:
        for budget in self._chain():
            budget.reserved = budget.reserved - reserved
            budget.spent = budget.spent + actual


class _BudgetShare(Budget):
    """What one of several may use: everything that is left, but for what is guaranteed to the others."""

    def __init__(self, whole: Budget, *, owner: str, kept_for_others: Callable[["_BudgetShare", str], float]) -> None:
        super().__init__(Limits(), owner=owner, parent=whole)
        self._whole = whole
        self._kept_for_others = kept_for_others

    def _rest(self, resource: str) -> float | None:
        rest = self._whole.remaining(resource)
        return None if rest is None else max(0.0, rest - self._kept_for_others(self, resource))


class BudgetShares:
    """One budget among several who work at the same time.

    Half of it is guaranteed to them in equal parts, so that none is starved; the other half, and what is left of the
    part of one that is closed, belongs to whoever needs it first. Together they never use more than the whole.
    """

    def __init__(self, whole: Budget, *, among: int) -> None:
        self._whole = whole
        self._guaranteed = {field.name: _half(whole, field.name, among) for field in fields(Amount)}
        self._open: list[_BudgetShare | None] = [None] * among

    def open(self, *, owner: str) -> Budget:
        """The budget of the next one. Raises ValueError where all have theirs and none was closed."""
        share = _BudgetShare(self._whole, owner=owner, kept_for_others=self._kept)
        self._open[self._open.index(None)] = share
        return share

    def close(self, share: Budget) -> None:
        """Its owner is done: what it did not use is there for the others."""
        self._open = [other for other in self._open if other is not share]

    def reopen(self) -> None:
        """One that was closed is worked on once more."""
        self._open.append(None)

    def guaranteed(self, resource: str) -> float:
        """What each may use in any case; 0 where nothing limits the resource."""
        return self._guaranteed[resource]

    def _kept(self, mine: _BudgetShare, resource: str) -> float:
        own = self._guaranteed[resource]
        others = [other for other in self._open if other is not mine]
        return sum(own if other is None else max(0.0, own - other._used(resource)) for other in others)


def _half(whole: Budget, resource: str, among: int) -> float:
    rest = whole.remaining(resource)
    if rest is None:
        return 0.0
    return rest / (2 * among) if resource == "usd" else float(rest // (2 * among))
