"""Tokens, totals and links in XML elements that became objects."""

import pytest

from adapters.base import CallResult, Json, JsonObject, PageAddress, Pagination, PaginationStyle
from adapters.pagination import Certainty, read_page
from adapters.pagination.read.links import absolute_url

OAI = Pagination(convention=PaginationStyle.CURSOR, position="resumptionToken")


@pytest.mark.parametrize(
    "token",
    [
        {"cursor": "0", "completeListSize": "537", "#text": "t20"},
        {"@cursor": "0", "@completeListSize": "537", "#text": "t20"},
        {"$": {"cursor": "0", "completeListSize": "537"}, "_": "t20"},
    ],
)
def test_the_token_and_the_total_of_an_element_with_attributes_are_read(token: JsonObject) -> None:
    payload = {"records": [{"id": n} for n in range(20)], "resumptionToken": token}
    reading = read_page(CallResult(payload=payload, location=""), OAI)
    assert reading.next == PageAddress({"resumptionToken": "t20"})
    assert (reading.total, reading.certainty) == (537, Certainty.EXACT)


@pytest.mark.parametrize("token", [{"cursor": "520", "completeListSize": "537"}, {"cursor": "520", "#text": ""}, ""])
def test_an_element_without_text_is_the_end(token: Json) -> None:
    payload = {"records": [{"id": 1}], "resumptionToken": token}
    reading = read_page(CallResult(payload=payload, location=""), OAI, address=PageAddress({"resumptionToken": "t520"}))
    assert (reading.next, reading.has_more) == (None, False)


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("skiptoken=50", "http://a/v1/rows?skiptoken=50"),
        ("$skiptoken=a%3D&x=1", "http://a/v1/rows?$skiptoken=a%3D&x=1"),
        ("?page=2", "http://a/v1/rows?page=2"),
        ("rows?page=2", "http://a/v1/rows?page=2"),
        ("/v2/rows", "http://a/v2/rows"),
    ],
)
def test_a_link_that_is_only_a_query_is_one_of_the_same_path(link: str, url: str) -> None:
    assert absolute_url(link, "GET http://a/v1/rows?size=50") == url
