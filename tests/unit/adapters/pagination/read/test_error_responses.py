"""Responses of status 200 that are error messages."""

from typing import Any

import pytest

from adapters.base import CallResult, Pagination, PaginationStyle
from adapters.pagination import read_page

PAGED = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")


def flaw_of(payload: Any, pagination: Pagination = PAGED) -> str:
    return read_page(CallResult(payload=payload, location="GET http://desk/tickets", status=200), pagination).flaw


@pytest.mark.parametrize("pagination", [PAGED, Pagination()])
@pytest.mark.parametrize(
    "payload",
    [
        {"ok": False, "error": "invalid_auth"},
        {"status": "error", "message": "backend gone", "items": []},
        {"success": False, "message": "quota reached", "data": []},
        {"errors": [{"message": "shard lost"}], "items": None},
        {"error": {"code": 503, "message": "try later"}, "total": 0, "results": []},
        {"success": "false", "data": None, "request_id": "9f"},
        {"message": "temporarily unavailable"},
        {"code": 429, "message": "API rate limit exceeded"},
    ],
)
def test_an_error_response_is_not_the_end_of_the_data(payload: Any, pagination: Pagination) -> None:
    assert "error message" in flaw_of(payload, pagination)


@pytest.mark.parametrize(
    "payload",
    [
        {"status": "ok", "items": []},
        {"error": None, "items": []},
        {"errors": [], "items": []},
        {"success": True, "items": []},
        {"status": "failed", "id": 7, "name": "nightly import"},
        {"status": "error", "items": [{"id": 1}]},
        {"items": []},
        {"message": "No results found", "items": []},
        {"message": "No results found"},
        {"message": "OK"},
        {"message": "hello", "id": 4, "author": "Anna"},
        [],
        {},
    ],
)
def test_an_empty_list_and_a_record_of_something_that_failed_are_data(payload: Any) -> None:
    assert not flaw_of(payload)


def test_lines_that_end_in_the_message_of_a_failure_are_cut_off() -> None:
    rows = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    assert "stream aborted" in flaw_of([*rows, {"error": "stream aborted"}])
    assert not flaw_of(rows)
    assert not flaw_of([{"id": 1, "error": None}, {"id": 2, "error": "no paper"}])
