"""How each convention is spelled: argument names, where records, totals and markers stand in a response.

The shape of one row; the rows are in `table`. Knows nothing of requests. Paths of arguments and members are segments
joined by "/".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from mock_api.conventions.style import Names

Flag: TypeAlias = tuple[str, bool | str]


class Addressing(StrEnum):
    """What the position argument is."""

    NONE = "none"
    OFFSET = "offset"
    PAGE = "page"
    TOKEN = "token"  # noqa: S105
    KEY = "key"
    KEY_DESCENDING = "key_descending"
    SORT_VALUES = "sort_values"
    RANGE = "range"


class Marker(StrEnum):
    """How a response points to the next page."""

    NONE = "none"
    TOKEN = "token"  # noqa: S105
    URL = "url"
    RELATIVE_URL = "relative_url"
    LINK_HEADER = "link_header"
    URL_HEADER = "url_header"
    LINKS_LIST = "links_list"


class Wrap(StrEnum):
    """What a record is wrapped in."""

    PLAIN = "plain"
    HIT = "hit"
    EDGE = "edge"
    RESOURCE = "resource"


class End(StrEnum):
    """What the marker is on the last page."""

    ABSENT = "absent"
    NULL = "null"
    EMPTY = "empty"


_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """One convention. Members that a convention lacks are None.

    `position` stands in URLs only where `is_position_hidden`. `more` is a member that is true while more follow, or,
    where `is_more_inverted`, true at the end. `total_flag` is the argument that makes a page tell the total,
    `figures_flag` the one that asks for the total in place of records.
    """

    addressing: Addressing
    marker: Marker = Marker.NONE
    method: Literal["GET", "POST"] = "GET"
    position: str | None = None
    size: str | None = "limit"
    first: int = 0
    is_position_hidden: bool = False
    second_position: str | None = None
    records: str = "items"
    wrap: Wrap = Wrap.PLAIN
    next: str | None = None
    end: End = End.NULL
    more: str | None = None
    is_more_inverted: bool = False
    total: str | None = None
    total_relation: str | None = None
    total_header: str | None = None
    is_total_by_head: bool = False
    remaining: str | None = None
    pages: str | None = None
    number: str | None = None
    start: str | None = None
    total_flag: Flag | None = None
    figures_flag: Flag | None = None
    count_path: str | None = None
    next_route: str | None = None
    constants: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)

    def renamed(self, names: Names) -> "Spelling":
        """The same with other names, segment by segment."""
        changed: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in _PATHS and value is not None:
                changed[each.name] = _renamed(value, names)
            if each.name in ("total_flag", "figures_flag") and value is not None:
                changed[each.name] = (_renamed(value[0], names), value[1])
        return replace(self, **changed)


_PATHS = frozenset(
    "position size second_position records next more total total_relation total_header remaining pages number start"
    " count_path".split()
)


def _renamed(path: str, names: Names) -> str:
    return "/".join(names.get(segment, segment) for segment in path.split("/"))
