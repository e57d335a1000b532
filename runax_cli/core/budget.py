"""Budgets: reserve the worst case before a request, then settle with what it really used.

Checking first and spending later overshoots when requests run in parallel; a reservation does not. A budget can have a
parent, and a reservation counts in every ancestor. Limits shared with other processes are behind `SharedLimits`.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Protocol

from runax_cli.core.errors import BudgetExhausted


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """An amount of each resource. `requests` counts requests to sources, `retries` those to sources and models."""

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
    """The maximum of each resource; None means no limit."""

    steps: int | None = None
    calls: int | None = None
    requests: int | None = None
    retries: int | None = None
    tokens: int | None = None
    usd: float | None = None


class SharedReservation(Protocol):
    """A reservation that other processes see."""

    def settle(self, actual: Amount) -> None:
        """Replace the reservation by `actual`. Never blocks and never raises; until then it stays reserved."""


class SharedLimits(Protocol):
    """Limits that several processes use up together."""

    def remaining(self, resource: str) -> float | None:
        """What was left of `resource` at the last refresh, None if it is unlimited. An estimate, not a guarantee."""

    async def refresh(self) -> None:
        """Read what is left. Raises BudgetExhausted if a limit applies and its use cannot be read."""

    async def reserve(self, amount: Amount) -> SharedReservation:
        """Reserve `amount`, or raise BudgetExhausted and change nothing."""


class Reservation:
    """A reserved worst case. Settle it once with what was really used; until then it stays reserved."""

    def __init__(self, budget: "Budget", amount: Amount) -> None:
        self._budget = budget
        self.amount = amount
        self.is_open = True
        self.shared: SharedReservation | None = None

    def settle(self, actual: Amount) -> None:
        """Replace the reservation by `actual`. A second call changes nothing."""
        if self.is_open:
            self.is_open = False
            self._budget._settle(self.amount, actual)
            if self.shared is not None:
                self.shared.settle(actual)


class Budget:
    """The limits of one owner ("turn", "session", …), with what is spent and what is reserved.

    `reserve_shared` and `reservation` also apply the `shared` limits of all processes; `reserve` does not.
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
        """`flags` is the prefix of the command line options that raise these limits."""
        self.limits = limits
        self.owner = owner
        self.flags = flags
        self.spent = Amount()
        self.reserved = Amount()
        self._parent = parent
        self._shared: SharedLimits | None = parent._shared if parent is not None else shared

    def child(self, limits: Limits, *, owner: str) -> "Budget":
        """A budget whose reservations count in this one as well."""
        return Budget(limits, owner=owner, parent=self)

    def remaining(self, resource: str) -> float | None:
        """What can still be reserved of `resource` here and in every ancestor, None if it is unlimited.

        For shared limits this is the state at the last refresh.
        """
        remaining = [rest for budget in self._chain() if (rest := budget._remaining(resource)) is not None]
        if self._shared is not None and (shared := self._shared.remaining(resource)) is not None:
            remaining.append(shared)
        return min(remaining, default=None)

    async def refresh(self) -> None:
        """Read what is left of the shared limits. Raises BudgetExhausted if that cannot be read."""
        if self._shared is not None:
            await self._shared.refresh()

    async def reserve_shared(self, amount: Amount) -> Reservation:
        """Reserve `amount` here, in all ancestors and in the shared limits, or raise BudgetExhausted."""
        reservation = self.reserve(amount)
        if self._shared is not None:
            try:
                reservation.shared = await self._shared.reserve(amount)
            except BaseException:
                reservation.settle(Amount())
                raise
        return reservation

    @asynccontextmanager
    async def reservation(self, amount: Amount) -> AsyncIterator[Reservation]:
        """`reserve_shared` for a `with` block. If the block does not settle, the whole amount counts as used."""
        reservation = await self.reserve_shared(amount)
        try:
            yield reservation
        finally:
            reservation.settle(amount)

    def reserve(self, amount: Amount) -> Reservation:
        """Reserve `amount` in this budget and all its ancestors, or raise BudgetExhausted and change nothing."""
        for budget in self._chain():
            budget._require(amount)
        for budget in self._chain():
            budget.reserved = budget.reserved + amount
        return Reservation(self, amount)

    def charge(self, amount: Amount) -> None:
        """Add what was used before this budget existed, even if that exceeds a limit."""
        self.spent = self.spent + amount

    def _chain(self) -> "Iterator[Budget]":
        budget: Budget | None = self
        while budget is not None:
            yield budget
            budget = budget._parent

    def _remaining(self, resource: str) -> float | None:
        limit: float | None = getattr(self.limits, resource)
        if limit is None:
            return None
        return max(0.0, limit - self._used(resource))

    def _used(self, resource: str) -> float:
        used: float = getattr(self.spent, resource) + getattr(self.reserved, resource)
        return used

    def _require(self, amount: Amount) -> None:
        for field in fields(amount):
            requested: float = getattr(amount, field.name)
            remaining = self._remaining(field.name)
            if requested > 0 and remaining is not None and requested > remaining:
                own_limit: float | None = getattr(self.limits, field.name)
                limit = self._used(field.name) + remaining if own_limit is None else own_limit
                raise BudgetExhausted(
                    resource=field.name,
                    owner=self.owner,
                    limit=limit,
                    used=limit - remaining,
                    requested=requested,
                    flag=self.flags + field.name,
                )

    def _settle(self, reserved: Amount, actual: Amount) -> None:
        for budget in self._chain():
            budget.reserved = budget.reserved - reserved
            budget.spent = budget.spent + actual


class _BudgetShare(Budget):
    """The budget of one of several workers: all that is left of the whole, less what is guaranteed to the others."""

    def __init__(
        self, whole: Budget, *, owner: str, reserved_for_others: Callable[["_BudgetShare", str], float]
    ) -> None:
        super().__init__(Limits(), owner=owner, parent=whole)
        self._whole = whole
        self._reserved_for_others = reserved_for_others

    def _remaining(self, resource: str) -> float | None:
        remaining = self._whole.remaining(resource)
        return None if remaining is None else max(0.0, remaining - self._reserved_for_others(self, resource))


class BudgetShares:
    """One budget shared by several workers that run in parallel.

    Half of it is guaranteed to them in equal parts, so that none is starved. The other half, and the unused part of a
    worker that is done, goes to the first that asks. Together they never use more than the whole.
    """

    def __init__(self, whole: Budget, *, among: int) -> None:
        self._whole = whole
        self._guaranteed = {field.name: _guaranteed_share(whole, field.name, among) for field in fields(Amount)}
        self._open: list[_BudgetShare | None] = [None] * among

    def open(self, *, owner: str) -> Budget:
        """The budget of the next worker. Raises ValueError if all shares are open."""
        share = _BudgetShare(self._whole, owner=owner, reserved_for_others=self._guaranteed_to_others)
        self._open[self._open.index(None)] = share
        return share

    def close(self, share: Budget) -> None:
        """The worker is done: the rest of its guaranteed part is free for the others."""
        self._open = [other for other in self._open if other is not share]

    def reopen(self) -> None:
        """Add a share for a worker that runs again after it was closed."""
        self._open.append(None)

    def _guaranteed_to_others(self, mine: _BudgetShare, resource: str) -> float:
        share = self._guaranteed[resource]
        others = [other for other in self._open if other is not mine]
        return sum(share if other is None else max(0.0, share - other._used(resource)) for other in others)


def _guaranteed_share(whole: Budget, resource: str, among: int) -> float:
    """Half of what is left, divided equally; 0 if the resource is unlimited. Only money is divisible."""
    remaining = whole.remaining(resource)
    if remaining is None:
        return 0.0
    return remaining / (2 * among) if resource == "usd" else float(remaining // (2 * among))
