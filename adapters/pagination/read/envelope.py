"""The envelope of a response: the members next to the records, in which totals and pointers are found.

Members are ordered by distance: next to the records first, then in objects of unknown names, then the headers.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from adapters.base import Json
from adapters.pagination.read.records import FoundRecords
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary.members import plain

HEADER = "header:"
"""Prefix of the path of a value in a header."""

_MAX_MEMBERS = 40
_DEPTH = 4
_FACTS_OF_REQUEST = vocabulary.words(
    "params parameters query filter filters request args arguments criteria facets aggregations aggs "
    "schema context debug rate_limit ratelimit rate rate_limits user account shards _shards stats timing usage"
)
_TEXT_OF_ELEMENT = ("#text", "$t", "_text", "__text", "_", "$")
_HEADERS_WITH_JSON = ("x-pagination", "pagination", "x-paging", "x-page-info")


@dataclass(frozen=True, slots=True)
class EnvelopeMember:
    """A member next to the records: its name, its dotted path in the response (or `header:name`), its value."""

    name: str
    path: str
    value: Json

    @property
    def plain(self) -> str:
        """The plain name, as in the tables."""
        return plain(self.name)


@dataclass(frozen=True, slots=True)
class ResponseEnvelope:
    """Members around and next to the records, the nearest first; `far` ones are in objects of unknown names.

    `headers` are in lower case.
    """

    near: tuple[EnvelopeMember, ...] = ()
    far: tuple[EnvelopeMember, ...] = ()
    headers: tuple[EnvelopeMember, ...] = ()

    def named(self, table: frozenset[str], *, is_anywhere: bool = False) -> Iterator[EnvelopeMember]:
        """Members whose names are in `table`; `is_anywhere` includes the far ones, for unambiguous names."""
        members = chain(self.near, self.far) if is_anywhere else iter(self.near)
        return (member for member in members if member.plain in table)

    def matching(self, is_match: Callable[[str], bool], *, is_anywhere: bool = True) -> Iterator[EnvelopeMember]:
        """Members whose names satisfy `is_match`."""
        members = chain(self.near, self.far) if is_anywhere else iter(self.near)
        return (member for member in members if is_match(member.name))

    def values(self, table: frozenset[str]) -> Iterator[Json]:
        """Values whose names are in `table`, the nearest first."""
        return (member.value for member in self.named(table))

    def integer(self, table: frozenset[str]) -> int | None:
        """The first integer of at least 0 under a name of `table`; digits in text count."""
        return first_count(self.named(table))


def first_count(members: Iterable[EnvelopeMember]) -> int | None:
    """The first integer of at least 0."""
    return next((count for member in members if (count := as_count(member.value)) is not None), None)


def first_flag(members: Iterable[EnvelopeMember]) -> bool | None:
    """The first boolean; the words `true` and `false` count."""
    return next((flag for member in members if (flag := as_flag(member.value)) is not None), None)


def as_flag(value: Json) -> bool | None:
    """A boolean, also from the words `true` and `false`."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return value if isinstance(value, bool) else None


def read_envelope(payload: Json, found: FoundRecords, headers: Mapping[str, str] | None = None) -> ResponseEnvelope:
    """The members around `found`: of the objects on its path, and of the containers (`meta`, `paging`, …) in each.

    If the payload is itself the record, there is no envelope: its `total` and `next` are data.
    """
    from_headers = _from_headers(headers or {})
    if not found.is_list:
        return ResponseEnvelope(headers=from_headers)
    around = (
        list(_enclosing_objects(payload, found.path))
        if found.metadata_index is None
        else _metadata_item(payload, found.metadata_index)
    )
    around = around[:-1] if found.is_keyed else around
    near = [m for path, node in reversed(around) for m in _with_containers(node, path)]
    far = [m for path, node in reversed(around) for m in _in_unknown_objects(node, path, excluded=found.path)]
    return ResponseEnvelope(tuple(near), tuple(far), from_headers)


def _enclosing_objects(payload: Json, path: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """The objects on the path to the records, outermost first; of a list of two, the object before the records."""
    if isinstance(payload, list):
        if path and payload and isinstance(payload[0], dict):
            yield "0.", payload[0]
        return
    node, at = payload, ""
    while isinstance(node, dict):
        yield at, node
        key, _, path = path.partition(".")
        node, at = node.get(key), f"{at}{key}."


def _metadata_item(payload: Json, at: int) -> list[tuple[str, Mapping[str, Json]]]:
    """The item of a list that is not a record."""
    node = payload[at] if isinstance(payload, list) else None
    return [(f"{at}.", node)] if isinstance(node, dict) else []


def _with_containers(node: Mapping[str, Json], above: str) -> Iterator[EnvelopeMember]:
    yield from (EnvelopeMember(key, above + key, element_text(value)) for key, value in node.items())
    for key, value in node.items():
        if isinstance(value, dict) and plain(key) in vocabulary.CONTAINERS:
            yield from _with_containers(value, f"{above}{key}.")


def _in_unknown_objects(node: Mapping[str, Json], above: str, *, excluded: str) -> Iterator[EnvelopeMember]:
    """Members of objects that no table has, unless they are large, about something else, or the records."""
    for key, value in node.items():
        is_known = plain(key) in vocabulary.CONTAINERS | _FACTS_OF_REQUEST or f"{above}{key}" == excluded
        if not isinstance(value, dict) or is_known or len(value) > _MAX_MEMBERS or above.count(".") >= _DEPTH:
            continue
        if any(isinstance(inner, list) and inner for inner in value.values()):
            continue
        yield from (EnvelopeMember(name, f"{above}{key}.{name}", element_text(inner)) for name, inner in value.items())
        yield from _in_unknown_objects(value, f"{above}{key}.", excluded=excluded)


def _from_headers(headers: Mapping[str, str]) -> tuple[EnvelopeMember, ...]:
    """Headers as members, and the members of headers that hold a JSON object."""
    from_headers = [
        EnvelopeMember(name.removeprefix("x-"), HEADER + name, value.strip()) for name, value in headers.items()
    ]
    for name in _HEADERS_WITH_JSON:
        for key, value in _json_object(headers.get(name, "")).items():
            from_headers.append(EnvelopeMember(key, f"{HEADER}{name}", value))
    return tuple(from_headers)


def _json_object(text: str) -> Mapping[str, Json]:
    if not text.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def element_text(value: Json) -> Json:
    """The text of an XML element that became an object for its attributes (`{"#text": …}`); else the value."""
    if not isinstance(value, dict):
        return value
    return next((inner for name in _TEXT_OF_ELEMENT if isinstance(inner := value.get(name), str)), value)


def as_count(value: Json) -> int | None:
    """An integer of at least 0, also from digits in text; negative ones mean "unknown"."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:18])
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None
