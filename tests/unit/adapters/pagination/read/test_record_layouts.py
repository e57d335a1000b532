"""Records by columns, by ids in order, and next to lines of metadata."""

from typing import Any

import pytest

from adapters.base import CallResult, Pagination, PaginationStyle
from adapters.pagination import PageReading, read_page

SINGLE = Pagination()
OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit")
WHERE = "GET https://desk.example/v1/rows?area=7&key=***"


def read(payload: Any, pagination: Pagination = SINGLE, *, where: str = WHERE) -> PageReading:
    return read_page(CallResult(payload=payload, location=where, status=200), pagination)


@pytest.mark.parametrize("name", ["ids", "order", "result", "sortedKeys"])
@pytest.mark.parametrize("length", [1, 3])
def test_records_whose_keys_a_list_beside_them_names_are_the_records(name: str, length: int) -> None:
    keyed = {f"k{n}": {"title": "t", "size": n} for n in range(length)}
    reading = read({"zorb": keyed, name: list(keyed), "total": 90}, OFFSET)
    assert (reading.records_path, reading.total) == ("zorb", 90)
    assert reading.records == [{"_key": key, **value} for key, value in keyed.items()]


def test_a_list_of_some_other_keys_is_a_list() -> None:
    reading = read({"zorb": {"a": {"x": 1}}, "values": ["a", "b"]}, OFFSET)
    assert reading.records == ["a", "b"]


@pytest.mark.parametrize("beside", [{"kont": ""}, {"wszystkich": 0}, {"toplam": 0, "kont": None}])
def test_an_empty_list_beside_nothing_is_an_empty_list(beside: dict[str, Any]) -> None:
    assert read({"uzly": [], **beside}).records == []


COLUMNS = {"ids": ["a1", "b2"], "texts": ["x", "y"], "metadatas": [{"n": 7}, {"n": 8}], "embeddings": None}


@pytest.mark.parametrize("beside", [{}, {"include": ["texts", "metadatas"]}, {"total": 9, "next_cursor": "k"}])
@pytest.mark.parametrize("path", [None, "texts", ""])
def test_columns_beside_a_column_of_ids_are_records(beside: dict[str, Any], path: str | None) -> None:
    result = CallResult(payload={**COLUMNS, **beside}, location=WHERE, status=200)
    assert read_page(result, OFFSET, records_path=path).records == [
        {"ids": "a1", "texts": "x", "metadatas": {"n": 7}},
        {"ids": "b2", "texts": "y", "metadatas": {"n": 8}},
    ]


@pytest.mark.parametrize(
    ("payload", "records"),
    [
        ({"ids": [1, 2], "items": [{"id": 1}, {"id": 2}]}, [{"id": 1}, {"id": 2}]),
        ({"ids": [1, 1], "items": ["x", "y"]}, ["x", "y"]),
        ({"ids": [1, 2, 3], "items": ["x", "y"]}, ["x", "y"]),
        ({"ids": [1, 2], "tags": ["x", "y"], "name": "one"}, [{"ids": [1, 2], "tags": ["x", "y"], "name": "one"}]),
    ],
)
def test_other_lists_beside_ids_are_no_columns(payload: Any, records: Any) -> None:
    assert read(payload).records == records


def test_ids_and_the_records_under_them_may_stand_in_different_places() -> None:
    users = {"1": {"name": "a"}, "2": {"name": "b"}}
    reading = read({"result": [2, 1], "entities": {"users": users}, "pagination": {"page": 1, "pageCount": 4}})
    assert reading.records_path == "entities.users"
    assert [record["name"] for record in reading.records if isinstance(record, dict)] == ["a", "b"]


@pytest.mark.parametrize("at", [0, -1])
@pytest.mark.parametrize("path", [None, ""])
def test_a_line_with_the_marker_among_lines_of_records_is_no_record(at: int, path: str | None) -> None:
    lines: list[Any] = [{"id": 1}, {"id": 2}]
    lines.insert(at % 3, {"_meta": {"next_cursor": "k", "count": 2}})
    reading = read_page(CallResult(payload=lines, location=WHERE, status=200), CURSOR, records_path=path)
    assert reading.records == [{"id": 1}, {"id": 2}]
    assert reading.next is not None
    assert reading.next.arguments == {"cursor": "k"}


@pytest.mark.parametrize("last", [{"id": 3, "total": 7}, {"total": "many", "name": "x"}, {"status": "ok"}, {"size": 4}])
def test_a_line_with_facts_is_a_record(last: dict[str, Any]) -> None:
    lines: list[Any] = [{"id": 1}, {"id": 2}, last]
    assert read(lines).records == lines


@pytest.mark.parametrize("path", [None, "", "feed.entry"])
def test_a_list_that_is_left_out_of_its_object_is_empty(path: str | None) -> None:
    result = CallResult(payload={"feed": {"@total": 20}}, location=WHERE, status=200)
    assert read_page(result, OFFSET, records_path=path).records == []


def test_a_list_inside_of_what_repeats_the_request_gives_way_to_an_empty_one() -> None:
    assert read({"queries": {"request": [{"startIndex": 1, "totalResults": "0"}]}, "items": []}, OFFSET).records == []
