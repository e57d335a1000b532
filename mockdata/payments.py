"""Payments: one invoice per customer and month, and its status."""

from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any

from mockdata import customers
from mockdata.customers import BALAZ, person
from mockdata.seeded_random import seeded_random

MONTHS = 12
COUNT = customers.COUNT * MONTHS
STATUSES = ("paid", "pending", "overdue", "refunded", "cancelled")
METHODS = ("bank_transfer", "card", "direct_debit", "cash")
_NOTES_PAID = ("zaplaceno na pobočce", "paid by the employer")
_NOTES_DUE = ("second reminder sent", "splátkový kalendář")
_BALAZ_OVERDUE = frozenset({8, 10})


@dataclass(frozen=True, slots=True)
class PaymentFacts:
    """The facts of a payment that are quick to compute; filters use them."""

    id: int
    customer_id: int
    month: int
    status: str
    method: str | None


def of_customer(customer_id: int) -> range:
    """The numbers of a customer's payments; empty for an unknown customer."""
    return range(customer_id, COUNT + 1 if 1 <= customer_id <= customers.COUNT else customer_id, customers.COUNT)


@lru_cache(maxsize=8192)
def facts_of(seed: int, n: int) -> PaymentFacts:
    """The quick facts of payment `n`; `month` counts from 0, November 2025."""
    rng = seeded_random(seed, "payment frame", n)
    month, customer_id = divmod(n - 1, customers.COUNT)
    late = month >= MONTHS - 2
    status = rng.choices(STATUSES, weights=(60, 25, 12, 1, 2) if late else (92, 0, 3, 3, 2))[0]
    if customer_id + 1 == BALAZ:
        status = "overdue" if month in _BALAZ_OVERDUE else "paid"
    method = rng.choice(METHODS) if status in ("paid", "refunded") else None
    return PaymentFacts(n, customer_id + 1, month, status, method)


def record(seed: int, n: int) -> dict[str, Any]:
    """Payment `n` as the API returns it."""
    facts, rng = facts_of(seed, n), seeded_random(seed, "payment", n)
    code, name, _, _, fee = person(seed, facts.customer_id).tariff
    extra = rng.choice((0, 0, 0, 49, 99, 199))
    issued = date(2025 + (10 + facts.month) // 12, (10 + facts.month) % 12 + 1, 5)
    due = issued + timedelta(days=14)
    paid = due + timedelta(days=rng.randint(-9, 12))
    lines = [{"code": code, "text": f"Tarif {name}", "amount": float(fee)}]
    return {
        "id": n,
        "customer_id": facts.customer_id,
        "invoice_number": f"{issued.year}{issued.month:02d}{facts.customer_id:05d}",
        "variable_symbol": f"{7_000_000_000 + n}",
        "issued_on": issued.isoformat(),
        "due_on": due.isoformat(),
        "paid_on": paid.isoformat() if facts.method else None,
        "status": facts.status,
        "method": facts.method,
        "amount": float(fee + extra) + rng.choice((0.0, 0.0, 0.5)),
        "currency": "EUR" if rng.random() < 0.03 else "CZK",
        "lines": [*lines, {"code": "extra", "text": "Jednorázová služba", "amount": float(extra)}] if extra else lines,
        "refund": _refund(facts, paid, fee),
        "note": rng.choice((None, None, None, *(_NOTES_PAID if facts.method else _NOTES_DUE))),
    }


def _refund(facts: PaymentFacts, paid: date, fee: int) -> dict[str, Any] | None:
    if facts.status != "refunded":
        return None
    return {"refunded_on": (paid + timedelta(days=9)).isoformat(), "amount": float(fee), "reason": "výpadek služby"}
