"""What an MCP tool's schemas say: its arguments as paging sees them, and the shape of its answers.

Knows JSON Schema as far as servers use it. Knows no session. References are followed inside the schema only.
"""

from collections.abc import Collection, Iterator, Mapping

from adapters.base import Json, JsonObject
from adapters.pagination import ResponseShape, flattened

_DEPTH = 3
_REFERENCES = 8
_MEMBERS_DEEP, _WIDEST = 2, 40


def arguments_of(schema: JsonObject) -> dict[str, JsonObject]:
    """Arguments by name, members of objects by their path (`page/limit`), references inside the schema followed."""
    return flattened({name: _followed(value, schema) for name, value in _properties(schema).items() if _is(value)})


def without(schema: JsonObject, hidden: Collection[str]) -> JsonObject:
    """The schema without the hidden arguments, of type object whatever the server left unsaid."""
    visible = {**schema, "type": "object", "properties": dict(_properties(schema))}
    for name in hidden:
        visible = _removed(visible, name.split("/") if name not in visible["properties"] else [name], schema)
    return visible


def placed(arguments: Mapping[str, Json], page: Mapping[str, Json], schema: JsonObject) -> JsonObject:
    """The arguments with those of a page, `page/limit` as a member of the object `page`."""
    sent: JsonObject = dict(arguments)
    for name, value in page.items():
        first, *rest = [name] if name in _properties(schema) else name.split("/")
        if rest:
            inner = sent.get(first)
            sent[first] = _with(dict(inner) if isinstance(inner, dict) else {}, rest, value)
        else:
            sent[first] = value
    return sent


def response_of(output: JsonObject | None) -> ResponseShape | None:
    """The shape of the answers; None where the server does not tell. `{"result": …}` is opened, as in the answers."""
    if not output:
        return None
    root, properties = output, _properties(output)
    if set(properties) == {"result"}:
        root = resolved(properties["result"], output)
    if root.get("type") == "array":
        return ResponseShape({}, is_list=True, item_members=_members_of_items(root, output))
    members = dict(_members(root, output, ()))
    lists = [resolved(value, output) for value in _properties(root).values() if isinstance(value, dict)]
    items = next((found for value in lists if (found := _members_of_items(value, output))), frozenset[str]())
    return ResponseShape(members, item_members=items) if members else None


def resolved(value: Json, root: JsonObject) -> JsonObject:
    """A schema with the reference that it may be followed; an empty one where it leads nowhere."""
    for _ in range(_REFERENCES):
        reference = value.get("$ref") if isinstance(value, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        node: Json = root
        for key in reference[2:].split("/"):
            node = node.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
        value = {**node, **{k: v for k, v in value.items() if k != "$ref"}} if isinstance(node, dict) else {}
    return value if isinstance(value, dict) else {}


def _followed(value: Json, root: JsonObject, depth: int = _MEMBERS_DEEP) -> JsonObject:
    """A schema with references followed in the members of objects too, as deep as paging looks."""
    schema = _opened(value, root)
    members = _properties(schema)
    if not depth or not members or len(members) > _WIDEST:
        return schema
    inner = {name: _followed(member, root, depth - 1) for name, member in members.items() if _is(member)}
    return {**schema, "properties": inner}


def _opened(value: Json, root: JsonObject) -> JsonObject:
    """A schema with its reference followed; of an object that may be null, as generators write it, the object."""
    schema = resolved(value, root)
    for key in ("anyOf", "oneOf", "allOf"):
        branches = [branch for part in schema.get(key) or () if (branch := resolved(part, root)).get("type") != "null"]
        if len(branches) == 1 and _properties(branches[0]):
            beside = {name: inner for name, inner in schema.items() if name not in (key, "default")}
            return {**branches[0], **beside}
    return schema


def _is(schema: Json) -> bool:
    return isinstance(schema, dict)


def type_of(schema: JsonObject) -> str:
    """The one type that a value has beside null; empty where there are several or none is named."""
    types = schema.get("type")
    if isinstance(types, list):
        real = [kind for kind in types if kind != "null"]
        return str(real[0]) if len(real) == 1 else ""
    if isinstance(types, str):
        return types
    branches = [b for key in ("anyOf", "oneOf") for b in schema.get(key) or () if isinstance(b, dict)]
    real = [b["type"] for b in branches if isinstance(b.get("type"), str) and b["type"] != "null"]
    return str(real[0]) if len(set(real)) == 1 else ""


def _properties(schema: JsonObject) -> Mapping[str, Json]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _members(schema: JsonObject, root: JsonObject, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, value in _properties(schema).items():
        inner = resolved(value, root)
        yield ".".join((*above, name)), type_of(inner)
        if len(above) + 1 < _DEPTH:
            yield from _members(inner, root, (*above, name))


def _members_of_items(schema: JsonObject, root: JsonObject) -> frozenset[str]:
    return frozenset(_properties(resolved(schema.get("items"), root))) if type_of(schema) == "array" else frozenset()


def _removed(schema: JsonObject, path: list[str], root: JsonObject) -> JsonObject:
    """The schema without the member at `path`; an object that is left without members goes with its last one."""
    first, *rest = path
    properties = dict(_properties(schema))
    if first not in properties:
        return schema
    inner = _removed(_opened(properties[first], root), rest, root) if rest else {}
    if rest and _properties(inner):
        return {**schema, "properties": {**properties, first: inner}}
    del properties[first]
    required = schema.get("required")
    left = {"required": [name for name in required if name != first]} if isinstance(required, list) else {}
    return {**schema, "properties": properties, **left}


def _with(target: JsonObject, path: list[str], value: Json) -> JsonObject:
    first, *rest = path
    inner = target.get(first)
    target[first] = _with(dict(inner) if isinstance(inner, dict) else {}, rest, value) if rest else value
    return target
