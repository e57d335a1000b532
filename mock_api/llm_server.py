"""A mock model endpoint with the Responses API and Chat Completions, streaming and not.

`answer` computes the reply from the request.
"""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import TypeAlias

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from mock_api.llm_wire import (
    JsonObject,
    WireCompletion,
    WireInvalid,
    WireMessage,
    WireRequest,
    WireSchema,
    WireTool,
    WireToolCall,
    chat_chunks,
    chat_object,
    read_chat,
    read_responses,
    response_events,
    response_object,
)

__all__ = [
    "Answer",
    "WireCompletion",
    "WireMessage",
    "WireRefused",
    "WireRequest",
    "WireSchema",
    "WireTool",
    "WireToolCall",
    "create_llm_app",
]

Answer: TypeAlias = Callable[[WireRequest], Awaitable[WireCompletion]]
ROLE_HEADER = "x-runax-role"
RUN_HEADER = "x-runax-run"


class WireRefused(Exception):
    """Raised by `answer` to reject a request with this HTTP status, error code and parameter name."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str | None = None,
        param: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.param, self.retry_after_s = status, code, param, retry_after_s


def create_llm_app(answer: Answer, *, model: str = "rules", token: str | None = None) -> Starlette:
    """An app that replies to every request with `answer`, which may raise WireRefused.

    `model` is the only name that `GET /v1/models` lists; requests may name any. With `token`, a request without that
    bearer token gets 401.
    """

    async def responses(request: Request) -> Response:
        body, asked = await _read_request(request, read_responses)
        whole = response_object(await answer(asked), asked.model)
        if not body.get("stream"):
            return _json(whole)
        return _stream(_named_events(response_events(whole)))

    async def chat(request: Request) -> Response:
        body, asked = await _read_request(request, read_chat)
        whole = chat_object(await answer(asked), asked.model)
        if not body.get("stream"):
            return _json(whole)
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return _stream(_chat_events(chat_chunks(whole, with_usage=with_usage)))

    async def models(_request: Request) -> Response:
        listed = {"id": model, "object": "model", "created": 0, "owned_by": "mock"}
        return _json({"object": "list", "data": [listed]})

    return Starlette(
        routes=[
            Route("/v1/responses", _with_error_handling(responses, token), methods=["POST"]),
            Route("/v1/chat/completions", _with_error_handling(chat, token), methods=["POST"]),
            Route("/v1/models", _with_error_handling(models, token), methods=["GET"]),
        ]
    )


Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


def _with_error_handling(handler: Handler, token: str | None) -> Handler:
    """Check the token first, and convert exceptions to the error body that the SDK expects."""

    async def guarded(request: Request) -> Response:
        try:
            _check_token(token, request)
            return await handler(request)
        except WireInvalid as error:
            return _error_response(WireRefused(str(error), status=400, code="invalid_request"))
        except WireRefused as refused:
            return _error_response(refused)

    return guarded


def _check_token(token: str | None, request: Request) -> None:
    given = request.headers.get("authorization", "")
    if token is not None and not secrets.compare_digest(given.encode(), f"Bearer {token}".encode()):
        raise WireRefused("the API key is missing or wrong", status=401, code="invalid_api_key")


async def _read_request(request: Request, reader: Callable[..., WireRequest]) -> tuple[JsonObject, WireRequest]:
    try:
        body = orjson.loads(await request.body())
    except orjson.JSONDecodeError as error:
        raise WireInvalid(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise WireInvalid("the body must be a JSON object")
    headers = request.headers
    return body, reader(body, role=headers.get(ROLE_HEADER, ""), run=headers.get(RUN_HEADER, ""))


def _error_response(refused: WireRefused) -> Response:
    headers = {} if refused.retry_after_s is None else {"Retry-After": f"{refused.retry_after_s:g}"}
    kind = "server_error" if refused.status >= 500 else "invalid_request_error"
    error = {"message": str(refused), "type": kind, "code": refused.code, "param": refused.param}
    return _json({"error": error}, status=refused.status, headers=headers)


def _json(body: JsonObject, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(body), status_code=status, headers=headers, media_type="application/json")


def _stream(events: Iterable[bytes]) -> StreamingResponse:
    return StreamingResponse(_iterate(events), media_type="text/event-stream")


async def _iterate(events: Iterable[bytes]) -> AsyncIterator[bytes]:
    for event in events:
        yield event


def _named_events(events: Iterable[JsonObject]) -> Iterator[bytes]:
    return (b"event: %s\ndata: %s\n\n" % (event["type"].encode(), orjson.dumps(event)) for event in events)


def _chat_events(chunks: Iterable[JsonObject]) -> Iterator[bytes]:
    for chunk in chunks:
        yield b"data: %s\n\n" % orjson.dumps(chunk)
    yield b"data: [DONE]\n\n"
