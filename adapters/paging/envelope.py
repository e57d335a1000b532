"""What stands beside the records in a response: the scopes in which totals and markers may be.

Knows how to look names up, nearest to the records first. Knows no meaning of any name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from adapters.base import Json
from adapters.paging import names
from adapters.paging.names import plain
from adapters.paging.records import Found


@dataclass(frozen=True, slots=True)
class Envelope:
    """Objects around and beside the records, the nearest first; each maps plain names to values."""

    scopes: tuple[Mapping[str, Json], ...]

    def values(self, table: frozenset[str]) -> Iterator[Json]:
        """Values whose names are in `table`, nearest scope first."""
        for scope in self.scopes:
            yield from (value for name, value in scope.items() if name in table)

    def integer(self, table: frozenset[str]) -> int | None:
        """The first whole number of at least 0 under a name of `table`; digits in text count."""
        return next((n for value in self.values(table) if (n := as_count(value)) is not None), None)

    def flag(self, table: frozenset[str]) -> bool | None:
        """The first truth value under a name of `table`."""
        return next((value for value in self.values(table) if isinstance(value, bool)), None)


def envelope_of(payload: Json, found: Found) -> Envelope:
    """The scopes around `found`: the objects on its path, and the containers (`meta`, `paging`, …) in each.

    One object that is itself the record has no envelope: its `total` and `next` are data.
    """
    if not found.is_list or not isinstance(payload, dict):
        return Envelope(())
    around = [payload]
    for key in found.path.split(".")[:-1]:
        inner = around[-1].get(key)
        if not isinstance(inner, dict):
            break
        around.append(inner)
    return Envelope(tuple(scope for node in reversed(around) for scope in _with_containers(node)))


def _with_containers(node: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    yield {plain(key): value for key, value in node.items()}
    for key, value in node.items():
        if isinstance(value, dict) and plain(key) in names.CONTAINERS:
            yield from _with_containers(value)


def as_count(value: Json) -> int | None:
    """A count of at least 0, also from digits in text; -1 and the like mean "not known"."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:18])
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None
