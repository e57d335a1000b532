"""What schemas of tools say of paging, however generators write them: by reference, or null, or both."""

from typing import Any

import pytest

from adapters.mcp.tools import arguments_of, placed, without

PAGE = {"type": "integer", "default": 1}
MAYBE = {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
PAGES = {"type": "object", "properties": {"page": MAYBE, "size": {"$ref": "#/$defs/Size"}}}
SORTED = {"type": "object", "properties": {"page": PAGE, "sort": {"type": "string"}}}
NULL = {"type": "null"}
DEFS = {"Pages": PAGES, "Size": {"type": "integer"}, "Sorted": SORTED, "Self": {"$ref": "#/$defs/Self"}}


def schema(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"pages": value}, "$defs": DEFS}


@pytest.mark.parametrize(
    "value",
    [
        PAGES,
        {"$ref": "#/$defs/Pages"},
        {"anyOf": [{"$ref": "#/$defs/Pages"}, NULL], "default": None},
        {"oneOf": [NULL, PAGES]},
        {"allOf": [{"$ref": "#/$defs/Pages"}], "description": "Where to go on"},
    ],
)
def test_members_of_an_object_are_found_and_hidden_however_it_is_written(value: dict[str, Any]) -> None:
    written = schema(value)
    assert {"pages/page", "pages/size"} <= arguments_of(written).keys()
    assert arguments_of(written)["pages/size"]["type"] == "integer"
    assert without(written, ("pages/page", "pages/size"))["properties"] == {}
    assert placed({}, {"pages/page": 2}, written) == {"pages": {"page": 2}}


@pytest.mark.parametrize(
    "value", [SORTED, {"anyOf": [{"$ref": "#/$defs/Sorted"}, NULL]}, {"anyOf": [SORTED, NULL], "default": None}]
)
def test_what_stands_beside_hidden_members_stays(value: dict[str, Any]) -> None:
    left = without(schema(value), ("pages/page",))["properties"]["pages"]
    assert left["properties"] == {"sort": {"type": "string"}}


@pytest.mark.parametrize(
    "value",
    [
        {"$ref": "#/$defs/Self"},
        {"$ref": "#/nowhere"},
        {"anyOf": [PAGES, SORTED]},
        {"anyOf": "odd"},
        {"anyOf": [{"type": "string"}, NULL]},
    ],
)
def test_what_is_no_object_for_sure_is_left_as_it_is(value: dict[str, Any]) -> None:
    written = schema(value)
    assert list(arguments_of(written)) == ["pages"]
    assert without(written, ())["properties"] == {"pages": value}
