"""What the OpenAPI document and the MCP tool declare about a collection: its arguments and the shape of its responses.

The declaration is that of a correct server, regardless of the fault of the collection.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from mock_api.arguments import JsonObject
from mock_api.conventions.collection import RECORD_KINDS, Collection
from mock_api.conventions.request import ConventionRequest, ConventionResponse, spec_of
from mock_api.conventions.responses import page_response
from mock_api.conventions.spec import Addressing, ConventionSpec, Flag, LastMarker, NextMarker

_POSITIONS = {
    Addressing.OFFSET: ("integer", "How many things to skip before the page."),
    Addressing.PAGE: ("integer", "Number of the page."),
    Addressing.TOKEN: ("string", "Where to go on, as the answer before said; leave it out for the first page."),
    Addressing.KEY: ("integer", "Only things that come after the one with this id, in ascending order."),
    Addressing.KEY_DESCENDING: ("integer", "Only things with an id below this one, the newest first."),
    Addressing.SORT_VALUES: ("array", "The `sort` values of the last hit of the page before."),
}


@dataclass(frozen=True, slots=True)
class DeclaredArgument:
    """One argument of an operation. `path` is its name, or the path to a member of the body."""

    path: str
    location: Literal["query", "body", "header"]
    schema: JsonObject


def declared_arguments(collection: Collection, *, is_position_shown: bool = False) -> tuple[DeclaredArgument, ...]:
    """The arguments, the caller's filters first; a hidden position is included with `is_position_shown`."""
    spec = spec_of(collection)
    arguments = list(_declare(collection, spec, is_position_shown=is_position_shown))
    if collection.is_described:
        return tuple(arguments)
    return tuple(
        replace(each, schema={k: v for k, v in each.schema.items() if k != "description"}) for each in arguments
    )


def _declare(collection: Collection, spec: ConventionSpec, *, is_position_shown: bool) -> Iterator[DeclaredArgument]:
    location: Literal["query", "body"] = "body" if spec.method == "POST" else "query"
    kind = {"type": "string", "enum": list(RECORD_KINDS), "description": "Only things of this kind."}
    yield DeclaredArgument(collection.names.get("kind", "kind"), location, kind)
    if spec.position and (is_position_shown or not spec.is_position_hidden):
        yield DeclaredArgument(spec.position, location, _position(spec, spec.addressing))
    if spec.second_position:
        yield DeclaredArgument(spec.second_position, location, _position(spec, Addressing.PAGE))
    if spec.size:
        yield DeclaredArgument(spec.size, location, _size(collection))
    if spec.total_flag:
        text = "Whether the answer tells how many things there are in all."
        yield DeclaredArgument(spec.total_flag[0], location, {"type": "boolean", "default": False, "description": text})
    if spec.total_only_flag:
        yield DeclaredArgument(spec.total_only_flag[0], location, _total_only_flag(spec.total_only_flag))
    if spec.addressing is Addressing.RANGE:
        yield DeclaredArgument(
            "Range", "header", {"type": "string", "description": "Things to return, as `items=0-24`."}
        )
        text = "`count=exact` counts all things, in `Content-Range`."
        yield DeclaredArgument("Prefer", "header", {"type": "string", "description": text})


def _position(spec: ConventionSpec, addressing: Addressing) -> JsonObject:
    kind, text = _POSITIONS[addressing]
    if addressing is Addressing.SORT_VALUES:
        return {"type": kind, "items": {}, "description": text}
    if addressing not in (Addressing.OFFSET, Addressing.PAGE):
        return {"type": kind, "description": text}
    if addressing is Addressing.OFFSET and spec.first:
        text = "Index of the first thing of the page, counted from 1."
    return {"type": kind, "minimum": spec.first, "default": spec.first, "description": text}


def _size(collection: Collection) -> JsonObject:
    schema: JsonObject = {"type": "integer", "minimum": 1, "default": collection.default_size}
    if collection.cap is not None:
        schema["maximum"] = collection.cap
    if collection.sizes:
        schema["enum"] = list(collection.sizes)
    return {**schema, "description": "Most things on a page."}


def _total_only_flag(flag: Flag) -> JsonObject:
    value = flag[1]
    text = "Return only how many things there are, and no things."
    if isinstance(value, bool):
        return {"type": "boolean", "default": False, "description": text}
    return {"type": "string", "enum": [value, "results"], "default": "results", "description": f"`{value}`: {text}"}


def input_schema(arguments: tuple[DeclaredArgument, ...]) -> JsonObject:
    """The arguments as one JSON Schema object; body members are nested."""
    schema: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
    for each in arguments:
        *outer, last = each.path.split("/") if each.location == "body" else [each.path]
        inner = schema
        for segment in outer:
            inner = inner["properties"].setdefault(segment, {"type": "object", "properties": {}})
        inner["properties"][last] = each.schema
    return schema


def example_response(collection: Collection) -> ConventionResponse:
    """A first page of a correct server with a next page; it shows the shape of all responses."""
    spec = spec_of(collection)
    correct = replace(collection, fault=None, total=3, default_size=2, cap=2, clamp=None, sizes=())
    flags = {} if spec.total_flag is None else dict([spec.total_flag])
    headers = {"prefer": "count=exact"} if spec.addressing is Addressing.RANGE else {}
    return page_response(
        correct, ConventionRequest(arguments=flags, url=f"http://example.com{collection.path}", headers=headers)
    )


def response_schema(collection: Collection) -> JsonObject:
    """The JSON Schema of a page's body."""
    spec = spec_of(collection)
    schema = schema_of(example_response(collection).body)
    if spec.next and spec.marker in (NextMarker.TOKEN, NextMarker.URL) and spec.end is LastMarker.NULL:
        *outer, last = spec.next.split("/")
        inner = schema
        for segment in outer:
            inner = inner["properties"][segment]
        inner["properties"][last] = {"type": ["string", "null"]}
    if spec.total_only_flag:
        schema["properties"][spec.total or "total"] = {"type": "integer"}
    return schema


def schema_of(value: Any) -> JsonObject:
    """The JSON Schema of a value; that of a list comes from its first item."""
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
    spec = spec_of(collection)
    operation = _operation(collection, declared_arguments(collection), spec.method)
    item: JsonObject = {spec.method.lower(): operation}
    if spec.is_total_by_head:
        head = {**operation, "operationId": f"head_{collection.operation}"}
        item["head"] = {**head, "summary": "Only the headers, with the number of all things"}
    items = {collection.path: item}
    if spec.count_path:
        items[f"{collection.path}/count"] = {"get": _count_operation(collection, spec)}
    if spec.next_route:
        items[f"{collection.path}/{spec.next_route}"] = {"post": _next_operation(collection, spec)}
    return items


def _operation(collection: Collection, arguments: tuple[DeclaredArgument, ...], method: str) -> JsonObject:
    example = example_response(collection)
    statuses = ("200", "206") if example.status == 206 else ("200",)
    operation: JsonObject = {
        "operationId": collection.operation,
        "summary": "List things" if collection.is_described else "Things",
        "parameters": [
            {
                "name": each.path,
                "in": each.location,
                "schema": each.schema,
                "description": each.schema.get("description", ""),
            }
            for each in arguments
            if each.location != "body"
        ],
        "responses": {status: _response(response_schema(collection), tuple(example.headers)) for status in statuses},
    }
    if method == "POST":
        schema = input_schema(tuple(each for each in arguments if each.location == "body"))
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return operation


def _response(schema: JsonObject, headers: tuple[str, ...]) -> JsonObject:
    response: JsonObject = {"description": "A page of things.", "content": {"application/json": {"schema": schema}}}
    if headers:
        response["headers"] = {name: {"schema": {"type": "string"}} for name in headers}
    return response


def _count_operation(collection: Collection, spec: ConventionSpec) -> JsonObject:
    kept = tuple(each for each in declared_arguments(collection) if each.path not in (spec.position, spec.size))
    operation = _operation(collection, kept, "GET")
    name = spec.count_path or "count"
    schema = {"type": "object", "properties": {name: {"type": "integer"}}}
    content = {"application/json": {"schema": schema}}
    return {
        **operation,
        "operationId": collection.operation.replace("list_", "count_", 1),
        "summary": "Count things",
        "responses": {"200": {"description": "How many things there are.", "content": content}},
    }


def _next_operation(collection: Collection, spec: ConventionSpec) -> JsonObject:
    text = "The `_scroll_id` of the answer before."
    position = DeclaredArgument(spec.position or "", "body", {"type": "string", "description": text})
    operation = _operation(collection, (position,), "POST")
    operation["requestBody"]["content"]["application/json"]["schema"]["required"] = [position.path]
    operation["requestBody"]["required"] = True
    return {**operation, "operationId": f"next_{collection.operation}", "summary": "The next page of a scroll"}
