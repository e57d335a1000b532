"""Arguments whose names tell nothing of paging: which of them may take part in it, and what a trial of one shows.

Knows names, types and the pages that came with and without an argument. Sends nothing. What a trial shows is believed
only where the records themselves bear it out: the same records, moved or cut, by as much as was asked for.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from adapters.base import CallResult, Json, JsonObject
from adapters.pagination.detect.parameters import FlatParameter, flat_parameter, flatten_parameters
from adapters.pagination.read.envelope import HEADER, ResponseEnvelope, as_count, envelope_of
from adapters.pagination.read.links import looks_like_url
from adapters.pagination.read.next_page import key_path
from adapters.pagination.read.records import at_path, find_records
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.members import OFFSET_POSITIONS, PAGE_POSITIONS, SIZES, plain, words

TRIED = 2
"""The value by which a number is tried: pages and records are told apart by it, counted from 0 or from 1."""

_MOST_NUMBERS, _MOST_PAIRS = 4, 3
_NO_NUMBERS = frozenset(
    "id ids year month day hour minute second week age price cost amount rate lat lon lng latitude longitude radius "
    "width height version level score rating zoom depth timeout".split()
)
_NO_HEADERS = words(
    "content_length content_type date etag server connection last_modified vary cache_control age expires location "
    "set_cookie retry_after transfer_encoding strict_transport_security"
)


_THE_PAGE, _NEXT_PAGES = "page", words("next_page")
_SIDES = frozenset("after before since last older newer marker".split())
_EARLIER = frozenset("before older until max to prior earlier lt".split())
_LATER = frozenset("after newer since min from later gt".split())
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d")
_ROWS = 3


class TrialOutcome(StrEnum):
    """What a page shows that came with `TRIED` in one argument, beside the page that came without."""

    NOTHING = "nothing"
    SIZE = "size"
    RECORDS = "records"
    RECORDS_FROM_ONE = "records_from_one"
    ELSEWHERE = "elsewhere"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ArgumentValue:
    """An argument, and a value of the answer that may go into it: from beside the records, or the key of one of them.

    `path` is where the value stands; `after` is the index of the record that has it, None where it stands beside them.
    """

    argument: str
    path: str
    value: Json
    after: int | None = None


def shown(first: Sequence[Json], page: Sequence[Json]) -> TrialOutcome:
    """Compare a page with the first one, which has more than `TRIED` + 1 records."""
    n = len(page)
    if n == TRIED and page == first[:TRIED]:
        return TrialOutcome.SIZE
    if page == first[:n] and n:
        return TrialOutcome.NOTHING
    for by, what in ((TRIED, TrialOutcome.RECORDS), (TRIED - 1, TrialOutcome.RECORDS_FROM_ONE)):
        overlap = first[by : by + n]
        if n > 1 and len(overlap) > 1 and page[: len(overlap)] == overlap:
            return what
    if page and not any(record in first for record in page):
        return TrialOutcome.ELSEWHERE
    return TrialOutcome.OTHER


def leads_on(pair: ArgumentValue, first: Sequence[Json], page: Sequence[Json], result: CallResult) -> bool:
    """Whether `page`, with the value in the argument, goes on where the first page ends, or after the record of a key.

    A key is that of a record in mid-page: only the records behind it prove that it is no filter. A cursor brings other
    records and another cursor; a value that comes back as it was sent is a fact of the request.
    """
    if pair.after is not None:
        behind = first[pair.after + 1 :]
        return len(behind) > 1 and page[: len(behind)] == behind[: len(page)] and len(page) > 1
    if shown(first, page) is not TrialOutcome.ELSEWHERE or len(page) > len(first):
        return False
    if pair.path.startswith(HEADER):
        return bool(result.headers.get(pair.path.removeprefix(HEADER)) != pair.value)
    return bool(at_path(result.payload, pair.path)[1] != pair.value)


def numbers(parameters: JsonObject, given: Mapping[str, Json], *, is_surely_cut: bool) -> tuple[str, ...]:
    """Arguments that may count records or pages: whole numbers, or text that may hold one, which nobody gave.

    Text is worth a trial only where there are no numbers, and the answer says that there is more.
    """
    free = [one for one in _free(parameters, given) if not one.is_date]
    able = [one for one in free if not set(spelling.pieces(one.name)) & _NO_NUMBERS]
    integers = [one.name for one in able if "integer" in one.types and _allows(one, TRIED)]
    spoken = [one.name for one in able if one.types == {"string"} and not one.schema.get("pattern")]
    return tuple((integers or (spoken if is_surely_cut else []))[:_MOST_NUMBERS])


def echoed(result: CallResult, count: int) -> tuple[str, ...]:
    """Names by which the answer itself speaks of its page, as a request may spell them: of its size and its place.

    An answer that says `current_page: 1` and `per_page: 25` of its 25 records mostly knows `page` and `per_page`,
    whether or not a document does.
    """
    envelope = envelope_of(result.payload, find_records(result.payload), result.headers)
    told = [(one.name, one.plain, as_count(one.value)) for one in (*envelope.near, *envelope.far)]
    sizes = [name for name, known, value in told if known in SIZES and value == count]
    offsets = [name for name, known, value in told if known in OFFSET_POSITIONS and value in (0, 1)]
    pages = [name for name, known, value in told if known in PAGE_POSITIONS and value in (0, 1)]
    pages += [_THE_PAGE for _, known, value in told if known in _NEXT_PAGES and value in (1, TRIED)]
    asked = [_THE_PAGE if plain(name).startswith("current") else name for name in pages]
    return (*sizes[:1], *offsets[:1], *tuple(dict.fromkeys(asked))[:2])


def repeated(parameters: JsonObject, given: Mapping[str, Json], result: CallResult) -> dict[str, int]:
    """Whole numbers that nobody gave and that the answer tells under their very names, beside its records."""
    envelope = envelope_of(result.payload, find_records(result.payload), result.headers)
    told = {one.plain: as_count(one.value) for one in (*envelope.far, *envelope.near)}
    free = [one for one in _free(parameters, given) if "integer" in one.types and not one.is_date]
    able = [one.name for one in free if not set(spelling.pieces(one.name)) & _NO_NUMBERS]
    return {name: value for name in able if (value := told.get(plain(name.rpartition("/")[2]))) is not None}


def pairs(
    parameters: JsonObject, given: Mapping[str, Json], result: CallResult, records: Sequence[Json]
) -> tuple[ArgumentValue, ...]:
    """Values of the answer that may be a cursor or a key, each with the argument whose name is like its own."""
    envelope = envelope_of(result.payload, find_records(result.payload), result.headers)
    able = [one for one in _free(parameters, given) if one.accepts_text or one.accepts_integer or one.is_date]
    free = [one for one in able if not spelling.is_no_cursor(one.name)]
    undated = [one for one in free if not one.is_date]
    keys = _keys([one for one in able if one in free or _is_side(one)], records)
    found = [*dict.fromkeys(_handed_back(undated, envelope)), *keys]
    return tuple(found[:_MOST_PAIRS])


def _free(parameters: JsonObject, given: Mapping[str, Json]) -> Iterator[FlatParameter]:
    required = set(parameters.get("required") or ())
    schemas = {name: s for name, s in (parameters.get("properties") or {}).items() if isinstance(s, dict)}
    for name, schema in flatten_parameters(schemas).items():
        one = flat_parameter(name, schema)
        is_open = "object" not in one.types and "array" not in one.types and "boolean" not in one.types
        is_choice = bool(one.schema.get("enum")) or "const" in one.schema
        is_given = at_path(dict(given), name.replace("/", "."))[0]
        if is_open and not is_choice and not is_given and name.partition("/")[0] not in required:
            yield one


def _allows(one: FlatParameter, value: int) -> bool:
    lowest, highest = one.integer("minimum"), one.integer("maximum")
    return (-math.inf if lowest is None else lowest) <= value <= (math.inf if highest is None else highest)


def _handed_back(free: Sequence[FlatParameter], envelope: ResponseEnvelope) -> Iterator[ArgumentValue]:
    members = [m for m in (*envelope.near, *envelope.far, *envelope.headers) if _may_go_on(m.value)]
    own = [m for m in members if not (m.path.startswith(HEADER) and m.plain in _NO_HEADERS)]
    for is_like in (_is_same, _is_akin, _leads_on):
        for one in free:
            name = _leaf(one.name)
            for member in own:
                is_number = as_count(member.value) is not None and not isinstance(member.value, str)
                if is_like(name, member.name) and (one.accepts_integer if is_number else one.accepts_text):
                    yield ArgumentValue(one.name, member.path, member.value)


def _may_go_on(value: Json) -> bool:
    if isinstance(value, str):
        return bool(value) and not looks_like_url(value)
    return bool(as_count(value))


def _is_same(name: str, other: str) -> bool:
    return bool(plain(name)) and plain(name) == plain(other)


def _is_akin(name: str, other: str) -> bool:
    """`X-Continue-From` and `Continue-Next`, `since` and `last_seq`: not the same, but alike, or what leads on."""
    if _is_same(name, other) or vocabulary.says_total(other):
        return False
    is_next = vocabulary.says_next(other) or plain(other).startswith("last")
    mine = vocabulary.words_of(name) & vocabulary.words_of(other) - vocabulary.VAGUE - {"x"}
    return bool(mine) or (is_next and spelling.pieces(name)[:1] in (("since",), ("from",), ("after",), ("start",)))


def _leads_on(_name: str, other: str) -> bool:
    """`naechste` says what it is, whatever the argument is called that takes it."""
    return vocabulary.says_next(other)


def _keys(free: Sequence[FlatParameter], records: Sequence[Json]) -> Iterator[ArgumentValue]:
    middle = len(records) // 2
    record = records[middle] if records else None
    for one in free:
        own = vocabulary.words_of(_leaf(one.name))
        if one.is_date:
            yield from _moments(one, records, middle)
            continue
        name = key_path(records, one.name) if len(own) > 1 or _is_side(one) else None
        if name is not None and isinstance(record, dict) and name in record and (_is_side(one) or plain(name) in own):
            yield ArgumentValue(one.name, name, record[name], after=middle)


def _is_side(one: FlatParameter) -> bool:
    """Whether it is called by the word of a side and nothing else: `before` takes a key, if it is no date."""
    return plain(_leaf(one.name)) in _SIDES


def _moments(one: FlatParameter, records: Sequence[Json], middle: int) -> Iterator[ArgumentValue]:
    """A moment to begin before or after, and the member of the records that runs that way: newest first, or last."""
    own = set(spelling.pieces(one.name))
    is_down, is_up = bool(own & _EARLIER), bool(own & _LATER)
    rows = [record for record in records if isinstance(record, dict)]
    if is_down is is_up or len(rows) < _ROWS or len(rows) < len(records):
        return
    for name in rows[0]:
        moments = [row.get(name) for row in rows]
        if all(isinstance(moment, str) and _MOMENT.match(moment) for moment in moments):
            pairs_of = list(pairwise([str(moment) for moment in moments]))
            runs = all(a > b for a, b in pairs_of) if is_down else all(a < b for a, b in pairs_of)
            if runs:
                yield ArgumentValue(one.name, str(name), moments[middle], after=middle)


def _leaf(name: str) -> str:
    own = name.rpartition("/")[2]
    return own[2:] if own[:2].lower() == "x-" else own
