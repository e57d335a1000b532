"""Fault injection: which request fails, and how, as a pure function of a seed and the request's number.

The app applies the faults.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

TOTAL_ERROR = 7


class FaultKind(StrEnum):
    """What goes wrong with one request."""

    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    CUT_BODY = "cut_body"
    SHORT_PAGE = "short_page"
    WRONG_TOTAL = "wrong_total"
    LOW_TOTAL = "low_total"
    EMPTY_PAGE = "empty_page"
    REPEATED_RECORD = "repeated_record"
    REPEATED_PAGE = "repeated_page"
    DROPPED_PAGE = "dropped_page"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `retry_after_s` is used with RATE_LIMITED."""

    kind: FaultKind
    retry_after_s: float = 0.0


class InvalidFaults(ValueError):
    """A fault description that cannot be parsed; the message names the part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan:
    """What goes wrong and how often.

    `rates` are probabilities by kind, 1 at most in total. `dropped_pages` (numbers from 1) always fail; `only_pages`
    limits the rates to these pages. Every request is delayed by `latency_s`, plus or minus half of it.
    """

    seed: int = 0
    rates: Mapping[FaultKind, float] = field(default_factory=lambda: MappingProxyType({}))
    latency_s: float = 0.0
    retry_after_s: float = 1.0
    dropped_pages: frozenset[int] = frozenset()
    only_pages: frozenset[int] | None = None

    def __post_init__(self) -> None:
        if any(rate < 0 for rate in self.rates.values()) or sum(self.rates.values()) > 1:
            raise InvalidFaults(f"the rates {dict(self.rates)} must be from 0 to 1, and at most 1 in total")

    def fault_for(self, number: int, *, page: int | None = None) -> Fault | None:
        """The fault of request `number`; `page` is None if it requests no page."""
        if page in self.dropped_pages:
            return Fault(FaultKind.DROPPED_PAGE)
        if self.only_pages is not None and page not in self.only_pages:
            return None
        left = random.Random(f"{self.seed}:{number}").random()
        for kind, rate in self.rates.items():
            left -= rate
            if left < 0:
                return Fault(kind, self.retry_after_s if kind is FaultKind.RATE_LIMITED else 0.0)
        return None

    def delay_s(self, number: int) -> float:
        """The delay of request `number`."""
        return self.latency_s * random.Random(f"{self.seed}:{number}:delay").uniform(0.5, 1.5)


def parse_faults(text: str, *, seed: int = 0) -> FaultPlan:
    """A plan from text: `rate_limited=0.1,latency=0.05,retry_after=2,dropped_page=3,only_page=2`.

    Latency and retry_after are in seconds. `dropped_page` and `only_page` are page numbers from 1 and may be repeated.
    All others are probabilities by kind. Raises InvalidFaults.
    """
    parts = [_parse_part(part) for part in text.split(",") if part.strip()]
    rates = {FaultKind(name): value for name, value in parts if name in set(FaultKind) - {FaultKind.DROPPED_PAGE}}
    seconds = dict(parts)
    only = frozenset(int(value) for name, value in parts if name == "only_page")
    return FaultPlan(
        seed=seed,
        rates=MappingProxyType(rates),
        latency_s=seconds.get("latency", 0.0),
        retry_after_s=seconds.get("retry_after", 1.0),
        dropped_pages=frozenset(int(value) for name, value in parts if name == FaultKind.DROPPED_PAGE),
        only_pages=only or None,
    )


def _parse_part(part: str) -> tuple[str, float]:
    name, _, value = part.strip().partition("=")
    known = (*FaultKind, "latency", "retry_after", "only_page")
    if name not in known:
        raise InvalidFaults(f"unknown fault '{name}'; available: {', '.join(known)}")
    try:
        return name, float(value)
    except ValueError as error:
        raise InvalidFaults(f"'{part.strip()}' needs a number, as in '{name}=0.1'") from error


def apply_to_records(fault: Fault | None, records: list[Any]) -> list[Any]:
    """The records of a page with the fault applied. A page of one record is not changed."""
    if fault is None or len(records) < 2:
        return records
    if fault.kind is FaultKind.EMPTY_PAGE:
        return []
    if fault.kind is FaultKind.SHORT_PAGE:
        return records[:-1]
    if fault.kind is FaultKind.REPEATED_RECORD:
        return [records[0], *records[:-1]]
    return records


def apply_to_total(fault: Fault | None, total: int) -> int:
    """The reported total with the fault applied."""
    match fault:
        case Fault(FaultKind.WRONG_TOTAL):
            return total + TOTAL_ERROR
        case Fault(FaultKind.LOW_TOTAL):
            return max(0, total - TOTAL_ERROR)
        case _:
            return total
