"""Finds tables and lists in text: Markdown and ruled tables, CSV, bullet lists, headed sections, YAML.

Text is a table only if every row has as many cells as the header; a short text may surround it. A column is numeric if
all its cells are numbers as programs write them.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import dedent

from adapters.base import Json, JsonObject
from adapters.openapi.document.loader import DocumentSyntaxError, parse_document

_DELIMITERS = ("\t", ";", ",")
_COLUMN_NAME = re.compile(r"[^\W\d][\w .()#%/$:-]{0,60}")
_RULE_CHARS = frozenset("-=\u2500\u2550")
_RULE_LINE_CHARS = frozenset(" \t\r|+:=-") | {chr(code) for code in range(0x2500, 0x2580)}
_COLUMN_BORDER = re.compile(r"(?<!\\)[|\u2502\u2503]")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?")
_FOOTNOTE_STARTS = ("(", ".", "\u2026", "*", "_", "[", "-", "#")
"""How a line may start that follows a table directly and is not a truncated row."""
_MAX_SURROUNDING_CHARS = 600
_NULL_TEXTS = frozenset({"", "NULL", "null", "None", "NaN", "nan", "<NA>", "\\N"})


@dataclass(frozen=True, slots=True)
class TextTable:
    """The rows as records, and the text around the table."""

    rows: list[Json]
    surrounding: str


def parse_table(text: str) -> TextTable | None:
    """The only table of a text; None without one."""
    lines = text.replace("\r\n", "\n").split("\n")
    return _parse_ruled(lines) or _parse_delimited(lines)


def _parse_ruled(lines: Sequence[str]) -> TextTable | None:
    """A table with a rule under its header; rules around it and between rows are ignored."""
    kinds = [(key, list(group)) for key, group in groupby(enumerate(lines), key=lambda one: _is_table_line(one[1]))]
    blocks = [group for key, group in kinds if key and any(_is_rule(line) for _, line in group)]
    if len(blocks) != 1:
        return None
    inside = [line for _, line in blocks[0]]
    rows = [_split_cells(line) for line in inside if not _is_rule(line)]
    is_headed = (len(inside) > 1 and _is_rule(inside[1])) or (
        len(inside) > 2 and _is_rule(inside[0]) and _is_rule(inside[2])
    )
    is_single = len(rows[0]) < 2 and not _COLUMN_BORDER.match(inside[0].strip()) if rows else True
    if not is_headed or is_single or len({len(row) for row in rows}) != 1:
        return None
    first, last = blocks[0][0][0], blocks[0][-1][0]
    return _to_table(rows[0], rows[1:], [*lines[:first], *lines[last + 1 :]])


def _is_table_line(line: str) -> bool:
    return _COLUMN_BORDER.search(line) is not None or _is_rule(line)


def _is_rule(line: str) -> bool:
    signs = set(line)
    return len(line.strip()) > 2 and signs <= _RULE_LINE_CHARS and not signs.isdisjoint(_RULE_CHARS)


def _split_cells(line: str) -> list[str]:
    bare = line.strip()
    cells = _COLUMN_BORDER.split(bare)
    if bare[:1] in ("|", "\u2502", "\u2503"):
        cells = cells[1:-1] if not cells[-1].strip() else cells[1:]
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _parse_delimited(lines: Sequence[str]) -> TextTable | None:
    """Delimited values; a header of names shows the delimiter and the start of the table."""
    found = (
        (index, delimiter)
        for index, line in enumerate(lines[:20])
        for delimiter in _DELIMITERS
        if _is_header(line, delimiter)
    )
    index, delimiter = next(found, (-1, ""))
    if index < 0 or (index > 0 and lines[index - 1].strip()):
        return None
    try:
        rows, rest = _read_rows(lines[index:], delimiter)
    except csv.Error:
        return None
    if len(rows) < 2 or (rest and rest[0].strip() and not rest[0].lstrip().startswith(_FOOTNOTE_STARTS)):
        return None
    return _to_table([name.strip() for name in rows[0]], rows[1:], [*lines[:index], *rest])


def is_header_only(text: str) -> bool:
    """Whether a text is only the header of a table: one line of names without spaces."""
    line = text.strip()
    return "\n" not in line and " " not in line and any(_is_header(line, delimiter) for delimiter in _DELIMITERS)


def _is_header(line: str, delimiter: str) -> bool:
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return False
    is_spaced = delimiter == "," and ", " in line and '"' not in line
    are_names = all(_COLUMN_NAME.fullmatch(name.strip()) for name in names)
    return len(names) > 1 and not is_spaced and are_names and len(set(names)) == len(names)


def _read_rows(lines: Sequence[str], delimiter: str) -> tuple[list[list[str]], list[str]]:
    """The rows with as many cells as the header, and the lines after them."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    n_read = 0
    for row in reader:
        if row and rows and len(row) != len(rows[0]):
            break
        n_read = reader.line_num
        if row:
            rows.append(row)
    return rows, list(lines[n_read:])


def _to_table(head: Sequence[str], rows: Sequence[Sequence[str]], other_lines: Iterable[str]) -> TextTable | None:
    surrounding = "\n".join(line for line in other_lines if line.strip()).strip()
    names = list(head)
    if len(surrounding) > _MAX_SURROUNDING_CHARS or not all(names) or len(set(names)) != len(names):
        return None
    if not rows:
        return TextTable([], surrounding)
    columns = [typed_column([row[at] for row in rows]) for at in range(len(names))]
    records: list[JsonObject] = [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
    return TextTable(list(records), surrounding)


def typed_column(cells: Sequence[str]) -> list[Json]:
    """The values of a column: numbers if all cells are numbers, None for empty cells."""
    texts = [cell.strip() for cell in cells]
    values = [cell for cell in texts if cell not in _NULL_TEXTS]
    if not values or not all(_NUMBER.fullmatch(cell) for cell in values):
        return [None if cell in _NULL_TEXTS - {"None", "nan", ""} else cell for cell in texts]
    return [None if cell in _NULL_TEXTS else float(cell) if "." in cell else int(cell) for cell in texts]


_LINE_FORMS = tuple(
    map(re.compile, (r"\[[A-Z][A-Z ]{1,15}\] +\S.*", r"/\S.*", r"[A-Za-z]:\\.*", r"[a-z][a-z0-9+.-]*://\S+"))
)
_MIN_ITEMS = 3
_NAME_VALUE_LINE = re.compile(r"(?:[-*\u2022] +)?(?:\*\*)?([^\W\d_][\w .()/#-]{0,40}?)(?:\*\*)?:(?:\*\*)?(?: +(.*))?")
_BLOCK_SEPARATOR = re.compile(
    r"\n[ \t]*\n(?:[ \t]*[-=*_]{3,}[ \t]*\n(?:[ \t]*\n)*)?|\n[ \t]*[-=*_]{3,}[ \t]*\n(?:[ \t]*\n)*"
)
_BARE_HEADING = re.compile(r"(?P<words>[^\n]{1,200}?)(?P<end>:?\s*\[\s*\]|:[*_]{0,2}|)")
_ERROR_WORDS = re.compile(
    r"error|fail|except|unable|could ?n|cannot|can't|denied|invalid|warning|missing", re.IGNORECASE
)
_PAGE_OF_PAGES = re.compile(r"\b(?:page|chunk|batch|part)\W{0,3}(\d{1,9})\s*(?:of|/)\s*(\d{1,9})\b", re.IGNORECASE)
_ROW_RANGE = re.compile(
    r"\b(?:showing|displaying|listing|results?|records?|items?|rows?)\W{0,3}(\d[\d,]*)\s*(?:-|\u2013|to)\s*(\d[\d,]*)"
    r"(?:\s+(?:out )?of\s+\d|\W*$)",
    re.IGNORECASE,
)
"""The position of a page; past the last page, the first record comes after the last."""


def parse_list(text: str) -> TextTable | None:
    """The items that a text lists; None if it is not a list."""
    return _parse_lines(text) or _parse_blocks(text)


def _parse_lines(text: str) -> TextTable | None:
    """Lines of the same form, such as paths or URLs, as strings."""
    parts = re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n"))
    list_member = [part for part in parts if _line_form(part) is not None]
    surrounding = "\n".join(part for part in parts if part not in list_member)
    if len(list_member) != 1 or len(surrounding) > _MAX_SURROUNDING_CHARS:
        return None
    rows: list[Json] = [line.rstrip() for line in list_member[0].split("\n") if line.strip()]
    return TextTable(rows, surrounding) if len(rows) >= _MIN_ITEMS else None


def parse_empty_heading(text: str) -> TextTable | None:
    """A heading without items: it ends in a colon or an empty list, or names a page past the last one."""
    heading = _BARE_HEADING.fullmatch(text.strip())
    if heading is None or _ERROR_WORDS.search(heading["words"]):
        return None
    is_bare = bool(heading["end"])
    return TextTable([], heading["words"]) if is_bare or _is_past_last_page(heading["words"]) else None


def _is_past_last_page(text: str) -> bool:
    """Whether a text names a page past the last one: `Showing 301-300 of 300`, `Page 8 of 7`."""
    rows, page = _ROW_RANGE.search(text), _PAGE_OF_PAGES.search(text)
    if rows is not None:
        return int(rows[1].replace(",", "")) > int(rows[2].replace(",", ""))
    return page is not None and int(page[1]) > int(page[2])


def _line_form(part: str) -> re.Pattern[str] | None:
    lines = [line.strip() for line in part.split("\n") if line.strip()]
    return next((form for form in _LINE_FORMS if lines and all(map(form.fullmatch, lines))), None)


def _parse_blocks(text: str) -> TextTable | None:
    """Blocks of `Name: value` lines, as objects."""
    parts = [part for part in _BLOCK_SEPARATOR.split(text.replace("\r\n", "\n").strip()) if part.strip()]
    parsed = [parse_members(part) for part in parts]
    inside = [index for index, block in enumerate(parsed) if block]
    if not inside or inside != list(range(inside[0], inside[-1] + 1)):
        return None
    blocks = parsed[inside[0] : inside[-1] + 1]
    others = [*parts[: inside[0]], *parts[inside[-1] + 1 :]]
    surrounding, first = "\n".join(others), next(iter(blocks[0]))
    if any(first in part for part in others) or any(next(iter(block)) != first for block in blocks):
        return None
    is_alone = len(blocks) < 2 and _ROW_RANGE.search(surrounding) is None
    if is_alone or len(blocks[0]) < 2 or len(surrounding) > _MAX_SURROUNDING_CHARS:
        return None
    return TextTable(list(typed_records(blocks)), surrounding)


def parse_members(part: str) -> dict[str, str]:
    """The `Name: value` lines of a block; empty if a line is none, or a name is repeated."""
    matches = [_NAME_VALUE_LINE.fullmatch(line.strip()) for line in part.split("\n") if line.strip()]
    members = {match[1].strip(): (match[2] or "").strip() for match in matches if match is not None}
    return members if len(members) == len(matches) else {}


def typed_records(blocks: Sequence[dict[str, str]]) -> list[JsonObject]:
    """The blocks with numbers for members that are numbers in all of them."""
    names = dict.fromkeys(name for block in blocks for name in block)
    columns = {name: iter(typed_column([block[name] for block in blocks if name in block])) for name in names}
    return [{name: next(columns[name]) for name in block} for block in blocks]


_BULLET = re.compile(r"(?:[-*\u2022+]|(\d{1,7})[.)])[ \t]+(?=\S)")
_LOOKS_LIKE_YAML = re.compile(r"^(?:[A-Za-z_][\w.-]*:[ \t]*\n)?[ \t]*- [\w\"'][^\n]*?:(?:[ \t]|$)", re.MULTILINE)
_YAML_KEY = re.compile(r"[A-Za-z_$@][\w.$@/-]*")
_LABELED_ITEM = re.compile(r"(?:\*\*|__)?([^\W\d_][\w .()/#-]{0,40}?)(?:\*\*|__)?:(?:\*\*|__)?[ \t]+\S")
_BULLET_CHARS = "-*+\u2022"
_MARKDOWN_HEADING = re.compile(r"(#{1,5})[ \t]+(?=\S)")
_HORIZONTAL_RULE = re.compile(r"\s*[-=*_]{3,}\s*")
_TITLE_KEY = "title"
_MAX_INTRO_CHARS = 200
_MAX_YAML_CHARS = 20_000_000


def parse_yaml(text: str) -> JsonObject | list[Json] | None:
    """The data of a YAML text; None if it is not YAML or contains no list of objects."""
    if len(text) > _MAX_YAML_CHARS or _LOOKS_LIKE_YAML.search(text) is None:
        return None
    try:
        value = parse_document(text.encode("utf-8", "replace"))
    except DocumentSyntaxError:
        return None
    if isinstance(value, list):
        return value if _are_records(value) else None
    if not isinstance(value, dict) or not all(_YAML_KEY.fullmatch(name) for name in value):
        return None
    return value if any(_are_records(inner) for inner in value.values()) else None


def parse_list_items(text: str) -> TextTable | None:
    """The items of the only list in a text; None if it is something else."""
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [index for index, line in enumerate(lines) if _BULLET.match(line)]
    if not starts:
        return None
    end = _list_end(lines, starts[-1])
    surrounding = "\n".join([*lines[: starts[0]], *lines[end:]]).strip()
    is_remark = len(starts) == 1 and lines[starts[0]][0] in _BULLET_CHARS and any(line.strip() for line in lines[end:])
    is_long = is_remark or len(surrounding) > (_MAX_INTRO_CHARS if len(starts) < _MIN_ITEMS else _MAX_SURROUNDING_CHARS)
    if (
        is_long
        or not _is_contiguous(lines[starts[0] : end])
        or not _are_markers_consistent([lines[index] for index in starts])
    ):
        return None
    items = [_item_text(lines[index:until]) for index, until in zip(starts, [*starts[1:], end], strict=True)]
    inner = parse_yaml("\n".join(lines[starts[0] : end]))
    if isinstance(inner, list) and len(inner) == len(items):
        return TextTable(inner, surrounding)
    if (objects := _parse_objects([item.split("\n") for item in items])) is not None:
        return TextTable(objects, surrounding)
    return None if _are_distinct_fields(items) else TextTable(list(items), surrounding)


def parse_sections(text: str) -> TextTable | None:
    """The sections of a text as objects: headings of the same level, with `Name: value` lines below."""
    lines = text.replace("\r\n", "\n").split("\n")
    levels = [
        (index, mark[1]) for index, line in enumerate(lines) if (mark := _MARKDOWN_HEADING.match(line)) is not None
    ]
    deepest = max((level for _, level in levels), key=len, default="")
    starts = [index for index, level in levels if level == deepest]
    surrounding = "\n".join(lines[: starts[0]]).strip() if starts else ""
    if (
        not starts
        or len(surrounding) > _MAX_INTRO_CHARS
        or any(index > starts[0] for index, level in levels if level != deepest)
    ):
        return None
    ends = [*starts[1:], len(lines)]
    objects = _parse_objects(
        [
            [_MARKDOWN_HEADING.sub("", lines[index]), *lines[index + 1 : end]]
            for index, end in zip(starts, ends, strict=True)
        ]
    )
    return None if objects is None else TextTable(objects, surrounding)


def _parse_objects(items: Sequence[Sequence[str]]) -> list[Json] | None:
    """Items of members, or of a title and members, as objects; None if an item contains anything else."""
    bare = [[line for line in lines if not _HORIZONTAL_RULE.fullmatch(line)] for lines in items]
    found = [parse_members("\n".join(lines)) for lines in bare]
    if not all(len(inner) > 1 for inner in found) or len({next(iter(inner)) for inner in found}) > 1:
        found = [parse_members("\n".join(lines)) for _, *lines in bare]
        if not all(inner and _TITLE_KEY not in inner for inner in found):
            return None
        titles = [title.strip().strip("*_").strip() for title, *_ in bare]
        found = [{_TITLE_KEY: title, **inner} for title, inner in zip(titles, found, strict=True)]
    return list(typed_records(found))


def _are_records(value: Json) -> bool:
    """Whether a list holds objects with the same first key, at least one with several members."""
    if not isinstance(value, list) or not value:
        return False
    firsts = {next(iter(item), "") if isinstance(item, dict) else "" for item in value}
    is_wide = any(isinstance(item, dict) and len(item) > 1 for item in value)
    return len(firsts) == 1 and "" not in firsts and is_wide


def _list_end(lines: Sequence[str], last_item: int) -> int:
    """The line after the last item, which continues as long as lines are indented."""
    end = last_item + 1
    for index in range(last_item + 1, len(lines)):
        if lines[index][:1] in (" ", "\t"):
            end = index + 1
        elif lines[index].strip():
            break
    return end


def _is_contiguous(lines: Sequence[str]) -> bool:
    """Whether every line starts an item, continues one, or is blank."""
    return all(not line.strip() or line[0] in " \t" or _BULLET.match(line) for line in lines)


def _are_markers_consistent(first_lines: Sequence[str]) -> bool:
    """Whether all items have the same kind of marker, and numbers are consecutive."""
    marks = [match for line in first_lines if (match := _BULLET.match(line)) is not None]
    numbers = [int(mark[1]) for mark in marks if mark[1]]
    if not numbers:
        return len({mark[0][0] for mark in marks}) == 1
    return len(numbers) == len(marks) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _item_text(lines: Sequence[str]) -> str:
    """The text of an item, with the common indent of its further lines removed."""
    first = _BULLET.sub("", lines[0], count=1).rstrip()
    rest = dedent("\n".join(line.rstrip() for line in lines[1:])).strip("\n")
    return f"{first}\n{rest}" if rest else first


def _are_distinct_fields(items: Sequence[str]) -> bool:
    """Whether the items are `Name: value` with different names: fields of one thing, not a list."""
    names = [match[1].strip().lower() for item in items if (match := _LABELED_ITEM.match(item)) is not None]
    return len(names) == len(items) > 1 and len(set(names)) == len(names)
