"""One request of a convention and its answer, as values: which records are meant, and what is refused.

Knows positions, sizes, tokens and keys. Knows no HTTP beyond status codes, and leaves the wording to `wording`.
"""

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, assert_never

from mock_api.arguments import JsonObject
from mock_api.conventions.lying import Reach, reach
from mock_api.conventions.spelling import Addressing, Spelling
from mock_api.conventions.style import ARGUMENT_KINDS, Collection, Lie
from mock_api.conventions.table import SPELLINGS

_RANGE = re.compile(r"^(?:items=)?(\d+)-(\d*)$")


class Refused(ValueError):
    """A request that the server does not take; `status` is that of HTTP."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request: arguments by their path (`paging/limit` is a member of an object), headers in lower case, its URL."""

    arguments: Mapping[str, Any]
    url: str
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: `ids` are those of the records in it."""

    status: int
    body: JsonObject | list[Any]
    headers: Mapping[str, str]
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an answer is worded from: the ids of the page, and how many records there are behind the request."""

    ids: Sequence[int]
    n_records: int
    start: int
    size: int
    following: int | None


def spelling_of(collection: Collection) -> Spelling:
    """The collection's convention under its own names."""
    return SPELLINGS[collection.style].renamed(collection.names)


def kind_of(ask: Ask, collection: Collection) -> str | None:
    """The caller's own argument: which records are selected. Raises Refused."""
    kind = ask.arguments.get(collection.names.get("kind", "kind"))
    if kind not in (None, *ARGUMENT_KINDS):
        raise Refused(f"'kind' is {kind!r}; it must be one of {', '.join(ARGUMENT_KINDS)}")
    return kind


def found(collection: Collection, ask: Ask) -> Found:
    """The records that a request means. Raises Refused."""
    spelling = spelling_of(collection)
    ids = collection.ids(kind_of(ask, collection))
    if spelling.addressing is Addressing.KEY_DESCENDING:
        ids = ids[::-1]
    visible = ids[: collection.window] if collection.lie is Lie.SILENT_WINDOW_END else ids
    if spelling.addressing is Addressing.NONE:
        return Found(ids=visible, n_records=len(ids), start=0, size=len(ids), following=None)
    start, size = _range(collection, ask) if spelling.addressing is Addressing.RANGE else (0, _size(collection, ask))
    start = start or _start(collection, ask, size, visible)
    _check_window(collection, start, size)
    got: Reach = reach(collection, start, size, len(visible))
    return Found(
        ids=visible[got.start : got.stop], n_records=len(ids), start=got.start, size=size, following=got.following
    )


def _check_window(collection: Collection, start: int, size: int) -> None:
    is_numbered = SPELLINGS[collection.style].addressing in (Addressing.OFFSET, Addressing.PAGE)
    end = start + size if is_numbered else start + 1
    if collection.lie is Lie.WINDOW_END and end > collection.window:
        raise Refused(f"the result window is too large: position and size must stay within {collection.window}")


def _size(collection: Collection, ask: Ask) -> int:
    name = spelling_of(collection).size
    asked = collection.default_size if name is None else integer(ask.arguments, name, collection.default_size)
    if asked < 1:
        raise Refused(f"'{name}' is {asked}; it must be at least 1")
    if collection.sizes and asked not in collection.sizes:
        raise Refused(f"'{name}' is {asked}; it must be one of {', '.join(map(str, collection.sizes))}")
    if collection.cap is not None and asked > collection.cap and collection.is_strict:
        raise Refused(f"'{name}' is {asked}; it must be at most {collection.cap}")
    return _granted(collection, asked)


def _granted(collection: Collection, asked: int) -> int:
    if collection.lie is Lie.SIZE_IGNORED:
        return collection.default_size
    bounds = [asked, *(each for each in (collection.cap, collection.clamp) if each)]
    if collection.lie is Lie.CLAMPED_SILENTLY:
        bounds.append(max(1, (collection.cap or collection.default_size) // 3))
    return min(bounds)


def integer(arguments: Mapping[str, Any], name: str, default: int) -> int:
    """An argument as a whole number, from text too. Raises Refused."""
    value = arguments.get(name, default)
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise Refused(f"'{name}' is {value!r}; it must be a whole number") from error


def _start(collection: Collection, ask: Ask, size: int, ids: range) -> int:
    spelling = spelling_of(collection)
    name = spelling.position or ""
    given = ask.arguments.get(name)
    match spelling.addressing:
        case Addressing.NONE | Addressing.RANGE:
            return 0
        case Addressing.OFFSET:
            return _counted(integer(ask.arguments, name, spelling.first) - spelling.first, name)
        case Addressing.PAGE:
            return _page(collection, ask, name, size)
        case Addressing.TOKEN:
            second = spelling.second_position
            return _page(collection, ask, second, size) if second and not given else start_of(given)
        case Addressing.KEY | Addressing.KEY_DESCENDING:
            return 0 if given in (None, "") else _after(integer(ask.arguments, name, 0), ids)
        case Addressing.SORT_VALUES:
            return _after(_sort_value(given), ids) if given else 0
        case _:
            assert_never(spelling.addressing)


def _counted(start: int, name: str) -> int:
    if start < 0:
        raise Refused(f"'{name}' lies before the first record")
    return start


def _page(collection: Collection, ask: Ask, name: str, size: int) -> int:
    first = SPELLINGS[collection.style].first
    number = integer(ask.arguments, name, first) - first
    if number == -1 and collection.lie is Lie.PAGE_ZERO_OR_ONE:
        return 0
    return _counted(number, name) * size


def _sort_value(given: Any) -> int:
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], int):
        return given[0]
    raise Refused(f"'search_after' is {given!r}; it must be the `sort` of the last hit")


def _after(key: int, ids: range) -> int:
    """How many records come up to and with the key, in the order of the ids."""
    return bisect_right(ids, -key, key=lambda each: -each) if ids.step < 0 else bisect_right(ids, key)


def _range(collection: Collection, ask: Ask) -> tuple[int, int]:
    """First position and length of the header `Range: items=0-24`. Raises Refused."""
    given = ask.headers.get("range", "")
    matched = _RANGE.match(given)
    if not matched:
        return 0, _granted(collection, collection.default_size)
    start = int(matched[1])
    length = int(matched[2]) - start + 1 if matched[2] else collection.default_size
    if length < 1:
        raise Refused(f"the range '{given}' ends before it begins", status=416)
    return start, _granted(collection, length)


def token_of(start: int) -> str:
    """An opaque name of a position."""
    return base64.urlsafe_b64encode(f"at:{start}".encode()).decode().rstrip("=")


def start_of(token: Any) -> int:
    """The position that a token names; 0 where there is none. Raises Refused."""
    if not token:
        return 0
    try:
        word, _, start = base64.urlsafe_b64decode(f"{token}{'=' * (-len(str(token)) % 4)}").decode().partition(":")
        if word == "at":
            return int(start)
    except (binascii.Error, ValueError) as error:
        raise Refused(f"'{token}' is no token of this API") from error
    raise Refused(f"'{token}' is no token of this API")
