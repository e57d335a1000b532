"""Tools that fit: a tool's schema under its allowance of characters.

Pure. Knows JSON Schema and what may be lost first: words of descriptions, then what is deep and optional, then long
enumerations, then optional arguments altogether. What was lost is named where it stood.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial

from adapters.base import Json, JsonObject
from adapters.openapi.serialize import compact

MAX_CHARACTERS = 8_000
MAX_DESCRIPTION = 1_000
_WORDS = (400, 200, 100)
_FEWER_WORDS = (200, 100, 50, 0)
_DEPTHS = (4, 3, 2, 1, 0)
_LONG_ENUM = 20
_COMBINED = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs")
_SINGLE = ("items", "additionalProperties", "not", "contains", "if", "then", "else", "propertyNames")
_HOLDERS = frozenset((*_COMBINED, *_NAMED, *_SINGLE))


def size_of(schema: JsonObject) -> int:
    """Characters of a schema as it is sent."""
    return len(compact(schema))


class Fitter:
    """Makes tools fit. Tools share parts of their schemas: each part is cut once, and none may be changed."""

    def __init__(self) -> None:
        self._shorter: dict[tuple[int, int], tuple[JsonObject, JsonObject]] = {}
        self._shallower: dict[tuple[int, int], tuple[JsonObject, JsonObject]] = {}

    def fitted(self, schema: JsonObject, allowance: int = MAX_CHARACTERS) -> tuple[JsonObject, tuple[str, ...]]:
        """A tool's schema (an object with properties) under the allowance, and the arguments that had to go.

        Only with required arguments that are too large even without words does the result stay above the allowance.
        """
        if size_of(schema) <= allowance:
            return schema, ()
        shallow = schema
        for depth, words in ((None, _WORDS), *((depth, _FEWER_WORDS) for depth in _DEPTHS)):
            shallow = schema if depth is None else _each(schema, partial(self.cut, depth=depth))
            least = _each(shallow, partial(self.shortened, words=words[-1]))
            if size_of(least) <= allowance:
                return self._wordiest(shallow, words[:-1], allowance) or least, ()
        least = _each(_each(shallow, _without_long_enums), partial(self.shortened, words=0))
        return (least, ()) if size_of(least) <= allowance else _fewer_arguments(least, allowance)

    def shortened(self, schema: JsonObject, words: int) -> JsonObject:
        """The schema with every description cut to `words` characters, at a word's end; 0 takes them all off."""
        known = self._shorter.get((id(schema), words))
        if known is None:
            known = self._shorter[id(schema), words] = schema, self._shortened(schema, words)
        return known[1]

    def _shortened(self, schema: JsonObject, words: int) -> JsonObject:
        out = _inside(schema, lambda inner: self.shortened(inner, words))
        if isinstance(out.get("description"), str):
            text = clipped(out["description"], words)
            if text:
                out["description"] = text
            else:
                del out["description"]
        return out

    def cut(self, schema: JsonObject, depth: int) -> JsonObject:
        """The schema with structures more than `depth` levels down replaced by their type and names of members."""
        known = self._shallower.get((id(schema), depth))
        if known is None:
            out = _named_only(schema) if depth <= 0 else _inside(schema, lambda inner: self.cut(inner, depth - 1))
            known = self._shallower[id(schema), depth] = schema, out
        return known[1]

    def _wordiest(self, schema: JsonObject, words: Iterable[int], allowance: int) -> JsonObject | None:
        """The schema with descriptions as long as the allowance permits; None where the shortest are too long."""
        attempts = (_each(schema, partial(self.shortened, words=length)) for length in words)
        return next((attempt for attempt in attempts if size_of(attempt) <= allowance), None)


def _each(schema: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    return schema | {"properties": {name: change(inner) for name, inner in schema.get("properties", {}).items()}}


def _fewer_arguments(schema: JsonObject, allowance: int) -> tuple[JsonObject, tuple[str, ...]]:
    required = schema.get("required", ())
    kept = dict(schema["properties"])
    gone = []
    size = size_of(schema)
    for name in reversed(list(kept)):
        if size <= allowance:
            break
        if name not in required:
            size -= len(compact({name: kept.pop(name)})) - 1
            gone.append(name)
    return schema | {"properties": kept}, tuple(reversed(gone))


@lru_cache(maxsize=4096)
def clipped(text: str, length: int) -> str:
    """The text in at most `length` characters, cut at a word's end."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    head = text[: max(length - 1, 0)].rsplit(" ", 1)[0]
    return f"{head.rstrip(',;:')}…" if length > 1 else ""


def _named_only(schema: JsonObject) -> JsonObject:
    """What stands for a structure: its type, and the names of its members in words."""
    if not any(key in schema for key in ("properties", "items", "patternProperties", *_COMBINED)):
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
    out = _inside(schema, _without_long_enums)
    if len(out.get("enum", ())) > _LONG_ENUM:
        del out["enum"]
    return out


def _inside(schema: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """A copy with every schema inside changed."""
    out = dict(schema)
    for key in schema.keys() & _HOLDERS:
        out[key] = _changed(key, schema[key], change)
    return out


def _changed(key: str, value: Json, change: Callable[[JsonObject], JsonObject]) -> Json:
    if key in _NAMED:
        return {name: _one(inner, change) for name, inner in value.items()} if isinstance(value, Mapping) else value
    if key in _COMBINED:
        return [_one(inner, change) for inner in value] if isinstance(value, list) else value
    return _one(value, change)


def _one(value: Json, change: Callable[[JsonObject], JsonObject]) -> Json:
    return change(value) if isinstance(value, dict) else value
