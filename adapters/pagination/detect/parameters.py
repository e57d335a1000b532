"""Parameters as detection sees them: a name, types, bounds, and what their document says.

Knows JSON Schemas whose references are followed. Knows no convention.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from adapters.base import Json, JsonObject
from adapters.pagination.vocabulary import descriptions as wording
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.members import plain

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


INTEGER = frozenset({"integer", "number"})
TEXT = frozenset({"string"})
_MARKUP = re.compile(r"<[^<>]*>")
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\n\s*\n")
_DIGITS = re.compile(r"^\^?\(?(?:\[0-9\]|\\d)[+*]?")


@dataclass(frozen=True)
class FlatParameter:
    """One parameter, flattened: `types` without null; `text` is what its document says of it.

    `is_in_company`: it stands in one object with the other number that makes a page, so that the object is of paging.
    """

    name: str
    types: frozenset[str]
    schema: JsonObject
    text: str
    is_in_company: bool = False

    @cached_property
    def forms(self) -> frozenset[str]:
        """The names as the tables have them."""
        own = spelling.forms(self.name)
        return own | {leaf(self.name)} if self.is_in_company else own

    @property
    def is_foreign(self) -> bool:
        """Whether it is a member of something that is not about paging."""
        return not self.is_in_company and spelling.is_foreign(self.name)

    @cached_property
    def opening(self) -> str:
        """The first sentence: it says what a parameter is; later ones may mention anything."""
        return _SENTENCE_END.split(self.text.strip(), maxsplit=1)[0]

    @property
    def is_number(self) -> bool:
        """Whether a whole number may stand here; a parameter without a type takes anything."""
        return not self.types or bool(self.types & INTEGER)

    @property
    def is_text(self) -> bool:
        """Whether free text may stand here."""
        is_choice = bool(self.schema.get("enum")) or self.schema.get("format") in {
            "date",
            "date-time",
            "time",
            "binary",
        }
        return (not self.types or bool(self.types & TEXT)) and not is_choice

    @property
    def is_deprecated(self) -> bool:
        """Whether its document calls it deprecated."""
        return self.schema.get("deprecated") is True or self.says(wording.DEPRECATED)

    @property
    def is_flag(self) -> bool:
        """Whether it is a truth value."""
        return not self.types or "boolean" in self.types

    def opens(self, pattern: re.Pattern[str]) -> bool:
        """Whether its first sentence matches."""
        return bool(self.opening) and _matches(pattern, self.opening)

    @cached_property
    def is_something_else(self) -> bool:
        """Whether its first sentence speaks of time, money or identity."""
        return _matches(wording.NOT_PAGING, self.opening)

    @cached_property
    def is_measured(self) -> bool:
        """Whether its first sentence counts in units of time, space or storage."""
        return _matches(wording.MEASURED, self.opening)

    def is_named(self, *tables: frozenset[str]) -> bool:
        """Whether one of its spellings is in a table."""
        return not all(map(self.forms.isdisjoint, tables))

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Whether its document's words match."""
        return bool(self.text) and _matches(pattern, self.text)

    def number(self, key: str) -> int | None:
        """A whole number that the schema states under `key`."""
        value = self.schema.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def choices(self) -> tuple[int, ...]:
        """The whole numbers that are allowed, ascending, where the schema lists them."""
        listed = self.schema.get("enum")
        values = listed if isinstance(listed, list) else ()
        digits = {int(v) for v in values if isinstance(v, str) and v.isascii() and v.isdigit()}
        return tuple(sorted(digits | {v for v in values if isinstance(v, int) and not isinstance(v, bool)}))


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    """Whether a text matches a phrase of `wording`; the operations of a document have many parameters in common.

    Phrases live as long as the program, and are known by identity: the hash of a large one is slow to come by.
    """
    known = _known_of(text)
    found = known.get(id(pattern))
    if found is None:
        found = known[id(pattern)] = pattern.search(text) is not None
    return found


@lru_cache(maxsize=4096)
def _known_of(_text: str) -> dict[int, bool]:
    """By phrase, whether a text matches it, as far as anybody has looked."""
    return {}


_MOST_KNOWN = 4096
_KNOWN: dict[tuple[str, int, bool], tuple[JsonObject, FlatParameter]] = {}


def parameter_of(name: str, schema: JsonObject, *, is_number: bool = False) -> FlatParameter:
    """The parameter of a schema; the same one where the schema is the same object, as tools of a source share them.

    `is_number` says that the answer has it as a number, whatever the type of the parameter.
    """
    key = (name, id(schema), is_number)
    known = _KNOWN.get(key)
    if known is None or known[0] is not schema:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[key] = schema, _flat(name, schema, is_number=is_number)
    return known[1]


def _flat(name: str, schema: JsonObject, *, is_number: bool) -> FlatParameter:
    """Flatten `anyOf: [{…}, {type: null}]`, by which frameworks write an optional parameter, and `allOf`."""
    flat = dict(schema)
    branches = [b for key in ("anyOf", "oneOf", "allOf") for b in schema.get(key) or () if isinstance(b, dict)]
    real = [b for b in branches if b.get("type") != "null"]
    if len(real) == 1:
        flat = real[0] | flat
    elif schema.get("allOf"):
        flat = {k: v for b in reversed(real) for k, v in b.items()} | flat
    types = flat.get("type")
    listed = [types] if isinstance(types, str) else types if isinstance(types, list) else [b.get("type") for b in real]
    text = " ".join(part for part in (_title(name, flat), str(flat.get("description") or "")) if part)
    known = {kind for kind in listed if isinstance(kind, str) and kind != "null"}
    numbers = INTEGER if is_number and known == TEXT else _numbers_as_text(flat)
    return FlatParameter(name, frozenset(known | numbers), flat, _readable(text))


def _title(name: str, schema: JsonObject) -> str:
    """The title, unless it is the name again, as frameworks write it: that says nothing."""
    title = str(schema.get("title") or "")
    return "" if plain(title) == plain(name.rpartition("/")[2]) else title


def _numbers_as_text(schema: JsonObject) -> frozenset[str]:
    """Numbers that a document calls text: by their default, example, pattern or format."""
    if schema.get("type") != "string":
        return frozenset()
    samples = (schema.get("default"), schema.get("example"))
    is_digits = any(isinstance(value, str) and value.isascii() and value.isdigit() for value in samples)
    is_pattern = isinstance(schema.get("pattern"), str) and bool(_DIGITS.search(schema["pattern"]))
    is_format = schema.get("format") in {"int32", "int64", "integer", "uint32", "uint64"}
    is_number = any(isinstance(value, int) and not isinstance(value, bool) for value in samples)
    return INTEGER if is_digits or is_pattern or is_format or is_number else frozenset()


def _readable(text: str) -> str:
    return _SPACE.sub(" ", _MARKUP.sub(" ", text)).strip() if "<" in text else text


def dated(parameter: FlatParameter) -> bool:
    """Whether it is a point in time."""
    has_format = parameter.schema.get("format") in {"date", "date-time", "time"}
    return has_format or _matches(wording.DATES, parameter.opening)


_PLACES = spelling.OFFSETS | spelling.PAGES | spelling.SKIPS
_SIZES = spelling.SIZES_ALONE


def known_by_company(parameters: Sequence[FlatParameter]) -> list[FlatParameter]:
    """The parameters; a position and a size in one object are known as such there.

    Of several such objects each is about a list of its own inside of the answer, and none about the answer.
    """
    numbers = [one for one in parameters if one.types and one.types <= INTEGER]
    placed = {holder(one.name) for one in numbers if leaf(one.name) in _PLACES}
    sized = {holder(one.name) for one in numbers if leaf(one.name) in _SIZES}
    holders = (placed & sized) - {""}
    if len(holders) > 1:
        return list(parameters)
    members = {one.name for one in numbers if holder(one.name) in holders and leaf(one.name) in _PLACES | _SIZES}
    return [replace(one, is_in_company=True) if one.name in members else one for one in parameters]


USUAL_SPAN = 50
_LOW = frozenset("start starting from first begin beginning".split())
_HIGH = frozenset("end ending to last until stop max".split())
_BARE = {
    (frozenset({low}), frozenset({high}))
    for low, high in (("from", "to"), ("start", "end"), ("start", "stop"), ("begin", "end"), ("first", "last"))
}
_ROWS = frozenset("index row rows record records item items result results position entry entries element".split())


def end_beside(position: FlatParameter, known: Iterable[FlatParameter]) -> FlatParameter | None:
    """The parameter of the same name but for the words that say begin and end."""
    own = frozenset(spelling.pieces(position.name))
    if not own & _LOW:
        return None
    for other in known:
        theirs = frozenset(spelling.pieces(other.name))
        is_pair = (own, theirs) in _BARE or bool(theirs & _HIGH and own - _LOW and theirs - _HIGH == own - _LOW)
        if is_pair and spelling.parent(other.name) == spelling.parent(position.name) and other.types - {"array"}:
            return other
    return None


def begins_page(position: FlatParameter, known: Iterable[FlatParameter]) -> bool:
    """Whether the pair is one of records, and not a range of dates, sizes or other values."""
    end = end_beside(position, known)
    if end is None or any(dated(one) or one.is_something_else for one in (position, end)):
        return False
    is_named = bool(frozenset(spelling.pieces(position.name)) & _ROWS)
    is_said = any(position.says(pattern) for pattern in (wording.SAYS_OFFSET, wording.SAYS_PAGED))
    return end.is_number and (is_named or is_said or end.says(wording.ENDS_PAGE))


def span_of(position: FlatParameter, end: FlatParameter) -> int:
    """How many records to ask for: as many as come unasked, or a usual number."""
    first, last = position.number("default"), end.number("default")
    unasked = last - first + 1 if first is not None and last is not None else 0
    return max(unasked, USUAL_SPAN)
