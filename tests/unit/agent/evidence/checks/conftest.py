"""A few orders, real SQL over them, and the problems that the checks find in an answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.lies.cases import CallMade, Case
from benchmarks.lies.evidence import EvidenceBuilder
from runax_cli.agent.evidence.verify import verify_answer
from runax_cli.core.results import Evidence

ORDERS: list[dict[str, Any]] = [
    {"id": "0101", "customer": "Anna Horák", "status": "delivered", "city": "Praha", "total": 120, "is_gift": True},
    {"id": "0102", "customer": "Ben Stone", "status": "cancelled", "city": "Brno", "total": 80, "is_gift": False},
    {"id": "0103", "customer": "Anna Horák", "status": "processed", "city": "Praha", "total": 300, "is_gift": False},
    {"id": "0104", "customer": "Carla Weiss", "status": "cancelled", "city": "Ostrava", "total": 45, "is_gift": False},
    {"id": "0105", "customer": "Ben Stone", "status": "delivered", "city": "Praha", "total": 60, "is_gift": True},
]
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
        return verify_answer(answer, builder.shown(case), question=question, asked=question)

    return run


@pytest.fixture
def faults(check: Check) -> Callable[..., list[str]]:
    """The notes of all statements that must not be relied on."""

    def run(answer: str, *sql: str, **options: Any) -> list[str]:
        return [str(entry.note) for entry in check(answer, *sql, **options) if entry.fault is not None]

    return run
