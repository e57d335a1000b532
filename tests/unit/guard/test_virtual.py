"""The model sees what a call is for as parameters; the API never does."""

from collections.abc import Callable

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Effect, ToolSpec
from runax_cli.guard.visible_tool import split_virtual_arguments, virtual_parameter_names, visible_tool

MakeTool = Callable[..., ToolSpec]


def test_a_tool_of_many_records_has_three_virtual_parameters(make_tool: MakeTool) -> None:
    schema = visible_tool(make_tool()).schema.parameters

    assert list(schema["properties"]) == ["customer_id", "status", "since", "focus", "need", "at_most"]
    assert schema["required"] == ["customer_id"]
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_tool_itself_is_left_as_it_was(make_tool: MakeTool) -> None:
    spec = make_tool()
    visible_tool(spec)
    assert "focus" not in spec.parameters["properties"]


@pytest.mark.parametrize("changes", [{"returns_many": False}, {"effect": Effect.WRITE}])
def test_one_record_and_writes_have_no_virtual_parameters(make_tool: MakeTool, changes: dict[str, object]) -> None:
    tool = visible_tool(make_tool(**changes))
    assert tool.virtual == {}
    assert "focus" not in tool.schema.parameters["properties"]


def test_a_write_says_that_it_needs_approval(make_tool: MakeTool) -> None:
    assert "approval" in visible_tool(make_tool(effect=Effect.DESTRUCTIVE)).schema.description
    assert "approval" not in visible_tool(make_tool()).schema.description


def test_a_tool_without_properties_gets_an_object_schema(make_tool: MakeTool) -> None:
    schema = visible_tool(make_tool(parameters={})).schema.parameters
    assert schema["type"] == "object"
    assert set(schema["properties"]) == {"focus", "need", "at_most"}


def test_a_parameter_of_the_api_keeps_its_name_and_the_virtual_one_yields(make_tool: MakeTool) -> None:
    own = {"focus": {"type": "integer"}, "call_focus": {"type": "integer"}}
    tool = visible_tool(make_tool(parameters={"type": "object", "properties": own}))

    taken_apart = split_virtual_arguments(tool, {"focus": 3, "call_focus_": " what? ", "at_most": 5, "need": "compute"})

    assert tool.schema.parameters["properties"]["focus"] == {"type": "integer"}
    assert taken_apart.api == {"focus": 3}
    assert (taken_apart.focus, taken_apart.need, taken_apart.at_most) == ("what?", "compute", 5)


def test_a_focus_of_white_space_is_none(make_tool: MakeTool) -> None:
    assert split_virtual_arguments(visible_tool(make_tool()), {"focus": "  "}).focus is None


def test_what_is_not_said_is_none(make_tool: MakeTool) -> None:
    parts = split_virtual_arguments(visible_tool(make_tool()), {"customer_id": 4})
    assert (parts.api, parts.focus, parts.need, parts.at_most) == ({"customer_id": 4}, None, None, None)


def test_arguments_named_like_virtual_ones_stay_where_there_are_none(make_tool: MakeTool) -> None:
    tool = visible_tool(make_tool(returns_many=False))
    assert split_virtual_arguments(tool, {"focus": "lens", "": 1}).api == {"focus": "lens", "": 1}


@given(st.sets(st.sampled_from(["focus", "need", "at_most", "call_focus", "call_need", "call_at_most_", "x"])))
def test_virtual_names_never_clash_with_the_apis_or_with_each_other(own: set[str]) -> None:
    names = virtual_parameter_names(own)
    assert not own & set(names.values())
    assert len(set(names.values())) == 3
