"""Resources: named sets of records that can be narrowed by filters and read by position.

Knows records as JSON bytes and positions as numbers. Knows no pages, no HTTP and not where a client is.
"""

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

    `select` gives the positions of the records that fit, in order; `read` gives records as compact JSON. Both may
    take time and are called off the event loop. `singular` names one record where it can be read by its id, which is
    then its position. `definitions` are the schemas that `record_schema` refers to under `#/components/schemas/`.
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
    """A `select` that keeps its last results, and lets one thread work where several ask for the same."""
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
    """About how many tokens the records take: bytes of a spread sample, scaled. Within some 10 % for these data."""
    if not positions:
        return 0
    step = max(1, len(positions) // _SAMPLE_SIZE)
    sample = resource.read(positions[::step])
    return round(sum(map(len, sample)) / len(sample) * len(positions) / _BYTES_PER_TOKEN)


def from_tables(tables: Mapping[str, Table]) -> tuple[Resource, ...]:
    """The made-up provider's tables as resources."""
    return tuple(_from_table(table) for table in tables.values())


def _from_table(table: Table) -> Resource:
    schema = table.shape.model_json_schema(ref_template="#/components/schemas/{model}")
    definitions = schema.pop("$defs", {})
    title = table.shape.__name__

    @lru_cache(maxsize=512)
    def dumped(n: int) -> bytes:
        return orjson.dumps(table.record(n))

    return Resource(
        name=table.name,
        description=table.description,
        record_schema={"$ref": f"#/components/schemas/{title}"},
        definitions={**definitions, title: schema},
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
