"""Collections over HTTP: their routes, their OpenAPI document, and a log of the responses.

The only state is the position of each open scroll.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from fastapi import FastAPI, Request
from starlette.responses import Response

from mock_api.arguments import JsonObject
from mock_api.conventions.collection import Collection, ConventionName
from mock_api.conventions.document import paths
from mock_api.conventions.request import ConventionRequest, ConventionResponse, RequestRejected, spec_of
from mock_api.conventions.responses import count_response, page_response


@dataclass(frozen=True, slots=True)
class LoggedResponse:
    """One response: the request it answers, the ids of its records, and the size of its body in bytes."""

    method: str
    url: str
    arguments: JsonObject
    status: int
    ids: tuple[int, ...]
    n_bytes: int


@dataclass(slots=True)
class RequestLog:
    """All responses in order: the ground truth for what a client claims to have read."""

    responses: list[LoggedResponse] = field(default_factory=list)

    @property
    def ids(self) -> list[int]:
        """The ids of all returned records, repetitions included."""
        return [number for entry in self.responses for number in entry.ids]


@dataclass(slots=True)
class ScrollStore:
    """Open scrolls: the scroll id stays the same while the position behind it advances."""

    requests: dict[str, ConventionRequest] = field(default_factory=dict)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def open(self, collection: Collection, request: ConventionRequest) -> ConventionResponse:
        """The first page."""
        return self._next_page(collection, request, f"scroll-{next(self.numbers)}")

    def next(self, collection: Collection, request: ConventionRequest) -> ConventionResponse:
        """The page after the last one returned. Raises RequestRejected for an unknown scroll id."""
        scroll_id = str(request.arguments.get(spec_of(collection).position or ""))
        if scroll_id not in self.requests:
            raise RequestRejected(f"there is no scroll '{scroll_id}'", status=404)
        return self._next_page(collection, self.requests[scroll_id], scroll_id)

    def _next_page(self, collection: Collection, request: ConventionRequest, scroll_id: str) -> ConventionResponse:
        spec = spec_of(collection)
        response = page_response(collection, request)
        body = response.body if isinstance(response.body, dict) else {}
        next_start = body.get(spec.next or "")
        # An empty page ends a scroll; it still has an id, and the next request returns another empty page.
        if next_start:
            self.requests[scroll_id] = replace(
                request, arguments={**request.arguments, spec.position or "": next_start}
            )
        return replace(response, body={**body, spec.next or "": scroll_id})


@dataclass(frozen=True, slots=True)
class ConventionServer:
    """Responds to the requests of all collections and keeps the log."""

    log: RequestLog
    scrolls: ScrollStore = field(default_factory=ScrollStore)

    def respond(self, collection: Collection, request: ConventionRequest, *, route: str = "") -> ConventionResponse:
        """The response of the collection, or of its `count` or `next` route. Raises RequestRejected."""
        if route == "count":
            return count_response(collection, request)
        if collection.convention is not ConventionName.SCROLL:
            return page_response(collection, request)
        return self.scrolls.next(collection, request) if route else self.scrolls.open(collection, request)


class ConventionsApi(FastAPI):
    """A FastAPI app whose OpenAPI document describes the collections."""

    def __init__(self, collections: Sequence[Collection], **settings: Any) -> None:
        super().__init__(**settings)
        self._collections = collections

    def openapi(self) -> JsonObject:
        """The OpenAPI document."""
        info = {"title": self.title, "version": self.version}
        return {"openapi": "3.1.0", "info": info, "paths": document_paths(self._collections)}


def document_paths(collections: Iterable[Collection]) -> JsonObject:
    """The `paths` of the collections' OpenAPI document."""
    return {path: item for collection in collections for path, item in paths(collection).items()}


def all_conventions(**settings: Any) -> tuple[Collection, ...]:
    """One collection of each convention; `settings` apply to all of them."""
    return tuple(Collection(convention=style, **settings) for style in ConventionName)


def create_conventions_app(
    collections: Sequence[Collection] | None = None, *, log: RequestLog | None = None
) -> FastAPI:
    """An API over the collections (default: one of each convention); responses are kept in `log`."""
    served = all_conventions() if collections is None else tuple(collections)
    app = ConventionsApi(served, title="Conventions", version="1.0")
    add_conventions(app, served, log=log)
    return app


def add_conventions(app: FastAPI, collections: Iterable[Collection], *, log: RequestLog | None = None) -> None:
    """Add the routes of the collections to an app; `document_paths` describes them."""
    server = ConventionServer(RequestLog() if log is None else log)
    for collection in collections:
        spec = spec_of(collection)
        routes = [("", spec.method)]
        routes += [("count", "GET")] if spec.count_path else []
        routes += [(spec.next_route, "POST")] if spec.next_route else []
        for route, method in routes:
            _add_route(app, server, collection, route, [method, "HEAD"] if spec.is_total_by_head else [method])


def _add_route(app: FastAPI, server: ConventionServer, collection: Collection, route: str, methods: list[str]) -> None:
    async def handler(http_request: Request) -> Response:
        request = ConventionRequest(
            arguments=await _arguments(http_request), url=str(http_request.url), headers=dict(http_request.headers)
        )
        try:
            response = server.respond(collection, request, route=route)
        except RequestRejected as error:
            response = ConventionResponse(error.status, {"error": str(error)}, {})
        body = orjson.dumps(response.body)
        method = http_request.method
        server.log.responses.append(
            LoggedResponse(
                method,
                request.url,
                dict(request.arguments),
                response.status,
                response.ids if method != "HEAD" else (),
                len(body),
            )
        )
        return Response(body, response.status, dict(response.headers), media_type="application/json")

    path = f"{collection.path}/{route}" if route else collection.path
    app.add_api_route(path, handler, methods=methods, include_in_schema=False, response_class=Response)


async def _arguments(request: Request) -> JsonObject:
    body = orjson.loads(await request.body() or b"{}") if request.method == "POST" else {}
    return {**dict(request.query_params), **flatten(body)}


def flatten(body: JsonObject, prefix: str = "") -> JsonObject:
    """The members of nested objects, by path."""
    found: JsonObject = {}
    for name, value in body.items():
        found |= flatten(value, f"{prefix}{name}/") if isinstance(value, dict) else {prefix + name: value}
    return found
