"""One model endpoint over HTTP: JSON out, JSON in, on the openai SDK.

Knows the SDK, headers, caps and how its errors look. Knows neither wire format. The SDK's typed objects are built
without validation, so that a malformed reply passes for a hollow one; hence its documented low-level calls, which
hand over the JSON as it came. Its own retries are off: there is one retry layer, and it is ours.
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
from runax_cli.models.wire import Payload, UnusableReply, as_object, text_or_empty

MAX_REPLY_BYTES = 32 * 1024 * 1024
"""After decompression. A stream spends some 300 bytes of framing on each token: this is room for 100,000."""

_NO_KEY = "none"


def _ignore_headers(_headers: Mapping[str, str]) -> None:
    """Whoever does not listen to headers."""


class Endpoint:
    """A base URL with its key. `timeout_s` is per read here; the deadline of a request is the caller's.

    `heard` is told the headers of every answer.

    Raises StatusError for a status that is no success, ModelError where there is no connection, and UnusableReply
    for a success that holds no JSON object.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str,
        timeout_s: float,
        clock: Clock,
        max_bytes: int = MAX_REPLY_BYTES,
        heard: OnHeaders = _ignore_headers,
    ) -> None:
        self.base_url = base_url
        self.api_key = api_key
        self._clock = clock
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key or _NO_KEY,
            max_retries=0,
            http_client=MaxSizeClient(max_bytes=max_bytes, on_headers=heard, timeout=timeout_s, follow_redirects=False),
        )

    async def send(self, path: str, body: Payload, *, headers: Mapping[str, str]) -> Payload:
        """Post `body` and return the whole reply."""
        model = text_or_empty(body.get("model"))
        try:
            response = await self._client.post(
                path, cast_to=httpx2.Response, body=body, options={"headers": dict(headers)}
            )
            return _object_in(response.content, model)
        except (openai.OpenAIError, BodyTooLarge, httpx2.HTTPError) as error:
            raise self._fault(error, model) from error

    async def stream(self, path: str, body: Payload, *, headers: Mapping[str, str]) -> AsyncGenerator[Payload, None]:
        """Post `body` and yield the events of the reply. A server that does not stream yields its reply as one."""
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
            raise self._fault(error, model) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _fault(self, error: Exception, model: str) -> Exception:
        match error:
            case openai.APIStatusError():
                return StatusError(self._refusal(error))
            case openai.APIConnectionError() | httpx2.HTTPError():
                cause = error.__cause__ or error
                words = excerpt(str(cause) or type(cause).__name__, api_key=self.api_key)
                return ModelError(
                    f"no reply from '{self.base_url}' for the model '{model}': {words} Check LLM_API_BASE_URL.",
                    model=model,
                    retryable=True,
                )
            case BodyTooLarge():
                return UnusableReply(f"the reply of the model '{model}' {error}.", model=model, retryable=False)
            case _:
                words = excerpt(str(error), api_key=self.api_key)
                return UnusableReply(f"the stream of the model '{model}' failed: {words}", model=model, retryable=True)

    def _refusal(self, error: openai.APIStatusError) -> HttpRefusal:
        """What the status and the body say; the error object is at the top or under `error`."""
        outer = as_object(error.body)
        inner = as_object(outer.get("error")) or outer
        words = (
            text_or_empty(inner.get("message"))
            or text_or_empty(outer.get("error"))
            or text_or_empty(outer.get("detail"))
        )
        code = inner.get("code")
        return HttpRefusal(
            status=error.status_code,
            message=words or (error.body if isinstance(error.body, str) else json.dumps(error.body)),
            code=text_or_empty(code) or text_or_empty(inner.get("type")),
            param=text_or_empty(inner.get("param")),
            retry_after_s=retry_after_s(error.response.headers, now=self._clock.wall()),
        )


async def _events(stream: openai.AsyncStream[object], model: str) -> AsyncGenerator[Payload, None]:
    if "json" in stream.response.headers.get("content-type", ""):
        yield _object_in(await stream.response.aread(), model)
        return
    async for event in stream:
        yield as_object(event)


def _object_in(content: bytes, model: str) -> Payload:
    """The JSON object that a reply must be. A text, null, a list or half an object is no reply."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnusableReply(f"the reply of the model '{model}' is not JSON.", model=model, retryable=True) from error
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise UnusableReply(f"the reply of the model '{model}' is no object but {kind}.", model=model, retryable=True)
    return value
