"""The data of questions: raw for gold answers, and as the mock API serves them for tables.

The two ways share only the data, so that a defect in one of them shows.
"""

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from benchmarks.questions.question import Fetch, Record, Records
from mock_api.files import open_files
from mock_api.resources import Resource, from_tables
from mockdata.events import DEFAULT_COUNT
from mockdata.tables import DEFAULT_SEED, Table, tables

FILES: Mapping[str, str] = {
    "flights_20k": "flights-20k.json",
    "birdstrikes": "birdstrikes.csv",
    "loghub_openssh": "loghub_OpenSSH.csv",
    "loghub_apache": "loghub_Apache.csv",
}
HIDDEN: Mapping[str, tuple[str, ...]] = {
    "tickets": ("category", "tags", "language"),
    "messages": ("language",),
    "events": ("severity", "acknowledged_by"),
    "loghub_openssh": ("EventId", "EventTemplate"),
    "loghub_apache": ("EventId", "EventTemplate", "Level"),
}
"""Columns that questions of meaning may not see."""


def shared_folder() -> Path:
    """The folder of the shared files: `RUNAX_SHARED_DATA`, or `shared/data` next to the checkout."""
    given = os.environ.get("RUNAX_SHARED_DATA")
    return Path(given) if given else Path(__file__).parents[3] / "shared" / "data"


@dataclass(frozen=True, slots=True)
class _Made:
    """Records that are generated at each iteration, so that a million take no memory."""

    table: Table

    def __iter__(self) -> Iterator[Record]:
        return (self.table.record(n) for n in range(1, self.table.count + 1))


class World:
    """The data: the mock data and, if available, the shared files."""

    def __init__(
        self, *, event_count: int = DEFAULT_COUNT, shared: Path | None = None, seed: int = DEFAULT_SEED
    ) -> None:
        self._tables = tables(seed, event_count=event_count)
        self._shared = shared_folder() if shared is None else shared
        self._raw = lru_cache(maxsize=None)(self._read)

    def lacks(self, fetches: Sequence[Fetch]) -> str | None:
        """Why a question cannot be asked here; None if it can."""
        for fetch in fetches:
            if fetch.resource in FILES and not self._file(fetch.resource).is_file():
                return f"'{FILES[fetch.resource]}' is not in '{self._shared}'; set RUNAX_SHARED_DATA"
        return None

    def raw(self, fetch: Fetch) -> Records:
        """The raw records of a call: from a file (cells of CSV as text) or the generator, filtered in plain Python."""
        records = self._raw(fetch.resource)
        if not fetch.arguments:
            return records
        return [record for record in records if all(_fits(record, *each) for each in fetch.arguments.items())]

    @contextmanager
    def resources(self, *, is_hiding: bool = False) -> Iterator[tuple[Resource, ...]]:
        """Everything as the mock API serves it; `is_hiding` removes the columns that reveal labels."""
        files = [self._file(name) for name in FILES if self._file(name).is_file()]
        with open_files(files) as opened:
            served = (*from_tables(self._tables), *opened)
            yield tuple(map(_hiding, served)) if is_hiding else served

    def _file(self, resource: str) -> Path:
        return self._shared / FILES[resource]

    def _read(self, resource: str) -> Records:
        if resource not in FILES:
            made = _Made(self._tables[resource])
            return made if self._tables[resource].count > DEFAULT_COUNT else list(made)
        path = self._file(resource)
        if path.suffix == ".json":
            return list(json.loads(path.read_text(encoding="utf-8")))
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


def _fits(record: Record, name: str, wanted: str | int) -> bool:
    """Whether a record has the value of an argument; a customer's tariff is matched by its code."""
    value = record[name]
    return bool((value["code"] if isinstance(value, dict) else value) == wanted)


def _hiding(resource: Resource) -> Resource:
    """The resource without the columns of HIDDEN, in its records, its schema and its filters."""
    hidden = HIDDEN.get(resource.name, ())

    def read(positions: Sequence[int]) -> list[bytes]:
        records = map(orjson.loads, resource.read(positions))
        return [orjson.dumps({k: v for k, v in record.items() if k not in hidden}) for record in records]

    return replace(
        resource,
        read=read,
        filters=tuple(each for each in resource.filters if each.name not in {name.casefold() for name in hidden}),
        definitions={name: _without(schema, hidden) for name, schema in resource.definitions.items()},
    )


def _without(schema: Mapping[str, Any], hidden: Sequence[str]) -> dict[str, Any]:
    properties = {k: v for k, v in schema.get("properties", {}).items() if k not in hidden}
    required = [name for name in schema.get("required", ()) if name not in hidden]
    return {**schema, "properties": properties, "required": required} if "properties" in schema else dict(schema)
