"""Members of object arguments, by their path: `page/limit` is the member `limit` of the argument `page`.

Knows JSON Schemas whose references are already followed, and paths. Knows no convention and no request.
"""

import re
from collections.abc import Iterator, Mapping

from adapters.base import Json, JsonObject
from adapters.paging.names import plain

MAX_DEPTH = 3
_WIDEST = (40, 12)
_HOLDERS = frozenset(("properties", "allOf", "anyOf", "oneOf"))
_SEGMENT = re.compile(r"[/\[\].]+")


def flattened(schemas: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """Every argument, and after it the members of those that are objects, at most `MAX_DEPTH` names deep.

    An object stays in the result beside its members, since a cursor may be an object. Lists are not opened, nor are
    objects of more than 40 members, or 12 inside another object: those hold a resource or a query, and no paging.
    """
    found: dict[str, JsonObject] = {}
    for name, schema in schemas.items():
        found.update(_opened(name, schema, depth=1))
    return found


def _opened(path: str, schema: JsonObject, *, depth: int) -> Iterator[tuple[str, JsonObject]]:
    yield path, schema
    if depth == MAX_DEPTH or _HOLDERS.isdisjoint(schema):
        return
    members = members_of(schema)
    if len(members) > _WIDEST[depth - 1]:
        return
    for name, inner in members.items():
        yield from _opened(f"{path}/{name}", inner, depth=depth + 1)


def leaf(name: str) -> str:
    """The last part of a path as the tables have it: `limit` of `filter/limit` and `filter[limit]`."""
    segments = _segments(name)
    return plain(segments[-1]) if segments else ""


def holder(name: str) -> str:
    """What the last part of a path stands in, spelled alike for `filter/limit` and `filter[limit]`; "" for nothing."""
    return "/".join(_segments(name)[:-1])


def _segments(name: str) -> list[str]:
    return [segment for segment in _SEGMENT.split(name) if segment]


def members_of(schema: JsonObject) -> dict[str, JsonObject]:
    """The members that an object schema has for sure or, in one real branch beside null, where it is set."""
    found: dict[str, JsonObject] = {}
    for part in _parts(schema):
        found |= members_of(part)
    return found | _properties(schema)


def _properties(schema: JsonObject) -> dict[str, JsonObject]:
    inner: Json = schema.get("properties")
    if not isinstance(inner, dict):
        return {}
    return {name: value for name, value in inner.items() if isinstance(value, dict) and "/" not in name}


def _parts(schema: JsonObject) -> list[JsonObject]:
    """All parts of `allOf`, and the branch of `anyOf` or `oneOf` that is not null where there is only one."""
    together = [part for part in schema.get("allOf") or () if isinstance(part, dict)]
    for key in ("anyOf", "oneOf"):
        branches = [b for b in schema.get(key) or () if isinstance(b, dict) and b.get("type") != "null"]
        together += branches if len(branches) == 1 else []
    return together
