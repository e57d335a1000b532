"""How a tool pages, as far as its document tells.

Knows the order in which claims are believed. Knows no response: a server is free to page otherwise, and the probe
looks. What an answer's description rules out (one record, a stream, an acknowledgement with nothing to follow) is
never paged, whatever the parameters are called.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from adapters.base import JsonObject, Pagination, PaginationStyle
from adapters.pagination.detect.candidates import ParameterContext, PositionCandidate, claims
from adapters.pagination.detect.page_size import (
    as_numbers,
    bounds,
    is_text_only,
    metadata_flag,
    size_alone,
    size_beside,
    total_flags,
)
from adapters.pagination.detect.parameters import (
    TEXT,
    FlatParameter,
    dated,
    end_beside,
    flattened,
    known_by_company,
    parameter_of,
    span_of,
)
from adapters.pagination.detect.response_schema import ResponseSchema, ResponseShape, answer_of
from adapters.pagination.vocabulary import descriptions as wording
from adapters.pagination.vocabulary import members as names
from adapters.pagination.vocabulary import parameters as spelling

_DOWNWARD = names.words("max_id")
_SCIM = names.words("resources schemas items_per_page")
_KEY_MEMBERS = ("id", "_id", "uuid", "key")


def detect(
    parameters: Mapping[str, JsonObject],
    *,
    description: str = "",
    response: ResponseShape | None = None,
    required: Collection[str] = (),
    in_path: Collection[str] = (),
    is_addressed: bool = False,
) -> Pagination:
    """How the tool with these parameters (name -> JSON Schema, objects are opened to `object/member`) pages.

    `description` is the tool's own; it can supply the words that a bare parameter lacks, never take one away.
    `response` is what the document says of the answers. `required` names the parameters that must be given: a cursor
    among them is the caller's own, since the first page has none. `in_path` names those that are parts of an address.
    `is_addressed` says that the tool asks for one thing by its identifier. The headers `Range`, `Range-Unit` and
    `Prefer` may stand among the parameters.
    """
    answer = answer_of(response)
    opened = flattened(parameters).items()
    plain = [parameter_of(name, schema, is_number=answer.counts(name)) for name, schema in opened]
    known = as_numbers(known_by_company(plain), answer)
    company = ParameterContext(known, description, answer, frozenset(required), frozenset(in_path))
    flag = metadata_flag(company.asked)
    if answer.is_surely_one and (is_addressed or not company.has_firm_pair):
        return _with_flag(Pagination(), flag)
    found = _paged(company)
    if found.convention is not PaginationStyle.SINGLE or found.size is not None:
        has_range = found.convention is PaginationStyle.RANGE
        found = replace(
            found,
            totals=total_flags((p for p in company.asked if not _takes(found, p)), has_range=has_range),
            texts=tuple(one.name for one in known if _counts(found, one) and is_text_only(one)),
        )
    return _with_flag(found, flag)


def _with_flag(found: Pagination, flag: tuple[str, object] | None) -> Pagination:
    if flag is None or flag[0] in found.hidden:
        return (
            found if flag is None else replace(_without_total(found, flag[0]), metadata=flag[0], metadata_value=flag[1])
        )
    return replace(found, metadata=flag[0], metadata_value=flag[1])


def _without_total(found: Pagination, name: str) -> Pagination:
    return replace(found, totals=tuple(pair for pair in found.totals if pair[0] != name))


def _takes(found: Pagination, parameter: FlatParameter) -> bool:
    return parameter.name in (found.position, found.size, found.last)


def _counts(found: Pagination, parameter: FlatParameter) -> bool:
    """Whether a number is sent for it: as a size, or as a position where pages have addresses."""
    return parameter.name in (found.size, found.last) or (found.is_addressable and parameter.name == found.position)


def _paged(company: ParameterContext) -> Pagination:
    """By the surest claim, else by what the answer names, else by ranges of a header; else a size alone."""
    found = _ordered(claims(company))
    if found and not _is_ungivable(found[0], company):
        return _by_position(found, company)
    is_listing = company.answer.is_collection or company.answer.has_next_url_beside_list or bool(found)
    if is_listing and (convention := _by_answer(company.answer)) is not None:
        size = size_beside(None, _plain_names(company.asked))
        back = [one.name for one in company.asked if one.is_named(spelling.FIRM_BACKWARD)]
        names_found = (claim.parameter.name for claim in found if claim.parameter in company.asked)
        hidden = tuple(dict.fromkeys([*names_found, *back]))
        return Pagination(convention=convention, other_hidden=hidden, **bounds(size))
    if found:
        return _by_position(found, company)
    if company.answer.has_link_list and size_beside(None, _plain_names(company.asked)) is not None:
        size = size_beside(None, _plain_names(company.asked))
        return Pagination(convention=PaginationStyle.NEXT_URL, **bounds(size))
    return _by_range(company) or Pagination(**bounds(size_alone(company.asked)))


def _ordered(found: Sequence[PositionCandidate]) -> list[PositionCandidate]:
    """Claims that are sure, else all: a key that is not sure is a filter beside anything else.

    What a document calls deprecated stands behind all others. Of several keys the one that goes down is taken, since
    such lists begin with the newest record.
    """
    current = [claim for claim in found if not claim.parameter.is_deprecated] or list(found)
    chosen = [claim for claim in current if claim.is_sure] or current
    if chosen and chosen[0].convention is PaginationStyle.KEYSET:
        return sorted(chosen, key=lambda claim: _DOWNWARD.isdisjoint(claim.parameter.forms))
    return chosen


def _is_ungivable(claim: PositionCandidate, company: ParameterContext) -> bool:
    """Whether a cursor cannot be read from the answer, which has the address of the next page instead."""
    has_address = company.answer.has_header("link") or bool(company.answer.next_url)
    if claim.convention is PaginationStyle.KEYSET and has_address:
        return True
    if claim.convention is not PaginationStyle.CURSOR or _by_answer(company.answer) is None:
        return False
    if claim.parameter.says(wording.NOT_BY_HAND):
        return True
    if claim.parameter.says(wording.LINK_HEADER) and company.answer.has_header("link"):
        return True
    if company.answer.next_url is None and not company.answer.is_described:
        return False
    if claim.parameter.is_named(spelling.CURSORS) and company.answer.next_url and not company.answer.has_clear_next_url:
        return False
    return not company.answer.returns(claim.parameter.name) and not company.answer.markers - names.NEXT_URLS


def _by_position(found: Sequence[PositionCandidate], company: ParameterContext) -> Pagination:
    claim = found[0]
    position = claim.parameter
    end = end_beside(position, company.asked) if claim.convention is PaginationStyle.OFFSET else None
    size = None if end else company.size_of(position)
    taken = {position.name, size.name if size else None, end.name if end else None}
    back = [one for one in company.asked if _leads_back(one, claim)]
    further = [*back, *(claim.parameter for claim in found[1:])]
    others = dict.fromkeys(one.name for one in further if one.name not in taken and one.name not in company.in_path)
    return Pagination(
        convention=claim.convention,
        position=position.name,
        first=first_position(claim.convention, position, company.answer),
        last=end.name if end else None,
        span=span_of(position, end) if end else None,
        window=_window(position, size) if claim.convention is PaginationStyle.OFFSET else None,
        key=_key(claim, company.answer),
        next_path=_said_place(claim, company.answer),
        other_hidden=tuple(others),
        **bounds(size),
    )


def _said_place(claim: PositionCandidate, answer: ResponseSchema) -> str | None:
    """Where the words of a cursor say that the answer has it, if nothing in the answer is called a next page."""
    is_known = bool(answer.markers) or answer.next_url is not None or answer.returns(claim.parameter.name)
    return None if claim.convention is not PaginationStyle.CURSOR or is_known else answer.named_in(claim.parameter.text)


def _leads_back(one: FlatParameter, claim: PositionCandidate) -> bool:
    """Whether a parameter is the backward twin of the cursor: by its name, or by what is said of it."""
    if one.is_named(spelling.FIRM_BACKWARD) and one.is_text:
        return True
    is_twin = claim.convention is PaginationStyle.CURSOR and one.types == claim.parameter.types and not dated(one)
    is_said = one.says(wording.IS_CURSOR) or one.says(wording.USED_FOR_PAGING)
    return is_twin and one.is_named(spelling.BACKWARD) and is_said


def _by_answer(answer: ResponseSchema) -> PaginationStyle | None:
    """Where the answer names the next page: in its body, in a header of its own, or in `Link`."""
    if answer.next_url is not None or answer.next_header is not None:
        return PaginationStyle.NEXT_URL
    return PaginationStyle.LINK_HEADER if answer.has_header("link") else None


def _by_range(company: ParameterContext) -> Pagination | None:
    """The header `Range`, where it counts records and not bytes, or an answer that tells a range."""
    asked = [one for one in company.asked if one.forms & spelling.RANGE_HEADERS]
    ranges = [one for one in asked if one.is_named(frozenset({"range"})) and not one.says(wording.BYTES)]
    has_unit = any(one.is_named(frozenset({"rangeunit"})) for one in asked)
    is_told = company.answer.has_header("content-range") and company.answer.is_collection
    if not ranges or not (has_unit or is_told or any(one.says(wording.ABOUT_PAGING) for one in ranges)):
        return None
    size = size_beside(None, _plain_names(company.asked))
    hidden = tuple(one.name for one in asked)
    return Pagination(convention=PaginationStyle.RANGE, other_hidden=hidden, **bounds(size))


def _plain_names(known: Sequence[FlatParameter]) -> list[FlatParameter]:
    """Parameters whose size can be believed without a position beside them, since the answer pages surely."""
    return [one for one in known if not spelling.parent(one.name) and not one.is_named(spelling.OFFSETS)]


def first_position(convention: PaginationStyle, position: FlatParameter, answer: ResponseSchema) -> int:
    """The position of the first page: what a request without it gets (default), the lowest legal one, or the words."""
    if convention not in (PaginationStyle.OFFSET, PaginationStyle.PAGE):
        return 0
    for stated in (position.number("default"), position.number("minimum")):
        if stated in (0, 1):
            return stated
    if wording.ONE_BASED.search(position.text) or wording.SAYS_SCIM.search(position.text):
        return 1
    is_page = convention is PaginationStyle.PAGE
    if wording.ZERO_BASED.search(position.text) or (is_page and wording.FROM_PAGE_0.search(position.text)):
        return 0
    if is_page and position.says(wording.SKIPS_PAGES):
        return 0
    is_scim = position.is_named(names.words("start_index")) and answer.has_member(_SCIM)
    return 1 if is_scim or is_page else 0


def _window(position: FlatParameter, size: FlatParameter | None) -> int | None:
    """How many records can be reached, where the description of the position or the size says so."""
    for one in (position, size):
        stated = wording.WINDOW.search(one.text) if one is not None else None
        if stated is not None:
            return int(stated.group(1).replace(",", "").replace(".", ""))
    return None


def _key(claim: PositionCandidate, answer: ResponseSchema) -> str | None:
    """What a keyset page begins after: the last hit's `sort`, or the one identifier that a record is known to have."""
    if claim.convention is not PaginationStyle.KEYSET or answer.shape is None:
        return None
    if claim.parameter.is_named(spelling.SEARCH_AFTER) and not claim.parameter.types & TEXT:
        return "sort"
    return next((name for name in _KEY_MEMBERS if name in answer.shape.item_members), None)
