"""From MCP tool definitions to tool specs."""

from typing import Any

import pytest
from mcp.types import Tool, ToolAnnotations

from adapters.base import Effect, Pagination, PaginationStyle
from adapters.mcp.tools import argument_schemas, effect_of, noun_of, tool_specs, with_page_arguments, without_arguments

PAGE = {"type": "integer", "default": 1}
NULLABLE = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
PAGES = {"type": "object", "properties": {"page": NULLABLE, "size": {"$ref": "#/$defs/Size"}}}
SORTED = {"type": "object", "properties": {"page": PAGE, "sort": {"type": "string"}}}
NULL = {"type": "null"}
DEFS = {"Pages": PAGES, "Size": {"type": "integer"}, "Sorted": SORTED, "Self": {"$ref": "#/$defs/Self"}}


def tool(name: str, description: str = "", schema: Any = None, **more: Any) -> Tool:
    return Tool(name=name, description=description, input_schema=schema or {"type": "object"}, **more)


def schema(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"pages": value}, "$defs": DEFS}


@pytest.mark.parametrize(
    ("name", "description", "hints", "effect"),
    [
        ("get_tickets", "", None, Effect.READ),
        ("searchIssues", "", None, Effect.READ),
        ("tickets", "Returns tickets", None, Effect.WRITE),
        ("tickets", "Lists all tickets", None, Effect.READ),
        ("tickets", "Searches tickets", None, Effect.READ),
        ("frobnicate", "", None, Effect.WRITE),
        ("frobnicate", "", {"read_only_hint": True}, Effect.READ),
        ("delete_ticket", "Get rid of it", None, Effect.WRITE),
        ("delete_ticket", "", {"read_only_hint": True}, Effect.WRITE),
        ("get_tickets", "", {"read_only_hint": False}, Effect.WRITE),
        ("get_tickets", "", {"destructive_hint": True}, Effect.DESTRUCTIVE),
        ("get_tickets", "", {"title": "Tickets"}, Effect.READ),
    ],
)
def test_the_effect_follows_name_and_hints(
    name: str, description: str, hints: dict[str, Any] | None, effect: Effect
) -> None:
    annotations = ToolAnnotations(**hints) if hints else None
    assert effect_of(tool(name, description, annotations=annotations)) is effect


@pytest.mark.parametrize(
    ("name", "noun"),
    [
        ("get_tickets", "tickets"),
        ("listOpenTicketsByUser", "open_tickets"),
        ("search_for_customers", "customers"),
        ("get_all_events", "events"),
        ("query", "records"),
        ("create_ticket", "ticket"),
    ],
)
def test_the_noun_is_the_name_without_verb_and_filter(name: str, noun: str) -> None:
    assert noun_of(name) == noun


def test_pagination_arguments_are_hidden_and_references_resolved() -> None:
    schema = {
        "type": "object",
        "properties": {"q": {"type": "string"}, "page": {"$ref": "#/$defs/Page"}, "size": {"type": "integer"}},
        "required": ["q", "page"],
        "$defs": {"Page": {"type": "integer", "minimum": 0}},
    }
    (spec,) = tool_specs([tool("list_things", schema=schema)], source="s").tools
    assert spec.pagination.hidden == ("page", "size")
    assert spec.pagination.first == 0
    assert list(spec.parameters["properties"]) == ["q"]
    assert spec.parameters["required"] == ["q"]


@pytest.mark.parametrize(
    ("name", "hints", "hidden"),
    [
        ("delete_rows", {}, ()),
        ("rows", {"destructiveHint": True}, ()),
        ("rows", {"readOnlyHint": False}, ()),
        ("rows", {}, ("start", "count")),
        ("run_report", {"readOnlyHint": True}, ("start", "count")),
    ],
)
def test_a_tool_that_changes_data_is_not_paginated(name: str, hints: dict[str, bool], hidden: tuple[str, ...]) -> None:
    schema = {"type": "object", "properties": {"start": {"type": "integer"}, "count": {"type": "integer"}}}
    listed = tool_specs([tool(name, schema=schema, annotations=hints)], source="s")
    assert listed.tools[0].pagination.hidden == hidden


def test_a_duplicate_tool_is_skipped_and_similar_names_stay_distinct() -> None:
    listed = tool_specs([tool("get it"), tool("get/it"), tool("get it")], source="s")
    assert [spec.locator for spec in listed.tools] == ["get it", "get/it"]
    assert len({spec.name for spec in listed.tools}) == 2
    assert [part.path for part in listed.skipped] == ["get it"]


def test_returns_many_unless_the_output_is_one_flat_object() -> None:
    flat = {"type": "object", "properties": {"n": {"type": "integer"}}}
    rows = {"type": "object", "properties": {"rows": {"type": "array"}}}
    wrapped = {"type": "object", "properties": {"result": {"type": "string"}}}
    for output, many in ((flat, False), (rows, True), (wrapped, True), ({"type": "object"}, True), (None, True)):
        (spec,) = tool_specs([tool("get", output_schema=output)], source="s").tools
        assert spec.returns_many is many


@pytest.mark.parametrize(
    ("name", "required", "many"),
    [
        ("get_customer", ["customer_id"], False),
        ("getCustomer", ["customerId"], False),
        ("get_customer", ["id"], False),
        ("get_tickets", ["customer_id"], True),
        ("get_tickets", ["id"], True),
        ("get_customer", [], True),
    ],
)
def test_a_tool_that_takes_its_own_id_returns_one(name: str, required: list[str], many: bool) -> None:
    schema = {"type": "object", "properties": {}, "required": required}
    (spec,) = tool_specs([tool(name, schema=schema)], source="s").tools
    assert spec.returns_many is many


def test_read_tools_of_the_settings_are_reads() -> None:
    (spec,) = tool_specs([tool("run_report")], source="s", read_tools={"run_report"}).tools
    assert spec.effect is Effect.READ


def test_configured_pagination_overrides_detection() -> None:
    schema = {"type": "object", "properties": {"weiter": {"type": "string"}, "anzahl": {"type": "integer"}}}
    listed = Tool(name="list_orders", input_schema=schema)
    said = Pagination(convention=PaginationStyle.CURSOR, position="weiter", size="anzahl", next_path="naechste")
    (spec,) = tool_specs([listed], source="s", paging={"list_orders": said}, page_sizes={"list_orders": 50}).tools
    assert (spec.pagination.position, spec.pagination.max_size) == ("weiter", 50)
    assert spec.parameters["properties"] == {}


@pytest.mark.parametrize(
    "value",
    [
        PAGES,
        {"$ref": "#/$defs/Pages"},
        {"anyOf": [{"$ref": "#/$defs/Pages"}, NULL], "default": None},
        {"oneOf": [NULL, PAGES]},
        {"allOf": [{"$ref": "#/$defs/Pages"}], "description": "Where to go on"},
    ],
)
def test_members_of_a_page_object_are_found_and_hidden(value: dict[str, Any]) -> None:
    written = schema(value)
    assert {"pages/page", "pages/size"} <= argument_schemas(written).keys()
    assert argument_schemas(written)["pages/size"]["type"] == "integer"
    assert without_arguments(written, ("pages/page", "pages/size"))["properties"] == {}
    assert with_page_arguments({}, {"pages/page": 2}, written) == {"pages": {"page": 2}}


@pytest.mark.parametrize(
    "value", [SORTED, {"anyOf": [{"$ref": "#/$defs/Sorted"}, NULL]}, {"anyOf": [SORTED, NULL], "default": None}]
)
def test_other_members_of_the_page_object_stay(value: dict[str, Any]) -> None:
    left = without_arguments(schema(value), ("pages/page",))["properties"]["pages"]
    assert left["properties"] == {"sort": {"type": "string"}}


@pytest.mark.parametrize(
    "value",
    [
        {"$ref": "#/$defs/Self"},
        {"$ref": "#/nowhere"},
        {"anyOf": [PAGES, SORTED]},
        {"anyOf": "odd"},
        {"anyOf": [{"type": "string"}, NULL]},
    ],
)
def test_ambiguous_schemas_are_left_unchanged(value: dict[str, Any]) -> None:
    written = schema(value)
    assert list(argument_schemas(written)) == ["pages"]
    assert without_arguments(written, ())["properties"] == {"pages": value}
