"""Inlines references in schemas, so that tool parameters are self-contained.

Recursive and oversized parts become open objects that list their members in the description. Schemas that several
operations refer to are expanded once.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from adapters.base import JsonObject
from adapters.openapi.document.document import BrokenReference, DocumentNode, OpenApiDocument
from adapters.openapi.schema.normalize import Direction, normalize_schema

_DEPTHS = (8, 5, 3, 2, 1)
_MAX_NODES = 600
_MAX_NAMED_MEMBERS = 12
_INFINITE_DEPTH = 10**6
_MERGEABLE = frozenset({"type", "properties", "required", "description", "additionalProperties", "default", "format"})


class _NodeLimitReached(Exception):
    """The schemas have too many nodes at this depth."""


@dataclass(frozen=True, slots=True)
class _InlinedReference:
    """An expanded reference, its number of nodes, and a bit set of the targets expanded inside it.

    `min_depth` is the smallest depth limit with the same result; above the limit of the walk if that cut it.
    """

    schema: JsonObject
    nodes: int
    targets: int
    min_depth: int


@dataclass(frozen=True, slots=True)
class _AbandonedReference:
    """The nodes and targets of a reference at one depth until the walk exceeded the limit."""

    nodes: int
    targets: int


class _PlainNode(NamedTuple):
    """An expanded node without references inside, and its number of nodes; `min_depth` as above."""

    node: DocumentNode
    schema: JsonObject
    nodes: int
    min_depth: int


@dataclass(frozen=True, slots=True)
class _InlineCache:
    """Expanded references by target, which are numbered. Partial and abandoned ones depend on the depth too."""

    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    complete: dict[int, _InlinedReference] = field(default_factory=dict)
    partial: dict[tuple[int, int], _InlinedReference] = field(default_factory=dict)
    abandoned: dict[tuple[int, int], _AbandonedReference] = field(default_factory=dict)
    without_references: dict[tuple[int, str], _PlainNode] = field(default_factory=dict)

    def number(self, target: DocumentNode) -> int:
        """Return the number of a target."""
        return self.numbers.setdefault((target.uri, target.pointer), len(self.numbers))

    def find(self, target_id: int, depth: int) -> _InlinedReference | None:
        """Return an expanded reference at a depth, if cached."""
        complete = self.complete.get(target_id)
        is_usable = complete is not None and complete.min_depth <= depth
        return complete if is_usable else self.partial.get((target_id, depth))

    def add(self, target_id: int, depth: int, expanded: _InlinedReference) -> None:
        """Add an expanded reference."""
        if expanded.min_depth <= depth:
            self.complete[target_id] = expanded
        else:
            self.partial[target_id, depth] = expanded


class Inliner:
    """Inlines schemas of one document in one direction. The results share parts: do not modify them."""

    def __init__(self, document: OpenApiDocument, direction: Direction) -> None:
        self._document, self._direction = document, direction
        self._cache = _InlineCache()

    def inline(self, nodes: list[DocumentNode]) -> tuple[list[JsonObject], list[BrokenReference]]:
        """Expand the schemas at some nodes, as deep as a common node limit permits; return broken references too.

        Raises DocumentNotLoaded if another file is needed.
        """
        for depth in _DEPTHS:
            walk = _InlineWalk(self._document, self._direction, self._cache, has_limit=depth > _DEPTHS[-1])
            try:
                return [walk.schema(node, depth) for node in nodes], list(walk.broken.values())
            except _NodeLimitReached:
                continue
        return [walk.summarize(node) for node in nodes], list(walk.broken.values())


class _InlineWalk:
    """One walk over the schemas of one operation.

    Expanded references are cached unless they depend on their position: on an enclosing reference that cut a recursion,
    or on a broken one, which each operation has to report.
    """

    def __init__(
        self, document: OpenApiDocument, direction: Direction, cache: _InlineCache, *, has_limit: bool
    ) -> None:
        self._document, self._direction, self._cache, self._has_limit = document, direction, cache, has_limit
        self._nodes = self._n_broken = self._n_references = 0
        self._shallowest_cut = self._lowest_depth = _INFINITE_DEPTH
        self._targets = self._enclosing = 0
        self._stack: list[int] = []
        self.broken: dict[str, BrokenReference] = {}

    def schema(self, node: DocumentNode, depth: int) -> JsonObject:
        """Expand the schema at a node, at most `depth` levels deep."""
        self._count(1)
        fields = node.fields
        if not isinstance(fields.get("$ref"), str):
            return self._expand(node, depth)
        self._n_references += 1
        target = self._target(node)
        if target is None:
            return {}
        target_id = self._cache.number(target)
        if self._enclosing >> target_id & 1:
            self._shallowest_cut = min(self._shallowest_cut, self._stack.index(target_id))
            return self.summarize(target)
        if len(fields) > 1:
            return self._expand_inside(target, depth, target_id)
        cached = self._cache.find(target_id, depth)
        if cached is None or cached.targets & self._enclosing:
            self._raise_if_abandoned(target_id, depth)
            return self._expand_and_cache(target, depth, target_id)
        self._count(cached.nodes)
        self._targets |= cached.targets
        self._lowest_depth = min(self._lowest_depth, depth - cached.min_depth + 1)
        return cached.schema

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > _MAX_NODES and self._has_limit:
            raise _NodeLimitReached

    def _raise_if_abandoned(self, target_id: int, depth: int) -> None:
        """Raise _NodeLimitReached if an earlier walk from here exceeded the limit with fewer nodes before it."""
        abandoned = self._cache.abandoned.get((target_id, depth))
        if abandoned is None or not self._has_limit or abandoned.targets & self._enclosing:
            return
        if self._nodes + abandoned.nodes > _MAX_NODES:
            raise _NodeLimitReached

    def _expand_inside(self, target: DocumentNode, depth: int, target_id: int) -> JsonObject:
        """Expand a reference with its target on the stack."""
        self._stack.append(target_id)
        self._enclosing |= 1 << target_id
        out = self._expand(target, depth)
        self._stack.pop()
        self._enclosing ^= 1 << target_id
        return out

    def _expand_and_cache(self, target: DocumentNode, depth: int, target_id: int) -> JsonObject:
        """Expand a reference, and cache it if it is the same in every position."""
        around, cut_around, lowest_around = self._targets, self._shallowest_cut, self._lowest_depth
        nodes, faults, level = self._nodes, self._n_broken, len(self._stack)
        self._targets, self._shallowest_cut, self._lowest_depth = 1 << target_id, _INFINITE_DEPTH, _INFINITE_DEPTH
        try:
            out = self._expand_inside(target, depth, target_id)
        except _NodeLimitReached:
            if self._shallowest_cut >= level:
                self._cache.abandoned[target_id, depth] = _AbandonedReference(self._nodes - nodes, self._targets)
            self._targets |= around
            self._shallowest_cut = min(self._shallowest_cut, cut_around)
            raise
        if self._shallowest_cut >= level:
            self._shallowest_cut = _INFINITE_DEPTH
            if self._n_broken == faults:
                written = _InlinedReference(
                    out, self._nodes - nodes, self._targets, min_depth=depth - self._lowest_depth + 1
                )
                self._cache.add(target_id, depth, written)
        self._targets |= around
        self._lowest_depth = min(self._lowest_depth, lowest_around)
        self._shallowest_cut = min(self._shallowest_cut, cut_around)
        return out

    def _expand(self, target: DocumentNode, depth: int) -> JsonObject:
        """Expand a node that is not a reference, and cache it if there is none inside it either."""
        key = (id(target.value), target.pointer)
        cached = self._cache.without_references.get(key)
        if cached is not None and cached.min_depth <= depth:
            self._count(cached.nodes)
            self._lowest_depth = min(self._lowest_depth, depth - cached.min_depth + 1)
            return cached.schema
        nodes, references, lowest_around = self._nodes, self._n_references, self._lowest_depth
        self._lowest_depth = _INFINITE_DEPTH
        out = self._convert(target, depth)
        if self._n_references == references and self._lowest_depth > 0:
            self._cache.without_references[key] = _PlainNode(
                target, out, self._nodes - nodes, min_depth=depth - self._lowest_depth + 1
            )
        self._lowest_depth = min(self._lowest_depth, lowest_around)
        return out

    def _convert(self, target: DocumentNode, depth: int) -> JsonObject:
        if not _SUBSCHEMA_KEYWORDS.isdisjoint(target.fields):
            if depth <= 0 and any(isinstance(target.fields.get(key), (dict, list)) for key in _SUBSCHEMA_KEYWORDS):
                self._lowest_depth = min(self._lowest_depth, 0)
                return self.summarize(target)
            self._lowest_depth = min(self._lowest_depth, max(depth, 1))
        return merge_all_of(normalize_schema(target, self._direction, lambda inner: self.schema(inner, depth - 1)))

    def summarize(self, node: DocumentNode) -> JsonObject:
        """Return a placeholder of a structure: its type, with its members listed in the description."""
        target = self._target(node)
        if target is None:
            return {}
        shallow = normalize_schema(target.with_value(_own_keywords(target.fields)), self._direction, lambda _: {})
        shallow.pop("required", None)
        names = list(target.child("properties").fields)
        if names:
            shallow.setdefault("type", "object")
            more = ", …" if len(names) > _MAX_NAMED_MEMBERS else ""
            words = f"Members: {', '.join(names[:_MAX_NAMED_MEMBERS])}{more}."
            shallow["description"] = f"{shallow['description']} {words}" if "description" in shallow else words
        return shallow

    def _target(self, node: DocumentNode) -> DocumentNode | None:
        """Return the resolved node; fields next to a `$ref` override those of its target."""
        if not isinstance(node.fields.get("$ref"), str):
            return node
        try:
            target = self._document.resolve(node)
        except BrokenReference as error:
            self._n_broken += 1
            self.broken.setdefault(error.path, error)
            return None
        if len(node.fields) == 1 or not isinstance(target.value, dict):
            return target
        return target.with_value(target.fields | {key: value for key, value in node.fields.items() if key != "$ref"})


_SUBSCHEMA_KEYWORDS = frozenset(
    ("properties", "items", "allOf", "anyOf", "oneOf", "additionalProperties", "patternProperties", "prefixItems")
)


def _own_keywords(fields: JsonObject) -> JsonObject:
    kept = ("type", "description", "nullable", "format", "enum", "default")
    return {key: fields[key] for key in kept if key in fields}


def merge_all_of(schema: JsonObject) -> JsonObject:
    """Merge the parts of `allOf` that do not contradict each other into the schema."""
    parts = schema.get("allOf")
    if not parts:
        return schema
    out = {key: value for key, value in schema.items() if key != "allOf"}
    left = []
    for part in parts:
        if _can_merge(out, part):
            out = _merge(out, part)
        else:
            left.append(part)
    if len(left) == 1 and not out:
        return dict(left[0])
    return out | {"allOf": left} if left else out


def _can_merge(out: JsonObject, part: JsonObject) -> bool:
    if set(out) <= {"description", "default"}:
        return True
    if not set(part) <= _MERGEABLE or not set(out) <= _MERGEABLE | {"allOf"}:
        return False
    shared = set(out.get("properties", {})) & set(part.get("properties", {}))
    return all(out[key] == part[key] for key in ("type", "format") if key in out and key in part) and all(
        _agree(out["properties"][name], part["properties"][name]) for name in shared
    )


def _agree(one: JsonObject, other: JsonObject) -> bool:
    """Whether two schemas are equal or one of them is empty."""
    return not one or not other or one == other


def _merge(out: JsonObject, part: JsonObject) -> JsonObject:
    both = part | out
    if "properties" in part or "properties" in out:
        own, added = out.get("properties", {}), part.get("properties", {})
        both["properties"] = {name: added.get(name) or own.get(name, {}) for name in {**own, **added}}
    if "required" in part or "required" in out:
        both["required"] = list(dict.fromkeys([*out.get("required", ()), *part.get("required", ())]))
    if "required" in both and "properties" in both:
        both["properties"] = {**both["properties"], **{n: {} for n in both["required"] if n not in both["properties"]}}
    if both.get("additionalProperties") is False:
        del both["additionalProperties"]
    return both
