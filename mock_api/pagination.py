"""Pagination styles: their arguments, the requested window of records, and the format of a page."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mock_api.arguments import ArgumentSpec, JsonObject, Scalar

DEFAULT_LIMIT = 20
MAX_LIMIT = 200
RESERVED = frozenset({"offset", "limit", "meta_only", "page", "per_page", "page_size", "cursor"})
META_ONLY = ArgumentSpec(
    name="meta_only",
    kind="boolean",
    default=False,
    description="Return only metadata of the result (data_path, total_items, tokens_estimation), no records.",
)


class PagingStyle(StrEnum):
    """How a resource is paginated."""

    OFFSET = "offset"
    PAGE = "page"
    CURSOR = "cursor"
    LINK = "link"
    NEXT_URL = "next_url"
    SINGLE = "single"


class InvalidCursor(ValueError):
    """A cursor that this API did not issue."""


@dataclass(frozen=True, slots=True)
class Window:
    """The requested records: at most `size` from `start` (zero-based); None means all."""

    start: int
    size: int | None

    @property
    def page_number(self) -> int:
        """The page at which the window starts, from 1, by its own size."""
        return self.start // self.size + 1 if self.size else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PageData:
    """One page before it is formatted. `records` are JSON-serializable; `url` is the request's URL."""

    name: str
    records: list[Any]
    window: Window
    total: int
    has_more: bool
    url: str
    has_total: bool = True
    total_header: bool = False


def style_arguments(style: PagingStyle, *, has_metadata: bool, max_limit: int = MAX_LIMIT) -> tuple[ArgumentSpec, ...]:
    """The documented arguments of a style."""
    metadata = (META_ONLY,) if has_metadata else ()
    match style:
        case PagingStyle.OFFSET:
            return (_offset(), _size("limit", max_limit), *metadata)
        case PagingStyle.PAGE:
            return (_page_number(), _size("per_page", max_limit), *metadata)
        case PagingStyle.LINK:
            return (_page_number(), _size("per_page", max_limit))
        case PagingStyle.CURSOR:
            text = "Cursor of the page, from `next_cursor` of the page before; leave out for the first page."
            return (ArgumentSpec(name="cursor", kind="string", description=text), _size("limit", max_limit))
        case PagingStyle.NEXT_URL:
            return (_size("page_size", max_limit),)
        case PagingStyle.SINGLE:
            return ()
        case _:
            assert_never(style)


def hidden_arguments(style: PagingStyle) -> tuple[ArgumentSpec, ...]:
    """Arguments that appear only in URLs that the API returns."""
    if style is PagingStyle.NEXT_URL:
        return (ArgumentSpec(name="cursor", kind="string", description="Position, as handed out."),)
    return ()


def _offset() -> ArgumentSpec:
    return ArgumentSpec(name="offset", kind="integer", default=0, minimum=0, description="How many records to skip.")


def _page_number() -> ArgumentSpec:
    return ArgumentSpec(name="page", kind="integer", default=1, minimum=1, description="Number of the page, from 1.")


def _size(name: str, max_limit: int) -> ArgumentSpec:
    return ArgumentSpec(
        name=name,
        kind="integer",
        default=min(DEFAULT_LIMIT, max_limit),
        minimum=1,
        maximum=max_limit,
        description=f"Most records on a page, up to {max_limit}.",
    )


def requested_window(style: PagingStyle, given: Mapping[str, Scalar | None]) -> Window:
    """The window that the arguments request. Raises InvalidCursor."""
    match style:
        case PagingStyle.OFFSET:
            return Window(_integer(given, "offset"), _integer(given, "limit"))
        case PagingStyle.PAGE | PagingStyle.LINK:
            size = _integer(given, "per_page")
            return Window((_integer(given, "page") - 1) * size, size)
        case PagingStyle.CURSOR | PagingStyle.NEXT_URL:
            size = _integer(given, "limit" if style is PagingStyle.CURSOR else "page_size")
            return Window(_decode_cursor(given.get("cursor")), size)
        case PagingStyle.SINGLE:
            return Window(0, None)
        case _:
            assert_never(style)


def _integer(given: Mapping[str, Scalar | None], name: str) -> int:
    value = given[name]
    return int(value) if value is not None else 0


def encode_cursor(start: int) -> str:
    """An opaque cursor for a position."""
    return base64.urlsafe_b64encode(f"from:{start}".encode()).decode().rstrip("=")


def _decode_cursor(cursor: Scalar | None) -> int:
    if not cursor:
        return 0
    try:
        padded = str(cursor) + "=" * (-len(str(cursor)) % 4)
        word, _, start = base64.urlsafe_b64decode(padded).decode().partition(":")
        if word == "from" and int(start) >= 0:
            return int(start)
    except (binascii.Error, ValueError) as error:
        raise InvalidCursor(f"'{cursor}' is not a cursor of this API") from error
    raise InvalidCursor(f"'{cursor}' is not a cursor of this API")


def page_body(style: PagingStyle, page: PageData) -> JsonObject | list[Any]:
    """The body of a page in its style."""
    total = {"total": page.total} if page.has_total else {}
    start, size = page.window.start, page.window.size or max(1, page.total)
    match style:
        case PagingStyle.OFFSET:
            return {page.name: page.records, **total, "offset": start, "limit": size}
        case PagingStyle.PAGE:
            pages = {"total_pages": -(-page.total // size)} if page.has_total else {}
            return {page.name: page.records, **total, "page": page.window.page_number, "per_page": size, **pages}
        case PagingStyle.CURSOR:
            return {page.name: page.records, "next_cursor": encode_cursor(start + size) if page.has_more else None}
        case PagingStyle.LINK:
            return page.records
        case PagingStyle.NEXT_URL:
            count = {"count": page.total} if page.has_total else {}
            return {**count, "next": _next_url(style, page), "results": page.records}
        case PagingStyle.SINGLE:
            return {page.name: page.records}
        case _:
            assert_never(style)


def page_headers(style: PagingStyle, page: PageData) -> dict[str, str]:
    """The headers of a page in its style."""
    counts_in_header = page.total_header or (style is PagingStyle.LINK and page.has_total)
    headers = {"X-Total-Count": str(page.total)} if counts_in_header else {}
    if style is PagingStyle.LINK and page.has_more:
        headers["Link"] = f'<{_next_url(style, page)}>; rel="next"'
    return headers


def _next_url(style: PagingStyle, page: PageData) -> str | None:
    if not page.has_more or page.window.size is None:
        return None
    following = page.window.start + page.window.size
    if style is PagingStyle.NEXT_URL:
        return with_query(page.url, {"cursor": encode_cursor(following), "page_size": page.window.size})
    return with_query(page.url, {"page": page.window.page_number + 1, "per_page": page.window.size})


def with_query(url: str, changed: Mapping[str, Scalar]) -> str:
    """The URL with these query parameters; others are kept."""
    parts = urlsplit(url)
    others = [(name, value) for name, value in parse_qsl(parts.query) if name not in changed]
    return urlunsplit(parts._replace(query=urlencode([*others, *changed.items()])))


def metadata_body(name: str, total: int, tokens: int) -> JsonObject:
    """The body of a `meta_only` response."""
    return {"data_path": name, "tokens_estimation": tokens, "total_items": total, "max_page_size": MAX_LIMIT}


def body_schema(style: PagingStyle, name: str, record: JsonObject) -> JsonObject:
    """The schema of a page's body; `meta_only` responses have no records, so nothing is required."""
    records: JsonObject = {"type": "array", "items": record}
    if style is PagingStyle.LINK:
        return records
    integer: JsonObject = {"type": "integer"}
    text_or_null: JsonObject = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    meta = {"data_path": {"type": "string"}, "tokens_estimation": integer, "total_items": integer}
    members: dict[PagingStyle, JsonObject] = {
        PagingStyle.OFFSET: {name: records, "total": integer, "offset": integer, "limit": integer, **meta},
        PagingStyle.PAGE: {name: records, "total": integer, "page": integer, "total_pages": integer, **meta},
        PagingStyle.CURSOR: {name: records, "next_cursor": text_or_null},
        PagingStyle.NEXT_URL: {"count": integer, "next": text_or_null, "results": records},
        PagingStyle.SINGLE: {name: records},
    }
    return {"type": "object", "properties": members[style]}
