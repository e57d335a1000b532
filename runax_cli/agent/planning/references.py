"""Finds the parameters of tools that take the id of an entity: `customer_id`, `userId`, `/users/{id}/orders`. Pure.

An entity is known by its noun in the singular and by one record. A parameter that may refer to it, but does not surely,
has a reason instead of a value.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from adapters.base import Json, JsonObject, ToolSpec
from adapters.pagination.vocabulary.members import singular

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TEMPLATE = re.compile(r"\{([^{}]+)\}")
_IDS = frozenset({"id", "ids", "identifier", "pk", "uid"})
_OTHER_KEYS = frozenset(
    {"uuid", "guid", "key", "number", "no", "nr", "code", "ref", "slug", "login", "username", "name"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntity:
    """An entity: its noun in the singular, its id as the API writes it, its record, and the tool that returned it."""

    noun: str
    id: Json
    source: str
    record: Mapping[str, Json]

    @property
    def text(self) -> str:
        """`customer 4`."""
        return f"{self.noun} {self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A parameter that refers to an entity. `path` has a second name if it is a member of an object.

    `why_not` says why the value is not certain; "" if it is.
    """

    path: tuple[str, ...]
    value: Json = None
    is_required: bool = False
    why_not: str = ""

    @property
    def arguments(self) -> JsonObject:
        """The argument for this parameter."""
        *outer, last = self.path
        return {outer[0]: {last: self.value}} if outer else {last: self.value}


def bindings_of(spec: ToolSpec, entity: FoundEntity) -> tuple[Binding, ...]:
    """The parameters of a tool that refer to an entity."""
    required = frozenset(spec.parameters.get("required") or ())
    found = []
    for path, schema in _parameters(spec):
        key = reference_key(path[-1], spec, entity.noun, schema)
        if key is not None:
            found.append(_bound(path, schema, key, entity, is_required=path[0] in required))
    return tuple(found)


def refers_to(spec: ToolSpec, noun: str) -> bool:
    """Whether a tool has a parameter that refers to entities with this noun."""
    return any(reference_key(path[-1], spec, noun, schema) is not None for path, schema in _parameters(spec))


def referenced_nouns(spec: ToolSpec) -> frozenset[str]:
    """The nouns of all entities that the parameters of a tool may refer to by id."""
    found = set()
    for path, _ in _parameters(spec):
        words = [word.lower() for word in _PIECE.findall(path[-1])]
        if len(words) > 1 and words[-1] in _IDS:
            found.add(singular(words[-2]))
        elif words and words[-1] not in _IDS:
            found.add(words[-1].removesuffix("id"))
        elif _is_in_path(path[-1], spec):
            found.add(_segment_noun(path[-1], spec))
    return frozenset(found)


def reference_key(name: str, spec: ToolSpec, noun: str, schema: JsonObject) -> str | None:
    """The field of an entity that a parameter takes: "id", or another key such as "number"; None if it takes neither.

    A name in the path belongs to the segment before it: `id` of `/users/{id}/orders` is that of a user.
    """
    words = [word.lower() for word in _PIECE.findall(name)]
    if not words:
        return None
    last, before = words[-1], [singular(word) for word in words[:-1]]
    if last in _IDS | _OTHER_KEYS and before[-1:] == [noun]:
        return _key(last)
    if last.endswith("id") and last.removesuffix("id") == noun:
        return "id"
    if words == [noun] and "integer" in types_of(schema):
        return "id"
    is_own = _segment_noun(name, spec) == noun if _is_in_path(name, spec) else reads_one(spec, noun)
    if is_own and len(words) == 1 and (last in _IDS | _OTHER_KEYS or last == noun):
        return _key(last) if last != noun else "id"
    return None


def noun_of(spec: ToolSpec) -> str:
    """What one record of a tool is called, in one word."""
    return singular(spec.noun.rpartition("_")[2].casefold())


def reads_one(spec: ToolSpec, noun: str) -> bool:
    """Whether a tool reads one entity of a kind by its id: `GET /users/{id}`, or one that returns a single user."""
    variables = _TEMPLATE.findall(spec.locator)
    if spec.locator.endswith("}") and variables:
        return _segment_noun(variables[-1], spec) == noun
    return not spec.returns_many and noun_of(spec) == noun


def types_of(schema: JsonObject) -> frozenset[str]:
    """The JSON types that a schema allows, as far as it names them."""
    own = schema.get("type")
    named = {own} if isinstance(own, str) else set(own or ())
    for combined in ("anyOf", "oneOf"):
        for inner in schema.get(combined) or ():
            named |= types_of(inner) if isinstance(inner, dict) else set()
    return frozenset(named)


def _parameters(spec: ToolSpec) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    """The parameters of a tool with their schemas, and the members of objects."""
    for name, schema in (spec.parameters.get("properties") or {}).items():
        if not isinstance(schema, dict):
            continue
        yield (name,), schema
        for member, inner in (schema.get("properties") or {}).items():
            if isinstance(inner, dict):
                yield (name, member), inner


def _bound(path: tuple[str, ...], schema: JsonObject, key: str, entity: FoundEntity, *, is_required: bool) -> Binding:
    value = entity.id if key == "id" else _field(entity, key)
    if value is None:
        why = f"'{path[-1]}' takes the {key} of a {entity.noun}, which its record does not have"
        return Binding(path=path, is_required=is_required, why_not=why)
    fitted = _fit(value, schema)
    if fitted is None:
        why = f"'{path[-1]}' does not accept the {key} '{value}'"
        return Binding(path=path, is_required=is_required, why_not=why)
    return Binding(path=path, value=fitted, is_required=is_required)


def _field(entity: FoundEntity, key: str) -> Json:
    """A key of the entity other than its id: the field `number` or `customer_number`."""
    by_name = {"".join(_PIECE.findall(name)).lower(): value for name, value in entity.record.items()}
    found = (by_name.get(name) for name in (key, f"{entity.noun}{key}"))
    return next((value for value in found if isinstance(value, str | int) and value != ""), None)


def _fit(value: Json, schema: JsonObject) -> Json:
    """The value as the schema wants it; None if it does not fit."""
    types = types_of(schema)
    if schema.get("enum") and value not in schema["enum"]:
        return None
    if "array" in types:
        items = schema.get("items")
        inner = _fit(value, items if isinstance(items, dict) else {})
        return None if inner is None else [inner]
    if not types or (isinstance(value, int) and types & {"integer", "number"}):
        return value
    text = str(value)
    if "string" in types:
        return text
    return int(text) if types & {"integer", "number"} and re.fullmatch(r"\d{1,18}", text) else None


def _key(word: str) -> str:
    return "id" if word in _IDS else word


def _is_in_path(name: str, spec: ToolSpec) -> bool:
    return name in _TEMPLATE.findall(spec.locator)


def _segment_noun(name: str, spec: ToolSpec) -> str:
    """The last word, in the singular, of the path segment before a name."""
    before = spec.locator.partition(f"{{{name}}}")[0].rstrip("/").rpartition("/")[2]
    words = _PIECE.findall(_TEMPLATE.sub("", before))
    return singular(words[-1].lower()) if words else ""
