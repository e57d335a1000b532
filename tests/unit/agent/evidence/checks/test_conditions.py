"""What the question restricts must be in the SQL, in an argument, or in the cited data."""

from collections.abc import Callable

import pytest

Faults = Callable[..., list[str]]
ALL = "SELECT count(*) AS n FROM orders_1"


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("How many orders were cancelled?", ALL),
        ("How many orders from Brno are there?", ALL),
        ("How many gift orders are there?", "SELECT count(*) AS n FROM orders_1 WHERE total > 0"),
        ("How many orders are over 100?", ALL),
        ("How many orders were cancelled?", "SELECT count(*) AS n FROM orders_1 WHERE status = 'delivered'"),
    ],
)
def test_a_condition_that_nothing_applies_is_found(faults: Faults, question: str, sql: str) -> None:
    answer = "There are 5 [q1]." if "delivered" not in sql else "There are 2 [q1]."
    assert faults(answer, sql, question=question)


@pytest.mark.parametrize(
    ("question", "sql", "arguments"),
    [
        ("How many orders were cancelled?", "SELECT count(*) AS n FROM orders_1 WHERE status ILIKE 'canc%'", {}),
        ("How many orders were cancelled?", ALL, {"status": "cancelled"}),
        ("How many orders were cancelled?", "SELECT status, count(*) AS n FROM orders_1 GROUP BY status", {}),
        ("How many gift orders are there?", "SELECT count(*) AS n FROM orders_1 WHERE is_gift", {}),
        ("How many orders are over 100?", "SELECT count(*) AS n FROM orders_1 WHERE total > 100", {}),
    ],
)
def test_a_condition_that_is_applied_anywhere_is_no_problem(
    faults: Faults, question: str, sql: str, arguments: dict[str, str]
) -> None:
    assert faults("There are 2 [q1].", sql, question=question, arguments=arguments) == []


def test_another_column_than_the_question_names_is_found(faults: Faults) -> None:
    question = "What is the average of ship days?"
    right, wrong = "SELECT avg(ship_days) AS days FROM orders_1", "SELECT avg(pay_days) AS days FROM orders_1"
    assert faults("It is 5 days [q1].", right, question=question) == []
    assert "'ship_days', which no cited SQL uses" in faults("It is 13.8 days [q1].", wrong, question=question)[0]
