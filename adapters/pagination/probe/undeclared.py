"""Arguments that no name explains: which of them may be part of pagination, and what a page with one of them proves.

Only the records count as proof: the same records, moved or shortened by as much as was requested.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from adapters.base import CallResult, Json, JsonObject
from adapters.pagination.detect.parameters import FlatParameter, flat_parameter, flatten_parameters
from adapters.pagination.read.envelope import HEADER, ResponseEnvelope, as_count, read_envelope
from adapters.pagination.read.links import looks_like_url
from adapters.pagination.read.next_page import key_path
from adapters.pagination.read.records import find_records, value_at
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.members import OFFSET_POSITIONS, PAGE_POSITIONS, SIZES, plain, words

TRIAL_VALUE = 2
"""The value sent in a numeric argument: it distinguishes pages from records, counted from 0 or from 1."""

_MAX_NUMBERS, _MAX_PAIRS = 4, 3
_NO_NUMBERS = frozenset(
    "id ids year month day hour minute second week age price cost amount rate lat lon lng latitude longitude radius "
    "width height version level score rating zoom depth timeout".split()
)
_NO_HEADERS = words(
    "content_length content_type date etag server connection last_modified vary cache_control age expires location "
    "set_cookie retry_after transfer_encoding strict_transport_security"
)


_PAGE, _NEXT_PAGES = "page", words("next_page")
_DIRECTIONS = frozenset("after before since last older newer marker".split())
_EARLIER = frozenset("before older until max to prior earlier lt".split())
_LATER = frozenset("after newer since min from later gt".split())
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d")
_ROWS = 3


class TrialOutcome(StrEnum):
    """What a page with `TRIAL_VALUE` in one argument shows, compared with the page without."""

    UNCHANGED = "unchanged"
    SIZE = "size"
    OFFSET = "offset"
    OFFSET_FROM_ONE = "offset_from_one"
    OTHER_RECORDS = "other_records"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class ArgumentValue:
    """An argument, and a value of the response to send in it: one from outside the records, or the key of a record.

    `path` is where the value is; `after` is the index of the record that has it, None for one outside the records.
    """

    argument: str
    path: str
    value: Json
    after: int | None = None


def compare_pages(first: Sequence[Json], page: Sequence[Json]) -> TrialOutcome:
    """Compare a page with the first one, which has more than `TRIAL_VALUE` + 1 records."""
    n = len(page)
    if n == TRIAL_VALUE and page == first[:TRIAL_VALUE]:
        return TrialOutcome.SIZE
    if page == first[:n] and n:
        return TrialOutcome.UNCHANGED
    for by, what in ((TRIAL_VALUE, TrialOutcome.OFFSET), (TRIAL_VALUE - 1, TrialOutcome.OFFSET_FROM_ONE)):
        overlap = first[by : by + n]
        if n > 1 and len(overlap) > 1 and page[: len(overlap)] == overlap:
            return what
    if page and not any(record in first for record in page):
        return TrialOutcome.OTHER_RECORDS
    return TrialOutcome.UNCLEAR


def continues_list(candidate: ArgumentValue, first: Sequence[Json], page: Sequence[Json], result: CallResult) -> bool:
    """Whether `page`, requested with the value, continues where the first page ends, or after the record of a key.

    The key is that of a record in the middle: only the records after it prove that it is not a filter. A cursor brings
    other records and another cursor; a value that is returned unchanged only repeats the request.
    """
    if candidate.after is not None:
        behind = first[candidate.after + 1 :]
        return len(behind) > 1 and page[: len(behind)] == behind[: len(page)] and len(page) > 1
    if compare_pages(first, page) is not TrialOutcome.OTHER_RECORDS or len(page) > len(first):
        return False
    if candidate.path.startswith(HEADER):
        return bool(result.headers.get(candidate.path.removeprefix(HEADER)) != candidate.value)
    return bool(value_at(result.payload, candidate.path)[1] != candidate.value)


def numeric_arguments(parameters: JsonObject, given: Mapping[str, Json], *, is_truncated: bool) -> tuple[str, ...]:
    """Unused arguments that may count records or pages: integers, or strings that may hold one.

    A string is tried only if there are no integers, and the response says that there is more.
    """
    unused = [one for one in _unused_arguments(parameters, given) if not one.is_date]
    candidates = [one for one in unused if not set(spelling.pieces(one.name)) & _NO_NUMBERS]
    integers = [one.name for one in candidates if "integer" in one.types and _allows(one, TRIAL_VALUE)]
    strings = [one.name for one in candidates if one.types == {"string"} and not one.schema.get("pattern")]
    return tuple((integers or (strings if is_truncated else []))[:_MAX_NUMBERS])


def echoed_names(result: CallResult, count: int) -> tuple[str, ...]:
    """The names that the response uses for its page size and position, as a request may spell them.

    A response with `current_page: 1` and `per_page: 25` next to 25 records usually accepts `page` and `per_page`, even
    if the document does not declare them.
    """
    envelope = read_envelope(result.payload, find_records(result.payload), result.headers)
    members = [(one.name, one.plain, as_count(one.value)) for one in (*envelope.near, *envelope.far)]
    sizes = [name for name, known, value in members if known in SIZES and value == count]
    offsets = [name for name, known, value in members if known in OFFSET_POSITIONS and value in (0, 1)]
    pages = [name for name, known, value in members if known in PAGE_POSITIONS and value in (0, 1)]
    pages += [_PAGE for _, known, value in members if known in _NEXT_PAGES and value in (1, TRIAL_VALUE)]
    names = [_PAGE if plain(name).startswith("current") else name for name in pages]
    return (*sizes[:1], *offsets[:1], *tuple(dict.fromkeys(names))[:2])


def echoed_numbers(parameters: JsonObject, given: Mapping[str, Json], result: CallResult) -> dict[str, int]:
    """Unused integer arguments that the response repeats under the same name next to its records."""
    envelope = read_envelope(result.payload, find_records(result.payload), result.headers)
    values = {one.plain: as_count(one.value) for one in (*envelope.far, *envelope.near)}
    unused = [one for one in _unused_arguments(parameters, given) if "integer" in one.types and not one.is_date]
    candidates = [one.name for one in unused if not set(spelling.pieces(one.name)) & _NO_NUMBERS]
    return {name: value for name in candidates if (value := values.get(plain(name.rpartition("/")[2]))) is not None}


def argument_values(
    parameters: JsonObject, given: Mapping[str, Json], result: CallResult, records: Sequence[Json]
) -> tuple[ArgumentValue, ...]:
    """Values of the response that may be a cursor or a key, each with an argument of a similar name."""
    envelope = read_envelope(result.payload, find_records(result.payload), result.headers)
    candidates = [
        one for one in _unused_arguments(parameters, given) if one.accepts_text or one.accepts_integer or one.is_date
    ]
    unused = [one for one in candidates if not spelling.is_no_cursor(one.name)]
    undated = [one for one in unused if not one.is_date]
    keys = _key_values([one for one in candidates if one in unused or _is_direction(one)], records)
    found = [*dict.fromkeys(_returned_values(undated, envelope)), *keys]
    return tuple(found[:_MAX_PAIRS])


def _unused_arguments(parameters: JsonObject, given: Mapping[str, Json]) -> Iterator[FlatParameter]:
    required = set(parameters.get("required") or ())
    schemas = {name: s for name, s in (parameters.get("properties") or {}).items() if isinstance(s, dict)}
    for name, schema in flatten_parameters(schemas).items():
        one = flat_parameter(name, schema)
        is_open = "object" not in one.types and "array" not in one.types and "boolean" not in one.types
        is_choice = bool(one.schema.get("enum")) or "const" in one.schema
        is_given = value_at(dict(given), name.replace("/", "."))[0]
        if is_open and not is_choice and not is_given and name.partition("/")[0] not in required:
            yield one


def _allows(one: FlatParameter, value: int) -> bool:
    lowest, highest = one.integer("minimum"), one.integer("maximum")
    return (-math.inf if lowest is None else lowest) <= value <= (math.inf if highest is None else highest)


def _returned_values(unused: Sequence[FlatParameter], envelope: ResponseEnvelope) -> Iterator[ArgumentValue]:
    members = [m for m in (*envelope.near, *envelope.far, *envelope.headers) if _may_be_cursor(m.value)]
    own = [m for m in members if not (m.path.startswith(HEADER) and m.plain in _NO_HEADERS)]
    for is_like in (_has_same_name, _has_similar_name, _has_next_name):
        for one in unused:
            name = _leaf(one.name)
            for member in own:
                is_number = as_count(member.value) is not None and not isinstance(member.value, str)
                if is_like(name, member.name) and (one.accepts_integer if is_number else one.accepts_text):
                    yield ArgumentValue(one.name, member.path, member.value)


def _may_be_cursor(value: Json) -> bool:
    if isinstance(value, str):
        return bool(value) and not looks_like_url(value)
    return bool(as_count(value))


def _has_same_name(name: str, other: str) -> bool:
    return bool(plain(name)) and plain(name) == plain(other)


def _has_similar_name(name: str, other: str) -> bool:
    """`X-Continue-From` and `Continue-Next`, `since` and `last_seq`: alike, but not equal."""
    if _has_same_name(name, other) or vocabulary.is_total_name(other):
        return False
    is_next = vocabulary.is_next_name(other) or plain(other).startswith("last")
    mine = vocabulary.words_of(name) & vocabulary.words_of(other) - vocabulary.VAGUE - {"x"}
    return bool(mine) or (is_next and spelling.pieces(name)[:1] in (("since",), ("from",), ("after",), ("start",)))


def _has_next_name(_name: str, other: str) -> bool:
    """`naechste` says next, regardless of the name of the argument."""
    return vocabulary.is_next_name(other)


def _key_values(unused: Sequence[FlatParameter], records: Sequence[Json]) -> Iterator[ArgumentValue]:
    middle = len(records) // 2
    record = records[middle] if records else None
    for one in unused:
        own = vocabulary.words_of(_leaf(one.name))
        if one.is_date:
            yield from _timestamp_values(one, records, middle)
            continue
        name = key_path(records, one.name) if len(own) > 1 or _is_direction(one) else None
        if (
            name is not None
            and isinstance(record, dict)
            and name in record
            and (_is_direction(one) or plain(name) in own)
        ):
            yield ArgumentValue(one.name, name, record[name], after=middle)


def _is_direction(one: FlatParameter) -> bool:
    """Whether its name is a direction and nothing else: `before` takes a key, if it is not a date."""
    return plain(_leaf(one.name)) in _DIRECTIONS


def _timestamp_values(one: FlatParameter, records: Sequence[Json], middle: int) -> Iterator[ArgumentValue]:
    """A timestamp to start before or after, and the member of the records that is ordered that way."""
    own = set(spelling.pieces(one.name))
    is_down, is_up = bool(own & _EARLIER), bool(own & _LATER)
    rows = [record for record in records if isinstance(record, dict)]
    if is_down is is_up or len(rows) < _ROWS or len(rows) < len(records):
        return
    for name in rows[0]:
        moments = [row.get(name) for row in rows]
        if all(isinstance(moment, str) and _TIMESTAMP.match(moment) for moment in moments):
            pairs_of = list(pairwise([str(moment) for moment in moments]))
            runs = all(a > b for a, b in pairs_of) if is_down else all(a < b for a, b in pairs_of)
            if runs:
                yield ArgumentValue(one.name, str(name), moments[middle], after=middle)


def _leaf(name: str) -> str:
    own = name.rpartition("/")[2]
    return own[2:] if own[:2].lower() == "x-" else own
