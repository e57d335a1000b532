"""Records in an object, each under its id, in place of a list: `{"1000": {…}, "1003": {…}}`.

Knows what tells such an object from one record with objects inside: all values are objects of one shape, and the keys
are ids, which no programmer names a member by. Where they may be names, there have to be many, all alike. Knows nothing
of where the object stands.
"""

import re
from collections.abc import Mapping

from adapters.base import Json

_FEWEST = 2
_FEWEST_NAMED = 5
_MANY = 20
_NUMBER = re.compile(r"-?\d+")
_OPAQUE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?=.*\d.*\d)(?=.*[A-Za-z_:-])[\w:.-]{12,64}",
    re.IGNORECASE,
)
_KEY = "_key"


def is_keyed(node: Mapping[str, Json], *, fewest: int = _FEWEST) -> bool:
    """Whether the members of an object are surely records under their ids; at least `fewest`."""
    return len(node) >= fewest and all(map(_is_id, node)) and _are_alike(node)


def is_keyed_by_names(node: Mapping[str, Json], *, is_paged: bool = False) -> bool:
    """Whether the members of an object are many and all alike, whatever their keys are; on a page several suffice."""
    return len(node) >= (_FEWEST if is_paged else _FEWEST_NAMED) and _are_alike(node)


def keyed_in_order(node: Mapping[str, Json]) -> dict[str, str]:
    """The members of `node` that are records under their ids because a list beside them names just those ids.

    Each with the name of that list: `{"ids": ["a", "b"], "users": {"a": {…}, "b": {…}}}`.
    """
    lists = {name: set(map(str, value)) for name, value in node.items() if _are_ids(value)}
    keyed = {name: value for name, value in node.items() if isinstance(value, dict) and value and _are_alike(value)}
    return {name: key for name, value in keyed.items() for key, ids in lists.items() if ids == value.keys()}


def _are_ids(value: Json) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(one, str | int) and not isinstance(one, bool) for one in value)


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
