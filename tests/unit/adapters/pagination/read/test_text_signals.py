"""Texts instead of data: markup, and messages that there is nothing."""

import pytest

from adapters.base import CallResult, Json, Pagination
from adapters.mcp.content.prose_signals import metadata_in
from adapters.pagination import read_page
from adapters.pagination.read.records import find_records
from adapters.pagination.read.text_signals import is_error_message


@pytest.mark.parametrize(
    "text", ["<?xml version='1.0'?><all><one/></all>", "<ListAll xmlns='x'><B/></ListAll>", "<html></html>"]
)
def test_markup_over_http_has_a_flaw(text: str) -> None:
    reading = read_page(CallResult(payload=text, location="GET http://a/b", status=200), Pagination())
    assert "is XML or HTML" in reading.flaw
    assert read_page(CallResult(payload=text, location="tools/call b"), Pagination()).flaw == ""


@pytest.mark.parametrize("payload", ["a < b", "<5 minutes", "plain words", {"a": "<b/>"}, ["<b/>"]])
def test_other_text_has_no_markup_flaw(payload: Json) -> None:
    assert read_page(CallResult(payload=payload, location="GET http://a/b", status=200), Pagination()).flaw == ""


@pytest.mark.parametrize("text", ["", " \n", "No more results.", "No records found", "0 items", "End of list."])
def test_a_text_that_says_that_there_is_nothing_is_no_record(text: str) -> None:
    assert find_records(text).records == []


@pytest.mark.parametrize("text", ["No more results than usual came in", "No.", "Nothing compares", "42", "none"])
def test_any_other_text_is_one_record(text: str) -> None:
    assert find_records(text).records == [text]


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ("More results available. Next cursor: c20", {"next_cursor": "c20", "has_more": True}),
        ("Use cursor c20 to get the next page", {"next_cursor": "c20", "has_more": True}),
        ('To continue, call again with cursor="c40".', {"next_cursor": "c40"}),
        ("Showing 1-20 of 1,261 results", {"total": 1261}),
        ("... and 241 more", {"has_more": True}),
        ("No more results.", {}),
        ("There are no more records available", {}),
        ("Found 3 tickets, the next step is to read them:", {}),
    ],
)
def test_sentences_about_pagination_are_recognized(words: str, facts: Json) -> None:
    assert metadata_in(words) == facts


@pytest.mark.parametrize(
    ("text", "is_failure"),
    [
        ("Error: rate limit exceeded", True),
        ("ValueError: no such column", True),
        ("Error executing tool list_rows: locked", True),
        ("Errors are rare here", False),
        ("error handling is described below", False),
        ("Error: " + "a long report " * 100, False),
    ],
)
def test_only_a_short_text_that_begins_as_a_failure_is_one(text: str, is_failure: bool) -> None:
    assert is_error_message(text) is is_failure
