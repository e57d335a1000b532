"""Flattening of object parameters."""

from adapters.base import JsonObject
from adapters.pagination import flatten_parameters

WHOLE: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}


def test_objects_are_flattened_and_kept() -> None:
    page = {
        "type": "object",
        "properties": {"limit": WHOLE, "deep": {"properties": {"er": {"properties": {"st": TEXT}}}}},
    }
    assert list(flatten_parameters({"page": page, "q": TEXT})) == [
        "page",
        "page/limit",
        "page/deep",
        "page/deep/er",
        "q",
    ]


def test_all_of_and_nullable_objects_are_flattened() -> None:
    optional = {"anyOf": [{"type": "object", "properties": {"a": TEXT}}, {"type": "null"}]}
    joined = {"allOf": [{"properties": {"b": TEXT}}, {"properties": {"c": TEXT}}]}
    assert set(flatten_parameters({"x": optional, "y": joined})) == {"x", "x/a", "y", "y/b", "y/c"}
