"""A superlative must agree with the order, the aggregate and the rows of the cited result."""

from collections.abc import Callable

import pytest

from tests.unit.agent.evidence.checks.conftest import BY_CITY

Faults = Callable[..., list[str]]
TOP = "SELECT customer, sum(total) AS amount FROM orders_1 GROUP BY customer ORDER BY amount DESC LIMIT 1"


@pytest.mark.parametrize(
    ("answer", "sql"),
    [
        ("Anna Horák spent the most, 420 [q1].", TOP),
        ("The highest total is 300 [q1].", "SELECT max(total) AS t FROM orders_1"),
        ("Praha has the most orders, 3; Brno and Ostrava the fewest, 1 each [q1].", BY_CITY),
        ("Brno comes second with 80 [q1].", BY_CITY),
        ("At least 3 orders went to Praha [q1].", BY_CITY),
        ("Nejvíce objednávek má Praha, celkem 3 [q1].", BY_CITY),
    ],
)
def test_a_superlative_that_agrees_is_no_problem(faults: Faults, answer: str, sql: str) -> None:
    assert faults(answer, sql) == []


@pytest.mark.parametrize(
    ("answer", "sql"),
    [
        ("Anna Horák spent the least, 420 [q1].", TOP),
        ("Am wenigsten gab Anna Horák aus, die geringste Summe ist 420 [q1].", TOP),
        ("The lowest total is 300 [q1].", "SELECT max(total) AS t FROM orders_1"),
        ("Brno brought the lowest amount, 480 [q1].", BY_CITY),
        ("Nejvyšší částku má Ostrava, 45 [q1].", BY_CITY),
    ],
)
def test_a_superlative_against_the_order_is_found(faults: Faults, answer: str, sql: str) -> None:
    assert faults(answer, sql)


def test_the_superlative_of_the_question_counts_where_the_answer_has_none(faults: Faults) -> None:
    question = "Which customer spent the least?"
    assert "descending" in faults("Anna Horák with 420 [q1].", TOP, question=question)[0]


def test_an_extreme_of_incomplete_data_is_no_extreme(faults: Faults) -> None:
    answer = "The highest order is 0103 with 300 [orders_1#3]."
    assert faults(answer, shown=(3,)) == []
    assert "the data is incomplete" in faults(answer, shown=(3,), fetched=4)[0]
