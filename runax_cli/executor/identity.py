"""Which records came before: by their id and content.

Knows ids under their usual names. A record is a repetition only where id and content are both equal: an `id` that is
not unique must not cost a record. Memory: 64 bits a record that has an id.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence

import orjson

from adapters.base import Json

ID_NAMES = ("id", "_id", "uuid", "guid", "key", "ID", "Id")


class Identities:
    """The records that were seen, as digests."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def is_repetition(self, record: Json) -> bool:
        """Whether an equal record with the same id came before; takes note of this one."""
        if id_of(record) is None:
            return False
        digest = _digest(record)
        if digest in self._seen:
            return True
        self._seen.add(digest)
        return False

    def has_all(self, records: Sequence[Json]) -> bool:
        """Whether all of at least one record came before; takes note of none."""
        return bool(records) and all(id_of(one) is not None and _digest(one) in self._seen for one in records)


def _digest(record: Json) -> int:
    return int.from_bytes(hashlib.blake2b(_canonical(record), digest_size=8).digest())


def _canonical(record: Json) -> bytes:
    """Some servers write the names of an object in another order each time."""
    inner = _unwrapped(record)
    try:
        return orjson.dumps(inner, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(inner, sort_keys=True, default=str).encode()


def _unwrapped(record: Json) -> Json:
    """Edges of a connection hold the record as `node`, beside a cursor that is the edge's own."""
    inner = record.get("node") if isinstance(record, dict) else None
    return inner if isinstance(inner, dict) else record


def repeats_in(records: Iterable[Json]) -> int:
    """How many of `records` are equal to one before them, id included."""
    seen = Identities()
    return sum(seen.is_repetition(record) for record in records)


def id_of(record: Json) -> str | None:
    """The record's own id where it has a scalar one, as text."""
    record = _unwrapped(record)
    if not isinstance(record, dict):
        return None
    for name in ID_NAMES:
        value = record.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    return None
