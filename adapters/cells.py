"""Text of cells (CSV, TSV) as records: one for each line, named by the header.

Knows delimiters, headers and what a number looks like. Knows no transport. A text that is no such table, since it has
no header or lines of different lengths, is none here: nothing is repaired, and nothing left out.
"""

import csv
import io
import re
from collections.abc import Sequence

from adapters.base import Json

_DELIMITERS = ",;\t|"
_WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
_NUMBER = re.compile(r"(?:0|-?[1-9]\d{0,14}|-0)(?:\.\d{1,15})?")


def records_of(text: str) -> list[Json] | None:
    """The records of a table with a header; an empty list for a header alone, None where it is no such table."""
    first = text.lstrip("\ufeff").partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    rows = _rows(text.lstrip("\ufeff"), delimiter)
    if not rows or not _is_header(rows[0]) or any(len(row) != len(rows[0]) for row in rows):
        return None
    columns = [_typed(column) for column in zip(*rows[1:], strict=True)]
    return [dict(zip(rows[0], cells, strict=True)) for cells in zip(*columns, strict=True)]


def _rows(text: str, delimiter: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    except csv.Error:
        return []


def _is_header(cells: Sequence[str]) -> bool:
    """Names: at least two, each there once, and none of them a number."""
    names = {cell.strip() for cell in cells}
    return len(cells) > 1 and len(names) == len(cells) and "" not in names and not any(map(_NUMBER.fullmatch, names))


def _typed(column: Sequence[str]) -> list[Json]:
    """A column as numbers where every cell is written as one is (`007` is none); an empty cell has no value."""
    filled = [cell for cell in column if cell]
    if filled and all(map(_WHOLE.fullmatch, filled)):
        return [int(cell) if cell else None for cell in column]
    if filled and all(map(_NUMBER.fullmatch, filled)):
        return [float(cell) if cell else None for cell in column]
    return [cell or None for cell in column]
