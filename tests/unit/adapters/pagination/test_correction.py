"""Corrections of a pagination by the first response."""

from typing import Any

import pytest

from adapters.base import CallResult, Pagination, PaginationStyle
from adapters.pagination import (
    PageReading,
    by_pointer,
    correct_pagination,
    is_sequential,
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


def test_a_url_without_the_position_corrects_a_guess_and_one_with_it_does_not() -> None:
    other = read({"items": ROWS, "next": "?cursor=eyJpZCI6MTJ9&limit=2"}, PAGE)
    correction = correct_pagination(PAGE, other)
    assert correction.pagination.convention is PaginationStyle.NEXT_URL
    assert set(correction.pagination.hidden) == {"page", "per_page"}
    assert correction.note == "the response has the URL of the next page: followed instead of 'page'"
    same = read({"items": ROWS, "next": "?page=2"}, PAGE)
    assert correct_pagination(PAGE, same).pagination == PAGE
    assert by_pointer(PAGE, same) is not None


@pytest.mark.parametrize(
    ("spare", "convention", "first"),
    [
        ("offset", PaginationStyle.OFFSET, 0),
        ("page[skip]", PaginationStyle.OFFSET, 0),
        ("page_number", PaginationStyle.PAGE, 1),
    ],
)
@pytest.mark.parametrize("beside", [{"total": 9, "next_cursor": None}, {"has_more": True}])
def test_more_records_without_a_cursor_are_asked_for_by_the_other_position_of_the_tool(
    spare: str, convention: PaginationStyle, first: int, beside: dict[str, Any]
) -> None:
    both = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit", other_hidden=(spare,))
    found = correct_pagination(both, read({"data": ROWS, **beside}, both))
    assert (found.pagination.convention, found.pagination.position) == (convention, spare)
    assert found.pagination.first == first
    assert found.pagination.hidden == (spare, "limit", "cursor")
    assert found.note is not None


def test_a_returned_cursor_is_used_whatever_other_position_there_is() -> None:
    both = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit", other_hidden=("offset",))
    assert correct_pagination(both, read({"data": ROWS, "total": 9, "next_cursor": "c2"}, both)).pagination == both
    assert correct_pagination(both, read({"data": ROWS, "total": 2, "next_cursor": None}, both)).pagination == both


@pytest.mark.parametrize(
    ("following", "convention", "first"),
    [
        ("page[offset]=2", PaginationStyle.OFFSET, 0),
        ("page[offset]=3", PaginationStyle.OFFSET, 1),
        ("page[offset]=9", None, 0),
    ],
)
def test_a_url_with_another_position_makes_pages_addressable(
    following: str, convention: PaginationStyle | None, first: int
) -> None:
    names = {"position": "page[cursor]", "size": "page[limit]", "other_hidden": ("page[offset]",)}
    both = Pagination(convention=PaginationStyle.CURSOR, **names)
    found = correct_pagination(
        both, read({"data": ROWS, "links": {"next": f"/v1/tickets?{following}"}}, both)
    ).pagination
    assert found.convention is (convention or PaginationStyle.NEXT_URL)
    assert convention is None or (found.position, found.first) == ("page[offset]", first)


def test_more_records_without_a_cursor_correct_the_guess_to_keys_and_a_cursor_back() -> None:
    guess = Pagination(convention=PaginationStyle.CURSOR, position="after", size="limit")
    keyed = correct_pagination(guess, read({"data": ROWS, "has_more": True}, guess))
    assert (keyed.pagination.convention, keyed.pagination.key) == (PaginationStyle.KEYSET, "id")
    assert keyed.note == "no cursor in the response: paging by the 'id' of the last record"
    back = correct_pagination(KEYSET, read({"data": ROWS, "next_cursor": "c2"}, KEYSET))
    assert back.pagination.convention is PaginationStyle.CURSOR
    assert correct_pagination(guess, read({"data": ROWS}, guess)).pagination == guess


def test_styles_are_sequential_or_have_addresses() -> None:
    assert [is_sequential(one) for one in (CURSOR, NEXT_URL, KEYSET, OFFSET, PAGE, RANGE, Pagination())] == [
        True,
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert by_pointer(PAGE, read({"items": ROWS}, PAGE)) is None
