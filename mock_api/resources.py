"""Resources: named sets of records that are filtered and read by position."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import orjson

from mock_api.arguments import ArgumentSpec, JsonObject, Scalar, ScalarType
from mockdata.tables import Filter, Table

Filters: TypeAlias = Mapping[str, Scalar]
Positions: TypeAlias = Sequence[int]
_BYTES_PER_TOKEN = 3.14
_SAMPLE_SIZE = 32
_MAX_CACHED_SELECTIONS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource.

    `select` returns the positions of the matching records, in order; `read` returns records as compact JSON. Both may
    be slow and are called in a thread. `singular` names one record if it can be read by id, which is its position.
    `definitions` are the schemas that `record_schema` refers to under `#/components/schemas/`.
    """

    name: str
    description: str
    record_schema: JsonObject
    filters: tuple[ArgumentSpec, ...]
    select: Callable[[Filters], Positions]
    read: Callable[[Positions], list[bytes]]
    singular: str | None = None
    definitions: Mapping[str, JsonObject]


def memoized_select(select: Callable[[Filters], Positions]) -> Callable[[Filters], Positions]:
    """A `select` that caches its last results; concurrent calls with the same filters compute once."""
    lock = threading.Lock()
    results: OrderedDict[tuple[tuple[str, Scalar], ...], Positions] = OrderedDict()

    def selected(filters: Filters) -> Positions:
        key = tuple(sorted(filters.items()))
        with lock:
            if key not in results:
                results[key] = select(filters)
            results.move_to_end(key)
            while len(results) > _MAX_CACHED_SELECTIONS:
                results.popitem(last=False)
            return results[key]

    return selected


def estimate_tokens(resource: Resource, positions: Positions) -> int:
    """An estimate of the records' tokens from a sample, within about 10 % for this data."""
    if not positions:
        return 0
    step = max(1, len(positions) // _SAMPLE_SIZE)
    sample = resource.read(positions[::step])
    return round(sum(map(len, sample)) / len(sample) * len(positions) / _BYTES_PER_TOKEN)


def from_tables(tables: Mapping[str, Table]) -> tuple[Resource, ...]:
    """The tables of the fictional provider as resources."""
    return tuple(_from_table(table) for table in tables.values())


def _from_table(table: Table) -> Resource:
    record_schema = table.schema.model_json_schema(ref_template="#/components/schemas/{model}")
    definitions = record_schema.pop("$defs", {})
    title = table.schema.__name__

    @lru_cache(maxsize=512)
    def dumped(n: int) -> bytes:
        return orjson.dumps(table.record(n))

    return Resource(
        name=table.name,
        description=table.description,
        record_schema={"$ref": f"#/components/schemas/{title}"},
        definitions={**definitions, title: record_schema},
        filters=tuple(map(_argument, table.filters)),
        select=memoized_select(
            lambda filters: table.find({name: _filter_value(value) for name, value in filters.items()})
        ),
        read=lambda positions: [dumped(n) for n in positions],
        singular=title.lower(),
    )


def _argument(given: Filter) -> ArgumentSpec:
    kind: ScalarType = "integer" if given.is_integer else "string"
    return ArgumentSpec(name=given.name, kind=kind, description=given.description, values=given.values)


def _filter_value(value: Scalar) -> str | int:
    return value if isinstance(value, str | int) else str(value)
