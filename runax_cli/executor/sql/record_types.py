"""Decide the types of a dataset's columns: which objects are structs and which are maps, and what mixed values become.

The types must not depend on how many records there are, so that one record and fifty answer the same SQL. DuckDB alone
infers a struct from one record and a map from fifty. Pure, apart from `measure_paths`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

from runax_cli.executor.sql.columns import SqlConnection, TableColumn, literal, quoted

MAX_NAMED_KEYS = 32
"""An object with more keys in one record is a map if its values are of one kind."""
MAX_FIELDS = 1000
"""An object with more keys in all records together is a map in any case."""
_ONE_KIND_SHARE = 2 / 3
_DATA_KEY = re.compile(r"\d.*|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|[^@]+@.+|.*/.*", re.IGNORECASE | re.DOTALL)
"""Keys that are data and not names of fields: numbers, dates, ids, addresses, paths."""
_NUMBERS = ("BIGINT", "UBIGINT", "HUGEINT", "DOUBLE")
_MAP = re.compile(r"MAP\(VARCHAR, (.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A type without parts."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ListType:
    """A list of items."""

    item: "RecordType"

    def __str__(self) -> str:
        return f"{self.item}[]"


@dataclass(frozen=True, slots=True)
class StructType:
    """An object with named fields."""

    fields: Mapping[str, "RecordType"]

    def __str__(self) -> str:
        return f"STRUCT({', '.join(f'{quoted(name)} {kind}' for name, kind in self.fields.items())})"


@dataclass(frozen=True, slots=True)
class MapType:
    """An object whose keys are data."""

    value: "RecordType"

    def __str__(self) -> str:
        return f"MAP(VARCHAR, {self.value})"


RecordType: TypeAlias = ScalarType | ListType | StructType | MapType
_TEXT, _JSON = ScalarType("VARCHAR"), ScalarType("JSON")
_NULL = ScalarType('"NULL"')
"""The type of a value that is null in every record."""


@dataclass(frozen=True, slots=True)
class PathMeasures:
    """What was measured over all records, by JSON path.

    `most_keys` is the largest number of keys of one object; `scalar_only` are paths without a nested value.
    """

    most_keys: Mapping[str, int] = field(default_factory=dict)
    scalar_only: frozenset[str] = frozenset()


def parse_type(text: str) -> RecordType:
    """Parse a type as DuckDB names it."""
    if text.endswith("[]"):
        return ListType(parse_type(text[:-2]))
    if fields := TableColumn("", text).fields:
        return StructType({part.name: parse_type(part.type) for part in fields})
    matched = _MAP.fullmatch(text)
    return MapType(parse_type(matched[1])) if matched else ScalarType(text)


def settle_type(inferred: RecordType, path: str, measures: PathMeasures) -> RecordType:
    """Return the type of a column or field for the inferred one; `path` is its JSON path."""
    match inferred:
        case ScalarType("JSON") if path in measures.scalar_only:
            return _TEXT
        case ListType(item):
            return ListType(settle_type(item, f"{path}[*]", measures))
        case StructType(fields):
            settled = {name: settle_type(kind, _inner(path, name), measures) for name, kind in fields.items()}
            is_map = len(fields) > MAX_FIELDS or _has_data_keys(fields)
            is_map = is_map or _is_large_and_uniform(fields, measures.most_keys.get(path, 0))
            return MapType(reduce(merged, settled.values())) if is_map else StructType(settled)
        case _:
            return inferred


def merged(first: RecordType, second: RecordType) -> RecordType:
    """Return the type that holds the values of both."""
    if first == second or second == _NULL:
        return first
    match first, second:
        case _ if first == _NULL:
            return second
        case ScalarType(a), ScalarType(b) if "JSON" not in (a, b):
            return ScalarType(max(a, b, key=_NUMBERS.index)) if {a, b} <= {*_NUMBERS} else _TEXT
        case ListType(a), ListType(b):
            return ListType(merged(a, b))
        case MapType(a), MapType(b):
            return MapType(merged(a, b))
        case StructType(a), StructType(b):
            shared = {name: merged(a[name], b[name]) if name in b else a[name] for name in a}
            return StructType(shared | {name: kind for name, kind in b.items() if name not in a})
        case _:
            return _JSON


def open_paths(inferred: RecordType, path: str) -> Iterator[tuple[str, RecordType]]:
    """Yield the paths whose type depends on a measure: JSON, and objects with many keys."""
    match inferred:
        case ScalarType("JSON"):
            yield path, inferred
        case ListType(item):
            yield from open_paths(item, f"{path}[*]")
        case StructType(fields):
            if len(fields) > MAX_NAMED_KEYS:
                yield path, inferred
            for name, kind in fields.items():
                yield from open_paths(kind, _inner(path, name))
        case _:
            return


def measure_paths(connection: SqlConnection, records: str, paths: Sequence[tuple[str, RecordType]]) -> PathMeasures:
    """Measure paths over all records in one scan. `records` is a source with a column `json`. Blocking."""
    if not paths:
        return PathMeasures()
    aggregates = ", ".join(_aggregate(path, kind) for path, kind in paths)
    row = connection.execute(f"SELECT {aggregates} FROM {records}").fetchone()  # noqa: S608
    found = list(zip(paths, row, strict=True))
    return PathMeasures(
        most_keys={path: value or 0 for (path, kind), value in found if kind != _JSON},
        scalar_only=frozenset(path for (path, kind), value in found if kind == _JSON and not value),
    )


def column_path(name: str) -> str:
    """Return the JSON path of a column."""
    return _inner("$", name)


def _inner(path: str, name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'{path}."{escaped}"'


def _has_data_keys(fields: Mapping[str, RecordType]) -> bool:
    return 2 * sum(_DATA_KEY.fullmatch(name) is not None for name in fields) > len(fields)


def _is_large_and_uniform(fields: Mapping[str, RecordType], most_keys: int) -> bool:
    """Records of many fields, such as a repository of GitHub, have values of several kinds and stay structs."""
    if most_keys <= MAX_NAMED_KEYS:
        return False
    kinds = [_kind(value) for value in fields.values() if value != _NULL]
    most = max(map(kinds.count, set(kinds)), default=0)
    return most >= _ONE_KIND_SHARE * len(kinds) > 0


def _kind(value: RecordType) -> str:
    match value:
        case ScalarType(name):
            return "number" if name in _NUMBERS else name
        case _:
            return type(value).__name__


def _aggregate(path: str, kind: RecordType) -> str:
    many, where = "[*]" in path, literal(path)
    if kind == _JSON:
        nested = "['OBJECT', 'ARRAY']"
        types = f"json_type(json, {where})"
        return f"bool_or({f'list_has_any({types}, {nested})' if many else f'list_contains({nested}, {types})'})"
    keys = f"json_keys(json, {where})"
    return f"max({f'list_max(list_transform({keys}, lambda k: len(k)))' if many else f'len({keys})'})"
