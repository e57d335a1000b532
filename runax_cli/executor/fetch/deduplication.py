"""Detects pages and records that a call has received before. Dropped duplicates are counted and noted."""

import hashlib
import json
from collections.abc import Iterable, Sequence

import orjson

from adapters.base import Json
from adapters.pagination import fingerprint
from runax_cli.core.results import ReasonCode
from runax_cli.executor.coverage import CoverageNotes
from runax_cli.executor.fetch.page import FetchedPage

ID_NAMES = ("id", "_id", "uuid", "guid", "key", "ID", "Id")


class SeenRecords:
    """The digests of the records with an id that were received."""

    def __init__(self) -> None:
        self._digests: set[int] = set()

    def add(self, record: Json) -> bool:
        """Add a record and return whether it is new. A record without an id is always new."""
        if record_id(record) is None:
            return True
        digest = _digest(record)
        if digest in self._digests:
            return False
        self._digests.add(digest)
        return True

    def contains_all(self, records: Sequence[Json]) -> bool:
        """Return whether there is at least one record and all were added before."""
        return bool(records) and all(
            record_id(record) is not None and _digest(record) in self._digests for record in records
        )


def _digest(record: Json) -> int:
    return int.from_bytes(hashlib.blake2b(_canonical(record), digest_size=8).digest())


def _canonical(record: Json) -> bytes:
    """Serialize a record with sorted names: some servers change the order of an object's members each time."""
    inner = _unwrapped(record)
    try:
        return orjson.dumps(inner, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(inner, sort_keys=True, default=str).encode()


def _unwrapped(record: Json) -> Json:
    """Return the `node` of a GraphQL edge; the cursor next to it belongs to the edge and not to the record."""
    inner = record.get("node") if isinstance(record, dict) else None
    return inner if isinstance(inner, dict) else record


def count_duplicates(records: Iterable[Json]) -> int:
    """Return how many of `records` equal an earlier one, id included."""
    seen = SeenRecords()
    return sum(not seen.add(record) for record in records)


def record_id(record: Json) -> str | None:
    """Return the id of a record as text, if it has a scalar one."""
    record = _unwrapped(record)
    if not isinstance(record, dict):
        return None
    for name in ID_NAMES:
        value = record.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    return None


class DuplicateDetector:
    """Detects duplicates among the pages and records of one call. `noun` names the records in the notes."""

    def __init__(self, noun: str, notes: CoverageNotes) -> None:
        self._noun, self._notes = noun, notes
        self._pages: dict[str, int] = {}
        self._records = SeenRecords()
        self._previous: tuple[int, list[Json]] = (-1, [])

    def duplicate_of(self, index: int, page: FetchedPage) -> int | None:
        """Return the index of an earlier page with the same records. Cached pages were checked when they arrived."""
        if not page.n_received or page.is_cached:
            return None
        first = self._pages.get(fingerprint(page.records), index)
        return None if first == index else first

    def has_nothing_new(self, index: int, page: FetchedPage) -> bool:
        """Return whether a page equals an earlier one or holds only records that were received before."""
        is_duplicate = self.duplicate_of(index, page) is not None
        return is_duplicate or (not page.is_cached and self._records.contains_all(page.records))

    def add_page(self, index: int, page: FetchedPage) -> list[Json]:
        """Remember a page and return its records that are new."""
        if page.n_received:
            self._pages.setdefault(fingerprint(page.records), index)
        self._note_overlap(index, page.records)
        new = [record for record in page.records if self._records.add(record)]
        if n := len(page.records) - len(new):
            text = f"duplicate {self._noun} dropped on page {index + 1}: {n:,}"
            self._notes.note(ReasonCode.RECORDS_REPEATED, text)
        return new

    def _note_overlap(self, index: int, records: list[Json]) -> None:
        """Note records without an id at a page boundary. They are all kept: equal ones may be different records."""
        (index_before, before), self._previous = self._previous, (index, records)
        if not records or index_before != index - 1 or record_id(records[0]) is not None:
            return
        if n := overlap(before, records):
            text = f"page {index + 1} starts with the last {self._noun} of page {index} ({n:,}); they have no id"
            self._notes.note(ReasonCode.RECORDS_REPEATED, text)


def overlap(before: Sequence[Json], after: Sequence[Json]) -> int:
    """Return how many of the last records of `before` are the first of `after`, in order."""
    longest = min(len(before), len(after))
    return next((n for n in range(longest, 0, -1) if list(before[-n:]) == list(after[:n])), 0)
