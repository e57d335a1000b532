"""Find the records in a response.

The rules, in order:

1. A declared path, if it exists. If not, a list that is rarely the records does not replace it: many services omit an
   empty list.
2. A list is the records; of a list that holds an object of figures and a list of objects, the inner list is.
3. Among the lists inside an object (never inside another list): lists of objects, and under known names lists of rows,
   before lists of values; known names before unknown ones; lists before objects of records by their ids; the longer
   before the shorter, the outer before the inner, the first before the later. If the response says that there are no
   records, a list under an unknown name gives way to an empty one. A list that only names the keys of an object of
   records next to it is their order. Lists that are rarely the records (`schemas`, `included`, `fields`, …) count only
   if there is no other list; `links`, `errors` and lists of links never count.
4. Lists of one length, one of them of ids, are the columns of records.
5. A page without a list that says that there are no records, or holds nothing but pagination, is an empty list.
6. A text that is empty, or only says that there is nothing (more), is an empty list.
7. An object whose list is only a part of it is one record; so is anything else that is not a list.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from adapters.base import Json
from adapters.pagination.read.text_signals import is_empty_message
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary.members import (
    ENVELOPE,
    is_list_metadata,
    is_zero_total,
    plain,
    without_prefix,
    words,
)

Keys: TypeAlias = tuple[str, ...]

_DEPTH, _MAX_MEMBERS = 3, 40
_MIN_MEMBERS = 2
_MIN_NAMED_MEMBERS = 5
_MAX_COMPARED = 20
_NUMBER = re.compile(r"-?\d+")
_OPAQUE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?=.*\d.*\d)(?=.*[A-Za-z_:-])[\w:.-]{12,64}",
    re.IGNORECASE,
)
_KEY = "_key"
_ID_COLUMNS = words("ids id keys uuids guids")


def is_keyed(node: Mapping[str, Json], *, fewest: int = _MIN_MEMBERS) -> bool:
    """Whether the members of an object are certainly records by their ids; at least `fewest`."""
    return len(node) >= fewest and all(map(_is_id, node)) and _are_alike(node)


def is_keyed_by_names(node: Mapping[str, Json], *, is_paged: bool = False) -> bool:
    """Whether the members of an object are many and alike, regardless of their keys; on a page two are enough."""
    return len(node) >= (_MIN_MEMBERS if is_paged else _MIN_NAMED_MEMBERS) and _are_alike(node)


def keyed_in_order(payload: Mapping[str, Json]) -> dict[Keys, Keys]:
    """The objects in `payload` that hold records by their ids, because a list elsewhere names exactly those ids.

    Each by its path, with that of the list: `{"order": ["a", "b"], "entities": {"users": {"a": {…}, "b": {…}}}}`.
    """
    members = list(_members(payload, ()))
    lists = {keys: set(map(str, value)) for keys, value in members if _are_ids(value)}
    keyed = {keys: value for keys, value in members if isinstance(value, dict) and value and _are_alike(value)}
    return {keys: of for keys, value in keyed.items() for of, ids in lists.items() if ids == value.keys()}


def _members(node: Mapping[str, Json], above: Keys) -> Iterator[tuple[Keys, Json]]:
    for key, value in node.items():
        yield (*above, key), value
        if isinstance(value, dict) and len(above) < _DEPTH - 1 and len(value) <= _MAX_MEMBERS:
            yield from _members(value, (*above, key))


def _are_ids(value: Json) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(one, str | int) and not isinstance(one, bool) for one in value)


def records_from_columns(node: Mapping[str, Json]) -> list[Json] | None:
    """Records whose members are in lists of one length, one of them of their ids; None if they are not."""
    arrays = {name: value for name, value in node.items() if isinstance(value, list)}
    lists = {name: value for name, value in arrays.items() if not value or not all(map(_is_name_in(node), value))}
    ids = next((value for name, value in lists.items() if plain(name) in _ID_COLUMNS and _are_ids(value)), None)
    if (
        ids is None
        or len(lists) < _MIN_MEMBERS
        or {len(value) for value in lists.values()} != {len(set(map(str, ids)))}
    ):
        return None
    rows: list[Json] = [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]
    return None if any(map(_carries_id, rows[:_MAX_COMPARED], ids)) else rows


def _is_name_in(node: Mapping[str, Json]) -> Callable[[Json], bool]:
    """Whether a value is the name of a member, as in a list of the requested columns."""
    return lambda value: isinstance(value, str) and value in node


def _carries_id(row: Json, own: Json) -> bool:
    """Whether one of the cells is itself a record with that id, so that the column of ids only repeats it."""
    cells = [cell for cell in row.values() if isinstance(cell, dict)] if isinstance(row, dict) else []
    return any(str(value) == str(own) for cell in cells for value in cell.values())


def keyed_records(node: Mapping[str, Json]) -> list[Json]:
    """The members in order, each with its key unless that only counts or is in it anyway."""
    is_count = list(node) in ([str(n) for n in range(len(node))], [str(n) for n in range(1, len(node) + 1)])
    return [value if is_count else _with_key(key, value) for key, value in node.items()]


def _is_id(key: str) -> bool:
    return bool(_NUMBER.fullmatch(key) or _OPAQUE.fullmatch(key))


def _are_alike(node: Mapping[str, Json]) -> bool:
    """Whether all values are objects that share at least half of their members with the first."""
    objects = [value for value in node.values() if isinstance(value, dict) and value]
    if len(objects) < len(node):
        return False
    shapes = [objects[0].keys() & one.keys() for one in objects[:_MAX_COMPARED]]
    sizes = [len(objects[0].keys() | one.keys()) for one in objects[:_MAX_COMPARED]]
    return all(2 * len(common) >= size for common, size in zip(shapes, sizes, strict=True))


def _with_key(key: str, value: Json) -> Json:
    if not isinstance(value, dict) or any(str(inner) == key for inner in value.values()):
        return value
    return {_KEY: key, **value}


_MAX_PATH_LENGTH = 4
_SAMPLE_SIZE = 20
_MAX_LINK_MEMBERS = 7
_TARGETS = frozenset({"href", "url", "uri"})
_RELATIONS = frozenset({"rel", "relation", "relationship"})
_IDENTITY = vocabulary.words("id _id uuid guid")
_CONTINUATIONS = (
    vocabulary.NEXT_CURSORS | vocabulary.NEXT_URLS | vocabulary.NEXT_ANY | vocabulary.MORE_FLAGS | vocabulary.TOTALS
)
_OF_REQUEST = vocabulary.words("queries request params parameters arguments args criteria")


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """The records, their dotted path ("" is the payload itself), and whether they are a list in the response.

    `is_keyed`: they are an object of records by their ids, which counts as a list. `metadata_index` is the
    index of an item of a list that is not a record but describes the list.
    """

    records: list[Json]
    path: str
    is_list: bool
    is_keyed: bool = False
    metadata_index: int | None = None


@dataclass(frozen=True, slots=True)
class _RecordsCandidate:
    """`is_sure`: an object whose keys are listed next to it, regardless of their form."""

    items: list[Json]
    keys: tuple[str, ...]
    is_keyed: bool = False
    is_sure: bool = False

    @property
    def is_known(self) -> bool:
        return plain(without_prefix(self.keys[-1])) in vocabulary.RECORD_LISTS

    @property
    def is_rare(self) -> bool:
        """Whether a list of this name, or inside of an object that repeats the request, is rarely the records."""
        is_of_request = any(plain(key) in _OF_REQUEST for key in self.keys[:-1])
        return is_of_request or plain(self.keys[-1]) in vocabulary.RARELY_RECORD_LISTS | vocabulary.CONTAINERS

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, bool, int, int]:
        """The lowest wins. An empty list gives way to any other, since it may be a side list of a full page."""
        kinds = (dict, list) if self.is_known else (dict,)
        has_fields = any(isinstance(item, kinds) for item in self.items[:_SAMPLE_SIZE])
        signs = (self.is_rare, not self.items, not has_fields, not self.is_known, self.is_keyed and not self.is_sure)
        return (*signs, -len(self.items), len(self.keys))


def find_records(payload: Json, *, declared: str | None = None, is_paged: bool = True, noun: str = "") -> FoundRecords:
    """The records of a payload. `is_paged` is False for a tool without pagination: there, one object is more likely.

    `noun` is the last part of the requested path: a list of that name is its result.
    """
    if isinstance(payload, dict) and (rows := _by_columns(payload, declared)) is not None:
        return FoundRecords(rows, "", is_list=True)
    if declared is not None and (found := _at_declared(payload, declared)) is not None:
        return found
    if payload is None or payload == {}:
        return FoundRecords([], "", is_list=True)
    if isinstance(payload, list):
        return _in_list(payload)
    if isinstance(payload, str) and is_empty_message(payload):
        return FoundRecords([], "", is_list=True)
    if not isinstance(payload, dict):
        return FoundRecords([payload], "", is_list=False)
    if is_keyed(payload, fewest=1) or is_keyed_by_names(payload):
        return FoundRecords(keyed_records(payload), "", is_list=True, is_keyed=True)
    best = _best(payload, is_paged=is_paged)
    if is_paged and (
        _is_empty_page(payload) if best is None else best.is_rare and (declared or _has_zero_total(payload))
    ):
        return FoundRecords([], normalize_path(declared or ""), is_list=True)
    if best is None or (plain(best.keys[-1]) != noun and _is_part_of_record(payload, best, is_paged=is_paged)):
        return FoundRecords([payload], "", is_list=False)
    return FoundRecords(best.items, ".".join(best.keys), is_list=True, is_keyed=best.is_keyed)


def normalize_path(path: str) -> str:
    """A path as servers write it (`$.data.items[*]`, `/data/items`) in dotted form."""
    bare = path.strip().removeprefix("$").removesuffix("[*]").removesuffix("[]")
    return bare.replace("/", ".").strip(".")


def value_at(payload: Json, path: str) -> tuple[bool, Json]:
    """Whether `path` exists in `payload`, and the value. Keys that contain dots are found too."""
    if not path:
        return True, payload
    if isinstance(payload, list):
        head, _, rest = path.partition(".")
        is_place = head.isascii() and head.isdigit() and int(head) < len(payload)
        return value_at(payload[int(head)], rest) if is_place else (False, None)
    if not isinstance(payload, dict):
        return False, None
    if path in payload:
        return True, payload[path]
    pieces = path.split(".")
    for cut in range(len(pieces) - 1, 0, -1):
        head = ".".join(pieces[:cut])
        if head in payload:
            return value_at(payload[head], ".".join(pieces[cut:]))
    return False, None


def are_links(value: list[Json]) -> bool:
    """Whether a list holds only links: objects with a target, a relation, and little else."""
    return bool(value) and all(
        isinstance(item, dict)
        and len(item) <= _MAX_LINK_MEMBERS
        and bool(_TARGETS.intersection(map(plain, item)))
        and bool(_RELATIONS.intersection(map(plain, item)))
        for item in value[:_SAMPLE_SIZE]
    )


def _by_columns(payload: Mapping[str, Json], declared: str | None) -> list[Json] | None:
    """Records as columns, if nothing else in the object is data."""
    is_here = not declared or isinstance(payload.get(normalize_path(declared)), list)
    others = {name: value for name, value in payload.items() if not isinstance(value, list) and value is not None}
    if not is_here or not all(is_list_metadata(name, value) for name, value in others.items()):
        return None
    return records_from_columns(payload)


def _in_list(payload: list[Json]) -> FoundRecords:
    """The records of a list: all items except one that describes the list."""
    if (alone := _in_envelope(payload)) is not None:
        return alone
    if (at := _metadata_index(payload)) is not None:
        return FoundRecords(payload[:at] + payload[at + 1 :], "", is_list=True, metadata_index=at)
    return FoundRecords(payload[1], "1", is_list=True) if _is_pair(payload) else FoundRecords(payload, "", is_list=True)


def _in_envelope(payload: list[Json]) -> FoundRecords | None:
    """The records of a list whose only item is an envelope: figures about a list, and that list."""
    node = payload[0] if len(payload) == 1 else None
    if not isinstance(node, dict) or not {plain(name) for name in node} & (vocabulary.TOTALS | vocabulary.TOTAL_PAGES):
        return None
    lists = {name: value for name, value in node.items() if isinstance(value, list)}
    name, items = next(iter(lists.items()), ("", []))
    if len(lists) != 1 or plain(name) not in vocabulary.RECORD_LISTS:
        return None
    is_envelope = all(is_list_metadata(other, value) for other, value in node.items() if other != name)
    return FoundRecords(items, f"0.{name}", is_list=True) if is_envelope else None


def _metadata_index(payload: list[Json]) -> int | None:
    """The index of the item with the figures and the pointer, among records that came line by line: first or last."""
    for at, beside in ((len(payload) - 1, 0), (0, len(payload) - 1)):
        node, other = payload[at] if payload else None, payload[beside] if payload else None
        if not isinstance(node, dict) or not isinstance(other, dict) or at == beside or node.keys() & other.keys():
            continue
        if _is_metadata(node):
            return at
    return None


def _is_metadata(node: Mapping[str, Json]) -> bool:
    """Whether an object says only how a list continues, or how long it is."""
    inner = [value for name, value in node.items() if plain(name) in vocabulary.CONTAINERS and isinstance(value, dict)]
    own = {name: value for name, value in node.items() if not any(value is one for one in inner)}
    member_names = {plain(name) for each in (own, *inner) for name in each}
    is_all = all(is_list_metadata(name, value) for each in (own, *inner) for name, value in each.items())
    return is_all and bool(member_names & _CONTINUATIONS)


def _is_pair(payload: list[Json]) -> bool:
    """Whether a list is an object of figures and the list of records."""
    if len(payload) != 2 or not isinstance(payload[0], dict) or not isinstance(payload[1], list):
        return False
    return bool(
        {plain(name) for name in payload[0]} & (vocabulary.TOTALS | vocabulary.TOTAL_PAGES | vocabulary.PAGE_POSITIONS)
    )


def _is_empty_page(payload: Mapping[str, Json]) -> bool:
    """Whether an object without any list is a page without records: it says so, or it is all envelope."""
    only = next(iter(payload.values())) if len(payload) == 1 else None
    if isinstance(only, dict) and only:
        return _is_empty_page(only)
    figures = {plain(name): value for name, value in payload.items()}
    lists = [value for name, value in figures.items() if name in vocabulary.RECORD_LISTS]
    is_all_envelope = figures.keys() <= ENVELOPE and not any(isinstance(value, dict) and value for value in lists)
    return _has_zero_total(payload) or None in lists or is_all_envelope


def _has_zero_total(payload: Mapping[str, Json]) -> bool:
    return any(is_zero_total(name, value) for name, value in payload.items())


def _best(payload: Mapping[str, Json], *, is_paged: bool) -> _RecordsCandidate | None:
    """The most likely list; an object of records under an unknown name only if no list can be meant."""
    found = list(_candidates(payload, (), is_paged=is_paged, ordered=keyed_in_order(payload)))
    if _has_zero_total(payload) and any(not one.items and not one.is_rare for one in found):
        found = [one for one in found if one.is_known or not one.items]
    lists = [one for one in found if not one.is_keyed and not one.is_rare]
    named = [one for one in found if not one.is_keyed or one.is_known or one.is_sure or not lists]
    return min(named, key=lambda c: c.rank, default=None)


def _at_declared(payload: Json, declared: str) -> FoundRecords | None:
    path = normalize_path(declared)
    exists, value = value_at(payload, path)
    if isinstance(value, list):
        return FoundRecords(value, path, is_list=True) if path else _in_list(value)
    if exists and value is None:
        return FoundRecords([], path, is_list=True)
    if not exists and _is_omitted(payload, path):
        return FoundRecords([], path, is_list=True)
    if isinstance(value, dict) and path and (not value or is_keyed(value, fewest=1) or is_keyed_by_names(value)):
        return FoundRecords(keyed_records(value), path, is_list=True, is_keyed=True)
    return FoundRecords([value], path, is_list=False) if exists and path else None


def _is_omitted(payload: Json, path: str) -> bool:
    """Whether the object that should hold the list says only how the list is paged: an empty list is omitted."""
    above, _, _ = path.rpartition(".")
    around = value_at(payload, above)[1] if above else None
    return isinstance(around, dict) and all(is_list_metadata(name, value) for name, value in around.items())


def _candidates(
    node: Mapping[str, Json], above: Keys, *, is_paged: bool, ordered: Mapping[Keys, Keys]
) -> Iterator[_RecordsCandidate]:
    for key, value in node.items():
        keys = (*above, key)
        if plain(key) in vocabulary.NEVER_RECORD_LISTS or keys in ordered.values():
            continue
        if isinstance(value, dict) and keys in ordered:
            yield _RecordsCandidate(keyed_records(value), keys, is_keyed=True, is_sure=True)
        elif isinstance(value, list) and not are_links(value):
            yield _RecordsCandidate(value, keys)
        elif isinstance(value, dict) and _holds_records(value, plain(key), node, is_paged=is_paged):
            yield _RecordsCandidate(keyed_records(value), keys, is_keyed=True)
        elif isinstance(value, dict) and len(keys) < _MAX_PATH_LENGTH and not is_keyed(value):
            yield from _candidates(value, keys, is_paged=is_paged, ordered=ordered)


def _holds_records(value: Mapping[str, Json], name: str, around: Mapping[str, Json], *, is_paged: bool) -> bool:
    """Whether an object holds records by their ids, and is not a table inside the record `around` it."""
    beside = {plain(key) for key in around} - {name}
    if beside & _IDENTITY or (name not in vocabulary.RECORD_LISTS and beside - ENVELOPE):
        return False
    if name in vocabulary.RECORD_LISTS:
        return is_keyed(value, fewest=1) or is_keyed_by_names(value, is_paged=is_paged)
    return is_keyed(value)


def _is_part_of_record(payload: Mapping[str, Json], best: _RecordsCandidate, *, is_paged: bool) -> bool:
    """Whether the object around the list is the record: it has other data, and the list is short."""
    if is_paged or best.is_sure or len(best.items) >= _SAMPLE_SIZE:
        return False
    beside = {key: value for key, value in payload.items() if key != best.keys[0]}
    facts = {
        key: value
        for key, value in beside.items()
        if not (best.is_keyed and (value in (None, "") or isinstance(value, bool)))
    }
    own = {plain(key) for key, value in facts.items() if not is_list_metadata(key, value)}
    own -= {plain(key) for key, value in facts.items() if value in ([], {}, None, "")}
    return bool(own) and (not best.is_known or bool(own & _IDENTITY))
