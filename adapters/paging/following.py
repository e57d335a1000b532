"""Where the page after this one is, as far as the response decides it.

Knows how flags, markers and keys go together. An empty marker is an end, and so is a flag that says so, whatever marker
stands beside it. Knows nothing of pages read before: repeated cursors are for the walker to notice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.base import CallResult, Convention, Json, PageAddress, Pagination
from adapters.paging.envelope import Envelope
from adapters.paging.flags import Flag, read_flag
from adapters.paging.keyset import next_key
from adapters.paging.links import absolute, completed, is_same_host, query_of, url_in
from adapters.paging.markers import Mark, Marks, marks_of
from adapters.paging.names import plain

_BY_ARGUMENT = frozenset({Convention.CURSOR, Convention.KEYSET})
_BY_URL = frozenset({Convention.NEXT_URL, Convention.LINK_HEADER})
_BY_MARKER = frozenset({Convention.CURSOR, Convention.NEXT_URL, Convention.LINK_HEADER})


@dataclass(frozen=True, slots=True)
class Next:
    """The next page's address where the response names one, and whether there is one (None: it does not say).

    `kind` is the convention that the response was found to follow; `marker` is the place of what named the next page,
    where that place was guessed and is to be kept to. `is_silent`: nothing was said, and that alone counts as the end.
    """

    address: PageAddress | None
    has_more: bool | None
    kind: Convention | None = None
    marker: str | None = None
    is_silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked for: the address of the page (None: unknown, or nothing but the call itself) and its size."""

    address: PageAddress | None = None
    size: int | None = None


def read_next(
    result: CallResult, envelope: Envelope, pagination: Pagination, *, records: Sequence[Json], asked: Asked
) -> Next:
    """What `result` says about the next page. The size is repeated in a cursor's address: a walk keeps its size."""
    flag = read_flag(result, envelope, pagination, n_records=len(records))
    marks = marks_of(result, envelope, pagination, asked=asked.address)
    if pagination.convention in _BY_URL and asked.address is not None and asked.address.url is not None:
        marks = replace(marks, cursor=None)  # a walk by URLs ends where none comes, whatever else may still stand there
    mark = _chosen(marks, pagination, flag, is_full=asked.size is None or len(records) >= asked.size)
    kind = mark.kind if mark else None
    if flag.has_more is False and (flag.is_sure or mark is None or not mark.is_sure or not records):
        return Next(None, has_more=False, kind=kind)
    if pagination.convention is Convention.KEYSET and (mark is None or not mark.is_sure):
        return _by_key(records, pagination, flag=flag.has_more, asked=asked)
    if mark is None:
        if flag.has_more is not None or marks.is_ended:
            return Next(None, has_more=flag.has_more is True)
        is_silent = pagination.convention in _BY_MARKER
        return Next(None, has_more=False if is_silent else None, is_silent=is_silent)
    if not records and (pagination.next_operation is not None or _is_asked(mark, pagination, asked)):
        return Next(None, has_more=False, kind=kind)
    place = _place(mark, result, pagination, asked.size)
    return Next(place, has_more=True, kind=kind, marker=None if mark.is_sure else mark.path)


def _is_asked(mark: Mark, pagination: Pagination, asked: Asked) -> bool:
    """Whether a marker is the one that was asked with: beside no records that is how some services end."""
    place = asked.address
    return place is not None and place.arguments.get(pagination.position or "") == mark.value


def _chosen(marks: Marks, pagination: Pagination, flag: Flag, *, is_full: bool) -> Mark | None:
    """The cursor where an argument takes it, else the URL. A guess needs a page that may have a successor."""
    takes_cursor = pagination.convention in _BY_ARGUMENT and pagination.position is not None
    order = (marks.cursor, marks.url) if takes_cursor else (marks.url, marks.cursor)
    sure = [mark for mark in order if mark is not None and mark.is_sure]
    guessed = [mark for mark in order if mark is not None and not mark.is_sure]
    if takes_cursor and marks.cursor in sure and marks.cursor is not None:
        return marks.cursor
    if sure:
        return sure[0]
    return guessed[0] if guessed and (is_full or flag.has_more is True) else None


def _place(mark: Mark, result: CallResult, pagination: Pagination, size: int | None) -> PageAddress | None:
    if mark.kind is not Convention.CURSOR:
        url = absolute(str(mark.value), result.location)
        if (own := _as_argument(url, result.location, pagination)) is not None:
            return PageAddress(own | _size(pagination, size))
        apart = (pagination.position, *pagination.other_hidden)
        positions = frozenset(plain(name.rpartition("/")[2]) for name in apart if name)
        return PageAddress(url=completed(url, result.location, apart=positions))
    if pagination.convention not in _BY_ARGUMENT or pagination.position is None:
        return None
    arguments = {pagination.position: mark.value}
    if pagination.next_operation is not None:
        return PageAddress(arguments, operation=pagination.next_operation)
    return PageAddress(arguments | _size(pagination, size))


def _as_argument(url: str, location: str, pagination: Pagination) -> dict[str, Json] | None:
    """The cursor in a URL of another host, such as a service behind a proxy knows itself by; None elsewhere.

    That host is never asked: the cursor goes into the argument that takes it, to the service that was asked.
    """
    base, position = url_in(location), pagination.position
    if pagination.convention not in _BY_ARGUMENT or position is None or base is None or is_same_host(url, base):
        return None
    known = {plain(position), plain(position.rpartition("/")[2])}
    return next(({position: value} for name, value in query_of(url).items() if plain(name) in known and value), None)


def _by_key(records: Sequence[Json], pagination: Pagination, *, flag: bool | None, asked: Asked) -> Next:
    """The page after the last record.

    Only an empty page, or one that repeats the key asked with, is surely an end: a short one may have been cut by the
    server. A full page whose records have no key goes on, and nobody knows where.
    """
    position = pagination.position or ""
    key = next_key(records, pagination)
    before = asked.address.arguments.get(position) if asked.address else None
    if not records or (key is not None and key == before and len(records) == 1):
        return Next(None, has_more=False, kind=Convention.KEYSET)
    if key is None or key == before:
        is_full = asked.size is None or len(records) >= asked.size
        return Next(None, has_more=True if flag is None and is_full else flag, kind=Convention.KEYSET)
    return Next(PageAddress({position: key} | _size(pagination, asked.size)), has_more=flag, kind=Convention.KEYSET)


def _size(pagination: Pagination, size: int | None) -> dict[str, Json]:
    return {pagination.size: size} if pagination.size and size is not None else {}
