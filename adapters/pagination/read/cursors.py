"""What in a response names the page after it: a URL, or a cursor.

Knows where such markers stand, by the tables of names first, then by words inside names, by the name of the argument
that takes the cursor, and last by structure: the only opaque value beside the records, the only URL that leads on from
the request's own. A marker found in one of the later ways is a guess (`is_sure` False): whoever walks fixes its place
(`Pagination.next_path`) with the first page, so that no other value is taken for it later on.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from urllib.parse import urlencode

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle
from adapters.pagination.detect.parameters import leaf
from adapters.pagination.read.envelope import HEADER, EnvelopeMember, ResponseEnvelope, as_count, text_in
from adapters.pagination.read.links import (
    absolute,
    is_same_place,
    leading_on,
    link_with,
    looks_like_url,
    parse_links,
    query_of,
    related,
    target,
    url_in,
)
from adapters.pagination.read.records import are_links, at_path
from adapters.pagination.vocabulary import members as names
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary.members import plain

_BY_ARGUMENT = frozenset({PaginationStyle.CURSOR, PaginationStyle.KEYSET})
_IN_URL = "url:"
_ELEMENTS = names.words("resumption_token")
"""Where a marker is an element with figures about the list (OAI-PMH): none of those is a marker."""
_OPAQUE = re.compile(r"(?=.*[\d=_+/.:-]|.*[a-z].*[A-Z]|.*[A-Z].*[a-z])[^\s<>\"{}]{6,4096}", re.DOTALL)
_NO_CURSOR = re.compile(r"\d{4}-\d\d-\d\d|v?\d+(?:\.\d+)+$|[\w.+-]+@[\w-]+\.|[a-z]+/[a-z.+-]+$", re.IGNORECASE)
_FEW_ARGUMENTS = 6
_PLACES = ("continue", "cursor", "offset", "start", "page", "skip", "token", "after", "marker", "from")
_NO_CURSOR_WORDS = frozenset(
    "request trace correlation etag hash checksum digest session signature version time date timestamp created updated "
    "modified generated self status message type kind locale currency name title description query sort order lang "
    "language server host user account transaction api id uuid guid revision sha md5 prev previous before first "
    "back start access auth refresh csrf secret".split()
)


@dataclass(frozen=True, slots=True)
class NextPointer:
    """A marker: a URL or a cursor, the place where it stands (None: the `Link` header), and whether that is sure."""

    value: Json
    kind: PaginationStyle
    path: str | None = None
    is_sure: bool = True


@dataclass(frozen=True, slots=True)
class NextPointers:
    """The markers of a page. `is_ended` is True where a marker's place is there and empty."""

    url: NextPointer | None = None
    cursor: NextPointer | None = None
    is_ended: bool = False


def marks_of(
    result: CallResult, envelope: ResponseEnvelope, pagination: Pagination, *, asked: PageAddress | None
) -> NextPointers:
    """The markers of a page; `asked` is the page's own address, which is no next one."""
    if pagination.next_path:
        return _at_known_place(result, envelope, pagination.next_path)
    links = parse_links(result.headers.get("link", ""))
    if (link := link_with(links, "next")) is not None:
        is_empty = link.parameters.get("results", "").lower() == "false"
        return NextPointers(None if is_empty else NextPointer(link.url, PaginationStyle.LINK_HEADER), is_ended=is_empty)
    url = next(_urls(result, envelope, takes_position=pagination.position is not None), None)
    cursor = _as_asked(next(_cursors(result, envelope, pagination, asked), None), pagination.position)
    if url is None and cursor is None and not pagination.is_addressable:
        url = _url_by_structure(result, envelope)
    is_paged_by_links = any(link.relations & {"first", "prev", "previous", "last"} for link in links)
    is_ended = url is None and cursor is None and (is_paged_by_links or _has_empty_marker(envelope))
    return NextPointers(url, cursor, is_ended)


def _as_asked(mark: NextPointer | None, position: str | None) -> NextPointer | None:
    """A cursor of several members by that member of it which has the name of the position; else as it is."""
    members = mark.value if mark is not None and isinstance(mark.value, dict) else {}
    for name, value in members.items():
        if mark is not None and plain(name) == leaf(position or "") and _is_cursor(value):
            return replace(mark, value=value, path=f"{mark.path}.{name}" if mark.path else None)
    return mark


def in_next_url(name: str) -> str:
    """The place of a cursor that is told inside the URL of the next page only, by the name of its argument."""
    return f"{_IN_URL}{name.rpartition('/')[2]}"


def _out_of_url(result: CallResult, envelope: ResponseEnvelope, path: str) -> NextPointers:
    link = link_with(parse_links(result.headers.get("link", "")), "next")
    urls = [link.url] if link is not None else [str(mark.value) for mark in _urls(result, envelope) if mark.is_sure]
    name = plain(path.removeprefix(_IN_URL))
    query = query_of(absolute(urls[0], result.location)) if urls else {}
    value = next((value for key, value in query.items() if plain(key) == name), None)
    return (
        NextPointers(cursor=NextPointer(value, PaginationStyle.CURSOR, path))
        if _is_cursor(value)
        else NextPointers(is_ended=True)
    )


def _at_known_place(result: CallResult, envelope: ResponseEnvelope, path: str) -> NextPointers:
    """What stands at the known place; where that is missing altogether, what certainly is a marker counts as well."""
    if path.startswith(_IN_URL):
        return _out_of_url(result, envelope, path)
    if path.startswith(HEADER):
        value: Json = result.headers.get(path.removeprefix(HEADER))
        exists = value is not None
    else:
        exists, value = at_path(result.payload, path)
        value = text_in(value) if not isinstance(value, list) else related(value, "next") or leading_on(value) or value
    if not exists:
        url = next((mark for mark in _urls(result, envelope) if mark.is_sure), None)
        cursor = next(_known_cursors(result, envelope), None)
        return NextPointers(url, cursor, is_ended=url is None and cursor is None)
    url_text = target(value)
    if url_text is not None and (isinstance(value, dict) or looks_like_url(url_text)):
        return NextPointers(url=NextPointer(url_text, PaginationStyle.NEXT_URL, path))
    if _is_cursor(value) or _is_compound(value):
        return NextPointers(cursor=NextPointer(value, PaginationStyle.CURSOR, path))
    return NextPointers(is_ended=True)


def _urls(result: CallResult, envelope: ResponseEnvelope, *, takes_position: bool = True) -> Iterator[NextPointer]:
    yield from _sure_urls(result, envelope)
    for member in envelope.named(names.NEXT_ANY | names.NEXT_CURSORS, is_anywhere=True):
        if not takes_position and (url := _url_of_arguments(result, member.value)) is not None:
            yield NextPointer(url, PaginationStyle.NEXT_URL, member.path)
    yield from _guessed_urls(envelope)


def _sure_urls(result: CallResult, envelope: ResponseEnvelope) -> Iterator[NextPointer]:
    for name in names.NEXT_HEADERS:
        if header := result.headers.get(name):
            yield NextPointer(header, PaginationStyle.NEXT_URL)
    named = ((member, target(member.value)) for member in envelope.named(names.NEXT_URLS, is_anywhere=True))
    unclear = ((member, _clear_target(member)) for member in envelope.named(names.NEXT_ANY, is_anywhere=True))
    lists = (member for member in envelope.near if member.plain in names.LINK_LISTS or _holds_links(member.value))
    listed = ((member, target(related(member.value, "next"))) for member in lists)
    for member, url in chain(named, unclear, listed):
        if url is not None:
            yield NextPointer(url, PaginationStyle.NEXT_URL, member.path)


def _guessed_urls(envelope: ResponseEnvelope) -> Iterator[NextPointer]:
    for member in envelope.near:
        if (url := target(leading_on(member.value))) is not None and looks_like_url(url):
            yield NextPointer(url, PaginationStyle.NEXT_URL, member.path, is_sure=False)
    for member in chain(envelope.saying(vocabulary.says_next), _headers(envelope, vocabulary.NEXT)):
        if (url := _clear_target(member)) is not None:
            yield NextPointer(url, PaginationStyle.NEXT_URL, member.path, is_sure=False)


def _url_of_arguments(result: CallResult, value: Json) -> str | None:
    """The request's own URL with the arguments of the next page, where an answer to a GET hands them out as an object.

    One of them has to speak of a place to go on from: an object under such a name may be a record, the next one.
    """
    own = url_in(result.location) if result.location.startswith("GET ") else None
    if own is None or not isinstance(value, dict) or not 0 < len(value) <= _FEW_ARGUMENTS or target(value) is not None:
        return None
    is_flat = all(isinstance(one, str | int) and not isinstance(one, bool) for one in value.values())
    if not is_flat or not any(stem in name.lower() for name in value for stem in _PLACES):
        return None
    query = {name: one for name, one in query_of(own).items() if one != "***"}
    return f"?{urlencode(query | {name: str(one) for name, one in value.items()})}"


def _holds_links(value: Json) -> bool:
    return isinstance(value, list) and are_links(value)


def _clear_target(member: EnvelopeMember) -> str | None:
    """The URL in a member whose name alone does not say that it is one."""
    url = target(member.value)
    return url if url is not None and (isinstance(member.value, dict) or looks_like_url(url)) else None


def _headers(envelope: ResponseEnvelope, words: frozenset[str]) -> Iterator[EnvelopeMember]:
    for member in envelope.headers:
        own = vocabulary.words_of(member.name)
        if own & words and not own & vocabulary.BACK and member.path != f"{HEADER}link":
            yield member


def _cursors(
    result: CallResult, envelope: ResponseEnvelope, pagination: Pagination, asked: PageAddress | None
) -> Iterator[NextPointer]:
    """Cursors, the surest first; what is only alike counts where an argument waits for a cursor."""
    yield from _known_cursors(result, envelope)
    if any(envelope.named(_ELEMENTS, is_anywhere=True)):
        return
    if pagination.convention not in _BY_ARGUMENT or pagination.position is None:
        yield from _guesses(envelope.saying(vocabulary.says_next), _SentValues())
        return
    sent = _sent(result, pagination, asked)
    position = pagination.position.rpartition("/")[2]
    yield from _handed_back_whole(envelope, position)
    for says in (vocabulary.says_next, _like(position), vocabulary.says_cursor):
        yield from _guesses(envelope.saying(says), sent)
    yield from _guesses(_headers(envelope, vocabulary.NEXT | vocabulary.CURSOR), sent)
    if pagination.convention is PaginationStyle.CURSOR:
        yield from _by_structure(envelope, sent)


def _like(position: str) -> Callable[[str], bool]:
    """Whether a name is that of the argument, a usual one, or shares a word with the argument's."""

    def says(name: str) -> bool:
        is_back = bool(vocabulary.words_of(name) & vocabulary.BACK)
        is_known = plain(name) == plain(position) or plain(name) in names.WEAK_CURSORS
        return is_known or (vocabulary.is_alike(name, position) and not is_back)

    return says


def _known_cursors(result: CallResult, envelope: ResponseEnvelope) -> Iterator[NextPointer]:
    for name in names.CURSOR_HEADERS:
        if value := result.headers.get(name):
            yield NextPointer(value, PaginationStyle.CURSOR, HEADER + name)
    for header in envelope.headers:
        if header.plain in names.NEXT_CURSORS and header.value and header.path.startswith(HEADER):
            yield NextPointer(header.value, PaginationStyle.CURSOR, header.path)
    for member in envelope.named(names.NEXT_CURSORS, is_anywhere=True):
        if _is_cursor(member.value) or _is_compound(member.value):
            yield NextPointer(member.value, PaginationStyle.CURSOR, member.path)
    for member in envelope.named(names.NEXT_ANY):
        if _is_cursor(member.value):
            yield NextPointer(member.value, PaginationStyle.CURSOR, member.path)


@dataclass(frozen=True, slots=True)
class _SentValues:
    """What the request itself said: a response that repeats it names no next page by that.

    A number may be equal by chance, as the cursor 1 behind a page of one: it is repeated only under a like name.
    """

    position: frozenset[str] = frozenset()
    others: tuple[tuple[str, str], ...] = ()

    def has(self, member: EnvelopeMember) -> bool:
        """Whether a member of the response is one of the request."""
        text = str(member.value)
        if text in self.position:
            return True
        names_of = [name for name, value in self.others if value == text]
        is_number = as_count(member.value) is not None
        return any(not is_number or vocabulary.is_alike(member.name, name) for name in names_of)


def _handed_back_whole(envelope: ResponseEnvelope, position: str) -> Iterator[NextPointer]:
    """A cursor of several members under the very name of the argument that takes it."""
    for member in envelope.named(frozenset({plain(position)})):
        if _is_compound(member.value) and not isinstance(member.value, list):
            yield NextPointer(member.value, PaginationStyle.CURSOR, member.path, is_sure=False)


def _guesses(members: Iterator[EnvelopeMember], sent: _SentValues) -> Iterator[NextPointer]:
    for member in members:
        if _is_cursor(member.value) and not sent.has(member):
            yield NextPointer(member.value, PaginationStyle.CURSOR, member.path, is_sure=False)


def _by_structure(envelope: ResponseEnvelope, sent: _SentValues) -> Iterator[NextPointer]:
    """The only opaque value beside the records, whatever it is called."""
    found = [
        member
        for member in (*envelope.near, *envelope.far)
        if isinstance(member.value, str) and _is_opaque(member) and not sent.has(member)
    ]
    if len({member.value for member in found}) == 1:
        yield NextPointer(found[0].value, PaginationStyle.CURSOR, found[0].path, is_sure=False)


def _is_opaque(member: EnvelopeMember) -> bool:
    is_side = member.plain in names.SIDE_VALUES or vocabulary.words_of(member.name) & _NO_CURSOR_WORDS
    text = member.value
    return not is_side and not looks_like_url(text) and bool(_OPAQUE.fullmatch(text)) and not _NO_CURSOR.match(text)


def _url_by_structure(result: CallResult, envelope: ResponseEnvelope) -> NextPointer | None:
    """The only URL that leads on from the request's own: the same path, another query, and no smaller number in it."""
    own = url_in(result.location)
    if own is None:
        return None
    found: dict[str, NextPointer] = {}
    for member in (*envelope.near, *envelope.far):
        url = target(member.value)
        is_other = vocabulary.words_of(member.name) & (vocabulary.BACK | vocabulary.LAST)
        if url is None or not looks_like_url(url) or is_other:
            continue
        there = absolute(url, result.location)
        if is_same_place(there, own) and _leads_on(query_of(own), query_of(there)):
            found.setdefault(there, NextPointer(url, PaginationStyle.NEXT_URL, member.path, is_sure=False))
    return next(iter(found.values())) if len(found) == 1 else None


def _leads_on(own: dict[str, str], there: dict[str, str]) -> bool:
    changed = {name: value for name, value in there.items() if own.get(name) != value and value != "***"}
    moved = {name: value for name, value in changed.items() if plain(name) not in names.SIZES}
    steps = [(as_count(own.get(name, "0")), as_count(value)) for name, value in moved.items()]
    is_back = any(before is not None and after is not None and after <= before for before, after in steps)
    return bool(moved) and not is_back


def _sent(result: CallResult, pagination: Pagination, asked: PageAddress | None) -> _SentValues:
    """The position that was asked for, and whatever the URL says."""
    position = pagination.position or ""
    at = [str(asked.arguments[position])] if asked is not None and position in asked.arguments else []
    own = url_in(result.location)
    return _SentValues(frozenset(at), () if own is None else tuple(query_of(own).items()))


def _is_cursor(value: Json) -> bool:
    """Text that is no URL, or a number above zero: zero and less are how some say that the walk is over."""
    if isinstance(value, str):
        return bool(value) and not looks_like_url(value) and value.lower() not in ("0", "-1", "null", "none")
    return bool(as_count(value))


def _is_compound(value: Json) -> bool:
    """Whether a value is a cursor of several members; figures about the list (`completeListSize`) are none."""
    is_figures = isinstance(value, dict) and any(plain(name) in names.TOTALS for name in value)
    return isinstance(value, dict | list) and bool(value) and not is_figures


def _has_empty_marker(envelope: ResponseEnvelope) -> bool:
    table = names.NEXT_CURSORS | names.NEXT_URLS | names.NEXT_ANY
    return any(value is None or value in ("", False, 0, "0", "null") for value in envelope.values(table))
