"""Tools that count the list of another tool."""

import pytest

from adapters.base import Effect, JsonObject, Pagination, PaginationStyle, ToolSpec
from adapters.pagination import count_operations

TEXT: JsonObject = {"type": "string"}


def listing(name: str, locator: str, *filters: str, **changes: object) -> ToolSpec:
    parameters: JsonObject = {"type": "object", "properties": dict.fromkeys(filters, TEXT)}
    fields: dict[str, object] = {"returns_many": True, "effect": Effect.READ, **changes}
    return ToolSpec(name=name, description="", parameters=parameters, source="shop", locator=locator, **fields)  # type: ignore[arg-type]


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
def test_a_count_operation_is_found_for_a_list(lister: str, counter: str) -> None:
    specs = [listing("tickets", lister, "status"), listing("tickets_count", counter, "status", returns_many=False)]
    assert count_operations(specs) == {"tickets": "tickets_count"}


def test_a_count_operation_needs_no_sorting_or_field_selection() -> None:
    specs = [
        listing("tickets", "GET /tickets", "status", "sort", "orderBy", "fields"),
        listing("total", "GET /tickets/count", "status"),
    ]
    assert count_operations(specs) == {"tickets": "total"}


def test_a_count_operation_without_a_filter_of_the_list_is_not_used() -> None:
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
def test_count_operations_of_something_else_are_ignored(other: ToolSpec) -> None:
    assert count_operations([listing("tickets", "GET /tickets"), other]) == {}
