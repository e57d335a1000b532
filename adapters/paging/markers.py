"""What a response says about the page after it: cursor, URL, Link header, flags, the key of its last record.

Knows spellings and their precedence. An empty marker is an end, and so is a flag that says so, whatever marker stands
beside it. Knows nothing of pages read before: repeated cursors are for the walker to notice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.base import CallResult, Convention, Json, PageAddress, Pagination
from adapters.paging import names
from adapters.paging.envelope import Envelope, as_count
from adapters.paging.keyset import next_key
from adapters.paging.links import absolute, link_with, looks_like_url, parse_links

_BY_ARGUMENT = frozenset({Convention.CURSOR, Convention.KEYSET})
_BY_MARKER = frozenset({Convention.CURSOR, Convention.NEXT_URL, Convention.LINK_HEADER})


@dataclass(frozen=True, slots=True)
class Next:
    """The next page's address where the response names one, and whether there is one (None: it does not say).

    `kind` is the convention that the response was found to follow.
    """

    address: PageAddress | None
    has_more: bool | None
    kind: Convention | None = None


@dataclass(frozen=True, slots=True)
class _Marks:
    """Markers found; `is_ended` is True where a marker's place is there and empty."""

    url: str | None
    kind: Convention | None
    cursor: Json
    is_ended: bool


def read_next(
    result: CallResult,
    envelope: Envelope,
    pagination: Pagination,
    *,
    records: Sequence[Json],
    size: int | None,
    asked: PageAddress | None = None,
) -> Next:
    """What `result` says about the next page. `size` is repeated in a cursor's address: a walk keeps its size."""
    flag = _flag(envelope, pagination)
    marks = _marks(result, envelope)
    if flag is False:
        return Next(None, has_more=False, kind=marks.kind)
    if pagination.convention is Convention.KEYSET and marks.cursor is None and marks.url is None:
        return _by_key(records, pagination, flag=flag, size=size, asked=asked)
    if marks.cursor is not None and pagination.convention in _BY_ARGUMENT and pagination.position:
        if pagination.next_operation is not None and not records:
            return Next(None, has_more=False, kind=Convention.CURSOR)
        return Next(_with_cursor(marks.cursor, pagination, size), has_more=True, kind=Convention.CURSOR)
    if marks.url is not None:
        return Next(PageAddress(url=absolute(marks.url, result.location)), has_more=True, kind=marks.kind)
    if marks.cursor is not None:
        return Next(None, has_more=True, kind=Convention.CURSOR)
    is_end = marks.is_ended or pagination.convention in _BY_MARKER
    return Next(None, has_more=flag if flag is not None else False if is_end else None, kind=marks.kind)


def _with_cursor(cursor: Json, pagination: Pagination, size: int | None) -> PageAddress:
    """Another operation gets the cursor alone: it has no size of its own, and goes on as the first page began."""
    arguments = {pagination.position or "": cursor}
    if pagination.next_operation is not None:
        return PageAddress(arguments, operation=pagination.next_operation)
    return PageAddress(arguments | _size(pagination, size))


def _by_key(
    records: Sequence[Json],
    pagination: Pagination,
    *,
    flag: bool | None,
    size: int | None,
    asked: PageAddress | None,
) -> Next:
    """The page after the last record.

    Only an empty page, or one that repeats the key asked with, is surely an end: a short one may have been cut by the
    server. A full page whose records have no key goes on, and nobody knows where.
    """
    key = next_key(records, pagination)
    before = asked.arguments.get(pagination.position or "") if asked else None
    if not records or (key is not None and key == before and len(records) == 1):
        return Next(None, has_more=False, kind=Convention.KEYSET)
    if key is None or key == before:
        is_full = size is None or len(records) >= size
        return Next(None, has_more=True if flag is None and is_full else flag, kind=Convention.KEYSET)
    arguments = {pagination.position or "": key} | _size(pagination, size)
    return Next(PageAddress(arguments), has_more=flag, kind=Convention.KEYSET)


def _size(pagination: Pagination, size: int | None) -> dict[str, Json]:
    return {pagination.size: size} if pagination.size and size is not None else {}


def _flag(envelope: Envelope, pagination: Pagination) -> bool | None:
    """What flags say, else what page numbers say."""
    more = envelope.flag(names.MORE_FLAGS)
    if more is not None:
        return more
    last = envelope.flag(names.LAST_FLAGS)
    if last is not None:
        return not last
    return _flag_by_pages(envelope, pagination) if pagination.convention is Convention.PAGE else None


def _flag_by_pages(envelope: Envelope, pagination: Pagination) -> bool | None:
    """Whether the page's own number is below the number of pages.

    That is never an end: a number of pages is advice like any total, and some servers count the page that they tell
    otherwise than the page that they are asked for.
    """
    page, pages = envelope.integer(names.PAGE_POSITIONS), envelope.integer(names.TOTAL_PAGES)
    is_below = page is not None and pages is not None and page + 1 - pagination.first < pages
    return True if is_below else None


def _marks(result: CallResult, envelope: Envelope) -> _Marks:
    link = link_with(parse_links(result.headers.get("link", "")), "next")
    if link is not None:
        is_ended = link.parameters.get("results", "").lower() == "false"
        return _Marks(None if is_ended else link.url, Convention.LINK_HEADER, None, is_ended)
    url = next((u for name in names.NEXT_HEADERS if (u := result.headers.get(name))), None) or _next_url(envelope)
    cursor = _next_cursor(envelope)
    is_ended = url is None and cursor is None and _has_empty_marker(envelope)
    kind = Convention.NEXT_URL if url else Convention.CURSOR if cursor is not None else None
    return _Marks(url, kind, cursor, is_ended)


def _next_url(envelope: Envelope) -> str | None:
    for value in envelope.values(names.NEXT_URLS):
        if (target := _target(value)) is not None:
            return target
    for value in envelope.values(names.NEXT_ANY):
        target = _target(value)
        if target is not None and (isinstance(value, dict) or looks_like_url(target)):
            return target
    for links in envelope.values(names.words("links _links")):
        if isinstance(links, list):
            hits = [link for link in links if isinstance(link, dict) and str(link.get("rel", "")).lower() == "next"]
            return _target(hits[0]) if hits else None
    return None


def _target(value: Json) -> str | None:
    """The URL in a link, which is a text or an object with `href`, `url` or `uri`."""
    if isinstance(value, dict):
        value = value.get("href") or value.get("url") or value.get("uri")
    return value if isinstance(value, str) and value else None


def _next_cursor(envelope: Envelope) -> Json:
    for table in (names.NEXT_CURSORS, names.NEXT_ANY, names.WEAK_CURSORS):
        for value in envelope.values(table):
            if _is_cursor(value):
                return value
    return None


def _is_cursor(value: Json) -> bool:
    if isinstance(value, str):
        return bool(value) and not looks_like_url(value)
    return as_count(value) is not None


def _has_empty_marker(envelope: Envelope) -> bool:
    table = names.NEXT_CURSORS | names.NEXT_URLS | names.NEXT_ANY
    return any(value is None or value in ("", False) for value in envelope.values(table))
