"""Reads one request of a convention: which records it selects, and what is rejected.

Pure functions of positions, sizes, tokens and keys; `responses` builds the response.
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
from mock_api.conventions.collection import RECORD_KINDS, Collection, PagingFault
from mock_api.conventions.faults import PageRange, page_range
from mock_api.conventions.spec import Addressing, ConventionSpec
from mock_api.conventions.table import CONVENTIONS

_RANGE = re.compile(r"^(?:items=)?(\d+)-(\d*)$")


class RequestRejected(ValueError):
    """The server rejects the request; `status` is the HTTP status."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class ConventionRequest:
    """A request: arguments by path (`paging/limit` is a member of an object), lower-case headers, and the URL."""

    arguments: Mapping[str, Any]
    url: str
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class ConventionResponse:
    """A response; `ids` are those of its records."""

    status: int
    body: JsonObject | list[Any]
    headers: Mapping[str, str]
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedPage:
    """The ids of the requested page, and how many records the request matches."""

    ids: Sequence[int]
    n_records: int
    start: int
    size: int
    next_start: int | None


def spec_of(collection: Collection) -> ConventionSpec:
    """The collection's convention, under its own names."""
    return CONVENTIONS[collection.convention].renamed(collection.names)


def requested_kind(request: ConventionRequest, collection: Collection) -> str | None:
    """The value of the `kind` filter. Raises RequestRejected."""
    kind = request.arguments.get(collection.names.get("kind", "kind"))
    if kind not in (None, *RECORD_KINDS):
        raise RequestRejected(f"'kind' is {kind!r}; it must be one of {', '.join(RECORD_KINDS)}")
    return kind


def select_page(collection: Collection, request: ConventionRequest) -> SelectedPage:
    """The records that a request selects. Raises RequestRejected."""
    spec = spec_of(collection)
    ids = collection.ids(requested_kind(request, collection))
    if spec.addressing is Addressing.KEY_DESCENDING:
        ids = ids[::-1]
    visible = ids[: collection.window] if collection.fault is PagingFault.SILENT_WINDOW_END else ids
    if spec.addressing is Addressing.NONE:
        return SelectedPage(ids=visible, n_records=len(ids), start=0, size=len(ids), next_start=None)
    start, size = (
        _range_header(collection, request)
        if spec.addressing is Addressing.RANGE
        else (0, _page_size(collection, request))
    )
    start = start or _start(collection, request, size, visible)
    _check_window(collection, start, size)
    page: PageRange = page_range(collection, start, size, len(visible))
    return SelectedPage(
        ids=visible[page.start : page.stop], n_records=len(ids), start=page.start, size=size, next_start=page.next_start
    )


def _check_window(collection: Collection, start: int, size: int) -> None:
    is_numbered = CONVENTIONS[collection.convention].addressing in (Addressing.OFFSET, Addressing.PAGE)
    end = start + size if is_numbered else start + 1
    if collection.fault is PagingFault.WINDOW_END and end > collection.window:
        raise RequestRejected(f"the result window is too large: position and size must stay within {collection.window}")


def _page_size(collection: Collection, request: ConventionRequest) -> int:
    name = spec_of(collection).size
    requested = (
        collection.default_size if name is None else integer_argument(request.arguments, name, collection.default_size)
    )
    if requested < 1:
        raise RequestRejected(f"'{name}' is {requested}; it must be at least 1")
    if collection.sizes and requested not in collection.sizes:
        raise RequestRejected(f"'{name}' is {requested}; it must be one of {', '.join(map(str, collection.sizes))}")
    if collection.cap is not None and requested > collection.cap and collection.is_strict:
        raise RequestRejected(f"'{name}' is {requested}; it must be at most {collection.cap}")
    return _bounded_size(collection, requested)


def _bounded_size(collection: Collection, requested: int) -> int:
    if collection.fault is PagingFault.SIZE_IGNORED:
        return collection.default_size
    bounds = [requested, *(bound for bound in (collection.cap, collection.clamp) if bound)]
    if collection.fault is PagingFault.CLAMPED_SILENTLY:
        bounds.append(max(1, (collection.cap or collection.default_size) // 3))
    return min(bounds)


def integer_argument(arguments: Mapping[str, Any], name: str, default: int) -> int:
    """An argument as an integer, also from text. Raises RequestRejected."""
    value = arguments.get(name, default)
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise RequestRejected(f"'{name}' is {value!r}; it must be an integer") from error


def _start(collection: Collection, request: ConventionRequest, size: int, ids: range) -> int:
    spec = spec_of(collection)
    name = spec.position or ""
    given = request.arguments.get(name)
    match spec.addressing:
        case Addressing.NONE | Addressing.RANGE:
            return 0
        case Addressing.OFFSET:
            return _check_start(integer_argument(request.arguments, name, spec.first) - spec.first, name)
        case Addressing.PAGE:
            return _page_start(collection, request, name, size)
        case Addressing.TOKEN:
            second = spec.second_position
            return _page_start(collection, request, second, size) if second and not given else decode_token(given)
        case Addressing.KEY | Addressing.KEY_DESCENDING:
            return 0 if given in (None, "") else _count_through(integer_argument(request.arguments, name, 0), ids)
        case Addressing.SORT_VALUES:
            return _count_through(_sort_value(given), ids) if given else 0
        case _:
            assert_never(spec.addressing)


def _check_start(start: int, name: str) -> int:
    if start < 0:
        raise RequestRejected(f"'{name}' is before the first record")
    return start


def _page_start(collection: Collection, request: ConventionRequest, name: str, size: int) -> int:
    first = CONVENTIONS[collection.convention].first
    number = integer_argument(request.arguments, name, first) - first
    if number == -1 and collection.fault is PagingFault.PAGE_ZERO_OR_ONE:
        return 0
    return _check_start(number, name) * size


def _sort_value(given: Any) -> int:
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], int):
        return given[0]
    raise RequestRejected(f"'search_after' is {given!r}; it must be the `sort` of the last hit")


def _count_through(key: int, ids: range) -> int:
    """How many ids come up to and including the key, in their order."""
    return bisect_right(ids, -key, key=lambda each: -each) if ids.step < 0 else bisect_right(ids, key)


def _range_header(collection: Collection, request: ConventionRequest) -> tuple[int, int]:
    """First position and length of the header `Range: items=0-24`. Raises RequestRejected."""
    given = request.headers.get("range", "")
    matched = _RANGE.match(given)
    if not matched:
        return 0, _bounded_size(collection, collection.default_size)
    start = int(matched[1])
    length = int(matched[2]) - start + 1 if matched[2] else collection.default_size
    if length < 1:
        raise RequestRejected(f"the range '{given}' ends before it starts", status=416)
    return start, _bounded_size(collection, length)


def encode_token(start: int) -> str:
    """An opaque token for a position."""
    return base64.urlsafe_b64encode(f"at:{start}".encode()).decode().rstrip("=")


def decode_token(token: Any) -> int:
    """The position behind a token; 0 without a token. Raises RequestRejected."""
    if not token:
        return 0
    try:
        word, _, start = base64.urlsafe_b64decode(f"{token}{'=' * (-len(str(token)) % 4)}").decode().partition(":")
        if word == "at":
            return int(start)
    except (binascii.Error, ValueError) as error:
        raise RequestRejected(f"'{token}' is not a token of this API") from error
    raise RequestRejected(f"'{token}' is not a token of this API")
