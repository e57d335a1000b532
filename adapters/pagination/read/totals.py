"""Read the total: how many records there are, as far as a response says.

A total is advice: one that the same page contradicts, or that calls itself an estimate, is reported but counts as
unknown. A count that equals the number of records on the page may be the page's own, and is a total only for a tool
without pagination.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from adapters.base import CallResult, Json, Pagination, PaginationStyle
from adapters.pagination.read.envelope import EnvelopeMember, ResponseEnvelope, as_count, first_count
from adapters.pagination.read.links import (
    absolute_url,
    find_link,
    link_url,
    link_with_relation,
    parse_links,
    query_params,
)
from adapters.pagination.read.records import value_at
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary.members import plain, words

_RANGE = re.compile(r"^\s*(?:([\w-]+)[ =])?\s*(?:(\d+)-(\d+)|\*)\s*/\s*(\d+|\*)\s*$")
_LOWER_BOUND = frozenset({"gte", "gt", "at_least", "lower_bound", "minimum"})
_ROUGH = frozenset({"approximate", "approx", "estimate", "estimated"})
_VALUES = ("value", "count", "total", "number", "n")
_RELATIONS = words("relation total_relation count_relation total_hits_relation hits_relation total_type count_type")
_FILTERED = "filtered"
"""If there is also a total of all records, the one of the matching records is used."""
_LAST_URLS = words("last last_url last_link last_page_url last_page last_href")


class Certainty(StrEnum):
    """How reliable a total is."""

    EXACT = "exact"
    AT_LEAST = "at_least"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Total:
    """A total and how sure it is."""

    value: int | None
    certainty: Certainty


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What is known about a page apart from its envelope. `size` is the requested one, if any.

    `next_url` is the URL of the next page, `has_more` what the page says about further ones, `is_first` whether it is
    the first page. `nouns` are words that the records may be called by.
    """

    n_records: int
    pagination: Pagination
    size: int | None
    next_url: str | None = None
    has_more: bool | None = None
    is_first: bool = True
    nouns: frozenset[str] = frozenset()

    @property
    def is_paged(self) -> bool:
        """Whether there may be further pages."""
        return self.pagination != Pagination()


@dataclass(frozen=True, slots=True)
class ContentRange:
    """A `Content-Range` of records: first and last (None: an empty page), the total if given, and the unit."""

    first: int | None
    last: int | None
    total: int | None
    unit: str | None = None


NO_TOTAL = Total(None, Certainty.UNKNOWN)


def read_total(result: CallResult, envelope: ResponseEnvelope, page: PageFacts) -> Total:
    """The total that a page announces."""
    total = next(iter(_announced_totals(result, envelope, page)), None)
    if total is None or total.value is None:
        return NO_TOTAL
    is_short = total.value < page.n_records or (page.has_more is True and total.value <= page.n_records)
    return Total(total.value, Certainty.UNKNOWN) if is_short else total


def _announced_totals(result: CallResult, envelope: ResponseEnvelope, page: PageFacts) -> Iterator[Total]:
    """All totals of the response, the most reliable first."""
    if page.pagination.total_path:
        yield from _at_path(result, page.pagination.total_path)
    yield from _by_total_name(envelope, page)
    yield from _from_headers(result.headers, envelope, page.nouns)
    yield from _by_count_name(envelope, page)
    yield from _from_last_link(result, envelope, page)
    yield from _from_pages(envelope, page)
    yield from _from_remaining(envelope, page)


def total_by_any_name(envelope: ResponseEnvelope) -> Total | None:
    """A total under any name, for responses that hold figures and no records."""
    counts = (envelope.named(vocabulary.WEAK_TOTALS), envelope.matching(vocabulary.is_count_name))
    called = frozenset(word for member in envelope.near for word in vocabulary.nouns_of(member.name))
    figures = PageFacts(n_records=0, pagination=Pagination(), size=None, nouns=called)
    found = next(
        (total for total in _by_total_name(envelope, figures) if total.certainty is not Certainty.UNKNOWN), None
    )
    weak = next((count for members in counts if (count := first_count(members)) is not None), None)
    return found or (None if weak is None else Total(weak, Certainty.EXACT))


def _at_path(result: CallResult, path: str) -> Iterator[Total]:
    value = value_at(result.payload, path)[1]
    if isinstance(value, list):
        value = len(value)
    if (count := as_count(value)) is not None:
        yield Total(count, Certainty.EXACT)


def _by_total_name(envelope: ResponseEnvelope, page: PageFacts) -> Iterator[Total]:
    """By a name of the table, else by words. A total known by words alone is dropped if the page contradicts it."""
    doubt = _certainty_beside(envelope)
    named = envelope.named(vocabulary.TOTALS, is_anywhere=True)
    for member in sorted(named, key=lambda one: _FILTERED not in vocabulary.words_of(one.name)):
        if (total := _total_of(member, doubt)) is not None:
            yield total
    for member in envelope.matching(vocabulary.is_total_name):
        total = _total_of(member, doubt) if _is_of(page, member) else None
        if total is not None and total.value is not None and total.value > (page.n_records if page.is_paged else -1):
            yield total


def _total_of(member: EnvelopeMember, doubt: Certainty | None) -> Total | None:
    value, certainty = member.value, doubt or Certainty.EXACT
    if vocabulary.is_estimate_name(member.name):
        certainty = Certainty.UNKNOWN
    if isinstance(value, dict):
        certainty = _certainty_of(value.get("relation")) or certainty
        value = next((value[name] for name in _VALUES if name in value), None)
    count = as_count(value)
    return None if count is None else Total(count, certainty)


def _certainty_beside(envelope: ResponseEnvelope) -> Certainty | None:
    """What the response says about the certainty of its total: a lower bound, or an estimate."""
    for member in envelope.named(_RELATIONS):
        if (certainty := _certainty_of(member.value)) is not None:
            return certainty
    admits = any(member.value is True for member in envelope.matching(vocabulary.is_estimate_name))
    return Certainty.UNKNOWN if admits else None


def _certainty_of(relation: Json) -> Certainty | None:
    text = str(relation).lower()
    if text in _LOWER_BOUND:
        return Certainty.AT_LEAST
    return Certainty.UNKNOWN if text in _ROUGH else None


def _from_headers(headers: Mapping[str, str], envelope: ResponseEnvelope, nouns: frozenset[str]) -> Iterator[Total]:
    for name in vocabulary.TOTAL_HEADERS:
        if (count := as_count(headers.get(name, "").strip())) is not None:
            yield Total(count, Certainty.EXACT)
    ranged = parse_content_range(headers)
    if ranged is not None and ranged.total is not None:
        yield Total(ranged.total, Certainty.EXACT)
    for member in envelope.headers:
        is_said = vocabulary.is_total_name(member.name) and vocabulary.is_of_records(member.name, nouns)
        is_total = member.plain in vocabulary.TOTALS or is_said
        if is_total and (count := as_count(member.value)) is not None:
            yield Total(count, Certainty.UNKNOWN if vocabulary.is_estimate_name(member.name) else Certainty.EXACT)


def parse_content_range(headers: Mapping[str, str]) -> ContentRange | None:
    """The `Content-Range` of a response, unless it counts bytes."""
    found = _RANGE.match(headers.get("content-range", ""))
    if found is None or found.group(1) == "bytes":
        return None
    unit, first, last, total = found.groups()
    return ContentRange(as_count(first), as_count(last), as_count(total), unit)


def _by_count_name(envelope: ResponseEnvelope, page: PageFacts) -> Iterator[Total]:
    counts = (m for m in envelope.matching(vocabulary.is_count_name, is_anywhere=False) if _is_of(page, m))
    for members in (envelope.named(vocabulary.WEAK_TOTALS), counts):
        count = first_count(members)
        if count is not None and not (page.is_paged and count == page.n_records):
            yield Total(count, Certainty.EXACT)


def _is_of(page: PageFacts, member: EnvelopeMember) -> bool:
    return vocabulary.is_of_records(member.name, page.nouns)


def _from_pages(envelope: ResponseEnvelope, page: PageFacts) -> Iterator[Total]:
    """From the number of pages: exact if a page holds one record, else a lower bound."""
    named = (m for m in envelope.headers if m.plain in vocabulary.TOTAL_PAGES or vocabulary.is_page_count_name(m.name))
    pages = envelope.integer(vocabulary.TOTAL_PAGES)
    if pages is None:
        pages = first_count((*named, *envelope.matching(vocabulary.is_page_count_name)))
    if pages is not None:
        yield from _of_pages(pages, page)


def _of_pages(pages: int, page: PageFacts) -> Iterator[Total]:
    n_records, size = page.n_records, page.size
    if n_records == 0 or pages == 0 or (size is not None and n_records > size):
        return
    if n_records == 1 and size == 1:
        yield Total(pages, Certainty.EXACT)
        return
    least = (pages - 1) * n_records + 1 if n_records == size else pages
    yield Total(max(n_records, least), Certainty.AT_LEAST)


def _from_last_link(result: CallResult, envelope: ResponseEnvelope, page: PageFacts) -> Iterator[Total]:
    """From the last page's URL: if pages hold one record, its position is the total."""
    link = find_link(parse_links(result.headers.get("link", "")), "last")
    last = link.url if link else _last_url(envelope)
    if last is None:
        return
    query = query_params(absolute_url(last, result.location))
    own = page.pagination
    known = plain(own.position) if own.position else None
    position = next((as_count(value) for name, value in query.items() if plain(name) == known), None)
    if position is not None and own.convention is PaginationStyle.PAGE:
        yield from _of_pages(position + 1 - own.first, page)
    elif position is not None and own.convention is PaginationStyle.OFFSET and page.n_records:
        is_exact = page.n_records == page.size == 1
        yield Total(position - own.first + 1, Certainty.EXACT if is_exact else Certainty.AT_LEAST)
    elif position is None:
        yield from _by_both_links(result, query, page)


def _by_both_links(result: CallResult, last: Mapping[str, str], page: PageFacts) -> Iterator[Total]:
    """From the URLs of the next and the last page, regardless of the name of the position: the one number that differs.

    On a first page of one record the next position is one step from the first, both for offsets and page numbers.
    """
    if page.next_url is None or not page.is_first or not page.n_records == page.size == 1:
        return
    following = query_params(absolute_url(page.next_url, result.location))
    differing = [name for name, value in last.items() if name in following and following[name] != value]
    if len(differing) != 1:
        return
    end, begin = as_count(last[differing[0]]), as_count(following[differing[0]])
    if end is not None and begin is not None and end > begin:
        yield Total(end - begin + 2, Certainty.EXACT)


def _last_url(envelope: ResponseEnvelope) -> str | None:
    for member in envelope.named(_LAST_URLS):
        if (url := link_url(member.value)) is not None:
            return url
    for member in envelope.named(vocabulary.LINK_LISTS):
        if (url := link_url(link_with_relation(member.value, "last"))) is not None:
            return url
    return None


def _from_remaining(envelope: ResponseEnvelope, page: PageFacts) -> Iterator[Total]:
    """From the number of remaining records: a lower bound, since services call that figure an estimate."""
    left = first_count(envelope.matching(vocabulary.is_remaining_name))
    if left is not None and page.is_first and page.n_records:
        yield Total(page.n_records + left, Certainty.AT_LEAST)
