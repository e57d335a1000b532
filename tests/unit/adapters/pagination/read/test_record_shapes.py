"""Records in responses of unusual shapes."""

from typing import Any

import pytest

from adapters.base import CallResult, Pagination, PaginationStyle
from adapters.pagination import (
    PageReading,
    read_page,
)

OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
PAGE = Pagination(convention=PaginationStyle.PAGE, position="page", size="per_page", first=1)
ROWS = [{"id": 11, "name": "a"}, {"id": 12, "name": "b"}]
WHERE = "GET https://desk.example/v1/tickets?status=open&limit=2"


def read(payload: Any, pagination: Pagination, **more: Any) -> PageReading:
    headers, location, status = more.pop("headers", {}), more.pop("location", WHERE), more.pop("status", 200)
    result = CallResult(payload=payload, location=location, headers=headers, status=status)
    return read_page(result, pagination, size=more.pop("size", 2), **more)


@pytest.mark.parametrize(
    ("payload", "path", "count"),
    [
        ([{"page": 1, "pages": 9, "total": 18}, ROWS], "1", 2),
        ({"schemas": ["urn:x"], "totalResults": 0}, "", 0),
        ({"NextToken": None}, "", 0),
        ({"items": None, "kind": "List"}, "", 0),
        ({"link": [{"relation": "self", "url": "/x"}], "total": 0}, "", 0),
        ({"gorp": [{"rel": "self", "href": "/x"}] * 9, "zorb": ROWS}, "zorb", 2),
    ],
)
def test_records_are_found_in_answers_of_other_shapes(payload: Any, path: str, count: int) -> None:
    reading = read(payload, OFFSET)
    assert (reading.records_path, len(reading.records), reading.is_list) == (path, count, True)


def test_figures_before_a_list_of_records_are_read() -> None:
    assert read([{"page": 1, "pages": 9, "total": 18}, ROWS], PAGE).total == 18
