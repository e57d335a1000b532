"""Rows as text: the header once, the values of a row on a line, as short as CSV can be had.

Pure. Knows values and how they are quoted: nothing is a null, `""` an empty text, nested values are JSON. Knows no
table, no model and no budget: what fits is a test that is handed in.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from runax_cli.executor.compact import compact

LONGEST_CELL = 300
_QUOTED = frozenset(',"\n\r')


def plain(value: Any) -> Any:
    """A value of the engine as JSON has it: dates and times as text, decimals as numbers where these are the same."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return int(value) if value == value.to_integral_value() else _number(value)
        case datetime():
            return value.isoformat(sep=" ")
        case date() | time():
            return value.isoformat()
        case dict():
            return {str(name): plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case _:
            return str(value)


def cell(value: Any, *, longest: int | None = None) -> str:
    """A plain value as a cell; one above `longest` characters is cut, and ends in `…`."""
    text = value if isinstance(value, str) else "" if value is None else compact(value)
    if longest is not None and len(text) > longest:
        text = text[:longest] + "…"
    if isinstance(value, str) and (not text or text != text.strip() or _QUOTED & set(text)):
        return '"' + text.replace('"', '""') + '"'
    return text if not isinstance(value, dict | list) else '"' + text.replace('"', '""') + '"'


def line(values: Iterable[Any], *, longest: int | None = None) -> str:
    """Values as one line."""
    return ",".join(cell(value, longest=longest) for value in values)


def fitting(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], fits: Callable[[str], bool], *, longest: int = LONGEST_CELL
) -> tuple[str, int]:
    """The header and as many of the first rows as fit together, and how many these are."""
    lines = [line(columns), *(line(row, longest=longest) for row in rows)]
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits("\n".join(lines[: middle + 1])) else (low, middle - 1)
    return "\n".join(lines[: low + 1]), low


def _number(value: Decimal) -> Any:
    as_float = float(value)
    return as_float if Decimal(repr(as_float)) == value else str(value)
