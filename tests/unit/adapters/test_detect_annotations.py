"""What annotations, members of objects and sibling operations say of paging."""

import pytest

from adapters.base import Effect, JsonObject, Pagination, PaginationStyle, ToolSpec
from adapters.pagination import count_operations, declared_pagination, flatten_parameters

WHOLE: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}


def listing(name: str, locator: str, *filters: str, **changes: object) -> ToolSpec:
    parameters: JsonObject = {"type": "object", "properties": dict.fromkeys(filters, TEXT)}
    fields: dict[str, object] = {"returns_many": True, "effect": Effect.READ, **changes}
    return ToolSpec(name=name, description="", parameters=parameters, source="shop", locator=locator, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("extension", "convention", "position", "size"),
    [
        ({"x-pagination": {"limitParam": "n", "pageOffsetParam": "o"}}, PaginationStyle.OFFSET, "o", "n"),
        ({"x-pagination": {"limitParam": "n", "pageParam": "p"}}, PaginationStyle.PAGE, "p", "n"),
        (
            {"x-pagination": {"limitParam": "n", "cursorParam": "c", "cursorPath": "m.c"}},
            PaginationStyle.CURSOR,
            "c",
            "n",
        ),
        (
            {"x-pagination": {"limitParam": "body.pg.n", "cursorParam": "body.pg.c"}},
            PaginationStyle.CURSOR,
            "pg/c",
            "pg/n",
        ),
    ],
)
def test_an_annotation_names_the_parameters_whatever_they_are_called(
    extension: JsonObject, convention: PaginationStyle, position: str, size: str | None
) -> None:
    known = {"o": WHOLE, "p": WHOLE, "c": TEXT, "n": WHOLE, "pg": {"type": "object"}, "pg/c": TEXT, "pg/n": WHOLE}
    found = declared_pagination(extension, known)
    assert found is not None
    assert (found.convention, found.position, found.size) == (convention, position, size)
    assert found.is_declared


def test_an_annotation_keeps_the_bounds_that_the_schema_states() -> None:
    known = {"o": WHOLE, "n": {"type": "integer", "minimum": 1, "maximum": 250, "default": 20}}
    found = declared_pagination({"x-pagination": {"limitParam": "n", "pageOffsetParam": "o"}}, known)
    assert found is not None
    assert (found.min_size, found.max_size, found.default_size) == (1, 250, 20)


def test_a_pageable_operation_is_followed_by_its_link() -> None:
    found = declared_pagination({"x-ms-pageable": {"nextLinkName": "weiter"}}, {"$top": WHOLE})
    assert found is not None
    assert (found.convention, found.position, found.next_path) == (PaginationStyle.NEXT_URL, None, "weiter")


@pytest.mark.parametrize(
    "extensions",
    [
        {},
        {"x-ms-pageable": {"nextLinkName": None}},
        {"x-pagination": {"limitParam": "n", "pageOffsetParam": "unknown"}},
        {"x-pagination": None},
    ],
)
def test_annotations_that_cannot_be_used_say_nothing(extensions: JsonObject) -> None:
    assert declared_pagination(extensions, {"n": WHOLE}) is None


def test_objects_are_opened_to_paths_and_kept() -> None:
    page = {
        "type": "object",
        "properties": {"limit": WHOLE, "deep": {"properties": {"er": {"properties": {"st": TEXT}}}}},
    }
    assert list(flatten_parameters({"page": page, "q": TEXT})) == [
        "page",
        "page/limit",
        "page/deep",
        "page/deep/er",
        "q",
    ]


def test_parts_and_the_only_real_branch_are_opened() -> None:
    optional = {"anyOf": [{"type": "object", "properties": {"a": TEXT}}, {"type": "null"}]}
    joined = {"allOf": [{"properties": {"b": TEXT}}, {"properties": {"c": TEXT}}]}
    assert set(flatten_parameters({"x": optional, "y": joined})) == {"x", "x/a", "y", "y/b", "y/c"}


@pytest.mark.parametrize(
    ("lister", "counter"),
    [
        ("GET /tickets", "GET /tickets/count"),
        ("GET /tickets", "GET /tickets/$count"),
        ("GET /tickets", "GET /tickets_count"),
        ("list_tickets", "count_tickets"),
        ("getTickets", "getTicketCount"),
        ("search_tickets", "get_tickets_count"),
    ],
)
def test_an_operation_that_counts_is_found_beside_the_list(lister: str, counter: str) -> None:
    specs = [listing("tickets", lister, "status"), listing("tickets_count", counter, "status", returns_many=False)]
    assert count_operations(specs) == {"tickets": "tickets_count"}


def test_a_count_need_not_be_sorted_nor_cut_to_fields() -> None:
    specs = [
        listing("tickets", "GET /tickets", "status", "sort", "orderBy", "fields"),
        listing("total", "GET /tickets/count", "status"),
    ]
    assert count_operations(specs) == {"tickets": "total"}


def test_a_count_that_cannot_be_narrowed_likewise_is_no_total() -> None:
    specs = [listing("tickets", "GET /tickets", "status", "owner"), listing("total", "GET /tickets/count", "status")]
    assert count_operations(specs) == {}


@pytest.mark.parametrize(
    "other",
    [
        listing("other", "GET /orders/count"),
        listing("other", "count_orders"),
        listing("other", "GET /tickets/count", effect=Effect.WRITE),
        listing("other", "GET /tickets/count", pagination=Pagination(convention=PaginationStyle.PAGE, position="page")),
    ],
)
def test_counts_of_something_else_are_left_alone(other: ToolSpec) -> None:
    assert count_operations([listing("tickets", "GET /tickets"), other]) == {}
