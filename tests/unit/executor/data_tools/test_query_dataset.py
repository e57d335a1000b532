"""Query results as CSV: they can be read back, and only rows that fit are shown."""

import csv
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.data_tools.query_dataset import (
    csv_cell,
    csv_line,
    csv_preview,
    named_records,
    to_json_value,
)
from runax_cli.executor.sql.lineage import ColumnLineage

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\x00"), max_size=40)


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=4), min_size=1, max_size=8))
def test_texts_are_read_back_unchanged(rows: list[list[str]]) -> None:
    assert list(csv.reader(csv_line(row) for row in rows)) == rows


def test_a_null_is_blank_and_an_empty_text_is_quoted() -> None:
    assert csv_line([None, "", 0, False, "a"]) == ',"",0,false,a'


@given(st.recursive(st.integers() | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=8))
def test_nested_values_are_json_in_their_cell(value: Any) -> None:
    if isinstance(value, list | dict):
        ((found,),) = csv.reader([csv_cell(value)])
        assert json.loads(found) == value


@given(st.lists(st.tuples(st.integers(), TEXTS), max_size=60), st.integers(5, 400))
def test_as_many_of_the_first_rows_are_shown_as_fit(rows: list[tuple[int, str]], most: int) -> None:
    text, shown = csv_preview(["n", "text"], rows, lambda shown: len(shown) <= most)
    assert text.split("\n") == [csv_line(["n", "text"]), *(csv_line(row) for row in rows[:shown])]
    assert shown == 0 or len(text) <= most
    if shown < len(rows):
        assert len(text) + 1 + len(csv_line(rows[shown])) > most


def test_a_long_value_ends_with_an_ellipsis() -> None:
    text, shown = csv_preview(["text"], [("x" * 1000,)], lambda _text: True, max_chars=10)
    assert (text, shown) == ("text\n" + "x" * 10 + "…", 1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("12.50"), 12.5),
        (Decimal("3.00"), 3),
        (Decimal("0.1234567890123456789"), "0.1234567890123456789"),
        (date(2024, 5, 6), "2024-05-06"),
        (datetime(2024, 5, 6, 7, 8, tzinfo=UTC), "2024-05-06 07:08:00+00:00"),
        (float("nan"), "nan"),
        ({"a": [Decimal("1.5"), None]}, {"a": [1.5, None]}),
        (2**100, 2**100),
    ],
)
def test_values_of_the_engine_become_json_values(value: Any, expected: Any) -> None:
    assert to_json_value(value) == expected
    assert type(to_json_value(value)) is type(expected)


def test_records_are_named_by_integers_in_columns_of_row_numbers_only() -> None:
    sources = (ColumnLineage(row_of="orders_1"), ColumnLineage(is_data=True), ColumnLineage(row_of="items_1"))
    rows = [(3, 9, 7), (3, 9, None), (4, 9, "7"), (True, 9, 2.0)]
    assert named_records(sources, rows) == (("orders_1", 3), ("items_1", 7), ("orders_1", 4))
    assert named_records((), rows) == ()
