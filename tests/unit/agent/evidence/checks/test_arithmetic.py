"""Differences, sums, ratios and shares of cited values are computed again."""

from collections.abc import Callable

import pytest

from tests.unit.agent.evidence.checks.conftest import BY_CITY

Faults = Callable[..., list[str]]
TWO = "SELECT count(*) FILTER (WHERE status = 'cancelled') AS cancelled, count(*) AS n FROM orders_1"


@pytest.mark.parametrize(
    "answer",
    [
        "Praha is 400 ahead of Brno: 480 against 80 [q1].",
        "Brno and Ostrava together have 125 [q1].",
        "Praha has six times as much as Brno, 480 against 80 [q1].",
        "Praha has 480 [q1]. Brno has 80 [q1]. The difference is 400.",
        "More than half of the amount, 480, is from Praha [q1].",
        "All cities together have 605 [q1].",
    ],
)
def test_what_follows_from_the_rows_is_accepted(faults: Faults, answer: str) -> None:
    assert faults(answer, BY_CITY) == []


@pytest.mark.parametrize(
    "answer",
    [
        "Praha is 390 ahead of Brno: 480 against 80 [q1].",
        "Brno and Ostrava together have 135 [q1].",
        "Praha has nine times as much as Brno, 480 against 80 [q1].",
        "Praha has 480 [q1]. Brno has 80 [q1]. The difference is 430.",
        "Less than half of the amount is from Praha [q1].",
        "About two thirds of the amount is from Ostrava [q1].",
    ],
)
def test_wrong_arithmetic_is_found(faults: Faults, answer: str) -> None:
    assert faults(answer, BY_CITY)


def test_percentages_and_fractions_of_two_cells(faults: Faults) -> None:
    assert faults("2 of 5 orders were cancelled [q1], that is 40 %.", TWO) == []
    assert faults("2 of 5 orders were cancelled [q1], that is 45 %.", TWO)
    assert faults("2 of 5 orders were cancelled [q1]. That is less than half.", TWO) == []
    assert faults("2 of 5 orders were cancelled [q1]. That is more than half.", TWO)
    assert faults("Two fifths of the orders were cancelled [q1].", TWO) == []
    assert faults("Three quarters of the orders were cancelled [q1].", TWO)


def test_a_constant_of_the_statement_is_no_operand(faults: Faults) -> None:
    assert faults("There are 61 orders [q1].", "SELECT greatest(count(*) * 0, 61) AS n FROM orders_1")
    assert faults("There are 61 orders [q1].", "SELECT (SELECT 61) AS n FROM orders_1 LIMIT 1")
