"""Tools to guard."""

from collections.abc import Callable
from typing import Any

import pytest

from adapters.base import Effect, Pagination, PaginationStyle, ToolSpec


def _tool(name: str = "get_tickets", **changes: Any) -> ToolSpec:
    properties = {
        "customer_id": {"type": "integer"},
        "status": {"type": "string", "enum": ["open", "closed", "waiting"]},
        "since": {"type": "string"},
    }
    values: dict[str, Any] = {
        "name": name,
        "description": "Tickets of a customer.",
        "parameters": {"type": "object", "properties": properties, "required": ["customer_id"]},
        "source": "crm",
        "locator": "GET /tickets",
        "effect": Effect.READ,
        "pagination": Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit"),
        "noun": "tickets",
    }
    return ToolSpec(**(values | changes))


@pytest.fixture
def make_tool() -> Callable[..., ToolSpec]:
    """Make a paged, reading tool with an integer and an enum; any field may be changed."""
    return _tool
