"""Totals in bodies, headers and links."""

from typing import Any

import pytest

from adapters.base import CallResult, Pagination, PaginationStyle
from adapters.pagination import (
    Certainty,
    PageReading,
    read_page,
)

OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
PAGE = Pagination(convention=PaginationStyle.PAGE, position="page", size="per_page", first=1)
ROWS = [{"id": 1, "total": 99, "next": "x", "has_more": True}, {"id": 2}]
WHERE = "GET https://desk.example/v1/tickets?page=1&key=***"


def read(
    payload: Any, pagination: Pagination = OFFSET, *, size: int | None = 50, headers: dict[str, str] | None = None
) -> PageReading:
    return read_page(CallResult(payload=payload, location=WHERE, headers=headers or {}), pagination, size=size)


@pytest.mark.parametrize(
    "beside",
    [
        {"total": 261},
        {"total": "261"},
        {"total_count": 261},
        {"totalCount": 261},
        {"total_items": 261},
        {"totalElements": 261},
        {"count": 261},
        {"meta": {"total": 261}},
        {"meta": {"pagination": {"total": 261}}},
        {"pagination": {"totalRecords": 261}},
        {"page": {"size": 50, "totalElements": 261, "totalPages": 6, "number": 0}},
        {"@odata.count": 261},
        {"numberMatched": 261, "numberReturned": 2},
        {"total": {"value": 261, "relation": "eq"}},
    ],
)
def test_a_total_in_the_body_is_read(beside: dict[str, Any]) -> None:
    reading = read({"items": ROWS, **beside})
    assert (reading.total, reading.certainty) == (261, Certainty.EXACT)


@pytest.mark.parametrize(
    "headers",
    [
        {"x-total-count": "261"},
        {"total-records": "261"},
        {"x-total": " 261 "},
        {"content-range": "0-24/261"},
        {"content-range": "items 0-24/261"},
        {"content-range": "*/261"},
    ],
)
def test_a_total_in_a_header_is_read(headers: dict[str, str]) -> None:
    assert read(ROWS, headers=headers).total == 261


@pytest.mark.parametrize(
    ("payload", "headers"),
    [
        ({"items": ROWS}, {}),
        ({"items": ROWS, "total": -1}, {}),
        ({"items": ROWS, "total": None}, {}),
        ({"items": ROWS, "total": True}, {}),
        ({"items": ROWS, "total": 12.5}, {}),
        ({"items": ROWS, "count": 2}, {}),
        (ROWS, {"content-range": "0-24/*"}),
        (ROWS, {"x-total-count": "many"}),
    ],
)
def test_numbers_that_are_no_total_stay_unknown(payload: Any, headers: dict[str, str]) -> None:
    reading = read(payload, headers=headers)
    assert (reading.total, reading.certainty) == (None, Certainty.UNKNOWN)


def test_a_lower_bound_is_at_least() -> None:
    reading = read({"hits": {"total": {"value": 10000, "relation": "gte"}, "hits": ROWS}})
    assert (reading.total, reading.certainty) == (10000, Certainty.AT_LEAST)


def test_a_total_below_the_records_on_the_page_is_kept_as_unknown() -> None:
    reading = read({"items": ROWS, "total": 1})
    assert (reading.total, reading.certainty) == (1, Certainty.UNKNOWN)


def test_pages_of_one_record_are_the_total_and_larger_pages_a_bound() -> None:
    one = read({"items": ROWS[:1], "total_pages": 9, "page": 1}, PAGE, size=1)
    assert (one.total, one.certainty) == (9, Certainty.EXACT)
    two = read({"items": ROWS, "total_pages": 9, "page": 1}, PAGE, size=2)
    assert (two.total, two.certainty) == (17, Certainty.AT_LEAST)


def test_the_last_page_in_a_link_header_is_the_total_of_pages_of_one() -> None:
    links = '<https://desk.example/t?per_page=1&page=2>; rel="next", <https://desk.example/t?page=261>; rel="last"'
    reading = read(ROWS[:1], PAGE, size=1, headers={"link": links})
    assert (reading.total, reading.certainty) == (261, Certainty.EXACT)
    assert read(ROWS[:1], PAGE, size=50, headers={"link": links}).certainty is Certainty.AT_LEAST
