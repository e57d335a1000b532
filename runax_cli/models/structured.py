"""Replies that fit a schema, from endpoints that enforce one and from endpoints that do not.

Wraps a model. Knows schemas (`schema`) and what was learned of the endpoint. Each request it sends is a request like
any other for the layers below: it is retried, reserved, counted and bounded by itself.
"""

from collections.abc import Sequence
from dataclasses import replace

from runax_cli.models.base import Message, Model, ModelReply, ModelRequest, OnText, OutputSchema, Usage
from runax_cli.models.faults import SchemaRefused
from runax_cli.models.schema import NotJson, OutsideSchema, fitting_json, repair_note, schema_note
from runax_cli.models.wire import Quirks, UnusableReply

_LONGEST_ECHO = 2000


class StructuredModel:
    """A model whose `text` fits `request.output`; a request without one passes through.

    Where the endpoint refuses schemas, or answers without JSON although it was given one, the schema goes into the
    prompt, for this request and all that follow. A reply that does not fit is asked again once, with the errors.
    """

    def __init__(self, inner: Model, *, quirks: Quirks) -> None:
        self._inner = inner
        self._quirks = quirks

    @property
    def name(self) -> str:
        """The name of the model behind."""
        return self._inner.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`. Raises ModelReplyInvalid where the repaired reply does not fit either."""
        output = request.output
        reply = await self._ask(request, on_text=on_text)
        if output is None or reply.tool_calls:
            return reply
        try:
            return replace(reply, text=fitting_json(reply.text, output))
        except (NotJson, OutsideSchema) as error:
            if isinstance(error, NotJson):
                self._quirks.needs_schema_in_prompt = True
            return await self._repaired(request, output, reply, _errors(error))

    async def aclose(self) -> None:
        """Close the model behind."""
        await self._inner.aclose()

    async def _ask(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        try:
            return await self._inner.complete(self._adapted(request), on_text=on_text)
        except SchemaRefused:
            if not self._quirks.needs_schema_in_prompt:
                raise
            return await self._inner.complete(self._adapted(request), on_text=on_text)

    def _adapted(self, request: ModelRequest) -> ModelRequest:
        if request.output is None or not self._quirks.needs_schema_in_prompt:
            return request
        return replace(request, messages=_with_note(request.messages, schema_note(request.output)), output=None)

    async def _repaired(
        self, request: ModelRequest, output: OutputSchema, reply: ModelReply, errors: tuple[str, ...]
    ) -> ModelReply:
        again = replace(
            request,
            messages=(
                *request.messages,
                Message("assistant", reply.text[:_LONGEST_ECHO]),
                Message("user", repair_note(errors)),
            ),
        )
        second = await self._ask(again)
        try:
            text = fitting_json(second.text, output)
        except (NotJson, OutsideSchema) as error:
            raise UnusableReply(
                f"the reply of the model '{self.name}' does not fit the schema '{output.name}', and neither did its "
                f"repair: {'; '.join(_errors(error))}",
                model=self.name,
                retryable=False,
            ) from error
        return _together(reply, replace(second, text=text))


def _errors(error: NotJson | OutsideSchema) -> tuple[str, ...]:
    return error.errors if isinstance(error, OutsideSchema) else (str(error),)


def _with_note(messages: Sequence[Message], note: str) -> tuple[Message, ...]:
    """The note at the end of the first system message: one more system message is refused by some endpoints."""
    first, *rest = messages
    if first.role != "system":
        return Message("system", note), first, *rest
    return replace(first, content=f"{first.content}\n\n{note}"), *rest


def _together(first: ModelReply, second: ModelReply) -> ModelReply:
    """The second reply with what both cost."""
    usage = Usage(
        first.usage.input_tokens + second.usage.input_tokens,
        first.usage.output_tokens + second.usage.output_tokens,
        first.usage.cached_tokens + second.usage.cached_tokens,
        first.usage.is_reported and second.usage.is_reported,
    )
    costs = (first.cost_usd, second.cost_usd)
    return replace(
        second,
        usage=usage,
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        duration_s=first.duration_s + second.duration_s,
        first_token_s=first.first_token_s,
        requests=first.requests + second.requests,
    )
