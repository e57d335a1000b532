"""Tools that count what another tool lists.

Knows names, locators and visible arguments of the tools of one source. Knows no document and no request. A count is of
use only where every filter of the list is one of the count too: else it would count something larger.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from adapters.base import Effect, Json, Pagination, PaginationStyle, ToolSpec
from adapters.pagination.vocabulary.members import plain, words, words_of

_COUNT_SEGMENT = re.compile(r"(?:/(?:\$count|_?count|counts|total)|[_-]count)/?$", re.IGNORECASE)
_COUNT_WORD = re.compile(r"(?:^|_)(?:get_|fetch_|read_)?(?:count|counts|total|number_of|num)(?:_|$)")
_READS = re.compile(r"^(?:list|get|search|find|query|fetch|read|all)_")
_NO_FILTERS = words(
    "sort sort_by sorting sort_order sort_dir sort_direction order order_by ordering order_direction ascending "
    "descending fields select columns expand embed"
)
"""Arguments that a list may have and its count need not: they choose the order and the form of records, never which."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def counting(specs: Iterable[ToolSpec]) -> Mapping[str, str]:
    """The name of the tool that counts for each tool that has one: `/x/count`, `/x/$count`, `countX`, `getXCount`."""
    known = [spec for spec in specs if spec.effect is Effect.READ]
    counts = [spec for spec in known if _counted(spec) is not None]
    found: dict[str, str] = {}
    for spec in known:
        match = next((one for one in counts if one is not spec and _is_count_of(one, spec)), None)
        if match is not None and _counted(spec) is None:
            found[spec.name] = match.name
    return found


def _is_count_of(count: ToolSpec, listing: ToolSpec) -> bool:
    if count.source != listing.source or not listing.returns_many or count.pagination.position is not None:
        return False
    return _counted(count) == _subject(listing) and _has_filters_of(count, listing)


def _counted(spec: ToolSpec) -> str | None:
    """What a tool counts: the path of the list without its last segment, or the words of its name; None: no count."""
    method, _, path = spec.locator.partition(" ")
    if path:
        bare = _COUNT_SEGMENT.sub("", path)
        return f"{method} {bare}" if bare != path else None
    words = _snake(spec.locator)
    bare = _COUNT_WORD.sub("_", words).strip("_")
    return _stem(bare) if bare and bare != words else None


def _subject(spec: ToolSpec) -> str:
    return spec.locator.rstrip("/") if " " in spec.locator else _stem(_snake(spec.locator))


def _stem(words: str) -> str:
    return plain(_READS.sub("", words)).removesuffix("s")


def _snake(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", _HUMP.sub("_", name).lower()).strip("_")


def _has_filters_of(count: ToolSpec, listing: ToolSpec) -> bool:
    """Whether what the list can be narrowed by can narrow the count as well, and the count needs nothing more."""
    asked = set(count.parameters.get("required") or ())
    narrowing = {name for name in _arguments(listing) if plain(name) not in _NO_FILTERS}
    return narrowing <= set(_arguments(count)) and asked <= set(_arguments(listing))


def _arguments(spec: ToolSpec) -> Iterable[str]:
    properties: Json = spec.parameters.get("properties")
    return properties if isinstance(properties, dict) else ()


_ONWARD = frozenset("next scroll continue continuation more resume following page cursor".split())


def continuing(specs: Iterable[ToolSpec]) -> Mapping[str, Pagination]:
    """By name, how those tools page whose further pages another tool of the source gives."""
    known = tuple(specs)
    onward = [spec for spec in known if _takes_cursor_only(spec) and _says_onward(spec)]
    found: dict[str, Pagination] = {}
    for begin in known:
        match = next((one for one in onward if one is not begin and _goes_on(one, begin)), None)
        if match is not None and begin.pagination.convention is PaginationStyle.SINGLE:
            found[begin.name] = replace(
                begin.pagination,
                convention=PaginationStyle.CURSOR,
                position=match.pagination.position,
                next_operation=match.name,
            )
    return found


def _takes_cursor_only(spec: ToolSpec) -> bool:
    is_cursor = spec.pagination.convention is PaginationStyle.CURSOR and spec.pagination.position is not None
    return is_cursor and not spec.parameters.get("required")


def _says_onward(spec: ToolSpec) -> bool:
    last = spec.locator.partition(" ")[2].rstrip("/").rpartition("/")[2]
    return bool((words_of(last) | words_of(spec.name)) & _ONWARD)


def _goes_on(onward: ToolSpec, begin: ToolSpec) -> bool:
    if onward.source != begin.source or not begin.returns_many:
        return False
    mine, theirs = onward.locator.partition(" ")[2], begin.locator.partition(" ")[2]
    if mine and theirs:
        head, _, last = mine.rstrip("/").rpartition("/")
        return head == theirs.rstrip("/") and bool(words_of(last) & _ONWARD)
    more = words_of(onward.name) - words_of(begin.name)
    return words_of(begin.name) < words_of(onward.name) and more <= _ONWARD
