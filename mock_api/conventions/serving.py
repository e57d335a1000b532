"""Collections over HTTP: their routes, their document, and a log of what was given out.

Knows FastAPI. Keeps the one state that a convention needs: how far each scroll has come.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from fastapi import FastAPI, Request
from starlette.responses import Response

from mock_api.arguments import JsonObject
from mock_api.conventions.document import paths
from mock_api.conventions.page import Ask, Refused, Told, spelling_of
from mock_api.conventions.style import Collection, Style
from mock_api.conventions.wording import answer, count


@dataclass(frozen=True, slots=True)
class Given:
    """One answer that was given: to which request, with which records, and the size of its body."""

    method: str
    url: str
    arguments: JsonObject
    status: int
    ids: tuple[int, ...]
    n_bytes: int


@dataclass(slots=True)
class Log:
    """What was given out, in order; the truth that a client's verdict is held against."""

    given: list[Given] = field(default_factory=list)

    @property
    def ids(self) -> list[int]:
        """The ids of all records given, repetitions included."""
        return [number for each in self.given for number in each.ids]


@dataclass(slots=True)
class Scrolls:
    """Open scrolls: an id stays the same while what it names goes on."""

    asks: dict[str, Ask] = field(default_factory=dict)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def opened(self, collection: Collection, ask: Ask) -> Told:
        """The first page."""
        return self._kept(collection, ask, f"scroll-{next(self.numbers)}")

    def next(self, collection: Collection, ask: Ask) -> Told:
        """The page after the one given last. Raises Refused for an id that was never given."""
        scroll_id = str(ask.arguments.get(spelling_of(collection).position or ""))
        if scroll_id not in self.asks:
            raise Refused(f"there is no scroll '{scroll_id}'", status=404)
        return self._kept(collection, self.asks[scroll_id], scroll_id)

    def _kept(self, collection: Collection, ask: Ask, scroll_id: str) -> Told:
        spelling = spelling_of(collection)
        told = answer(collection, ask)
        body = told.body if isinstance(told.body, dict) else {}
        following = body.get(spelling.next or "")
        # An empty page ends a scroll; its id is told all the same, and asking again gives another empty page.
        if following:
            self.asks[scroll_id] = replace(ask, arguments={**ask.arguments, spelling.position or "": following})
        return replace(told, body={**body, spelling.next or "": scroll_id})


@dataclass(frozen=True, slots=True)
class Server:
    """Collections by their operation; answers requests and keeps the log."""

    log: Log
    scrolls: Scrolls = field(default_factory=Scrolls)

    def told(self, collection: Collection, ask: Ask, *, route: str = "") -> Told:
        """The answer to a request for the collection, or for its route `count` or `next`. Raises Refused."""
        if route == "count":
            return count(collection, ask)
        if collection.style is not Style.SCROLL:
            return answer(collection, ask)
        return self.scrolls.next(collection, ask) if route else self.scrolls.opened(collection, ask)


class ConventionsApi(FastAPI):
    """A FastAPI app whose document is that of its collections."""

    def __init__(self, collections: Sequence[Collection], **settings: Any) -> None:
        super().__init__(**settings)
        self._collections = collections

    def openapi(self) -> JsonObject:
        """The document."""
        info = {"title": self.title, "version": self.version}
        return {"openapi": "3.1.0", "info": info, "paths": document_paths(self._collections)}


def document_paths(collections: Iterable[Collection]) -> JsonObject:
    """`paths` of the collections' document."""
    return {path: item for collection in collections for path, item in paths(collection).items()}


def every_style(**settings: Any) -> tuple[Collection, ...]:
    """A collection of each style; `settings` hold for all of them."""
    return tuple(Collection(style=style, **settings) for style in Style)


def create_conventions_app(collections: Sequence[Collection] | None = None, *, log: Log | None = None) -> FastAPI:
    """An API over the collections (default: one of each style), with what it gave out in `log`."""
    served = every_style() if collections is None else tuple(collections)
    app = ConventionsApi(served, title="Conventions", version="1.0")
    add_conventions(app, served, log=log)
    return app


def add_conventions(app: FastAPI, collections: Iterable[Collection], *, log: Log | None = None) -> None:
    """Give an app the routes of the collections; its document is the caller's affair (`document_paths`)."""
    server = Server(Log() if log is None else log)
    for collection in collections:
        spelling = spelling_of(collection)
        routes = [("", spelling.method)]
        routes += [("count", "GET")] if spelling.count_path else []
        routes += [(spelling.next_route, "POST")] if spelling.next_route else []
        for route, method in routes:
            _add(app, server, collection, route, [method, "HEAD"] if spelling.is_total_by_head else [method])


def _add(app: FastAPI, server: Server, collection: Collection, route: str, methods: list[str]) -> None:
    async def handler(request: Request) -> Response:
        ask = Ask(arguments=await _arguments(request), url=str(request.url), headers=dict(request.headers))
        try:
            told = server.told(collection, ask, route=route)
        except Refused as refused:
            told = Told(refused.status, {"error": str(refused)}, {})
        body = orjson.dumps(told.body)
        method = request.method
        given = Given(
            method, ask.url, dict(ask.arguments), told.status, told.ids if method != "HEAD" else (), len(body)
        )
        server.log.given.append(given)
        return Response(body, told.status, dict(told.headers), media_type="application/json")

    path = f"{collection.path}/{route}" if route else collection.path
    app.add_api_route(path, handler, methods=methods, include_in_schema=False, response_class=Response)


async def _arguments(request: Request) -> JsonObject:
    body = orjson.loads(await request.body() or b"{}") if request.method == "POST" else {}
    return {**dict(request.query_params), **flattened(body)}


def flattened(body: JsonObject, prefix: str = "") -> JsonObject:
    """The members of nested objects by their paths."""
    found: JsonObject = {}
    for name, value in body.items():
        found |= flattened(value, f"{prefix}{name}/") if isinstance(value, dict) else {prefix + name: value}
    return found
