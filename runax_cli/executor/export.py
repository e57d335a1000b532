"""Datasets of a past session written out as Parquet, NDJSON or CSV.

Knows a dataset's folder on disk: its spool, which is the truth, and its sealed file. Knows no run and no journal.
Blocking.
"""

import contextlib
import shutil
from enum import StrEnum
from pathlib import Path

from runax_cli.errors import StoreError
from runax_cli.executor.columns import literal, quoted
from runax_cli.executor.dataset import Dataset
from runax_cli.executor.seal import seal

_NESTED = ("STRUCT", "MAP", "UNION", "[]")


class ExportFormat(StrEnum):
    """The form of a written dataset; also the ending of its file."""

    PARQUET = "parquet"
    NDJSON = "ndjson"
    CSV = "csv"


def reopened(folder: Path) -> Dataset:
    """A dataset as it stands on disk. Raises StoreError where its manifest cannot be read."""
    dataset = Dataset(folder.name, folder)
    try:
        dataset.spool.reopen()
    except (OSError, ValueError) as error:
        raise StoreError(f"the dataset in '{folder}' cannot be read: {error}", path=str(folder)) from error
    dataset.is_sealed = dataset.table_path.exists()
    return dataset


def export(dataset: Dataset, target: Path, form: ExportFormat) -> None:
    """Write all records, in their order, to the new file `target`. Raises StoreError; half a file is never left."""
    draft = target.with_name(f".{target.name}.part")
    try:
        match form:
            case ExportFormat.NDJSON:
                with draft.open("wb") as file:
                    file.writelines(line + b"\n" for line in dataset.lines())
            case ExportFormat.PARQUET:
                shutil.copyfile(_sealed(dataset), draft)
            case ExportFormat.CSV:
                _write_csv(_sealed(dataset), draft)
        draft.replace(target)
    except OSError as error:
        raise StoreError(
            f"'{target}' cannot be written: {error.strerror or error}. Choose another folder with --out.",
            path=str(target),
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def _sealed(dataset: Dataset) -> Path:
    if not dataset.is_sealed:
        seal(dataset)
    return dataset.table_path


def _write_csv(source: Path, target: Path) -> None:
    """One column each, nested values as JSON."""
    import duckdb

    try:
        with contextlib.closing(duckdb.connect()) as connection:
            table = f"read_parquet({literal(str(source))})"
            described = connection.execute(f"DESCRIBE FROM {table}").fetchall()
            columns = ", ".join(_as_text(str(name), str(kind)) for name, kind, *_ in described)
            selected = f"SELECT {columns} FROM {table}"  # noqa: S608
            connection.execute(f"COPY ({selected}) TO {literal(str(target))} (FORMAT csv, HEADER)")
    except duckdb.Error as error:
        first = str(error).strip().splitlines()[0]
        raise StoreError(f"'{target}' cannot be written as CSV: {first}", path=str(target)) from error


def _as_text(name: str, kind: str) -> str:
    column = quoted(name)
    return f"to_json({column}) AS {column}" if any(mark in kind for mark in _NESTED) else column
