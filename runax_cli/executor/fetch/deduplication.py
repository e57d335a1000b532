"""Repetitions: pages and records of one call that came before.

Knows digests of pages and identities of records. What is dropped is counted and noted.
"""

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
    seen = SeenRecords()
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


class RepetitionDetector:
    """What came so far. `noun` names records in the notes."""

    def __init__(self, noun: str, notes: CoverageNotes) -> None:
        self._noun, self._notes = noun, notes
        self._pages: dict[str, int] = {}
        self._records = SeenRecords()
        self._before: tuple[int, list[Json]] = (-1, [])

    def twin(self, index: int, page: FetchedPage) -> int | None:
        """The other page that had the same records; a page from the journal was judged when it came."""
        if not page.held or page.from_store:
            return None
        twin = self._pages.get(fingerprint(page.records), index)
        return None if twin == index else twin

    def is_old(self, index: int, page: FetchedPage) -> bool:
        """Whether a page brings nothing new: it is another one's twin, or all of its records came before."""
        return self.twin(index, page) is not None or (not page.from_store and self._records.has_all(page.records))

    def fresh(self, index: int, page: FetchedPage) -> list[Json]:
        """The page's records that did not come before; takes note of the page and of them."""
        if page.held:
            self._pages.setdefault(fingerprint(page.records), index)
        self._tell_overlap(index, page.records)
        kept = [record for record in page.records if not self._records.is_repetition(record)]
        if dropped := len(page.records) - len(kept):
            self._notes.note(
                ReasonCode.RECORDS_REPEATED, f"{dropped} {self._noun} came twice and were kept once (page {index + 1})"
            )
        return kept

    def _tell_overlap(self, index: int, records: list[Json]) -> None:
        """Records without an id are all kept: equal ones may be different ones. Where pages meet in them it is told."""
        (before, ended), self._before = self._before, (index, records)
        if not records or before != index - 1 or id_of(records[0]) is not None:
            return
        if n := overlap(ended, records):
            text = f"page {index + 1} begins with {n} {self._noun} that the page before ended with; they have no id"
            self._notes.note(ReasonCode.RECORDS_REPEATED, text)


def overlap(ended: Sequence[Json], begun: Sequence[Json]) -> int:
    """How many of the last of `ended` are the first of `begun`, in order."""
    longest = min(len(ended), len(begun))
    return next((n for n in range(longest, 0, -1) if list(ended[-n:]) == list(begun[:n])), 0)
