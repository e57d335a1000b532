"""What is wrong with a requested call is told by path, with the nearest valid name."""

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


def refused(raw: str, spec: ToolSpec) -> RejectedCall:
    value = parse_arguments(raw, visible_tool(spec))
    assert isinstance(value, RejectedCall), value
    return value


def test_valid_arguments_come_back_as_they_are(make_tool: MakeTool) -> None:
    raw = '{"customer_id": 4, "status": "open", "focus": "co se stalo?"}'
    assert parse_arguments(raw, visible_tool(make_tool())) == json.loads(raw)


@pytest.mark.parametrize("raw", ["", "  ", "{}", "null"])
def test_no_arguments_may_be_written_in_several_ways(make_tool: MakeTool, raw: str) -> None:
    assert parse_arguments(raw, visible_tool(make_tool(parameters={"type": "object"}))) == {}


def test_a_null_for_an_optional_argument_was_not_given(make_tool: MakeTool) -> None:
    value = parse_arguments('{"customer_id": 4, "status": null, "at_most": null}', visible_tool(make_tool()))
    assert value == {"customer_id": 4}


def test_a_null_that_the_schema_knows_is_kept(make_tool: MakeTool) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"parent": {"type": ["integer", "null"]}}})
    assert parse_arguments('{"parent": null}', visible_tool(spec)) == {"parent": None}


def test_a_null_for_a_required_argument_is_wrong(make_tool: MakeTool) -> None:
    assert "customer_id: null is null; wanted is integer" in refused('{"customer_id": null}', make_tool()).message


@pytest.mark.parametrize("raw", ['{"customer_id": ', "get tickets", '{"customer_id": NaN}', "[" * 200_000])
def test_text_that_is_no_json_is_a_parse_error(make_tool: MakeTool, raw: str) -> None:
    answer = refused(raw, make_tool())
    assert answer.fault is RejectionCode.NOT_JSON
    assert "'get_tickets'" in answer.message


def test_json_that_is_no_object_does_not_fit(make_tool: MakeTool) -> None:
    answer = refused("[4]", make_tool())
    assert (answer.fault, answer.message) == (
        RejectionCode.DOES_NOT_FIT,
        "the arguments must be an object and not an array",
    )


def test_every_violation_is_named_by_its_path(make_tool: MakeTool) -> None:
    answer = refused('{"status": "opened", "custmer_id": 4, "at_most": 0}', make_tool())

    assert answer.fault is RejectionCode.DOES_NOT_FIT
    assert "custmer_id: there is no such argument; nearest: 'customer_id'" in answer.message
    assert "customer_id: is required (integer)" in answer.message
    assert "status: \"opened\" is not allowed; nearest: 'open'" in answer.message
    assert "at_most: 0 is out of range; it must be at least 1; nearest: 1" in answer.message


def test_a_wrong_type_says_what_it_is_and_what_is_wanted(make_tool: MakeTool) -> None:
    message = refused('{"customer_id": "4"}', make_tool()).message
    assert message == 'customer_id: "4" is a string; wanted is integer; nearest: 4'


VALUES = [
    ({"type": "string", "format": "date-time"}, "2026-01-31", 'nearest: "2026-01-31T00:00:00Z"'),
    ({"type": "string", "format": "date-time"}, "2026-01-31 10:00", 'nearest: "2026-01-31T10:00:00Z"'),
    ({"type": "string", "format": "date-time"}, "yesterday", "is no date-time; one is"),
    ({"type": "string", "format": "date"}, "2026/1/31", 'nearest: "2026-01-31"'),
    ({"type": "string", "format": "date"}, "2026-02-30", "is no date"),
    ({"type": "string", "format": "date"}, "2026-01-31T10:00:00Z", 'nearest: "2026-01-31"'),
    ({"type": "string", "format": "time"}, "25:00:00Z", "is no time"),
    ({"type": "string", "format": "duration"}, "P", "is no duration"),
    ({"type": "string", "format": "uuid"}, "4", "is no uuid"),
    ({"type": "string", "format": "email"}, "a b@c", "is no email"),
    ({"type": "string", "format": "ipv4"}, "300.1.1.1", "is no ipv4"),
    ({"type": "string", "format": "ipv6"}, "::g", "is no ipv6"),
    ({"type": "string", "format": "uri"}, "example.com/a", 'nearest: "https://example.com/a"'),
    ({"type": "string", "format": "hostname"}, "-a..b", "is no hostname"),
    ({"type": "string", "format": "byte"}, "é", "is no byte"),
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
def test_what_formats_ranges_and_patterns_forbid_is_told_with_what_is_near(
    make_tool: MakeTool, schema: Any, value: Any, said: str
) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"v": schema}})
    answer = refused(json.dumps({"v": value}), spec)
    assert answer.fault is RejectionCode.DOES_NOT_FIT
    assert said in answer.message


@pytest.mark.parametrize("name", FORMATS)
def test_the_example_of_a_format_has_it(make_tool: MakeTool, name: str) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"v": {"type": "string", "format": name}}})
    value = {"v": FORMATS[name].example}
    assert parse_arguments(json.dumps(value), visible_tool(spec)) == value


@pytest.mark.parametrize(
    "schema",
    [{"pattern": r"^\p{L}+$"}, {"pattern": r"^(a+)+$"}, {"pattern": "["}, {"format": "of-my-own"}, {"pattern": 4}],
)
def test_what_cannot_be_judged_forbids_nothing(make_tool: MakeTool, schema: Any) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"v": schema, "w": {"type": "integer"}}})
    value = {"v": "a" * 40 + "!", "w": 1}
    assert parse_arguments(json.dumps(value), visible_tool(spec)) == value
    assert "w: " in refused(json.dumps(value | {"w": "x"}), spec).message, "the rest is judged all the same"


def test_half_a_character_is_no_json(make_tool: MakeTool) -> None:
    assert refused('{"since": "\\ud800", "customer_id": 4}', make_tool()).fault is RejectionCode.NOT_JSON


def test_arguments_that_are_nested_without_end_are_refused(make_tool: MakeTool) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"v": {}}})
    assert "nested deeper" in refused('{"v": ' + "[" * 500 + "]" * 500 + "}", spec).message


def test_paging_is_not_the_models_business(make_tool: MakeTool) -> None:
    answer = refused('{"customer_id": 4, "limit": 10}', make_tool())
    assert answer.message == "limit: leave it out, all pages are read for you"


def test_violations_deep_inside_are_named_by_path(make_tool: MakeTool) -> None:
    inner = {"type": "object", "properties": {"size": {"type": "integer"}}, "additionalProperties": False}
    spec = make_tool(
        parameters={
            "type": "object",
            "properties": {"filters": {"type": "array", "items": {"$ref": "#/$defs/f"}}},
            "$defs": {"f": inner},
        }
    )
    message = refused('{"filters": [{"size": 1}, {"size": "x", "sizes": 2}]}', spec).message

    assert 'filters.1.size: "x" is a string; wanted is integer' in message
    assert "filters.1.sizes: there is no such member; nearest: 'size'" in message


def test_a_schema_that_welcomes_other_names_gets_them(make_tool: MakeTool) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {}, "additionalProperties": True})
    assert parse_arguments('{"anything": 1}', visible_tool(spec)) == {"anything": 1}


@pytest.mark.parametrize(
    "broken", [{"type": "no-such-type"}, {"$ref": "#/nowhere"}, {"pattern": "("}, {"enum": 3}, {"minimum": "x"}]
)
def test_a_broken_schema_forbids_nothing(make_tool: MakeTool, broken: dict[str, Any]) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"a": broken}})
    assert parse_arguments('{"a": "1"}', visible_tool(spec)) == {"a": "1"}


def test_a_long_list_of_violations_is_cut_and_says_so(make_tool: MakeTool) -> None:
    raw = json.dumps({f"x{i}": i for i in range(20)} | {"customer_id": 1})
    message = refused(raw, make_tool()).message
    assert message.count("no such argument") == MAX_VIOLATIONS
    assert message.endswith("and 12 more")


def test_a_tool_that_does_not_exist_is_answered_with_the_nearest(make_tool: MakeTool) -> None:
    tools = {name: visible_tool(make_tool(name)) for name in ("get_tickets", "get_payments", "list_events")}

    near, far = find_tool("get_ticket", tools), find_tool("zzz", tools)

    assert isinstance(near, RejectedCall)
    assert near.fault is RejectionCode.NO_SUCH_TOOL
    assert near.message == "there is no tool 'get_ticket'; the nearest are 'get_tickets', 'get_payments'"
    assert isinstance(far, RejectedCall)
    assert "there are 'get_tickets', 'get_payments', 'list_events'" in far.message
    assert find_tool("list_events", tools) is tools["list_events"]


@given(st.text(max_size=60))
def test_no_text_makes_the_guard_raise(raw: str) -> None:
    spec = ToolSpec(name="t", description="", parameters={"type": "object"}, source="s", locator="t")
    assert isinstance(parse_arguments(raw, visible_tool(spec)), dict | RejectedCall)
