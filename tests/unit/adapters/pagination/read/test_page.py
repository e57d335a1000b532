"""Metadata responses, flags, positions and fingerprints of a page."""

from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle
from adapters.pagination import (
    PageReading,
    fingerprint,
    read_metadata,
    read_page,
)

OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
PAGE = Pagination(convention=PaginationStyle.PAGE, position="page", size="per_page", first=1)
CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit")
ROWS = [{"id": 1, "total": 99, "next": "x", "has_more": True}, {"id": 2}]
WHERE = "GET https://desk.example/v1/tickets?page=1&key=***"


def read(
    payload: Any, pagination: Pagination = OFFSET, *, size: int | None = 50, headers: dict[str, str] | None = None
) -> PageReading:
    return read_page(CallResult(payload=payload, location=WHERE, headers=headers or {}), pagination, size=size)


@pytest.mark.parametrize(
    "beside",
    [
        {"next_cursor": "c2"},
        {"nextPageToken": "c2"},
        {"NextToken": "c2"},
        {"next": "c2"},
        {"meta": {"next_cursor": "c2"}},
        {"response_metadata": {"next_cursor": "c2"}},
        {"paging": {"cursors": {"after": "c2"}}},
        {"pageInfo": {"endCursor": "c2", "hasNextPage": True}},
        {"metadata": {"continue": "c2"}},
        {"cursor": "c1", "next_cursor": "c2"},
    ],
)
def test_a_cursor_is_sent_back_with_the_size_unchanged(beside: dict[str, Any]) -> None:
    reading = read({"items": ROWS, **beside}, CURSOR, size=7)
    assert reading.next == PageAddress({"cursor": "c2", "limit": 7})
    assert reading.has_more is True


@pytest.mark.parametrize(
    "beside",
    [
        {},
        {"next_cursor": None},
        {"next_cursor": ""},
        {"next_cursor": "c2", "has_more": False},
        {"NextToken": "c2", "IsTruncated": False},
        {"pageInfo": {"endCursor": "c2", "hasNextPage": False}},
    ],
)
def test_an_empty_or_denied_cursor_is_the_end(beside: dict[str, Any]) -> None:
    reading = read({"items": ROWS, **beside}, CURSOR)
    assert (reading.next, reading.has_more) == (None, False)


@pytest.mark.parametrize(
    ("beside", "has_more"),
    [
        ({"has_more": True}, True),
        ({"hasNextPage": False}, False),
        ({"last": True}, False),
        ({"isLast": False}, True),
        ({"next": None}, False),
        ({"page": 1, "total_pages": 6}, True),
        ({"page": 6, "total_pages": 6}, None),
        ({"total": 500}, None),
        ({}, None),
    ],
)
def test_flags_and_page_numbers_say_whether_more_follow(beside: dict[str, Any], has_more: bool | None) -> None:
    assert read({"items": ROWS, **beside}, PAGE).has_more is has_more


def test_a_cursor_without_a_parameter_means_that_there_is_more() -> None:
    reading = read({"items": ROWS, "next_cursor": "c2"}, OFFSET)
    assert (reading.next, reading.has_more) == (None, True)


def test_a_page_reports_its_position() -> None:
    first = read({"content": ROWS, "number": 0, "first": True, "last": False}, PAGE)
    assert (first.position, first.has_previous) == (0, False)
    assert read({"items": ROWS, "previous": "/t?page=1"}, PAGE).has_previous is True
    assert read({"items": ROWS, "offset": 40}, OFFSET).position == 40
    assert read({"items": ROWS}, OFFSET).has_previous is None


@pytest.mark.parametrize(
    "payload",
    [
        {"data_path": "data.items", "tokens_estimation": 355000, "total_items": 261, "fields": ["id"]},
        {"metadata": {"data_path": "$.data.items", "tokens_estimation": 355000, "total_items": 261}},
    ],
)
def test_a_metadata_answer_gives_path_total_and_tokens(payload: dict[str, Any]) -> None:
    figures = read_metadata(CallResult(payload=payload, location=""))
    assert figures is not None
    assert (figures.total, figures.records_path, figures.tokens_estimation) == (261, "data.items", 355000)


def test_a_bare_count_is_a_metadata_answer_and_records_are_none() -> None:
    figures = read_metadata(CallResult(payload={"count": 5}, location=""))
    assert figures is not None
    assert (figures.total, figures.records_path) == (5, None)
    assert read_metadata(CallResult(payload={"items": ROWS, "total": 9}, location="")) is None
    assert read_metadata(CallResult(payload=ROWS, location="")) is None


def test_a_fingerprint_depends_on_content_and_order() -> None:
    assert fingerprint([{"a": 1, "b": 2}]) == fingerprint([{"b": 2, "a": 1}])
    assert fingerprint([{"a": 1}, {"a": 2}]) != fingerprint([{"a": 2}, {"a": 1}])
    assert fingerprint([{"a": 2**80}]) != fingerprint([{"a": 2**81}])
