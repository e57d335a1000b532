"""Services that paginate in unusual ways: foreign parameter names, odd response shapes, faults beyond the conventions.

Each service is one function from a request to a response, over the same records. The OpenAPI document declares the
parameters and says nothing about the responses.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from mock_api.arguments import JsonObject

INTEGER: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string"}
DATE_TIME: JsonObject = {"type": "string", "format": "date-time"}


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """A request: its arguments, the total number of records, and the URL without its query."""

    arguments: Mapping[str, str]
    total: int
    url: str

    def integer(self, name: str, default: int) -> int:
        """An integer argument."""
        return int(self.arguments.get(name) or default)

    def size(self, name: str, cap: int = 50) -> int:
        """A page size, clamped silently to `cap`."""
        return min(self.integer(name, 20), cap)

    def records(self, start: int, size: int) -> list[JsonObject]:
        """The records of a page that starts at `start`."""
        return [record(index) for index in range(max(0, start), min(start + size, self.total))]


ServiceHandler = Callable[[ServiceRequest], Response]


@dataclass(frozen=True, slots=True)
class UnusualService:
    """One service. `is_readable` says that a client that understands it can read all records."""

    name: str
    parameters: Mapping[str, JsonObject]
    respond: ServiceHandler
    is_readable: bool = True


def record(index: int) -> JsonObject:
    """The record at `index`, from 0; the newest comes first."""
    return {
        "id": index + 1,
        "label": f"part {index}",
        "at": f"2026-{12 - index // 28:02}-{28 - index % 28:02}T12:00:00Z",
    }


def _json(payload: object, status: int = 200) -> Response:
    return JSONResponse(payload, status_code=status)


def _czech_page_numbers(request: ServiceRequest) -> Response:
    size = request.size("naStranku")
    start = (request.integer("strana", 1) - 1) * size
    return _json({"polozky": request.records(start, size), "pocetStranek": -(-request.total // size)})


def _spanish_offset(request: ServiceRequest) -> Response:
    start, size = request.integer("desde", 0), request.size("cuantos")
    return _json({"datos": request.records(start, size), "hay_mas": start + size < request.total})


def _numeric_cursor(request: ServiceRequest) -> Response:
    start, size = request.integer("cursor", 0), request.size("limit")
    return _json({"msgs": request.records(start, size), "cursor": start + size if start + size < request.total else -1})


def _token_on_last_page(request: ServiceRequest) -> Response:
    start, size = request.integer("continueFrom", 0), request.size("maxEntries")
    response = {"isComplete": start + size >= request.total, "continueFrom": f"{start + size:06}"}
    return _json({"jobs": request.records(start, size), **response})


def _page_length_as_total(request: ServiceRequest) -> Response:
    page = request.records(request.integer("offset", 0), request.size("limit"))
    return _json({"items": page, "total": len(page)})


def _pages_from_zero(request: ServiceRequest) -> Response:
    size = request.size("size")
    return _json(request.records(request.integer("page", 0) * size, size))


def _rejects_large_pages(request: ServiceRequest) -> Response:
    size = request.integer("page_size", 20)
    if size > 35:
        return _json({"detail": [{"msg": "Input should be less than or equal to 35", "ctx": {"le": 35}}]}, 422)
    return _json(request.records((request.integer("page", 1) - 1) * size, size))


def _internal_next_url(request: ServiceRequest) -> Response:
    start, size = request.integer("cursor", 0), request.size("page_size")
    url = f"http://parts.internal:8080/v1/parts?cursor={start + size}&page_size={size}"
    return _json({"results": request.records(start, size), "next": url if start + size < request.total else None})


def _wrong_scheme(request: ServiceRequest) -> Response:
    start = request.integer("o", 0)
    url = f"{request.url.replace('http://', 'https://')}?o={start + 20}"
    return _json({"items": request.records(start, 20), "next": url if start + 20 < request.total else None})


def _always_has_next(request: ServiceRequest) -> Response:
    page = request.integer("page", 1)
    return _json({"items": request.records((page - 1) * 20, 20), "next": f"{request.url}?page={page + 1}"})


def _older_than(request: ServiceRequest) -> Response:
    cutoff = request.arguments.get("older_than") or "9999"
    return _json({"entries": [row for row in request.records(0, request.total) if str(row["at"]) < cutoff][:20]})


def _csv(request: ServiceRequest) -> Response:
    size = request.size("per_page")
    records = request.records((request.integer("page", 1) - 1) * size, size)
    lines = "".join(f'{row["id"]},"{row["label"]}, ""new"""\r\n' for row in records)
    return PlainTextResponse(f"id,label\r\n{lines}", media_type="text/csv")


def _xssi_prefix(request: ServiceRequest) -> Response:
    payload = {"items": request.records(request.integer("offset", 0), request.size("limit")), "total": request.total}
    return Response(f")]}}',\n{json.dumps(payload)}", media_type="application/json")


def _load_more_action(request: ServiceRequest) -> Response:
    start = request.integer("from", 0)
    more = [{"id": "loadMore", "url": f"{request.url}?from={start + 20}"}]
    return _json({"cards": request.records(start, 20), "actions": more if start + 20 < request.total else []})


def _silently_clamped(request: ServiceRequest) -> Response:
    size = request.integer("size", 20)
    return _json(request.records((request.integer("page", 1) - 1) * size, min(size, 50)))


def _metadata_list(request: ServiceRequest) -> Response:
    size, page = request.size("size"), request.integer("page", 1)
    meta = [{"name": "total", "value": request.total}, {"name": "page", "value": page}]
    return _json({"content": request.records((page - 1) * size, size), "meta": meta})


def _missing_page(request: ServiceRequest) -> Response:
    size, page = request.size("size", 20), request.integer("page", 1)
    return _json({"error": "gone"}, 404) if page == 2 else _json({"items": request.records((page - 1) * size, size)})


def _error_with_status_200(request: ServiceRequest) -> Response:
    size, page = request.size("size", 20), request.integer("page", 1)
    if page == 2:
        return _json({"status": "error", "message": "backend gone", "items": []})
    return _json({"items": request.records((page - 1) * size, size)})


def _aborted_ndjson(request: ServiceRequest) -> Response:
    size, page = request.size("size", 20), request.integer("page", 1)
    records: list[JsonObject] = [
        *request.records((page - 1) * size, size),
        *([{"error": "stream aborted"}] * (page == 2)),
    ]
    return Response("\n".join(map(json.dumps, records)), media_type="application/x-ndjson")


def _invalid_auth(request: ServiceRequest) -> Response:
    return _json({"ok": request.total < 0, "error": "invalid_auth"})


PAGE_AND_SIZE: Mapping[str, JsonObject] = {"page": INTEGER, "size": INTEGER}
UNUSUAL_SERVICES = (
    UnusualService("czech_page_numbers", {"strana": INTEGER, "naStranku": INTEGER}, _czech_page_numbers),
    UnusualService("spanish_offset", {"desde": INTEGER, "cuantos": INTEGER}, _spanish_offset),
    UnusualService("numeric_cursor", {"cursor": TEXT, "limit": INTEGER}, _numeric_cursor),
    UnusualService("token_on_last_page", {"continueFrom": TEXT, "maxEntries": INTEGER}, _token_on_last_page),
    UnusualService("page_length_as_total", {"offset": INTEGER, "limit": INTEGER}, _page_length_as_total),
    UnusualService("pages_from_zero", PAGE_AND_SIZE, _pages_from_zero),
    UnusualService("rejects_large_pages", {"page": INTEGER, "page_size": INTEGER}, _rejects_large_pages),
    UnusualService("internal_next_url", {"cursor": TEXT, "page_size": INTEGER}, _internal_next_url),
    UnusualService("wrong_scheme", {}, _wrong_scheme),
    UnusualService("always_has_next", {"page": INTEGER}, _always_has_next),
    UnusualService("older_than", {"older_than": DATE_TIME}, _older_than),
    UnusualService("csv", {"page": INTEGER, "per_page": INTEGER}, _csv),
    UnusualService("xssi_prefix", {"offset": INTEGER, "limit": INTEGER}, _xssi_prefix),
    UnusualService("load_more_action", {}, _load_more_action),
    UnusualService("silently_clamped", PAGE_AND_SIZE, _silently_clamped),
    UnusualService("metadata_list", PAGE_AND_SIZE, _metadata_list),
    UnusualService("missing_page", PAGE_AND_SIZE, _missing_page, is_readable=False),
    UnusualService("error_with_status_200", PAGE_AND_SIZE, _error_with_status_200, is_readable=False),
    UnusualService("aborted_ndjson", PAGE_AND_SIZE, _aborted_ndjson, is_readable=False),
    UnusualService("invalid_auth", PAGE_AND_SIZE, _invalid_auth, is_readable=False),
)


def create_unusual_app(total: int, *, requested_urls: list[str]) -> Starlette:
    """All unusual services over `total` records, each on the path of its name; adds requests to `requested_urls`."""
    routes = [Route(f"/{service.name}", _route_handler(service, total, requested_urls)) for service in UNUSUAL_SERVICES]
    return Starlette(routes=[*routes, Route("/openapi.json", lambda _: JSONResponse(_document()))])


def _route_handler(service: UnusualService, total: int, requested_urls: list[str]) -> Callable[[Request], Response]:
    def handle(request: Request) -> Response:
        requested_urls.append(str(request.url))
        return service.respond(ServiceRequest(dict(request.query_params), total, str(request.url.replace(query=""))))

    return handle


def _document() -> JsonObject:
    return {
        "openapi": "3.0.3",
        "info": {"title": "unusual services", "version": "1"},
        "paths": {f"/{service.name}": {"get": _operation(service)} for service in UNUSUAL_SERVICES},
    }


def _operation(service: UnusualService) -> JsonObject:
    parameters = [{"name": name, "in": "query", "schema": dict(schema)} for name, schema in service.parameters.items()]
    return {"operationId": service.name, "parameters": parameters, "responses": {"200": {"description": "Some parts."}}}
