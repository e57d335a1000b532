"""Records in an object, each under its id, in place of a list: `{"1000": {…}, "1003": {…}}`.

Knows what tells such an object from one record with objects inside: all values are objects of one shape, and the keys
are ids, which no programmer names a member by. Where they may be names, there have to be many, all alike. Knows nothing
of where the object stands. Columns beside a column of ids are records too: `{"ids": [1, 2], "texts": ["a", "b"]}`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from adapters.base import Json
from adapters.paging.names import plain, words

Keys: TypeAlias = tuple[str, ...]

_DEPTH, _FEW = 3, 40
_FEWEST = 2
_FEWEST_NAMED = 5
_MANY = 20
_NUMBER = re.compile(r"-?\d+")
_OPAQUE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?=.*\d.*\d)(?=.*[A-Za-z_:-])[\w:.-]{12,64}",
    re.IGNORECASE,
)
_KEY = "_key"
_ID_COLUMNS = words("ids id keys uuids guids")


def is_keyed(node: Mapping[str, Json], *, fewest: int = _FEWEST) -> bool:
    """Whether the members of an object are surely records under their ids; at least `fewest`."""
    return len(node) >= fewest and all(map(_is_id, node)) and _are_alike(node)


def is_keyed_by_names(node: Mapping[str, Json], *, is_paged: bool = False) -> bool:
    """Whether the members of an object are many and all alike, whatever their keys are; on a page several suffice."""
    return len(node) >= (_FEWEST if is_paged else _FEWEST_NAMED) and _are_alike(node)


def keyed_in_order(payload: Mapping[str, Json]) -> dict[Keys, Keys]:
    """The objects in `payload` that are records under their ids because a list somewhere names just those ids.

    Each by its keys, with those of the list: `{"order": ["a", "b"], "entities": {"users": {"a": {…}, "b": {…}}}}`.
    """
    members = list(_members(payload, ()))
    lists = {keys: set(map(str, value)) for keys, value in members if _are_ids(value)}
    keyed = {keys: value for keys, value in members if isinstance(value, dict) and value and _are_alike(value)}
    return {keys: of for keys, value in keyed.items() for of, ids in lists.items() if ids == value.keys()}


def _members(node: Mapping[str, Json], above: Keys) -> Iterator[tuple[Keys, Json]]:
    for key, value in node.items():
        yield (*above, key), value
        if isinstance(value, dict) and len(above) < _DEPTH - 1 and len(value) <= _FEW:
            yield from _members(value, (*above, key))


def _are_ids(value: Json) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(one, str | int) and not isinstance(one, bool) for one in value)


def by_columns(node: Mapping[str, Json]) -> list[Json] | None:
    """Records whose members stand in lists of one length, one of them of their ids; None where they do not."""
    told = {name: value for name, value in node.items() if isinstance(value, list)}
    lists = {name: value for name, value in told.items() if not value or not all(map(_is_name_in(node), value))}
    ids = next((value for name, value in lists.items() if plain(name) in _ID_COLUMNS and _are_ids(value)), None)
    if ids is None or len(lists) < _FEWEST or {len(value) for value in lists.values()} != {len(set(map(str, ids)))}:
        return None
    rows: list[Json] = [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]
    return None if any(map(_carries_id, rows[:_MANY], ids)) else rows


def _is_name_in(node: Mapping[str, Json]) -> Callable[[Json], bool]:
    """Whether a value is the name of a member, as in a list of the columns that were asked for."""
    return lambda value: isinstance(value, str) and value in node


def _carries_id(row: Json, own: Json) -> bool:
    """Whether one of the cells is itself a record with that id, so that the column of ids only repeats it."""
    cells = [cell for cell in row.values() if isinstance(cell, dict)] if isinstance(row, dict) else []
    return any(str(value) == str(own) for cell in cells for value in cell.values())


def keyed_records(node: Mapping[str, Json]) -> list[Json]:
    """The members in their order, each with its key unless that only counts or stands in it anyway."""
    is_count = list(node) in ([str(n) for n in range(len(node))], [str(n) for n in range(1, len(node) + 1)])
    return [value if is_count else _with_key(key, value) for key, value in node.items()]


def _is_id(key: str) -> bool:
    return bool(_NUMBER.fullmatch(key) or _OPAQUE.fullmatch(key))


def _are_alike(node: Mapping[str, Json]) -> bool:
    """Whether all values are objects that share at least half of the members of any two of them."""
    objects = [value for value in node.values() if isinstance(value, dict) and value]
    if len(objects) < len(node):
        return False
    shapes = [objects[0].keys() & one.keys() for one in objects[:_MANY]]
    sizes = [len(objects[0].keys() | one.keys()) for one in objects[:_MANY]]
    return all(2 * len(common) >= size for common, size in zip(shapes, sizes, strict=True))


def _with_key(key: str, value: Json) -> Json:
    if not isinstance(value, dict) or any(str(inner) == key for inner in value.values()):
        return value
    return {_KEY: key, **value}
