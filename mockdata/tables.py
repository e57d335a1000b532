"""The resources of the fictional provider: record counts and filters, which select records without storing them."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias

from pydantic import BaseModel

from mockdata import customers, events, messages, payments, schemas, tickets
from mockdata.customers import fold_case, person
from mockdata.sentences import words

DEFAULT_SEED = 20_261_101
Filters: TypeAlias = Mapping[str, str | int]
Numbers: TypeAlias = Sequence[int]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter argument of a list. `values` are all allowed values of an enum."""

    name: str
    description: str
    is_integer: bool = False
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One resource. Records are numbered from 1 and generated on demand.

    `candidates` narrows by the filters that have an index; `matches` then checks each number against all filters.
    """

    name: str
    description: str
    schema: type[BaseModel]
    count: int
    filters: tuple[Filter, ...]
    record: Callable[[int], dict[str, Any]]
    candidates: Callable[[Filters], Numbers]
    matches: Callable[[int, Filters], bool]

    def find(self, filters: Filters) -> Numbers:
        """The numbers of the matching records, ascending. Takes linear time if no index applies."""
        numbers = self.candidates(filters)
        return array("I", (n for n in numbers if self.matches(n, filters))) if filters else numbers


CUSTOMER_ID = Filter("customer_id", "Only records of the customer with this id.", is_integer=True)


def tables(seed: int = DEFAULT_SEED, *, event_count: int = events.DEFAULT_COUNT) -> dict[str, Table]:
    """All resources by name. Raises ValueError for an invalid number of events."""
    if not 1 <= event_count <= events.MAX_COUNT:
        raise ValueError(f"'event_count' is {event_count}; it must be from 1 to {events.MAX_COUNT}")
    made = (_customers(seed), _tickets(seed), _payments(seed), _messages(seed), _events(seed, event_count))
    return {table.name: table for table in made}


def _customers(seed: int) -> Table:
    codes = tuple(row[0] for row in words()["tariffs"])
    return Table(
        name="customers",
        description="Customers of the internet provider: contact, address, tariff and devices.",
        schema=schemas.Customer,
        count=customers.COUNT,
        filters=(
            Filter("name", "Only customers whose name contains this text; case and diacritics do not matter."),
            Filter("city", "Only customers who live in this city; case and diacritics do not matter."),
            Filter("status", "Only customers with this status.", values=customers.STATUSES),
            Filter("tariff", "Only customers with the tariff of this code.", values=codes),
        ),
        record=lru_cache(maxsize=1024)(partial(customers.record, seed)),
        candidates=lambda _: range(1, customers.COUNT + 1),
        matches=partial(_customer_fits, seed),
    )


def _customer_fits(seed: int, n: int, filters: Filters) -> bool:
    who = person(seed, n)
    return (
        fold_case(str(filters.get("name", ""))) in fold_case(who.name)
        and fold_case(str(filters.get("city", who.city))) == fold_case(who.city)
        and filters.get("tariff", who.tariff[0]) == who.tariff[0]
        and ("status" not in filters or customers.record(seed, n)["status"] == filters["status"])
    )


def _tickets(seed: int) -> Table:
    total = tickets.ownership(seed).total
    return Table(
        name="tickets",
        description="Support tickets with their whole conversation, internal notes and resolution, oldest first.",
        schema=schemas.Ticket,
        count=total,
        filters=(
            CUSTOMER_ID,
            Filter("status", "Only tickets with this status.", values=tickets.STATUSES),
            Filter("priority", "Only tickets with this priority.", values=tickets.PRIORITIES),
            Filter("category", "Only tickets of this category.", values=tickets.CATEGORIES),
        ),
        record=lru_cache(maxsize=512)(partial(tickets.record, seed)),
        candidates=partial(_by_customer, tickets.ownership(seed).of, total),
        matches=lambda n, filters: _has(tickets.facts_of(seed, n), filters),
    )


def _payments(seed: int) -> Table:
    return Table(
        name="payments",
        description="Invoices and their payments, one a customer and month, November 2025 to October 2026.",
        schema=schemas.Payment,
        count=payments.COUNT,
        filters=(
            CUSTOMER_ID,
            Filter("status", "Only payments with this status.", values=payments.STATUSES),
            Filter("method", "Only payments made in this way.", values=payments.METHODS),
        ),
        record=partial(payments.record, seed),
        candidates=partial(_by_customer, payments.of_customer, payments.COUNT),
        matches=lambda n, filters: _has(payments.facts_of(seed, n), filters),
    )


def _messages(seed: int) -> Table:
    total = messages.ownership(seed).total
    return Table(
        name="messages",
        description="SMS, e-mails, app notifications and letters between the provider and its customers.",
        schema=schemas.Message,
        count=total,
        filters=(
            CUSTOMER_ID,
            Filter("channel", "Only messages sent this way.", values=messages.CHANNELS),
            Filter("direction", "Only messages to (outbound) or from (inbound) customers.", values=messages.DIRECTIONS),
        ),
        record=partial(messages.record, seed),
        candidates=partial(_by_customer, messages.ownership(seed).of, total),
        matches=lambda n, filters: _has(messages.facts_of(seed, n), filters),
    )


def _events(seed: int, count: int) -> Table:
    def by_device(filters: Filters) -> Numbers:
        return events.of_device(str(filters["device"]), count) if "device" in filters else range(1, count + 1)

    def matches(n: int, filters: Filters) -> bool:
        return ("severity" not in filters or events.severity(seed, n) == filters["severity"]) and (
            "metric" not in filters or events.metric(seed, n) == filters["metric"]
        )

    return Table(
        name="events",
        description="Monitoring events of the network's devices, oldest first.",
        schema=schemas.Event,
        count=count,
        filters=(
            Filter("device", f"Only events of this device, such as {events.devices()[0]}."),
            Filter("severity", "Only events of this severity.", values=events.SEVERITIES),
            Filter("metric", "Only events of this metric.", values=events.metrics()),
        ),
        record=partial(events.record, seed),
        candidates=by_device,
        matches=matches,
    )


def _by_customer(of: Callable[[int], Numbers], count: int, filters: Filters) -> Numbers:
    return of(int(filters["customer_id"])) if "customer_id" in filters else range(1, count + 1)


def _has(facts: object, filters: Filters) -> bool:
    return all(getattr(facts, name) == value for name, value in filters.items())
