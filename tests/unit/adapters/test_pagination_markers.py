"""What names the next page where names are unusual, and what only looks like it."""

from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle
from adapters.pagination import (
    Certainty,
    PageReading,
    corrected,
    counts_on,
    is_followed,
    marked,
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
    again = read({"items": ROWS, **beside}, tool, location=f"{there}&cursor=2", asked=reading.next)
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
def test_what_is_no_cursor_is_not_followed(beside: dict[str, Any]) -> None:
    reading = read({"items": ROWS, **beside}, CURSOR)
    assert (reading.next, reading.has_more) == (None, False)


def test_a_cursor_that_repeats_the_one_asked_with_is_an_echo_unless_it_is_known_to_be_the_marker() -> None:
    asked = PageAddress({"cursor": "c1", "limit": 2})
    assert read({"items": ROWS, "cursor": "c1"}, CURSOR, asked=asked).next is None
    known = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit", next_path="cursor")
    assert read({"items": ROWS, "cursor": "c1"}, known, asked=asked).next == asked


def test_a_guess_is_no_marker_on_a_page_that_is_not_full() -> None:
    assert read({"items": ROWS, "fnord": "eyJpZCI6MTJ9"}, CURSOR, size=3).next is None


def test_a_known_place_is_kept_to() -> None:
    known = Pagination(convention=PaginationStyle.CURSOR, position="cursor", next_path="meta.page.after")
    reading = read({"items": ROWS, "meta": {"page": {"after": "c2"}}, "next": "/else"}, known)
    assert reading.next == PageAddress({"cursor": "c2"})
    assert read({"items": ROWS, "meta": {"page": {"after": None}}, "marker": "c9"}, known).has_more is False
    assert read({"items": ROWS, "marker": "c9"}, known).has_more is False


def test_a_known_place_may_be_a_header() -> None:
    known = Pagination(convention=PaginationStyle.CURSOR, position="cursor", next_path="header:x-resume")
    assert read(ROWS, known, headers={"x-resume": "c2"}).next == PageAddress({"cursor": "c2"})
    assert read(ROWS, known).has_more is False


@pytest.mark.parametrize("name", ["x-next-cursor", "x-ms-continuation", "opc-next-page", "x-page-resume", "x-weiter"])
def test_a_cursor_may_stand_in_a_header(name: str) -> None:
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
def test_what_is_no_next_url_is_not_followed(beside: dict[str, Any]) -> None:
    assert read({"items": ROWS, **beside}, NEXT_URL).next is None


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
def test_a_next_url_that_only_counts_on_is_completed(following: str, whole: str) -> None:
    reading = read({"items": ROWS, "next": following}, NEXT_URL)
    assert reading.next == PageAddress(url=f"https://desk.example{whole}")


def test_neither_secrets_nor_positions_are_added_to_a_next_url() -> None:
    was = Pagination(convention=PaginationStyle.NEXT_URL, other_hidden=("offset",))
    where = "GET https://desk.example/t?offset=0&key=***&q=a b"
    assert read({"items": ROWS, "next": "?page=2"}, was, location=where).next == PageAddress(
        url="https://desk.example/t?page=2&q=a"
    )


def test_pages_go_on_after_the_last_record() -> None:
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
    assert read([{"id": 4}], inclusive, asked=asked).has_more is False


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
def test_a_range_tells_where_it_stands(status: int, told: str | None, has_more: bool | None, total: int | None) -> None:
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
    assert read({"docs": [], "nextCursorMark": "AoE="}, mark, asked=asked).has_more is False
    assert read({"docs": ROWS, "nextCursorMark": "AoE="}, mark, asked=asked).next is not None


def test_links_without_a_next_one_are_the_end() -> None:
    assert read(ROWS, PAGE, headers={"link": '</t?page=1>; rel="first"'}).has_more is False
    assert read(ROWS, PAGE, headers={"link": '</docs>; rel="help"'}).has_more is None


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
def test_an_estimate_is_kept_and_not_relied_on(beside: dict[str, Any]) -> None:
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
    assert read({"items": ROWS[:1], "links": links}, NEXT_URL, size=1, asked=asked).total is None


def test_a_declared_place_of_the_total_wins() -> None:
    known = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit", total_path="a.b")
    assert read({"items": ROWS, "total": 9, "a": {"b": 261}}, known).total == 261


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


def test_a_list_left_out_at_its_known_place_is_empty() -> None:
    reading = read({"schemas": ["urn:x"], "fnord": 1}, OFFSET, records_path="Resources")
    assert (reading.records, reading.is_list) == ([], True)


def test_a_url_without_the_position_corrects_a_guess_and_one_with_it_does_not() -> None:
    other = read({"items": ROWS, "next": "?cursor=eyJpZCI6MTJ9&limit=2"}, PAGE)
    correction = corrected(PAGE, other)
    assert correction.pagination.convention is PaginationStyle.NEXT_URL
    assert set(correction.pagination.hidden) == {"page", "per_page"}
    assert correction.note == "pages are named by URLs, and not found by 'page'"
    same = read({"items": ROWS, "next": "?page=2"}, PAGE)
    assert corrected(PAGE, same).pagination == PAGE
    assert marked(PAGE, same) is not None


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
    found = corrected(both, read({"data": ROWS, **beside}, both))
    assert (found.pagination.convention, found.pagination.position) == (convention, spare)
    assert found.pagination.first == first
    assert found.pagination.hidden == (spare, "limit", "cursor")
    assert found.note is not None


def test_a_cursor_that_comes_is_taken_whatever_other_position_there_is() -> None:
    both = Pagination(convention=PaginationStyle.CURSOR, position="cursor", size="limit", other_hidden=("offset",))
    assert corrected(both, read({"data": ROWS, "total": 9, "next_cursor": "c2"}, both)).pagination == both
    assert corrected(both, read({"data": ROWS, "total": 2, "next_cursor": None}, both)).pagination == both


@pytest.mark.parametrize(
    ("following", "convention", "first"),
    [
        ("page[offset]=2", PaginationStyle.OFFSET, 0),
        ("page[offset]=3", PaginationStyle.OFFSET, 1),
        ("page[offset]=9", None, 0),
    ],
)
def test_a_url_that_counts_on_by_another_position_makes_pages_addressable(
    following: str, convention: PaginationStyle | None, first: int
) -> None:
    names = {"position": "page[cursor]", "size": "page[limit]", "other_hidden": ("page[offset]",)}
    both = Pagination(convention=PaginationStyle.CURSOR, **names)
    found = corrected(both, read({"data": ROWS, "links": {"next": f"/v1/tickets?{following}"}}, both)).pagination
    assert found.convention is (convention or PaginationStyle.NEXT_URL)
    assert convention is None or (found.position, found.first) == ("page[offset]", first)


def test_more_records_without_a_cursor_correct_the_guess_to_keys_and_a_cursor_back() -> None:
    guess = Pagination(convention=PaginationStyle.CURSOR, position="after", size="limit")
    keyed = corrected(guess, read({"data": ROWS, "has_more": True}, guess))
    assert (keyed.pagination.convention, keyed.pagination.key) == (PaginationStyle.KEYSET, "id")
    assert keyed.note == "no cursor came: pages go on after the last record's 'id'"
    back = corrected(KEYSET, read({"data": ROWS, "next_cursor": "c2"}, KEYSET))
    assert back.pagination.convention is PaginationStyle.CURSOR
    assert corrected(guess, read({"data": ROWS}, guess)).pagination == guess


def test_what_is_followed_and_what_has_addresses() -> None:
    assert [is_followed(one) for one in (CURSOR, NEXT_URL, KEYSET, OFFSET, PAGE, RANGE, Pagination())] == [
        True,
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert marked(PAGE, read({"items": ROWS}, PAGE)) is None


def test_a_cursor_that_equals_the_size_asked_for_is_a_cursor() -> None:
    where = "GET https://desk.example/v1/tickets?limit=1"
    reading = read({"msgs": ROWS[:1], "cursor": 1}, CURSOR, location=where, size=1)
    assert reading.next is not None
    assert reading.next.arguments == {"cursor": 1, "limit": 1}


@pytest.mark.parametrize("end", [-1, "-1", 0, "0", "", None, "null"])
def test_a_number_below_one_is_no_cursor(end: Any) -> None:
    reading = read({"msgs": ROWS, "cursor": end}, CURSOR)
    assert (reading.next, reading.has_more) == (None, False)


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
def test_urls_that_do_nothing_but_count_on_are_known(urls: list[str], is_counted: bool) -> None:
    assert counts_on(urls) is is_counted


def test_a_walk_by_urls_ends_where_none_comes_though_a_cursor_still_stands_there() -> None:
    place = PageAddress(url="https://desk.example/v1/tickets?after=c2")
    reading = read({"items": ROWS, "paging": {"cursors": {"after": "c3"}}}, NEXT_URL, asked=place)
    assert (reading.next, reading.has_more) == (None, False)


def test_an_action_that_loads_more_is_followed_and_its_place_is_kept() -> None:
    more = {"id": "loadMore", "url": "/v1/tickets?from=2"}
    reading = read({"cards": ROWS, "actions": [{"id": "print", "url": "/v1/print"}, more]}, Pagination(size="top"))
    assert reading.next is not None
    assert reading.next.url is not None
    assert "/v1/tickets?from=2" in reading.next.url
    kept = Pagination(convention=PaginationStyle.NEXT_URL, next_path=reading.marker)
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
