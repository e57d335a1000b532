"""Whether further pages follow, by what a response says in so many words.

Knows flags, page numbers and counts of what is left. Knows no marker: a flag says whether, never where.
"""

from dataclasses import dataclass

from adapters.base import CallResult, Convention, Pagination
from adapters.paging import names, vocabulary
from adapters.paging.envelope import Envelope, Member, as_count, first_count, first_flag
from adapters.paging.totals import content_range

_PARTIAL_CONTENT = 206
_NEXT_PAGE = names.words("next_page next_page_number next_offset")
_FIRST_PAGES = (-1, 0, 1, "0", "1")
_OWN_PLACE = frozenset("current actual aktuelle this no nr num number index".split())


@dataclass(frozen=True, slots=True)
class Flag:
    """`has_more` is None where nothing is said; `is_sure` False where it rests on words in a name."""

    has_more: bool | None
    is_sure: bool = True


def read_flag(result: CallResult, envelope: Envelope, pagination: Pagination, *, n_records: int) -> Flag:
    """What flags say, else the range, else page numbers, else words."""
    for has_more in (_told(envelope), _by_range(result, pagination), _by_pages(envelope, pagination)):
        if has_more is not None:
            return Flag(has_more)
    if pagination.convention is Convention.SINGLE and _is_first_of_several(envelope, n_records):
        return Flag(has_more=True)
    return Flag(_by_words(envelope), is_sure=False)


def has_previous(envelope: Envelope, *, relations: frozenset[str]) -> bool | None:
    """Whether a page says that there is one before it; `relations` are those of its links."""
    flag = first_flag(envelope.named(names.PREVIOUS_FLAGS))
    if flag is not None:
        return flag
    is_first = first_flag(envelope.named(names.FIRST_FLAGS))
    if is_first is not None:
        return not is_first
    if relations:
        return bool(relations & {"prev", "previous"})
    marks = list(envelope.values(names.PREVIOUS_MARKS))
    return any(bool(mark) for mark in marks) if marks else None


def _told(envelope: Envelope) -> bool | None:
    for header in envelope.headers:
        if header.plain in _NEXT_PAGE and (not header.value or as_count(header.value)):
            return bool(header.value)
    for member in envelope.named(names.MORE_FLAGS, is_anywhere=True):
        if (flag := first_flag((member,))) is not None:
            return flag
        if (count := as_count(member.value)) is not None:
            return count > 0
    last = first_flag(envelope.named(names.LAST_FLAGS))
    return None if last is None else not last


def _by_range(result: CallResult, pagination: Pagination) -> bool | None:
    """By `Content-Range`; an answer without one that is no partial one is everything there is."""
    if pagination.convention is not Convention.RANGE:
        return None
    ranged = content_range(result.headers)
    if ranged is None:
        return None if result.status is None else result.status == _PARTIAL_CONTENT
    if ranged.total is None or ranged.last is None:
        return False if ranged.total == 0 else None
    return ranged.last + 1 < ranged.total


def _by_pages(envelope: Envelope, pagination: Pagination) -> bool | None:
    """Whether the page's own number is below the number of pages.

    That is never an end: a number of pages is advice like any total, and some servers count the page that they tell
    otherwise than the page that they are asked for.
    """
    if pagination.convention is not Convention.PAGE:
        return None
    page, pages = envelope.integer(names.PAGE_POSITIONS), envelope.integer(names.TOTAL_PAGES)
    is_below = page is not None and pages is not None and page + 1 - pagination.first < pages
    return True if is_below else None


def _is_first_of_several(envelope: Envelope, n_records: int) -> bool:
    """Whether a list for which no page was asked calls itself the first of several pages.

    A number of pages alone may be a fact, as of a book: the list's own place or its length has to stand beside it.
    """
    around = (*envelope.near, *envelope.far, *envelope.headers)
    pages = [one for one in around if one.plain in names.TOTAL_PAGES or vocabulary.says_pages(one.name)]
    others = [one for one in around if one not in pages]
    is_place = any(_says_page(one) and one.value in _FIRST_PAGES for one in others)
    is_length = any(one.plain in names.SIZES and as_count(one.value) == n_records for one in others)
    return any((as_count(one.value) or 0) > 1 for one in pages) and n_records > 0 and (is_place or is_length)


def _says_page(member: Member) -> bool:
    own = vocabulary.words_of(member.name)
    return member.plain in names.PAGE_POSITIONS or bool(own & vocabulary.PAGE and own <= vocabulary.PAGE | _OWN_PLACE)


def _by_words(envelope: Envelope) -> bool | None:
    for member in envelope.saying(vocabulary.says_more):
        more = bool(member.value) if member.value in (0, 1) else first_flag((member,))
        if more is not None:
            return more
    last = first_flag(envelope.saying(vocabulary.says_last, is_anywhere=False))
    if last is not None:
        return not last
    left = first_count(envelope.saying(vocabulary.says_remaining))
    return None if left is None else left > 0
