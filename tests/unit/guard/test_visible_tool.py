"""The tool schema of the model: short descriptions, and virtual parameters that the API never gets."""

from collections.abc import Callable

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Effect, ToolSpec
from runax_cli.guard.visible_tool import (
    shorten,
    shorten_schema,
    split_virtual_arguments,
    virtual_parameter_names,
    visible_tool,
)

MakeTool = Callable[..., ToolSpec]


def test_a_tool_of_many_records_has_three_virtual_parameters(make_tool: MakeTool) -> None:
    schema = visible_tool(make_tool()).schema.parameters

    assert list(schema["properties"]) == ["customer_id", "status", "since", "focus", "need", "at_most"]
    assert schema["required"] == ["customer_id"]
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_tool_itself_is_not_changed(make_tool: MakeTool) -> None:
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


def test_a_virtual_parameter_yields_its_name_to_the_api(make_tool: MakeTool) -> None:
    own = {"focus": {"type": "integer"}, "call_focus": {"type": "integer"}}
    tool = visible_tool(make_tool(parameters={"type": "object", "properties": own}))

    arguments = split_virtual_arguments(tool, {"focus": 3, "call_focus_": " what? ", "at_most": 5, "need": "compute"})

    assert tool.schema.parameters["properties"]["focus"] == {"type": "integer"}
    assert arguments.api == {"focus": 3}
    assert (arguments.focus, arguments.need, arguments.at_most) == ("what?", "compute", 5)


def test_a_blank_focus_is_none(make_tool: MakeTool) -> None:
    assert split_virtual_arguments(visible_tool(make_tool()), {"focus": "  "}).focus is None


def test_missing_virtual_arguments_are_none(make_tool: MakeTool) -> None:
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


texts = st.text(st.sampled_from("ab .,!?()žé日本。…\n\t"), max_size=120)


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [
        ("short", 10, "short"),
        ("two\n  lines", 20, "two lines"),
        ("One sentence. And another one.", 20, "One sentence."),
        ("See. A long sentence that goes on", 20, "See. A long…"),
        ("alpha, beta, gamma", 13, "alpha, beta…"),
        ("supercalifragilistic", 10, "…"),
        ("日本語の説明文です", 5, "日本語の…"),
        ("anything", 0, ""),
    ],
)
def test_a_text_is_cut_after_a_sentence_or_a_word(text: str, most: int, kept: str) -> None:
    assert shorten(text, most) == kept


@given(texts, st.integers(0, 60))
def test_a_cut_text_never_ends_inside_a_word(text: str, most: int) -> None:
    kept, line = shorten(text, most), " ".join(text.split())
    assert len(kept) <= most
    if kept == line:
        return
    stem = kept.removesuffix("…") if not line.startswith(kept) else kept
    assert line.startswith(stem)
    following = line[len(stem) : len(stem) + 1]
    assert not stem or following in " ,;:(-" or ord(stem[-1]) >= 0x2E80 or stem[-1] in ".!?…"


@given(texts)
def test_a_text_that_fits_is_kept(text: str) -> None:
    assert shorten(text, len(text)) == " ".join(text.split())


def test_only_descriptions_are_cut_at_any_depth() -> None:
    long = "word " * 100
    schema = {
        "type": "object",
        "properties": {
            "description": {"type": "string", "enum": [long], "default": long},
            "list": {"type": "array", "items": {"description": long}},
            "either": {"anyOf": [{"description": long}, {"description": "short"}]},
        },
    }
    cut = shorten_schema(schema, 20)
    properties = cut["properties"]
    assert properties["description"] == schema["properties"]["description"]  # type: ignore[index]
    assert properties["list"]["items"]["description"] == "word word word word…"
    assert [one["description"] for one in properties["either"]["anyOf"]] == ["word word word word…", "short"]


def test_redundant_titles_are_removed() -> None:
    schema = {
        "title": "list_notesArguments",
        "properties": {
            "start_index": {"title": "Start Index", "type": "integer"},
            "title": {"title": "Heading", "type": "string"},
            "q": {"title": "Query", "description": "words"},
            "by": {"anyOf": [{"title": "An id", "type": "integer"}, {"type": "string"}]},
        },
    }
    assert shorten_schema(schema) == {
        "properties": {
            "start_index": {"type": "integer"},
            "title": {"title": "Heading", "type": "string"},
            "q": {"description": "words"},
            "by": {"anyOf": [{"title": "An id", "type": "integer"}, {"type": "string"}]},
        }
    }
