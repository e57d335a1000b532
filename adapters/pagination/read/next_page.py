"""Read where the next page is: by flags, cursors, URLs, or the key of the last record.

An empty pointer is an end, and so is a flag that says so, regardless of the pointer next to it. Repeated cursors are
detected by the caller, which knows the earlier pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle
from adapters.pagination.read.cursors import NextPointer, NextPointers, read_pointers
from adapters.pagination.read.envelope import EnvelopeMember, ResponseEnvelope, as_count, first_count, first_flag
from adapters.pagination.read.links import (
    absolute_url,
    is_same_host,
    query_params,
    request_url,
    with_request_parameters,
)
from adapters.pagination.read.records import value_at
from adapters.pagination.read.totals import parse_content_range
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary.members import plain, words

_PARTIAL_CONTENT = 206
_NEXT_PAGE = vocabulary.words("next_page next_page_number next_offset")
_FIRST_PAGES = (-1, 0, 1, "0", "1")
_OWN_PLACE = frozenset("current actual aktuelle this no nr num number index".split())


@dataclass(frozen=True, slots=True)
class HasMoreFlag:
    """`has_more` is None if the response does not say; `is_sure` is False if it is based on words in a name."""

    has_more: bool | None
    is_sure: bool = True


def read_has_more(
    result: CallResult, envelope: ResponseEnvelope, pagination: Pagination, *, n_records: int
) -> HasMoreFlag:
    """Whether there is more: by flags, else by the range, else by page numbers, else by words in names."""
    for has_more in (_by_flags(envelope), _by_range(result, pagination), _by_pages(envelope, pagination)):
        if has_more is not None:
            return HasMoreFlag(has_more)
    if pagination.convention is PaginationStyle.SINGLE and _is_first_of_several(envelope, n_records):
        return HasMoreFlag(has_more=True)
    return HasMoreFlag(_by_words(envelope), is_sure=False)


def has_previous(envelope: ResponseEnvelope, *, relations: frozenset[str]) -> bool | None:
    """Whether a page says that there is one before it; `relations` are those of its links."""
    flag = first_flag(envelope.named(vocabulary.PREVIOUS_FLAGS))
    if flag is not None:
        return flag
    is_first = first_flag(envelope.named(vocabulary.FIRST_FLAGS))
    if is_first is not None:
        return not is_first
    if relations:
        return bool(relations & {"prev", "previous"})
    pointers = list(envelope.values(vocabulary.PREVIOUS_POINTERS))
    return any(bool(pointer) for pointer in pointers) if pointers else None


def _by_flags(envelope: ResponseEnvelope) -> bool | None:
    for header in envelope.headers:
        if header.plain in _NEXT_PAGE and (not header.value or as_count(header.value)):
            return bool(header.value)
    for member in envelope.named(vocabulary.MORE_FLAGS, is_anywhere=True):
        if (flag := first_flag((member,))) is not None:
            return flag
        if (count := as_count(member.value)) is not None:
            return count > 0
    last = first_flag(envelope.named(vocabulary.LAST_FLAGS))
    return None if last is None else not last


def _by_range(result: CallResult, pagination: Pagination) -> bool | None:
    """By `Content-Range`; a response without one that is not partial is everything there is."""
    if pagination.convention is not PaginationStyle.RANGE:
        return None
    ranged = parse_content_range(result.headers)
    if ranged is None:
        return None if result.status is None else result.status == _PARTIAL_CONTENT
    if ranged.total is None or ranged.last is None:
        return False if ranged.total == 0 else None
    return ranged.last + 1 < ranged.total


def _by_pages(envelope: ResponseEnvelope, pagination: Pagination) -> bool | None:
    """Whether the page's own number is below the number of pages.

    It never proves an end: some servers count the page that they report differently from the requested one.
    """
    if pagination.convention is not PaginationStyle.PAGE:
        return None
    page, pages = envelope.integer(vocabulary.PAGE_POSITIONS), envelope.integer(vocabulary.TOTAL_PAGES)
    is_below = page is not None and pages is not None and page + 1 - pagination.first < pages
    return True if is_below else None


def _is_first_of_several(envelope: ResponseEnvelope, n_records: int) -> bool:
    """Whether a list that was requested without a page calls itself the first of several pages.

    A number of pages alone may be data, as for a book: the list's own position or length has to be next to it.
    """
    around = (*envelope.near, *envelope.far, *envelope.headers)
    pages = [one for one in around if one.plain in vocabulary.TOTAL_PAGES or vocabulary.is_page_count_name(one.name)]
    others = [one for one in around if one not in pages]
    is_place = any(_is_page_number(one) and one.value in _FIRST_PAGES for one in others)
    is_length = any(one.plain in vocabulary.SIZES and as_count(one.value) == n_records for one in others)
    return any((as_count(one.value) or 0) > 1 for one in pages) and n_records > 0 and (is_place or is_length)


def _is_page_number(member: EnvelopeMember) -> bool:
    own = vocabulary.words_of(member.name)
    return member.plain in vocabulary.PAGE_POSITIONS or bool(
        own & vocabulary.PAGE and own <= vocabulary.PAGE | _OWN_PLACE
    )


def _by_words(envelope: ResponseEnvelope) -> bool | None:
    for member in envelope.matching(vocabulary.is_has_more_name):
        more = bool(member.value) if member.value in (0, 1) else first_flag((member,))
        if more is not None:
            return more
    last = first_flag(envelope.matching(vocabulary.is_last_page_name, is_anywhere=False))
    if last is not None:
        return not last
    left = first_count(envelope.matching(vocabulary.is_remaining_name))
    return None if left is None else left > 0


SEARCH_AFTER = words("search_after")
_SORT = "sort"
_IDENTITIES = ("id", "_id", "uuid", "guid", "key", "_key", "pk", "rowid", "sid", "gid", "name")
_DOWN = ("max", "before", "until", "to", "below", "lt", "older", "less")
_UP = ("since", "min", "from", "above", "gt", "greater", "newer")
_WORDS = (*_DOWN, *_UP, "starting", "start", "exclusive", "after", "last", "next", "page", "ending", "cursor", "than")


def next_key(records: Sequence[Json], pagination: Pagination) -> Json:
    """The key by which the page after `records` is requested; None if they have none."""
    path = pagination.key or key_path(records, pagination.position or "")
    if path is None:
        return None
    keys = [value for record in records if _is_key(value := value_at(record, path)[1], path)]
    if not keys or len(keys) < len(records):
        return None
    if not all(isinstance(key, int) for key in keys):
        return keys[-1]
    return _numeric_key(keys, plain(pagination.position or ""))


def key_path(records: Sequence[Json], position: str) -> str | None:
    """The dotted path of the key inside a record, for a position of this name; None if it cannot be determined."""
    rows = [record for record in records if isinstance(record, dict)]
    if not rows or len(rows) < len(records):
        return None
    if plain(position) in SEARCH_AFTER:
        return _SORT if isinstance(rows[-1].get(_SORT), list) else None
    own = _key_name(position)
    named = [name for name in rows[-1] if own and plain(name) == own]
    usual = [name for identity in _IDENTITIES for name in rows[-1] if plain(name) == plain(identity)]
    for name in (*named, *usual):
        if all(_is_key(row.get(name), name) for row in rows):
            return str(name)
    return _only_ordered_member(rows)


def _numeric_key(keys: list[int], position: str) -> int | None:
    if position.startswith(_DOWN):
        return min(keys)
    is_up = position.startswith(_UP)
    runs_down = len(keys) > 1 and keys[-1] < keys[0]
    return None if is_up and runs_down else keys[-1]


def _is_key(value: Json, path: str) -> bool:
    """Whether a value can be sent back: text or a number, and a list of such values for `search_after`."""
    if path == _SORT and isinstance(value, list):
        return bool(value)
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def _key_name(position: str) -> str:
    """The name of a position without the words for a direction: `uuid` of `after_uuid`."""
    left = plain(position)
    for word in sorted(_WORDS, key=len, reverse=True):
        left = left.removeprefix(word)
    return left


def _only_ordered_member(rows: list[dict[str, Json]]) -> str | None:
    """The only member that is strictly ordered over the page; None if there are several, or too few records."""
    if len(rows) < 3:
        return None
    ordered = [name for name in rows[0] if _is_ordered([row.get(name) for row in rows])]
    return ordered[0] if len(ordered) == 1 else None


def _is_ordered(values: list[Json]) -> bool:
    kind = str if isinstance(values[0], str) else int
    if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
        return False
    pairs = list(pairwise(values))
    return all(a < b for a, b in pairs) or all(a > b for a, b in pairs)


_BY_ARGUMENT = frozenset({PaginationStyle.CURSOR, PaginationStyle.KEYSET})
_BY_URL = frozenset({PaginationStyle.NEXT_URL, PaginationStyle.LINK_HEADER})
_BY_POINTER = frozenset({PaginationStyle.CURSOR, PaginationStyle.NEXT_URL, PaginationStyle.LINK_HEADER})


@dataclass(frozen=True, slots=True)
class NextPage:
    """The address of the next page if the response names one, and whether there is one (None: it does not say).

    `kind` is the style that the response follows; `pointer_path` is where a guessed pointer was found.
    `is_end_unconfirmed`: the response says nothing, and that alone counts as the end.
    """

    address: PageAddress | None
    has_more: bool | None
    kind: PaginationStyle | None = None
    pointer_path: str | None = None
    is_end_unconfirmed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """The request of a page: its address (None: unknown, or the call itself) and its size."""

    address: PageAddress | None = None
    size: int | None = None


def read_next(
    result: CallResult,
    envelope: ResponseEnvelope,
    pagination: Pagination,
    *,
    records: Sequence[Json],
    request: PageRequest,
) -> NextPage:
    """Read what `result` says about the next page. The size is repeated in a cursor's address, to stay the same."""
    flag = read_has_more(result, envelope, pagination, n_records=len(records))
    pointers = read_pointers(result, envelope, pagination, address=request.address)
    if pagination.convention in _BY_URL and request.address is not None and request.address.url is not None:
        pointers = replace(pointers, cursor=None)  # pages by URL end at a page without one, even if it has a cursor
    pointer = _choose_pointer(pointers, pagination, flag, is_full=request.size is None or len(records) >= request.size)
    kind = pointer.kind if pointer else None
    if flag.has_more is False and (flag.is_sure or pointer is None or not pointer.is_sure or not records):
        return NextPage(None, has_more=False, kind=kind)
    if pagination.convention is PaginationStyle.KEYSET and (pointer is None or not pointer.is_sure):
        return _by_key(records, pagination, flag=flag.has_more, request=request)
    if pointer is None:
        if flag.has_more is not None or pointers.is_ended:
            return NextPage(None, has_more=flag.has_more is True)
        is_end_unconfirmed = pagination.convention in _BY_POINTER
        return NextPage(None, has_more=False if is_end_unconfirmed else None, is_end_unconfirmed=is_end_unconfirmed)
    if not records and (pagination.next_operation is not None or _repeats_request(pointer, pagination, request)):
        return NextPage(None, has_more=False, kind=kind)
    address = _address_of(pointer, result, pagination, request.size)
    return NextPage(address, has_more=True, kind=kind, pointer_path=None if pointer.is_sure else pointer.path)


def _repeats_request(pointer: NextPointer, pagination: Pagination, request: PageRequest) -> bool:
    """Whether a pointer is the cursor of the request: without records, that is how some services end."""
    address = request.address
    return address is not None and address.arguments.get(pagination.position or "") == pointer.value


def _choose_pointer(
    pointers: NextPointers, pagination: Pagination, flag: HasMoreFlag, *, is_full: bool
) -> NextPointer | None:
    """The cursor if an argument takes it, else the URL. A guess needs a page that may have a successor."""
    takes_cursor = pagination.convention in _BY_ARGUMENT and pagination.position is not None
    order = (pointers.cursor, pointers.url) if takes_cursor else (pointers.url, pointers.cursor)
    sure = [pointer for pointer in order if pointer is not None and pointer.is_sure]
    guessed = [pointer for pointer in order if pointer is not None and not pointer.is_sure]
    if takes_cursor and pointers.cursor in sure and pointers.cursor is not None:
        return pointers.cursor
    if sure:
        return sure[0]
    return guessed[0] if guessed and (is_full or flag.has_more is True) else None


def _address_of(
    pointer: NextPointer, result: CallResult, pagination: Pagination, size: int | None
) -> PageAddress | None:
    if pointer.kind is not PaginationStyle.CURSOR:
        url = absolute_url(str(pointer.value), result.location)
        if (own := _cursor_of_other_host(url, result.location, pagination)) is not None:
            return PageAddress(own | _size_argument(pagination, size))
        excluded = (pagination.position, *pagination.other_hidden)
        positions = frozenset(plain(name.rpartition("/")[2]) for name in excluded if name)
        return PageAddress(url=with_request_parameters(url, result.location, excluded=positions))
    if pagination.convention not in _BY_ARGUMENT or pagination.position is None:
        return None
    arguments = {pagination.position: pointer.value}
    if pagination.next_operation is not None:
        return PageAddress(arguments, operation=pagination.next_operation)
    return PageAddress(arguments | _size_argument(pagination, size))


def _cursor_of_other_host(url: str, location: str, pagination: Pagination) -> dict[str, Json] | None:
    """The cursor in a URL of another host, by which a service behind a proxy knows itself.

    That host is not requested: the cursor goes into the argument that takes it.
    """
    base, position = request_url(location), pagination.position
    if pagination.convention not in _BY_ARGUMENT or position is None or base is None or is_same_host(url, base):
        return None
    known = {plain(position), plain(position.rpartition("/")[2])}
    return next(
        ({position: value} for name, value in query_params(url).items() if plain(name) in known and value), None
    )


def _by_key(records: Sequence[Json], pagination: Pagination, *, flag: bool | None, request: PageRequest) -> NextPage:
    """The page after the last record.

    Only an empty page, or one that repeats the key of the request, is certainly an end: a short one may have been cut
    by the server. After a full page whose records have no key there is more, but no address.
    """
    position = pagination.position or ""
    key = next_key(records, pagination)
    before = request.address.arguments.get(position) if request.address else None
    if not records or (key is not None and key == before and len(records) == 1):
        return NextPage(None, has_more=False, kind=PaginationStyle.KEYSET)
    if key is None or key == before:
        is_full = request.size is None or len(records) >= request.size
        return NextPage(None, has_more=True if flag is None and is_full else flag, kind=PaginationStyle.KEYSET)
    return NextPage(
        PageAddress({position: key} | _size_argument(pagination, request.size)),
        has_more=flag,
        kind=PaginationStyle.KEYSET,
    )


def _size_argument(pagination: Pagination, size: int | None) -> dict[str, Json]:
    return {pagination.size: size} if pagination.size and size is not None else {}
