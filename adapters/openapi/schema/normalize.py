"""Normalizes schemas of OpenAPI 2.0, 3.0 and 3.1 to JSON Schema 2020-12, dropping invalid keywords.

Subschemas and references are converted by the caller (`inline`, `openapi_core`).
"""

import math
import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TypeAlias

from adapters.base import Json, JsonObject
from adapters.json_text import compact_json
from adapters.openapi.document.document import DocumentNode
from adapters.openapi.operation.media_types import BodyFormat, body_format

_BOOLEAN_TEXTS = {"true": True, "false": False}
_MAX_LISTED_VALUES = 20


class NotConvertible(Exception):
    """A value cannot be converted to the type."""


def copy_values(fields: JsonObject, out: JsonObject) -> None:
    """Copy `enum`, `const` and `default`; `out` has its type and description already.

    An enumeration without a single valid value is listed in the description.
    """
    kinds = _as_list(out.get("type"))
    listed = fields.get("enum")
    if isinstance(listed, list) and listed:
        _copy_enum(listed, kinds, out)
    if "const" in fields:
        out["const"] = fields["const"]
    if fields.get("default") is not None:
        valid = _convert_all([fields["default"]], kinds)
        out |= {"default": valid[0]} if valid else {}


def item_values(fields: JsonObject) -> list[Json]:
    """Return the values of an array's items if the enumeration is declared at the array itself."""
    listed = fields.get("enum")
    if not isinstance(listed, list) or any(isinstance(value, list) for value in listed):
        return []
    return list({compact_json(value): value for value in listed}.values())


def _copy_enum(listed: list[Json], kinds: list[str], out: JsonObject) -> None:
    valid = _convert_all(listed, kinds)
    if valid:
        out["enum"] = list({compact_json(value): value for value in valid}.values())
    elif kinds != ["array"]:
        text = f"Values: {', '.join(compact_json(value) for value in listed[:_MAX_LISTED_VALUES])}"
        out["description"] = f"{out['description']} {text}" if "description" in out else text


def _as_list(kind: Json) -> list[str]:
    return kind if isinstance(kind, list) else [kind] if isinstance(kind, str) else []


def _convert_all(values: Iterable[Json], kinds: list[str]) -> list[Json]:
    """Convert values to one of the types and drop those that fit none. Null is always kept."""
    if not kinds:
        return list(values)
    found = []
    for value in values:
        try:
            found.append(value if value is None else _convert(value, kinds))
        except NotConvertible:
            continue
    return found if any(value is not None for value in found) or "null" in kinds else []


def _convert(value: Json, kinds: list[str]) -> Json:
    if any(_is_type(value, kind) for kind in kinds):
        return value
    for kind in kinds:
        try:
            return _convert_to(value, kind)
        except NotConvertible:
            continue
    raise NotConvertible


def _is_type(value: Json, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return value is None


def _convert_to(value: Json, kind: str) -> Json:
    """Convert a value to a type. Raises NotConvertible."""
    if kind == "string" and isinstance(value, int | float):
        return compact_json(value)
    if kind == "boolean" and isinstance(value, str) and value.lower() in _BOOLEAN_TEXTS:
        return _BOOLEAN_TEXTS[value.lower()]
    if kind in ("integer", "number") and isinstance(value, str):
        return _parse_number(value, kind)
    raise NotConvertible


def _parse_number(text: str, kind: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise NotConvertible from None
    if kind == "integer" or not math.isfinite(number):
        raise NotConvertible
    return number


ConvertChild: TypeAlias = Callable[[DocumentNode], JsonObject]
"""Converts a subschema to JSON Schema."""


class Direction(StrEnum):
    """Direction of the data: `readOnly` members are not sent, `writeOnly` ones are not received."""

    REQUEST = "request"
    RESPONSE = "response"


_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_TYPE_ALIASES = {
    "file": "string", "str": "string", "text": "string", "uuid": "string", "date": "string", "datetime": "string",
    "date-time": "string", "uri": "string", "binary": "string", "int": "integer", "int32": "integer",
    "int64": "integer", "long": "integer", "float": "number", "double": "number", "decimal": "number",
    "bool": "boolean", "list": "array", "map": "object", "dict": "object",
}  # fmt: skip
_SINGLE_SCHEMA = (
    "items", "not", "additionalProperties", "contains", "propertyNames", "if", "then", "else", "unevaluatedItems",
    "unevaluatedProperties",
)  # fmt: skip
_SCHEMA_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMA = (dict, bool)
_SCHEMA_MAP = ("properties", "patternProperties", "dependentSchemas")
_SUBSCHEMA_ORDER = {key: order for order, key in enumerate((*_SINGLE_SCHEMA, *_SCHEMA_LIST, *_SCHEMA_MAP))}
"""The keywords with subschemas, in output order."""
_KEYWORDS_BY_TYPE = {
    "object": ("properties", "patternProperties", "required", "additionalProperties", "propertyNames"),
    "array": ("items", "prefixItems", "contains"),
}
"""Keywords that only apply to values of one type."""
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "multipleOf")
_BOUNDS = frozenset((*_COUNTS, *_NUMBERS, "exclusiveMinimum", "exclusiveMaximum", "uniqueItems"))
_HIDDEN_IN = {Direction.REQUEST: "readOnly", Direction.RESPONSE: "writeOnly"}
_NESTED_REPEAT = re.compile(r"\)[*+{]")
_SET_OPERATIONS = re.compile(r"\[\[|--|&&|~~|\|\|")
"""Set operations of other dialects, which Python reads as characters, with a warning."""
_MAX_PATTERN = 200
_BINARY_FORMATS = (None, BodyFormat.BYTES)


def normalize_schema(node: DocumentNode, direction: Direction, convert_child: ConvertChild) -> JsonObject:
    """Normalize the schema at a node (no reference), with each subschema converted by `convert_child`."""
    if node.value is False:
        return {"not": {}}
    fields = node.fields
    out: JsonObject = {}
    for text in ("description", "format"):
        stated = fields.get(text)
        if isinstance(stated, str) and (words := stated.strip()):
            out[text] = words
    _copy_type(fields, out)
    if "enum" in fields or "default" in fields or "const" in fields:
        copy_values(fields, out)
    if not _BOUNDS.isdisjoint(fields):
        _copy_bounds(fields, out)
    if "pattern" in fields:
        _copy_pattern(fields, out)
    if "required" in fields or not _SUBSCHEMA_ORDER.keys().isdisjoint(fields):
        _copy_subschemas(node, direction, convert_child, out)
    if _is_array(out):
        _complete_items(fields, out)
    if "contentMediaType" in fields and "contentEncoding" not in fields and _is_binary(fields["contentMediaType"]):
        out.setdefault("format", "binary")
    return make_nullable(out) if allows_null(fields) else out


def allows_null(fields: JsonObject) -> bool:
    """Whether a schema allows null in addition to its type: `nullable` of 3.0, or `x-nullable`."""
    return fields.get("nullable") is True or fields.get("x-nullable") is True


def _is_binary(media_type: Json) -> bool:
    """Whether the content media type of a string is binary."""
    return isinstance(media_type, str) and body_format(media_type) in _BINARY_FORMATS


def make_nullable(schema: JsonObject) -> JsonObject:
    """Return a schema that also allows null."""
    kind = schema.get("type")
    if isinstance(kind, str):
        schema = schema | {"type": kind if kind == "null" else [kind, "null"]}
    elif isinstance(kind, list):
        schema = schema | {"type": [*kind, *(["null"] if "null" not in kind else [])]}
    if "enum" in schema and None not in schema["enum"]:
        schema = schema | {"enum": [*schema["enum"], None]}
    for branches in ("anyOf", "oneOf"):
        if branches in schema:
            return schema | {branches: [*schema[branches], {"type": "null"}]}
    if "$ref" in schema or "allOf" in schema or "const" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return schema


def is_hidden(fields: JsonObject, direction: Direction) -> bool:
    """Whether a member is not sent in this direction."""
    return fields.get(_HIDDEN_IN[direction]) is True


def _copy_type(fields: JsonObject, out: JsonObject) -> None:
    stated = fields.get("type")
    if isinstance(stated, str) and stated in _TYPES:
        out["type"] = stated
        return
    named = stated if isinstance(stated, list) else [stated]
    types = [kind for name in named if isinstance(name, str) and (kind := _known_type(name)) in _TYPES]
    unique = list(dict.fromkeys(types))
    if unique:
        out["type"] = unique[0] if len(unique) == 1 else unique
    elif isinstance(fields.get("properties"), dict) and not any(key in fields for key in _SCHEMA_LIST):
        out["type"] = "object"


def _known_type(name: str) -> str:
    return name if name in _TYPES else _TYPE_ALIASES.get(name.lower(), name.lower())


def _is_array(schema: JsonObject) -> bool:
    kind = schema.get("type")
    return kind == "array" or (isinstance(kind, list) and "array" in kind)


def _complete_items(fields: JsonObject, out: JsonObject) -> None:
    """Add `items` to an array, which model providers require; any value if the document does not say."""
    out.setdefault("items", {})
    listed = item_values(fields)
    if listed and "enum" not in out["items"]:
        out["items"] = out["items"] | {"enum": listed}


def _copy_bounds(fields: JsonObject, out: JsonObject) -> None:
    for key in _COUNTS:
        value = fields.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            out[key] = value
    for key in _NUMBERS:
        if _is_type(fields.get(key), "number"):
            out[key] = fields[key]
    if out.get("multipleOf", 1) <= 0:
        del out["multipleOf"]
    for key, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if fields.get(key) is True and bound in out:
            out[key] = out.pop(bound)
        elif _is_type(fields.get(key), "number"):
            out[key] = fields[key]
    if fields.get("uniqueItems") is True:
        out["uniqueItems"] = True


def _copy_pattern(fields: JsonObject, out: JsonObject) -> None:
    """Copy a pattern that Python supports and that is cheap to match; list any other in the description."""
    pattern = fields.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        return
    is_safe = len(pattern) <= _MAX_PATTERN and not _NESTED_REPEAT.search(pattern)
    if is_safe and not _SET_OPERATIONS.search(pattern) and _compiles(pattern):
        out["pattern"] = pattern
    else:
        text = f"Pattern: {pattern[:_MAX_PATTERN]}"
        out["description"] = f"{out['description']} {text}" if "description" in out else text


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _copy_subschemas(node: DocumentNode, direction: Direction, convert_child: ConvertChild, out: JsonObject) -> None:
    fields = node.fields
    for key in sorted(_SUBSCHEMA_ORDER.keys() & fields.keys(), key=_SUBSCHEMA_ORDER.__getitem__):
        if key in _SCHEMA_MAP:
            if isinstance(fields[key], dict):
                out[key] = _convert_members(node.child(key), direction, convert_child)
        elif key in _SCHEMA_LIST:
            branches = [
                convert_child(child) for child in node.child(key).children() if isinstance(child.value, _SCHEMA)
            ]
            out |= {key: branches} if branches else {}
        else:
            _copy_subschema(key, node.child(key), convert_child, out)
    if "required" in fields:
        _copy_required(fields, direction, out)
    _drop_irrelevant(out)


def _copy_subschema(key: str, node: DocumentNode, convert_child: ConvertChild, out: JsonObject) -> None:
    if isinstance(node.value, dict):
        out[key] = convert_child(node)
    elif key != "items":
        out |= {key: node.value} if isinstance(node.value, bool) else {}
    elif isinstance(node.value, list) and node.value:
        out["prefixItems"] = [convert_child(item) for item in node.children()]


def _drop_irrelevant(out: JsonObject) -> None:
    """Drop keywords that do not apply to the type, and add members that are required but not described."""
    kind = out.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    for only, keys in _KEYWORDS_BY_TYPE.items() if kind is not None else ():
        if only not in kinds:
            for key in keys:
                out.pop(key, None)
    undescribed: JsonObject = {name: {} for name in out.get("required", ()) if name not in out.get("properties", {})}
    if undescribed and "properties" in out:
        out["properties"] = out["properties"] | undescribed


def _convert_members(node: DocumentNode, direction: Direction, convert_child: ConvertChild) -> JsonObject:
    visible = (
        (name, child)
        for name, child in node.members()
        if isinstance(child.value, _SCHEMA) and not is_hidden(child.fields, direction)
    )
    return {name: convert_child(child) for name, child in visible}


def _copy_required(fields: JsonObject, direction: Direction, out: JsonObject) -> None:
    listed = fields.get("required")
    if not isinstance(listed, list):
        return
    members = fields.get("properties")
    members = members if isinstance(members, dict) else {}
    stated = dict.fromkeys(name for name in listed if isinstance(name, str))
    names = [name for name in stated if not _is_hidden_member(members, name, direction)]
    if names:
        out["required"] = names


def _is_hidden_member(members: JsonObject, name: str, direction: Direction) -> bool:
    member = members.get(name)
    return isinstance(member, dict) and is_hidden(member, direction)
