"""Names and figures belong together as in the cited rows and records."""

from collections.abc import Callable

import pytest

from tests.unit.agent.evidence.checks.conftest import BY_CITY

Faults = Callable[..., list[str]]


@pytest.mark.parametrize(
    "answer",
    [
        "Praha has 480 and Brno 80 [q1].",
        "480 in Praha, 80 in Brno [q1].",
        "Praha, Brno and Ostrava have 480, 80 and 45 [q1].",
        "- Praha: 480 [q1]\n- Brno: 80 [q1]",
    ],
)
def test_figures_beside_their_own_names_are_right_in_any_order(faults: Faults, answer: str) -> None:
    assert faults(answer, BY_CITY) == []


@pytest.mark.parametrize(
    "answer", ["Praha has 80 and Brno 480 [q1].", "- Praha: 80 [q1]\n- Brno: 480 [q1]", "Brno leads with 480 [q1]."]
)
def test_figures_of_another_row_are_found(faults: Faults, answer: str) -> None:
    assert faults(answer, BY_CITY)


def test_names_of_different_rows_in_one_item_are_found(faults: Faults) -> None:
    rows = "SELECT customer, city, total FROM orders_1 WHERE total > 70 ORDER BY total DESC"
    assert faults("- Anna Horák, Praha: 300 [q1]", rows) == []
    assert "are not in the same row" in faults("- Anna Horák, Brno: 300 [q1]", rows)[0]


def test_what_stands_before_a_citation_is_compared_with_that_record(faults: Faults) -> None:
    right = "Anna Horák paid 120 [orders_1#1], Ben Stone 80 [orders_1#2] and Carla Weiss 45 [orders_1#4]."
    assert faults(right, shown=(1, 2, 4)) == []
    wrong = "One paid 80 [orders_1#1], one 120 [orders_1#2]."
    assert "in another cited record" in faults(wrong, shown=(1, 2))[0]
    swapped = "Anna Horák cancelled [orders_1#4], Carla Weiss was served [orders_1#1]."
    assert "in another cited record" in faults(swapped, shown=(1, 4))[0]


def test_months_name_rows_too(faults: Faults) -> None:
    months = (
        "SELECT CASE city WHEN 'Praha' THEN 1 WHEN 'Brno' THEN 2 ELSE 3 END AS m, sum(total) AS amount "
        "FROM orders_1 GROUP BY city"
    )
    assert faults("January had 480, February 80 [q1].", months) == []
    assert faults("March had 480 [q1].", months)
