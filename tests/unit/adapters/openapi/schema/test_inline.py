"""Schemas of every version, normalized, inlined for tools and bundled for validation."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.openapi.document.document import DocumentNode, DocumentNotLoaded, OpenApiDocument
from adapters.openapi.request.openapi_core import SchemaBundle
from adapters.openapi.schema.inline import Inliner
from adapters.openapi.schema.normalize import Direction

T = TypeVar("T")


def read(schema: Any, direction: Direction = Direction.REQUEST, **schemas: Any) -> Any:
    document = OpenApiDocument("file:///d.json", {"schema": schema, "components": {"schemas": schemas}})
    [out], _ = alone(document, lambda: Inliner(document, direction).inline([document.root.child("schema")]))
    return out


def alone(document: OpenApiDocument, action: Callable[[], T]) -> T:
    """The result of `action` if the document is the only file."""
    while True:
        try:
            return action()
        except DocumentNotLoaded as other:
            document.mark_unavailable(other.uri, "there is no other file here")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "x-nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "contentMediaType": "image/png"}, {"type": "string", "format": "binary"}),
        ({"type": "string", "contentMediaType": "application/json"}, {"type": "string"}),
        ({"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64"}, {"type": "string"}),
        ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"nullable": True, "oneOf": [{"type": "string"}]}, {"oneOf": [{"type": "string"}, {"type": "null"}]}),
        ({"type": "string", "enum": []}, {"type": "string"}),
        ({"type": "string", "enum": [1, True, "x", "x"]}, {"type": "string", "enum": ["1", "true", "x"]}),
        ({"type": "integer", "minimum": 3, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 3}),
        ({"type": "integer", "exclusiveMaximum": 3}, {"type": "integer", "exclusiveMaximum": 3}),
        ({"type": "number", "multipleOf": 0, "maxLength": -1, "minimum": "3"}, {"type": "number"}),
        ({"type": "file"}, {"type": "string"}),
        ({"type": "nonsense"}, {}),
        ({"type": "object", "required": True, "properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({"properties": {"a": True}}, {"type": "object", "properties": {"a": {}}}),
        (
            {"type": "array", "items": [{"type": "string"}]},
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {}},
        ),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}),
        (
            {"type": "array", "items": {"type": "string"}, "enum": ["a", "b"]},
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        ),
        ({"type": "array", "default": "a,b"}, {"type": "array", "items": {}}),
        ({"type": "boolean", "enum": ["false", "true"]}, {"type": "boolean", "enum": [False, True]}),
        ({"type": "integer", "enum": ["1", 2, "x"]}, {"type": "integer", "enum": [1, 2]}),
        ({"type": "number", "enum": ["0.5", "nan"]}, {"type": "number", "enum": [0.5]}),
        (
            {"type": "integer", "enum": ["0 (off)", "1 (on)"], "description": "State."},
            {"type": "integer", "description": 'State. Values: "0 (off)", "1 (on)"'},
        ),
        ({"type": "boolean", "default": "false"}, {"type": "boolean", "default": False}),
        ({"type": "string", "default": 79}, {"type": "string", "default": "79"}),
        ({"type": "integer", "default": "inf"}, {"type": "integer"}),
        ({"type": "String"}, {"type": "string"}),
        ({"type": "DateTime"}, {"type": "string"}),
        ({"type": "string", "properties": {"a": {}}, "required": ["a"], "items": {}}, {"type": "string"}),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]},
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", "b"]},
        ),
        ({"type": "string", "pattern": "^a+$"}, {"type": "string", "pattern": "^a+$"}),
        ({"type": "string", "pattern": "(a+)+$"}, {"type": "string", "description": "Pattern: (a+)+$"}),
        ({"type": "string", "pattern": "^[[a-z]]$"}, {"type": "string", "description": "Pattern: ^[[a-z]]$"}),
        ({"type": "string", "pattern": r"\p{L}"}, {"type": "string", "description": r"Pattern: \p{L}"}),
        ({"type": "string", "x-extra": None, "example": 3, "xml": {}}, {"type": "string"}),
        (False, {"not": {}}),
        (None, {}),
        (7, {}),
    ],
)
def test_keywords_of_all_versions_are_normalized(written, meant):
    assert read(written) == meant


def test_read_only_and_write_only_members_have_a_direction():
    schema = {
        "type": "object",
        "required": ["id", "password", "name"],
        "properties": {"id": {"readOnly": True}, "password": {"writeOnly": True}, "name": {}},
    }
    sent, received = read(schema), read(schema, Direction.RESPONSE)
    assert (set(sent["properties"]), sent["required"]) == ({"password", "name"}, ["password", "name"])
    assert (set(received["properties"]), received["required"]) == ({"id", "name"}, ["id", "name"])


def test_consistent_all_of_parts_are_merged():
    base = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    schema = {"description": "Both.", "allOf": [{"$ref": "#/components/schemas/Base"}, {"properties": {"b": {}}}]}
    both = read(schema, Base=base)
    assert (set(both["properties"]), both["required"], both["description"]) == ({"a", "b"}, ["a"], "Both.")
    assert "allOf" not in both


def test_a_part_may_require_a_member_of_another_part():
    base = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = {"allOf": [{"type": "object", "properties": {"b": {}}, "required": ["a"]}, base]}
    assert read(schema) == {"type": "object", "properties": {"b": {}, "a": {"type": "string"}}, "required": ["a"]}


def test_contradicting_all_of_parts_are_kept():
    assert read({"allOf": [{"type": "string"}, {"type": "integer"}]}) == {
        "type": "string",
        "allOf": [{"type": "integer"}],
    }


def test_fields_beside_a_reference_are_kept():
    schema = {"$ref": "#/components/schemas/S", "description": "Mine.", "nullable": True}
    assert read(schema, S={"type": "string", "description": "Yours."}) == {
        "type": ["string", "null"],
        "description": "Mine.",
    }


def test_recursion_is_cut_and_lists_the_members():
    tree = {"type": "object", "properties": {"name": {"type": "string"}, "child": {"$ref": "#/components/schemas/T"}}}
    out = read({"$ref": "#/components/schemas/T"}, T=tree)
    assert out["properties"]["child"] == {"type": "object", "description": "Members: name, child."}


def test_a_self_reference_allows_any_value():
    document = OpenApiDocument("file:///d.json", {"a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}})
    [out], broken = Inliner(document, Direction.REQUEST).inline([document.root.child("a")])
    assert out == {}
    assert "circular" in broken[0].reason


def test_escaped_pointers_are_resolved():
    document = OpenApiDocument(
        "file:///d.json",
        {"paths": {"/a/{b}": {"x~y": {"type": "integer"}}}, "s": {"$ref": "#/paths/~1a~1%7Bb%7D/x~0y"}},
    )
    [out], broken = Inliner(document, Direction.REQUEST).inline([document.root.child("s")])
    assert (out, broken) == ({"type": "integer"}, [])


def references_in(schema: Any) -> Any:
    """Every `$ref` at the place of a schema; values may contain anything."""
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for key, value in schema.items():
            if key not in ("default", "const", "enum"):
                yield from references_in(list(value.values()) if key == "properties" else value)
    elif isinstance(schema, list):
        for item in schema:
            yield from references_in(item)


KEYWORDS = [
    *("properties", "items", "allOf", "anyOf", "oneOf", "not", "required", "enum", "type", "nullable", "minimum"),
    *("exclusiveMinimum", "pattern", "default", "additionalProperties", "$ref", "description", "const", "maxLength"),
]
names = st.sampled_from(["A", "B", "C"])
references = names.map(lambda name: {"$ref": f"#/components/schemas/{name}"})
wild = st.recursive(
    st.one_of(
        references,
        st.none(),
        st.booleans(),
        st.integers(),
        st.text(max_size=3),
        st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "array", "int", 3, None])}),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(KEYWORDS),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=25,
)


@settings(deadline=None)
@given(schema=wild, a=wild, b=wild)
def test_any_schema_is_inlined_to_valid_json_schema(schema, a, b):
    out = read(schema, A=a, B=b)
    jsonschema.Draft202012Validator.check_schema(out)
    json.dumps(out)
    assert not list(references_in(out))


@settings(deadline=None)
@given(schema=wild, a=wild, b=wild)
def test_a_bundle_is_self_contained_and_valid(schema, a, b):
    document = OpenApiDocument("file:///d.json", {"s": schema, "components": {"schemas": {"A": a, "B": b}}})

    def bundled() -> tuple[Any, dict[str, Any]]:
        bundle = SchemaBundle(document, Direction.RESPONSE)
        return bundle.schema(DocumentNode(schema, document.uri, "/s")), bundle.components()

    whole, parts = alone(document, bundled)
    jsonschema.Draft202012Validator.check_schema(whole)
    for part in parts.values():
        jsonschema.Draft202012Validator.check_schema(part)


def test_a_closed_part_accepts_members_of_other_parts():
    schemas = {
        "Base": {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        "Whole": {
            "allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object", "properties": {"b": {}}}],
            "additionalProperties": False,
        },
        "Both": {"type": "object", "properties": {"w": {"$ref": "#/components/schemas/Whole"}}},
    }
    document = OpenApiDocument("file:///d.json", {"components": {"schemas": schemas}})
    bundle = SchemaBundle(document, Direction.REQUEST)
    both = bundle.schema(DocumentNode({"$ref": "#/components/schemas/Both"}, document.uri, "/s"))
    base = bundle.schema(DocumentNode({"$ref": "#/components/schemas/Base"}, document.uri, "/t"))
    whole = {"components": {"schemas": bundle.components()}}
    fits = [
        (both, {"w": {"a": 1, "b": 2}}, True),
        (both, {"w": {"a": 1, "c": 2}}, False),
        (base, {"a": 1}, True),
        (base, {"a": 1, "b": 2}, False),
    ]
    for schema, value, is_fit in fits:
        assert jsonschema.Draft202012Validator(whole | schema).is_valid(value) is is_fit


def test_a_required_undescribed_member_of_a_part_is_allowed():
    schema = {"allOf": [{"type": "object", "required": ["b"]}, {"properties": {"a": {}}, "required": ["a"]}]}
    assert read(schema) == {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b", "a"]}
