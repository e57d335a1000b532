"""Where the records of a response are."""

from typing import Any

import pytest

from adapters.base import CallResult, Pagination, PaginationStyle
from adapters.pagination import PageReading, read_page

PAGED = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit")
SINGLE = Pagination()
ROWS = [{"id": 1}, {"id": 2}]


def read(payload: Any, pagination: Pagination = PAGED, **more: Any) -> PageReading:
    return read_page(CallResult(payload=payload, location="GET http://desk/tickets"), pagination, **more)


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        (ROWS, ""),
        ({"items": ROWS}, "items"),
        ({"data": ROWS, "meta": {"total": 9}}, "data"),
        ({"tickets": ROWS, "total": 9}, "tickets"),
        ({"data": {"tickets": ROWS}}, "data.tickets"),
        ({"_embedded": {"tickets": ROWS}, "_links": {"next": {"href": "/x"}}}, "_embedded.tickets"),
        ({"hits": {"total": {"value": 2}, "hits": ROWS}}, "hits.hits"),
        ({"schemas": ["urn:a", "urn:b", "urn:c"], "Resources": ROWS}, "Resources"),
        ({"errors": [{"a": 1}] * 5, "rows": ROWS}, "rows"),
        ({"included": [{"a": 1}] * 9, "data": ROWS}, "data"),
        ({"links": [{"rel": "next", "href": "/x"}] * 4, "features": ROWS}, "features"),
        ({"Meta": {"Link": [{"@Rel": "next", "@Href": "/x"}] * 4}, "Airport": ROWS}, "Airport"),
        ({"tags": ["a", "b", "c", "d"], "people": ROWS}, "people"),
        ({"results": ROWS, "suggested": [{"x": 1}] * 7}, "results"),
        ({"a": [{"x": 1}], "b": ROWS}, "b"),
        ({"items": [], "audit": [{"x": 1}]}, "audit"),
        ({"odd.name": ROWS}, "odd.name"),
        ({"messages": ROWS}, "messages"),
        ({"fields": ROWS}, "fields"),
        ({"items": [], "included": ROWS}, "items"),
        ({"items": [], "links": [{"rel": "self", "href": "/x"}]}, "items"),
        ({"columns": [{"n": 1}] * 9, "rows": [[1, 2], [3, 4]]}, "rows"),
        ({"rows": [[1, "a"], [2, "b"]], "suggested_facets": [{"name": "a"}]}, "rows"),
        ({"outline": [[1, 2], [3, 4], [5, 6]], "people": ROWS}, "people"),
    ],
)
def test_the_list_of_records_is_found(payload: Any, path: str) -> None:
    reading = read(payload)
    assert reading.records_path == path
    assert reading.is_list


def test_two_lists_of_equal_claim_are_resolved_by_order() -> None:
    assert read({"first": ROWS, "second": ROWS}).records_path == "first"


@pytest.mark.parametrize("path", ["data.items", "$.data.items", "$.data.items[*]", "/data/items"])
def test_a_declared_path_wins_over_a_longer_list(path: str) -> None:
    reading = read({"data": {"items": ROWS}, "other": [{"x": 1}] * 50}, records_path=path)
    assert (reading.records, reading.records_path) == (ROWS, "data.items")


def test_a_declared_path_that_leads_nowhere_gives_way_to_the_search() -> None:
    assert read({"items": ROWS}, records_path="data.rows").records == ROWS


def test_a_declared_path_with_dots_in_a_key_is_followed() -> None:
    payload = {"odd.name": {"rows": ROWS}}
    assert read(payload, records_path="odd.name.rows").records == ROWS


def test_nothing_at_the_declared_path_is_an_empty_list() -> None:
    reading = read({"data": {"items": None}, "other": ROWS}, records_path="data.items")
    assert (reading.records, reading.is_list) == ([], True)


@pytest.mark.parametrize("payload", [None, {}, [], {"items": []}])
def test_no_records_is_an_empty_list(payload: Any) -> None:
    reading = read(payload)
    assert (reading.records, reading.is_list) == ([], True)


@pytest.mark.parametrize(
    "payload",
    [
        {"id": 7, "name": "Baláž"},
        {"id": 7, "name": "Baláž", "orders": ROWS},
        {"id": 7, "items": ROWS, "total": 300},
        "just text",
        42,
    ],
)
def test_one_object_of_a_tool_without_pages_is_one_record(payload: Any) -> None:
    reading = read(payload, SINGLE)
    assert (reading.records, reading.is_list, reading.records_path) == ([payload], False, "")
    assert (reading.total, reading.next, reading.has_more) == (None, None, None)


def test_a_long_list_is_the_records_even_beside_facts() -> None:
    assert len(read({"station": "Brno", "readings": [{"v": n} for n in range(20)]}, SINGLE).records) == 20


def test_lists_inside_records_are_not_records() -> None:
    payload = {"items": [{"id": 1, "lines": [{"x": n} for n in range(50)]}]}
    assert read(payload).records_path == "items"


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"polozky": ROWS, "pocetStranek": 3}, "polozky"),
        ({"elementi": ROWS[:1], "totale": 1666}, "elementi"),
        ({"datos": [], "hay_mas": False}, "datos"),
        ({"treffer": [], "gesamt": 0}, "treffer"),
        ({"jobs": ROWS, "continueFrom": "c2", "isComplete": False}, "jobs"),
    ],
)
def test_list_metadata_in_another_language_is_no_record(payload: Any, path: str) -> None:
    reading = read(payload, SINGLE)
    assert (reading.records, reading.records_path) == (payload[path], path)


def test_a_fact_under_the_name_of_a_total_is_still_one_of_a_record() -> None:
    assert not read({"gesamt": "sehr gut", "fotos": ROWS}, SINGLE).is_list


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"hydra:totalItems": 0, "hydra:member": [], "hydra:search": {"hydra:mapping": ROWS}}, "hydra:member"),
        ({"total": 0, "tickets": [], "legend": ROWS}, "tickets"),
        ({"totalCount": 0, "items": ROWS}, "items"),
    ],
)
def test_where_the_answer_says_that_there_are_none_a_list_of_no_known_name_is_no_records(
    payload: Any, path: str
) -> None:
    assert read(payload).records_path == path


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"content": [], "meta": [{"name": "total", "value": 0}, {"name": "page", "value": 7}]}, "content"),
        ({"summary": [{"sum": 3}], "lines": ROWS[:1]}, "lines"),
    ],
)
def test_a_list_of_figures_is_no_records_beside_another(payload: Any, path: str) -> None:
    assert read(payload).records_path == path


def test_an_object_of_empty_lists_is_an_empty_list() -> None:
    reading = read({"cards": [], "actions": []}, SINGLE)
    assert (reading.records, reading.is_list) == ([], True)


def test_a_list_of_one_envelope_holds_the_records_and_a_list_of_one_order_is_one() -> None:
    reading = read([{"total": 0, "page": 7, "items": []}])
    assert (reading.records, reading.records_path, reading.total) == ([], "0.items", 0)
    assert read([{"total": 2, "page": 1, "items": ROWS}]).records == ROWS
    order = {"id": 9, "total": 2, "items": ROWS}
    assert read([order]).records == [order]
