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
