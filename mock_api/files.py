"""Files as resources: each JSON, NDJSON or CSV file is a resource named after the file.

Memory does not grow with the records: NDJSON is read in place, other formats through an unnamed temporary file. Columns
are typed by all their values, and every scalar column gets an equality filter.
"""

import csv
import os
import re
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from mock_api.arguments import ArgumentSpec, JsonObject, Scalar, ScalarType
from mock_api.pagination import RESERVED
from mock_api.resources import Filters, Positions, Resource, memoized_select
from mockdata.customers import fold_case

_LONGEST_EXCERPT = 60


class InvalidDataFile(ValueError):
    """A file that cannot be served as records; the message names the file, the position and a remedy."""


class RecordFile:
    """The records of an open file, one per line. Takes 12 bytes of memory per record; thread-safe."""

    def __init__(self, file: BinaryIO, *, name: str) -> None:
        self._file = file
        self._starts, self._lengths = array("Q"), array("I")
        self._name = name
        self._index()

    def __len__(self) -> int:
        return len(self._starts)

    def read(self, positions: Iterable[int]) -> list[bytes]:
        """The JSON of the records at these zero-based positions."""
        descriptor = self._file.fileno()
        return [os.pread(descriptor, self._lengths[index], self._starts[index]) for index in positions]

    def records(self) -> Iterator[dict[str, object]]:
        """All records in order, parsed. Raises InvalidDataFile for a line that is not a JSON object."""
        for index in range(len(self)):
            yield self._parse(index)

    def _parse(self, index: int) -> dict[str, object]:
        (line,) = self.read([index])
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InvalidDataFile(f"record {index + 1} of '{self._name}' is not JSON ({error})") from error
        if not isinstance(record, dict):
            excerpt = line[:_LONGEST_EXCERPT].decode(errors="replace")
            raise InvalidDataFile(
                f"record {index + 1} of '{self._name}' is `{excerpt}`; every record must be an object"
            )
        return record

    def _index(self) -> None:
        start = 0
        self._file.seek(0)
        for line in self._file:
            if text := line.strip():
                self._starts.append(start + line.index(text))
                self._lengths.append(len(text))
            start += len(line)


def write_records(records: Iterable[object], file: BinaryIO, *, name: str) -> RecordFile:
    """Write the records to `file`, one per line, and index them."""
    file.writelines(orjson.dumps(record) + b"\n" for record in records)
    file.flush()
    return RecordFile(file, name=name)


_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,2})?")
_DELIMITERS = ",;\t|"
Cell = str | int | float | None


class ColumnType(IntEnum):
    """The type of a column; a column has the widest type of its cells."""

    INTEGER = 1
    NUMBER = 2
    TEXT = 3


def read_csv(path: Path) -> Iterator[dict[str, Cell]]:
    """The records of a CSV file, read twice: the first time for the types. Raises InvalidDataFile."""
    try:
        kinds = _column_types(path)
        for header, row in _csv_rows(path):
            yield {name: _convert(cell, kind) for name, cell, kind in zip(header, row, kinds, strict=True)}
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidDataFile(f"'{path}' cannot be read as CSV in UTF-8 ({error}); convert it first") from error


def _csv_rows(path: Path) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The header with each row, padded to the length of the header."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        delimiter = max(_DELIMITERS, key=file.readline().count)
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter)
        header = _column_names(next(reader, []))
        for row in reader:
            if len(row) > len(header):
                raise InvalidDataFile(
                    f"line {reader.line_num} of '{path}' has {len(row)} cells and its header {len(header)}; quote them"
                )
            if row:
                yield header, row + [""] * (len(header) - len(row))


def _column_names(names: Iterable[str]) -> list[str]:
    """Column names; empty ones are generated and repeated ones numbered."""
    header: list[str] = []
    for index, given in enumerate(names, start=1):
        name = given.strip() or f"column_{index}"
        header.append(name if name not in header else f"{name}_{index}")
    return header


def _column_types(path: Path) -> list[ColumnType]:
    kinds: list[ColumnType] = []
    for header, row in _csv_rows(path):
        kinds = kinds or [ColumnType.INTEGER] * len(header)
        kinds = [max(kind, _cell_type(cell)) for kind, cell in zip(kinds, row, strict=True)]
    return kinds


def _cell_type(cell: str) -> ColumnType:
    if not cell or _INTEGER.fullmatch(cell):
        return ColumnType.INTEGER
    return ColumnType.NUMBER if _NUMBER.fullmatch(cell) else ColumnType.TEXT


def _convert(cell: str, kind: ColumnType) -> Cell:
    if not cell:
        return None
    match kind:
        case ColumnType.INTEGER:
            return int(cell)
        case ColumnType.NUMBER:
            return float(cell)
        case ColumnType.TEXT:
            return cell


_MAX_ENUM_VALUES = 20
_MAX_ENUM_CHARS = 60
_JSON_TYPES: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
_SCALAR_TYPES: Mapping[frozenset[str], ScalarType] = {
    frozenset({"boolean"}): "boolean",
    frozenset({"integer"}): "integer",
    frozenset({"number"}): "number",
    frozenset({"integer", "number"}): "number",
    frozenset({"string"}): "string",
}


@contextmanager
def open_files(paths: Sequence[Path]) -> Iterator[tuple[Resource, ...]]:
    """The files as resources, within a `with` block; they must not change meanwhile.

    Raises InvalidDataFile for a file that is not a list of objects, and OSError for one that cannot be read.
    """
    with ExitStack() as stack:
        names: set[str] = set()
        resources = []
        for path in paths:
            name = _unique(_slug(path.stem) or "records", names)
            resources.append(_resource(name, path, _open_records(path, stack)))
        yield tuple(resources)


def _open_records(path: Path, stack: ExitStack) -> RecordFile:
    match path.suffix.lower():
        case ".csv" | ".tsv":
            return write_records(read_csv(path), _spool(stack), name=path.name)
        case ".ndjson" | ".jsonl":
            return RecordFile(stack.enter_context(path.open("rb")), name=path.name)
        case ".json":
            return write_records(_json_records(path), _spool(stack), name=path.name)
        case other:
            raise InvalidDataFile(f"'{path}' ends in '{other}'; .json, .ndjson, .jsonl, .csv and .tsv can be served")


def _spool(stack: ExitStack) -> BinaryIO:
    return stack.enter_context(tempfile.TemporaryFile(prefix="mock_api_"))


def _json_records(path: Path) -> list[Any]:
    """The list in a JSON file: the whole document, or the only list in an object."""
    try:
        content = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise InvalidDataFile(
            f"'{path}' is not JSON ({error}); if it has one record a line, name it '{path.stem}.ndjson'"
        ) from error
    if isinstance(content, list):
        return content
    lists = (
        {name: value for name, value in content.items() if isinstance(value, list)} if isinstance(content, dict) else {}
    )
    if len(lists) != 1:
        found = ", ".join(f"'{name}'" for name in lists) or "none"
        raise InvalidDataFile(f"'{path}' must be a list of objects, or an object with one list in it; lists: {found}")
    return next(iter(lists.values()))


@dataclass(slots=True)
class _ColumnStatistics:
    """The values of a column."""

    types: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    n_values: int = 0

    def add(self, value: object) -> None:
        """Take one more value into account."""
        self.n_values += 1
        self.types.add(_JSON_TYPES[type(value)])
        if isinstance(value, str) and len(self.values) <= _MAX_ENUM_VALUES:
            self.values.add(value)

    @property
    def kind(self) -> ScalarType | None:
        """The scalar type of the column, ignoring nulls; None if it is mixed or nested."""
        return _SCALAR_TYPES.get(frozenset(self.types - {"null"}))

    @property
    def enum_values(self) -> tuple[str, ...]:
        """All values, if they are few short strings that repeat."""
        is_few = self.kind == "string" and len(self.values) <= min(_MAX_ENUM_VALUES, self.n_values // 3)
        return tuple(sorted(self.values)) if is_few and max(map(len, self.values)) <= _MAX_ENUM_CHARS else ()


def _collect_columns(records: Iterable[Mapping[str, object]]) -> dict[str, _ColumnStatistics]:
    columns: dict[str, _ColumnStatistics] = {}
    for record in records:
        for name, value in record.items():
            columns.setdefault(name, _ColumnStatistics()).add(value)
    return columns


def _resource(name: str, path: Path, lines: RecordFile) -> Resource:
    columns = _collect_columns(lines.records())
    filters = _filters(columns)
    title = name.capitalize()
    return Resource(
        name=name,
        description=f"The {len(lines)} records of {path.name}, in the order of the file.",
        record_schema={"$ref": f"#/components/schemas/{title}"},
        definitions={title: _schema(columns, len(lines))},
        filters=tuple(filters.values()),
        select=memoized_select(lambda given: _select(lines, _by_column(filters, given))),
        read=lines.read,
    )


def _schema(columns: Mapping[str, _ColumnStatistics], count: int) -> JsonObject:
    properties = {name: {"type": sorted(column.types)} for name, column in columns.items()}
    required = [name for name, column in columns.items() if column.n_values == count]
    return {"type": "object", "properties": properties, "required": required}


def _filters(columns: Mapping[str, _ColumnStatistics]) -> dict[str, ArgumentSpec]:
    """An equality filter for every scalar column, by column; names are made valid for arguments."""
    names = set(RESERVED)
    filters = {}
    for column, column_statistics in columns.items():
        if column_statistics.kind is not None:
            name = _unique(_slug(column) or "column", names, suffix="equals")
            text = f"Only records whose '{column}' is exactly this."
            filters[column] = ArgumentSpec(
                name=name, kind=column_statistics.kind, description=text, values=column_statistics.enum_values
            )
    return filters


def _by_column(filters: Mapping[str, ArgumentSpec], given: Filters) -> dict[str, Scalar]:
    return {column: given[each.name] for column, each in filters.items() if each.name in given}


def _select(lines: RecordFile, wanted: Mapping[str, Scalar]) -> Positions:
    if not wanted:
        return range(len(lines))
    matches = (all(record.get(column) == value for column, value in wanted.items()) for record in lines.records())
    return array("I", (index for index, is_match in enumerate(matches) if is_match))


def _slug(text: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", fold_case(text)).strip("_")


def _unique(name: str, taken: set[str], *, suffix: str = "") -> str:
    """The name, changed if it is taken; it is then taken."""
    candidates = [name, f"{name}_{suffix}"] if suffix else [name]
    candidates += [f"{name}_{number}" for number in range(2, len(taken) + 3)]
    free = next(each for each in candidates if each not in taken)
    taken.add(free)
    return free
