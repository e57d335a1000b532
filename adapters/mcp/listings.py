"""Listings in a text: one thing a line, or a block of `Name: value` lines for each thing.

Knows the look of listings. Knows no wire. Lines are a listing only where all of them have the same form (a path, an
address, a mark in brackets), blocks only where all begin with the same name; short words may stand around them.
"""

import re
from collections.abc import Sequence

from adapters.base import Json, JsonObject
from adapters.mcp.tables import Table, column

_FORMS = tuple(
    map(
        re.compile,
        (r"\[[A-Z][A-Z ]{1,15}\] +\S.*", r"/\S.*", r"[A-Za-z]:\\.*", r"[a-z][a-z0-9+.-]*://\S+"),
    )
)
_LEAST = 3
_MEMBER = re.compile(r"(?:[-*\u2022] +)?(?:\*\*)?([^\W\d_][\w .()/#-]{0,40}?)(?:\*\*)?:(?:\*\*)?(?: +(.*))?")
_BETWEEN = re.compile(r"\n[ \t]*\n(?:[ \t]*[-=*_]{3,}[ \t]*\n(?:[ \t]*\n)*)?|\n[ \t]*[-=*_]{3,}[ \t]*\n(?:[ \t]*\n)*")
_MOST_WORDS = 600
_HEADING = re.compile(r"(?P<words>[^\n]{1,200}?)(?P<end>:?\s*\[\s*\]|:[*_]{0,2}|)")
_TROUBLE = re.compile(r"error|fail|except|unable|could ?n|cannot|can't|denied|invalid|warning|missing", re.IGNORECASE)
_PAGE = re.compile(r"\b(?:page|chunk|batch|part)\W{0,3}(\d{1,9})\s*(?:of|/)\s*(\d{1,9})\b", re.IGNORECASE)
_SHOWN = re.compile(
    r"\b(?:showing|displaying|listing|results?|records?|items?|rows?)\W{0,3}(\d[\d,]*)\s*(?:-|\u2013|to)\s*(\d[\d,]*)"
    r"(?:\s+(?:out )?of\s+\d|\W*$)",
    re.IGNORECASE,
)
"""What a page says of its place: of a page behind the last one, the first record comes after the last."""


def read_listing(text: str) -> Table | None:
    """The things that a text lists; None where it is none."""
    return _of_lines(text) or _of_blocks(text)


def _of_lines(text: str) -> Table | None:
    """Lines of one form, as texts."""
    parts = re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n"))
    listed = [part for part in parts if _form(part) is not None]
    words = "\n".join(part for part in parts if part not in listed)
    if len(listed) != 1 or len(words) > _MOST_WORDS:
        return None
    rows: list[Json] = [line.rstrip() for line in listed[0].split("\n") if line.strip()]
    return Table(rows, words) if len(rows) >= _LEAST else None


def read_heading(text: str) -> Table | None:
    """A heading with nothing under it: it ends in a colon or an empty list, or tells of a place behind the last one."""
    heading = _HEADING.fullmatch(text.strip())
    if heading is None or _TROUBLE.search(heading["words"]):
        return None
    is_bare = bool(heading["end"])
    return Table([], heading["words"]) if is_bare or _is_behind_all(heading["words"]) else None


def _is_behind_all(words: str) -> bool:
    """Whether words tell of a page behind the last one: `Showing 301-300 of 300`, `Page 8 of 7`."""
    shown, page = _SHOWN.search(words), _PAGE.search(words)
    if shown is not None:
        return int(shown[1].replace(",", "")) > int(shown[2].replace(",", ""))
    return page is not None and int(page[1]) > int(page[2])


def _form(part: str) -> re.Pattern[str] | None:
    lines = [line.strip() for line in part.split("\n") if line.strip()]
    return next((form for form in _FORMS if lines and all(map(form.fullmatch, lines))), None)


def _of_blocks(text: str) -> Table | None:
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
    if is_alone or len(blocks[0]) < 2 or len(words) > _MOST_WORDS:
        return None
    return Table(list(typed(blocks)), words)


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
