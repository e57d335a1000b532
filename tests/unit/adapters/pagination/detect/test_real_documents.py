"""Pagination in documents with wrong types, repeated titles, or pages described as one record."""

import pytest

from adapters.base import JsonObject, Pagination, PaginationStyle
from adapters.pagination import ResponseSchema, detect, first_address

WHOLE: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}
LIST = ResponseSchema({}, is_list=True)
RECORD = ResponseSchema({"id": "string", "name": "string"})


def whole(words: str, **schema: object) -> JsonObject:
    return {"type": "integer", "description": words, **schema}


def text(words: str, **schema: object) -> JsonObject:
    return {"type": "string", "description": words, **schema}


def roles(found: Pagination) -> tuple[PaginationStyle, str | None, str | None]:
    return found.convention, found.position, found.size


def test_a_title_that_repeats_the_name_is_ignored() -> None:
    found = detect({"skip": WHOLE | {"title": "Skip"}, "limit": WHOLE | {"title": "Limit", "default": 100}})
    assert roles(found) == (PaginationStyle.OFFSET, "skip", "limit")


def test_a_cursor_declared_as_a_number_counts_beside_a_size() -> None:
    assert roles(detect({"cursor": WHOLE, "page_size": WHOLE}, response=LIST))[:2] == (PaginationStyle.CURSOR, "cursor")
    assert detect({"cursor": WHOLE}, response=LIST).convention is PaginationStyle.SINGLE


@pytest.mark.parametrize("name", ["offset", "start_index"])
def test_an_offset_without_a_size_pages_a_list(name: str) -> None:
    assert roles(detect({name: WHOLE}, response=LIST)) == (PaginationStyle.OFFSET, name, None)
    assert detect({name: WHOLE}).convention is PaginationStyle.SINGLE


def test_a_page_described_as_one_record_is_a_page() -> None:
    parameters = {"page": WHOLE, "per_page": WHOLE}
    assert detect(parameters, response=RECORD).convention is PaginationStyle.PAGE
    assert detect(parameters, response=RECORD, is_item=True).convention is PaginationStyle.SINGLE
    assert detect({"page": WHOLE, "id": TEXT}, response=RECORD).convention is PaginationStyle.SINGLE


def test_a_page_number_in_the_path_is_a_position_beside_a_list() -> None:
    found = detect({"page": WHOLE}, response=LIST, required={"page"}, in_path={"page"})
    assert roles(found) == (PaginationStyle.PAGE, "page", None)
    assert detect({"page": WHOLE}, required={"page"}, in_path={"page"}).convention is PaginationStyle.SINGLE


def test_a_size_in_the_path_belongs_to_no_position_outside_of_it() -> None:
    found = detect({"page": WHOLE, "limit": WHOLE}, response=LIST, required={"limit"}, in_path={"limit"})
    assert roles(found) == (PaginationStyle.PAGE, "page", None)
    assert "limit" not in found.hidden


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (("startIndex", WHOLE), ("endIndex", WHOLE)),
        (("start_row", WHOLE), ("end_row", WHOLE)),
        (("from", text("Zero-based starting record number")), ("to", text("Ending record number"))),
        (("_from", whole("Where the page starts, for pagination")), ("_to", whole("Where the page ends"))),
    ],
)
def test_pages_by_first_and_last_record_use_both_parameters(
    start: tuple[str, JsonObject], end: tuple[str, JsonObject]
) -> None:
    found = detect(dict([start, end]), response=LIST)
    assert (found.convention, found.position, found.size, found.range_end) == (
        PaginationStyle.OFFSET,
        start[0],
        None,
        end[0],
    )
    assert found.range_size is not None
    asked = first_address(found, size=None).arguments
    assert asked == {start[0]: found.first, end[0]: found.first + found.range_size - 1}
    assert end[0] in found.hidden


@pytest.mark.parametrize(
    "parameters",
    [
        {"from": WHOLE, "to": WHOLE},
        {"start": whole("Start of the period in epoch seconds"), "end": WHOLE, "limit": WHOLE},
        {"from": text("Sender"), "to": text("Receiver"), "limit": WHOLE},
        {"first": WHOLE, "max": WHOLE},
    ],
)
def test_ranges_of_values_are_no_pages_by_their_ends(parameters: dict[str, JsonObject]) -> None:
    assert detect(parameters, response=LIST).range_end is None


def test_a_range_of_dates_beside_it_makes_no_position_a_filter() -> None:
    dates: JsonObject = {"type": "string", "format": "date"}
    found = detect({"skip": WHOLE, "limit": WHOLE, "start_date": dates, "end_date": dates})
    assert roles(found) == (PaginationStyle.OFFSET, "skip", "limit")


def test_the_noun_of_a_record_does_not_disqualify_a_limit() -> None:
    found = detect({"limit": whole("Set limit when retrieving credit cards."), "offset": whole("Offset of cards.")})
    assert roles(found) == (PaginationStyle.OFFSET, "offset", "limit")


def test_pages_to_skip_are_page_numbers_from_zero() -> None:
    found = detect({"SkipPages": whole("The number of pages to skip."), "PageSize": WHOLE})
    assert (*roles(found), found.first) == (PaginationStyle.PAGE, "SkipPages", "PageSize", 0)


def test_an_offset_that_is_a_size_by_its_words_is_the_size() -> None:
    found = detect({"row": whole("Starting record number to return"), "offset": whole("Number of records to return")})
    assert roles(found) == (PaginationStyle.OFFSET, "row", "offset")


def test_a_cursor_not_meant_for_callers_gives_way_to_the_next_url() -> None:
    words = "Cursor. You are not expected to provide this, but to follow the link in the answer."
    answer = ResponseSchema(
        {"_links": "object", "_links.next": "object", "_links.next.href": "string", "data": "array"}
    )
    found = detect({"cursor": text(words), "limit": WHOLE}, response=answer)
    assert (found.convention, "cursor" in found.hidden) == (PaginationStyle.NEXT_URL, True)


def test_next_under_pagination_may_be_what_the_cursor_takes() -> None:
    answer = ResponseSchema({"pagination": "object", "pagination.next": "string", "result": "array"})
    assert roles(detect({"page_cursor": TEXT, "count": WHOLE}, response=answer)) == (
        PaginationStyle.CURSOR,
        "page_cursor",
        "count",
    )


def test_the_description_of_a_cursor_names_its_path_in_the_response() -> None:
    answer = ResponseSchema({"clicks": "array", "lastId": "string"})
    words = "An ID returned by a previous query to continue with (see lastId in the response)"
    found = detect({"continueFrom": text(words), "limit": WHOLE}, response=answer)
    assert (found.convention, found.next_path) == (PaginationStyle.CURSOR, "lastId")


@pytest.mark.parametrize(
    ("words", "largest"),
    [
        ("The number of results to return (1-200)", 200),
        ("How many to show per page, in the range [1, 100]. Defaults to 25", 100),
        ("Schools on a page (50 max)", 50),
        ("Number of items. Max allowed count=250", 250),
        ("The number of items returned. Cannot be more than 50.", 50),
        ("Results per page. Allowed values 1-100, default is 25.", 100),
        ("Valid values: `1` to `100` Default: `25`", 100),
        ("Limits the results. Cannot be set higher than 100.", 100),
        ("By default will return maximum 25 results. Maximum of 100 results allowed per request.", 100),
        ("Maximum number of results, default 20", None),
        ("Limit of results. Must be greater than 0.", None),
    ],
)
def test_the_largest_size_is_read_from_words(words: str, largest: int | None) -> None:
    assert detect({"offset": WHOLE, "limit": whole(words)}).max_size == largest


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("Page number, default 0", 0),
        ("Page number. Defaults to page 0.", 0),
        ("The page number to retrieve (first page is 0).", 0),
        ("Page number. The default value is `0`.", 0),
        ("Page number. Defaults to page 1.", 1),
        ("Page number; 10 records a page", 1),
    ],
)
def test_the_first_page_number_is_read_from_words(words: str, first: int) -> None:
    assert detect({"page": whole(words), "limit": WHOLE}).first == first


def test_deprecated_parameters_come_last() -> None:
    old = "This field has been deprecated. Use the page number and size."
    found = detect(
        {"skipRecords": whole(old), "numberToRead": whole(old), "pageNumber": WHOLE, "pageSize": WHOLE}, response=LIST
    )
    assert roles(found) == (PaginationStyle.PAGE, "pageNumber", "pageSize")


def test_a_number_of_pages_to_work_through_is_no_page_number() -> None:
    assert (
        detect({"pageNum": whole("The number of pages to crawl")}, response=LIST).convention is PaginationStyle.SINGLE
    )


def test_a_next_page_beside_a_list_inside_of_the_answer_is_followed() -> None:
    answer = ResponseSchema({"meta": "object", "result": "object", "result.elements": "array", "result.nextPage": ""})
    assert detect({"surveyId": TEXT}, response=answer).convention is PaginationStyle.NEXT_URL


def test_keys_below_a_given_one_page_a_list_of_records_with_keys() -> None:
    parameters = {"less_than": whole("Records with IDs less than this value"), "return_count": WHOLE}
    answer = ResponseSchema({}, is_list=True, item_members=frozenset({"id", "name"}))
    assert roles(detect(parameters, response=answer)) == (PaginationStyle.KEYSET, "less_than", "return_count")


def test_a_default_before_a_maximum_is_no_maximum() -> None:
    words = "Items in a page. Default: 50 Maximum number of items per page (limit): 200"
    assert detect({"offset": WHOLE, "limit": whole(words)}).max_size == 200
