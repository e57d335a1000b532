"""Tools that give the further pages of what another tool begins, as a scroll does.

Knows names, locators and visible arguments of the tools of one source. Knows no document and no request. A tool goes
on where another began if it takes nothing but a cursor, and its path or its name is the other's with one word more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from adapters.base import Convention, Pagination, ToolSpec
from adapters.paging.vocabulary import words_of

_ONWARD = frozenset("next scroll continue continuation more resume following page cursor".split())


def continuing(specs: Iterable[ToolSpec]) -> Mapping[str, Pagination]:
    """By name, how those tools page whose further pages another tool of the source gives."""
    known = tuple(specs)
    onward = [spec for spec in known if _takes_cursor_only(spec) and _says_onward(spec)]
    found: dict[str, Pagination] = {}
    for begin in known:
        match = next((one for one in onward if one is not begin and _goes_on(one, begin)), None)
        if match is not None and begin.pagination.convention is Convention.SINGLE:
            found[begin.name] = replace(
                begin.pagination,
                convention=Convention.CURSOR,
                position=match.pagination.position,
                next_operation=match.name,
            )
    return found


def _takes_cursor_only(spec: ToolSpec) -> bool:
    is_cursor = spec.pagination.convention is Convention.CURSOR and spec.pagination.position is not None
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
