"""Find what in a response names the next page: a cursor or a URL.

It looks by the tables of names first, then by words in names, by the name of the argument that takes the cursor, and
last by structure: the only opaque value next to the records, the only URL that continues the request's own. A pointer
found in one of the later ways is a guess (`is_sure` is False): its path is fixed with the first page
(`Pagination.next_path`), so that no other value is taken for it on a later page.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from urllib.parse import urlencode

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle
from adapters.pagination.detect.parameters import leaf
from adapters.pagination.read.envelope import HEADER, EnvelopeMember, ResponseEnvelope, as_count, element_text
from adapters.pagination.read.links import (
    absolute_url,
    find_link,
    is_same_path,
    link_url,
    link_with_relation,
    load_more_link,
    looks_like_url,
    parse_links,
    query_params,
    request_url,
)
from adapters.pagination.read.records import are_links, value_at
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary.members import plain

_BY_ARGUMENT = frozenset({PaginationStyle.CURSOR, PaginationStyle.KEYSET})
_IN_URL = "url:"
_ELEMENTS = vocabulary.words("resumption_token")
"""Elements that hold a cursor and figures about the list (OAI-PMH): none of the figures is a cursor."""
_OPAQUE = re.compile(r"(?=.*[\d=_+/.:-]|.*[a-z].*[A-Z]|.*[A-Z].*[a-z])[^\s<>\"{}]{6,4096}", re.DOTALL)
_NO_CURSOR = re.compile(r"\d{4}-\d\d-\d\d|v?\d+(?:\.\d+)+$|[\w.+-]+@[\w-]+\.|[a-z]+/[a-z.+-]+$", re.IGNORECASE)
_MAX_ARGUMENTS = 6
_POSITION_WORDS = ("continue", "cursor", "offset", "start", "page", "skip", "token", "after", "marker", "from")
_NO_CURSOR_WORDS = frozenset(
    "request trace correlation etag hash checksum digest session signature version time date timestamp created updated "
    "modified generated self status message type kind locale currency name title description query sort order lang "
    "language server host user account transaction api id uuid guid revision sha md5 prev previous before first "
    "back start access auth refresh csrf secret".split()
)


@dataclass(frozen=True, slots=True)
class NextPointer:
    """A URL or a cursor, its path (None: the `Link` header), and whether it is certain."""

    value: Json
    kind: PaginationStyle
    path: str | None = None
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class NextPointers:
    """The pointers of a page. `is_ended` is True if a pointer is there and empty."""

    url: NextPointer | None = None
    cursor: NextPointer | None = None
    is_ended: bool = False


def read_pointers(
    result: CallResult, envelope: ResponseEnvelope, pagination: Pagination, *, address: PageAddress | None
) -> NextPointers:
    """The pointers of a page; `address` is the page's own, which is not a next one."""
    if pagination.next_path:
        return _at_known_path(result, envelope, pagination.next_path)
    links = parse_links(result.headers.get("link", ""))
    if (link := find_link(links, "next")) is not None:
        is_empty = link.parameters.get("results", "").lower() == "false"
        return NextPointers(None if is_empty else NextPointer(link.url, PaginationStyle.LINK_HEADER), is_ended=is_empty)
    url = next(_urls(result, envelope, takes_position=pagination.position is not None), None)
    cursor = _member_for(next(_cursors(result, envelope, pagination, address), None), pagination.position)
    if url is None and cursor is None and not pagination.is_addressable:
        url = _only_later_url(result, envelope)
    is_paged_by_links = any(link.relations & {"first", "prev", "previous", "last"} for link in links)
    is_ended = url is None and cursor is None and (is_paged_by_links or _has_empty_pointer(envelope))
    return NextPointers(url, cursor, is_ended)


def _member_for(pointer: NextPointer | None, position: str | None) -> NextPointer | None:
    """The member of a compound cursor that has the name of the position, if there is one."""
    members = pointer.value if pointer is not None and isinstance(pointer.value, dict) else {}
    for name, value in members.items():
        if pointer is not None and plain(name) == leaf(position or "") and _is_cursor(value):
            return replace(pointer, value=value, path=f"{pointer.path}.{name}" if pointer.path else None)
    return pointer


def path_in_next_url(name: str) -> str:
    """The path of a cursor that is given only inside the URL of the next page, by the name of its argument."""
    return f"{_IN_URL}{name.rpartition('/')[2]}"


def _from_next_url(result: CallResult, envelope: ResponseEnvelope, path: str) -> NextPointers:
    link = find_link(parse_links(result.headers.get("link", "")), "next")
    urls = (
        [link.url]
        if link is not None
        else [str(pointer.value) for pointer in _urls(result, envelope) if pointer.is_sure]
    )
    name = plain(path.removeprefix(_IN_URL))
    query = query_params(absolute_url(urls[0], result.location)) if urls else {}
    value = next((value for key, value in query.items() if plain(key) == name), None)
    return (
        NextPointers(cursor=NextPointer(value, PaginationStyle.CURSOR, path))
        if _is_cursor(value)
        else NextPointers(is_ended=True)
    )


def _at_known_path(result: CallResult, envelope: ResponseEnvelope, path: str) -> NextPointers:
    """The pointer at a known path; if that is missing altogether, any certain pointer counts."""
    if path.startswith(_IN_URL):
        return _from_next_url(result, envelope, path)
    if path.startswith(HEADER):
        value: Json = result.headers.get(path.removeprefix(HEADER))
        exists = value is not None
    else:
        exists, value = value_at(result.payload, path)
        value = (
            element_text(value)
            if not isinstance(value, list)
            else link_with_relation(value, "next") or load_more_link(value) or value
        )
    if not exists:
        url = next((pointer for pointer in _urls(result, envelope) if pointer.is_sure), None)
        cursor = next(_cursors_by_table(result, envelope), None)
        return NextPointers(url, cursor, is_ended=url is None and cursor is None)
    url_text = link_url(value)
    if url_text is not None and (isinstance(value, dict) or looks_like_url(url_text)):
        return NextPointers(url=NextPointer(url_text, PaginationStyle.NEXT_URL, path))
    if _is_cursor(value) or _is_compound(value):
        return NextPointers(cursor=NextPointer(value, PaginationStyle.CURSOR, path))
    return NextPointers(is_ended=True)


def _urls(result: CallResult, envelope: ResponseEnvelope, *, takes_position: bool = True) -> Iterator[NextPointer]:
    yield from _certain_urls(result, envelope)
    for member in envelope.named(vocabulary.NEXT_ANY | vocabulary.NEXT_CURSORS, is_anywhere=True):
        if not takes_position and (url := _url_from_arguments(result, member.value)) is not None:
            yield NextPointer(url, PaginationStyle.NEXT_URL, member.path)
    yield from _guessed_urls(envelope)


def _certain_urls(result: CallResult, envelope: ResponseEnvelope) -> Iterator[NextPointer]:
    for name in vocabulary.NEXT_HEADERS:
        if header := result.headers.get(name):
            yield NextPointer(header, PaginationStyle.NEXT_URL)
    named = ((member, link_url(member.value)) for member in envelope.named(vocabulary.NEXT_URLS, is_anywhere=True))
    unclear = ((member, _unambiguous_url(member)) for member in envelope.named(vocabulary.NEXT_ANY, is_anywhere=True))
    lists = (member for member in envelope.near if member.plain in vocabulary.LINK_LISTS or _holds_links(member.value))
    listed = ((member, link_url(link_with_relation(member.value, "next"))) for member in lists)
    for member, url in chain(named, unclear, listed):
        if url is not None:
            yield NextPointer(url, PaginationStyle.NEXT_URL, member.path)


def _guessed_urls(envelope: ResponseEnvelope) -> Iterator[NextPointer]:
    for member in envelope.near:
        if (url := link_url(load_more_link(member.value))) is not None and looks_like_url(url):
            yield NextPointer(url, PaginationStyle.NEXT_URL, member.path, is_sure=False)
    for member in chain(envelope.matching(vocabulary.is_next_name), _headers_with(envelope, vocabulary.NEXT)):
        if (url := _unambiguous_url(member)) is not None:
            yield NextPointer(url, PaginationStyle.NEXT_URL, member.path, is_sure=False)


def _url_from_arguments(result: CallResult, value: Json) -> str | None:
    """The request's own URL with the arguments of the next page, if a response to a GET returns them as an object.

    One of them has to name a position: an object under such a name may be a record.
    """
    own = request_url(result.location) if result.location.startswith("GET ") else None
    if (
        own is None
        or not isinstance(value, dict)
        or not 0 < len(value) <= _MAX_ARGUMENTS
        or link_url(value) is not None
    ):
        return None
    is_flat = all(isinstance(one, str | int) and not isinstance(one, bool) for one in value.values())
    if not is_flat or not any(stem in name.lower() for name in value for stem in _POSITION_WORDS):
        return None
    query = {name: one for name, one in query_params(own).items() if one != "***"}
    return f"?{urlencode(query | {name: str(one) for name, one in value.items()})}"


def _holds_links(value: Json) -> bool:
    return isinstance(value, list) and are_links(value)


def _unambiguous_url(member: EnvelopeMember) -> str | None:
    """The URL in a member whose name alone does not say that it is one."""
    url = link_url(member.value)
    return url if url is not None and (isinstance(member.value, dict) or looks_like_url(url)) else None


def _headers_with(envelope: ResponseEnvelope, words: frozenset[str]) -> Iterator[EnvelopeMember]:
    for member in envelope.headers:
        own = vocabulary.words_of(member.name)
        if own & words and not own & vocabulary.BACK and member.path != f"{HEADER}link":
            yield member


def _cursors(
    result: CallResult, envelope: ResponseEnvelope, pagination: Pagination, address: PageAddress | None
) -> Iterator[NextPointer]:
    """Cursors, the most certain first. Guesses count only if an argument takes a cursor."""
    yield from _cursors_by_table(result, envelope)
    if any(envelope.named(_ELEMENTS, is_anywhere=True)):
        return
    if pagination.convention not in _BY_ARGUMENT or pagination.position is None:
        yield from _guesses(envelope.matching(vocabulary.is_next_name), _SentValues())
        return
    sent = _sent_values(result, pagination, address)
    position = pagination.position.rpartition("/")[2]
    yield from _compound_cursors(envelope, position)
    for says in (vocabulary.is_next_name, _is_like(position), vocabulary.is_cursor_name):
        yield from _guesses(envelope.matching(says), sent)
    yield from _guesses(_headers_with(envelope, vocabulary.NEXT | vocabulary.CURSOR), sent)
    if pagination.convention is PaginationStyle.CURSOR:
        yield from _only_opaque_value(envelope, sent)


def _is_like(position: str) -> Callable[[str], bool]:
    """Whether a name is that of the argument, a usual one, or shares a word with the argument's."""

    def says(name: str) -> bool:
        is_back = bool(vocabulary.words_of(name) & vocabulary.BACK)
        is_known = plain(name) == plain(position) or plain(name) in vocabulary.WEAK_CURSORS
        return is_known or (vocabulary.shares_word(name, position) and not is_back)

    return says


def _cursors_by_table(result: CallResult, envelope: ResponseEnvelope) -> Iterator[NextPointer]:
    for name in vocabulary.CURSOR_HEADERS:
        if value := result.headers.get(name):
            yield NextPointer(value, PaginationStyle.CURSOR, HEADER + name)
    for header in envelope.headers:
        if header.plain in vocabulary.NEXT_CURSORS and header.value and header.path.startswith(HEADER):
            yield NextPointer(header.value, PaginationStyle.CURSOR, header.path)
    for member in envelope.named(vocabulary.NEXT_CURSORS, is_anywhere=True):
        if _is_cursor(member.value) or _is_compound(member.value):
            yield NextPointer(member.value, PaginationStyle.CURSOR, member.path)
    for member in envelope.named(vocabulary.NEXT_ANY):
        if _is_cursor(member.value):
            yield NextPointer(member.value, PaginationStyle.CURSOR, member.path)


@dataclass(frozen=True, slots=True)
class _SentValues:
    """The values of the request: a response that repeats them names no next page by that.

    A number may be equal by chance, as the cursor 1 after a page of one: it is a repetition only under a similar name.
    """

    position: frozenset[str] = frozenset()
    others: tuple[tuple[str, str], ...] = ()

    def has(self, member: EnvelopeMember) -> bool:
        """Whether a member of the response repeats the request."""
        text = str(member.value)
        if text in self.position:
            return True
        names_of = [name for name, value in self.others if value == text]
        is_number = as_count(member.value) is not None
        return any(not is_number or vocabulary.shares_word(member.name, name) for name in names_of)


def _compound_cursors(envelope: ResponseEnvelope, position: str) -> Iterator[NextPointer]:
    """A cursor of several members under the name of the argument that takes it."""
    for member in envelope.named(frozenset({plain(position)})):
        if _is_compound(member.value) and not isinstance(member.value, list):
            yield NextPointer(member.value, PaginationStyle.CURSOR, member.path, is_sure=False)


def _guesses(members: Iterator[EnvelopeMember], sent: _SentValues) -> Iterator[NextPointer]:
    for member in members:
        if _is_cursor(member.value) and not sent.has(member):
            yield NextPointer(member.value, PaginationStyle.CURSOR, member.path, is_sure=False)


def _only_opaque_value(envelope: ResponseEnvelope, sent: _SentValues) -> Iterator[NextPointer]:
    """The only opaque value next to the records, regardless of its name."""
    found = [
        member
        for member in (*envelope.near, *envelope.far)
        if isinstance(member.value, str) and _is_opaque(member) and not sent.has(member)
    ]
    if len({member.value for member in found}) == 1:
        yield NextPointer(found[0].value, PaginationStyle.CURSOR, found[0].path, is_sure=False)


def _is_opaque(member: EnvelopeMember) -> bool:
    is_side = member.plain in vocabulary.SIDE_VALUES or vocabulary.words_of(member.name) & _NO_CURSOR_WORDS
    text = member.value
    return not is_side and not looks_like_url(text) and bool(_OPAQUE.fullmatch(text)) and not _NO_CURSOR.match(text)


def _only_later_url(result: CallResult, envelope: ResponseEnvelope) -> NextPointer | None:
    """The only URL with the request's own path and another query without a smaller number."""
    own = request_url(result.location)
    if own is None:
        return None
    found: dict[str, NextPointer] = {}
    for member in (*envelope.near, *envelope.far):
        url = link_url(member.value)
        is_other = vocabulary.words_of(member.name) & (vocabulary.BACK | vocabulary.LAST)
        if url is None or not looks_like_url(url) or is_other:
            continue
        other = absolute_url(url, result.location)
        if is_same_path(other, own) and _is_later_page(query_params(own), query_params(other)):
            found.setdefault(other, NextPointer(url, PaginationStyle.NEXT_URL, member.path, is_sure=False))
    return next(iter(found.values())) if len(found) == 1 else None


def _is_later_page(own: dict[str, str], other: dict[str, str]) -> bool:
    changed = {name: value for name, value in other.items() if own.get(name) != value and value != "***"}
    moved = {name: value for name, value in changed.items() if plain(name) not in vocabulary.SIZES}
    steps = [(as_count(own.get(name, "0")), as_count(value)) for name, value in moved.items()]
    is_back = any(before is not None and after is not None and after <= before for before, after in steps)
    return bool(moved) and not is_back


def _sent_values(result: CallResult, pagination: Pagination, address: PageAddress | None) -> _SentValues:
    """The position of the request, and the values of its URL."""
    position = pagination.position or ""
    at = [str(address.arguments[position])] if address is not None and position in address.arguments else []
    own = request_url(result.location)
    return _SentValues(frozenset(at), () if own is None else tuple(query_params(own).items()))


def _is_cursor(value: Json) -> bool:
    """Text that is not a URL, or a number above zero; some services end with zero or less."""
    if isinstance(value, str):
        return bool(value) and not looks_like_url(value) and value.lower() not in ("0", "-1", "null", "none")
    return bool(as_count(value))


def _is_compound(value: Json) -> bool:
    """Whether a value is a cursor of several members; figures about the list (`completeListSize`) are not."""
    is_figures = isinstance(value, dict) and any(plain(name) in vocabulary.TOTALS for name in value)
    return isinstance(value, dict | list) and bool(value) and not is_figures


def _has_empty_pointer(envelope: ResponseEnvelope) -> bool:
    table = vocabulary.NEXT_CURSORS | vocabulary.NEXT_URLS | vocabulary.NEXT_ANY
    return any(value is None or value in ("", False, 0, "0", "null") for value in envelope.values(table))
