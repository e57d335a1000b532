"""Size budget of tools: shrinks a tool's schema to a number of characters.

Descriptions are shortened first, then deep structures are replaced by an outline, then long enumerations and finally
optional arguments are dropped.
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
"""What is tried in turn: the number of levels kept, and the lengths of descriptions."""
_LONG_ENUM = 20
_BRACES_SIZE = 2
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs")
_SINGLE_SCHEMAS = ("items", "additionalProperties", "not", "contains", "if", "then", "else", "propertyNames")
_SUBSCHEMA_KEYWORDS = frozenset((*_SCHEMA_LISTS, *_SCHEMA_MAPS, *_SINGLE_SCHEMAS))


def size_of(schema: JsonObject) -> int:
    """Return the number of characters of a schema as JSON."""
    return len(compact_json(schema))


class _SchemaParts(NamedTuple):
    """A schema split into its fixed size (without descriptions and subschemas), its descriptions and its subschemas.

    Subschemas without further ones are part of `fixed_size` and `texts`. The flag of a text says whether a comma
    separates it from other keywords.
    """

    schema: JsonObject
    fixed_size: int
    texts: tuple[tuple[str, bool], ...]
    inner: tuple[JsonObject, ...]


class ToolSizeBudget:
    """Shrinks schemas of tools. Tools share parts of their schemas, which are measured and shrunk once; do not modify.

    The size of a shrunk schema is computed before it is built, since most attempts are still too large.
    """

    def __init__(self) -> None:
        self._parts: dict[int, _SchemaParts] = {}
        self._outlines: dict[int, tuple[JsonObject, JsonObject]] = {}
        self._sizes: dict[tuple[int, int | None, int], int] = {}
        self._shrunk: dict[tuple[int, int | None, int], tuple[JsonObject, JsonObject]] = {}

    def fit(self, schema: JsonObject, max_size: int = MAX_CHARACTERS) -> tuple[JsonObject, tuple[str, ...]]:
        """Shrink a tool's schema (an object with properties) to `max_size`, and return the dropped arguments.

        Only required arguments that are too large even without descriptions exceed the limit.
        """
        if size_of(schema) <= max_size:
            return schema, ()
        for depth, lengths in _LEVELS:
            if self.shrunk_size(schema, depth, lengths[-1]) <= max_size:
                longest = next(length for length in lengths if self.shrunk_size(schema, depth, length) <= max_size)
                return self.shrink(schema, depth, longest), ()
        smallest = _without_long_enums(self.shrink(schema, 1, 0))
        return (smallest, ()) if size_of(smallest) <= max_size else _drop_arguments(smallest, max_size)

    def shrink(self, schema: JsonObject, depth: int | None, n_chars: int) -> JsonObject:
        """Return a schema with descriptions of at most `n_chars` characters; 0 removes them.

        Structures more than `depth` levels deep are replaced by their type and the names of their members.
        """
        cached = self._shrunk.get((id(schema), depth, n_chars))
        if cached is None:
            cached = self._shrunk[id(schema), depth, n_chars] = schema, self._shrink(schema, depth, n_chars)
        return cached[1]

    def _shrink(self, schema: JsonObject, depth: int | None, n_chars: int) -> JsonObject:
        if depth == 0:
            return self.shrink(self._outline_of(schema), None, n_chars)
        below = None if depth is None else depth - 1
        out = _map_subschemas(schema, lambda inner: self.shrink(inner, below, n_chars))
        if isinstance(out.get("description"), str):
            text = clip_text(out["description"], n_chars)
            if text:
                out["description"] = text
            else:
                del out["description"]
        return out

    def shrunk_size(self, schema: JsonObject, depth: int | None, n_chars: int) -> int:
        """Return the number of characters that `shrink` would leave of a schema."""
        key = (id(schema), depth, n_chars)
        cached = self._sizes.get(key)
        if cached is None:
            if depth == 0:
                cached = self.shrunk_size(self._outline_of(schema), None, n_chars)
            else:
                cached = self._sum_parts(self._parts_of(schema), None if depth is None else depth - 1, n_chars)
            self._sizes[key] = cached
        return cached

    def _sum_parts(self, parts: _SchemaParts, below: int | None, n_chars: int) -> int:
        size = parts.fixed_size
        for text, needs_comma in parts.texts:
            n_text = _description_size(text, n_chars)
            size += n_text + needs_comma if n_text else 0
        for inner in parts.inner:
            size += self.shrunk_size(inner, below, n_chars)
        return size

    def _parts_of(self, schema: JsonObject) -> _SchemaParts:
        cached = self._parts.get(id(schema))
        if cached is None:
            cached = self._parts[id(schema)] = self._split(schema)
        return cached

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
        cached = self._outlines.get(id(schema))
        if cached is None:
            cached = self._outlines[id(schema)] = schema, _outline(schema)
        return cached[1]


def _collect(schema: JsonObject, inner: list[JsonObject]) -> Json:
    """Add a schema to a list and return a placeholder of one character."""
    inner.append(schema)
    return 0


@lru_cache(maxsize=16384)
def _description_size(text: str, n_chars: int) -> int:
    """Return the size of a description clipped to `n_chars` characters, with its key; 0 if nothing is left."""
    shown = clip_text(text, n_chars)
    return size_of({"description": shown}) - _BRACES_SIZE if shown else 0


def _drop_arguments(schema: JsonObject, max_size: int) -> tuple[JsonObject, tuple[str, ...]]:
    required = schema.get("required", ())
    kept = dict(schema["properties"])
    dropped = []
    size = size_of(schema)
    for name in reversed(list(kept)):
        if size <= max_size:
            break
        if name not in required:
            size -= len(compact_json({name: kept.pop(name)})) - 1
            dropped.append(name)
    return schema | {"properties": kept}, tuple(reversed(dropped))


@lru_cache(maxsize=4096)
def clip_text(text: str, length: int) -> str:
    """Clip a text to `length` characters at the end of a word."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    head = text[: max(length - 1, 0)].rsplit(" ", 1)[0]
    return f"{head.rstrip(',;:')}…" if length > 1 else ""


def _outline(schema: JsonObject) -> JsonObject:
    """Return the outline of a structure: its type, with the names of its members in the description."""
    if not any(key in schema for key in ("properties", "items", "patternProperties", *_SCHEMA_LISTS)):
        return schema
    out: JsonObject = {key: schema[key] for key in ("type", "description") if key in schema}
    if "items" in schema:
        out["items"] = {}
    names = list(schema.get("properties", {}))
    if names:
        more = ", …" if len(names) > 12 else ""
        n_chars = f"Members: {', '.join(names[:12])}{more}."
        out["description"] = f"{out['description']} {n_chars}" if "description" in out else n_chars
    return out


def _without_long_enums(schema: JsonObject) -> JsonObject:
    out = _map_subschemas(schema, _without_long_enums)
    if len(out.get("enum", ())) > _LONG_ENUM:
        del out["enum"]
    return out


def _map_subschemas(schema: JsonObject, change: Callable[[JsonObject], Json]) -> JsonObject:
    """Return a copy with each subschema replaced by `change` of it."""
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
