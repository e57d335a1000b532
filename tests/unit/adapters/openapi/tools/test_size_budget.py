"""Shrinking of tools to their size budget."""

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.openapi.tools.size_budget import MAX_CHARACTERS, ToolSizeBudget, clip_text, size_of

# Repetition makes long texts and enums without drawing each of their characters.
texts = st.builds(lambda text, times: text * times, st.text(max_size=10), st.integers(0, 40))
enums = st.builds(lambda text, count: [f"{text}{n}" for n in range(count)], st.text(max_size=10), st.integers(1, 60))
leaves = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer"])}, optional={"description": texts, "enum": enums}
)
names = st.text(min_size=1, max_size=8)


def nested(inner: st.SearchStrategy) -> st.SearchStrategy:
    members = st.dictionaries(names, inner, max_size=6)
    return st.one_of(
        st.builds(
            lambda properties, words: {"type": "object", "properties": properties, "description": words}, members, texts
        ),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=3)),
    )


schemas = st.recursive(leaves, nested, max_leaves=15)
tools = st.builds(
    lambda properties: {"type": "object", "properties": properties, "additionalProperties": False},
    st.dictionaries(names, schemas, max_size=6),
)


@settings(deadline=None)
@given(tools, st.sampled_from([400, 2_000, MAX_CHARACTERS]))
def test_a_tool_with_optional_arguments_always_fits(tool, allowance):
    small, gone = ToolSizeBudget().fit(tool, allowance)
    assert size_of(small) <= allowance
    jsonschema.Draft202012Validator.check_schema(small)
    assert set(small["properties"]) | set(gone) == set(tool["properties"])


@given(tools)
def test_a_tool_that_fits_is_unchanged(tool):
    if size_of(tool) <= MAX_CHARACTERS:
        assert ToolSizeBudget().fit(tool) == (tool, ())


@settings(deadline=None)
@given(schemas, st.sampled_from([None, 0, 1, 2, 3]), st.sampled_from([0, 20, 100]))
def test_the_computed_size_equals_the_shrunk_size(schema, depth, words):
    fitter = ToolSizeBudget()
    assert fitter.shrunk_size(schema, depth, words) == size_of(fitter.shrink(schema, depth, words))


def test_descriptions_are_shortened_before_structure():
    inner = {"type": "object", "properties": {"deep": {"type": "object", "properties": {"x": {"type": "integer"}}}}}
    tool = {"type": "object", "properties": {"a": inner | {"description": "many words " * 100}}}
    small, gone = ToolSizeBudget().fit(tool, 500)
    assert small["properties"]["a"]["properties"] == inner["properties"]
    assert small["properties"]["a"]["description"].endswith("…")
    assert gone == ()


def test_a_cut_structure_lists_its_members():
    deep = {"type": "object", "properties": {f"member_{n}": {"type": "string"} for n in range(60)}}
    tool = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": deep}}}}
    small, _ = ToolSizeBudget().fit(tool, 600)
    assert "member_0, member_1" in small["properties"]["a"]["properties"]["b"]["description"]
    assert small["properties"]["a"]["properties"]["b"]["type"] == "object"


def test_required_arguments_are_kept():
    tool = {
        "type": "object",
        "properties": {f"argument_{n}": {"type": "string"} for n in range(50)},
        "required": ["argument_49"],
    }
    small, gone = ToolSizeBudget().fit(tool, 400)
    assert "argument_49" in small["properties"]
    assert "argument_48" in gone


@given(st.text(max_size=400), st.integers(0, 200))
def test_a_clipped_text_is_a_prefix_within_the_length(text, length):
    short = clip_text(text, length)
    assert len(short) <= max(length, 0) or short == ""
    assert " ".join(text.split()).startswith(short.rstrip("…").rstrip())


def test_words_are_not_split():
    assert clip_text("one two three", 9) == "one two…"
    assert ToolSizeBudget().shrink({"description": "one two three"}, None, 0) == {}
