"""A model at an endpoint: sends one request with one deadline, in the wire format that the endpoint supports.

A request that is rejected because of an optional parameter is sent again without it in the same attempt: a rejection is
immediate and not billed. Retries are in `retry`, budget and usage in `metering`.
"""

import asyncio
import logging
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, TypeAlias

from adapters.clock import Clock
from runax_cli.core.errors import ModelError
from runax_cli.models.base import ModelReply, ModelRequest, OnText, Usage
from runax_cli.models.chat_completions import ChatWire
from runax_cli.models.endpoint import Endpoint
from runax_cli.models.endpoint_errors import (
    HttpRefusal,
    SchemaUnsupported,
    StatusError,
    excerpt,
    is_unknown_api,
    model_error,
    refused_parameter,
    refuses_schema,
)
from runax_cli.models.responses import ResponsesWire
from runax_cli.models.wire import Payload, Quirks, ReplyTooLong, Sampling, UnusableReply, WireFormat, WireReply

ApiChoice: TypeAlias = Literal["auto", "responses", "chat"]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Attempt:
    """The state of one attempt: start time, number of requests, time of the first text."""

    request: ModelRequest
    on_text: OnText | None
    started: float
    requests: int = 0
    first_token_s: float | None = None


class EndpointModel:
    """One model at one endpoint. `quirks` and `endpoint` are shared by all its users."""

    def __init__(
        self,
        name: str,
        *,
        endpoint: Endpoint,
        api: ApiChoice,
        sampling: Sampling,
        timeout_s: float,
        quirks: Quirks,
        clock: Clock,
    ) -> None:
        self.name = name
        self._endpoint = endpoint
        self._api = api
        self._sampling = sampling
        self._timeout_s = timeout_s
        self._quirks = quirks
        self._clock = clock

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`. The timeout covers the whole reply, so a slow stream ends too."""
        attempt = _Attempt(request, on_text, self._clock.monotonic())
        try:
            async with asyncio.timeout(self._timeout_s):
                reply = await self._send(attempt)
        except TimeoutError as error:
            raise ModelError(
                f"the model '{self.name}' timed out after {self._timeout_s:g} s (LLM_TIMEOUT).",
                model=self.name,
                retryable=True,
            ) from error
        return ModelReply(
            text=reply.text,
            model=reply.model,
            tool_calls=reply.tool_calls,
            usage=reply.usage or Usage(is_reported=False),
            duration_s=self._clock.monotonic() - attempt.started,
            first_token_s=attempt.first_token_s,
            requests=attempt.requests,
        )

    async def aclose(self) -> None:
        """Close the connections to the endpoint."""
        await self._endpoint.aclose()

    async def _send(self, attempt: _Attempt) -> WireReply:
        """Use the wire format that the endpoint is known to support, or find out which one that is."""
        first, *others = self._candidate_formats()
        try:
            reply = await self._exchange_adapting(first, attempt)
        except StatusError as fault:
            if not others or not is_unknown_api(fault.refusal):
                raise self._error(fault.refusal) from fault
            _log.info("'%s' has no Responses API; Chat Completions is used", self._endpoint.base_url)
            first = others[0]
            reply = await self._fall_back(first, attempt)
        self._quirks.api = first.api
        return reply

    async def _fall_back(self, wire: WireFormat, attempt: _Attempt) -> WireReply:
        try:
            return await self._exchange_adapting(wire, attempt)
        except StatusError as fault:
            raise self._error(fault.refusal) from fault

    def _candidate_formats(self) -> list[WireFormat]:
        api = self._quirks.api if self._api == "auto" else self._api
        responses, chat = ResponsesWire(self.name), ChatWire(self.name)
        match api:
            case "responses":
                return [responses]
            case "chat":
                return [chat]
            case _:
                return [responses, chat]

    async def _exchange_adapting(self, wire: WireFormat, attempt: _Attempt) -> WireReply:
        """Send until no optional parameter is rejected any more: at most once for each."""
        while True:
            body = wire.body(
                attempt.request,
                sampling=self._sampling,
                dropped=self._quirks.dropped,
                stream=attempt.on_text is not None,
            )
            attempt.requests += 1
            try:
                return wire.read(await self._exchange(wire, body, attempt))
            except StatusError as fault:
                self._adapt_to(fault, body)
            except UnusableReply as unusable:
                raise self._without_key(unusable) from unusable.__cause__

    def _adapt_to(self, fault: StatusError, body: Payload) -> None:
        """Remember the rejected parameter, or raise if there is none to leave out."""
        refusal = fault.refusal
        if refuses_schema(refusal, body):
            self._quirks.needs_schema_in_prompt = True
            raise SchemaUnsupported(str(self._error(refusal)), model=self.name, retryable=False) from fault
        name = refused_parameter(refusal, body)
        if name is None:
            raise fault
        _log.info("the model '%s' rejects the parameter '%s'; it is left out from now on", self.name, name)
        self._quirks.dropped.add(name)

    async def _exchange(self, wire: WireFormat, body: Payload, attempt: _Attempt) -> Payload:
        headers = {"X-Runax-Role": attempt.request.role.value, "X-Runax-Run": attempt.request.run_id}
        if attempt.on_text is None:
            payload = await self._endpoint.send(wire.path, body, headers=headers)
            _report_hidden(wire, payload, attempt.request)
            return payload
        return await self._streamed(wire, body, headers, attempt, attempt.on_text)

    async def _streamed(
        self, wire: WireFormat, body: Payload, headers: dict[str, str], attempt: _Attempt, on_text: OnText
    ) -> Payload:
        collector = wire.collector()
        async with aclosing(self._endpoint.stream(wire.path, body, headers=headers)) as events:
            async for event in events:
                _report_hidden(wire, event, attempt.request)
                if piece := collector.add(event):
                    if attempt.first_token_s is None:
                        attempt.first_token_s = self._clock.monotonic() - attempt.started
                    on_text(piece)
        return collector.payload()

    def _without_key(self, unusable: UnusableReply) -> UnusableReply:
        """The same error with the API key masked, in case the endpoint echoes it in a reply."""
        words = excerpt(str(unusable), api_key=self._endpoint.api_key)
        kind = ReplyTooLong if isinstance(unusable, ReplyTooLong) else UnusableReply
        return kind(words, model=self.name, retryable=unusable.retryable, usage=unusable.usage)

    def _error(self, refusal: HttpRefusal) -> ModelError:
        return model_error(refusal, model=self.name, base_url=self._endpoint.base_url, api_key=self._endpoint.api_key)


def _report_hidden(wire: WireFormat, payload: Payload, request: ModelRequest) -> None:
    if request.on_hidden is not None and (piece := wire.hidden_in(payload)):
        request.on_hidden(piece)
