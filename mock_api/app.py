"""The mock API over HTTP: list and get operations for each resource, with an OpenAPI document.

A request passes the bearer token check, fault injection and the pagination style of its resource.
"""

import asyncio
import inspect
import itertools
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

import orjson
from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.openapi.utils import get_openapi
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic.json_schema import SkipJsonSchema
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from mock_api import pagination
from mock_api.arguments import PYTHON_TYPES, ArgumentSpec, JsonObject, Scalar
from mock_api.conventions import Collection, add_conventions, document_paths
from mock_api.faults import Fault, FaultKind, FaultPlan, apply_to_records, apply_to_total
from mock_api.pagination import InvalidCursor, PageData, PagingStyle, Window
from mock_api.resources import Positions, Resource, estimate_tokens, from_tables
from mock_api.serving import serve
from mockdata.events import DEFAULT_COUNT
from mockdata.tables import DEFAULT_SEED, tables

__all__ = ["create_app", "default_resources", "serve"]

Handler: TypeAlias = Callable[..., Awaitable[Response]]
_NO_FAULTS = FaultPlan()
_BLOCK = 500
_skip: Any = SkipJsonSchema
_ABSENT = _skip[None]  # a query has no null: what is optional is left out, and the document says so


class MockApi(FastAPI):
    """A FastAPI app whose OpenAPI document includes the schemas of its resources."""

    def __init__(self, resources: Sequence[Resource], collections: Sequence[Collection], **settings: Any) -> None:
        super().__init__(**settings)
        self._resources = resources
        self._collections = collections

    def openapi(self) -> JsonObject:
        """The OpenAPI document, built once."""
        if self.openapi_schema is None:
            document = get_openapi(
                title=self.title, version=self.version, description=self.description, routes=self.routes
            )
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            for resource in self._resources:
                schemas.update(resource.definitions)
            document["paths"].update(document_paths(self._collections))
            self.openapi_schema = document
        return self.openapi_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """Settings of all resources of one app; `numbers` counts its requests."""

    faults: FaultPlan
    has_metadata: bool
    has_total: bool
    total_header: bool
    max_limit: int
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))


def default_resources(*, seed: int = DEFAULT_SEED, event_count: int = DEFAULT_COUNT) -> tuple[Resource, ...]:
    """Support data of a fictional internet provider."""
    return from_tables(tables(seed, event_count=event_count))


def create_app(
    resources: Sequence[Resource] | None = None,
    *,
    styles: Mapping[str, str] | None = None,
    token: str | None = None,
    faults: FaultPlan = _NO_FAULTS,
    has_metadata: bool = True,
    has_total: bool = True,
    total_header: bool = False,
    max_limit: int = pagination.MAX_LIMIT,
    collections: Sequence[Collection] = (),
) -> FastAPI:
    """The API over `resources` (default: the fictional provider).

    `styles` sets the pagination style of resources by name (default: "offset"). `token` is the bearer token that
    requests need. `has_metadata` offers `meta_only`, `has_total` reports the total in the body, and `total_header` also
    in `X-Total-Count`. `collections` are served in addition to the resources, under `/by/`. Raises ValueError for an
    unknown style or resource in `styles`.
    """
    served = default_resources() if resources is None else tuple(resources)
    chosen = _resolve_styles(served, styles or {})
    settings = _Settings(
        faults=faults, has_metadata=has_metadata, has_total=has_total, total_header=total_header, max_limit=max_limit
    )
    app = MockApi(
        served,
        collections,
        title="Mock API",
        version="1.0",
        description="Data to try runax on. " + " ".join(resource.description for resource in served),
        dependencies=[] if token is None else [Depends(_bearer_check(token))],
    )
    for resource in served:
        _add_list(app, resource, chosen[resource.name], settings)
        if resource.singular:
            _add_get(app, resource, resource.singular, settings)
    add_conventions(app, collections)
    return app


def _resolve_styles(resources: Sequence[Resource], styles: Mapping[str, str]) -> dict[str, PagingStyle]:
    names = [resource.name for resource in resources]
    for name in styles:
        if name not in names:
            raise ValueError(f"unknown resource '{name}' in styles; available: {', '.join(names)}")
    return {name: PagingStyle(styles.get(name, PagingStyle.OFFSET)) for name in names}


def _bearer_check(token: str) -> Callable[..., None]:
    scheme = HTTPBearer(auto_error=False, description="The token that the server was started with.")

    def check(given: Annotated[HTTPAuthorizationCredentials | None, Depends(scheme)]) -> None:
        if given is None or not secrets.compare_digest(given.credentials.encode(), token.encode()):
            raise HTTPException(401, "the bearer token is missing or wrong", headers={"WWW-Authenticate": "Bearer"})

    return check


def _add_list(app: FastAPI, resource: Resource, style: PagingStyle, settings: _Settings) -> None:
    declared = (
        *resource.filters,
        *pagination.style_arguments(style, has_metadata=settings.has_metadata, max_limit=settings.max_limit),
    )

    async def listing(request: Request, given: Mapping[str, Scalar | None]) -> Response:
        return await _list(request, given, resource=resource, style=style, settings=settings)

    schema = pagination.body_schema(style, resource.name, resource.record_schema)
    app.add_api_route(
        f"/{resource.name}",
        _handler_with_arguments(listing, declared, hidden=pagination.hidden_arguments(style)),
        methods=["GET"],
        operation_id=f"list_{resource.name}",
        summary=f"List {resource.name}",
        description=resource.description,
        tags=[resource.name],
        response_class=Response,
        responses=_responses(schema, f"Records under `{resource.name}`, a page at a time."),
    )


def _add_get(app: FastAPI, resource: Resource, singular: str, settings: _Settings) -> None:
    id_name = f"{singular}_id"

    async def one(**given: int) -> Response:
        number = next(settings.numbers)
        await asyncio.sleep(settings.faults.delay_s(number))
        fault = settings.faults.fault_for(number)
        position = given[id_name]
        if position not in await asyncio.to_thread(resource.select, {}):
            raise HTTPException(404, f"there is no {singular} with the id {position}")
        body = (await asyncio.to_thread(resource.read, [position]))[0]
        return _error_response(fault) or _json_response(body, {}, fault)

    parameter = inspect.Parameter(id_name, inspect.Parameter.KEYWORD_ONLY, annotation=int)
    one.__signature__ = inspect.Signature([parameter])  # type: ignore[attr-defined]  # FastAPI reads it
    app.add_api_route(
        f"/{resource.name}/{{{id_name}}}",
        one,
        methods=["GET"],
        operation_id=f"get_{singular}",
        summary=f"Get one {singular} by its id",
        description=f"One of: {resource.description}",
        tags=[resource.name],
        response_class=Response,
        responses={**_responses(resource.record_schema, f"The {singular}."), 404: {"description": "No such id."}},
    )


def _responses(schema: JsonObject, description: str) -> dict[int | str, JsonObject]:
    return {200: {"description": description, "content": {"application/json": {"schema": schema}}}}


def _handler_with_arguments(
    listing: Callable[[Request, Mapping[str, Scalar | None]], Awaitable[Response]],
    declared: Sequence[ArgumentSpec],
    *,
    hidden: Sequence[ArgumentSpec],
) -> Handler:
    """A handler whose signature declares the arguments, so that FastAPI validates and documents them.

    Parameters have generated names, with the arguments' names as aliases, because a column may be called `class`.
    """
    named = {f"q{index}": argument for index, argument in enumerate((*declared, *hidden))}

    async def handler(request: Request, **given: Scalar | None) -> Response:
        return await listing(request, {named[key].name: value for key, value in given.items()})

    parameters = [_parameter(key, argument, is_shown=argument in declared) for key, argument in named.items()]
    request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)
    handler.__signature__ = inspect.Signature([request, *parameters])  # type: ignore[attr-defined]  # FastAPI reads it
    return handler


def _parameter(key: str, argument: ArgumentSpec, *, is_shown: bool) -> inspect.Parameter:
    kind: Any = Literal[argument.values] if argument.values else PYTHON_TYPES[argument.kind]
    query = Query(
        alias=argument.name,
        description=argument.description,
        ge=argument.minimum,
        le=argument.maximum,
        include_in_schema=is_shown,
    )
    optional: Any = kind if argument.default is not None else kind | _ABSENT
    annotation = Annotated[optional, query]
    return inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=argument.default, annotation=annotation)


async def _list(
    request: Request,
    given: Mapping[str, Scalar | None],
    *,
    resource: Resource,
    style: PagingStyle,
    settings: _Settings,
) -> Response:
    """The response to one list request, with faults applied."""
    number = next(settings.numbers)
    is_metadata = bool(given.get("meta_only"))
    window = _window(style, given)
    fault = settings.faults.fault_for(number, page=None if is_metadata else window.page_number)
    await asyncio.sleep(settings.faults.delay_s(number))
    if refusal := _error_response(fault):
        return refusal
    filters = {each.name: value for each in resource.filters if (value := given[each.name]) is not None}
    positions = await asyncio.to_thread(resource.select, filters)
    total = apply_to_total(fault, len(positions))
    if is_metadata:
        tokens = await asyncio.to_thread(estimate_tokens, resource, positions)
        return _json_response(orjson.dumps(pagination.metadata_body(resource.name, total, tokens)), {}, fault)
    if window.size is None and fault is None:
        return StreamingResponse(_stream_records(resource, positions), media_type="application/json")
    return await _page(
        request, resource, positions, window=window, total=total, style=style, fault=fault, settings=settings
    )


def _window(style: PagingStyle, given: Mapping[str, Scalar | None]) -> Window:
    try:
        return pagination.requested_window(style, given)
    except InvalidCursor as error:
        raise HTTPException(400, str(error)) from error


async def _page(
    request: Request,
    resource: Resource,
    positions: Positions,
    *,
    window: Window,
    total: int,
    style: PagingStyle,
    fault: Fault | None,
    settings: _Settings,
) -> Response:
    size = len(positions) if window.size is None else window.size
    start = 0 if fault is not None and fault.kind is FaultKind.REPEATED_PAGE else window.start
    records = await asyncio.to_thread(resource.read, positions[start : start + size])
    page = PageData(
        name=resource.name,
        records=[orjson.Fragment(record) for record in apply_to_records(fault, records)],
        window=window,
        total=total,
        has_more=window.start + size < len(positions),
        url=str(request.url),
        has_total=settings.has_total,
        total_header=settings.total_header,
    )
    return _json_response(orjson.dumps(pagination.page_body(style, page)), pagination.page_headers(style, page), fault)


async def _stream_records(resource: Resource, positions: Positions) -> AsyncIterator[bytes]:
    """All records in one body, generated in blocks, so that memory does not grow with their number."""
    yield b'{"' + resource.name.encode() + b'":['
    for start in range(0, len(positions), _BLOCK):
        block = await asyncio.to_thread(resource.read, positions[start : start + _BLOCK])
        yield (b"," if start else b"") + b",".join(block)
    yield b"]}"


def _error_response(fault: Fault | None) -> Response | None:
    """The error response of an injected fault; None if the request succeeds."""
    if fault is None:
        return None
    if fault.kind is FaultKind.RATE_LIMITED:
        headers = {"Retry-After": f"{fault.retry_after_s:g}"}
        return _json_response(b'{"detail":"too many requests"}', headers, None, status=429)
    if fault.kind in (FaultKind.SERVER_ERROR, FaultKind.DROPPED_PAGE):
        return _json_response(b'{"detail":"injected internal error"}', {}, None, status=500)
    return None


def _json_response(body: bytes, headers: Mapping[str, str], fault: Fault | None, *, status: int = 200) -> Response:
    kind = TruncatedResponse if fault is not None and fault.kind is FaultKind.CUT_BODY else Response
    return kind(body, status_code=status, headers=dict(headers), media_type="application/json")


class TruncatedResponse(Response):
    """A response with its full Content-Length that ends in the middle; the server then closes the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # the ASGI signature
        """Send half of the body."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        half = bytes(self.body)[: len(self.body) // 2]
        await send({"type": "http.response.body", "body": half, "more_body": True})
