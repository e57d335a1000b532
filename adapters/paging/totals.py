"""How many records there are, as far as a response says.

Knows spellings of totals in bodies and headers. A total is advice: one that the same page contradicts is kept, so that
it can be told, but counts as unknown. A count that equals the number of records on the page may be the page's own, and
is a total only where the tool does not page.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from adapters.base import Convention, Pagination
from adapters.paging import names
from adapters.paging.envelope import Envelope, as_count
from adapters.paging.links import link_with, parse_links, query_integer

_CONTENT_RANGE = re.compile(r"^\s*(?:[\w-]+[ =])?\s*(?:\d+-\d+|\*)\s*/\s*(\d+|\*)\s*$")
_LOWER_BOUND = frozenset({"gte", "gt", "at_least", "approximate", "lower_bound"})


class Certainty(StrEnum):
    """How far a total can be relied on."""

    EXACT = "exact"
    AT_LEAST = "at_least"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Total:
    """A total and how sure it is."""

    value: int | None
    certainty: Certainty


NO_TOTAL = Total(None, Certainty.UNKNOWN)


def read_total(
    envelope: Envelope, headers: Mapping[str, str], *, n_records: int, pagination: Pagination, size: int | None
) -> Total:
    """The total that a page announces; `n_records` are on it, `size` were asked for."""
    total = (
        _strong(envelope)
        or _from_headers(headers)
        or _weak(envelope, n_records, is_paged=pagination != Pagination())
        or _from_pages(envelope, headers, n_records, pagination=pagination, size=size)
    )
    if total is None:
        return NO_TOTAL
    is_contradicted = total.value is not None and total.value < n_records
    return Total(total.value, Certainty.UNKNOWN) if is_contradicted else total


def total_in(envelope: Envelope) -> Total | None:
    """A total by any name: for answers that hold figures and no records."""
    weak = envelope.integer(names.WEAK_TOTALS)
    return _strong(envelope) or (None if weak is None else Total(weak, Certainty.EXACT))


def _strong(envelope: Envelope) -> Total | None:
    for value in envelope.values(names.TOTALS):
        if isinstance(value, dict):
            count = as_count(value.get("value"))
            certainty = Certainty.AT_LEAST if value.get("relation") in _LOWER_BOUND else Certainty.EXACT
        else:
            count, certainty = as_count(value), Certainty.EXACT
        if count is not None:
            return Total(count, certainty)
    return None


def _from_headers(headers: Mapping[str, str]) -> Total | None:
    for name in names.TOTAL_HEADERS:
        if (count := as_count(headers.get(name, "").strip())) is not None:
            return Total(count, Certainty.EXACT)
    ranged = _CONTENT_RANGE.match(headers.get("content-range", ""))
    count = as_count(ranged.group(1)) if ranged else None
    return None if count is None else Total(count, Certainty.EXACT)


def _weak(envelope: Envelope, n_records: int, *, is_paged: bool) -> Total | None:
    count = envelope.integer(names.WEAK_TOTALS)
    is_own = count == n_records and is_paged
    return None if count is None or is_own else Total(count, Certainty.EXACT)


def _from_pages(
    envelope: Envelope, headers: Mapping[str, str], n_records: int, *, pagination: Pagination, size: int | None
) -> Total | None:
    """From the number of pages: exact where a page holds one record, else a lower bound."""
    pages = envelope.integer(names.TOTAL_PAGES)
    if pages is None:
        pages = _last_page(headers, pagination)
    if pages is None or n_records == 0 or (size is not None and n_records > size):
        return None
    if n_records == 1 and size == 1:
        return Total(pages, Certainty.EXACT)
    least = (pages - 1) * n_records + 1 if n_records == size else pages
    return Total(max(n_records, least), Certainty.AT_LEAST)


def _last_page(headers: Mapping[str, str], pagination: Pagination) -> int | None:
    if pagination.convention is not Convention.PAGE or pagination.position is None:
        return None
    last = link_with(parse_links(headers.get("link", "")), "last")
    number = query_integer(last.url, pagination.position) if last else None
    return None if number is None else number + 1 - pagination.first
