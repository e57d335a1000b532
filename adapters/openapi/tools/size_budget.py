"""Tools that fit: a tool's schema under its allowance of characters.

Pure. Knows JSON Schema and what may be lost first: words of descriptions, then what is deep and optional, then long
enumerations, then optional arguments altogether. What was lost is named where it stood.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from adapters.base import Json, JsonObject
from adapters.json_text import compact_json

MAX_CHARACTERS = 8_000
MAX_DESCRIPTION = 1_000
_DESCRIPTION_LENGTHS = (200, 100, 50, 0)
_LEVELS: tuple[tuple[int | None, tuple[int, ...]], ...] = (
    (None, (400, 200, 100)),
    *((depth, _DESCRIPTION_LENGTHS) for depth in (5, 4, 3, 2, 1)),
)
"""What is tried, the least loss first: how many levels of the tool stay, and how many characters of a description."""
_LONG_ENUM = 20
_BRACES_SIZE = 2
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs")
_SINGLE_SCHEMAS = ("items", "additionalProperties", "not", "contains", "if", "then", "else", "propertyNames")
_SUBSCHEMA_KEYWORDS = frozenset((*_SCHEMA_LISTS, *_SCHEMA_MAPS, *_SINGLE_SCHEMAS))


def size_of(schema: JsonObject) -> int:
    """Characters of a schema as it is sent."""
    return len(compact_json(schema))


class _SchemaParts(NamedTuple):
    """A schema taken apart: itself, what it takes without descriptions and inner schemas, and both of these.

    Inner schemas that hold no others are part of `fixed_size` and `texts`. Of a text is known whether it has company, from
    which a comma parts it.
    """

    schema: JsonObject
    fixed_size: int
    texts: tuple[tuple[str, bool], ...]
    inner: tuple[JsonObject, ...]


class ToolSizeBudget:
    """Makes tools fit. Tools share parts of their schemas: each part is weighed and cut once, none may be changed.

    What a cut would leave is weighed before it is written, since most of what is tried does not fit.
    """

    def __init__(self) -> None:
        self._parts: dict[int, _SchemaParts] = {}
        self._outlines: dict[int, tuple[JsonObject, JsonObject]] = {}
        self._sizes: dict[tuple[int, int | None, int], int] = {}
        self._shrunk: dict[tuple[int, int | None, int], tuple[JsonObject, JsonObject]] = {}

    def fit(self, schema: JsonObject, allowance: int = MAX_CHARACTERS) -> tuple[JsonObject, tuple[str, ...]]:
        """A tool's schema (an object with properties) under the allowance, and the arguments that had to go.

        Only with required arguments that are too large even without words does the result stay above the allowance.
        """
        if size_of(schema) <= allowance:
            return schema, ()
        for depth, words in _LEVELS:
            if self.shrunk_size(schema, depth, words[-1]) <= allowance:
                most = next(length for length in words if self.shrunk_size(schema, depth, length) <= allowance)
                return self.shrink(schema, depth, most), ()
        least = _without_long_enums(self.shrink(schema, 1, 0))
        return (least, ()) if size_of(least) <= allowance else _drop_arguments(least, allowance)

    def shrink(self, schema: JsonObject, depth: int | None, words: int) -> JsonObject:
        """The schema with each description cut to `words` characters, at a word's end; 0 takes them all off.

        Structures more than `depth` levels down are replaced by their type and the names of their members.
        """
        known = self._shrunk.get((id(schema), depth, words))
        if known is None:
            known = self._shrunk[id(schema), depth, words] = schema, self._shrink(schema, depth, words)
        return known[1]

    def _shrink(self, schema: JsonObject, depth: int | None, words: int) -> JsonObject:
        if depth == 0:
            return self.shrink(self._outline_of(schema), None, words)
        below = None if depth is None else depth - 1
        out = _map_subschemas(schema, lambda inner: self.shrink(inner, below, words))
        if isinstance(out.get("description"), str):
            text = clip_text(out["description"], words)
            if text:
                out["description"] = text
            else:
                del out["description"]
        return out

    def shrunk_size(self, schema: JsonObject, depth: int | None, words: int) -> int:
        """The characters of what `shrink` would make of a schema."""
        key = (id(schema), depth, words)
        known = self._sizes.get(key)
        if known is None:
            if depth == 0:
                known = self.shrunk_size(self._outline_of(schema), None, words)
            else:
                known = self._sum_parts(self._parts_of(schema), None if depth is None else depth - 1, words)
            self._sizes[key] = known
        return known

    def _sum_parts(self, frame: _SchemaParts, below: int | None, words: int) -> int:
        weight = frame.fixed_size
        for text, has_company in frame.texts:
            n_text = _description_size(text, words)
            weight += n_text + has_company if n_text else 0
        for inner in frame.inner:
            weight += self.shrunk_size(inner, below, words)
        return weight

    def _parts_of(self, schema: JsonObject) -> _SchemaParts:
        known = self._parts.get(id(schema))
        if known is None:
            known = self._parts[id(schema)] = self._split(schema)
        return known

    def _split(self, schema: JsonObject) -> _SchemaParts:
        inner: list[JsonObject] = []
        rest = _map_subschemas(schema, lambda one: _collect(one, inner))
        text = rest.pop("description") if isinstance(rest.get("description"), str) else ""
        leaves = [self._parts_of(one) for one in inner if _SUBSCHEMA_KEYWORDS.isdisjoint(one)]
        return _SchemaParts(
            schema,
            fixed_size=size_of(rest) - len(inner) + sum(leaf.fixed_size for leaf in leaves),
            texts=(*(((text, bool(rest)),) if text else ()), *(one for leaf in leaves for one in leaf.texts)),
            inner=tuple(one for one in inner if not _SUBSCHEMA_KEYWORDS.isdisjoint(one)),
        )

    def _outline_of(self, schema: JsonObject) -> JsonObject:
        known = self._outlines.get(id(schema))
        if known is None:
            known = self._outlines[id(schema)] = schema, _outline(schema)
        return known[1]


def _collect(schema: JsonObject, inner: list[JsonObject]) -> Json:
    """One character in place of a schema, which is added to a list."""
    inner.append(schema)
    return 0


@lru_cache(maxsize=16384)
def _description_size(text: str, words: int) -> int:
    """The characters of a description that is cut to `words` characters, its name included; 0 where none is left."""
    shown = clip_text(text, words)
    return size_of({"description": shown}) - _BRACES_SIZE if shown else 0


def _drop_arguments(schema: JsonObject, allowance: int) -> tuple[JsonObject, tuple[str, ...]]:
    required = schema.get("required", ())
    kept = dict(schema["properties"])
    gone = []
    size = size_of(schema)
    for name in reversed(list(kept)):
        if size <= allowance:
            break
        if name not in required:
            size -= len(compact_json({name: kept.pop(name)})) - 1
            gone.append(name)
    return schema | {"properties": kept}, tuple(reversed(gone))


@lru_cache(maxsize=4096)
def clip_text(text: str, length: int) -> str:
    """The text in at most `length` characters, cut at a word's end."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    head = text[: max(length - 1, 0)].rsplit(" ", 1)[0]
    return f"{head.rstrip(',;:')}…" if length > 1 else ""


def _outline(schema: JsonObject) -> JsonObject:
    """What stands for a structure: its type, and the names of its members in words."""
    if not any(key in schema for key in ("properties", "items", "patternProperties", *_SCHEMA_LISTS)):
        return schema
    out: JsonObject = {key: schema[key] for key in ("type", "description") if key in schema}
    if "items" in schema:
        out["items"] = {}
    names = list(schema.get("properties", {}))
    if names:
        more = ", …" if len(names) > 12 else ""
        words = f"Members: {', '.join(names[:12])}{more}."
        out["description"] = f"{out['description']} {words}" if "description" in out else words
    return out


def _without_long_enums(schema: JsonObject) -> JsonObject:
    out = _map_subschemas(schema, _without_long_enums)
    if len(out.get("enum", ())) > _LONG_ENUM:
        del out["enum"]
    return out


def _map_subschemas(schema: JsonObject, change: Callable[[JsonObject], Json]) -> JsonObject:
    """A copy with every schema inside changed."""
    out = dict(schema)
    for key in schema.keys() & _SUBSCHEMA_KEYWORDS:
        out[key] = _map_keyword(key, schema[key], change)
    return out


def _map_keyword(key: str, value: Json, change: Callable[[JsonObject], Json]) -> Json:
    if key in _SCHEMA_MAPS:
        return {name: _map_one(inner, change) for name, inner in value.items()} if isinstance(value, Mapping) else value
    if key in _SCHEMA_LISTS:
        return [_map_one(inner, change) for inner in value] if isinstance(value, list) else value
    return _map_one(value, change)


def _map_one(value: Json, change: Callable[[JsonObject], Json]) -> Json:
    return change(value) if isinstance(value, dict) else value
