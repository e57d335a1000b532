"""Export datasets and stored results as Parquet, NDJSON or CSV files. Blocking."""

import contextlib
import shutil
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from runax_cli.core.errors import StoreError
from runax_cli.executor.sql.columns import literal, quoted
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.store.dataset import Dataset

_NESTED = ("STRUCT", "MAP", "UNION", "[]")
_FLOATS = ("DOUBLE", "FLOAT")


class ExportFormat(StrEnum):
    """The format of an exported file, which is also its extension."""

    PARQUET = "parquet"
    NDJSON = "ndjson"
    CSV = "csv"


def open_dataset(folder: Path) -> Dataset:
    """Open a dataset that is on disk. Raises StoreError if its manifest cannot be read."""
    dataset = Dataset(folder.name, folder)
    try:
        dataset.spool.reopen()
    except (OSError, ValueError) as error:
        raise StoreError(f"the dataset in '{folder}' cannot be read: {error}", path=str(folder)) from error
    dataset.is_sealed = dataset.table_path.exists()
    return dataset


def export(dataset: Dataset, target: Path, form: ExportFormat) -> None:
    """Write all records, in order, to the new file `target`. Raises StoreError; no partial file is left."""
    match form:
        case ExportFormat.NDJSON:
            _write(target, lambda draft: _write_lines(dataset, draft))
        case ExportFormat.PARQUET | ExportFormat.CSV:
            export_file(_sealed(dataset), target, form)


def export_file(source: Path, target: Path, form: ExportFormat) -> None:
    """Write all rows of a Parquet file, in order, to the new file `target`. Raises StoreError; no partial file is left.

    In CSV nested values are JSON. In NDJSON a number that is not finite is null.
    """
    match form:
        case ExportFormat.PARQUET:
            _write(target, lambda draft: shutil.copyfile(source, draft))
        case ExportFormat.CSV:
            _write(target, lambda draft: _convert(source, draft, _csv_value, "FORMAT csv, HEADER"))
        case ExportFormat.NDJSON:
            _write(target, lambda draft: _convert(source, draft, _json_value, "FORMAT json"))


def _write(target: Path, write: Callable[[Path], object]) -> None:
    draft = target.with_name(f".{target.name}.part")
    try:
        write(draft)
        draft.replace(target)
    except OSError as error:
        raise StoreError(
            f"'{target}' cannot be written: {error.strerror or error}. Choose another place with --out or --save.",
            path=str(target),
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def _write_lines(dataset: Dataset, target: Path) -> None:
    with target.open("wb") as file:
        file.writelines(line + b"\n" for line in dataset.lines())


def _sealed(dataset: Dataset) -> Path:
    if not dataset.is_sealed:
        seal(dataset)
    return dataset.table_path


def _convert(source: Path, target: Path, value: Callable[[str, str], str], options: str) -> None:
    """Write a Parquet file in another format. `value` returns the expression of a column, given its name and type."""
    import duckdb

    try:
        with contextlib.closing(duckdb.connect()) as connection:
            table = f"read_parquet({literal(str(source))}, hive_partitioning=false)"
            described = connection.execute(f"DESCRIBE FROM {table}").fetchall()
            columns = ", ".join(value(str(name), str(kind)) for name, kind, *_ in described)
            selected = f"SELECT {columns} FROM {table}"  # noqa: S608
            connection.execute(f"COPY ({selected}) TO {literal(str(target))} ({options})")
    except duckdb.Error as error:
        first = str(error).strip().splitlines()[0]
        raise OSError(first) from error


def _csv_value(name: str, kind: str) -> str:
    column = quoted(name)
    return f"to_json({column}) AS {column}" if any(mark in kind for mark in _NESTED) else column


def _json_value(name: str, kind: str) -> str:
    column = quoted(name)
    return f"CASE WHEN isfinite({column}) THEN {column} END AS {column}" if kind in _FLOATS else column
