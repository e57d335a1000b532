"""Records by their ids instead of a list."""

import pytest

from adapters.base import CallResult, Json, JsonObject, Pagination
from adapters.pagination import Certainty, read_page
from adapters.pagination.read.records import find_records

ROWS: JsonObject = {str(1000 + 3 * n): {"name": f"n{n}", "tags": ["a"]} for n in range(6)}


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"total": 537, "items": ROWS}, "items"),
        ({"total": 537, "items": ROWS, "tags": ["a", "b"]}, "items"),
        (ROWS, ""),
        ({"batchcomplete": "", "continue": {"gapcontinue": "x"}, "query": {"pages": ROWS}}, "query.pages"),
        ({"items": {"1000": {"name": "n0"}}}, "items"),
        ({"data": {name: {"iso": name, "size": 1} for name in ("cz", "de", "fr", "pl", "sk")}}, "data"),
    ],
)
@pytest.mark.parametrize("is_paged", [True, False])
def test_an_object_of_records_under_their_ids_is_a_list_in_its_order(payload: Json, path: str, is_paged: bool) -> None:
    found = find_records(payload, is_paged=is_paged)
    assert (found.path, found.is_list, found.is_keyed) == (path, True, True)
    assert len(found.records) in (1, 5, 6)


def test_a_record_keeps_its_key_where_nothing_else_has_it() -> None:
    assert find_records(ROWS).records[1] == {"_key": "1003", "name": "n1", "tags": ["a"]}
    assert find_records({"items": {"7": {"id": 7}, "9": {"id": 9}}}).records == [{"id": 7}, {"id": 9}]
    assert find_records({"0": {"a": 1}, "1": {"a": 2}}).records == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    "payload",
    [
        {"id": 5, "name": "x", "prices": ROWS},
        {"data": {"id": 5, "values": ROWS}},
        {"address1": {"street": "a"}, "address2": {"street": "b"}},
        {"created_by": {"id": 1, "name": "a"}, "updated_by": {"id": 2, "name": "b"}},
        {"200": {"description": "a"}, "404": "gone"},
    ],
)
@pytest.mark.parametrize("is_paged", [True, False])
def test_a_table_inside_one_record_makes_it_no_list(payload: Json, is_paged: bool) -> None:
    assert find_records(payload, is_paged=is_paged).records == [payload]


def test_a_list_goes_before_an_object_of_side_records() -> None:
    assert find_records({"tickets": [{"a": 1}], "users": ROWS}).path == "tickets"
    assert find_records({"tickets": [], "users": ROWS}).records == []
    assert find_records({"items": {"1": {"a": 1}, "2": {"a": 2}}, "data": [{"b": 1}]}).path == "data"


def test_later_pages_have_their_records_at_the_same_place() -> None:
    assert find_records({"items": {"5": {"a": 1}}}, declared="items").records == [{"_key": "5", "a": 1}]
    assert find_records({"items": {}}, declared="items").records == []


def test_fields_of_keyed_records_are_no_figures_of_the_page() -> None:
    rows = {str(10 + n): {"total": 3, "next_cursor": "x", "has_more": False} for n in range(4)}
    reading = read_page(CallResult(payload={"total": 9, "items": rows}, location=""), Pagination())
    assert (reading.total, reading.certainty, reading.next, reading.has_more) == (9, Certainty.EXACT, None, None)
