"""HTTP access to one model endpoint: sends and receives JSON through the openai SDK.

The SDK builds its typed objects without validation, so a malformed reply would look like an empty one. Therefore this
uses its documented low-level calls, which return the JSON as received. The SDK's retries are off: `retry` does them.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import httpx2
import openai

from adapters.clock import Clock
from adapters.http.body_limits import BodyTooLarge, MaxSizeClient, OnHeaders
from runax_cli.core.errors import ModelError
from runax_cli.models.endpoint_errors import HttpRefusal, StatusError, excerpt, retry_after_s
from runax_cli.models.wire import Payload, ReplyTooLong, UnusableReply, as_object, text_or_empty

MAX_REPLY_BYTES = 32 * 1024 * 1024
"""Limit of a reply after decompression. A stream takes about 300 bytes per token: enough for 100,000 tokens."""

_NO_KEY = "none"


def _ignore_headers(_headers: Mapping[str, str]) -> None:
    """The default for `on_headers`."""


class Endpoint:
    """A base URL with its API key. `timeout_s` applies to each read; the caller limits the whole request.

    `on_headers` receives the headers of every response. `send` and `stream` raise StatusError for an error status,
    ModelError if the connection fails, and UnusableReply if a successful response is not a JSON object.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str,
        timeout_s: float,
        clock: Clock,
        max_bytes: int = MAX_REPLY_BYTES,
        on_headers: OnHeaders = _ignore_headers,
    ) -> None:
        self.base_url = base_url
        self.api_key = api_key
        self._clock = clock
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key or _NO_KEY,
            max_retries=0,
            http_client=MaxSizeClient(
                max_bytes=max_bytes, on_headers=on_headers, timeout=timeout_s, follow_redirects=False
            ),
        )

    async def send(self, path: str, body: Payload, *, headers: Mapping[str, str]) -> Payload:
        """Post `body` and return the complete reply."""
        model = text_or_empty(body.get("model"))
        try:
            response = await self._client.post(
                path, cast_to=httpx2.Response, body=body, options={"headers": dict(headers)}
            )
            return _read_object(response.content, model)
        except (openai.OpenAIError, BodyTooLarge, httpx2.HTTPError) as error:
            raise self._as_model_error(error, model) from error

    async def stream(self, path: str, body: Payload, *, headers: Mapping[str, str]) -> AsyncGenerator[Payload, None]:
        """Post `body` and yield the events of the reply; one event if the server does not stream."""
        model = text_or_empty(body.get("model"))
        try:
            stream = await self._client.post(
                path,
                cast_to=object,
                body=body,
                options={"headers": dict(headers)},
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
            async with stream, aclosing(_events(stream, model)) as events:
                async for event in events:
                    yield event
        except (openai.OpenAIError, BodyTooLarge, httpx2.HTTPError, ValueError, RecursionError) as error:
            raise self._as_model_error(error, model) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _as_model_error(self, error: Exception, model: str) -> Exception:
        match error:
            case openai.APIStatusError():
                return StatusError(self._refusal(error))
            case openai.APIConnectionError() | httpx2.HTTPError():
                cause = error.__cause__ or error
                reason = excerpt(str(cause) or type(cause).__name__, api_key=self.api_key)
                return ModelError(
                    f"request to '{self.base_url}' for the model '{model}' failed: {reason} Check LLM_API_BASE_URL.",
                    model=model,
                    retryable=True,
                )
            case BodyTooLarge():
                return ReplyTooLong(f"the reply of the model '{model}' {error}.", model=model, retryable=False)
            case _:
                reason = excerpt(str(error), api_key=self.api_key)
                return UnusableReply(f"the stream of the model '{model}' failed: {reason}", model=model, retryable=True)

    def _refusal(self, error: openai.APIStatusError) -> HttpRefusal:
        """Status and error of a response; the error object is at the top level or under `error`."""
        outer = as_object(error.body)
        inner = as_object(outer.get("error")) or outer
        messages = (inner.get("message"), outer.get("error"), outer.get("detail"))
        message = next(filter(None, map(text_or_empty, messages)), "")
        code = inner.get("code")
        return HttpRefusal(
            status=error.status_code,
            message=message or (error.body if isinstance(error.body, str) else json.dumps(error.body)),
            code=text_or_empty(code) or text_or_empty(inner.get("type")),
            param=text_or_empty(inner.get("param")),
            retry_after_s=retry_after_s(error.response.headers, now=self._clock.wall()),
        )


async def _events(stream: openai.AsyncStream[object], model: str) -> AsyncGenerator[Payload, None]:
    if "json" in stream.response.headers.get("content-type", ""):
        yield _read_object(await stream.response.aread(), model)
        return
    async for event in stream:
        yield as_object(event)


def _read_object(content: bytes, model: str) -> Payload:
    """The JSON object in a response body. Raises UnusableReply for anything else."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnusableReply(f"the reply of the model '{model}' is not JSON.", model=model, retryable=True) from error
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise UnusableReply(
            f"the reply of the model '{model}' is not a JSON object but {kind}.", model=model, retryable=True
        )
    return value
