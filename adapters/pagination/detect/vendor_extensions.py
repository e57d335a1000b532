"""What the annotations of a document say about paging, each in its vendor's own words.

Knows `x-pagination` (Datadog), `x-ms-pageable` (AutoRest), `x-speakeasy-pagination`, `x-fern-pagination` and the
paginators of AWS models. Knows no response. An annotation names arguments, and only names that the tool has count.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeGuard

from adapters.base import Json, JsonObject, Pagination, PaginationStyle
from adapters.pagination.detect.detect import detect, first_position
from adapters.pagination.detect.page_size import bounds
from adapters.pagination.detect.parameters import flattened, parameter_of
from adapters.pagination.detect.response_schema import ResponseSchema, ResponseShape

_POSITIONS = (("cursor", PaginationStyle.CURSOR), ("offset", PaginationStyle.OFFSET), ("page", PaginationStyle.PAGE))
_REFERENCE = re.compile(r"^\$(?:request|response)?\.?")


def annotated(
    extensions: JsonObject,
    parameters: Mapping[str, JsonObject],
    *,
    description: str = "",
    response: ResponseShape | None = None,
) -> Pagination | None:
    """How the operation with these `x-…` fields pages; None where no annotation says anything that can be used.

    `parameters` are those of `detect`; what an annotation leaves open (bounds, flags) is taken from there.
    """
    readers = (
        ("x-pagination", _datadog),
        ("x-ms-pageable", _microsoft),
        ("x-speakeasy-pagination", _speakeasy),
        ("x-fern-pagination", _fern),
        ("x-amazon-paginator", _amazon),
    )
    for key, reader in readers:
        value = extensions.get(key)
        roles = reader(value) if isinstance(value, dict) else {}
        if roles:
            return _with_roles(roles, flattened(parameters), description=description, response=response)
    return None


def _with_roles(
    roles: Mapping[str, str],
    parameters: Mapping[str, JsonObject],
    *,
    description: str,
    response: ResponseShape | None,
) -> Pagination | None:
    known = {role: name for role, name in roles.items() if name in parameters}
    found = detect(parameters, description=description, response=response)
    position = next(((known[role], kind) for role, kind in _POSITIONS if role in known), None)
    if position is None and "next" not in roles:
        return None
    name, convention = position or (None, PaginationStyle.NEXT_URL)
    if found.convention is not convention or found.position != name:
        found = Pagination(metadata=found.metadata, metadata_value=found.metadata_value, totals=found.totals)
        one = parameter_of(name, parameters[name]) if name is not None else None
        found = replace(
            found, first=first_position(convention, one, ResponseSchema(response)) if one is not None else 0
        )
    limit = known.get("limit")
    sized = bounds(parameter_of(limit, parameters[limit])) if limit is not None else {}
    return replace(
        found,
        convention=convention,
        position=name,
        next_path=roles.get("next"),
        total_path=roles.get("total"),
        is_declared=True,
        **sized,
    )


def _datadog(value: JsonObject) -> dict[str, str]:
    keys = {
        "limit": "limitParam",
        "cursor": "cursorParam",
        "offset": "pageOffsetParam",
        "page": "pageParam",
        "next": "cursorPath",
    }
    return {
        role: _argument(value[key]) if role != "next" else value[key]
        for role, key in keys.items()
        if _is_text(value.get(key))
    }


def _microsoft(value: JsonObject) -> dict[str, str]:
    link = value.get("nextLinkName", "nextLink")
    return {"next": link} if _is_text(link) else {}


def _speakeasy(value: JsonObject) -> dict[str, str]:
    inputs = [one for one in value.get("inputs") or () if isinstance(one, dict)]
    found = {one["type"]: one["name"] for one in inputs if _is_text(one.get("type")) and _is_text(one.get("name"))}
    outputs: Json = value.get("outputs")
    if isinstance(outputs, dict):
        path = outputs.get("nextCursor") or outputs.get("nextUrl")
        found |= {"next": _REFERENCE.sub("", path)} if _is_text(path) else {}
    return found


def _fern(value: JsonObject) -> dict[str, str]:
    found = {}
    for role in ("cursor", "offset", "page"):
        if _is_text(value.get(role)):
            found[role] = _argument(_REFERENCE.sub("", value[role]))
    path = value.get("next_cursor") or value.get("next_uri")
    return found | ({"next": _REFERENCE.sub("", path)} if _is_text(path) else {})


def _amazon(value: JsonObject) -> dict[str, str]:
    """`input_token`, `output_token` and `limit_key`, of which only single names can be followed."""
    keys = {"cursor": "input_token", "limit": "limit_key", "next": "output_token"}
    return {role: value[key] for role, key in keys.items() if _is_text(value.get(key))}


def _argument(name: str) -> str:
    """`body.page.limit` is the member of an object argument."""
    return name.removeprefix("body.").replace(".", "/") if name.startswith("body.") else name


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)
