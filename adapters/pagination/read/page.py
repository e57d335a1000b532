"""Read one response: its records, the total, and the next page."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle
from adapters.pagination.read.envelope import ResponseEnvelope, as_count, read_envelope
from adapters.pagination.read.links import parse_links
from adapters.pagination.read.next_page import PageRequest, has_previous, read_next
from adapters.pagination.read.records import FoundRecords, find_records, normalize_path
from adapters.pagination.read.text_signals import error_in_last_record, error_in_payload, is_markup, is_truncation_note
from adapters.pagination.read.totals import (
    Certainty,
    PageFacts,
    Total,
    parse_content_range,
    read_total,
    total_by_any_name,
)
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary.members import nouns_of, plain

_MARKUP = (
    "the response is XML or HTML, which is not parsed: its records are one text; request JSON if the service supports "
    "it (an argument such as 'format', or the header 'Accept: application/json' in the source's settings)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReading:
    """What a page holds and says.

    `next` is the address that the response names (cursor, URL) or that follows from its last record (KEYSET); pages
    with addresses of their own need none. With KEYSET, `has_more` is usually None together with `next`, and the last
    page is an empty one. `has_more` is None if the response does not say. `total` with certainty UNKNOWN was announced
    and is an estimate or contradicted by the page. `is_list` is False if one object was taken as one record. `position`
    is the offset or page number that the response reports (`is_own_position`: under the name of the request's
    argument), `has_previous` whether there is a page before. `kind` is the style by which the response names its next
    page; `pointer_path` the dotted path of that cursor or URL if it was guessed: the next pages are read there
    (`Pagination.next_path`). `is_end_unconfirmed`: the response of a tool whose pages name the next one says nothing
    about it. `flaw` says why records may be missing.
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
    pointer_path: str | None = None
    is_own_position: bool = False
    is_end_unconfirmed: bool = False
    flaw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMetadata:
    """A response with figures instead of records. `records_path` is None if it does not say."""

    total: int | None
    certainty: Certainty
    records_path: str | None
    tokens_estimation: int | None


_NOTES = vocabulary.words("warning warnings message messages note notes notice notices info remark remarks hint")
_MAX_SHOWN_CHARS = 120
_OK = 200


def read_page(
    result: CallResult,
    pagination: Pagination,
    *,
    records_path: str | None = None,
    size: int | None = None,
    address: PageAddress | None = None,
) -> PageReading:
    """Read one page. `records_path` is where earlier pages (or the document) have the records.

    `size` is the requested size, `address` that of the page: a pointer that only repeats it names no next page.
    """
    is_paged, noun = pagination != Pagination(), plain(_path(result).rstrip("/").rpartition("/")[2])
    found = find_records(result.payload, declared=records_path, is_paged=is_paged, noun=noun)
    envelope = read_envelope(result.payload, found, result.headers)
    next_page = read_next(
        result, envelope, pagination, records=found.records, request=PageRequest(address=address, size=size)
    )
    is_first = _is_first(address, pagination)
    facts = PageFacts(
        n_records=len(found.records),
        pagination=pagination,
        size=size,
        next_url=next_page.address.url if next_page.address else None,
        has_more=next_page.has_more,
        is_first=is_first,
        nouns=nouns_of(found.path.rpartition(".")[2], _path(result)),
    )
    total = read_total(result, envelope, facts)
    is_last = next_page.address is None and not pagination.is_addressable
    relations = frozenset(rel for link in parse_links(result.headers.get("link", "")) for rel in link.relations)
    return PageReading(
        records=found.records,
        records_path=found.path,
        total=total.value,
        certainty=total.certainty,
        next=next_page.address,
        has_more=next_page.has_more,
        tokens_estimation=envelope.integer(vocabulary.TOKENS),
        is_list=found.is_list,
        position=_position(result, envelope, pagination),
        has_previous=has_previous(envelope, relations=relations),
        kind=next_page.kind,
        pointer_path=next_page.pointer_path,
        is_end_unconfirmed=next_page.is_end_unconfirmed,
        is_own_position=pagination.position is not None
        and any(envelope.named(frozenset({plain(pagination.position.rpartition("/")[2])}))),
        flaw=result.flaw
        or ("" if is_first else _flaw_of_empty_body(result))
        or _flaw_of_text(result)
        or _flaw_of_error(result, found)
        or (_flaw_of_note(envelope) if is_last else ""),
    )


def read_metadata(result: CallResult) -> PageMetadata | None:
    """The figures of a metadata response; None if the server sent records, or nothing that can be read."""
    if not isinstance(result.payload, dict):
        return _bare_count(result)
    envelope = read_envelope(result.payload, FoundRecords([], "", is_list=True), result.headers)
    path = next((value for value in envelope.values(vocabulary.DATA_PATHS) if isinstance(value, str)), None)
    inside = find_records(result.payload)
    has_records = inside.is_list and bool(inside.records)
    total = total_by_any_name(envelope) or _only_figure(result.payload)
    if (path is None and has_records) or total is None:
        return None
    return PageMetadata(
        total=total.value,
        certainty=total.certainty,
        records_path=None if path is None else normalize_path(path),
        tokens_estimation=envelope.integer(vocabulary.TOKENS),
    )


def read_count(result: CallResult) -> Total | None:
    """The total in the response of an operation that counts, under any name or as a bare number."""
    if result.payload is None or isinstance(result.payload, list):
        return read_headers(result.headers)
    figures = read_metadata(result)
    if figures is not None and figures.total is not None:
        return Total(figures.total, figures.certainty)
    return read_headers(result.headers)


def read_headers(headers: Mapping[str, str]) -> Total | None:
    """The total in the headers alone, as in the response to HEAD."""
    result = CallResult(payload=None, location="", headers=headers)
    facts = PageFacts(n_records=0, pagination=Pagination(), size=None)
    total = read_total(result, read_envelope(None, FoundRecords([], "", is_list=True), headers), facts)
    return None if total.value is None or total.certainty is Certainty.UNKNOWN else total


def _only_figure(payload: dict[str, Json], depth: int = 3) -> Total | None:
    """The only integer of a response that holds nothing else, regardless of its name."""
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
    """A digest of a page's records in their order, to recognize a repeated page."""
    try:
        text = orjson.dumps(records, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        text = repr(records).encode()
    return hashlib.sha256(text).hexdigest()


def _flaw_of_empty_body(result: CallResult) -> str:
    """Why an empty body is not an empty page: the response says that it is JSON, with a status that has a body."""
    kind = result.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or kind.endswith("+json")
    is_nothing = result.status == _OK and result.payload is None and not result.n_bytes
    return "the response has no body, but its content type is JSON" if is_json and is_nothing else ""


def _flaw_of_text(result: CallResult) -> str:
    """Why the text of a response over HTTP is not data. Tools of other sources may return text on purpose."""
    is_text = isinstance(result.payload, str) and result.status is not None
    return _MARKUP if is_text and is_markup(str(result.payload)) else ""


def _flaw_of_error(result: CallResult, found: FoundRecords) -> str:
    """The error message that a response, or the last of its records, is instead of data."""
    return error_in_last_record(found.records) if found.is_list and found.records else error_in_payload(result.payload)


def _flaw_of_note(envelope: ResponseEnvelope) -> str:
    """A note of the last page that says that records are left out."""
    texts = [text for member in envelope.named(_NOTES) for text in _texts(member.value)]
    note = next((text for text in texts if is_truncation_note(text)), None)
    return "" if note is None else f"note in the response: {note[:_MAX_SHOWN_CHARS]}"


def _texts(value: Json) -> list[str]:
    """The texts of a note: one, several, or objects with a message each."""
    several = value if isinstance(value, list) else [value]
    inner = [text for one in several for text in (one.values() if isinstance(one, dict) else [one])]
    return [text for text in inner if isinstance(text, str)]


def _position(result: CallResult, envelope: ResponseEnvelope, pagination: Pagination) -> int | None:
    match pagination.convention:
        case PaginationStyle.PAGE:
            return envelope.integer(vocabulary.PAGE_POSITIONS)
        case PaginationStyle.OFFSET:
            return envelope.integer(vocabulary.OFFSET_POSITIONS)
        case PaginationStyle.RANGE:
            ranged = parse_content_range(result.headers)
            return None if ranged is None else ranged.first
        case _:
            return None


def _path(result: CallResult) -> str:
    return urlsplit(result.location.rpartition(" ")[2]).path


def _is_first(address: PageAddress | None, pagination: Pagination) -> bool:
    """Whether a page is the first one, by its address."""
    if address is None:
        return True
    if address.url is not None:
        return False
    at = address.arguments.get(pagination.position or "")
    return at is None or at == pagination.first
