"""Request parameters as detection sees them: flattened to one level, with types, bounds and description.

JSON Schemas come with their references resolved.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from adapters.base import Json, JsonObject
from adapters.pagination.vocabulary import descriptions as phrases
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.descriptions import Phrase
from adapters.pagination.vocabulary.members import plain

MAX_DEPTH = 3
USUAL_RANGE_SIZE = 50
INTEGER = frozenset({"integer", "number"})
TEXT = frozenset({"string"})
_MAX_MEMBERS = (40, 12)
"""Of an object at the first and second level; larger ones hold a resource or a query."""
_SCHEMA_PARTS = frozenset(("properties", "allOf", "anyOf", "oneOf"))
_SEGMENT = re.compile(r"[/\[\].]+")
_MARKUP = re.compile(r"<[^<>]*>")
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\n\s*\n")
_DIGITS_PATTERN = re.compile(r"^\^?\(?(?:\[0-9\]|\\d)[+*]?")
_TIME_FORMATS = frozenset({"date", "date-time", "time"})
_INTEGER_FORMATS = frozenset({"int32", "int64", "integer", "uint32", "uint64"})
_POSITIONS = spelling.OFFSETS | spelling.PAGES | spelling.SKIPS
_LOW = frozenset("start starting from first begin beginning".split())
_HIGH = frozenset("end ending to last until stop max".split())
_BARE_PAIRS = {
    (frozenset({low}), frozenset({high}))
    for low, high in (("from", "to"), ("start", "end"), ("start", "stop"), ("begin", "end"), ("first", "last"))
}
_ROWS = frozenset("index row rows record records item items result results position entry entries element".split())


def flatten_parameters(schemas: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """Every argument, followed by the members of those that are objects (`page/limit`), up to `MAX_DEPTH` levels.

    An object stays in the result in addition to its members, since a cursor may be an object. Lists are not opened, nor
    are objects with more than 40 members, or 12 inside another object.
    """
    found: dict[str, JsonObject] = {}
    for name, schema in schemas.items():
        found.update(_flatten(name, schema, depth=1))
    return found


def _flatten(path: str, schema: JsonObject, *, depth: int) -> Iterator[tuple[str, JsonObject]]:
    yield path, schema
    if depth == MAX_DEPTH or _SCHEMA_PARTS.isdisjoint(schema):
        return
    members = _members_of(schema)
    if len(members) > _MAX_MEMBERS[depth - 1]:
        return
    for name, inner in members.items():
        yield from _flatten(f"{path}/{name}", inner, depth=depth + 1)


def leaf(name: str) -> str:
    """The plain last segment of a path: `limit` of `filter/limit` and `filter[limit]`."""
    segments = _segments(name)
    return plain(segments[-1]) if segments else ""


def _holder(name: str) -> str:
    """The path without its last segment, spelled alike for `filter/limit` and `filter[limit]`."""
    return "/".join(_segments(name)[:-1])


def _segments(name: str) -> list[str]:
    return [segment for segment in _SEGMENT.split(name) if segment]


def _members_of(schema: JsonObject) -> dict[str, JsonObject]:
    """The members of an object schema, also of one that is nullable or composed by `allOf`."""
    found: dict[str, JsonObject] = {}
    for part in _parts(schema):
        found |= _members_of(part)
    properties: Json = schema.get("properties")
    if isinstance(properties, dict):
        found |= {name: value for name, value in properties.items() if isinstance(value, dict) and "/" not in name}
    return found


def _parts(schema: JsonObject) -> list[JsonObject]:
    """All parts of `allOf`, and the only branch of `anyOf` or `oneOf` that is not null."""
    parts = [part for part in schema.get("allOf") or () if isinstance(part, dict)]
    for key in ("anyOf", "oneOf"):
        branches = [b for b in schema.get(key) or () if isinstance(b, dict) and b.get("type") != "null"]
        parts += branches if len(branches) == 1 else []
    return parts


@dataclass(frozen=True)
class FlatParameter:
    """One flattened parameter. `types` are without null.

    `is_grouped`: a position and a page size share its object, so that the object is about pagination.
    """

    name: str
    types: frozenset[str]
    schema: JsonObject
    description: str
    is_grouped: bool = False

    @cached_property
    def spellings(self) -> frozenset[str]:
        """The plain names under which the tables may have it."""
        own = spelling.forms(self.name)
        return own | {leaf(self.name)} if self.is_grouped else own

    @property
    def is_in_other_object(self) -> bool:
        """Whether it is a member of an object that is not about pagination."""
        return not self.is_grouped and spelling.is_in_other_object(self.name)

    @cached_property
    def summary(self) -> str:
        """The first sentence of the description. It says what a parameter is; later ones may mention anything."""
        return _SENTENCE_END.split(self.description.strip(), maxsplit=1)[0]

    @property
    def accepts_integer(self) -> bool:
        """Whether it takes an integer; a parameter without a type takes anything."""
        return not self.types or bool(self.types & INTEGER)

    @property
    def is_declared_integer(self) -> bool:
        """Whether its type is a number."""
        return bool(self.types & INTEGER)

    @property
    def accepts_text(self) -> bool:
        """Whether it takes free text."""
        is_closed = bool(self.schema.get("enum")) or self.schema.get("format") in _TIME_FORMATS | {"binary"}
        return (not self.types or bool(self.types & TEXT)) and not is_closed

    @property
    def accepts_boolean(self) -> bool:
        """Whether it takes a boolean."""
        return not self.types or "boolean" in self.types

    @property
    def is_deprecated(self) -> bool:
        """Whether the document calls it deprecated."""
        return self.schema.get("deprecated") is True or self.mentions(phrases.DEPRECATED)

    @property
    def is_date(self) -> bool:
        """Whether it is a point in time."""
        return self.schema.get("format") in _TIME_FORMATS or self.summary_mentions(phrases.DATE)

    @property
    def is_about_something_else(self) -> bool:
        """Whether its summary mentions time, money or identity."""
        return self.summary_mentions(phrases.UNRELATED)

    @property
    def has_unit(self) -> bool:
        """Whether its summary mentions a unit of time, space or storage."""
        return self.summary_mentions(phrases.UNIT)

    def is_named(self, *tables: frozenset[str]) -> bool:
        """Whether one of its spellings is in a table."""
        return not all(map(self.spellings.isdisjoint, tables))

    def mentions(self, phrase: Phrase) -> bool:
        """Whether the description matches."""
        return phrase.is_in(self.description)

    def summary_mentions(self, phrase: Phrase) -> bool:
        """Whether the first sentence of the description matches."""
        return phrase.is_in(self.summary)

    def integer(self, key: str) -> int | None:
        """The integer that the schema has under `key`."""
        value = self.schema.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def choices(self) -> tuple[int, ...]:
        """The integers of an `enum`, ascending."""
        listed = self.schema.get("enum")
        values = listed if isinstance(listed, list) else ()
        digits = {int(v) for v in values if isinstance(v, str) and v.isascii() and v.isdigit()}
        return tuple(sorted(digits | {v for v in values if isinstance(v, int) and not isinstance(v, bool)}))


def flat_parameter(name: str, schema: JsonObject, *, is_integer: bool = False) -> FlatParameter:
    """The parameter of a schema. `allOf` and `anyOf: [{…}, {type: null}]` are unwrapped.

    `is_integer`: the response has a member of this name that is an integer, so that the declared text holds digits.
    """
    flat = dict(schema)
    branches = [b for key in ("anyOf", "oneOf", "allOf") for b in schema.get(key) or () if isinstance(b, dict)]
    real = [b for b in branches if b.get("type") != "null"]
    if len(real) == 1:
        flat = real[0] | flat
    elif schema.get("allOf"):
        flat = {k: v for b in reversed(real) for k, v in b.items()} | flat
    types = flat.get("type")
    listed = [types] if isinstance(types, str) else types if isinstance(types, list) else [b.get("type") for b in real]
    known = frozenset(kind for kind in listed if isinstance(kind, str) and kind != "null")
    if (is_integer and known == TEXT) or _is_numeric_text(flat):
        known |= INTEGER
    return FlatParameter(name, known, flat, _without_markup(str(flat.get("description") or "")))


def _is_numeric_text(schema: JsonObject) -> bool:
    """Whether a string holds a number, by its default, example, pattern or format."""
    if schema.get("type") != "string":
        return False
    samples = (schema.get("default"), schema.get("example"))
    has_digits = any(isinstance(value, str) and value.isascii() and value.isdigit() for value in samples)
    has_number = any(isinstance(value, int) and not isinstance(value, bool) for value in samples)
    has_pattern = isinstance(schema.get("pattern"), str) and bool(_DIGITS_PATTERN.search(schema["pattern"]))
    return has_digits or has_number or has_pattern or schema.get("format") in _INTEGER_FORMATS


def _without_markup(text: str) -> str:
    return _SPACE.sub(" ", _MARKUP.sub(" ", text)).strip() if "<" in text else text


def mark_grouped(parameters: Sequence[FlatParameter]) -> list[FlatParameter]:
    """The parameters, with `is_grouped` set on a position and a page size that share an object.

    If several objects have both, each is about a list inside the response, and none is marked.
    """
    numbers = [one for one in parameters if one.types and one.types <= INTEGER]
    with_position = {_holder(one.name) for one in numbers if leaf(one.name) in _POSITIONS}
    with_size = {_holder(one.name) for one in numbers if leaf(one.name) in spelling.UNAMBIGUOUS_SIZES}
    holders = (with_position & with_size) - {""}
    if len(holders) > 1:
        return list(parameters)
    table = _POSITIONS | spelling.UNAMBIGUOUS_SIZES
    grouped = {one.name for one in numbers if _holder(one.name) in holders and leaf(one.name) in table}
    return [replace(one, is_grouped=True) if one.name in grouped else one for one in parameters]


def first_last_pair(first: FlatParameter, parameters: Iterable[FlatParameter]) -> FlatParameter | None:
    """The partner of a parameter that names the start of a range: equal except for the words for start and end."""
    own = frozenset(spelling.pieces(first.name))
    if not own & _LOW:
        return None
    for other in parameters:
        theirs = frozenset(spelling.pieces(other.name))
        is_pair = (own, theirs) in _BARE_PAIRS or bool(theirs & _HIGH and own - _LOW and theirs - _HIGH == own - _LOW)
        if is_pair and spelling.parent(other.name) == spelling.parent(first.name) and other.types - {"array"}:
            return other
    return None


def is_row_range(first: FlatParameter, parameters: Iterable[FlatParameter]) -> bool:
    """Whether a parameter begins a range of records, and not one of dates, sizes or other values."""
    last = first_last_pair(first, parameters)
    if last is None or any(one.is_date or one.is_about_something_else for one in (first, last)):
        return False
    is_named = bool(frozenset(spelling.pieces(first.name)) & _ROWS)
    is_described = first.mentions(phrases.OFFSET) or first.mentions(phrases.PAGED)
    return last.accepts_integer and (is_named or is_described or last.mentions(phrases.LAST_ROW))


def range_size(first: FlatParameter, last: FlatParameter) -> int:
    """How many records to ask for by first and last: the default, at least `USUAL_RANGE_SIZE`."""
    low, high = first.integer("default"), last.integer("default")
    by_default = high - low + 1 if low is not None and high is not None else 0
    return max(by_default, USUAL_RANGE_SIZE)
