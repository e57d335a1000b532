"""The next page by flags, keys, ranges and URLs."""

from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle
from adapters.pagination import (
    PageReading,
    may_repeat_address,
    read_page,
)

CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit")
NEXT_URL = Pagination(convention=PaginationStyle.NEXT_URL, size="limit")
OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
PAGE = Pagination(convention=PaginationStyle.PAGE, position="page", size="per_page", first=1)
KEYSET = Pagination(convention=PaginationStyle.KEYSET, position="starting_after", size="limit")
RANGE = Pagination(convention=PaginationStyle.RANGE)
ROWS = [{"id": 11, "name": "a"}, {"id": 12, "name": "b"}]
WHERE = "GET https://desk.example/v1/tickets?status=open&limit=2"


def read(payload: Any, pagination: Pagination, **more: Any) -> PageReading:
    headers, location, status = more.pop("headers", {}), more.pop("location", WHERE), more.pop("status", 200)
    result = CallResult(payload=payload, location=location, headers=headers, status=status)
    return read_page(result, pagination, size=more.pop("size", 2), **more)


@pytest.mark.parametrize(
    ("following", "whole"),
    [
        ("/v1/tickets?page=2", "/v1/tickets?page=2&status=open&limit=2"),
        ("?page=2&limit=2", "/v1/tickets?page=2&limit=2&status=open"),
        ("/v1/tickets?cursor=eyJpZCI6MTJ9", "/v1/tickets?cursor=eyJpZCI6MTJ9"),
        ("/v1/other?page=2", "/v1/other?page=2"),
        ("/v1/tickets?status=closed&page=2", "/v1/tickets?status=closed&page=2"),
    ],
)
def test_a_next_url_that_only_counts_gets_the_request_parameters(following: str, whole: str) -> None:
    reading = read({"items": ROWS, "next": following}, NEXT_URL)
    assert reading.next == PageAddress(url=f"https://desk.example{whole}")


def test_neither_secrets_nor_positions_are_added_to_a_next_url() -> None:
    was = Pagination(convention=PaginationStyle.NEXT_URL, other_hidden=("offset",))
    where = "GET https://desk.example/t?offset=0&key=***&q=a b"
    assert read({"items": ROWS, "next": "?page=2"}, was, location=where).next == PageAddress(
        url="https://desk.example/t?page=2&q=a"
    )


def test_keyset_pages_start_after_the_last_record() -> None:
    reading = read({"data": ROWS, "has_more": True}, KEYSET)
    assert reading.next == PageAddress({"starting_after": 12, "limit": 2})
    assert read({"data": ROWS, "has_more": False}, KEYSET).next is None
    assert read({"data": []}, KEYSET).has_more is False
    assert read(ROWS, KEYSET).next == reading.next


@pytest.mark.parametrize(
    ("position", "key", "rows", "expected"),
    [
        ("max_id", None, [{"id": 9}, {"id": 4}, {"id": 6}], 4),
        ("since_id", None, [{"id": 4}, {"id": 9}], 9),
        ("since_id", None, [{"id": 9}, {"id": 4}], None),
        ("after_uuid", None, [{"id": 1, "uuid": "u1"}, {"id": 2, "uuid": "u2"}], "u2"),
        ("search_after", None, [{"id": 1, "sort": [1, "a"]}], [1, "a"]),
        ("search_after", None, [{"id": 1}], None),
        ("starting_after", "meta.key", [{"id": 1, "meta": {"key": "k1"}}], "k1"),
        ("zorb", None, [{"a": 5, "n": 1}, {"a": 5, "n": 2}, {"a": 5, "n": 3}], 3),
        ("zorb", None, [{"a": 5, "n": 1}, {"a": 5, "n": 2}], None),
        ("after", None, ["a", "b"], None),
    ],
)
def test_the_key_of_a_page_is_that_of_its_name_and_direction(
    position: str, key: str | None, rows: list[Any], expected: Any
) -> None:
    pagination = Pagination(convention=PaginationStyle.KEYSET, position=position, key=key)
    reading = read({"data": rows}, pagination, size=None)
    assert (reading.next.arguments[position] if reading.next else None) == expected
    assert expected is not None or reading.has_more is True


def test_a_page_that_only_repeats_the_key_asked_with_is_the_end() -> None:
    inclusive = Pagination(convention=PaginationStyle.KEYSET, position="max_id")
    asked = PageAddress({"max_id": 4})
    assert read([{"id": 4}], inclusive, address=asked).has_more is False


def test_a_scroll_goes_on_in_another_operation_until_a_page_is_empty() -> None:
    scroll = Pagination(
        convention=PaginationStyle.CURSOR, position="scroll_id", size="size", next_operation="scroll_next"
    )
    hits = {"_scroll_id": "s1", "hits": {"hits": ROWS}}
    assert read(hits, scroll).next == PageAddress({"scroll_id": "s1"}, operation="scroll_next")
    assert read({"_scroll_id": "s1", "hits": {"hits": []}}, scroll).has_more is False
    assert may_repeat_address(scroll)
    assert not may_repeat_address(CURSOR)


@pytest.mark.parametrize(
    ("status", "told", "has_more", "total"),
    [
        (206, "0-1/9", True, 9),
        (206, "items 7-8/9", False, 9),
        (206, "0-1/*", None, None),
        (200, "*/0", False, 0),
        (206, None, True, None),
        (200, None, False, None),
        (200, "bytes 0-1/999", False, None),
    ],
)
def test_a_content_range_gives_the_position(
    status: int, told: str | None, has_more: bool | None, total: int | None
) -> None:
    headers = {} if told is None else {"content-range": told}
    rows = [] if total == 0 else ROWS
    reading = read(rows, RANGE, status=status, headers=headers)
    assert (reading.has_more, reading.total) == (has_more, total)


@pytest.mark.parametrize(
    ("beside", "has_more"),
    [
        ({"hasMore": "true"}, True),
        ({"IsTruncated": "false"}, False),
        ({"moreRecords": 1}, True),
        ({"thereAreFurtherItems": True}, True),
        ({"allDoneFinished": True}, False),
        ({"itemsRemaining": 0}, False),
        ({"itemsLeft": 7}, True),
        ({"rateLimitRemaining": 7}, None),
        ({"job": {"done": True}}, None),
    ],
)
def test_flags_are_read_in_words_and_numbers(beside: dict[str, Any], has_more: bool | None) -> None:
    assert read({"items": ROWS, **beside}, OFFSET).has_more is has_more


def test_a_number_of_the_next_page_in_a_header_says_whether_there_is_one() -> None:
    assert read(ROWS, PAGE, headers={"x-next-page": "2"}).has_more is True
    assert read(ROWS, PAGE, headers={"x-next-page": ""}).has_more is False


def test_the_cursor_asked_with_beside_no_records_is_the_end_and_beside_records_a_standstill() -> None:
    mark = Pagination(convention=PaginationStyle.CURSOR, position="cursorMark", next_path="nextCursorMark")
    asked = PageAddress({"cursorMark": "AoE="})
    assert read({"docs": [], "nextCursorMark": "AoE="}, mark, address=asked).has_more is False
    assert read({"docs": ROWS, "nextCursorMark": "AoE="}, mark, address=asked).next is not None


def test_links_without_a_next_one_are_the_end() -> None:
    assert read(ROWS, PAGE, headers={"link": '</t?page=1>; rel="first"'}).has_more is False
    assert read(ROWS, PAGE, headers={"link": '</docs>; rel="help"'}).has_more is None


def test_a_flag_that_says_that_all_came_outranks_a_cursor_beside_it() -> None:
    pagination = Pagination(convention=PaginationStyle.CURSOR, position="continueFrom", next_path="continueFrom")
    reading = read({"jobs": ROWS, "continueFrom": "c9", "isComplete": True}, pagination)
    assert (reading.next, reading.has_more) == (None, False)


def test_a_cursor_in_the_url_of_another_host_goes_to_the_service_that_was_asked() -> None:
    url = "http://desk.internal:8080/v1/tickets?cursor=c2&limit=2"
    reading = read({"items": ROWS, "next": url}, CURSOR)
    assert reading.next == PageAddress({"cursor": "c2", "limit": 2})


def test_a_url_of_another_host_without_the_known_argument_stays_what_it_is() -> None:
    reading = read({"items": ROWS, "next": "http://elsewhere.example/v1/tickets?page_ref=c2"}, CURSOR)
    assert reading.next is not None
    assert reading.next.url == "http://elsewhere.example/v1/tickets?page_ref=c2"
