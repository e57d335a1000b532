"""One response, read: its records, what it says about the total and about the next page.

Knows how the parts fit together. A reading is advice about everything but its records.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from adapters.base import CallResult, Convention, Json, PageAddress, Pagination
from adapters.paging import names
from adapters.paging.envelope import Envelope, envelope_of
from adapters.paging.markers import read_next
from adapters.paging.records import Found, find_records, normal_path
from adapters.paging.totals import Certainty, read_total, total_in


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """What a page holds and says.

    `next` is the address that the response itself names (cursor, URL) or that follows from its last record (KEYSET);
    addressable conventions need none and compute theirs. With KEYSET, `next` beside `has_more` None is the usual case,
    and the walk ends at a page without `next`, which is an empty one. `has_more` is None where the response does not
    say. `total` with certainty UNKNOWN was announced and is contradicted by the page itself. `is_list` is False where
    one object was taken as one record. `position` is where the response says that it stands (offset or page number),
    `has_previous` whether there is a page before it. `kind` is the convention by which the response names its next
    page, where it does.
    """

    records: list[Json]
    records_path: str
    total: int | None = None
    certainty: Certainty = Certainty.UNKNOWN
    next: PageAddress | None = None
    has_more: bool | None = None
    tokens_estimation: int | None = None
    is_list: bool = True
    position: int | None = None
    has_previous: bool | None = None
    kind: Convention | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """An answer that holds figures in place of records. `records_path` is None where it does not tell."""

    total: int | None
    certainty: Certainty
    records_path: str | None
    tokens_estimation: int | None


def read_page(
    result: CallResult,
    pagination: Pagination,
    *,
    records_path: str | None = None,
    size: int | None = None,
    asked: PageAddress | None = None,
) -> PageReading:
    """Read one page. `records_path` is where earlier pages (or the document) had the records; `size` what was asked.

    `asked` is the page's own address: a marker that only repeats it names no next page.
    """
    found = find_records(result.payload, declared=records_path, is_paged=pagination != Pagination())
    envelope = envelope_of(result.payload, found)
    total = read_total(envelope, result.headers, n_records=len(found.records), pagination=pagination, size=size)
    following = read_next(result, envelope, pagination, records=found.records, size=size, asked=asked)
    return PageReading(
        records=found.records,
        records_path=found.path,
        total=total.value,
        certainty=total.certainty,
        next=following.address,
        has_more=following.has_more,
        tokens_estimation=envelope.integer(names.TOKENS),
        is_list=found.is_list,
        position=_position(envelope, pagination),
        has_previous=_has_previous(envelope),
        kind=following.kind,
    )


def read_metadata(result: CallResult) -> Metadata | None:
    """The figures of a metadata answer; None where the server sent records, or nothing that can be read."""
    if not isinstance(result.payload, dict):
        return None
    envelope = envelope_of(result.payload, Found([], "", is_list=True))
    path = next((value for value in envelope.values(names.DATA_PATHS) if isinstance(value, str)), None)
    has_records = find_records(result.payload).is_list
    total = total_in(envelope)
    if (path is None and has_records) or total is None:
        return None
    return Metadata(
        total=total.value,
        certainty=total.certainty,
        records_path=None if path is None else normal_path(path),
        tokens_estimation=envelope.integer(names.TOKENS),
    )


def fingerprint(records: Sequence[Json]) -> str:
    """A digest of a page's records, equal for equal records in equal order; tells a repeated page from a new one."""
    try:
        text = orjson.dumps(records, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        text = repr(records).encode()
    return hashlib.sha256(text).hexdigest()


def _position(envelope: Envelope, pagination: Pagination) -> int | None:
    match pagination.convention:
        case Convention.PAGE:
            return envelope.integer(names.PAGE_POSITIONS)
        case Convention.OFFSET:
            return envelope.integer(names.OFFSET_POSITIONS)
        case _:
            return None


def _has_previous(envelope: Envelope) -> bool | None:
    flag = envelope.flag(names.PREVIOUS_FLAGS)
    if flag is not None:
        return flag
    is_first = envelope.flag(names.FIRST_FLAGS)
    if is_first is not None:
        return not is_first
    marks = list(envelope.values(names.PREVIOUS_MARKS))
    return any(bool(mark) for mark in marks) if marks else None
