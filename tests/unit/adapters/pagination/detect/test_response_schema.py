"""Cursors in objects of the response, by the name of the argument that takes them."""

import pytest

from adapters.base import CallResult, PageAddress, PaginationStyle
from adapters.pagination import ResponseSchema, detect, read_page

TEXT, NUMBER, SIZE = {"type": "string"}, {"type": "number"}, {"type": "integer"}


def shape(**members: str) -> ResponseSchema:
    opened = {name.replace("__", "."): kind for name, kind in members.items()}
    return ResponseSchema(members=opened, headers=frozenset(), is_list=False, item_members=frozenset())


def test_a_page_inside_what_is_called_next_is_a_cursor_and_no_address() -> None:
    answer = shape(items="array", count="number", next="object", next__page="string")
    found = detect({"page": TEXT, "limit": NUMBER}, response=answer)
    assert (found.convention, found.position, found.size) == (PaginationStyle.CURSOR, "page", "limit")
    payload = {"items": [{"id": 1}], "next": {"page": "-MxK3"}, "count": 70}
    reading = read_page(CallResult(payload=payload, location="GET https://desk.example/x"), found)
    assert reading.next == PageAddress({"page": "-MxK3"})


def test_a_number_called_after_is_a_cursor_where_the_answer_has_a_cursor_with_that_member() -> None:
    answer = shape(
        meta="object",
        meta__parts="array",
        meta__cursor="object",
        meta__cursor__after="number",
        meta__cursor__before="number",
    )
    found = detect({"after": NUMBER, "before": NUMBER, "page_size": NUMBER}, response=answer)
    assert (found.convention, found.position, found.size) == (PaginationStyle.CURSOR, "after", "page_size")
    payload = {"meta": {"parts": [{"key": "a"}], "cursor": {"after": 30, "before": 1}}}
    reading = read_page(CallResult(payload=payload, location="GET https://desk.example/x"), found)
    assert reading.next == PageAddress({"after": 30})


def test_an_address_inside_what_is_called_next_is_still_one() -> None:
    found = detect(
        {"limit": SIZE}, response=shape(items="array", links="object", links__next="object", links__next__href="string")
    )
    assert found.convention is PaginationStyle.NEXT_URL


def test_a_start_key_is_a_cursor_though_it_is_an_object_and_no_answer_is_described() -> None:
    found = detect({"TableName": TEXT, "Limit": SIZE, "ExclusiveStartKey": {"type": "object"}})
    assert (found.convention, found.position, found.size) == (PaginationStyle.CURSOR, "ExclusiveStartKey", "Limit")


@pytest.mark.parametrize(
    ("arguments", "convention", "position", "size"),
    [
        ({"filter": ("offset", "limit", "skip", "where")}, PaginationStyle.OFFSET, "filter/offset", "filter/limit"),
        ({"filter": ("skip", "limit")}, PaginationStyle.OFFSET, "filter/skip", "filter/limit"),
        ({"q": ("page", "page_size", "filters")}, PaginationStyle.PAGE, "q/page", "q/page_size"),
        ({"zorb[pageNumber]": (), "zorb[pageSize]": ()}, PaginationStyle.PAGE, "zorb[pageNumber]", "zorb[pageSize]"),
    ],
)
def test_an_object_of_any_name_is_of_paging_where_it_holds_a_position_and_a_size(
    arguments: dict[str, tuple[str, ...]], convention: PaginationStyle, position: str, size: str
) -> None:
    wide = {name: {"type": "object", "properties": dict.fromkeys(inner, SIZE)} for name, inner in arguments.items()}
    found = detect({name: schema if schema["properties"] else SIZE for name, schema in wide.items()})
    assert (found.convention, found.position, found.size) == (convention, position, size)


@pytest.mark.parametrize(
    "alone", [{"filter[offset]": SIZE}, {"filter[limit]": SIZE}, {"a[offset]": SIZE, "b[limit]": SIZE}]
)
def test_a_member_of_an_object_of_another_kind_pages_nothing_alone(alone: dict[str, dict[str, str]]) -> None:
    assert detect(alone).convention is PaginationStyle.SINGLE
