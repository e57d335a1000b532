"""CSV read as records: columns typed by what all their cells hold.

Knows delimiters, headers and cells. A column is numeric only where every cell in it is a number; an empty cell is
null. Knows nothing of how records are served.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from pathlib import Path

from mock_api.lines import DataFileInvalid

_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,2})?")
_DELIMITERS = ",;\t|"
Cell = str | int | float | None


class CellKind(IntEnum):
    """What a column holds; a column is of the widest kind among its cells."""

    INTEGER = 1
    NUMBER = 2
    TEXT = 3


def read_csv(path: Path) -> Iterator[dict[str, Cell]]:
    """The records of a CSV file, read twice: once for the types. Raises DataFileInvalid."""
    try:
        kinds = _kinds(path)
        for header, row in _rows(path):
            yield {name: _typed(cell, kind) for name, cell, kind in zip(header, row, kinds, strict=True)}
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataFileInvalid(f"'{path}' cannot be read as CSV in UTF-8 ({error}); convert it first") from error


def _rows(path: Path) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The header with each row, the row as long as the header."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        delimiter = max(_DELIMITERS, key=file.readline().count)
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter)
        header = _header(next(reader, []))
        for row in reader:
            if len(row) > len(header):
                raise DataFileInvalid(
                    f"line {reader.line_num} of '{path}' has {len(row)} cells and its header {len(header)}; quote them"
                )
            if row:
                yield header, row + [""] * (len(header) - len(row))


def _header(names: Iterable[str]) -> list[str]:
    """Column names, made up where empty and numbered where repeated."""
    header: list[str] = []
    for index, given in enumerate(names, start=1):
        name = given.strip() or f"column_{index}"
        header.append(name if name not in header else f"{name}_{index}")
    return header


def _kinds(path: Path) -> list[CellKind]:
    kinds: list[CellKind] = []
    for header, row in _rows(path):
        kinds = kinds or [CellKind.INTEGER] * len(header)
        kinds = [max(kind, _kind(cell)) for kind, cell in zip(kinds, row, strict=True)]
    return kinds


def _kind(cell: str) -> CellKind:
    if not cell or _INTEGER.fullmatch(cell):
        return CellKind.INTEGER
    return CellKind.NUMBER if _NUMBER.fullmatch(cell) else CellKind.TEXT


def _typed(cell: str, kind: CellKind) -> Cell:
    if not cell:
        return None
    match kind:
        case CellKind.INTEGER:
            return int(cell)
        case CellKind.NUMBER:
            return float(cell)
        case CellKind.TEXT:
            return cell
