"""Duplicate records are recognized by their id and content."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runax_cli.executor.fetch.deduplication import SeenRecords, count_duplicates, record_id

records = st.dictionaries(st.sampled_from(["id", "a", "b"]), st.integers(0, 3) | st.none(), max_size=3)


@given(st.lists(records, max_size=20))
def test_a_record_is_a_duplicate_only_if_it_is_equal_and_has_an_id(received: list[dict[str, Any]]) -> None:
    seen, expected = [], []
    for record in received:
        expected.append(record.get("id") is not None and record in seen)
        seen.append(record)
    seen_records = SeenRecords()
    assert [not seen_records.add(record) for record in received] == expected
    assert count_duplicates(received) == sum(expected)


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        ({"id": 4}, "4"),
        ({"id": "x", "uuid": "y"}, "x"),
        ({"id": None, "uuid": "y"}, "y"),
        ({"id": True}, None),
        ({"id": [1]}, None),
        ([1], None),
        ("x", None),
    ],
)
def test_the_id_of_a_record_is_its_first_scalar_one(record: Any, wanted: str | None) -> None:
    assert record_id(record) == wanted
