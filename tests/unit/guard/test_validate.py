"""What is wrong with a requested call is told by path, with the nearest valid name."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import ToolSpec
from runax_cli.guard.validate import MAX_VIOLATIONS, Fault, Refused, arguments_of, find_tool
from runax_cli.guard.virtual import visible

MakeTool = Callable[..., ToolSpec]


def refused(raw: str, spec: ToolSpec) -> Refused:
    value = arguments_of(raw, visible(spec))
    assert isinstance(value, Refused), value
    return value


def test_valid_arguments_come_back_as_they_are(make_tool: MakeTool) -> None:
    raw = '{"customer_id": 4, "status": "open", "focus": "co se stalo?"}'
    assert arguments_of(raw, visible(make_tool())) == json.loads(raw)


@pytest.mark.parametrize("raw", ["", "  ", "{}", "null"])
def test_no_arguments_may_be_written_in_several_ways(make_tool: MakeTool, raw: str) -> None:
    assert arguments_of(raw, visible(make_tool(parameters={"type": "object"}))) == {}


def test_a_null_for_an_optional_argument_was_not_given(make_tool: MakeTool) -> None:
    value = arguments_of('{"customer_id": 4, "status": null, "at_most": null}', visible(make_tool()))
    assert value == {"customer_id": 4}


def test_a_null_that_the_schema_knows_is_kept(make_tool: MakeTool) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"parent": {"type": ["integer", "null"]}}})
    assert arguments_of('{"parent": null}', visible(spec)) == {"parent": None}


def test_a_null_for_a_required_argument_is_wrong(make_tool: MakeTool) -> None:
    assert "customer_id: null is null; wanted is integer" in refused('{"customer_id": null}', make_tool()).message


@pytest.mark.parametrize("raw", ['{"customer_id": ', "get tickets", '{"customer_id": NaN}', "[" * 200_000])
def test_text_that_is_no_json_is_a_parse_error(make_tool: MakeTool, raw: str) -> None:
    answer = refused(raw, make_tool())
    assert answer.fault is Fault.NOT_JSON
    assert "'get_tickets'" in answer.message


def test_json_that_is_no_object_does_not_fit(make_tool: MakeTool) -> None:
    answer = refused("[4]", make_tool())
    assert (answer.fault, answer.message) == (Fault.DOES_NOT_FIT, "the arguments must be an object and not an array")


def test_every_violation_is_named_by_its_path(make_tool: MakeTool) -> None:
    answer = refused('{"status": "opened", "custmer_id": 4, "at_most": 0}', make_tool())

    assert answer.fault is Fault.DOES_NOT_FIT
    assert "custmer_id: there is no such argument; nearest: 'customer_id'" in answer.message
    assert "customer_id: is required (integer)" in answer.message
    assert "status: \"opened\" is not allowed; nearest: 'open'" in answer.message
    assert "at_most: 0 is less than the minimum of 1" in answer.message


def test_a_wrong_type_says_what_it_is_and_what_is_wanted(make_tool: MakeTool) -> None:
    assert refused('{"customer_id": "4"}', make_tool()).message == ('customer_id: "4" is a string; wanted is integer')


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
    assert arguments_of('{"anything": 1}', visible(spec)) == {"anything": 1}


@pytest.mark.parametrize(
    "broken", [{"type": "no-such-type"}, {"$ref": "#/nowhere"}, {"pattern": "("}, {"enum": 3}, {"minimum": "x"}]
)
def test_a_broken_schema_forbids_nothing(make_tool: MakeTool, broken: dict[str, Any]) -> None:
    spec = make_tool(parameters={"type": "object", "properties": {"a": broken}})
    assert arguments_of('{"a": "1"}', visible(spec)) == {"a": "1"}


def test_a_long_list_of_violations_is_cut_and_says_so(make_tool: MakeTool) -> None:
    raw = json.dumps({f"x{i}": i for i in range(20)} | {"customer_id": 1})
    message = refused(raw, make_tool()).message
    assert message.count("no such argument") == MAX_VIOLATIONS
    assert message.endswith("and 12 more")


def test_a_tool_that_does_not_exist_is_answered_with_the_nearest(make_tool: MakeTool) -> None:
    tools = {name: visible(make_tool(name)) for name in ("get_tickets", "get_payments", "list_events")}

    near, far = find_tool("get_ticket", tools), find_tool("zzz", tools)

    assert isinstance(near, Refused)
    assert near.fault is Fault.NO_SUCH_TOOL
    assert near.message == "there is no tool 'get_ticket'; the nearest are 'get_tickets', 'get_payments'"
    assert isinstance(far, Refused)
    assert "there are 'get_tickets', 'get_payments', 'list_events'" in far.message
    assert find_tool("list_events", tools) is tools["list_events"]


@given(st.text(max_size=60))
def test_no_text_makes_the_guard_raise(raw: str) -> None:
    spec = ToolSpec(name="t", description="", parameters={"type": "object"}, source="s", locator="t")
    assert isinstance(arguments_of(raw, visible(spec)), dict | Refused)
