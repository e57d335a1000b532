"""Tools of one source that belong together: an operation that counts a list, and one that continues it."""

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
"""Arguments that a list may have and its count need not: they choose the order and the form of the records."""
_CASE_CHANGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def count_operations(specs: Iterable[ToolSpec]) -> Mapping[str, str]:
    """The tools that have a counting tool, with its name: `/x/count`, `/x/$count`, `countX`, `getXCount`.

    A count is used only if every filter of the list is one of the count too; else it would count something larger.
    """
    tools = [spec for spec in specs if spec.effect is Effect.READ]
    counts = [spec for spec in tools if _counted_resource(spec) is not None]
    found: dict[str, str] = {}
    for spec in tools:
        match = next((one for one in counts if one is not spec and _is_count_of(one, spec)), None)
        if match is not None and _counted_resource(spec) is None:
            found[spec.name] = match.name
    return found


def _is_count_of(count: ToolSpec, listing: ToolSpec) -> bool:
    if count.source != listing.source or not listing.returns_many or count.pagination.position is not None:
        return False
    return _counted_resource(count) == _resource(listing) and _has_filters_of(count, listing)


def _counted_resource(spec: ToolSpec) -> str | None:
    """What a tool counts: the path of the list, or the words of its name; None if it counts nothing."""
    method, _, path = spec.locator.partition(" ")
    if path:
        listing = _COUNT_SEGMENT.sub("", path)
        return f"{method} {listing}" if listing != path else None
    name = _snake_case(spec.locator)
    listing = _COUNT_WORD.sub("_", name).strip("_")
    return _stem(listing) if listing and listing != name else None


def _resource(spec: ToolSpec) -> str:
    return spec.locator.rstrip("/") if " " in spec.locator else _stem(_snake_case(spec.locator))


def _stem(name: str) -> str:
    return plain(_READS.sub("", name)).removesuffix("s")


def _snake_case(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", _CASE_CHANGE.sub("_", name).lower()).strip("_")


def _has_filters_of(count: ToolSpec, listing: ToolSpec) -> bool:
    """Whether the count has every filter of the list, and requires no other argument."""
    required = set(count.parameters.get("required") or ())
    filters = {name for name in _arguments(listing) if plain(name) not in _NO_FILTERS}
    return filters <= set(_arguments(count)) and required <= set(_arguments(listing))


def _arguments(spec: ToolSpec) -> Iterable[str]:
    properties: Json = spec.parameters.get("properties")
    return properties if isinstance(properties, dict) else ()


_CONTINUES = frozenset("next scroll continue continuation more resume following page cursor".split())


def continuation_operations(specs: Iterable[ToolSpec]) -> Mapping[str, Pagination]:
    """The pagination of the tools whose further pages come from another tool of the source (a scroll), by name."""
    tools = tuple(specs)
    continuations = [spec for spec in tools if _takes_only_cursor(spec) and _is_called_continuation(spec)]
    found: dict[str, Pagination] = {}
    for listing in tools:
        match = next((one for one in continuations if one is not listing and _continues(one, listing)), None)
        if match is not None and listing.pagination.convention is PaginationStyle.SINGLE:
            found[listing.name] = replace(
                listing.pagination,
                convention=PaginationStyle.CURSOR,
                position=match.pagination.position,
                next_operation=match.name,
                rule="cursor of a continuation operation",
            )
    return found


def _takes_only_cursor(spec: ToolSpec) -> bool:
    is_cursor = spec.pagination.convention is PaginationStyle.CURSOR and spec.pagination.position is not None
    return is_cursor and not spec.parameters.get("required")


def _is_called_continuation(spec: ToolSpec) -> bool:
    last = spec.locator.partition(" ")[2].rstrip("/").rpartition("/")[2]
    return bool((words_of(last) | words_of(spec.name)) & _CONTINUES)


def _continues(continuation: ToolSpec, listing: ToolSpec) -> bool:
    if continuation.source != listing.source or not listing.returns_many:
        return False
    own, path = continuation.locator.partition(" ")[2], listing.locator.partition(" ")[2]
    if own and path:
        parent, _, last = own.rstrip("/").rpartition("/")
        return parent == path.rstrip("/") and bool(words_of(last) & _CONTINUES)
    more = words_of(continuation.name) - words_of(listing.name)
    return words_of(listing.name) < words_of(continuation.name) and more <= _CONTINUES
