"""Answers as values: the form of a question's gold, when a result agrees with it, and when a text states it."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

Cell: TypeAlias = str | int | float
Row: TypeAlias = tuple[Cell, ...]
Answer: TypeAlias = Cell | Sequence[Cell] | Sequence[Row]
"""A value, a list of values, or a list of rows."""

RELATIVE_TOLERANCE = 1e-6
_SPACES = " \u00a0\u202f"
_NUMBER = re.compile(rf"(?<![\w.,])[-\u2212+]?\d(?:[\d.,{_SPACES}']*\d)?(?!\w)")
_GROUPED = re.compile(rf"[{_SPACES}']")


def rows_of(answer: Answer) -> list[Row]:
    """An answer as rows: a value is one row of one cell, a list of values has one cell per row."""
    cells: Sequence[Cell | Row] = [answer] if isinstance(answer, str | int | float) else answer
    return [cell if isinstance(cell, tuple) else (cell,) for cell in cells]


def agrees(answer: Answer, rows: Sequence[Sequence[Any]], *, is_ranked: bool) -> bool:
    """Whether rows of a result are the answer; their order counts only in a ranking."""
    wanted, given = rows_of(answer), [tuple(map(plain, row)) for row in rows]
    if len(wanted) != len(given):
        return False
    if not is_ranked:
        wanted, given = sorted(wanted, key=_by_cells), sorted(given, key=_by_cells)
    return all(
        len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
        for a, b in zip(wanted, given, strict=True)
    )


def same(wanted: Any, given: Any) -> bool:
    """Whether two cells are the same value: integers exactly, other numbers within RELATIVE_TOLERANCE."""
    if isinstance(wanted, float) and isinstance(given, int | float):
        return abs(wanted - given) <= RELATIVE_TOLERANCE * max(abs(wanted), abs(given), 1e-9)
    return bool(wanted == given)


def plain(value: Any) -> Any:
    """A value of a result as a cell: decimals as numbers, dates as ISO text."""
    match value:
        case Decimal():
            return float(value)
        case datetime():
            return value.isoformat(sep="T")
        case date():
            return value.isoformat()
        case _:
            return value


def is_stated(answer: Answer, text: str, *, is_ranked: bool) -> bool:
    """Whether a text contains every cell of the answer, and of a ranking the first cells in its order.

    Numbers are found in any common notation ("1,234.5", "1 234,5"). A text that states more than the answer passes.
    """
    rows = rows_of(answer)
    if not all(_place(cell, text) is not None for row in rows for cell in row):
        return False
    places = [place for row in rows if (place := _place(row[0], text)) is not None]
    return not is_ranked or places == sorted(places)


def _place(cell: Cell, text: str) -> int | None:
    if isinstance(cell, str):
        at = text.casefold().find(cell.casefold())
        return at if at >= 0 else None
    found = (match.start() for match in _NUMBER.finditer(text) if any(same(cell, n) for n in readings(match[0])))
    return next(found, None)


def readings(notation: str) -> set[float]:
    """The possible values of a number's notation: "1,234" is 1234 or 1.234."""
    bare = _GROUPED.sub("", notation.replace("\u2212", "-"))
    read = set()
    for plain_form in (bare.replace(",", ""), bare.replace(".", "").replace(",", ".")):
        try:
            read.add(float(plain_form))
        except ValueError:
            continue
    return read | {n for part in re.split(rf"[{_SPACES}]|, ", notation) if part != notation for n in readings(part)}


def _by_cells(row: Row) -> tuple[str, ...]:
    """Sort texts first: figures may differ in their last digit and must not decide the order if there is a name."""
    names = tuple(cell for cell in row if isinstance(cell, str))
    figures = tuple(f"{cell:024.3f}" for cell in row if not isinstance(cell, str))
    return (*names, *figures)
