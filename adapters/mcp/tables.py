"""Tables in a text: comma- or tab-separated values, and tables ruled with lines as Markdown and databases print them.

Knows the look of tables. Knows no wire. A text is a table only where every row has as many cells as the head; short
words may stand before and behind it. A column is numbers where all its cells are, written as a program writes numbers.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from adapters.base import Json, JsonObject

_SEPARATORS = ("\t", ";", ",")
_NAME = re.compile(r"[^\W\d][\w .()#%/$:-]{0,60}")
_RULES = frozenset("-=\u2500\u2550")
_RULED = frozenset(" \t\r|+:=-") | {chr(code) for code in range(0x2500, 0x2580)}
_BAR = re.compile(r"(?<!\\)[|\u2502\u2503]")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?")
_REMARKS = ("(", ".", "\u2026", "*", "_", "[", "-", "#")
"""What a line begins with that stands right under a table and is no row that was cut."""
_MOST_WORDS = 600
_NO_VALUE = frozenset({"", "NULL", "null", "None", "NaN", "nan", "<NA>", "\\N"})


@dataclass(frozen=True, slots=True)
class Table:
    """The rows as records, and the words around them."""

    rows: list[Json]
    words: str


def read_table(text: str) -> Table | None:
    """The one table of a text; None where it has none."""
    lines = text.replace("\r\n", "\n").split("\n")
    return _ruled(lines) or _separated(lines)


def _ruled(lines: Sequence[str]) -> Table | None:
    """A table with a rule under its head; rules around it and between rows are nothing."""
    kinds = [(key, list(group)) for key, group in groupby(enumerate(lines), key=lambda one: _is_of_table(one[1]))]
    blocks = [group for key, group in kinds if key and any(_is_rule(line) for _, line in group)]
    if len(blocks) != 1:
        return None
    inside = [line for _, line in blocks[0]]
    rows = [_cells(line) for line in inside if not _is_rule(line)]
    is_headed = (len(inside) > 1 and _is_rule(inside[1])) or (
        len(inside) > 2 and _is_rule(inside[0]) and _is_rule(inside[2])
    )
    is_single = len(rows[0]) < 2 and not _BAR.match(inside[0].strip()) if rows else True
    if not is_headed or is_single or len({len(row) for row in rows}) != 1:
        return None
    first, last = blocks[0][0][0], blocks[0][-1][0]
    return _table(rows[0], rows[1:], [*lines[:first], *lines[last + 1 :]])


def _is_of_table(line: str) -> bool:
    return _BAR.search(line) is not None or _is_rule(line)


def _is_rule(line: str) -> bool:
    signs = set(line)
    return len(line.strip()) > 2 and signs <= _RULED and not signs.isdisjoint(_RULES)


def _cells(line: str) -> list[str]:
    bare = line.strip()
    cells = _BAR.split(bare)
    if bare[:1] in ("|", "\u2502", "\u2503"):
        cells = cells[1:-1] if not cells[-1].strip() else cells[1:]
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _separated(lines: Sequence[str]) -> Table | None:
    """Separated values; a head of names tells which sign separates them, and where the table begins."""
    found = ((at, sign) for at, line in enumerate(lines[:20]) for sign in _SEPARATORS if _is_head(line, sign))
    at, sign = next(found, (-1, ""))
    if at < 0 or (at > 0 and lines[at - 1].strip()):
        return None
    try:
        rows, rest = _records(lines[at:], sign)
    except csv.Error:
        return None
    if len(rows) < 2 or (rest and rest[0].strip() and not rest[0].lstrip().startswith(_REMARKS)):
        return None
    return _table([name.strip() for name in rows[0]], rows[1:], [*lines[:at], *rest])


def is_head_alone(text: str) -> bool:
    """Whether a text is the head of a table and nothing else: names without spaces, in one line."""
    line = text.strip()
    return "\n" not in line and " " not in line and any(_is_head(line, sign) for sign in _SEPARATORS)


def _is_head(line: str, sign: str) -> bool:
    try:
        names = next(csv.reader([line], delimiter=sign), [])
    except csv.Error:
        return False
    is_spaced = sign == "," and ", " in line and '"' not in line
    are_names = all(_NAME.fullmatch(name.strip()) for name in names)
    return len(names) > 1 and not is_spaced and are_names and len(set(names)) == len(names)


def _records(lines: Sequence[str], sign: str) -> tuple[list[list[str]], list[str]]:
    """The rows of as many cells as the head, and the lines behind them."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=sign, strict=True)
    rows: list[list[str]] = []
    n_read = 0
    for row in reader:
        if row and rows and len(row) != len(rows[0]):
            break
        n_read = reader.line_num
        if row:
            rows.append(row)
    return rows, list(lines[n_read:])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], around: Iterable[str]) -> Table | None:
    words = "\n".join(line for line in around if line.strip()).strip()
    names = list(head)
    if len(words) > _MOST_WORDS or not all(names) or len(set(names)) != len(names):
        return None
    if not rows:
        return Table([], words)
    columns = [column([row[at] for row in rows]) for at in range(len(names))]
    records: list[JsonObject] = [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
    return Table(list(records), words)


def column(cells: Sequence[str]) -> list[Json]:
    """A column's values: numbers where it holds nothing else, and nothing where a cell says so."""
    told = [cell.strip() for cell in cells]
    given = [cell for cell in told if cell not in _NO_VALUE]
    if not given or not all(_NUMBER.fullmatch(cell) for cell in given):
        return [None if cell in _NO_VALUE - {"None", "nan", ""} else cell for cell in told]
    return [None if cell in _NO_VALUE else float(cell) if "." in cell else int(cell) for cell in told]
