"""Data written by indentation: YAML as tools print it, and lists whose things begin with a number, bullet or heading.

Knows the look of them. Knows no wire. YAML is data only where it holds a list of objects; a list is one only where
nothing but short words stand around it, and its numbers go up by one; sections are one where all have members. Bullets
that name the members of one thing are no list. An item keeps its lines, without the mark before it, or becomes an
object where all items have a title and members.
"""

import re
from collections.abc import Sequence
from textwrap import dedent

from adapters.base import Json, JsonObject
from adapters.mcp.listings import members, typed
from adapters.mcp.tables import Table
from adapters.openapi.text import NotADocument, parse_document

_MARK = re.compile(r"(?:[-*\u2022+]|(\d{1,7})[.)])[ \t]+(?=\S)")
_OF_YAML = re.compile(r"^(?:[A-Za-z_][\w.-]*:[ \t]*\n)?[ \t]*- [\w\"'][^\n]*?:(?:[ \t]|$)", re.MULTILINE)
_KEY = re.compile(r"[A-Za-z_$@][\w.$@/-]*")
_NAMED = re.compile(r"(?:\*\*|__)?([^\W\d_][\w .()/#-]{0,40}?)(?:\*\*|__)?:(?:\*\*|__)?[ \t]+\S")
_BULLETS = "-*+\u2022"
_HEADING = re.compile(r"(#{1,5})[ \t]+(?=\S)")
_RULE = re.compile(r"\s*[-=*_]{3,}\s*")
_TITLE = "title"
_FEW_WORDS, _MOST_WORDS = 200, 600
_LEAST = 3
_LONGEST_YAML = 20_000_000


def read_yaml(text: str) -> JsonObject | list[Json] | None:
    """The data of a text in YAML; None where it is none, or holds no list of objects."""
    if len(text) > _LONGEST_YAML or _OF_YAML.search(text) is None:
        return None
    try:
        value = parse_document(text.encode("utf-8", "replace"))
    except NotADocument:
        return None
    if isinstance(value, list):
        return value if _are_records(value) else None
    if not isinstance(value, dict) or not all(_KEY.fullmatch(name) for name in value):
        return None
    return value if any(_are_records(inner) for inner in value.values()) else None


def read_items(text: str) -> Table | None:
    """The items of the one list in a text; None where it is something else."""
    lines = text.replace("\r\n", "\n").split("\n")
    begins = [at for at, line in enumerate(lines) if _MARK.match(line)]
    if not begins:
        return None
    end = _end(lines, begins[-1])
    words = "\n".join([*lines[: begins[0]], *lines[end:]]).strip()
    is_remark = len(begins) == 1 and lines[begins[0]][0] in _BULLETS and any(line.strip() for line in lines[end:])
    is_long = is_remark or len(words) > (_FEW_WORDS if len(begins) < _LEAST else _MOST_WORDS)
    if is_long or not _are_together(lines[begins[0] : end]) or not _are_counted([lines[at] for at in begins]):
        return None
    items = [_item(lines[at:until]) for at, until in zip(begins, [*begins[1:], end], strict=True)]
    inner = read_yaml("\n".join(lines[begins[0] : end]))
    if isinstance(inner, list) and len(inner) == len(items):
        return Table(inner, words)
    if (objects := _objects([item.split("\n") for item in items])) is not None:
        return Table(objects, words)
    return None if _are_members(items) else Table(list(items), words)


def read_sections(text: str) -> Table | None:
    """The sections of a text as objects: a heading of one level each, and `Name: value` lines under it."""
    lines = text.replace("\r\n", "\n").split("\n")
    levels = [(at, mark[1]) for at, line in enumerate(lines) if (mark := _HEADING.match(line)) is not None]
    deepest = max((level for _, level in levels), key=len, default="")
    begins = [at for at, level in levels if level == deepest]
    words = "\n".join(lines[: begins[0]]).strip() if begins else ""
    if not begins or len(words) > _FEW_WORDS or any(at > begins[0] for at, level in levels if level != deepest):
        return None
    ends = [*begins[1:], len(lines)]
    objects = _objects(
        [[_HEADING.sub("", lines[at]), *lines[at + 1 : end]] for at, end in zip(begins, ends, strict=True)]
    )
    return None if objects is None else Table(objects, words)


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
