"""Names of request parameters for pagination: tables of plain names, and words inside names.

Names are compared after `plain`, so `per_page`, `perPage` and `$per-page` are one name; a name in no table is compared
word by word, since `firstRow`, `pgNo` and `recordsToSkip` consist of the same few words. Sources: counts over 2,638
public documents, botocore's paginators, and the documentation of the services named. English only: other names are
tried at run time (`probe.trial`).
"""

import re
from functools import lru_cache

from adapters.pagination.vocabulary import members as names
from adapters.pagination.vocabulary.members import plain, unaccented, words

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SEGMENT = re.compile(r"[/\[\].]+")

UNAMBIGUOUS_SIZES = names.UNAMBIGUOUS_SIZES
SIZES = names.SIZES | words(
    "pagelen page_length page_len record_count max_page_size fetch_size first length max_length amount per quantity pp "
    "how_many at_most row_count"
)
MARKED_SIZES = frozenset({"_count", "_limit", "_size", "$top", "$limit", "$size"})
"""Names with the prefix of a framework, which no property of a resource has."""
CURSORS = words(
    "cursor next_cursor start_cursor page_cursor page[cursor] page_token next_page_token next_token continuation_token "
    "continuation pagination_token starting_token pagination_key skip_token skiptoken page_state paging_state "
    "page_info page[after] resumption_token resume_token list_token next_page_cursor pager_token "
    "after_cursor cursor_mark"
)
WEAK_CURSORS = words(
    "marker next after start_after exclusive_start_key bookmark page page[after] after_key position continue token "
    "from next_page next_marker iterator last start offset scroll_id next_id page_key next_key starting_position "
    "starting_point"
)
BACKWARD = words("before prev previous ending_before end_before page[before] before_cursor previous_cursor prev_cursor")
UNAMBIGUOUS_BACKWARD = words("ending_before page[before] before_cursor previous_cursor prev_cursor")
KEYS = words(
    "starting_after after_id since_id max_id last_id last_seen last_seen_id id_after start_after_id last_key until_id "
    "before_id start_after last_evaluated_id from_id"
)
WEAK_KEYS = words("after last since start_after before next from_key last_item")
OFFSETS = words(
    "offset page[offset] start_at start_index first_result result_offset record_offset start_record start_offset"
)
WEAK_OFFSETS = words("skip start from start_row row_start begin start_from first starting_at start_position")
SKIPS = words("skip")
PAGES = words(
    "page page_number page_no page_num page[number] page_index current_page page_nr p_page paged pg result_page "
    "pageidx paging_number pagination_number pager_number"
)
WEAK_PAGES = words("p number current")
SEARCH_AFTER = words("search_after")
RANGE_HEADERS = frozenset({"range", "rangeunit"})

_NO_CURSOR = frozenset(
    "change lock update checkpoint oauth oidc client idempotency auth authentication authorization access security "
    "session csrf xsrf api sync refresh bearer secret device id_token request trace upload push version etag previous "
    "prev before stop end email user public".split()
)
_CURSOR = frozenset("cursor continuation bookmark skiptoken nexttoken pagetoken resumption".split())
_RESUMES = frozenset("continue continuation resume".split())
_MARKS = frozenset("token key marker cursor state bookmark".split())
_PAGING = frozenset(
    "page paging pagination pager next continue continuation resume resumption starting paginator".split()
)
_MARKERS = _MARKS | frozenset("position next after exclusive start continuation".split())
_MEASURES = frozenset(
    "timeout ttl duration time interval age size count limit max min order sort direction dir width format type mode "
    "timezone alive keep period".split()
)
_SKIPS = frozenset("offset skip skipped skipping".split())
_STARTS = frozenset("start starting first from begin beginning initial".split())
_PLACES = frozenset("index row record item at pos position result number no num element entry hit doc document".split())
_RECORDS = frozenset("row record item result entry hit".split())
_ORDINALS = frozenset("index position".split())
_NO_PLACES = frozenset(
    "time date id name key token hour minute second day month year line byte bytes lat lng lon timezone utc x y "
    "address ip port price amount version cursor zone z pixel char character range".split()
)
_PAGE = frozenset("page pg".split())
_PER = frozenset({"per"})
_NO_PAGE = frozenset(
    "size limit count per len length max min total token cursor key marker id ids name title url uri slug type kind "
    "after before state info format width height break content path body home landing pages only range to end from "
    "last previous prev next views view template language layout order orientation rank".split()
)
_AMOUNTS = frozenset("limit size max maximum count take top per amount quantity how many".split())
_MANY = frozenset("results records items rows entries hits objects elements docs documents".split())
_COUNTED = _MANY | frozenset("page result record item row entry limit batch fetch response return list listing".split())
_NUMBERS = frozenset("num nb n nbr".split())
_RETURN_VERBS = frozenset("fetch return show display".split())
PARENTS = words(
    "page paging pagination pager page_info cursor page_request page_options list_options options query params params "
    "input request criteria search_criteria search_params paginator page_params variables "
    "page_filter search page_spec paging_info"
)


_HOLDING = frozenset(
    "query search list page paging pagination pager request parameters parameter params param options option criteria "
    "input args arguments spec info model settings dto command".split()
)
"""Words for objects that hold the arguments of a list, in any combination."""


@lru_cache(maxsize=8192)
def pieces(name: str) -> tuple[str, ...]:
    """The words of a name in lower case and order: `pageSize`, `page_size` and `page[size]` have two."""
    return tuple(piece.lower() for piece in _PIECE.findall(unaccented(name)))


@lru_cache(maxsize=8192)
def forms(name: str) -> frozenset[str]:
    """The plain spellings of a name: itself and, inside an object about pagination (`page/size`), its last parts."""
    segments = [segment for segment in _SEGMENT.split(name) if segment]
    if len(segments) < 2:
        return frozenset({plain(name)})
    found = {plain(name)} if "/" not in name else set()
    if is_in_paging_object(name):
        found |= {plain(segments[-1]), plain("".join(segments[-2:]))}
    return frozenset(found)


def parent(name: str) -> str:
    """The path of the object that holds a member; "" for an argument."""
    return name.rpartition("/")[0]


@lru_cache(maxsize=8192)
def is_in_paging_object(name: str) -> bool:
    """Whether the object around a member is about pagination: its name is `page`, `pagination`, `options`, …."""
    segments = [plain(segment) for segment in _SEGMENT.split(name) if segment]
    if len(segments) < 2:
        return False
    around = set(pieces([segment for segment in _SEGMENT.split(name) if segment][-2]))
    return segments[-2] in PARENTS or "pag" in segments[-2][:3] or (bool(around) and around <= _HOLDING)


@lru_cache(maxsize=8192)
def is_in_other_object(name: str) -> bool:
    """Whether it is a member of an object that is not about pagination: `filter[offset]`, `filter/limit`."""
    segments = [segment for segment in _SEGMENT.split(name) if plain(segment)]
    return len(segments) > 1 and not is_in_paging_object(name)


@lru_cache(maxsize=8192)
def has_cursor_words(name: str) -> bool:
    """`resultsContinuationToken`, `nextPageKey`, `continueFrom`."""
    own = set(pieces(name))
    is_resumed = bool(own & _RESUMES) and bool(own & {"from", "after"})
    return (is_resumed or bool(own & _CURSOR or (own & _MARKS and own & _PAGING))) and not own & _NO_CURSOR


@lru_cache(maxsize=8192)
def is_no_cursor(name: str) -> bool:
    """`clientToken`, `access_token`: a token of another kind."""
    return bool(set(pieces(name)) & _NO_CURSOR)


@lru_cache(maxsize=8192)
def has_marker_words(name: str) -> bool:
    """Whether a number or an object can be a cursor: `after_cursor`, `ExclusiveStartKey`, `nextPosition`."""
    own = set(pieces(name))
    return bool(own & _MARKERS) and not own & _MEASURES


@lru_cache(maxsize=8192)
def is_measure(name: str) -> bool:
    """`page_timeout`, `scroll_size`, `sort_order`: about a list, and no position in it."""
    return bool(set(pieces(name)) & _MEASURES)


@lru_cache(maxsize=8192)
def has_offset_words(name: str) -> bool:
    """`recordsToSkip`, `firstRow`, `result_offset`, `record_index`."""
    own = set(pieces(name))
    is_place = (own & _STARTS and own & _PLACES) or (own & _RECORDS and own & _ORDINALS)
    return bool(own & _SKIPS or is_place) and not own & _NO_PLACES


@lru_cache(maxsize=8192)
def has_page_words(name: str) -> bool:
    """`pgNo`, `requestedPage`, `seite`."""
    own = set(pieces(name))
    return bool(own & _PAGE) and not own & (_NO_PAGE | _MEASURES | _PER)


@lru_cache(maxsize=8192)
def has_size_words(name: str) -> bool:
    """`maxEntries`, `rowLimit`, `hits_per_page`, `itemsOnPage`, `numItems`."""
    found = pieces(name)
    own = set(found)
    if (own & _PER and own & _PAGE) or (own & _PAGE and own & _MANY and own <= _PAGE | _MANY | {"on"}):
        return True
    is_number_of = bool(own & _MANY) and found[0] in _NUMBERS and set(found[1:]) <= _MANY | {"of"}
    if is_number_of or (own & {"max", "maximum"} and "number" in own):
        return True
    is_amount = bool(own & _AMOUNTS and (own - {"max", "maximum"}) & _COUNTED) or bool(
        own & _RETURN_VERBS and own & _MANY
    )
    return is_amount and not own & {"number", "index", "min"}
