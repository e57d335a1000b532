"""Invalid calls are rejected with the path of each violation and the nearest valid name."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import ToolSpec
from runax_cli.guard.schema_errors import FORMATS
from runax_cli.guard.validation import MAX_VIOLATIONS, RejectedCall, RejectionCode, find_tool, parse_arguments
from runax_cli.guard.visible_tool import visible_tool

MakeTool = Callable[..., ToolSpec]


def rejected(raw: str, spec: ToolSpec) -> RejectedCall:
    value = parse_arguments(raw, visible_tool(spec))
    assert isinstance(value, RejectedCall), value
    return value


def test_valid_arguments_are_returned_unchanged(make_tool: MakeTool) -> None:
    raw = '{"customer_id": 4, "status": "open", "focus": "co se stalo?"}'
    assert parse_arguments(raw, visible_tool(make_tool())) == json.loads(raw)


@pytest.mark.parametrize("raw", ["", "  ", "{}", "null"])
def test_missing_arguments_may_be_written_in_several_ways(make_tool: MakeTool, raw: str) -> None:
    assert parse_arguments(raw, visible_tool(make_tool(parameters={"type": "object"}))) == {}


def test_a_null_for_an_optional_argument_is_dropped(make_tool: MakeTool) -> None:
    value = parse_arguments('{"customer_id": 4, "status": null, "at_most": null}', visible_tool(make_tool()))
    assert value == {"customer_id": 4}


def test_a_null_that_the_schema_accepts_is_kept(make_tool: MakeTool) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"parent": {"type": ["integer", "null"]}}})
    assert parse_arguments('{"parent": null}', visible_tool(spec)) == {"parent": None}


def test_a_null_for_a_required_argument_is_invalid(make_tool: MakeTool) -> None:
    assert "customer_id: expected integer, got null (null)" in rejected('{"customer_id": null}', make_tool()).message


@pytest.mark.parametrize("raw", ['{"customer_id": ', "get tickets", '{"customer_id": NaN}', "[" * 200_000])
def test_text_that_is_not_json_is_rejected(make_tool: MakeTool, raw: str) -> None:
    rejection = rejected(raw, make_tool())
    assert rejection.code is RejectionCode.NOT_JSON
    assert "'get_tickets'" in rejection.message


def test_json_that_is_not_an_object_is_rejected(make_tool: MakeTool) -> None:
    rejection = rejected("[4]", make_tool())
    assert (rejection.code, rejection.message) == (
        RejectionCode.INVALID_ARGUMENTS,
        "the arguments must be an object, got an array",
    )


def test_every_violation_is_named_by_its_path(make_tool: MakeTool) -> None:
    rejection = rejected('{"status": "opened", "custmer_id": 4, "at_most": -1}', make_tool())

    assert rejection.code is RejectionCode.INVALID_ARGUMENTS
    assert "custmer_id: unknown argument; nearest: 'customer_id'" in rejection.message
    assert "customer_id: is required (integer)" in rejection.message
    assert "status: \"opened\" is not allowed; nearest: 'open'" in rejection.message
    assert "at_most: -1 is out of range; must be at least 0; nearest: 0" in rejection.message


def test_a_wrong_type_names_the_expected_one(make_tool: MakeTool) -> None:
    message = rejected('{"customer_id": "4"}', make_tool()).message
    assert message == 'customer_id: expected integer, got "4" (a string); nearest: 4'


VALUES = [
    ({"type": "string", "format": "date-time"}, "2026-01-31", 'nearest: "2026-01-31T00:00:00Z"'),
    ({"type": "string", "format": "date-time"}, "2026-01-31 10:00", 'nearest: "2026-01-31T10:00:00Z"'),
    ({"type": "string", "format": "date-time"}, "yesterday", "is not a valid date-time; example:"),
    ({"type": "string", "format": "date"}, "2026/1/31", 'nearest: "2026-01-31"'),
    ({"type": "string", "format": "date"}, "2026-02-30", "is not a valid date"),
    ({"type": "string", "format": "date"}, "2026-01-31T10:00:00Z", 'nearest: "2026-01-31"'),
    ({"type": "string", "format": "time"}, "25:00:00Z", "is not a valid time"),
    ({"type": "string", "format": "duration"}, "P", "is not a valid duration"),
    ({"type": "string", "format": "uuid"}, "4", "is not a valid uuid"),
    ({"type": "string", "format": "email"}, "a b@c", "is not a valid email"),
    ({"type": "string", "format": "ipv4"}, "300.1.1.1", "is not a valid ipv4"),
    ({"type": "string", "format": "ipv6"}, "::g", "is not a valid ipv6"),
    ({"type": "string", "format": "uri"}, "example.com/a", 'nearest: "https://example.com/a"'),
    ({"type": "string", "format": "hostname"}, "-a..b", "is not a valid hostname"),
    ({"type": "string", "format": "byte"}, "é", "is not a valid byte"),
    ({"type": "integer", "format": "int32"}, 2**31, "out of the range of int32"),
    ({"type": "integer", "maximum": 100}, 500, "must be at most 100; nearest: 100"),
    ({"type": "number", "exclusiveMinimum": 0}, 0, "must be above 0"),
    ({"type": "string", "pattern": "^[A-Z]{2}$"}, "cz", "does not match the pattern ^[A-Z]{2}$"),
    ({"type": "string", "minLength": 3}, "a", "is too short"),
    ({"type": "boolean"}, "true", "nearest: true"),
    ({"type": "string"}, 4, 'nearest: "4"'),
    ({"type": "array", "items": {"type": "string"}}, "a", 'nearest: ["a"]'),
    ({"anyOf": [{"type": "integer"}, {"enum": ["all"]}]}, "al", "nearest: 'all'"),
    (
        {"type": "object", "properties": {"of": {"type": "object", "required": ["x"]}}},
        {"of": {}},
        "v.of.x: is required",
    ),
]


@pytest.mark.parametrize(("schema", "value", "said"), VALUES)
def test_violations_of_formats_ranges_and_patterns_suggest_a_value(
    make_tool: MakeTool, schema: Any, value: Any, said: str
) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"v": schema}})
    rejection = rejected(json.dumps({"v": value}), spec)
    assert rejection.code is RejectionCode.INVALID_ARGUMENTS
    assert said in rejection.message


@pytest.mark.parametrize("name", FORMATS)
def test_the_example_of_a_format_is_valid(make_tool: MakeTool, name: str) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"v": {"type": "string", "format": name}}})
    value = {"v": FORMATS[name].example}
    assert parse_arguments(json.dumps(value), visible_tool(spec)) == value


@pytest.mark.parametrize(
    "schema",
    [{"pattern": r"^\p{L}+$"}, {"pattern": r"^(a+)+$"}, {"pattern": "["}, {"format": "of-my-own"}, {"pattern": 4}],
)
def test_a_pattern_or_format_that_cannot_be_checked_accepts_everything(make_tool: MakeTool, schema: Any) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"v": schema, "w": {"type": "integer"}}})
    value = {"v": "a" * 40 + "!", "w": 1}
    assert parse_arguments(json.dumps(value), visible_tool(spec)) == value
    assert "w: " in rejected(json.dumps(value | {"w": "x"}), spec).message, "the rest is judged all the same"


def test_a_lone_surrogate_is_rejected(make_tool: MakeTool) -> None:
    assert rejected('{"since": "\\ud800", "customer_id": 4}', make_tool()).code is RejectionCode.NOT_JSON


def test_deeply_nested_arguments_are_rejected(make_tool: MakeTool) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"v": {}}})
    assert "nested deeper" in rejected('{"v": ' + "[" * 500 + "]" * 500 + "}", spec).message


def test_pagination_arguments_are_rejected(make_tool: MakeTool) -> None:
    rejection = rejected('{"customer_id": 4, "limit": 10}', make_tool())
    assert rejection.message == "limit: leave it out, all pages are read automatically"


def test_nested_violations_are_named_by_path(make_tool: MakeTool) -> None:
    inner = {"type": "object", "properties": {"size": {"type": "integer"}}, "additionalProperties": False}
    spec = make_tool(
        parameters={
            "type": "object",
            "properties": {"filters": {"type": "array", "items": {"$ref": "#/$defs/f"}}},
            "$defs": {"f": inner},
        }
    )
    message = rejected('{"filters": [{"size": 1}, {"size": "x", "sizes": 2}]}', spec).message

    assert 'filters.1.size: expected integer, got "x" (a string)' in message
    assert "filters.1.sizes: unknown property; nearest: 'size'" in message


def test_additional_properties_are_accepted_if_the_schema_allows_them(make_tool: MakeTool) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {}, "additionalProperties": True})
    assert parse_arguments('{"anything": 1}', visible_tool(spec)) == {"anything": 1}


@pytest.mark.parametrize(
    "broken", [{"type": "no-such-type"}, {"$ref": "#/nowhere"}, {"pattern": "("}, {"enum": 3}, {"minimum": "x"}]
)
def test_a_broken_schema_accepts_everything(make_tool: MakeTool, broken: dict[str, Any]) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"a": broken}})
    assert parse_arguments('{"a": "1"}', visible_tool(spec)) == {"a": "1"}


def test_a_long_list_of_violations_is_cut_with_a_count(make_tool: MakeTool) -> None:
    raw = json.dumps({f"x{i}": i for i in range(20)} | {"customer_id": 1})
    message = rejected(raw, make_tool()).message
    assert message.count("unknown argument") == MAX_VIOLATIONS
    assert message.endswith("and 12 more")


def test_an_unknown_tool_names_the_nearest_ones(make_tool: MakeTool) -> None:
    tools = {name: visible_tool(make_tool(name)) for name in ("get_tickets", "get_payments", "list_events")}

    near, far = find_tool("get_ticket", tools), find_tool("zzz", tools)

    assert isinstance(near, RejectedCall)
    assert near.code is RejectionCode.NO_SUCH_TOOL
    assert near.message == "unknown tool 'get_ticket'; nearest: 'get_tickets', 'get_payments'"
    assert isinstance(far, RejectedCall)
    assert "available: 'get_tickets', 'get_payments', 'list_events'" in far.message
    assert find_tool("list_events", tools) is tools["list_events"]


@given(st.text(max_size=60))
def test_any_text_can_be_parsed(raw: str) -> None:
    spec = ToolSpec(name="t", description="", parameters={"type": "object"}, source="s", locator="t")
    assert isinstance(parse_arguments(raw, visible_tool(spec)), dict | RejectedCall)
