"""What a response says about the total and the next page."""

from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle
from adapters.pagination import (
    Certainty,
    PageReading,
    address,
    detect,
    fingerprint,
    first_address,
    metadata_address,
    offset_address,
    read_metadata,
    read_page,
)
from adapters.pagination.read.links import parse_links

OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
PAGE = Pagination(convention=PaginationStyle.PAGE, position="page", size="per_page", first=1)
CURSOR = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit")
NEXT_URL = Pagination(convention=PaginationStyle.NEXT_URL, size="limit")
LINK = Pagination(convention=PaginationStyle.LINK_HEADER, size="per_page")
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
def test_what_is_no_total_stays_unknown(payload: Any, headers: dict[str, str]) -> None:
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


def test_a_cursor_without_a_parameter_for_it_is_told_as_more() -> None:
    reading = read({"items": ROWS, "next_cursor": "c2"}, OFFSET)
    assert (reading.next, reading.has_more) == (None, True)


def test_a_page_tells_where_it_stands() -> None:
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


def test_addresses_follow_the_convention() -> None:
    assert address(OFFSET, page_index=3, size=50) == PageAddress({"offset": 150, "limit": 50})
    assert address(PAGE, page_index=3, size=50) == PageAddress({"page": 4, "per_page": 50})
    assert address(PAGE, page_index=0, size=None) == PageAddress({"page": 1})
    assert offset_address(OFFSET, offset=37, size=None) == PageAddress({"offset": 37})
    assert first_address(CURSOR, size=10) == PageAddress({"limit": 10})
    assert first_address(PAGE, size=10) == PageAddress({"page": 1, "per_page": 10})
    assert first_address(Pagination(), size=10) == PageAddress({})
    assert metadata_address(Pagination(metadata="meta_only")) == PageAddress({"meta_only": True})


def test_what_has_no_address_says_so() -> None:
    with pytest.raises(ValueError, match="'cursor' have no address"):
        address(CURSOR, page_index=1, size=10)
    with pytest.raises(ValueError, match="need a size"):
        address(OFFSET, page_index=1, size=None)
    with pytest.raises(ValueError, match="has no offset"):
        offset_address(PAGE, offset=5, size=1)
    with pytest.raises(ValueError, match="no metadata flag"):
        metadata_address(OFFSET)


def test_a_fingerprint_tells_pages_apart_by_content_and_order() -> None:
    assert fingerprint([{"a": 1, "b": 2}]) == fingerprint([{"b": 2, "a": 1}])
    assert fingerprint([{"a": 1}, {"a": 2}]) != fingerprint([{"a": 2}, {"a": 1}])
    assert fingerprint([{"a": 2**80}]) != fingerprint([{"a": 2**81}])


def test_an_offset_that_counts_from_one_is_shifted() -> None:
    scim = detect({"startIndex": {"type": "integer", "default": 1}, "count": {"type": "integer"}})
    assert address(scim, page_index=1, size=10) == PageAddress({"startIndex": 11, "count": 10})
