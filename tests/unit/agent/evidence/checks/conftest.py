"""A few orders, real SQL over them, and the problems that the checks find in an answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.lies.cases import CallMade, Case
from benchmarks.lies.evidence import EvidenceBuilder
from benchmarks.statements.world import evidence_of
from runax_cli.core.results import Evidence

_COLUMNS = ("id", "customer", "status", "city", "total", "is_gift", "ship_days", "pay_days")
_ROWS = (
    ("0101", "Anna Horák", "delivered", "Praha", 120, True, 3, 11),
    ("0102", "Ben Stone", "cancelled", "Brno", 80, False, 7, 12),
    ("0103", "Anna Horák", "processed", "Praha", 300, False, 5, 14),
    ("0104", "Carla Weiss", "cancelled", "Ostrava", 45, False, 8, 19),
    ("0105", "Ben Stone", "delivered", "Praha", 60, True, 2, 13),
)
ORDERS: list[dict[str, Any]] = [dict(zip(_COLUMNS, row, strict=True)) for row in _ROWS]
BY_CITY = "SELECT city, count(*) AS n, sum(total) AS amount FROM orders_1 GROUP BY city ORDER BY n DESC, city"

Check = Callable[..., tuple[Evidence, ...]]


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """The evidence of an answer over all orders: `check(answer, *sql, question=, arguments=, shown=)`."""
    builder = EvidenceBuilder(tmp_path, {"orders": ORDERS})

    def run(answer: str, *sql: str, question: str = "", **options: Any) -> tuple[Evidence, ...]:
        call = CallMade(noun="orders", arguments=options.pop("arguments", {}), fetched=options.pop("fetched", None))
        case = Case(
            domain="orders",
            id="1",
            language="en",
            question=question,
            calls=(call,),
            sql=sql,
            shown={"orders_1": options.pop("shown", ())},
            answer=answer,
            is_lie=False,
            kind="",
            wrong="",
            truth="",
        )
        return evidence_of(answer, builder.shown(case), question=question, asked=question)

    return run


@pytest.fixture
def faults(check: Check) -> Callable[..., list[str]]:
    """The notes of all statements that must not be relied on."""

    def run(answer: str, *sql: str, **options: Any) -> list[str]:
        return [str(entry.note) for entry in check(answer, *sql, **options) if entry.fault is not None]

    return run
