"""Tools that continue the list of another tool."""

from typing import Any

import pytest

from adapters.base import Pagination, PaginationStyle, ToolSpec
from adapters.pagination import continuation_operations

SCROLL = Pagination(convention=PaginationStyle.CURSOR, position="scroll_id")


def spec(name: str, locator: str, pagination: Pagination = Pagination(), **parameters: Any) -> ToolSpec:  # noqa: B008
    return ToolSpec(
        name=name,
        description="",
        parameters={"type": "object", **parameters},
        source="desk",
        locator=locator,
        pagination=pagination,
    )


@pytest.mark.parametrize(
    ("begin", "onward"),
    [
        (("search", "POST /things"), ("search_next", "POST /things/next")),
        (("search", "POST /things"), ("zorb", "GET /things/_scroll")),
        (("search_things", "search_things"), ("search_things_next", "search_things_next")),
    ],
)
def test_a_tool_that_takes_only_a_cursor_continues_the_list(begin: tuple[str, str], onward: tuple[str, str]) -> None:
    found = continuation_operations([spec(*begin), spec(*onward, SCROLL)])
    assert found == {
        begin[0]: Pagination(convention=PaginationStyle.CURSOR, position="scroll_id", next_operation=onward[0])
    }


@pytest.mark.parametrize(
    ("begin", "onward"),
    [
        (spec("a", "GET /things"), spec("b", "GET /others/next", SCROLL)),
        (spec("a", "GET /things"), spec("b", "GET /things/archive", SCROLL)),
        (spec("a", "GET /things"), spec("b", "GET /things/next", SCROLL, required=["id"])),
        (spec("a", "GET /things", SCROLL), spec("b", "GET /things/next", SCROLL)),
        (spec("a", "GET /things"), spec("b", "GET /things/next")),
    ],
)
def test_other_tools_continue_no_list(begin: ToolSpec, onward: ToolSpec) -> None:
    assert continuation_operations([begin, onward]) == {}
