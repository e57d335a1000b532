"""Tables in a text: comma- or tab-separated values, and tables ruled with lines as Markdown and databases print them.

Knows the look of tables. Knows no wire. A text is a table only where every row has as many cells as the head; short
words may stand before and behind it. A column is numbers where all its cells are, written as a program writes numbers.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import dedent

from adapters.base import Json, JsonObject
from adapters.openapi.document.loader import DocumentSyntaxError, parse_document

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
class TextTable:
    """The rows as records, and the words around them."""

    rows: list[Json]
    words: str


def read_table(text: str) -> TextTable | None:
    """The one table of a text; None where it has none."""
    lines = text.replace("\r\n", "\n").split("\n")
    return _ruled(lines) or _separated(lines)


def _ruled(lines: Sequence[str]) -> TextTable | None:
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


def _separated(lines: Sequence[str]) -> TextTable | None:
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


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], around: Iterable[str]) -> TextTable | None:
    words = "\n".join(line for line in around if line.strip()).strip()
    names = list(head)
    if len(words) > _MOST_WORDS or not all(names) or len(set(names)) != len(names):
        return None
    if not rows:
        return TextTable([], words)
    columns = [column([row[at] for row in rows]) for at in range(len(names))]
    records: list[JsonObject] = [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
    return TextTable(list(records), words)


def column(cells: Sequence[str]) -> list[Json]:
    """A column's values: numbers where it holds nothing else, and nothing where a cell says so."""
    told = [cell.strip() for cell in cells]
    given = [cell for cell in told if cell not in _NO_VALUE]
    if not given or not all(_NUMBER.fullmatch(cell) for cell in given):
        return [None if cell in _NO_VALUE - {"None", "nan", ""} else cell for cell in told]
    return [None if cell in _NO_VALUE else float(cell) if "." in cell else int(cell) for cell in told]


_FORMS = tuple(
    map(
        re.compile,
        (r"\[[A-Z][A-Z ]{1,15}\] +\S.*", r"/\S.*", r"[A-Za-z]:\\.*", r"[a-z][a-z0-9+.-]*://\S+"),
    )
)
_LEAST = 3
_MEMBER = re.compile(r"(?:[-*\u2022] +)?(?:\*\*)?([^\W\d_][\w .()/#-]{0,40}?)(?:\*\*)?:(?:\*\*)?(?: +(.*))?")
_BETWEEN = re.compile(r"\n[ \t]*\n(?:[ \t]*[-=*_]{3,}[ \t]*\n(?:[ \t]*\n)*)?|\n[ \t]*[-=*_]{3,}[ \t]*\n(?:[ \t]*\n)*")
_MOST_WORDS_listings = 600
_HEADING = re.compile(r"(?P<words>[^\n]{1,200}?)(?P<end>:?\s*\[\s*\]|:[*_]{0,2}|)")
_TROUBLE = re.compile(r"error|fail|except|unable|could ?n|cannot|can't|denied|invalid|warning|missing", re.IGNORECASE)
_PAGE = re.compile(r"\b(?:page|chunk|batch|part)\W{0,3}(\d{1,9})\s*(?:of|/)\s*(\d{1,9})\b", re.IGNORECASE)
_SHOWN = re.compile(
    r"\b(?:showing|displaying|listing|results?|records?|items?|rows?)\W{0,3}(\d[\d,]*)\s*(?:-|\u2013|to)\s*(\d[\d,]*)"
    r"(?:\s+(?:out )?of\s+\d|\W*$)",
    re.IGNORECASE,
)
"""What a page says of its place: of a page behind the last one, the first record comes after the last."""


def read_listing(text: str) -> TextTable | None:
    """The things that a text lists; None where it is none."""
    return _of_lines(text) or _of_blocks(text)


def _of_lines(text: str) -> TextTable | None:
    """Lines of one form, as texts."""
    parts = re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n"))
    listed = [part for part in parts if _form(part) is not None]
    words = "\n".join(part for part in parts if part not in listed)
    if len(listed) != 1 or len(words) > _MOST_WORDS_listings:
        return None
    rows: list[Json] = [line.rstrip() for line in listed[0].split("\n") if line.strip()]
    return TextTable(rows, words) if len(rows) >= _LEAST else None


def read_heading(text: str) -> TextTable | None:
    """A heading with nothing under it: it ends in a colon or an empty list, or tells of a place behind the last one."""
    heading = _HEADING.fullmatch(text.strip())
    if heading is None or _TROUBLE.search(heading["words"]):
        return None
    is_bare = bool(heading["end"])
    return TextTable([], heading["words"]) if is_bare or _is_behind_all(heading["words"]) else None


def _is_behind_all(words: str) -> bool:
    """Whether words tell of a page behind the last one: `Showing 301-300 of 300`, `Page 8 of 7`."""
    shown, page = _SHOWN.search(words), _PAGE.search(words)
    if shown is not None:
        return int(shown[1].replace(",", "")) > int(shown[2].replace(",", ""))
    return page is not None and int(page[1]) > int(page[2])


def _form(part: str) -> re.Pattern[str] | None:
    lines = [line.strip() for line in part.split("\n") if line.strip()]
    return next((form for form in _FORMS if lines and all(map(form.fullmatch, lines))), None)


def _of_blocks(text: str) -> TextTable | None:
    """Blocks of members, as objects."""
    parts = [part for part in _BETWEEN.split(text.replace("\r\n", "\n").strip()) if part.strip()]
    read = [members(part) for part in parts]
    inside = [at for at, block in enumerate(read) if block]
    if not inside or inside != list(range(inside[0], inside[-1] + 1)):
        return None
    blocks = read[inside[0] : inside[-1] + 1]
    around = [*parts[: inside[0]], *parts[inside[-1] + 1 :]]
    words, first = "\n".join(around), next(iter(blocks[0]))
    if any(first in part for part in around) or any(next(iter(block)) != first for block in blocks):
        return None
    is_alone = len(blocks) < 2 and _SHOWN.search(words) is None
    if is_alone or len(blocks[0]) < 2 or len(words) > _MOST_WORDS_listings:
        return None
    return TextTable(list(typed(blocks)), words)


def members(part: str) -> dict[str, str]:
    """The members that a block of lines has; none where a line is none, or a name comes twice."""
    found = [_MEMBER.fullmatch(line.strip()) for line in part.split("\n") if line.strip()]
    members = {match[1].strip(): (match[2] or "").strip() for match in found if match is not None}
    return members if len(members) == len(found) else {}


def typed(blocks: Sequence[dict[str, str]]) -> list[JsonObject]:
    """The blocks with numbers where a member is one in all of them."""
    names = dict.fromkeys(name for block in blocks for name in block)
    columns = {name: iter(column([block[name] for block in blocks if name in block])) for name in names}
    return [{name: next(columns[name]) for name in block} for block in blocks]


_MARK = re.compile(r"(?:[-*\u2022+]|(\d{1,7})[.)])[ \t]+(?=\S)")
_OF_YAML = re.compile(r"^(?:[A-Za-z_][\w.-]*:[ \t]*\n)?[ \t]*- [\w\"'][^\n]*?:(?:[ \t]|$)", re.MULTILINE)
_KEY = re.compile(r"[A-Za-z_$@][\w.$@/-]*")
_NAMED = re.compile(r"(?:\*\*|__)?([^\W\d_][\w .()/#-]{0,40}?)(?:\*\*|__)?:(?:\*\*|__)?[ \t]+\S")
_BULLETS = "-*+\u2022"
_HEADING_outlines = re.compile(r"(#{1,5})[ \t]+(?=\S)")
_RULE = re.compile(r"\s*[-=*_]{3,}\s*")
_TITLE = "title"
_FEW_WORDS, _MOST_WORDS_outlines = 200, 600
_LEAST_outlines = 3
_LONGEST_YAML = 20_000_000


def read_yaml(text: str) -> JsonObject | list[Json] | None:
    """The data of a text in YAML; None where it is none, or holds no list of objects."""
    if len(text) > _LONGEST_YAML or _OF_YAML.search(text) is None:
        return None
    try:
        value = parse_document(text.encode("utf-8", "replace"))
    except DocumentSyntaxError:
        return None
    if isinstance(value, list):
        return value if _are_records(value) else None
    if not isinstance(value, dict) or not all(_KEY.fullmatch(name) for name in value):
        return None
    return value if any(_are_records(inner) for inner in value.values()) else None


def read_items(text: str) -> TextTable | None:
    """The items of the one list in a text; None where it is something else."""
    lines = text.replace("\r\n", "\n").split("\n")
    begins = [at for at, line in enumerate(lines) if _MARK.match(line)]
    if not begins:
        return None
    end = _end(lines, begins[-1])
    words = "\n".join([*lines[: begins[0]], *lines[end:]]).strip()
    is_remark = len(begins) == 1 and lines[begins[0]][0] in _BULLETS and any(line.strip() for line in lines[end:])
    is_long = is_remark or len(words) > (_FEW_WORDS if len(begins) < _LEAST_outlines else _MOST_WORDS_outlines)
    if is_long or not _are_together(lines[begins[0] : end]) or not _are_counted([lines[at] for at in begins]):
        return None
    items = [_item(lines[at:until]) for at, until in zip(begins, [*begins[1:], end], strict=True)]
    inner = read_yaml("\n".join(lines[begins[0] : end]))
    if isinstance(inner, list) and len(inner) == len(items):
        return TextTable(inner, words)
    if (objects := _objects([item.split("\n") for item in items])) is not None:
        return TextTable(objects, words)
    return None if _are_members(items) else TextTable(list(items), words)


def read_sections(text: str) -> TextTable | None:
    """The sections of a text as objects: a heading of one level each, and `Name: value` lines under it."""
    lines = text.replace("\r\n", "\n").split("\n")
    levels = [(at, mark[1]) for at, line in enumerate(lines) if (mark := _HEADING_outlines.match(line)) is not None]
    deepest = max((level for _, level in levels), key=len, default="")
    begins = [at for at, level in levels if level == deepest]
    words = "\n".join(lines[: begins[0]]).strip() if begins else ""
    if not begins or len(words) > _FEW_WORDS or any(at > begins[0] for at, level in levels if level != deepest):
        return None
    ends = [*begins[1:], len(lines)]
    objects = _objects(
        [[_HEADING_outlines.sub("", lines[at]), *lines[at + 1 : end]] for at, end in zip(begins, ends, strict=True)]
    )
    return None if objects is None else TextTable(objects, words)


def _objects(items: Sequence[Sequence[str]]) -> list[Json] | None:
    """Things of members each, or of a title and members, as objects; None where one of them has anything else."""
    bare = [[line for line in lines if not _RULE.fullmatch(line)] for lines in items]
    found = [members("\n".join(lines)) for lines in bare]
    if not all(len(inner) > 1 for inner in found) or len({next(iter(inner)) for inner in found}) > 1:
        found = [members("\n".join(lines)) for _, *lines in bare]
        if not all(inner and _TITLE not in inner for inner in found):
            return None
        titles = [title.strip().strip("*_").strip() for title, *_ in bare]
        found = [{_TITLE: title, **inner} for title, inner in zip(titles, found, strict=True)]
    return list(typed(found))


def _are_records(value: Json) -> bool:
    """Whether a list holds objects that begin alike, and more than one member somewhere."""
    if not isinstance(value, list) or not value:
        return False
    firsts = {next(iter(item), "") if isinstance(item, dict) else "" for item in value}
    is_wide = any(isinstance(item, dict) and len(item) > 1 for item in value)
    return len(firsts) == 1 and "" not in firsts and is_wide


def _end(lines: Sequence[str], last: int) -> int:
    """Behind the last item, which goes on as long as lines are indented."""
    end = last + 1
    for at in range(last + 1, len(lines)):
        if lines[at][:1] in (" ", "\t"):
            end = at + 1
        elif lines[at].strip():
            break
    return end


def _are_together(lines: Sequence[str]) -> bool:
    """Whether every line begins an item, belongs to one, or is blank."""
    return all(not line.strip() or line[0] in " \t" or _MARK.match(line) for line in lines)


def _are_counted(begins: Sequence[str]) -> bool:
    """Whether all items bear the same kind of mark, and numbers follow each other."""
    marks = [match for line in begins if (match := _MARK.match(line)) is not None]
    numbers = [int(mark[1]) for mark in marks if mark[1]]
    if not numbers:
        return len({mark[0][0] for mark in marks}) == 1
    return len(numbers) == len(marks) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _item(lines: Sequence[str]) -> str:
    """The text of an item, its further lines without their common indent."""
    first = _MARK.sub("", lines[0], count=1).rstrip()
    rest = dedent("\n".join(line.rstrip() for line in lines[1:])).strip("\n")
    return f"{first}\n{rest}" if rest else first


def _are_members(items: Sequence[str]) -> bool:
    """Whether items say `Name: value`, each of another name: what is listed is what one thing has."""
    named = [match[1].strip().lower() for item in items if (match := _NAMED.match(item)) is not None]
    return len(named) == len(items) > 1 and len(set(named)) == len(named)
