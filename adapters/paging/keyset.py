"""Pages that begin after the last record read: which value of it the next page is asked with.

Knows records and the names keys usually have. The key is, in order: the declared path; `sort`, where the position is
`search_after`; the member whose name the position repeats (`after_uuid`, `max_id`); an identity by its usual name; the
only scalar member that differs in every record and runs in one direction.

A position that goes down (`max_id`, `before`) takes the least numeric key, one that goes up from a number (`since_id`)
the greatest; every other the last record's, whatever its value. Where a page that should go up runs down, its last
record is no place to go on from: there is no next key, and what lies between is told as missing by whoever walks.
"""

from collections.abc import Sequence
from itertools import pairwise

from adapters.base import Json, Pagination
from adapters.paging.names import plain, words
from adapters.paging.records import at_path

SEARCH_AFTER = words("search_after")
_SORT = "sort"
_IDENTITIES = ("id", "_id", "uuid", "guid", "key", "_key", "pk", "rowid", "sid", "gid", "name")
_DOWN = ("max", "before", "until", "to", "below", "lt", "older", "less")
_UP = ("since", "min", "from", "above", "gt", "greater", "newer")
_WORDS = (*_DOWN, *_UP, "starting", "start", "exclusive", "after", "last", "next", "page", "ending", "cursor", "than")


def next_key(records: Sequence[Json], pagination: Pagination) -> Json:
    """The key that the page after `records` is asked with; None where they have none."""
    path = pagination.key or key_path(records, pagination.position or "")
    if path is None:
        return None
    keys = [value for record in records if _is_key(value := _value(record, path), path)]
    if not keys or len(keys) < len(records):
        return None
    if not all(isinstance(key, int) for key in keys):
        return keys[-1]
    return _numeric(keys, plain(pagination.position or ""))


def key_path(records: Sequence[Json], position: str) -> str | None:
    """The dotted path of the key inside a record, for a position of this name; None where none can be told."""
    rows = [record for record in records if isinstance(record, dict)]
    if not rows or len(rows) < len(records):
        return None
    if plain(position) in SEARCH_AFTER:
        return _SORT if isinstance(rows[-1].get(_SORT), list) else None
    own = _without_direction(position)
    named = [name for name in rows[-1] if own and plain(name) == own]
    usual = [name for identity in _IDENTITIES for name in rows[-1] if plain(name) == plain(identity)]
    for name in (*named, *usual):
        if all(_is_key(row.get(name), name) for row in rows):
            return str(name)
    return _by_structure(rows)


def _numeric(keys: list[int], position: str) -> int | None:
    if position.startswith(_DOWN):
        return min(keys)
    is_up = position.startswith(_UP)
    runs_down = len(keys) > 1 and keys[-1] < keys[0]
    return None if is_up and runs_down else keys[-1]


def _value(record: Json, path: str) -> Json:
    return at_path(record, path)[1]


def _is_key(value: Json, path: str) -> bool:
    """A value that can be sent back: text or a number, and a list of such where the position is `search_after`."""
    if path == _SORT and isinstance(value, list):
        return bool(value)
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def _without_direction(position: str) -> str:
    """What is left of a position's name without the words that say where it begins: `uuid` of `after_uuid`."""
    left = plain(position)
    for word in sorted(_WORDS, key=len, reverse=True):
        left = left.removeprefix(word)
    return left


def _by_structure(rows: list[dict[str, Json]]) -> str | None:
    """The only member that is ordered strictly over the page; None where several are, or one record says nothing."""
    if len(rows) < 3:
        return None
    ordered = [name for name in rows[0] if _is_ordered([row.get(name) for row in rows])]
    return ordered[0] if len(ordered) == 1 else None


def _is_ordered(values: list[Json]) -> bool:
    kind = str if isinstance(values[0], str) else int
    if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
        return False
    pairs = list(pairwise(values))
    return all(a < b for a, b in pairs) or all(a > b for a, b in pairs)
