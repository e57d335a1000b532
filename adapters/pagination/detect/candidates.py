"""Which parameter says where a page begins: claims, from the surest kind of paging to the least.

Knows one parameter at a time beside its company, and the described answer. Knows nothing of sizes but whether there is
one. A parameter taken for paging is hidden from the model, so a name that can mean something else needs a second
witness: a size beside it, words in its description, or a member of the answer that hands it out.

- `page` as text is a title, and a description such as "ID of the page" makes it an identifier.
- `start` beside `end`, `from` beside `to`, and whatever is a date or text, is a range.
- `offset` of a time zone, in seconds or bytes, is none. `first` is a position beside `max` only, and elsewhere a size.
- `scroll_id` beside `scroll` goes on with the list of another tool, and is the caller's to give.
- `token` is a credential, unless it is handed out by the answer; `after`, `next`, `marker` need words that say cursor.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from adapters.base import PaginationStyle
from adapters.pagination.detect.page_size import size_beside
from adapters.pagination.detect.parameters import INTEGER, FlatParameter, begins_page, dated, end_beside
from adapters.pagination.detect.response_schema import ResponseSchema
from adapters.pagination.vocabulary import descriptions as wording
from adapters.pagination.vocabulary import members as names
from adapters.pagination.vocabulary import parameters as spelling

_SHORT_TEXT = 400
_MIRRORED = 2
_SCROLL_IDS = names.words("scroll_id")
_AFTER, _FIRST = names.words("after"), names.words("first")
_START_KEYS = names.words("exclusive_start_key")
_PLACES_IN_LISTS = names.words("continue marker")
_SCROLLS = names.words("scroll")
_PAGE_ALONE = names.words("p current")
_OFFSET_MAX_COMPANY = names.words("max max_results")


@dataclass(frozen=True, slots=True)
class PositionCandidate:
    """One parameter as the position of one convention. `is_sure` is False where another kind is believed first."""

    convention: PaginationStyle
    parameter: FlatParameter
    is_sure: bool = True


@dataclass(frozen=True)
class ParameterContext:
    """What stands beside a parameter: the other parameters, the tool's own description, and the described answer.

    `required` are the names of the parameters that must be given, `in_path` of those that stand in an address.
    """

    parameters: Sequence[FlatParameter]
    description: str
    answer: ResponseSchema
    required: frozenset[str] = frozenset()
    in_path: frozenset[str] = frozenset()

    @cached_property
    def asked(self) -> Sequence[FlatParameter]:
        """The parameters that do not stand in the address."""
        return [one for one in self.parameters if one.name not in self.in_path]

    def has(self, table: frozenset[str]) -> bool:
        """Whether a parameter has one of these names."""
        return any(one.is_named(table) for one in self.parameters)

    @cached_property
    def _sized(self) -> dict[str, bool]:
        """Which positions are known to have a size beside them, or none."""
        return {}

    @cached_property
    def has_firm_size(self) -> bool:
        """Whether a number stands here whose name means the size of a page and nothing else."""
        return any(one.is_named(spelling.SIZES_ALONE) and one.types & INTEGER for one in self.parameters)

    @cached_property
    def has_firm_pair(self) -> bool:
        """Whether a page number or an offset stands beside such a size: then pages come, however one is described."""
        places = (one for one in self.parameters if one.is_named(spelling.PAGES, spelling.OFFSETS))
        return self.has_firm_size and any(bool(one.types & INTEGER) and not one.is_measured for one in places)

    @cached_property
    def is_mirrored(self) -> bool:
        """Whether the answer tells again what was sent, as the answer to a change does."""
        own = [one for one in self.parameters if not spelling.parent(one.name)]
        again = [one for one in own if one.forms & self.answer.top]
        return len(again) > _MIRRORED and 2 * len(again) > len(own)

    def speaks_of(self, one: FlatParameter, pattern: re.Pattern[str]) -> bool:
        """Whether a parameter's words match, or the tool's own where the parameter has none."""
        return one.says(pattern) or (not one.text and bool(pattern.search(self.description)))

    def size_of(self, position: FlatParameter) -> FlatParameter | None:
        """The size beside a position; one that stands in the address goes with such a position only."""
        return size_beside(position, self.parameters if position.name in self.in_path else self.asked)

    def has_size(self, position: FlatParameter) -> bool:
        """Whether one of the others can be the size of a page."""
        known = self._sized.get(position.name)
        if known is None:
            known = self._sized[position.name] = self.size_of(position) is not None
        return known


def claims(company: ParameterContext) -> list[PositionCandidate]:
    """Every claim, the most preferred first, in the order of the document within a kind."""
    found: list[PositionCandidate] = []
    for convention, judge in _JUDGES:
        is_addressed = convention in (PaginationStyle.OFFSET, PaginationStyle.PAGE)
        able = [one for one in company.parameters if is_addressed or one.name not in company.required]
        judged = ((one, judge(one, company)) for one in able)
        found.extend(PositionCandidate(convention, one, is_sure) for one, is_sure in judged if is_sure is not None)
    return found


def _cursor(one: FlatParameter, company: ParameterContext) -> bool | None:
    if one.is_foreign:
        return None
    if one.is_named(spelling.BACKWARD) or (one.says(wording.NO_CURSOR) and not one.says(wording.SAYS_PAGING)):
        return None
    if one.is_named(spelling.SEARCH_AFTER) or (one.is_named(_SCROLL_IDS) and company.has(_SCROLLS)):
        return None
    is_returned = company.answer.returns(one.name, is_mirror=company.is_mirrored) and not dated(one)
    if one.is_named(spelling.KEYS) and company.answer.has_more and not company.answer.markers:
        return None
    if not one.is_text:
        is_firm = _is_counting_cursor(one, company)
        return True if (is_returned or is_firm or one.is_named(_START_KEYS)) and _is_cursor_object(one) else None
    if one.is_named(spelling.CURSORS):
        return True
    is_called_cursor = is_returned and "cursor" in spelling.pieces(one.name)
    if dated(one) or (spelling.is_no_cursor(one.name) and not is_called_cursor):
        return None
    if is_returned or spelling.has_cursor_words(one.name):
        return True
    return _cursor_by_words(one, company)


def _is_counting_cursor(one: FlatParameter, company: ParameterContext) -> bool:
    """Whether a number is called a cursor and nothing else, beside a size or in its words."""
    if not one.is_named(spelling.CURSORS) or not one.is_number or one.says(wording.SAYS_OFFSET):
        return False
    return one.says(wording.SAYS_CURSOR) or company.has_size(one)


def _is_cursor_object(one: FlatParameter) -> bool:
    """A cursor may be an object (a key) or a number, if a name in the answer says so."""
    is_counted = one.is_named(spelling.OFFSETS, spelling.PAGES) or spelling.has_offset_words(one.name)
    is_able = bool(one.types & {"object", "integer", "number"}) and spelling.has_marker_words(one.name)
    return is_able and not is_counted


def _cursor_by_words(one: FlatParameter, company: ParameterContext) -> bool | None:
    is_weak = one.is_named(spelling.WEAK_CURSORS)
    if is_weak and one.is_named(_PLACES_IN_LISTS) and company.has_size(one) and not one.is_something_else:
        return True
    if one.is_named(_AFTER) and any(other.is_named(_FIRST) and other.is_number for other in company.parameters):
        return True
    says_cursor = (
        one.says(wording.SAYS_CURSOR)
        or one.says(wording.HANDED_OUT)
        or (not one.text and bool(wording.SAYS_CURSOR.search(company.description)))
    )
    if is_weak and says_cursor and not one.is_something_else:
        return None if _is_key(one, company) else True
    if _has_prefix_of_size(one, company):
        return True
    if len(one.text) > _SHORT_TEXT or one.is_something_else or spelling.is_measure(one.name):
        return None
    is_used = one.says(wording.USED_FOR_PAGING) and bool(company.answer.markers)
    return True if is_used or one.says(wording.IS_CURSOR) else None


def _has_prefix_of_size(one: FlatParameter, company: ParameterContext) -> bool:
    """`_token` beside `_limit`: marks of the framework, and not of the resource."""
    if one.name[:1] not in {"_", "$"} or not one.is_named(frozenset({"token"})):
        return False
    return any(other.name[:1] == one.name[:1] and other.is_named(spelling.SIZES) for other in company.parameters)


def _keyset(one: FlatParameter, company: ParameterContext) -> bool | None:
    if one.is_named(spelling.SEARCH_AFTER):
        return False
    if not (one.is_text or one.is_number) or dated(one) or one.is_foreign:
        return None
    has_record_key = one.says(wording.SAYS_KEY)
    if one.is_named(spelling.KEYS) and not _is_key_range(one, company):
        is_witnessed = has_record_key or company.answer.has_more or one.says(wording.SAYS_CURSOR)
        return is_witnessed if is_witnessed or company.has_size(one) else None
    if company.answer.has_more and spelling.has_key_words(one.name) and not _is_key_range(one, company):
        return True if company.has_size(one) else None
    if one.is_named(spelling.WEAK_KEYS) and has_record_key and company.answer.has_list:
        return company.answer.has_more or company.has_size(one)
    if _is_key(one, company):
        return True
    has_id = company.answer.shape is not None and "id" in company.answer.shape.item_members
    return False if has_record_key and has_id and company.has_size(one) and not company.answer.markers else None


def _is_key(one: FlatParameter, company: ParameterContext) -> bool:
    """Whether the words name the key of the last record, and the answer hands out nothing else to go on with."""
    is_hint = one.is_named(spelling.WEAK_KEYS, spelling.KEYS) and one.says(wording.SAYS_KEY)
    return is_hint and not company.answer.markers and not one.says(wording.NAMES_CURSOR)


def _is_key_range(one: FlatParameter, company: ParameterContext) -> bool:
    """`from_id` beside `to_id`."""
    partners = {"fromid": "toid", "maxid": "minid", "sinceid": "untilid", "afterid": "beforeid"}
    return any(partners.get(form, "-") in other.forms for form in one.forms for other in company.parameters)


def _offset(one: FlatParameter, company: ParameterContext) -> bool | None:
    if not _is_numeric_place(one, company) or one.is_named(spelling.SIZES_ALONE):
        return None
    if one.says(wording.SAYS_KEY) or _is_other_count(one):
        return None
    if end_beside(one, company.asked) is not None:
        return True if begins_page(one, company.asked) else None
    has_size = company.has_size(one)
    has_words = one.says(wording.ABOUT_PAGING) or (
        not one.text and bool(wording.ABOUT_PAGING.search(company.description))
    )
    if one.is_named(spelling.OFFSETS):
        return True if has_size or has_words or company.answer.is_collection else None
    if one.is_named(frozenset({"first"})):
        is_said = has_size and bool(wording.SAYS_OFFSET.search(one.opening))
        return True if is_said or _is_first_of_max(one, company) else None
    is_named = one.is_named(spelling.WEAK_OFFSETS) or spelling.has_offset_words(one.name) or _has_length(one, company)
    if is_named and one.says(wording.SAYS_PAGED) and one.says(wording.SAYS_START):
        return True
    if one.is_named(spelling.WEAK_OFFSETS) and one.text and not (has_words or one.says(wording.SAYS_START)):
        return None
    if one.is_named(spelling.WEAK_OFFSETS):
        return True if has_size and not _is_range(one, company) else None
    if one.says(wording.SAYS_SIZE) and not one.says(wording.SAYS_OFFSET):
        return None
    says_offset = bool(wording.SAYS_OFFSET.search(one.opening))
    return True if has_size and (says_offset or is_named) else None


def _has_length(one: FlatParameter, company: ParameterContext) -> bool:
    """Whether what begins here has its length beside it: `displayStart` and `displayLength`."""
    return company.answer.has_list and any(spelling.is_start_of(one.name, other.name) for other in company.parameters)


def _is_other_count(one: FlatParameter) -> bool:
    """Whether it counts pages, or is a size, whatever it is called."""
    says_offset = bool(wording.SAYS_OFFSET.search(one.opening))
    is_page = one.is_named(spelling.PAGES) or (bool(wording.SAYS_PAGE.search(one.opening)) and not says_offset)
    is_size = bool(wording.SAYS_SIZE.search(one.opening)) and not says_offset
    return is_page or is_size or one.says(wording.SKIPS_PAGES)


def _is_range(one: FlatParameter, company: ParameterContext) -> bool:
    """Whether it is the lower end of a range of values, whose upper end is a number too."""
    if one.is_named(spelling.SKIPS) or one.says(wording.SAYS_OFFSET) or one.says(wording.SAYS_PAGINATION):
        return False
    others = (other for other in company.parameters if other.is_named(spelling.RANGE_ENDS))
    return any(other.is_number and not dated(other) for other in others)


def _is_first_of_max(one: FlatParameter, company: ParameterContext) -> bool:
    rivals = names.words("last after before min")
    others = [other for other in company.parameters if other is not one]
    return company.has(_OFFSET_MAX_COMPANY) and not any(other.is_named(rivals) for other in others)


def _page(one: FlatParameter, company: ParameterContext) -> bool | None:
    if not _is_numeric_place(one, company):
        return None
    if wording.COUNTS_PAGES.search(one.opening) and not one.says(wording.SKIPS_PAGES):
        return None
    if one.is_named(spelling.PAGES):
        return True
    has_size = company.has_size(one)
    if one.is_named(spelling.OFFSETS) or one.says(wording.SKIPS_PAGES):
        return True if one.says(wording.SAYS_PAGE) or (has_size and one.says(wording.SKIPS_PAGES)) else None
    if one.is_named(spelling.WEAK_PAGES):
        is_clear = one.is_named(_PAGE_ALONE) and (not one.text or one.is_named(frozenset({"p"})))
        return True if has_size and (is_clear or one.says(wording.SAYS_PAGE)) else None
    if bool(wording.SAYS_PAGE.search(one.opening)) and not one.says(wording.SAYS_SIZE):
        return True if has_size or company.answer.has_member(names.TOTAL_PAGES | names.MORE_FLAGS) else None
    if any(spelling.is_unit_of(one.name, other.name) and other.is_number for other in company.parameters):
        return True
    return True if has_size and spelling.has_page_words(one.name) else None


def _is_numeric_place(one: FlatParameter, company: ParameterContext) -> bool:
    """A number that may count records or pages, in an object of paging or in none."""
    if one.name in company.in_path and not (company.has_size(one) or company.answer.is_collection):
        return False
    if not one.is_number or dated(one) or one.schema.get("format") in {"date", "date-time", "time"}:
        return False
    if one.is_foreign:
        return False
    is_firm = one.is_named(spelling.OFFSETS, spelling.SKIPS, spelling.PAGES) and not one.is_measured
    return not one.is_something_else or one.says(wording.SAYS_PAGINATION) or (is_firm and company.has_firm_size)


_JUDGES: tuple[tuple[PaginationStyle, Callable[[FlatParameter, ParameterContext], bool | None]], ...] = (
    (PaginationStyle.CURSOR, _cursor),
    (PaginationStyle.KEYSET, _keyset),
    (PaginationStyle.OFFSET, _offset),
    (PaginationStyle.PAGE, _page),
)
"""In order of preference: an opaque cursor survives changes of the data, an offset is finer than a page number."""
