"""Builds the response of a convention: records, totals, markers and headers in their places.

Pure functions of values.
"""

from collections.abc import Mapping
from typing import Any, assert_never
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mock_api.arguments import JsonObject
from mock_api.conventions.collection import FIRST_ID, ID_STEP, Collection, PagingFault
from mock_api.conventions.faults import reported_total
from mock_api.conventions.request import (
    ConventionRequest,
    ConventionResponse,
    SelectedPage,
    encode_token,
    requested_kind,
    select_page,
    spec_of,
)
from mock_api.conventions.spec import Addressing, ConventionSpec, Flag, LastMarker, NextMarker, RecordWrapper


def page_response(collection: Collection, request: ConventionRequest) -> ConventionResponse:
    """The response to a request for a page. Raises RequestRejected."""
    spec = spec_of(collection)
    if spec.total_only_flag and _is_flag_set(spec.total_only_flag, request):
        total = reported_total(collection, len(collection.ids(requested_kind(request, collection))))
        return ConventionResponse(200, _total_only_body(spec, total), {})
    page = select_page(collection, request)
    body = _body(collection, spec, request, page)
    status = 206 if spec.addressing is Addressing.RANGE and len(page.ids) < page.n_records else 200
    return ConventionResponse(status, body, _headers(collection, spec, request, page), tuple(page.ids))


def count_response(collection: Collection, request: ConventionRequest) -> ConventionResponse:
    """The response of the counting operation. Raises RequestRejected."""
    total = reported_total(collection, len(collection.ids(requested_kind(request, collection))))
    return ConventionResponse(200, {spec_of(collection).count_path or "count": total}, {})


def record_of(collection: Collection, number: int) -> JsonObject:
    """The record with this id, before it is wrapped."""
    position = (number - FIRST_ID) // ID_STEP
    note = f"Thing {number} of {collection.total}. " * (collection.record_chars // 20 + 1)
    kind = "odd" if position % 2 else "even"
    return {"id": number, "kind": kind, "tags": ["a", "b"], "note": note[: collection.record_chars].rstrip()}


def record_id(record: Mapping[str, Any]) -> int:
    """The id of a record, wrapped or not."""
    inner = record.get("_source") or record.get("node") or record
    return int(inner["id"])


def set_path(body: JsonObject, path: str, value: Any) -> None:
    """Set a member by its path and create the objects on the way."""
    *outer, last = path.split("/")
    for segment in outer:
        body = body.setdefault(segment, {})
    body[last] = value


def _is_flag_set(flag: Flag, request: ConventionRequest) -> bool:
    name, value = flag
    return str(request.arguments.get(name)).lower() == str(value).lower()


def _total_only_body(spec: ConventionSpec, total: int) -> JsonObject:
    body: JsonObject = {}
    set_path(body, spec.total or "total", total)
    return body


def _body(
    collection: Collection, spec: ConventionSpec, request: ConventionRequest, page: SelectedPage
) -> JsonObject | list[Any]:
    records = [
        _wrap(spec, record_of(collection, number), next_start=page.start + index + 1)
        for index, number in enumerate(page.ids)
    ]
    if not spec.records:
        return records
    body: JsonObject = dict(spec.constants)
    _add_totals(body, collection, spec, request, page)
    set_path(body, spec.records, records)
    if spec.next and spec.marker is not NextMarker.URL_HEADER:
        _add_next_marker(body, collection, spec, request, page)
    if spec.more:
        has_more = page.next_start is not None
        set_path(body, spec.more, has_more is not spec.is_more_inverted)
    return body


def _wrap(spec: ConventionSpec, record: JsonObject, *, next_start: int) -> JsonObject:
    number = record["id"]
    match spec.wrap:
        case RecordWrapper.PLAIN:
            return record
        case RecordWrapper.HIT:
            sort = {"sort": [number]} if spec.addressing is Addressing.SORT_VALUES else {}
            return {"_index": "things", "_id": str(number), "_source": record, **sort}
        case RecordWrapper.EDGE:
            return {"cursor": encode_token(next_start), "node": record}
        case RecordWrapper.RESOURCE:
            rest = {name: value for name, value in record.items() if name != "id"}
            return {"type": "things", "id": str(number), "attributes": rest}
        case _:
            assert_never(spec.wrap)


def _add_totals(
    body: JsonObject, collection: Collection, spec: ConventionSpec, request: ConventionRequest, page: SelectedPage
) -> None:
    total = reported_total(collection, page.n_records)
    is_reported = collection.says_total and (spec.total_flag is None or _is_flag_set(spec.total_flag, request))
    if spec.total and is_reported and spec.total_only_flag is None:
        set_path(body, spec.total, total)
        if spec.total_relation:
            set_path(body, spec.total_relation, "gte" if collection.fault is PagingFault.ESTIMATED_TOTAL else "eq")
    if spec.pages and is_reported:
        set_path(body, spec.pages, -(-total // page.size))
    if spec.number:
        set_path(body, spec.number, page.start // page.size + spec.first)
    if spec.start:
        set_path(body, spec.start, page.start + spec.first)
    left = page.n_records - page.start - len(page.ids)
    if spec.remaining and collection.says_total and left > 0:
        set_path(body, spec.remaining, left)


def _add_next_marker(
    body: JsonObject, collection: Collection, spec: ConventionSpec, request: ConventionRequest, page: SelectedPage
) -> None:
    path = spec.next or ""
    if spec.marker is NextMarker.LINKS_LIST:
        next_links = (
            [] if page.next_start is None else [_link_object("next", _next_url(collection, spec, request, page))]
        )
        set_path(body, path, [_link_object("self", request.url), *next_links])
        return
    if page.next_start is not None:
        is_token = spec.marker is NextMarker.TOKEN
        set_path(body, path, encode_token(page.next_start) if is_token else _next_url(collection, spec, request, page))
    elif spec.end is not LastMarker.ABSENT:
        set_path(body, path, "" if spec.end is LastMarker.EMPTY else None)


def _link_object(rel: str, href: str) -> JsonObject:
    return {"rel": rel, "type": "application/json", "href": href}


def _next_url(collection: Collection, spec: ConventionSpec, request: ConventionRequest, page: SelectedPage) -> str:
    """The URL of the next page."""
    next_start = page.next_start or 0
    position = str(next_start + spec.first)
    if spec.addressing is Addressing.PAGE:
        position = str(next_start // page.size + spec.first)
    elif spec.addressing is Addressing.TOKEN:
        position = encode_token(next_start)
    parameters = {spec.position or "": position, **({spec.size: str(page.size)} if spec.size else {})}
    url = with_query(request.url, parameters, is_rest_dropped=collection.fault is PagingFault.DROPPED_ARGUMENTS)
    parts = urlsplit(url)
    if collection.fault is PagingFault.FOREIGN_NEXT:
        foreign = urlsplit(collection.foreign)
        return urlunsplit(parts._replace(scheme=foreign.scheme, netloc=foreign.netloc))
    if spec.marker is NextMarker.RELATIVE_URL:
        return urlunsplit(parts._replace(scheme="", netloc=""))
    return url


def with_query(url: str, changed: Mapping[str, str], *, is_rest_dropped: bool = False) -> str:
    """The URL with these query parameters; others are kept, or dropped with `is_rest_dropped`."""
    parts = urlsplit(url)
    others = [] if is_rest_dropped else [pair for pair in parse_qsl(parts.query) if pair[0] not in changed]
    return urlunsplit(parts._replace(query=urlencode([*others, *changed.items()])))


def _headers(
    collection: Collection, spec: ConventionSpec, request: ConventionRequest, page: SelectedPage
) -> dict[str, str]:
    headers: dict[str, str] = {}
    if spec.total_header and collection.says_total:
        headers[spec.total_header] = str(reported_total(collection, page.n_records))
    if spec.marker is NextMarker.URL_HEADER and page.next_start is not None:
        headers[spec.next or "Next-Page"] = _next_url(collection, spec, request, page)
    if spec.marker is NextMarker.LINK_HEADER and (links := _link_header(collection, spec, request, page)):
        headers["Link"] = links
    if spec.addressing is Addressing.RANGE:
        headers["Range-Unit"] = "items"
        headers["Content-Range"] = _content_range(collection, request, page)
    return headers


def _link_header(collection: Collection, spec: ConventionSpec, request: ConventionRequest, page: SelectedPage) -> str:
    has_results_member = collection.fault is PagingFault.RESULTS_FALSE_LINK
    links = []
    if page.next_start is not None or has_results_member:
        url = _next_url(collection, spec, request, page)
        results = f'; results="{"false" if page.next_start is None else "true"}"' if has_results_member else ""
        links.append(f'<{url}>; rel="next"{results}')
    if spec.addressing is Addressing.PAGE and collection.says_total and page.n_records:
        last = (page.n_records - 1) // page.size + spec.first
        parameters = {spec.position or "": str(last), spec.size or "": str(page.size)}
        links.append(f'<{with_query(request.url, parameters)}>; rel="last"')
    return ", ".join(links)


def _content_range(collection: Collection, request: ConventionRequest, page: SelectedPage) -> str:
    is_exact = "count=exact" in request.headers.get("prefer", "") and collection.says_total
    total = str(reported_total(collection, page.n_records)) if is_exact else "*"
    return f"{page.start}-{page.start + len(page.ids) - 1}/{total}" if page.ids else f"*/{total}"
