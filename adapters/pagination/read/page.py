"""One response, read: its records, what it says about the total and about the next page.

Knows how the parts fit together. A reading is advice about everything but its records.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle
from adapters.pagination.read.envelope import ResponseEnvelope, as_count, envelope_of
from adapters.pagination.read.links import parse_links
from adapters.pagination.read.next_page import PageRequest, has_previous, read_next
from adapters.pagination.read.records import FoundRecords, find_records, normal_path
from adapters.pagination.read.text_signals import failure_at_end, failure_in, is_markup, says_cut
from adapters.pagination.read.totals import Certainty, PageFacts, Total, content_range, read_total, total_in
from adapters.pagination.vocabulary import members as names
from adapters.pagination.vocabulary.members import nouns_of, plain

_MARKUP = (
    "the answer is XML or HTML, which is not taken apart: all its records are one text; ask for JSON where the service "
    "has it (an argument such as 'format', or the header 'Accept: application/json' in the source's settings)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """What a page holds and says.

    `next` is the address that the response itself names (cursor, URL) or that follows from its last record (KEYSET);
    addressable conventions need none and compute theirs. With KEYSET, `next` beside `has_more` None is the usual case,
    and the walk ends at a page without `next`, which is an empty one. `has_more` is None where the response does not
    say. `total` with certainty UNKNOWN was announced and is contradicted by the page itself, or an estimate. `is_list`
    is False where one object was taken as one record. `position` is where the response says that it stands (offset or
    page number; `is_own_position` where it calls that as the request does), `has_previous` whether there is a page
    before it. `kind` is the convention by which the response names its next page, where it does; `marker` the dotted
    path of what names it, where that was guessed: a walk keeps to it (`Pagination.next_path`), lest another value be
    taken for it on a later page. `is_silent` where nothing was said of a next page by a tool whose pages name one: an
    end, unless the marker was not understood. `flaw` is that of the response: records may be missing from this page.
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
    kind: PaginationStyle | None = None
    marker: str | None = None
    is_own_position: bool = False
    is_silent: bool = False
    flaw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMetadata:
    """An answer that holds figures in place of records. `records_path` is None where it does not tell."""

    total: int | None
    certainty: Certainty
    records_path: str | None
    tokens_estimation: int | None


_NOTES = names.words("warning warnings message messages note notes notice notices info remark remarks hint")
_SHOWN = 120
_OK = 200


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
    is_paged, noun = pagination != Pagination(), plain(_path(result).rstrip("/").rpartition("/")[2])
    found = find_records(result.payload, declared=records_path, is_paged=is_paged, noun=noun)
    envelope = envelope_of(result.payload, found, result.headers)
    following = read_next(
        result, envelope, pagination, records=found.records, asked=PageRequest(address=asked, size=size)
    )
    is_first = _is_first(asked, pagination)
    seen = PageFacts(
        n_records=len(found.records),
        pagination=pagination,
        size=size,
        next_url=following.address.url if following.address else None,
        has_more=following.has_more,
        is_first=is_first,
        nouns=_nouns(result, found),
    )
    total = read_total(result, envelope, seen)
    is_last = following.address is None and not pagination.is_addressable
    relations = frozenset(rel for link in parse_links(result.headers.get("link", "")) for rel in link.relations)
    return PageReading(
        records=found.records,
        records_path=found.path,
        total=total.value,
        certainty=total.certainty,
        next=following.address,
        has_more=following.has_more,
        tokens_estimation=envelope.integer(names.TOKENS),
        is_list=found.is_list,
        position=_position(result, envelope, pagination),
        has_previous=has_previous(envelope, relations=relations),
        kind=following.kind,
        marker=following.marker,
        is_silent=following.is_silent,
        is_own_position=pagination.position is not None
        and any(envelope.named(frozenset({plain(pagination.position.rpartition("/")[2])}))),
        flaw=result.flaw
        or ("" if is_first else _flaw_of_nothing(result))
        or _flaw_of_text(result)
        or _flaw_of_failure(result, found)
        or (_flaw_of_note(envelope) if is_last else ""),
    )


def read_metadata(result: CallResult) -> PageMetadata | None:
    """The figures of a metadata answer; None where the server sent records, or nothing that can be read."""
    if not isinstance(result.payload, dict):
        return _bare_count(result)
    envelope = envelope_of(result.payload, FoundRecords([], "", is_list=True), result.headers)
    path = next((value for value in envelope.values(names.DATA_PATHS) if isinstance(value, str)), None)
    inside = find_records(result.payload)
    has_records = inside.is_list and bool(inside.records)
    total = total_in(envelope) or _only_figure(result.payload)
    if (path is None and has_records) or total is None:
        return None
    return PageMetadata(
        total=total.value,
        certainty=total.certainty,
        records_path=None if path is None else normal_path(path),
        tokens_estimation=envelope.integer(names.TOKENS),
    )


def read_count(result: CallResult) -> Total | None:
    """The total in the answer of an operation that counts, by any name or as a bare number; None without one."""
    if result.payload is None or isinstance(result.payload, list):
        return read_headers(result.headers)
    figures = read_metadata(result)
    if figures is not None and figures.total is not None:
        return Total(figures.total, figures.certainty)
    return read_headers(result.headers)


def read_headers(headers: Mapping[str, str]) -> Total | None:
    """The total that headers alone tell, as in the answer to a HEAD."""
    result = CallResult(payload=None, location="", headers=headers)
    seen = PageFacts(n_records=0, pagination=Pagination(), size=None)
    total = read_total(result, envelope_of(None, FoundRecords([], "", is_list=True), headers), seen)
    return None if total.value is None or total.certainty is Certainty.UNKNOWN else total


def _only_figure(payload: dict[str, Json], depth: int = 3) -> Total | None:
    """The one whole number of an answer that holds nothing else: a total, whatever it is called."""
    numbers = [value for value in payload.values() if as_count(value) is not None]
    inner = [value for value in payload.values() if isinstance(value, dict)]
    if len(numbers) == 1 and not inner and len(payload) == 1:
        return Total(as_count(numbers[0]), Certainty.EXACT)
    return _only_figure(inner[0], depth - 1) if len(inner) == 1 == len(payload) and depth > 1 else None


def _bare_count(result: CallResult) -> PageMetadata | None:
    count = as_count(result.payload.strip() if isinstance(result.payload, str) else result.payload)
    if count is None:
        return None
    return PageMetadata(total=count, certainty=Certainty.EXACT, records_path=None, tokens_estimation=None)


def fingerprint(records: Sequence[Json]) -> str:
    """A digest of a page's records, equal for equal records in equal order; tells a repeated page from a new one."""
    try:
        text = orjson.dumps(records, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        text = repr(records).encode()
    return hashlib.sha256(text).hexdigest()


def _flaw_of_nothing(result: CallResult) -> str:
    """Why a body of no bytes is no empty page, where JSON was said and a status that goes with a body."""
    kind = result.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or kind.endswith("+json")
    is_nothing = result.status == _OK and result.payload is None and not result.n_bytes
    return "the answer has no body, and says that it is JSON" if is_json and is_nothing else ""


def _flaw_of_text(result: CallResult) -> str:
    """Why the text of an answer over HTTP is no data. The tools of other sources may be asked for a page as such."""
    is_text = isinstance(result.payload, str) and result.status is not None
    return _MARKUP if is_text and is_markup(str(result.payload)) else ""


def _flaw_of_failure(result: CallResult, found: FoundRecords) -> str:
    """Why an answer that holds no records, or is itself the one, is no data but the message of a failure.

    Among records the last one may be such a message, where lines were still being written when the service failed.
    """
    return failure_at_end(found.records) if found.is_list and found.records else failure_in(result.payload)


def _flaw_of_note(envelope: ResponseEnvelope) -> str:
    """What a page, behind which nothing can be asked for, says of records that it or the whole list leaves out."""
    texts = [text for member in envelope.named(_NOTES) for text in _texts(member.value)]
    said = next((text for text in texts if says_cut(text)), None)
    return "" if said is None else f"the answer says of itself: {said[:_SHOWN]}"


def _texts(value: Json) -> list[str]:
    """The texts of a note: one, or several, or objects with a message each."""
    several = value if isinstance(value, list) else [value]
    inner = [text for one in several for text in (one.values() if isinstance(one, dict) else [one])]
    return [text for text in inner if isinstance(text, str)]


def _position(result: CallResult, envelope: ResponseEnvelope, pagination: Pagination) -> int | None:
    match pagination.convention:
        case PaginationStyle.PAGE:
            return envelope.integer(names.PAGE_POSITIONS)
        case PaginationStyle.OFFSET:
            return envelope.integer(names.OFFSET_POSITIONS)
        case PaginationStyle.RANGE:
            ranged = content_range(result.headers)
            return None if ranged is None else ranged.first
        case _:
            return None


def _nouns(result: CallResult, found: FoundRecords) -> frozenset[str]:
    """What the records may be called: by their place, and by the path or the tool that was asked."""
    return nouns_of(found.path.rpartition(".")[2], _path(result))


def _path(result: CallResult) -> str:
    return urlsplit(result.location.rpartition(" ")[2]).path


def _is_first(asked: PageAddress | None, pagination: Pagination) -> bool:
    """Whether a page is the first of its walk, as far as its address tells."""
    if asked is None:
        return True
    if asked.url is not None:
        return False
    at = asked.arguments.get(pagination.position or "")
    return at is None or at == pagination.first
