"""How one operation's tool pages, in the names of the tool's arguments, and what the model sees without it.

Knows which arguments can take part in paging, annotations, overrides and the rewriting of names. Knows no convention:
`adapters.pagination` finds it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from adapters.base import Json, JsonObject, Pagination, PaginationStyle
from adapters.openapi.operation.model import Operation, ParameterLocation
from adapters.openapi.settings import ToolOverride
from adapters.openapi.tools.arguments import BODY, Argument, WireName, without_markup
from adapters.pagination import ResponseSchema, declared_pagination, detect, flatten_parameters, with_declared_types

_BACKWARD = frozenset({"before", "endingbefore", "previous", "previouscursor", "prevcursor", "pagebefore"})
_FURTHER = frozenset({"searchafter"})
"""Further ways on, whatever is said of them."""
_SIZES = frozenset({"count", "perpage", "pagesize", "limit", "size"})
_OF_PAGING = re.compile(r"\bcursors?\b|\bpaginat", re.IGNORECASE)
_NOT_NAMED = re.compile(r"[^a-z0-9]")


def with_leftovers(found: Pagination, parameters: Mapping[str, JsonObject]) -> Pagination:
    """The pagination that also hides what else of the parameters (`object/member` for members) pages."""
    if not found.hidden:
        return found
    hidden = frozenset(found.hidden)
    more = tuple(name for name, schema in parameters.items() if name not in hidden and _pages(name, schema, found))
    return replace(found, other_hidden=(*found.other_hidden, *more)) if more else found


def _pages(name: str, schema: JsonObject, found: Pagination) -> bool:
    own = _squeezed(name)
    if own in _FURTHER:
        return "/" not in name
    if own in _BACKWARD:
        return _is_of_paging(schema)
    if own in {_squeezed(other) for other in (found.position, found.size) if other}:
        return "/" not in name or _is_beside(name, found.hidden)
    return own in _SIZES and "page" in found.other_hidden and _is_whole(schema)


def _squeezed(name: str) -> str:
    """The last part of a name without its spelling: `max-keys` and `MaxKeys` are one."""
    return _NOT_NAMED.sub("", name.rpartition("/")[2].lower())


def _is_beside(name: str, hidden: Iterable[str]) -> bool:
    """Whether another member of the same object is hidden."""
    parent = name.rpartition("/")[0]
    return any(other.rpartition("/")[0] == parent for other in hidden if "/" in other)


def _is_of_paging(schema: JsonObject) -> bool:
    """Whether the words say so; a date never is."""
    said = schema.get("description")
    return "date" not in str(schema.get("format")) and isinstance(said, str) and _OF_PAGING.search(said) is not None


def _is_whole(schema: JsonObject) -> bool:
    return schema.get("type") in ("integer", "number", "string") and "enum" not in schema


_PAGED = (ParameterLocation.QUERY, ParameterLocation.HEADER, ParameterLocation.PATH, BODY)
_PARTS = ("allOf", "anyOf", "oneOf")
_USUAL_SIZE = 100
_NEVER_PAGED = frozenset({"PUT", "PATCH", "DELETE"})


def pagination_of(
    arguments: Iterable[Argument],
    named: Mapping[WireName, str],
    operation: Operation,
    *,
    response: ResponseSchema | None,
    override: ToolOverride,
) -> Pagination:
    """How the tool pages: what the user says, else an annotation, else what parameters and answers show."""
    paged = _able(arguments)
    by_wire = {one.wire.name: named[one.wire] for one in reversed(paged)}
    found = _overridden(override) or _found(paged, operation, response)
    found = _with_twins(_renamed(found, by_wire), paged, named)
    if "head" in operation.entry.item.fields and operation.entry.method == "GET":
        found = replace(found, is_total_by_head=True)
    if override.page_size is not None:
        found = replace(found, max_size=min(override.page_size, found.max_size or override.page_size))
    return found


def _overridden(override: ToolOverride) -> Pagination | None:
    return None if override.pagination is None else replace(override.pagination, rule="set in runax.yaml")


def _with_twins(found: Pagination, paged: Iterable[Argument], named: Mapping[WireName, str]) -> Pagination:
    """The pagination that hides what it hides in every place of a request that takes it, as query and body may."""
    hidden = frozenset(found.hidden)
    names = {one.wire.name for one in paged if named[one.wire] in hidden}
    twins = (named[one.wire] for one in paged if one.wire.name in names and not one.is_required)
    more = tuple(name for name in twins if name not in hidden)
    return replace(found, other_hidden=(*found.other_hidden, *more)) if more else found


def _able(arguments: Iterable[Argument]) -> list[Argument]:
    """The arguments that may take part in paging: of a path only those that have their name for themselves."""
    places = [one for one in arguments if one.wire.place in _PAGED]
    elsewhere = {one.wire.name for one in places if one.wire.place is not ParameterLocation.PATH}
    return [one for one in places if one.wire.place is not ParameterLocation.PATH or one.wire.name not in elsewhere]


def _found(paged: list[Argument], operation: Operation, response: ResponseSchema | None) -> Pagination:
    if operation.entry.method in _NEVER_PAGED:
        return Pagination()
    schemas = {one.wire.name: one.schema for one in reversed(paged)}
    parameters = flatten_parameters(dict(reversed(schemas.items())))
    description = without_markup(operation.description)
    extensions = {key: value for key, value in operation.entry.operation.fields.items() if key.startswith("x-")}
    in_path = {one.wire.name for one in paged if one.wire.place is ParameterLocation.PATH}
    asked = {name: schema for name, schema in parameters.items() if name not in in_path}
    if extensions:
        declared = declared_pagination(extensions, asked, description=description, response=response)
        if declared is not None:
            return with_leftovers(declared, asked)
    found = detect(
        parameters,
        description=description,
        response=response,
        required={one.wire.name for one in paged if one.is_required},
        in_path=in_path,
        is_item=_is_item(operation.entry.path),
    )
    return with_leftovers(found, asked)


def _is_item(path: str) -> bool:
    """Whether a path ends in a variable, as that of one thing does."""
    return path.split("#")[0].split("?")[0].rstrip("/").rpartition("/")[2].startswith("{")


def _renamed(found: Pagination, names: Mapping[str, str]) -> Pagination:
    return replace(
        found,
        position=_name(found.position, names),
        size=_name(found.size, names),
        last=_name(found.last, names),
        texts=tuple(names_of(name, names) for name in found.texts),
        metadata=_name(found.metadata, names),
        totals=tuple((names_of(name, names), value) for name, value in found.totals),
        other_hidden=tuple(names_of(name, names) for name in found.other_hidden),
    )


def _name(name: str | None, names: Mapping[str, str]) -> str | None:
    return None if name is None else names_of(name, names)


def names_of(path: str, names: Mapping[str, str]) -> str:
    """An argument's name in the tool by that in the document; of `object/member` the first part is renamed."""
    if path in names:
        return names[path]
    head, slash, rest = path.partition("/")
    return names.get(head, head) + slash + rest


def shown(schemas: Mapping[str, JsonObject], hidden: Iterable[str]) -> dict[str, JsonObject]:
    """The arguments that the model sees: hidden ones are gone, hidden members are gone from theirs.

    An object that has nothing but hidden members is gone as well.
    """
    left = dict(schemas)
    for path in hidden:
        name, _, rest = path.partition("/")
        if path in left:
            del left[path]
        elif rest and name in left:
            left[name] = without(left[name], rest.split("/"))
            if not _has_members(left[name]):
                del left[name]
    return left


def without(schema: JsonObject, path: list[str]) -> JsonObject:
    """The schema without the member that lies at a path inside it, wherever it is declared."""
    name, *rest = path
    out = dict(schema)
    for key in _PARTS:
        if isinstance(schema.get(key), list):
            out[key] = [without(part, path) if isinstance(part, dict) else part for part in schema[key]]
    members: Json = schema.get("properties")
    if not isinstance(members, dict) or name not in members:
        return out
    inner = without(members[name], rest) if rest else {}
    kept = dict(members) | {name: inner} if _has_members(inner) else {k: v for k, v in members.items() if k != name}
    out["properties"] = kept
    required = [one for one in schema.get("required", ()) if one in kept or one != name]
    return out | {"required": required} if required else {key: out[key] for key in out if key != "required"}


def _has_members(schema: JsonObject) -> bool:
    """Whether an object has members left to fill in; any other schema has itself."""
    if schema.get("properties") or schema.get("additionalProperties"):
        return True
    parts = [part for key in _PARTS for part in schema.get(key) or () if isinstance(part, dict)]
    if parts:
        return any(_has_members(part) for part in parts if part.get("type") != "null")
    return bool(schema) and "properties" not in schema


def page_defaults(pagination: Pagination) -> JsonObject:
    """Values of a position and a size for a request that names no page: an API may require them."""
    found: JsonObject = {}
    if pagination.convention in (PaginationStyle.OFFSET, PaginationStyle.PAGE) and pagination.position is not None:
        found[pagination.position] = pagination.first
        if pagination.last is not None:
            found[pagination.last] = pagination.first + (pagination.span or 1) - 1
    if pagination.size is not None:
        usual = pagination.default_size or min(pagination.max_size or _USUAL_SIZE, _USUAL_SIZE)
        found[pagination.size] = max(usual, pagination.min_size or 1)
    return with_declared_types(found, pagination)
