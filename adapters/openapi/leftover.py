"""Arguments that page as well, beside those by which a tool is paged: the model must see none of them.

Pure. Knows the ways in which documents say a thing twice: a way back beside the way on, one argument in two
spellings, an older style beside a newer one. Knows not how a tool pages; `adapters.pagination` says that.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from adapters.base import JsonObject, Pagination

_BACKWARD = frozenset({"before", "endingbefore", "previous", "previouscursor", "prevcursor", "pagebefore"})
_FURTHER = frozenset({"searchafter"})
"""Further ways on, whatever is said of them."""
_SIZES = frozenset({"count", "perpage", "pagesize", "limit", "size"})
_OF_PAGING = re.compile(r"\bcursors?\b|\bpaginat", re.IGNORECASE)
_NOT_NAMED = re.compile(r"[^a-z0-9]")


def with_leftovers(found: Pagination, parameters: Mapping[str, JsonObject]) -> Pagination:
    """The pagination that also hides what else of the parameters (`object/member` for members) pages."""
    if not found.hidden:
        return found
    hidden = frozenset(found.hidden)
    more = tuple(name for name, schema in parameters.items() if name not in hidden and _pages(name, schema, found))
    return replace(found, other_hidden=(*found.other_hidden, *more)) if more else found


def _pages(name: str, schema: JsonObject, found: Pagination) -> bool:
    own = _squeezed(name)
    if own in _FURTHER:
        return "/" not in name
    if own in _BACKWARD:
        return _is_of_paging(schema)
    if own in {_squeezed(other) for other in (found.position, found.size) if other}:
        return "/" not in name or _is_beside(name, found.hidden)
    return own in _SIZES and "page" in found.other_hidden and _is_whole(schema)


def _squeezed(name: str) -> str:
    """The last part of a name without its spelling: `max-keys` and `MaxKeys` are one."""
    return _NOT_NAMED.sub("", name.rpartition("/")[2].lower())


def _is_beside(name: str, hidden: Iterable[str]) -> bool:
    """Whether another member of the same object is hidden."""
    parent = name.rpartition("/")[0]
    return any(other.rpartition("/")[0] == parent for other in hidden if "/" in other)


def _is_of_paging(schema: JsonObject) -> bool:
    """Whether the words say so; a date never is."""
    said = schema.get("description")
    return "date" not in str(schema.get("format")) and isinstance(said, str) and _OF_PAGING.search(said) is not None


def _is_whole(schema: JsonObject) -> bool:
    return schema.get("type") in ("integer", "number", "string") and "enum" not in schema
