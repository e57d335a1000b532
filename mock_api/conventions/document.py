"""What the OpenAPI document and the MCP tool say of a collection: its arguments, and the shape of its answers.

Honest as documents are: the truth about a server that does not lie. Knows JSON Schema and OpenAPI 3.1.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from mock_api.arguments import JsonObject
from mock_api.conventions.page import Ask, Told, spelling_of
from mock_api.conventions.spelling import Addressing, End, Flag, Marker, Spelling
from mock_api.conventions.style import ARGUMENT_KINDS, Collection
from mock_api.conventions.wording import answer

_POSITIONS = {
    Addressing.OFFSET: ("integer", "How many things to skip before the page."),
    Addressing.PAGE: ("integer", "Number of the page."),
    Addressing.TOKEN: ("string", "Where to go on, as the answer before said; leave it out for the first page."),
    Addressing.KEY: ("integer", "Only things that come after the one with this id, in ascending order."),
    Addressing.KEY_DESCENDING: ("integer", "Only things with an id below this one, the newest first."),
    Addressing.SORT_VALUES: ("array", "The `sort` values of the last hit of the page before."),
}


@dataclass(frozen=True, slots=True)
class Declared:
    """One argument of an operation. `path` is its name, or for a member of the body the names down to it."""

    path: str
    place: Literal["query", "body", "header"]
    schema: JsonObject


def declared(collection: Collection, *, is_position_shown: bool = False) -> tuple[Declared, ...]:
    """The arguments, the caller's own first; a position that stands in URLs only where `is_position_shown`."""
    spelling = spelling_of(collection)
    arguments = list(_declared(collection, spelling, is_position_shown=is_position_shown))
    if collection.is_described:
        return tuple(arguments)
    return tuple(
        replace(each, schema={k: v for k, v in each.schema.items() if k != "description"}) for each in arguments
    )


def _declared(collection: Collection, spelling: Spelling, *, is_position_shown: bool) -> Iterator[Declared]:
    place: Literal["query", "body"] = "body" if spelling.method == "POST" else "query"
    kind = {"type": "string", "enum": list(ARGUMENT_KINDS), "description": "Only things of this kind."}
    yield Declared(collection.names.get("kind", "kind"), place, kind)
    if spelling.position and (is_position_shown or not spelling.is_position_hidden):
        yield Declared(spelling.position, place, _position(spelling, spelling.addressing))
    if spelling.second_position:
        yield Declared(spelling.second_position, place, _position(spelling, Addressing.PAGE))
    if spelling.size:
        yield Declared(spelling.size, place, _size(collection))
    if spelling.total_flag:
        text = "Whether the answer tells how many things there are in all."
        yield Declared(spelling.total_flag[0], place, {"type": "boolean", "default": False, "description": text})
    if spelling.figures_flag:
        yield Declared(spelling.figures_flag[0], place, _figures_flag(spelling.figures_flag))
    if spelling.addressing is Addressing.RANGE:
        yield Declared("Range", "header", {"type": "string", "description": "Things to return, as `items=0-24`."})
        text = "`count=exact` counts all things, in `Content-Range`."
        yield Declared("Prefer", "header", {"type": "string", "description": text})


def _position(spelling: Spelling, addressing: Addressing) -> JsonObject:
    kind, text = _POSITIONS[addressing]
    if addressing is Addressing.SORT_VALUES:
        return {"type": kind, "items": {}, "description": text}
    if addressing not in (Addressing.OFFSET, Addressing.PAGE):
        return {"type": kind, "description": text}
    if addressing is Addressing.OFFSET and spelling.first:
        text = "Index of the first thing of the page, counted from 1."
    return {"type": kind, "minimum": spelling.first, "default": spelling.first, "description": text}


def _size(collection: Collection) -> JsonObject:
    schema: JsonObject = {"type": "integer", "minimum": 1, "default": collection.default_size}
    if collection.cap is not None:
        schema["maximum"] = collection.cap
    if collection.sizes:
        schema["enum"] = list(collection.sizes)
    return {**schema, "description": "Most things on a page."}


def _figures_flag(flag: Flag) -> JsonObject:
    value = flag[1]
    text = "Return only how many things there are, and no things."
    if isinstance(value, bool):
        return {"type": "boolean", "default": False, "description": text}
    return {"type": "string", "enum": [value, "results"], "default": "results", "description": f"`{value}`: {text}"}


def input_schema(arguments: tuple[Declared, ...]) -> JsonObject:
    """The arguments as one JSON Schema of type object; members of objects are nested."""
    schema: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
    for each in arguments:
        *outer, last = each.path.split("/") if each.place == "body" else [each.path]
        inner = schema
        for segment in outer:
            inner = inner["properties"].setdefault(segment, {"type": "object", "properties": {}})
        inner["properties"][last] = each.schema
    return schema


def example(collection: Collection) -> Told:
    """A first page of an honest server with more to come, from which the shape of answers is read."""
    spelling = spelling_of(collection)
    honest = replace(collection, lie=None, total=3, default_size=2, cap=2, clamp=None, sizes=())
    flags = {} if spelling.total_flag is None else dict([spelling.total_flag])
    headers = {"prefer": "count=exact"} if spelling.addressing is Addressing.RANGE else {}
    return answer(honest, Ask(arguments=flags, url=f"http://example.com{collection.path}", headers=headers))


def response_schema(collection: Collection) -> JsonObject:
    """The shape of a page's body."""
    spelling = spelling_of(collection)
    schema = schema_of(example(collection).body)
    if spelling.next and spelling.marker in (Marker.TOKEN, Marker.URL) and spelling.end is End.NULL:
        *outer, last = spelling.next.split("/")
        inner = schema
        for segment in outer:
            inner = inner["properties"][segment]
        inner["properties"][last] = {"type": ["string", "null"]}
    if spelling.figures_flag:
        schema["properties"][spelling.total or "total"] = {"type": "integer"}
    return schema


def schema_of(value: Any) -> JsonObject:
    """The JSON Schema of a value, from its first items."""
    match value:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case str():
            return {"type": "string"}
        case list():
            return {"type": "array", "items": schema_of(value[0]) if value else {}}
        case dict():
            return {"type": "object", "properties": {name: schema_of(each) for name, each in value.items()}}
        case _:
            return {}


def paths(collection: Collection) -> dict[str, JsonObject]:
    """The collection's part of `paths` in an OpenAPI document."""
    spelling = spelling_of(collection)
    operation = _operation(collection, declared(collection), spelling.method)
    item: JsonObject = {spelling.method.lower(): operation}
    if spelling.is_total_by_head:
        head = {**operation, "operationId": f"head_{collection.operation}"}
        item["head"] = {**head, "summary": "Only the headers, with the number of all things"}
    found = {collection.path: item}
    if spelling.count_path:
        found[f"{collection.path}/count"] = {"get": _count_operation(collection, spelling)}
    if spelling.next_route:
        found[f"{collection.path}/{spelling.next_route}"] = {"post": _next_operation(collection, spelling)}
    return found


def _operation(collection: Collection, arguments: tuple[Declared, ...], method: str) -> JsonObject:
    told = example(collection)
    statuses = ("200", "206") if told.status == 206 else ("200",)
    operation: JsonObject = {
        "operationId": collection.operation,
        "summary": "List things" if collection.is_described else "Things",
        "parameters": [
            {
                "name": each.path,
                "in": each.place,
                "schema": each.schema,
                "description": each.schema.get("description", ""),
            }
            for each in arguments
            if each.place != "body"
        ],
        "responses": {status: _response(response_schema(collection), tuple(told.headers)) for status in statuses},
    }
    if method == "POST":
        schema = input_schema(tuple(each for each in arguments if each.place == "body"))
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return operation


def _response(schema: JsonObject, headers: tuple[str, ...]) -> JsonObject:
    response: JsonObject = {"description": "A page of things.", "content": {"application/json": {"schema": schema}}}
    if headers:
        response["headers"] = {name: {"schema": {"type": "string"}} for name in headers}
    return response


def _count_operation(collection: Collection, spelling: Spelling) -> JsonObject:
    kept = tuple(each for each in declared(collection) if each.path not in (spelling.position, spelling.size))
    operation = _operation(collection, kept, "GET")
    name = spelling.count_path or "count"
    schema = {"type": "object", "properties": {name: {"type": "integer"}}}
    content = {"application/json": {"schema": schema}}
    return {
        **operation,
        "operationId": collection.operation.replace("list_", "count_", 1),
        "summary": "Count things",
        "responses": {"200": {"description": "How many things there are.", "content": content}},
    }


def _next_operation(collection: Collection, spelling: Spelling) -> JsonObject:
    text = "The `_scroll_id` of the answer before."
    position = Declared(spelling.position or "", "body", {"type": "string", "description": text})
    operation = _operation(collection, (position,), "POST")
    operation["requestBody"]["content"]["application/json"]["schema"]["required"] = [position.path]
    operation["requestBody"]["required"] = True
    return {**operation, "operationId": f"next_{collection.operation}", "summary": "The next page of a scroll"}
