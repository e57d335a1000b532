"""Link headers and next URLs."""

from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle
from adapters.pagination import (
    PageReading,
    is_numbered_sequence,
    read_page,
)
from adapters.pagination.read.links import parse_links

OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
NEXT_URL = Pagination(convention=PaginationStyle.NEXT_URL, size="limit")
LINK = Pagination(convention=PaginationStyle.LINK_HEADER, size="per_page")
ROWS = [{"id": 1, "total": 99, "next": "x", "has_more": True}, {"id": 2}]
WHERE = "GET https://desk.example/v1/tickets?page=1&key=***"


def read(
    payload: Any, pagination: Pagination = OFFSET, *, size: int | None = 50, headers: dict[str, str] | None = None
) -> PageReading:
    return read_page(CallResult(payload=payload, location=WHERE, headers=headers or {}), pagination, size=size)


@pytest.mark.parametrize(
    ("beside", "url"),
    [
        ({"next": "https://desk.example/v1/tickets?page=2"}, "https://desk.example/v1/tickets?page=2"),
        ({"next": "/v1/tickets?page=2"}, "https://desk.example/v1/tickets?page=2"),
        ({"next": "?page=2"}, "https://desk.example/v1/tickets?page=2"),
        ({"next_url": "tickets?page=2"}, "https://desk.example/v1/tickets?page=2"),
        ({"links": {"next": "/v1/b"}}, "https://desk.example/v1/b"),
        ({"_links": {"next": {"href": "/v1/b"}}}, "https://desk.example/v1/b"),
        ({"@odata.nextLink": "https://desk.example/c"}, "https://desk.example/c"),
        ({"links": [{"rel": "self", "href": "/a"}, {"rel": "next", "href": "/v1/b"}]}, "https://desk.example/v1/b"),
        ({"paging": {"next": "https://other.example/x"}}, "https://other.example/x"),
    ],
)
def test_a_next_url_is_resolved_against_the_request(beside: dict[str, Any], url: str) -> None:
    reading = read({"items": ROWS, **beside}, NEXT_URL)
    assert reading.next == PageAddress(url=url)
    assert (reading.has_more, reading.kind) == (True, PaginationStyle.NEXT_URL)


@pytest.mark.parametrize("beside", [{"next": None}, {"next": ""}, {}, {"links": {"self": "/a"}}, {"links": []}])
def test_no_next_url_is_the_end_where_pages_are_chained(beside: dict[str, Any]) -> None:
    assert read({"items": ROWS, **beside}, NEXT_URL).has_more is False


def test_a_link_header_names_the_next_page_and_its_absence_the_end() -> None:
    link = '<https://desk.example/t?page=3>; rel="next"; results="true"'
    reading = read(ROWS, LINK, headers={"link": link})
    assert (reading.next, reading.kind) == (
        PageAddress(url="https://desk.example/t?page=3"),
        PaginationStyle.LINK_HEADER,
    )
    assert read(ROWS, LINK).has_more is False
    assert read(ROWS, LINK, headers={"link": '</t?page=1>; rel="prev"'}).has_more is False


def test_a_next_link_without_results_is_the_end() -> None:
    reading = read(ROWS, LINK, headers={"link": '</t?cursor=9>; rel="next"; results="false"; cursor="0:9:0"'})
    assert (reading.next, reading.has_more) == (None, False)


def test_links_are_parsed_with_quotes_commas_and_several_relations() -> None:
    header = (
        '</a?x=1,2>; title="one, \\"two\\"; <three>"; rel="prev first", </b>;rel=next;type=text/html, <c> ; REL=last'
    )
    links = parse_links(header)
    assert [(link.url, link.relations) for link in links] == [
        ("/a?x=1,2", {"prev", "first"}),
        ("/b", {"next"}),
        ("c", {"last"}),
    ]
    assert links[0].parameters["title"] == 'one, "two"; <three>'


@pytest.mark.parametrize("header", ["", "no link", "<a", ">;rel=next", ",,,"])
def test_a_broken_link_header_holds_no_link(header: str) -> None:
    assert parse_links(header) == ()


@pytest.mark.parametrize(
    ("urls", "is_counted"),
    [
        (["/x?page=4&s=1", "/x?page=5&s=1", "/x?page=6&s=1"], True),
        (["/x?offset=20", "/x?offset=40"], True),
        (["/x?offset=20", "/x?offset=40", "/x?offset=50"], False),
        (["/x?token=4", "/x?token=5"], False),
        (["/x?page=5", "/x?page=4"], False),
        (["/x?page=4", "/x?page=5&more=1"], False),
        (["/x?page=4"], False),
    ],
)
def test_urls_that_only_count_are_recognized(urls: list[str], is_counted: bool) -> None:
    assert is_numbered_sequence(urls) is is_counted
