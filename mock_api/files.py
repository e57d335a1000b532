"""Files as resources: JSON, NDJSON or CSV, each file a resource that is named after it.

Knows file formats, columns and equality filters. Memory does not grow with the records: NDJSON is read where it is,
everything else from an unnamed spool file. Knows no pages and no HTTP.
"""

import re
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from mock_api.arguments import Argument, JsonObject, Kind, Scalar
from mock_api.cells import read_csv
from mock_api.data import Filters, Positions, Resource, kept
from mock_api.lines import DataFileInvalid, Lines, spooled
from mock_api.paging import RESERVED
from mockdata.customers import folded

__all__ = ["DataFileInvalid", "open_files"]

_MOST_VALUES = 20
_LONGEST_VALUE = 60
_JSON_TYPES: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
_SCALARS: Mapping[frozenset[str], Kind] = {
    frozenset({"boolean"}): "boolean",
    frozenset({"integer"}): "integer",
    frozenset({"number"}): "number",
    frozenset({"integer", "number"}): "number",
    frozenset({"string"}): "string",
}


@contextmanager
def open_files(paths: Sequence[Path]) -> Iterator[tuple[Resource, ...]]:
    """The files as resources while the block lasts; they must not change meanwhile.

    Raises DataFileInvalid for a file that is no list of objects, and OSError for one that cannot be read.
    """
    with ExitStack() as stack:
        names: set[str] = set()
        resources = []
        for path in paths:
            name = _unique(_slug(path.stem) or "records", names)
            resources.append(_resource(name, path, _lines(path, stack)))
        yield tuple(resources)


def _lines(path: Path, stack: ExitStack) -> Lines:
    match path.suffix.lower():
        case ".csv" | ".tsv":
            return spooled(read_csv(path), _spool(stack), name=path.name)
        case ".ndjson" | ".jsonl":
            return Lines(stack.enter_context(path.open("rb")), name=path.name)
        case ".json":
            return spooled(_records_of(path), _spool(stack), name=path.name)
        case other:
            raise DataFileInvalid(f"'{path}' ends in '{other}'; .json, .ndjson, .jsonl, .csv and .tsv can be served")


def _spool(stack: ExitStack) -> BinaryIO:
    return stack.enter_context(tempfile.TemporaryFile(prefix="mock_api_"))


def _records_of(path: Path) -> list[Any]:
    """The list in a JSON file: the whole of it, or the only list in a wrapper object."""
    try:
        content = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise DataFileInvalid(
            f"'{path}' is not JSON ({error}); if it has one record a line, name it '{path.stem}.ndjson'"
        ) from error
    if isinstance(content, list):
        return content
    lists = (
        {name: value for name, value in content.items() if isinstance(value, list)} if isinstance(content, dict) else {}
    )
    if len(lists) != 1:
        found = ", ".join(f"'{name}'" for name in lists) or "none"
        raise DataFileInvalid(f"'{path}' must be a list of objects, or an object with one list in it; lists: {found}")
    return next(iter(lists.values()))


@dataclass(slots=True)
class _Column:
    """What was seen in a column."""

    types: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    seen: int = 0

    def note(self, value: object) -> None:
        """Take one more value into account."""
        self.seen += 1
        self.types.add(_JSON_TYPES[type(value)])
        if isinstance(value, str) and len(self.values) <= _MOST_VALUES:
            self.values.add(value)

    @property
    def kind(self) -> Kind | None:
        """The scalar type of the column, nulls aside; None where it is mixed or nested."""
        return _SCALARS.get(frozenset(self.types - {"null"}))

    @property
    def closed_set(self) -> tuple[str, ...]:
        """All its values, where they are short texts, few and repeated."""
        is_few = self.kind == "string" and len(self.values) <= min(_MOST_VALUES, self.seen // 3)
        return tuple(sorted(self.values)) if is_few and max(map(len, self.values)) <= _LONGEST_VALUE else ()


def _columns(records: Iterable[Mapping[str, object]]) -> dict[str, _Column]:
    columns: dict[str, _Column] = {}
    for record in records:
        for name, value in record.items():
            columns.setdefault(name, _Column()).note(value)
    return columns


def _resource(name: str, path: Path, lines: Lines) -> Resource:
    columns = _columns(lines.each())
    filters = _filters(columns)
    title = name.capitalize()
    return Resource(
        name=name,
        description=f"The {len(lines)} records of {path.name}, in the order of the file.",
        record_schema={"$ref": f"#/components/schemas/{title}"},
        definitions={title: _schema(columns, len(lines))},
        filters=tuple(filters.values()),
        select=kept(lambda given: _select(lines, _by_column(filters, given))),
        read=lines.read,
    )


def _schema(columns: Mapping[str, _Column], count: int) -> JsonObject:
    properties = {name: {"type": sorted(column.types)} for name, column in columns.items()}
    required = [name for name, column in columns.items() if column.seen == count]
    return {"type": "object", "properties": properties, "required": required}


def _filters(columns: Mapping[str, _Column]) -> dict[str, Argument]:
    """An equality filter for every scalar column, by column; names are made fit for arguments."""
    names = set(RESERVED)
    filters = {}
    for column, seen in columns.items():
        if seen.kind is not None:
            name = _unique(_slug(column) or "column", names, suffix="equals")
            text = f"Only records whose '{column}' is exactly this."
            filters[column] = Argument(name=name, kind=seen.kind, description=text, values=seen.closed_set)
    return filters


def _by_column(filters: Mapping[str, Argument], given: Filters) -> dict[str, Scalar]:
    return {column: given[each.name] for column, each in filters.items() if each.name in given}


def _select(lines: Lines, wanted: Mapping[str, Scalar]) -> Positions:
    if not wanted:
        return range(len(lines))
    fits = (all(record.get(column) == value for column, value in wanted.items()) for record in lines.each())
    return array("I", (at for at, is_wanted in enumerate(fits) if is_wanted))


def _slug(text: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", folded(text)).strip("_")


def _unique(name: str, taken: set[str], *, suffix: str = "") -> str:
    """The name, changed where it is taken, and taken from now on."""
    candidates = [name, f"{name}_{suffix}"] if suffix else [name]
    candidates += [f"{name}_{number}" for number in range(2, len(taken) + 3)]
    free = next(each for each in candidates if each not in taken)
    taken.add(free)
    return free
