"""What a statement calls something must be in the records or rows that it cites."""

from collections.abc import Callable

import pytest

from tests.unit.agent.evidence.checks.conftest import BY_CITY

Faults = Callable[..., list[str]]


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ("Order 0103 of Anna Horák is delivered [orders_1#3].", "is not the status of orders_1#3"),
        ("Order 0103 went to Ben Stone [orders_1#3].", "is not the customer of orders_1#3"),
        ("Order 0103 is with Peter Novak Junior [orders_1#3].", "does not appear in the data"),
        ("Order NV-2207 was processed [orders_1#3].", "does not appear in the data"),
        ("The city Ostrava is in order 0103 [orders_1#3].", "is not the city"),
    ],
)
def test_a_value_that_the_cited_record_does_not_have_is_found(faults: Faults, answer: str, note: str) -> None:
    (found,) = faults(answer, shown=(3,))
    assert note in found


@pytest.mark.parametrize(
    "answer",
    [
        "Order 0103 of Anna Horák is processed [orders_1#3].",
        "Order 0103 is not delivered yet, it is processed [orders_1#3].",
        "The order from Praha is worth 300 [orders_1#3].",
        "It has been processed [orders_1#3].",
    ],
)
def test_a_true_or_denied_value_is_no_problem(faults: Faults, answer: str) -> None:
    assert faults(answer, shown=(3,)) == []


def test_a_name_that_the_result_does_not_have_is_found(faults: Faults) -> None:
    top = "SELECT customer, sum(total) AS amount FROM orders_1 GROUP BY customer ORDER BY amount DESC LIMIT 2"
    assert faults("Anna Horák spent 420 and Ben Stone 140 [q1].", top) == []
    (found,) = faults("Anna Horák spent 420, then come Ben Stone and Carla Weiss [q1].", top)
    assert "'Carla Weiss' is not in the result of q1" in found


def test_a_value_after_the_name_of_another_column_is_found(faults: Faults) -> None:
    (found,) = faults("The customer Praha paid 300 [orders_1#3].", shown=(3,))
    assert "is 'city' and not 'customer'" in found


def test_short_codes_are_compared_letter_by_letter(faults: Faults) -> None:
    assert faults("There is no order in any other place [q1].", BY_CITY) is not None
