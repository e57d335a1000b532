"""Cursors and next URLs under unusual names, and values that only look like one."""

from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle
from adapters.pagination import (
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
    ("position", "beside"),
    [
        ("cursor", {"resumeFrom": "c2"}),
        ("cursor", {"weiter": "c2"}),
        ("cursor", {"siguiente": "c2"}),
        ("resumption_key", {"resumption": {"key": "c2"}, "resumptionKey": "c2"}),
        ("wysiwyg", {"wysiwyg": "c2"}),
        ("zorb", {"fnord": "eyJpZCI6MTJ9"}),
        ("zorb", {"nav": {"fnord": "eyJpZCI6MTJ9"}}),
        ("zorb", {"request_id": "9f3a77b1c0", "fnord": "eyJpZCI6MTJ9"}),
        ("zorb", {"generated": "2026-01-01T00:00:00Z", "version": "1.22.3", "fnord": "eyJpZCI6MTJ9"}),
        ("zorb", {"self": "/v1/tickets?x=1", "fnord": "eyJpZCI6MTJ9"}),
        ("after", {"paging": {"cursors": {"before": "b9b9b9", "after": "c2"}}}),
        ("NextToken", {"NextToken": "c2"}),
        ("exclusive_start_key", {"LastEvaluatedKey": {"id": {"S": "12"}}}),
        ("continue_from", {"continuation": {"continue_from": "c2", "size": 25}}),
        ("paging/continueFrom", {"next": {"continue_from": "c2"}}),
    ],
)
def test_a_cursor_is_found_under_any_name(position: str, beside: dict[str, Any]) -> None:
    pagination = Pagination(convention=PaginationStyle.CURSOR, position=position, size="limit")
    reading = read({"items": ROWS, **beside}, pagination)
    assert reading.next is not None
    assert reading.next.arguments[position] in ("c2", "eyJpZCI6MTJ9", {"id": {"S": "12"}})


def test_a_cursor_that_is_a_number_is_none_of_the_request_although_the_size_is_that_number() -> None:
    tool = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="results_per_page")
    beside = {"results_per_page": 2, "cursor": 2}
    there = "GET https://desk.example/v1/tickets?results_per_page=2"
    reading = read({"items": ROWS, **beside}, tool, location=there)
    assert reading.next == PageAddress({"cursor": 2, "results_per_page": 2})
    again = read({"items": ROWS, **beside}, tool, location=f"{there}&cursor=2", address=reading.next)
    assert again.next is None


@pytest.mark.parametrize(
    "beside",
    [
        {"request_id": "9f3a77b1c0"},
        {"etag": "W/9f3a77b1c0"},
        {"generated_at": "2026-01-01T00:00:00Z"},
        {"previous_cursor": "b9b9b9"},
        {"start_cursor": "b9b9b9"},
        {"access_token": "b9b9b9"},
        {"params": {"next": "b9b9b9"}},
        {"alpha": "eyJpZCI6MTJ9", "beta": "eyJpZCI6MTN9"},
        {"next_cursor": "0"},
        {"next": 0},
        {"currency": "EUR", "note": "two words"},
    ],
)
def test_values_that_are_no_cursor_are_not_followed(beside: dict[str, Any]) -> None:
    reading = read({"items": ROWS, **beside}, CURSOR)
    assert (reading.next, reading.has_more) == (None, False)


def test_a_cursor_that_repeats_the_one_asked_with_is_an_echo_unless_it_is_known_to_be_the_marker() -> None:
    asked = PageAddress({"cursor": "c1", "limit": 2})
    assert read({"items": ROWS, "cursor": "c1"}, CURSOR, address=asked).next is None
    known = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit", next_path="cursor")
    assert read({"items": ROWS, "cursor": "c1"}, known, address=asked).next == asked


def test_a_guessed_cursor_on_a_short_page_is_ignored() -> None:
    assert read({"items": ROWS, "fnord": "eyJpZCI6MTJ9"}, CURSOR, size=3).next is None


def test_a_known_path_is_kept() -> None:
    known = Pagination(convention=PaginationStyle.CURSOR, position="cursor", next_path="meta.page.after")
    reading = read({"items": ROWS, "meta": {"page": {"after": "c2"}}, "next": "/else"}, known)
    assert reading.next == PageAddress({"cursor": "c2"})
    assert read({"items": ROWS, "meta": {"page": {"after": None}}, "marker": "c9"}, known).has_more is False
    assert read({"items": ROWS, "marker": "c9"}, known).has_more is False


def test_a_known_path_may_be_a_header() -> None:
    known = Pagination(convention=PaginationStyle.CURSOR, position="cursor", next_path="header:x-resume")
    assert read(ROWS, known, headers={"x-resume": "c2"}).next == PageAddress({"cursor": "c2"})
    assert read(ROWS, known).has_more is False


@pytest.mark.parametrize("name", ["x-next-cursor", "x-ms-continuation", "opc-next-page", "x-page-resume", "x-weiter"])
def test_a_cursor_may_be_in_a_header(name: str) -> None:
    reading = read(ROWS, CURSOR, headers={name: "c2", "x-request-id": "9f3a77b1c0"})
    assert reading.next == PageAddress({"cursor": "c2", "limit": 2})


@pytest.mark.parametrize(
    ("beside", "url"),
    [
        ({"weiter": "/v1/tickets?x=2zz"}, "/v1/tickets?x=2zz"),
        ({"fnord": "/v1/tickets?at=zz9"}, "/v1/tickets?at=zz9"),
        ({"nav": {"fnord": {"href": "/v1/tickets?at=zz9"}}}, "/v1/tickets?at=zz9"),
        ({"gorp": [{"rel": "self", "href": "/v1/a"}, {"rel": ["next"], "href": "/v1/b"}]}, "/v1/b"),
        ({"link": [{"relation": "next", "url": "/v1/b"}]}, "/v1/b"),
        ({"_links": {"next": {"href": "/v1/b{?page,size}", "templated": True}}}, "/v1/b"),
        ({"@odata.nextLink": "https://desk.example/c?$skiptoken=x"}, "/c?$skiptoken=x"),
    ],
)
def test_a_next_url_is_found_under_any_name(beside: dict[str, Any], url: str) -> None:
    reading = read({"items": ROWS, **beside}, NEXT_URL)
    assert reading.next == PageAddress(url=f"https://desk.example{url}")


@pytest.mark.parametrize(
    "beside",
    [
        {"self": "/v1/tickets?status=open&limit=2"},
        {"prev": "/v1/tickets?at=zz1"},
        {"fnord": "/v1/else?at=zz9"},
        {"fnord": "/v1/tickets?limit=1"},
        {"one": "/v1/tickets?at=zz9", "two": "/v1/tickets?at=zz8"},
        {"last": "/v1/tickets?at=zz9"},
        {"docs": "https://else.example/next"},
    ],
)
def test_values_that_are_no_next_url_are_not_followed(beside: dict[str, Any]) -> None:
    assert read({"items": ROWS, **beside}, NEXT_URL).next is None


def test_a_list_left_out_at_its_known_place_is_empty() -> None:
    reading = read({"schemas": ["urn:x"], "fnord": 1}, OFFSET, records_path="Resources")
    assert (reading.records, reading.is_list) == ([], True)


def test_a_cursor_that_equals_the_size_asked_for_is_a_cursor() -> None:
    where = "GET https://desk.example/v1/tickets?limit=1"
    reading = read({"msgs": ROWS[:1], "cursor": 1}, CURSOR, location=where, size=1)
    assert reading.next is not None
    assert reading.next.arguments == {"cursor": 1, "limit": 1}


@pytest.mark.parametrize("end", [-1, "-1", 0, "0", "", None, "null"])
def test_a_number_below_one_is_no_cursor(end: Any) -> None:
    reading = read({"msgs": ROWS, "cursor": end}, CURSOR)
    assert (reading.next, reading.has_more) == (None, False)


def test_a_walk_by_urls_ends_where_none_comes_though_a_cursor_still_stands_there() -> None:
    place = PageAddress(url="https://desk.example/v1/tickets?after=c2")
    reading = read({"items": ROWS, "paging": {"cursors": {"after": "c3"}}}, NEXT_URL, address=place)
    assert (reading.next, reading.has_more) == (None, False)


def test_an_action_that_loads_more_is_followed_and_its_place_is_kept() -> None:
    more = {"id": "loadMore", "url": "/v1/tickets?from=2"}
    reading = read({"cards": ROWS, "actions": [{"id": "print", "url": "/v1/print"}, more]}, Pagination(size="top"))
    assert reading.next is not None
    assert reading.next.url is not None
    assert "/v1/tickets?from=2" in reading.next.url
    kept = Pagination(convention=PaginationStyle.NEXT_URL, next_path=reading.pointer_path)
    assert read({"cards": ROWS, "actions": [more]}, kept).next is not None
    assert read({"cards": ROWS, "actions": []}, kept).has_more is False


def test_a_cursor_of_several_members_under_the_name_of_its_argument_is_one() -> None:
    pagination = Pagination(convention=PaginationStyle.CURSOR, position="position", size="limit")
    reading = read({"items": ROWS, "position": {"at": 2, "shard": 3}}, pagination)
    assert reading.next is not None
    assert reading.next.arguments["position"] == {"at": 2, "shard": 3}


def test_a_next_link_may_be_a_list_of_one() -> None:
    reading = read({"items": ROWS, "_links": {"next": [{"href": "/v1/tickets?at=2"}]}}, NEXT_URL)
    assert reading.next is not None
    assert reading.next.url is not None
    assert "/v1/tickets?at=2" in reading.next.url
