"""Names that providers accept: of tools and of arguments.

Knows the alphabet, the length, that a tool's name begins with no digit, and how a clash is settled: by a hash of what
the name stands for, on every side of the clash, so that the order of a document changes no name.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from adapters.openapi.operation import Entry, Location

MAX_LENGTH = 64
_NOT_TOOL = re.compile(r"[^A-Za-z0-9_-]+")
_ARGUMENT = re.compile(r"^[A-Za-z0-9_.-]{1,64}$")
_NOT_ARGUMENT = re.compile(r"[^A-Za-z0-9_.-]+")
_VERSION = re.compile(r"^v\d+(?:[.]\d+)*$|^api$", re.IGNORECASE)


def tool_names(entries: Sequence[Entry]) -> dict[str, str]:
    """A name for each operation, by its locator (`GET /tickets`)."""
    wanted = {entry.locator: _wanted(entry) for entry in entries}
    counts = Counter(name.lower() for name in wanted.values())
    return {
        locator: name if counts[name.lower()] == 1 and len(name) <= MAX_LENGTH else _hashed(name, locator)
        for locator, name in wanted.items()
    }


def _wanted(entry: Entry) -> str:
    stated = entry.operation.fields.get("operationId")
    name = _NOT_TOOL.sub("_", stated).strip("_-") if isinstance(stated, str) else ""
    return name if name and not name[0].isdigit() else _from_path(entry)


def _from_path(entry: Entry) -> str:
    """`get_tickets_by_id` from `GET /api/v2/tickets/{id}`."""
    parts = [entry.method.lower()]
    for segment in entry.path.split("/"):
        if segment.startswith("{") and segment.endswith("}"):
            parts.append(f"by_{segment[1:-1]}")
        elif segment and not _VERSION.match(segment):
            parts.append(segment)
    return _NOT_TOOL.sub("_", "_".join(parts)).strip("_-")


def _hashed(name: str, meaning: str) -> str:
    """Head, two underscores and tail of a name, with a short hash of what it stands for."""
    digest = hashlib.sha256(meaning.encode()).hexdigest()[:8]
    room = MAX_LENGTH - len(digest) - 1
    if len(name) > room:
        tail = room // 3
        name = f"{name[: room - tail - 2].rstrip('_-')}__{name[-tail:].lstrip('_-')}"
    return f"{name}_{digest}"


class Wire(NamedTuple):
    """A name as the document has it, and the place where it stands; `body` for a member of the body."""

    place: Location | str
    name: str


def argument_names(wires: Sequence[Wire]) -> dict[Wire, str]:
    """A name for each argument: the document's own where it is legal and stands in one place only."""
    wanted = {wire: _legal(wire.name) for wire in wires}
    counts = Counter(wanted.values())
    named = {wire: name if counts[name] == 1 else f"{name[:50]}__{wire.place}" for wire, name in wanted.items()}
    taken = Counter(named.values())
    return {
        wire: name if taken[name] == 1 else _hashed(name, f"{wire.place} {wire.name}") for wire, name in named.items()
    }


def _legal(name: str) -> str:
    if _ARGUMENT.match(name):
        return name
    return _NOT_ARGUMENT.sub("_", name).strip("_")[:MAX_LENGTH] or "value"
