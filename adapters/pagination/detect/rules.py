"""The rules by which a parameter is taken for the position of a page: one row per convention.

The rows of one style are tried in order, and the first that applies decides. A row with `Confidence.NONE` rules the
style out. To support a new convention, add a row above the rows that would decide otherwise.

A parameter taken for pagination is hidden from the model, so a name that can mean something else needs a second sign:
a page size next to it, words in its description, or a member of the response that returns its next value.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from adapters.base import PaginationStyle
from adapters.pagination.detect.context import ParameterContext
from adapters.pagination.detect.parameters import FlatParameter, first_last_pair, is_row_range
from adapters.pagination.vocabulary import descriptions as phrases
from adapters.pagination.vocabulary import members
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.members import words

_MAX_CHARS = 400
_SCROLL_IDS, _SCROLLS = words("scroll_id"), words("scroll")
_AFTER, _FIRST, _TOKEN = words("after"), words("first"), words("token")
_START_KEYS = words("exclusive_start_key")
_MARKERS = words("continue marker")
_PAGE_ALONE = words("p current")
_MAXIMA = words("max max_results")
_MIN_MAX_RIVALS = words("last after before min")
_KEY_RANGES = {"fromid": "toid", "maxid": "minid", "sinceid": "untilid", "afterid": "beforeid"}


class Confidence(StrEnum):
    """`POSSIBLE` counts only if no rule of any style is sure; `NONE` rules the style out."""

    SURE = "sure"
    POSSIBLE = "possible"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Rule:
    """One convention: if `applies`, the parameter is the position of that style, with that confidence."""

    name: str
    style: PaginationStyle
    confidence: Confidence
    applies: Callable[[FlatParameter, ParameterContext], bool]


def _is_other_token(parameter: FlatParameter, context: ParameterContext) -> bool:
    """`clientToken`, `access_token`, unless the response returns it and its name says cursor."""
    is_cursor = context.is_returned(parameter) and "cursor" in spelling.pieces(parameter.name)
    return spelling.is_no_cursor(parameter.name) and not is_cursor


def _is_cursor_object_or_number(parameter: FlatParameter, context: ParameterContext) -> bool:
    """A cursor may be an object (a key) or a number, if the response or its own name says so."""
    is_counted = parameter.is_named(spelling.OFFSETS, spelling.PAGES) or spelling.has_offset_words(parameter.name)
    has_type = bool(parameter.types & {"object", "integer", "number"})
    if parameter.accepts_text or is_counted or not has_type or not spelling.has_marker_words(parameter.name):
        return False
    is_numeric_cursor = (
        parameter.is_named(spelling.CURSORS)
        and parameter.accepts_integer
        and not parameter.mentions(phrases.OFFSET)
        and (parameter.mentions(phrases.CURSOR) or context.has_size(parameter))
    )
    return context.is_returned(parameter) or is_numeric_cursor or parameter.is_named(_START_KEYS)


def _is_described_weak_cursor(parameter: FlatParameter, context: ParameterContext) -> bool:
    is_described = context.mentions(parameter, phrases.CURSOR) or parameter.mentions(phrases.PREVIOUS_RESPONSE)
    return parameter.is_named(spelling.WEAK_CURSORS) and is_described and not parameter.is_about_something_else


def _has_same_prefix_as_size(parameter: FlatParameter, context: ParameterContext) -> bool:
    """`_token` next to `_limit`: the prefix marks parameters of the framework."""
    prefix = parameter.name[:1]
    if prefix not in {"_", "$"} or not parameter.is_named(_TOKEN):
        return False
    return any(other.name[:1] == prefix and other.is_named(spelling.SIZES) for other in context.parameters)


def _is_described_key(parameter: FlatParameter, context: ParameterContext) -> bool:
    """Whether it is described as the key of the last record, and the response returns nothing else to continue with."""
    is_key = parameter.is_named(spelling.WEAK_KEYS, spelling.KEYS) and parameter.mentions(phrases.RECORD_KEY)
    return is_key and not context.response.pointers and not parameter.mentions(phrases.CURSOR_OR_TOKEN)


def _is_record_key(parameter: FlatParameter, context: ParameterContext) -> bool:
    """Whether it has the usual name of a key and is not part of a range, as `from_id` next to `to_id`."""
    return parameter.is_named(spelling.KEYS) and not _is_key_range(parameter, context)


def _is_key_range(parameter: FlatParameter, context: ParameterContext) -> bool:
    partners = {_KEY_RANGES[name] for name in parameter.spellings if name in _KEY_RANGES}
    return any(partners & other.spellings for other in context.parameters)


def _is_confirmed_key(parameter: FlatParameter, context: ParameterContext) -> bool:
    is_described = parameter.mentions(phrases.RECORD_KEY) or parameter.mentions(phrases.CURSOR)
    return is_described or context.response.has_more_flag


def _is_weak_key(parameter: FlatParameter, context: ParameterContext) -> bool:
    is_described = parameter.is_named(spelling.WEAK_KEYS) and parameter.mentions(phrases.RECORD_KEY)
    return is_described and context.response.has_list


def _may_be_id_of_last_record(parameter: FlatParameter, context: ParameterContext) -> bool:
    has_id = "id" in context.response.item_members and not context.response.pointers
    return has_id and parameter.mentions(phrases.RECORD_KEY) and context.has_size(parameter)


def _is_no_number_of_pages(parameter: FlatParameter, context: ParameterContext) -> bool:
    """Whether it cannot count records or pages: no number, a date, a unit of something, or in another object."""
    is_in_item_path = parameter.name in context.in_path
    if is_in_item_path and not (context.has_size(parameter) or context.response.is_collection):
        return True
    if not parameter.accepts_integer or parameter.is_date or parameter.is_in_other_object:
        return True
    is_position = parameter.is_named(spelling.OFFSETS, spelling.SKIPS, spelling.PAGES) and not parameter.has_unit
    is_paging = parameter.mentions(phrases.PAGINATION) or (is_position and context.has_page_size)
    return parameter.is_about_something_else and not is_paging


def _counts_something_else(parameter: FlatParameter, _context: ParameterContext) -> bool:
    """Whether it counts pages, is a size, or takes a key, regardless of its name."""
    is_offset = parameter.summary_mentions(phrases.OFFSET)
    is_page = parameter.summary_mentions(phrases.PAGE_NUMBER) and not is_offset
    is_size = parameter.summary_mentions(phrases.PAGE_SIZE) and not is_offset
    is_other = parameter.mentions(phrases.PAGES_TO_SKIP) or parameter.mentions(phrases.RECORD_KEY)
    return parameter.is_named(spelling.PAGES, spelling.UNAMBIGUOUS_SIZES) or is_page or is_size or is_other


def _is_confirmed_offset(parameter: FlatParameter, context: ParameterContext) -> bool:
    is_about_paging = context.mentions(parameter, phrases.RESULTS)
    is_offset = parameter.is_named(spelling.OFFSETS)
    return is_offset and (context.has_size(parameter) or is_about_paging or context.response.is_collection)


def _is_first_as_offset(parameter: FlatParameter, context: ParameterContext) -> bool:
    if not parameter.is_named(_FIRST):
        return False
    others = [other for other in context.parameters if other is not parameter]
    is_beside_max = context.has(_MAXIMA) and not any(other.is_named(_MIN_MAX_RIVALS) for other in others)
    return is_beside_max or (context.has_size(parameter) and parameter.summary_mentions(phrases.OFFSET))


def _has_offset_name(parameter: FlatParameter) -> bool:
    return parameter.is_named(spelling.WEAK_OFFSETS) or spelling.has_offset_words(parameter.name)


def _is_undescribed_weak_offset(parameter: FlatParameter, _context: ParameterContext) -> bool:
    is_described = parameter.mentions(phrases.RESULTS) or parameter.mentions(phrases.START)
    return parameter.is_named(spelling.WEAK_OFFSETS) and bool(parameter.description) and not is_described


def _is_weak_offset_with_size(parameter: FlatParameter, context: ParameterContext) -> bool:
    return parameter.is_named(spelling.WEAK_OFFSETS) and context.has_size(parameter)


def _is_offset_that_counts_pages(parameter: FlatParameter, context: ParameterContext) -> bool:
    skips_pages = parameter.mentions(phrases.PAGES_TO_SKIP)
    is_offset = parameter.is_named(spelling.OFFSETS) or skips_pages
    return is_offset and (parameter.mentions(phrases.PAGE_NUMBER) or (skips_pages and context.has_size(parameter)))


def _is_weak_page_with_size(parameter: FlatParameter, context: ParameterContext) -> bool:
    is_clear = parameter.is_named(_PAGE_ALONE) and (not parameter.description or parameter.is_named(words("p")))
    is_page = parameter.is_named(spelling.WEAK_PAGES) and (is_clear or parameter.mentions(phrases.PAGE_NUMBER))
    return is_page and context.has_size(parameter)


def _is_described_page(parameter: FlatParameter, _context: ParameterContext) -> bool:
    return parameter.summary_mentions(phrases.PAGE_NUMBER) and not parameter.mentions(phrases.PAGE_SIZE)


def _is_beside_size_or_page_count(parameter: FlatParameter, context: ParameterContext) -> bool:
    return context.has_size(parameter) or context.response.has_member(members.TOTAL_PAGES | members.MORE_FLAGS)


_SURE, _POSSIBLE, _NONE = Confidence.SURE, Confidence.POSSIBLE, Confidence.NONE


def _rules(
    style: PaginationStyle, *rows: tuple[Confidence, str, Callable[[FlatParameter, ParameterContext], bool]]
) -> tuple[Rule, ...]:
    return tuple(Rule(name, style, confidence, applies) for confidence, name, applies in rows)


CURSOR_RULES = _rules(
    PaginationStyle.CURSOR,
    (_NONE, "member of an unrelated object", lambda p, _: p.is_in_other_object),
    (_NONE, "previous-page cursor", lambda p, _: p.is_named(spelling.BACKWARD)),
    (
        _NONE,
        "description of a credential or idempotency key",
        lambda p, _: p.mentions(phrases.CREDENTIAL) and not p.mentions(phrases.PAGING),
    ),
    (_NONE, "search_after (keyset)", lambda p, _: p.is_named(spelling.SEARCH_AFTER)),
    (_NONE, "scroll ID of another operation", lambda p, c: p.is_named(_SCROLL_IDS) and c.has(_SCROLLS)),
    (
        _NONE,
        "record key without a cursor in the response",
        lambda p, c: p.is_named(spelling.KEYS) and c.response.has_more_flag and not c.response.pointers,
    ),
    (_SURE, "cursor of type object or number", _is_cursor_object_or_number),
    (_NONE, "not a string", lambda p, _: not p.accepts_text),
    (_SURE, "cursor name", lambda p, _: p.is_named(spelling.CURSORS)),
    (_NONE, "date or time", lambda p, _: p.is_date),
    (_NONE, "name of another token type", _is_other_token),
    (_SURE, "cursor returned in the response", lambda p, c: c.is_returned(p)),
    (_SURE, "cursor keywords in the name", lambda p, _: spelling.has_cursor_words(p.name)),
    (
        _SURE,
        "marker with a page size parameter",
        lambda p, c: p.is_named(_MARKERS) and c.has_size(p) and not p.is_about_something_else,
    ),
    (
        _SURE,
        "'after' with 'first' (Relay connection)",
        lambda p, c: p.is_named(_AFTER) and any(o.is_named(_FIRST) and o.accepts_integer for o in c.parameters),
    ),
    (
        _NONE,
        "description of the last record's key",
        lambda p, c: _is_described_weak_cursor(p, c) and _is_described_key(p, c),
    ),
    (_SURE, "common cursor name and cursor description", _is_described_weak_cursor),
    (_SURE, "token with the prefix of the page size parameter", _has_same_prefix_as_size),
    (
        _NONE,
        "long or unrelated description",
        lambda p, _: len(p.description) > _MAX_CHARS or p.is_about_something_else or spelling.is_measure(p.name),
    ),
    (_SURE, "cursor description", lambda p, _: p.mentions(phrases.DEFINITE_CURSOR)),
)

KEYSET_RULES = _rules(
    PaginationStyle.KEYSET,
    (_POSSIBLE, "search_after", lambda p, _: p.is_named(spelling.SEARCH_AFTER)),
    (
        _NONE,
        "not a string or number",
        lambda p, _: not (p.accepts_text or p.accepts_integer) or p.is_date or p.is_in_other_object,
    ),
    (
        _SURE,
        "record key confirmed by a description or has-more flag",
        lambda p, c: _is_record_key(p, c) and _is_confirmed_key(p, c),
    ),
    (_POSSIBLE, "record key with a page size parameter", lambda p, c: _is_record_key(p, c) and c.has_size(p)),
    (_NONE, "record key without a page size parameter", _is_record_key),
    (
        _SURE,
        "record key description with a page size parameter or has-more flag",
        lambda p, c: _is_weak_key(p, c) and (c.response.has_more_flag or c.has_size(p)),
    ),
    (_POSSIBLE, "record key description", _is_weak_key),
    (_SURE, "description of the last record's key", _is_described_key),
    (_POSSIBLE, "record ID description with a page size parameter", _may_be_id_of_last_record),
)

OFFSET_RULES = _rules(
    PaginationStyle.OFFSET,
    (_NONE, "not a record count", _is_no_number_of_pages),
    (_NONE, "page number, page size or record key", _counts_something_else),
    (_SURE, "start of a row range", lambda p, c: is_row_range(p, c.outside_path)),
    (_NONE, "start of a value range", lambda p, c: first_last_pair(p, c.outside_path) is not None),
    (_SURE, "offset name with a page size parameter, description or list response", _is_confirmed_offset),
    (_NONE, "offset name without other evidence", lambda p, _: p.is_named(spelling.OFFSETS)),
    (_SURE, "'first' as an offset", _is_first_as_offset),
    (_NONE, "'first' as a page size", lambda p, _: p.is_named(_FIRST)),
    (
        _SURE,
        "offset keywords in the name and description",
        lambda p, _: _has_offset_name(p) and p.mentions(phrases.PAGED) and p.mentions(phrases.START),
    ),
    (_NONE, "common offset name with an unrelated description", _is_undescribed_weak_offset),
    (_SURE, "common offset name with a page size parameter", _is_weak_offset_with_size),
    (_NONE, "common offset name without a page size parameter", lambda p, _: p.is_named(spelling.WEAK_OFFSETS)),
    (_NONE, "page size description", lambda p, _: p.mentions(phrases.PAGE_SIZE) and not p.mentions(phrases.OFFSET)),
    (
        _SURE,
        "offset description with a page size parameter",
        lambda p, c: p.summary_mentions(phrases.OFFSET) and c.has_size(p),
    ),
    (
        _SURE,
        "offset keywords in the name with a page size parameter",
        lambda p, c: _has_offset_name(p) and c.has_size(p),
    ),
)

PAGE_RULES = _rules(
    PaginationStyle.PAGE,
    (_NONE, "not a page count", _is_no_number_of_pages),
    (
        _NONE,
        "number of pages to return",
        lambda p, _: p.summary_mentions(phrases.NUMBER_OF_PAGES) and not p.mentions(phrases.PAGES_TO_SKIP),
    ),
    (_SURE, "page number name", lambda p, _: p.is_named(spelling.PAGES)),
    (_SURE, "offset in pages", _is_offset_that_counts_pages),
    (_NONE, "offset", lambda p, _: p.is_named(spelling.OFFSETS) or p.mentions(phrases.PAGES_TO_SKIP)),
    (_SURE, "common page number name with a page size parameter", _is_weak_page_with_size),
    (_NONE, "common page number name without other evidence", lambda p, _: p.is_named(spelling.WEAK_PAGES)),
    (
        _SURE,
        "page number description with a page size parameter or page count",
        lambda p, c: _is_described_page(p, c) and _is_beside_size_or_page_count(p, c),
    ),
    (_NONE, "page number description without other evidence", _is_described_page),
    (
        _SURE,
        "page number keywords in the name with a page size parameter",
        lambda p, c: c.has_size(p) and spelling.has_page_words(p.name),
    ),
)

RULES = (CURSOR_RULES, KEYSET_RULES, OFFSET_RULES, PAGE_RULES)
"""By preference: a cursor survives changes of the data, an offset is finer than a page number."""
