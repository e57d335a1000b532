"""Seal a dataset: write its spool as one Parquet file in page order, with types inferred from all records.

The spool stays the source of truth; what cannot be typed is kept as JSON. Blocking.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from runax_cli.core.errors import StoreError
from runax_cli.executor.sql.columns import literal, quoted
from runax_cli.executor.sql.record_types import (
    MAX_FIELDS,
    ScalarType,
    column_path,
    measure_paths,
    open_paths,
    parse_type,
    settle_type,
)
from runax_cli.executor.store.dataset import Dataset

MEMORY_MB = 128
"""Enough for ordinary records with one thread and small row groups; longer records get more."""
_ROW_GROUP = 20_000
_COPY_BYTES = 1024 * 1024
_MIN_OBJECT_BYTES = 16 * 1024 * 1024

_TYPED = (
    "read_json({path}, format='newline_delimited', sample_size=-1, maximum_object_size={longest}, "
    "field_appearance_threshold=0, map_inference_threshold={most_fields})"
)
_AS_TYPES = "read_json({path}, format='newline_delimited', maximum_object_size={longest}, columns={{{types}}})"
_OBJECTS = "read_ndjson_objects({path}, maximum_object_size={longest})"
_READERS = (
    _TYPED,
    "read_json({path}, format='newline_delimited', sample_size=-1, maximum_object_size={longest}, maximum_depth=1)",
    f"(SELECT json AS record FROM {_OBJECTS})",  # noqa: S608
)
"""Typed columns, columns of JSON, one column of JSON: the first reader that reads every record is used."""

_INTEGERS = ("BIGINT", "DECIMAL(38, 0)")
"""Types for integers that Parquet has no type for: the first that holds all of them is used."""


@dataclass(frozen=True, slots=True)
class SealedFile:
    """A sealed file: its records and its size in bytes."""

    records: int
    n_bytes: int


def seal(dataset: Dataset) -> SealedFile:
    """Write the Parquet file of a dataset that has records. Raises StoreError; a failure leaves the spool as it is."""
    import duckdb

    target, draft = dataset.table_path, dataset.table_path.with_suffix(".draft")
    longest = max(_MIN_OBJECT_BYTES, 2 * max((entry.longest for entry in dataset.spool.pages_in_order), default=0))
    try:
        with _in_page_order(dataset) as path, contextlib.closing(duckdb.connect()) as connection:
            for setting in _settings(dataset.folder, longest):
                connection.execute(setting)
            records = _write(connection, path, draft, longest=longest)
        if records != dataset.n_records:
            raise OSError(f"only {records} of {dataset.n_records} records could be read back from the spool")
        draft.chmod(0o600)
        draft.replace(target)
    except (duckdb.Error, OSError) as error:
        draft.unlink(missing_ok=True)
        raise StoreError(
            f"the dataset '{dataset.name}' cannot be sealed: {str(error).strip().splitlines()[0]}. Its records are "
            f"in '{dataset.spool.path}'. Free some space and ask again to compute over it.",
            path=str(target),
        ) from error
    dataset.is_sealed = True
    return SealedFile(records, target.stat().st_size)


def _write(connection: Any, path: Path, draft: Path, *, longest: int) -> int:
    import duckdb

    failure: duckdb.Error | None = None
    given = {"path": literal(str(path)), "longest": str(longest)}
    readers: list[Callable[[], str]] = [partial(_settled, connection, given)]
    readers += [partial(reader.format, **given, most_fields=MAX_FIELDS) for reader in _READERS]
    for reader, integer in itertools.product(readers, _INTEGERS):
        options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP}"
        try:
            statement = _select_statement(connection, reader(), integer)
            row = connection.execute(f"COPY ({statement}) TO {literal(str(draft))} ({options})").fetchone()
        except duckdb.Error as error:
            failure = error
            continue
        return int(row[0]) if row else 0
    raise failure or duckdb.Error("no reader was tried")


def _settled(connection: Any, given: Mapping[str, str]) -> str:
    """Return a source of typed columns whose types do not depend on the number of records.

    A column whose type changes is read a second time beside the others: with explicit types for all columns, DuckDB
    would no longer recognize dates.
    """
    typed = _TYPED.format(**given, most_fields=-1)
    described = connection.execute(f"DESCRIBE FROM {typed}").fetchall()
    inferred = {str(name): parse_type(kind) for name, kind, *_ in described}
    paths = [found for name, kind in inferred.items() for found in open_paths(kind, column_path(name))]
    measures = measure_paths(connection, _OBJECTS.format(**given), paths)
    settled = {name: settle_type(kind, column_path(name), measures) for name, kind in inferred.items()}
    texts = [name for name in inferred if settled[name] != inferred[name] == ScalarType("JSON")]
    types = {name: kind for name, kind in settled.items() if kind != inferred[name] and name not in texts}
    replaced = [f"json_extract_string(typed.{quoted(name)}, '$') AS {quoted(name)}" for name in texts]
    replaced += [f"retyped.{quoted(name)} AS {quoted(name)}" for name in types]
    if not replaced:
        return typed
    listed = ", ".join(f"{quoted(name)}: {literal(str(kind))}" for name, kind in types.items())
    beside = f" POSITIONAL JOIN {_AS_TYPES.format(types=listed, **given)} AS retyped" if types else ""
    return f"(SELECT typed.* REPLACE ({', '.join(replaced)}) FROM {typed} AS typed{beside})"  # noqa: S608


def _select_statement(connection: Any, source: str, integer: str) -> str:
    """Select all of a source. DuckDB infers HUGEINT if some integers are negative, which Parquet would round."""
    described = connection.execute(f"DESCRIBE FROM {source}").fetchall()
    wide = [(quoted(name), kind.replace("HUGEINT", integer)) for name, kind, *_ in described if "HUGEINT" in kind]
    casts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in wide)
    return f"SELECT * REPLACE ({casts}) FROM {source}" if casts else f"FROM {source}"  # noqa: S608


def _settings(folder: Path, longest: int) -> Iterator[str]:
    memory_mb = max(MEMORY_MB, 8 * longest // 1024 // 1024) if longest > _MIN_OBJECT_BYTES else MEMORY_MB
    yield "SET threads = 1"
    yield f"SET memory_limit = '{memory_mb}MB'"
    yield f"SET temp_directory = {literal(str(folder))}"
    yield "SET preserve_insertion_order = true"


@contextlib.contextmanager
def _in_page_order(dataset: Dataset) -> Iterator[Path]:
    """Yield the spool if its pages are in order, else a temporary copy that is."""
    spool = dataset.spool
    if spool.is_contiguous:
        yield spool.path
        return
    ordered = spool.path.with_suffix(".ordered")
    try:
        with spool.path.open("rb") as source, ordered.open("wb") as target:
            ordered.chmod(0o600)
            for page in spool.pages_in_order:
                source.seek(page.offset)
                _copy(source, target, page.n_bytes)
        yield ordered
    finally:
        ordered.unlink(missing_ok=True)


def _copy(source: BinaryIO, target: BinaryIO, n_bytes: int) -> None:
    remaining = n_bytes
    while remaining > 0:
        piece = source.read(min(remaining, _COPY_BYTES))
        if not piece:
            raise OSError("the spool is shorter than its manifest")
        target.write(piece)
        remaining -= len(piece)
