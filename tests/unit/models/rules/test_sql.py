"""Figures by the offline model: it computes what the words say, or nothing."""

import pytest

from runax_cli.models.rules.reading import label_texts
from runax_cli.models.rules.sql import RequestedFigure, TableSketch, read_table, requested_figure, select_statement

CARD = """\
Table tickets_1: 261 rows; complete: 261 of 261 records.
Columns (name type; nulls; values):
row BIGINT; the row number, for citations
id BIGINT; 2 … 3021; 261 distinct
status VARCHAR; closed (175), in_progress (11), open (15)
price_num DOUBLE; "price" read as number; 1.0 … 9.5
"Due Date" DATE; 12% null; 2024-01-01 … 2024-12-31
Sample: {"row":1,"id":2}"""
SHEET = TableSketch(
    "tickets_1",
    {"row": "BIGINT", "id": "BIGINT", "status": "VARCHAR", "price_num": "DOUBLE", "Due Date": "DATE"},
    {"status": ["closed", "in_progress", "open"]},
)


def test_a_table_card_is_parsed_into_columns_and_values() -> None:
    assert read_table({"dataset": "tickets_1", "strategy": "table", "data": {"table": CARD}}) == SHEET


@pytest.mark.parametrize(
    ("question", "figure"),
    [
        ("How many tickets are there?", RequestedFigure.COUNT),
        ("How many different cities are there?", RequestedFigure.DISTINCT),
        ("What is the number of the permit?", None),
        ("What is the average price?", RequestedFigure.AVERAGE),
        ("How many tickets per status?", RequestedFigure.EACH),
        ("Which status is the most common?", RequestedFigure.TOP),
        ("What do they say?", None),
    ],
)
def test_the_requested_figure_is_recognized(question: str, figure: RequestedFigure | None) -> None:
    assert requested_figure(question) is figure


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("How many tickets have the status in progress?", "WHERE \"status\" = 'in_progress'"),
        ("What is the sum of the price?", 'SELECT sum("price_num") AS "sum_of_price_num" FROM tickets_1'),
        (
            "How many tickets are there, and what is the sum of their price?",
            'SELECT count(*) AS n, sum("price_num") AS "sum_of_price_num" FROM tickets_1',
        ),
        (
            "What is the highest and the average price?",
            'SELECT avg("price_num") AS "avg_of_price_num", max("price_num") AS "max_of_price_num" FROM tickets_1',
        ),
        ("How many different statuses?", None),
        ("How many tickets per status?", "GROUP BY 1 ORDER BY n DESC, 1"),
        ("Why is that?", None),
    ],
)
def test_a_question_becomes_one_select(question: str, sql: str | None) -> None:
    made = select_statement(question, SHEET, {})
    assert (made is None) if sql is None else (made is not None and sql in made)


def test_a_filter_that_the_call_was_made_with_is_not_repeated() -> None:
    question = "How many tickets have the status open?"
    assert select_statement(question, SHEET, {"status": "open"}) == "SELECT count(*) AS n FROM tickets_1"


def test_a_label_is_the_value_whose_words_are_in_the_text() -> None:
    message = (
        "INSTRUCTION:\nTopic?\n\nFIELDS:\nlabel: slow_speed | router | other\n\n<texts>\n[1] My routers are broken\n"
        '[2] "Speed\\nis slow"\n[3] Hello\n</texts>'
    )
    assert [entry["label"] for entry in label_texts(message)["labels"]] == ["router", "slow_speed", "other"]
