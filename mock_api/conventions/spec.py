"""The shape of one convention: argument names, and where records, totals and markers are in a response.

The conventions themselves are in `table`. Paths of arguments and members are segments joined by "/".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from mock_api.conventions.collection import NameMapping

Flag: TypeAlias = tuple[str, bool | str]


class Addressing(StrEnum):
    """What the position argument means."""

    NONE = "none"
    OFFSET = "offset"
    PAGE = "page"
    TOKEN = "token"  # noqa: S105
    KEY = "key"
    KEY_DESCENDING = "key_descending"
    SORT_VALUES = "sort_values"
    RANGE = "range"


class NextMarker(StrEnum):
    """How a response points to the next page."""

    NONE = "none"
    TOKEN = "token"  # noqa: S105
    URL = "url"
    RELATIVE_URL = "relative_url"
    LINK_HEADER = "link_header"
    URL_HEADER = "url_header"
    LINKS_LIST = "links_list"


class RecordWrapper(StrEnum):
    """What each record is wrapped in."""

    PLAIN = "plain"
    HIT = "hit"
    EDGE = "edge"
    RESOURCE = "resource"


class LastMarker(StrEnum):
    """The value of the marker on the last page."""

    ABSENT = "absent"
    NULL = "null"
    EMPTY = "empty"


_NO_CONSTANTS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConventionSpec:
    """One convention. Members that a convention lacks are None.

    With `is_position_hidden`, `position` appears only in URLs that the API returns. `more` is a member that is true
    while more records follow, or, with `is_more_inverted`, true at the end. `total_flag` is the argument that adds the
    total to a page; `total_only_flag` is the one that returns the total instead of records.
    """

    addressing: Addressing
    marker: NextMarker = NextMarker.NONE
    method: Literal["GET", "POST"] = "GET"
    position: str | None = None
    size: str | None = "limit"
    first: int = 0
    is_position_hidden: bool = False
    second_position: str | None = None
    records: str = "items"
    wrap: RecordWrapper = RecordWrapper.PLAIN
    next: str | None = None
    end: LastMarker = LastMarker.NULL
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
    total_only_flag: Flag | None = None
    count_path: str | None = None
    next_route: str | None = None
    constants: Mapping[str, Any] = field(default_factory=lambda: _NO_CONSTANTS)

    def renamed(self, names: NameMapping) -> "ConventionSpec":
        """A copy with other names, replaced one path segment at a time."""
        changed: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in _PATHS and value is not None:
                changed[item.name] = _rename_path(value, names)
            if item.name in ("total_flag", "total_only_flag") and value is not None:
                changed[item.name] = (_rename_path(value[0], names), value[1])
        return replace(self, **changed)


_PATHS = frozenset(
    "position size second_position records next more total total_relation total_header remaining pages number start"
    " count_path".split()
)


def _rename_path(path: str, names: NameMapping) -> str:
    return "/".join(names.get(segment, segment) for segment in path.split("/"))
