"""Settings, tools and results of MCP as values."""

from typing import Any

import pytest
from mcp.types import Tool, ToolAnnotations

from adapters.base import Effect, Pagination, PaginationStyle, tool_name
from adapters.errors import DocumentError
from adapters.mcp.connection.errors import mask_of
from adapters.mcp.settings import McpSettings, settings_in, settings_of
from adapters.mcp.tools import effect_of, noun_of, specs_of


def tool(name: str, description: str = "", schema: Any = None, **more: Any) -> Tool:
    return Tool(name=name, description=description, input_schema=schema or {"type": "object"}, **more)


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
def test_hints_raise_caution_and_names_are_believed_in_their_absence(
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
def test_the_noun_is_what_the_name_has_left_of_verb_and_filter(name: str, noun: str) -> None:
    assert noun_of(name) == noun


def test_hidden_arguments_leave_the_schema_and_references_are_followed_for_detection() -> None:
    schema = {
        "type": "object",
        "properties": {"q": {"type": "string"}, "page": {"$ref": "#/$defs/Page"}, "size": {"type": "integer"}},
        "required": ["q", "page"],
        "$defs": {"Page": {"type": "integer", "minimum": 0}},
    }
    (spec,) = specs_of([tool("list_things", schema=schema)], source="s").tools
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
def test_the_arguments_of_a_tool_that_changes_data_say_what_to_change(
    name: str, hints: dict[str, bool], hidden: tuple[str, ...]
) -> None:
    schema = {"type": "object", "properties": {"start": {"type": "integer"}, "count": {"type": "integer"}}}
    listed = specs_of([tool(name, schema=schema, annotations=hints)], source="s")
    assert listed.tools[0].pagination.hidden == hidden


def test_a_second_tool_of_a_name_is_left_out_and_tools_of_like_names_kept_apart() -> None:
    listed = specs_of([tool("get it"), tool("get/it"), tool("get it")], source="s")
    assert [spec.locator for spec in listed.tools] == ["get it", "get/it"]
    assert len({spec.name for spec in listed.tools}) == 2
    assert [part.path for part in listed.skipped] == ["get it"]


def test_a_tool_returns_one_only_where_its_output_is_surely_one() -> None:
    flat = {"type": "object", "properties": {"n": {"type": "integer"}}}
    rows = {"type": "object", "properties": {"rows": {"type": "array"}}}
    wrapped = {"type": "object", "properties": {"result": {"type": "string"}}}
    for output, many in ((flat, False), (rows, True), (wrapped, True), ({"type": "object"}, True), (None, True)):
        (spec,) = specs_of([tool("get", output_schema=output)], source="s").tools
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
def test_a_thing_by_its_own_id_is_one_and_things_of_another_are_many(
    name: str, required: list[str], many: bool
) -> None:
    schema = {"type": "object", "properties": {}, "required": required}
    (spec,) = specs_of([tool(name, schema=schema)], source="s").tools
    assert spec.returns_many is many


def test_a_tool_that_the_user_vouches_for_is_a_read() -> None:
    (spec,) = specs_of([tool("run_report")], source="s", read_tools={"run_report"}).tools
    assert spec.effect is Effect.READ


def test_tool_names_are_legal_unique_and_short() -> None:
    assert tool_name("a b/c") == "a_b_c"
    assert tool_name("///") == "tool"
    taken = {"x"}
    for _ in range(3):
        taken.add(tool_name("x", taken=taken))
    assert len(taken) == 4
    assert len(tool_name("x" * 200)) == 64


def test_a_target_is_a_url_or_a_command() -> None:
    assert settings_of("s", "https://x.example/mcp", token="t").url == "https://x.example/mcp"
    assert settings_of("s", "uvx 'my server' --flag").command == ("uvx", "my server", "--flag")
    with pytest.raises(DocumentError, match="cannot be split"):
        settings_of("s", "uvx 'oops")
    with pytest.raises(DocumentError, match="either a url or a command"):
        settings_of("s", "")


def test_a_servers_file_is_read_and_its_flaws_named() -> None:
    document = {"mcpServers": {"a": {"command": "x", "args": ["-y"], "env": {"K": "v"}}, "b": {"url": "http://h/mcp"}}}
    first, second = settings_in(document, path="f.json")
    assert (first.name, first.command, dict(first.env)) == ("a", ("x", "-y"), {"K": "v"})
    assert (second.name, second.url) == ("b", "http://h/mcp")
    for broken in ({}, {"mcpServers": []}, {"mcpServers": {"a": 1}}, {"mcpServers": {"a": {"command": 5}}}):
        with pytest.raises(DocumentError, match=r"f\.json"):
            settings_in(broken, path="f.json")


def test_secrets_are_in_no_representation() -> None:
    settings = McpSettings(name="s", url="http://h", token="s3cr3t", headers={"X": "hidden"}, env={"K": "alsohidden"})
    assert "s3cr3t" not in repr(settings)
    assert "hidden" not in repr(settings)
    assert mask_of(settings).text("token s3cr3t") == "token ***"


def test_what_the_user_says_of_a_tools_paging_goes_before_what_the_tool_tells() -> None:
    schema = {"type": "object", "properties": {"weiter": {"type": "string"}, "anzahl": {"type": "integer"}}}
    listed = Tool(name="list_orders", input_schema=schema)
    said = Pagination(convention=PaginationStyle.CURSOR, position="weiter", size="anzahl", next_path="naechste")
    (spec,) = specs_of([listed], source="s", paging={"list_orders": said}, page_sizes={"list_orders": 50}).tools
    assert (spec.pagination.position, spec.pagination.max_size) == ("weiter", 50)
    assert spec.parameters["properties"] == {}
