"""Schemas with every reference written out, as a tool shows them: nothing points outside.

Knows recursion and size: what would repeat itself or grow beyond its allowance becomes an open object that names
its members. Knows no tool.
"""

from adapters.base import JsonObject
from adapters.openapi.document import BrokenReference, Document, Node
from adapters.openapi.schema import Direction, plain

_DEPTHS = (8, 5, 3, 2, 1)
_MAX_NODES = 600
_NAMED_MEMBERS = 12
_MERGEABLE = frozenset({"type", "properties", "required", "description", "additionalProperties", "default", "format"})


class _TooMany(Exception):
    """The allowance of nodes is used up at this depth."""


def inline(
    document: Document, nodes: list[Node], direction: Direction
) -> tuple[list[JsonObject], list[BrokenReference]]:
    """The schemas at some nodes, as deep as a common allowance permits, and the references that led nowhere.

    Raises NotLoaded where another file is needed.
    """
    for depth in _DEPTHS:
        walk = _Walk(document, direction, depth)
        try:
            return [walk.schema(node, depth, ()) for node in nodes], list(walk.broken.values())
        except _TooMany:
            continue
    return [walk.cut(node) for node in nodes], list(walk.broken.values())


class _Walk:
    """One walk over the schemas of one operation."""

    def __init__(self, document: Document, direction: Direction, depth: int) -> None:
        self._document, self._direction, self._nodes = document, direction, 0
        self._has_limit = depth > _DEPTHS[-1]
        self.broken: dict[str, BrokenReference] = {}

    def schema(self, node: Node, depth: int, trail: tuple[tuple[str, str], ...]) -> JsonObject:
        """The schema at a node, `depth` levels down; `trail` are the references being written out."""
        self._nodes += 1
        if self._nodes > _MAX_NODES and self._has_limit:
            raise _TooMany
        target = self._target(node)
        if target is None:
            return {}
        place = (target.uri, target.pointer)
        if "$ref" in node.fields:
            if place in trail:
                return self.cut(target)
            trail = (*trail, place)
        if depth <= 0 and any(isinstance(value, dict | list) for value in _inner(target)):
            return self.cut(target)
        return merged(plain(target, self._direction, lambda inner: self.schema(inner, depth - 1, trail)))

    def cut(self, node: Node) -> JsonObject:
        """What stands for a structure that is not shown: its type, and the names of its members in words."""
        target = self._target(node)
        if target is None:
            return {}
        shallow = plain(target.replaced(_without_inner(target.fields)), self._direction, lambda _: {})
        shallow.pop("required", None)
        names = list(target.child("properties").fields)
        if names:
            shallow.setdefault("type", "object")
            more = ", …" if len(names) > _NAMED_MEMBERS else ""
            words = f"Members: {', '.join(names[:_NAMED_MEMBERS])}{more}."
            shallow["description"] = f"{shallow['description']} {words}" if "description" in shallow else words
        return shallow

    def _target(self, node: Node) -> Node | None:
        """The schema that a node stands for, with what is written beside a reference put over it."""
        if not isinstance(node.fields.get("$ref"), str):
            return node
        try:
            target = self._document.resolve(node)
        except BrokenReference as error:
            self.broken.setdefault(error.path, error)
            return None
        beside = {key: value for key, value in node.fields.items() if key != "$ref"}
        return target.replaced(target.fields | beside) if beside and isinstance(target.value, dict) else target


def _inner(node: Node) -> list[object]:
    keys = (
        "properties",
        "items",
        "allOf",
        "anyOf",
        "oneOf",
        "additionalProperties",
        "patternProperties",
        "prefixItems",
    )
    return [node.fields.get(key) for key in keys]


def _without_inner(fields: JsonObject) -> JsonObject:
    kept = ("type", "description", "nullable", "format", "enum", "default")
    return {key: fields[key] for key in kept if key in fields}


def merged(schema: JsonObject) -> JsonObject:
    """The schema with those parts of `allOf` that say nothing contradictory written into it."""
    parts = schema.get("allOf")
    if not parts:
        return schema
    out = {key: value for key, value in schema.items() if key != "allOf"}
    left = []
    for part in parts:
        if _fits(out, part):
            out = _joined(out, part)
        else:
            left.append(part)
    if len(left) == 1 and not out:
        return dict(left[0])
    return out | {"allOf": left} if left else out


def _fits(out: JsonObject, part: JsonObject) -> bool:
    if set(out) <= {"description", "default"}:
        return True
    if not set(part) <= _MERGEABLE or not set(out) <= _MERGEABLE | {"allOf"}:
        return False
    shared = set(out.get("properties", {})) & set(part.get("properties", {}))
    return all(out[key] == part[key] for key in ("type", "format") if key in out and key in part) and all(
        out["properties"][name] == part["properties"][name] for name in shared
    )


def _joined(out: JsonObject, part: JsonObject) -> JsonObject:
    both = part | out
    if "properties" in part or "properties" in out:
        both["properties"] = {**out.get("properties", {}), **part.get("properties", {})}
    if "required" in part or "required" in out:
        both["required"] = list(dict.fromkeys([*out.get("required", ()), *part.get("required", ())]))
    if both.get("additionalProperties") is False:
        del both["additionalProperties"]
    return both
