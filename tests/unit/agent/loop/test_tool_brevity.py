"""Tools in short keep what a call needs."""

from adapters.base import ToolSpec
from runax_cli.agent.loop.toolbox import ToolBrevity
from runax_cli.guard.duplicates import data_fingerprint
from runax_cli.guard.visible_tool import SplitArguments, visible_tool

PARAMETERS = {
    "type": "object",
    "properties": {
        "team": {"type": "integer", "description": "The number of the team that owns the records, as in its address."},
        "status": {"type": "string", "enum": ["open", "closed"], "description": "What has become of it until today."},
    },
    "required": ["team"],
}
TOOLS = {
    name: visible_tool(
        ToolSpec(name=name, description="Things.", parameters=PARAMETERS, source="s", locator=name, returns_many=True)
    )
    for name in ("list_a", "list_b")
}
A, B = (tool.schema for tool in TOOLS.values())


def test_a_tool_that_the_plan_does_not_name_keeps_required_arguments_and_values() -> None:
    brevity = ToolBrevity(tools=TOOLS, datasets={}, planned=frozenset({"list_a"}))
    short = brevity.schema(B, ())
    assert brevity.schema(A, ()) == A
    assert list(short.parameters["properties"]) == short.parameters["required"] == ["team"]
    assert short.parameters["additionalProperties"] is True
    assert "status open|closed" in short.description


def test_without_a_plan_all_tools_are_whole_until_a_call() -> None:
    brevity = ToolBrevity(tools=TOOLS, datasets={})
    assert (brevity.schema(A, ()), brevity.schema(B, ())) == (A, B)


def test_a_tool_whose_data_is_in_a_dataset_names_it() -> None:
    key = data_fingerprint("list_a", SplitArguments(api={}))
    assert (
        ToolBrevity(tools=TOOLS, datasets={key: "a_1"})
        .schema(A, ())
        .description.startswith("All its records are in a_1.")
    )
