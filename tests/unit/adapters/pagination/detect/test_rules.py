"""Parameters of pagination by their usual names, and parameters that only look like them."""

import pytest

from adapters.base import JsonObject, Pagination, PaginationStyle
from adapters.pagination import ResponseSchema, detect
from adapters.pagination.detect.rules import RULES

WHOLE: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}
NO_PAGING = Pagination()


def said(text: str, **schema: object) -> JsonObject:
    return {"type": "integer", "description": text, **schema}


@pytest.mark.parametrize(
    ("position", "size"),
    [
        ("offset", "limit"),
        ("skip", "take"),
        ("skip", "limit"),
        ("start", "rows"),
        ("from", "size"),
        ("first", "max"),
        ("startAt", "maxResults"),
        ("$skip", "$top"),
        ("page[offset]", "page[limit]"),
    ],
)
def test_offset_family_is_recognised(position: str, size: str) -> None:
    found = detect({"customer_id": WHOLE, position: WHOLE, size: WHOLE})
    assert (found.convention, found.position, found.size) == (PaginationStyle.OFFSET, position, size)
    assert found.first == 0
    assert found.hidden == (position, size)


@pytest.mark.parametrize(
    ("position", "size"),
    [
        ("page", "per_page"),
        ("page", "size"),
        ("pageNumber", "pageSize"),
        ("page_no", "page_size"),
        ("page", "limit"),
        ("page[number]", "page[size]"),
        ("paging/number", "paging/size"),
    ],
)
def test_page_family_is_recognised_and_counts_from_one(position: str, size: str) -> None:
    found = detect({position: WHOLE, size: WHOLE})
    assert (found.convention, found.position, found.size, found.first) == (PaginationStyle.PAGE, position, size, 1)


@pytest.mark.parametrize(
    ("schema", "first"),
    [
        ({"type": "integer", "default": 0}, 0),
        ({"type": "integer", "minimum": 0}, 0),
        ({"type": "integer", "minimum": 0, "default": 1}, 1),
        ({"type": "integer", "minimum": 1}, 1),
        (said("Zero-based page index"), 0),
        (said("Page number, starting from 0"), 0),
        (said("Page number (1-based)"), 1),
        (WHOLE, 1),
    ],
)
def test_first_page_follows_default_then_minimum_then_words(schema: JsonObject, first: int) -> None:
    assert detect({"page": schema, "size": WHOLE}).first == first


def test_offset_that_counts_from_one_begins_at_one() -> None:
    assert detect({"startIndex": said("1-based index of the first result"), "count": WHOLE}).first == 1


@pytest.mark.parametrize("name", ["cursor", "pageToken", "next_token", "start_cursor", "continuation_token"])
def test_cursor_is_recognised_by_name_and_text_type(name: str) -> None:
    found = detect({name: TEXT, "limit": WHOLE})
    assert (found.convention, found.position, found.size) == (PaginationStyle.CURSOR, name, "limit")


def test_cursor_wins_over_page_and_offset_and_hides_them() -> None:
    found = detect({"page": WHOLE, "offset": WHOLE, "cursor": TEXT, "limit": WHOLE})
    assert found.convention is PaginationStyle.CURSOR
    assert set(found.hidden) == {"cursor", "limit", "page", "offset"}


def test_offset_wins_over_page() -> None:
    assert detect({"page": WHOLE, "offset": WHOLE, "limit": WHOLE}).position == "offset"


@pytest.mark.parametrize("name", ["meta_only", "metadata_only", "countOnly", "returnCountOnly"])
def test_metadata_flag_is_recognised_where_it_is_a_truth_value(name: str) -> None:
    assert detect({name: {"type": "boolean"}, "offset": WHOLE, "limit": WHOLE}).metadata == name
    assert detect({name: {"type": "integer"}}).metadata is None


def test_optional_parameters_of_frameworks_are_unwrapped() -> None:
    limit = {"anyOf": [{"type": "integer", "maximum": 100, "minimum": 1}, {"type": "null"}], "default": None}
    found = detect({"cursor": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "limit": limit})
    assert (found.convention, found.min_size, found.max_size, found.default_size) == (
        PaginationStyle.CURSOR,
        1,
        100,
        None,
    )
    assert detect({"offset": {"type": ["integer", "null"]}, "limit": WHOLE}).convention is PaginationStyle.OFFSET


@pytest.mark.parametrize(
    ("schema", "smallest", "largest", "usual"),
    [
        ({"type": "integer", "minimum": 5, "maximum": 200, "default": 50}, 5, 200, 50),
        ({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 101}, 1, 100, None),
        ({"type": "integer", "enum": [10, 25, 50]}, 10, 50, None),
        (said("Number of results to return (max 1,000)"), None, 1000, None),
        (said("Up to 250 records a page"), None, 250, None),
        (said("How many records", maximum=30), None, 30, None),
    ],
)
def test_bounds_of_the_size_come_from_the_schema_then_from_the_words(
    schema: JsonObject, smallest: int | None, largest: int | None, usual: int | None
) -> None:
    found = detect({"offset": WHOLE, "limit": schema})
    assert (found.min_size, found.max_size, found.default_size) == (smallest, largest, usual)


@pytest.mark.parametrize("schema", [WHOLE, said("Maximum number of results"), {"type": "integer", "default": 20}])
def test_limit_alone_is_hidden_without_a_position(schema: JsonObject) -> None:
    assert detect({"limit": schema, "q": TEXT}).hidden == ("limit",)


@pytest.mark.parametrize(
    "parameters",
    [
        {"limit": said("Credit limit of the customer")},
        {"limit": said("Speed limit in km per hour")},
        {"limit": TEXT},
        {"limit": {}},
        {"count": WHOLE},
        {"size": {"type": "string", "enum": ["S", "M", "L"]}},
        {"size": WHOLE},
        {"max": WHOLE, "min": WHOLE},
        {"first": WHOLE},
        {"top": WHOLE},
        {"page": said("ID of the page")},
        {"page": said("The page id to fetch")},
        {"page": TEXT},
        {"page": {"type": "string", "description": "Title of the wiki page"}},
        {"page_id": WHOLE},
        {"start": {"type": "string", "format": "date"}, "end": {"type": "string", "format": "date"}},
        {"start": WHOLE, "end": WHOLE},
        {"start": WHOLE, "end": WHOLE, "count": WHOLE},
        {"start": said("Start time as epoch seconds")},
        {"from": WHOLE, "to": WHOLE},
        {"from": TEXT, "size": WHOLE},
        {"offset": said("UTC offset of the time zone in hours")},
        {"offset": WHOLE},
        {"offset": said("Byte offset into the file")},
        {"offset": TEXT},
        {"token": TEXT},
        {"after": {"type": "string", "format": "date-time"}},
        {"after": {"type": "string", "description": "Only tickets created after this date"}},
        {"marker": {"type": "string", "description": "Biological marker"}},
        {"continue": {"type": "boolean"}},
        {"cursor": WHOLE},
        {"count": {"type": "boolean", "description": "Include count"}},
        {"rows": WHOLE, "columns": WHOLE},
        {},
    ],
)
def test_parameters_that_only_look_like_pagination_stay_visible(parameters: dict[str, JsonObject]) -> None:
    assert detect(parameters) == NO_PAGING


@pytest.mark.parametrize(
    "text", ["Number of days per page.", "Amount of results", "Minutes to return", "Page size in days"]
)
def test_a_size_may_count_things_that_are_no_records_elsewhere(text: str) -> None:
    assert detect({"page": WHOLE, "limit": said(text)}).size == "limit"


def test_a_description_that_mentions_pagination_is_decisive() -> None:
    page = said("The identifier of the first page to return. Used for the pagination feature.")
    assert detect({"page[number]": page, "page[size]": WHOLE}).convention is PaginationStyle.PAGE


def test_only_the_first_sentence_says_what_a_parameter_is() -> None:
    text = "Maximum number of entries. The token expires after 15 minutes, counted in seconds since the date of issue."
    assert detect({"continue": TEXT, "limit": said(text)}).hidden == ("continue", "limit")


def test_numbers_that_a_document_calls_text_are_numbers_by_their_default() -> None:
    position: JsonObject = {"type": "string", "default": "0"}
    found = detect({"startAt": position, "maxResults": {"type": "string", "default": "50"}})
    assert (found.convention, found.default_size) == (PaginationStyle.OFFSET, 50)


def test_offset_alone_needs_words_of_its_own_or_of_the_tool() -> None:
    assert detect({"offset": said("Number of records to skip")}).position == "offset"
    assert detect({"offset": WHOLE}, description="Lists tickets, paginated").position == "offset"


def test_range_of_numbers_hides_only_the_limit() -> None:
    assert detect({"from": WHOLE, "to": WHOLE, "limit": WHOLE}).hidden == ("limit",)


def test_after_is_a_cursor_where_its_description_says_so() -> None:
    after: JsonObject = {"type": "string", "description": "Cursor of the last item of the previous page"}
    found = detect({"after": after, "first": WHOLE})
    assert (found.convention, found.position, found.size) == (PaginationStyle.CURSOR, "after", "first")


def test_page_as_text_is_a_cursor_where_its_description_says_so() -> None:
    page: JsonObject = {"type": "string", "description": "Token of the next page from the previous response"}
    assert detect({"page": page}).convention is PaginationStyle.CURSOR


@pytest.mark.parametrize("names", [("block", "limit"), ("batch", "fontSize"), ("strana", "castka"), ("anzahl", "ort")])
def test_a_unit_needs_a_size_of_its_own(names: tuple[str, str]) -> None:
    assert detect(dict.fromkeys(names, WHOLE)).convention is PaginationStyle.SINGLE


def test_after_beside_a_first_that_is_a_number_is_a_cursor() -> None:
    found = detect({"first": WHOLE, "after": TEXT})
    assert (found.convention, found.position, found.size) == (PaginationStyle.CURSOR, "after", "first")


def test_each_rule_of_a_style_has_a_name_of_its_own() -> None:
    for rules in RULES:
        assert len({rule.style for rule in rules}) == 1
        assert len({rule.name for rule in rules}) == len(rules)


@pytest.mark.parametrize(
    ("parameters", "response", "rule"),
    [
        ({"cursor": TEXT}, None, "cursor name"),
        (
            {"marker": TEXT},
            ResponseSchema({"items": "array", "next_marker": "string"}),
            "cursor returned in the response",
        ),
        (
            {"offset": WHOLE, "limit": WHOLE},
            None,
            "offset name with a page size parameter, description or list response",
        ),
        ({"page": WHOLE}, None, "page number name"),
        ({"limit": WHOLE}, None, "page size without a position"),
        ({}, ResponseSchema({"items": "array", "next_url": "string"}), "next page URL in the response"),
        ({}, ResponseSchema(is_list=True, headers=frozenset({"link"})), "Link header"),
        ({"id": TEXT}, None, ""),
    ],
)
def test_the_matched_rule_is_named(
    parameters: dict[str, JsonObject], response: ResponseSchema | None, rule: str
) -> None:
    assert detect(parameters, response=response).rule == rule


def test_the_rule_does_not_distinguish_paginations() -> None:
    assert Pagination(rule="cursor name") == Pagination()
