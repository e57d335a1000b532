"""A number of rows is not a number of different things."""

from collections.abc import Callable

Faults = Callable[..., list[str]]
COUNT = "SELECT count(*) AS n FROM orders_1"
DISTINCT = "SELECT count(DISTINCT customer) AS customers, count(*) AS n FROM orders_1"


def test_rows_called_by_a_column_are_found(faults: Faults) -> None:
    assert "not of different values of 'customer'" in faults("There are 5 customers [q1].", COUNT)[0]
    assert faults("There are 5 orders [q1].", COUNT) == []
    assert faults("There are 3 customers [q1].", DISTINCT) == []


def test_the_noun_of_the_question_counts_where_the_answer_has_none(faults: Faults) -> None:
    assert faults("There are 5 [q1].", COUNT, question="How many customers do we have?")


def test_a_figure_under_the_name_of_another_column_is_found(faults: Faults) -> None:
    spend = "SELECT sum(total) AS spent, max(total) AS largest FROM orders_1"
    assert faults("605 spent, 300 largest [q1].", spend) == []
    assert "which is 605" in faults("There was 300 spent [q1].", spend)[0]


def test_groups_count_different_values(faults: Faults) -> None:
    assert faults("There are 3 customers [q1].", "SELECT customer, count(*) AS n FROM orders_1 GROUP BY ALL") == []
