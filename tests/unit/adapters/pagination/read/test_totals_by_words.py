"""Totals by the words of a name, by links, and estimates."""

from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle
from adapters.pagination import (
    Certainty,
    PageReading,
    read_page,
)

CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit")
NEXT_URL = Pagination(convention=PaginationStyle.NEXT_URL, size="limit")
OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
ROWS = [{"id": 11, "name": "a"}, {"id": 12, "name": "b"}]
WHERE = "GET https://desk.example/v1/tickets?status=open&limit=2"


def read(payload: Any, pagination: Pagination, **more: Any) -> PageReading:
    headers, location, status = more.pop("headers", {}), more.pop("location", WHERE), more.pop("status", 200)
    result = CallResult(payload=payload, location=location, headers=headers, status=status)
    return read_page(result, pagination, size=more.pop("size", 2), **more)


@pytest.mark.parametrize(
    ("beside", "total"),
    [
        ({"celkem": 261}, 261),
        ({"gesamtAnzahl": 261}, 261),
        ({"totalRowsMatched": 261}, 261),
        ({"nav": {"overall": 261}}, 261),
        ({"stuff": {"records_found": 261}}, 261),
        ({"x": {"total": {"value": 261, "relation": "eq"}}}, 261),
        ({"total_time_ms": 261}, None),
        ({"total_pages": 0, "totalPrice": 261}, None),
        ({"number": 5}, None),
        ({"user": {"total": 261}}, None),
        ({"version": 5, "took": 31}, None),
        ({"totalViews": 9000, "ScannedCount": 9000}, None),
        ({"totalTickets": 261}, 261),
        ({"ticketCount": 261}, 261),
        ({"facets": {"total": 261}}, None),
    ],
)
def test_totals_are_found_by_words_and_not_by_numbers(beside: dict[str, Any], total: int | None) -> None:
    assert read({"items": ROWS, **beside}, OFFSET).total == total


@pytest.mark.parametrize(
    ("headers", "total"),
    [
        ({"x-total-items-matched": "261"}, 261),
        ({"x-pagination": '{"TotalCount": 261, "CurrentPage": 1}'}, 261),
        ({"x-ratelimit-total": "5000", "content-length": "99"}, None),
        ({"x-total-runtime-ms": "5000"}, None),
    ],
)
def test_totals_are_found_in_headers_of_any_name(headers: dict[str, str], total: int | None) -> None:
    got = read(ROWS, OFFSET, headers=headers)
    assert got.total == total


@pytest.mark.parametrize(
    "beside",
    [{"estimatedTotal": 261}, {"total": 261, "total_is_estimate": True}, {"total": 261, "count_relation": "approx"}],
)
def test_an_estimate_is_kept_as_unknown(beside: dict[str, Any]) -> None:
    reading = read({"items": ROWS, **beside}, OFFSET)
    assert (reading.total, reading.certainty) == (261, Certainty.UNKNOWN)


def test_a_total_no_larger_than_a_page_that_has_a_successor_is_contradicted() -> None:
    reading = read({"items": ROWS, "total": 2, "next_cursor": "c2"}, CURSOR)
    assert (reading.total, reading.certainty) == (2, Certainty.UNKNOWN)


@pytest.mark.parametrize(
    ("following", "last"),
    [("?zorb=2&limit=1", "?zorb=261&limit=1"), ("?zorb=1&limit=1", "?zorb=260&limit=1")],
)
def test_the_distance_of_next_and_last_is_the_total_whatever_the_position_is_called(following: str, last: str) -> None:
    links = {"next": following, "last": last}
    assert read({"items": ROWS[:1], "links": links}, NEXT_URL, size=1).total == 261
    asked = PageAddress(url="https://desk.example/v1/tickets?zorb=9")
    assert read({"items": ROWS[:1], "links": links}, NEXT_URL, size=1, address=asked).total is None


def test_a_declared_path_of_the_total_wins() -> None:
    known = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit", total_path="a.b")
    assert read({"items": ROWS, "total": 9, "a": {"b": 261}}, known).total == 261
