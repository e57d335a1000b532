"""Pagination of a tool: which arguments take part in it, overrides, and the arguments that remain visible.

`adapters.pagination` detects the convention from the parameters that are collected here.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from adapters.base import Json, JsonObject, Pagination, PaginationStyle
from adapters.openapi.operation.model import Operation, ParameterLocation
from adapters.openapi.settings import ToolOverride
from adapters.openapi.tools.arguments import BODY, Argument, WireName, strip_markup
from adapters.pagination import ResponseSchema, declared_pagination, detect, flatten_parameters, with_declared_types
from adapters.pagination.vocabulary.members import plain

_BACKWARD_NAMES = frozenset({"before", "endingbefore", "previous", "previouscursor", "prevcursor", "pagebefore"})
_ALWAYS_HIDDEN = frozenset({"searchafter"})
"""Names of cursors that are always hidden, regardless of their description."""
_SIZE_NAMES = frozenset({"count", "perpage", "pagesize", "limit", "size"})
_PAGING_WORDS = re.compile(r"\bcursors?\b|\bpaginat", re.IGNORECASE)


def hide_leftovers(found: Pagination, parameters: Mapping[str, JsonObject]) -> Pagination:
    """Hide further parameters (`object/member` for nested ones) that control pagination."""
    if not found.hidden:
        return found
    hidden = frozenset(found.hidden)
    more = tuple(
        name for name, schema in parameters.items() if name not in hidden and _is_paging_leftover(name, schema, found)
    )
    return replace(found, other_hidden=(*found.other_hidden, *more)) if more else found


def _is_paging_leftover(name: str, schema: JsonObject, found: Pagination) -> bool:
    parent, _, last = name.rpartition("/")
    own = plain(last)
    if own in _ALWAYS_HIDDEN:
        return not parent
    if own in _BACKWARD_NAMES:  # a date named `before` is a filter
        is_described = _PAGING_WORDS.search(str(schema.get("description"))) is not None
        return is_described and "date" not in str(schema.get("format"))
    if own in {plain(other.rpartition("/")[2]) for other in (found.position, found.size) if other}:
        return not parent or any(other.rpartition("/")[0] == parent for other in found.hidden)
    is_scalar = schema.get("type") in ("integer", "number", "string") and "enum" not in schema
    return own in _SIZE_NAMES and "page" in found.other_hidden and is_scalar


_PAGED_LOCATIONS = (ParameterLocation.QUERY, ParameterLocation.HEADER, ParameterLocation.PATH, BODY)
_PARTS = ("allOf", "anyOf", "oneOf")
_DEFAULT_SIZE = 100
_UNPAGED_METHODS = frozenset({"PUT", "PATCH", "DELETE"})


def pagination_of(
    arguments: Iterable[Argument],
    named: Mapping[WireName, str],
    operation: Operation,
    *,
    response: ResponseSchema | None,
    override: ToolOverride,
) -> Pagination:
    """Return the pagination of a tool: from settings, an extension, or detected from parameters and responses."""
    paged = _paging_candidates(arguments)
    by_wire = {one.wire.name: named[one.wire] for one in reversed(paged)}
    found = (
        _detect(paged, operation, response)
        if override.pagination is None
        else replace(override.pagination, rule="settings")
    )
    found = _hide_duplicates(_rename(found, by_wire), paged, named)
    if "head" in operation.entry.item.fields and operation.entry.method == "GET":
        found = replace(found, is_total_by_head=True)
    if override.page_size is not None:
        found = replace(found, max_size=min(override.page_size, found.max_size or override.page_size))
    return found


def _hide_duplicates(found: Pagination, paged: Iterable[Argument], named: Mapping[WireName, str]) -> Pagination:
    """Hide paging arguments in every location that has them, such as query and body."""
    hidden = frozenset(found.hidden)
    names = {one.wire.name for one in paged if named[one.wire] in hidden}
    duplicates = (named[one.wire] for one in paged if one.wire.name in names and not one.is_required)
    more = tuple(name for name in duplicates if name not in hidden)
    return replace(found, other_hidden=(*found.other_hidden, *more)) if more else found


def _paging_candidates(arguments: Iterable[Argument]) -> list[Argument]:
    """Return the arguments that may control pagination; path parameters only if their name is unique."""
    candidates = [one for one in arguments if one.wire.place in _PAGED_LOCATIONS]
    elsewhere = {one.wire.name for one in candidates if one.wire.place is not ParameterLocation.PATH}
    return [one for one in candidates if one.wire.place is not ParameterLocation.PATH or one.wire.name not in elsewhere]


def _detect(paged: list[Argument], operation: Operation, response: ResponseSchema | None) -> Pagination:
    if operation.entry.method in _UNPAGED_METHODS:
        return Pagination()
    schemas = {one.wire.name: one.schema for one in reversed(paged)}
    parameters = flatten_parameters(dict(reversed(schemas.items())))
    description = strip_markup(operation.description)
    extensions = {key: value for key, value in operation.entry.operation.fields.items() if key.startswith("x-")}
    in_path = {one.wire.name for one in paged if one.wire.place is ParameterLocation.PATH}
    selectable = {name: schema for name, schema in parameters.items() if name not in in_path}
    if extensions:
        declared = declared_pagination(extensions, selectable, description=description, response=response)
        if declared is not None:
            return hide_leftovers(declared, selectable)
    found = detect(
        parameters,
        description=description,
        response=response,
        required={one.wire.name for one in paged if one.is_required},
        in_path=in_path,
        is_item=_ends_in_variable(operation.entry.path),
    )
    return hide_leftovers(found, selectable)


def _ends_in_variable(path: str) -> bool:
    """Whether a path ends in a variable, as that of a single resource does."""
    return path.split("#")[0].split("?")[0].rstrip("/").rpartition("/")[2].startswith("{")


def _rename(found: Pagination, names: Mapping[str, str]) -> Pagination:
    return replace(
        found,
        position=_rename_optional(found.position, names),
        size=_rename_optional(found.size, names),
        range_end=_rename_optional(found.range_end, names),
        numeric_strings=tuple(rename_path(name, names) for name in found.numeric_strings),
        metadata=_rename_optional(found.metadata, names),
        total_flags=tuple((rename_path(name, names), value) for name, value in found.total_flags),
        other_hidden=tuple(rename_path(name, names) for name in found.other_hidden),
    )


def _rename_optional(name: str | None, names: Mapping[str, str]) -> str | None:
    return None if name is None else rename_path(name, names)


def rename_path(path: str, names: Mapping[str, str]) -> str:
    """Map an argument's name from the document to the tool; of `object/member` the first part is mapped."""
    if path in names:
        return names[path]
    head, slash, rest = path.partition("/")
    return names.get(head, head) + slash + rest


def visible_arguments(schemas: Mapping[str, JsonObject], hidden: Iterable[str]) -> dict[str, JsonObject]:
    """Return the arguments that the model sees, without hidden ones and hidden members.

    An object that has only hidden members is removed as well.
    """
    left = dict(schemas)
    for path in hidden:
        name, _, rest = path.partition("/")
        if path in left:
            del left[path]
        elif rest and name in left:
            left[name] = without_member(left[name], rest.split("/"))
            if not _has_members(left[name]):
                del left[name]
    return left


def without_member(schema: JsonObject, path: list[str]) -> JsonObject:
    """Remove the member at a path from a schema, wherever it is declared."""
    name, *rest = path
    out = dict(schema)
    for key in _PARTS:
        if isinstance(schema.get(key), list):
            out[key] = [without_member(part, path) if isinstance(part, dict) else part for part in schema[key]]
    members: Json = schema.get("properties")
    if not isinstance(members, dict) or name not in members:
        return out
    inner = without_member(members[name], rest) if rest else {}
    kept = dict(members) | {name: inner} if _has_members(inner) else {k: v for k, v in members.items() if k != name}
    out["properties"] = kept
    required = [one for one in schema.get("required", ()) if one in kept or one != name]
    return out | {"required": required} if required else {key: out[key] for key in out if key != "required"}


def _has_members(schema: JsonObject) -> bool:
    """Whether an object has members left; true for any other schema."""
    if schema.get("properties") or schema.get("additionalProperties"):
        return True
    parts = [part for key in _PARTS for part in schema.get(key) or () if isinstance(part, dict)]
    if parts:
        return any(_has_members(part) for part in parts if part.get("type") != "null")
    return bool(schema) and "properties" not in schema


def page_defaults(pagination: Pagination) -> JsonObject:
    """Return position and size for a request without a page: an API may require them."""
    found: JsonObject = {}
    if pagination.convention in (PaginationStyle.OFFSET, PaginationStyle.PAGE) and pagination.position is not None:
        found[pagination.position] = pagination.first
        if pagination.range_end is not None:
            found[pagination.range_end] = pagination.first + (pagination.range_size or 1) - 1
    if pagination.size is not None:
        usual = pagination.default_size or min(pagination.max_size or _DEFAULT_SIZE, _DEFAULT_SIZE)
        found[pagination.size] = max(usual, pagination.min_size or 1)
    return with_declared_types(found, pagination)
