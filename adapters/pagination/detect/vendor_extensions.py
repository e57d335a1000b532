"""Pagination declared by vendor extensions of a document: `x-pagination` (Datadog) and `x-ms-pageable` (AutoRest)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeGuard

from adapters.base import JsonObject, Pagination, PaginationStyle
from adapters.pagination.detect.detect import detect, first_position
from adapters.pagination.detect.page_size import size_fields
from adapters.pagination.detect.parameters import flat_parameter, flatten_parameters
from adapters.pagination.detect.response_schema import UNKNOWN_RESPONSE, ResponseSchema

_DATADOG_POSITIONS = {
    "cursorParam": PaginationStyle.CURSOR,
    "pageOffsetParam": PaginationStyle.OFFSET,
    "pageParam": PaginationStyle.PAGE,
}


def declared_pagination(
    extensions: JsonObject,
    parameters: Mapping[str, JsonObject],
    *,
    description: str = "",
    response: ResponseSchema | None = None,
) -> Pagination | None:
    """How the operation with these `x-…` fields pages; None if they do not say, or name unknown parameters.

    `parameters` are those of `detect`, which supplies what an extension leaves open, such as flags for totals.
    """
    datadog, microsoft = extensions.get("x-pagination"), extensions.get("x-ms-pageable")
    if not isinstance(datadog, dict) and not isinstance(microsoft, dict):
        return None
    flat = flatten_parameters(parameters)
    found = detect(flat, description=description, response=response)
    if isinstance(datadog, dict):
        return _datadog(datadog, found, flat, response or UNKNOWN_RESPONSE)
    return _microsoft(microsoft or {}, found)


def _microsoft(fields: JsonObject, found: Pagination) -> Pagination | None:
    """The response has the URL of the next page in the member `nextLinkName`."""
    link = fields.get("nextLinkName", "nextLink")
    if not _is_text(link):
        return None
    is_by_url = found.convention is PaginationStyle.NEXT_URL and found.position is None
    return replace(
        found if is_by_url else _only_flags(found),
        convention=PaginationStyle.NEXT_URL,
        next_path=link,
        is_declared=True,
        rule="x-ms-pageable",
    )


def _datadog(
    fields: JsonObject, found: Pagination, parameters: Mapping[str, JsonObject], schema: ResponseSchema
) -> Pagination | None:
    named = {key: _path(value) for key, value in fields.items() if _is_text(value)}
    key = next((key for key in _DATADOG_POSITIONS if named.get(key) in parameters), None)
    if key is None:
        return None
    style, position = _DATADOG_POSITIONS[key], named[key]
    if found.convention is not style or found.position != position:
        first = first_position(style, flat_parameter(position, parameters[position]), schema)
        found = replace(_only_flags(found), first=first)
    limit = named.get("limitParam")
    size = flat_parameter(limit, parameters[limit]) if limit is not None and limit in parameters else None
    return replace(
        found,
        convention=style,
        position=position,
        next_path=fields["cursorPath"] if "cursorPath" in named else None,
        is_declared=True,
        rule="x-pagination",
        **size_fields(size),
    )


def _only_flags(found: Pagination) -> Pagination:
    return Pagination(metadata=found.metadata, metadata_value=found.metadata_value, total_flags=found.total_flags)


def _path(name: str) -> str:
    """`body.page.limit` is the member `page/limit` of an object argument."""
    return name.removeprefix("body.").replace(".", "/") if name.startswith("body.") else name


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)
