"""Static detection: how a tool pages, by its parameters and its response schema.

The probe checks the result against the server. A response described as one record, a stream or an acknowledgement is
never paged, regardless of the names of the parameters.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from adapters.base import Json, JsonObject, Pagination, PaginationStyle
from adapters.pagination.detect.candidates import PositionCandidate, position_candidates, preferred
from adapters.pagination.detect.context import ParameterContext
from adapters.pagination.detect.numeric_strings import is_text_only, numeric_strings
from adapters.pagination.detect.page_size import find_page_size, find_size_without_position, size_fields
from adapters.pagination.detect.parameters import (
    TEXT,
    FlatParameter,
    first_last_pair,
    flat_parameter,
    flatten_parameters,
    mark_grouped,
    range_size,
)
from adapters.pagination.detect.response_schema import UNKNOWN_RESPONSE, ResponseSchema
from adapters.pagination.detect.total_flags import metadata_flag, total_flags
from adapters.pagination.vocabulary import descriptions as phrases
from adapters.pagination.vocabulary import members
from adapters.pagination.vocabulary import parameters as spelling
from adapters.pagination.vocabulary.members import plain, words

_START_INDEX = words("start_index")
_SCIM = words("resources schemas items_per_page")
_RANGE, _RANGE_UNIT = words("range"), words("range_unit")
_KEY_MEMBERS = ("id", "_id", "uuid", "key")


def detect(
    parameters: Mapping[str, JsonObject],
    *,
    description: str = "",
    response: ResponseSchema | None = None,
    required: Collection[str] = (),
    in_path: Collection[str] = (),
    is_item: bool = False,
) -> Pagination:
    """How the tool with these parameters (name -> JSON Schema) pages. Objects are opened to `object/member`.

    `description` is the tool's own; it is used for parameters without one. `required` and `in_path` are names of
    parameters. `is_item`: the tool asks for one thing by its identifier. The headers `Range`, `Range-Unit` and `Prefer`
    may be among the parameters.
    """
    schema = response or UNKNOWN_RESPONSE
    flat = [
        flat_parameter(name, one, is_integer=plain(name) in schema.integers)
        for name, one in flatten_parameters(parameters).items()
    ]
    typed = numeric_strings(mark_grouped(flat), schema)
    context = ParameterContext(typed, description, schema, frozenset(required), frozenset(in_path))
    flag = metadata_flag(context.outside_path)
    if schema.is_one_record and (is_item or not context.has_position_and_size):
        return _with_metadata_flag(Pagination(), flag)
    found = _pagination(context)
    if found.convention is not PaginationStyle.SINGLE or found.size is not None:
        others = (one for one in context.outside_path if one.name not in (found.position, found.size, found.range_end))
        has_range = found.convention is PaginationStyle.RANGE
        found = replace(
            found,
            total_flags=total_flags(others, has_range=has_range),
            numeric_strings=tuple(one.name for one in typed if _is_number_of(found, one) and is_text_only(one)),
        )
    return _with_metadata_flag(found, flag)


def _with_metadata_flag(found: Pagination, flag: tuple[str, Json] | None) -> Pagination:
    if flag is None:
        return found
    name, value = flag
    totals = tuple(pair for pair in found.total_flags if pair[0] != name)
    return replace(found, total_flags=totals, metadata=name, metadata_value=value)


def _is_number_of(found: Pagination, parameter: FlatParameter) -> bool:
    """Whether a number is sent for it: as a size, or as a position of addressable pages."""
    return parameter.name in (found.size, found.range_end, found.position if found.is_addressable else None)


def _pagination(context: ParameterContext) -> Pagination:
    """By the preferred candidate, else by what the response names, else by the header `Range`, else by a size alone."""
    found = preferred(position_candidates(context))
    if found and not _is_replaced_by_url(found[0], context):
        return _by_position(found, context)
    schema = context.response
    is_listing = schema.is_collection or schema.has_next_url_beside_list or bool(found)
    if is_listing and (style := _style_of_response(schema)) is not None:
        return _by_response(style, found, context)
    if found:
        return _by_position(found, context)
    return _by_range_header(context) or _by_size_alone(context)


def _by_response(style: PaginationStyle, found: Sequence[PositionCandidate], context: ParameterContext) -> Pagination:
    backward = [one.name for one in context.outside_path if one.is_named(spelling.UNAMBIGUOUS_BACKWARD)]
    candidates = (one.parameter.name for one in found if one.parameter in context.outside_path)
    return Pagination(
        convention=style,
        other_hidden=tuple(dict.fromkeys([*candidates, *backward])),
        rule="Link header" if style is PaginationStyle.LINK_HEADER else "next page URL in the response",
        **size_fields(_size_without_position(context)),
    )


def _is_replaced_by_url(candidate: PositionCandidate, context: ParameterContext) -> bool:
    """Whether the response has the URL of the next page, and no value for the candidate."""
    parameter, schema = candidate.parameter, context.response
    if candidate.style is PaginationStyle.KEYSET and (schema.has_header("link") or schema.next_url):
        return True
    if candidate.style is not PaginationStyle.CURSOR or _style_of_response(schema) is None:
        return False
    if parameter.mentions(phrases.SET_BY_SERVER):
        return True
    if parameter.mentions(phrases.LINK_HEADER) and schema.has_header("link"):
        return True
    if schema.next_url is None and not schema.is_described:
        return False
    if parameter.is_named(spelling.CURSORS) and schema.next_url and not schema.has_unambiguous_next_url:
        return False
    return not schema.returns(parameter.name) and not schema.pointers - members.NEXT_URLS


def _by_position(found: Sequence[PositionCandidate], context: ParameterContext) -> Pagination:
    candidate, *others = found
    position, style = candidate.parameter, candidate.style
    last = first_last_pair(position, context.outside_path) if style is PaginationStyle.OFFSET else None
    size = None if last else context.size_of(position)
    taken = {one.name for one in (position, size, last) if one is not None}
    backward = [one for one in context.outside_path if _is_backward(one, candidate)]
    hidden = dict.fromkeys(one.name for one in (*backward, *(other.parameter for other in others)))
    return Pagination(
        convention=style,
        position=position.name,
        first=first_position(style, position, context.response),
        range_end=last.name if last else None,
        range_size=range_size(position, last) if last else None,
        window=_window(position, size) if style is PaginationStyle.OFFSET else None,
        key=_key(candidate, context.response),
        next_path=_described_path(candidate, context.response),
        other_hidden=tuple(name for name in hidden if name not in taken | context.in_path),
        rule=candidate.rule.name,
        **size_fields(size),
    )


def _described_path(candidate: PositionCandidate, schema: ResponseSchema) -> str | None:
    """The path of the cursor that the parameter's description names, if the response names no next page."""
    is_known = bool(schema.pointers) or schema.next_url is not None or schema.returns(candidate.parameter.name)
    if candidate.style is not PaginationStyle.CURSOR or is_known:
        return None
    return schema.path_named_in(candidate.parameter.description)


def _is_backward(parameter: FlatParameter, candidate: PositionCandidate) -> bool:
    """Whether a parameter is the cursor's counterpart for the previous page, by its name or its description."""
    if parameter.is_named(spelling.UNAMBIGUOUS_BACKWARD) and parameter.accepts_text:
        return True
    is_alike = candidate.style is PaginationStyle.CURSOR and parameter.types == candidate.parameter.types
    is_described = parameter.mentions(phrases.DEFINITE_CURSOR) or parameter.mentions(phrases.FOR_PAGINATION)
    return is_alike and not parameter.is_date and parameter.is_named(spelling.BACKWARD) and is_described


def _style_of_response(schema: ResponseSchema) -> PaginationStyle | None:
    """The style by which the response names the next page: a URL in its body or a header, or a `Link` header."""
    if schema.next_url is not None or schema.next_header is not None:
        return PaginationStyle.NEXT_URL
    return PaginationStyle.LINK_HEADER if schema.has_header("link") else None


def _by_range_header(context: ParameterContext) -> Pagination | None:
    """The header `Range`, if it counts records and not bytes."""
    headers = [one for one in context.outside_path if one.spellings & spelling.RANGE_HEADERS]
    ranges = [one for one in headers if one.is_named(_RANGE) and not one.mentions(phrases.BYTES)]
    has_unit = any(one.is_named(_RANGE_UNIT) for one in headers)
    is_answered = context.response.has_header("content-range") and context.response.is_collection
    if not ranges or not (has_unit or is_answered or any(one.mentions(phrases.RESULTS) for one in ranges)):
        return None
    hidden, size = tuple(one.name for one in headers), _size_without_position(context)
    rule = "Range header for records"
    return Pagination(convention=PaginationStyle.RANGE, other_hidden=hidden, rule=rule, **size_fields(size))


def _by_size_alone(context: ParameterContext) -> Pagination:
    size = find_size_without_position(context.outside_path)
    return Pagination() if size is None else Pagination(rule="page size without a position", **size_fields(size))


def _size_without_position(context: ParameterContext) -> FlatParameter | None:
    """The page size of a tool whose response names the next page."""
    parameters = context.outside_path
    return find_page_size(
        None, [one for one in parameters if not spelling.parent(one.name) and not one.is_named(spelling.OFFSETS)]
    )


def first_position(style: PaginationStyle, position: FlatParameter, schema: ResponseSchema) -> int:
    """The position of the first page: by the default, the minimum, or the description; else 0, and 1 for pages."""
    if style not in (PaginationStyle.OFFSET, PaginationStyle.PAGE):
        return 0
    for stated in (position.integer("default"), position.integer("minimum")):
        if stated in (0, 1):
            return stated
    if position.mentions(phrases.ONE_BASED) or position.mentions(phrases.SCIM):
        return 1
    is_page = style is PaginationStyle.PAGE
    zero_based = (
        (phrases.ZERO_BASED, phrases.FIRST_PAGE_IS_0, phrases.PAGES_TO_SKIP) if is_page else (phrases.ZERO_BASED,)
    )
    if any(map(position.mentions, zero_based)):
        return 0
    is_scim = position.is_named(_START_INDEX) and schema.has_member(_SCIM)
    return 1 if is_scim or is_page else 0


def _window(position: FlatParameter, size: FlatParameter | None) -> int | None:
    """How many records can be reached, if the description of the position or the size says so."""
    for one in (position, size):
        stated = phrases.RESULT_WINDOW.search(one.description) if one is not None else None
        if stated is not None:
            return int(stated.group(1).replace(",", "").replace(".", ""))
    return None


def _key(candidate: PositionCandidate, schema: ResponseSchema) -> str | None:
    """The member of a record that a keyset page starts after: the last hit's `sort`, or an identifier."""
    if candidate.style is not PaginationStyle.KEYSET or not schema.is_known:
        return None
    if candidate.parameter.is_named(spelling.SEARCH_AFTER) and not candidate.parameter.types & TEXT:
        return "sort"
    return next((name for name in _KEY_MEMBERS if name in schema.item_members), None)
