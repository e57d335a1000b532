"""Structured output: replies that are valid against a JSON Schema, validated and repaired once.

`StructuredModel` wraps a model and works with endpoints that enforce a schema and with those that do not. Each of its
requests, the repair included, passes through retries, metering and budget like any other.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from adapters.text import truncate
from runax_cli.models.base import Message, Model, ModelReply, ModelRequest, OnText, OutputSchema, Prompt, Usage
from runax_cli.models.endpoint_errors import SchemaUnsupported
from runax_cli.models.wire import Quirks, UnusableReply

SCHEMA_PROMPT = Prompt(
    "schema_in_prompt",
    1,
    "Answer with one JSON object and nothing else: no words before or after it, no code fence. "
    'The object "{{name}}" must fit this JSON Schema:\n{{schema}}',
)
REPAIR_PROMPT = Prompt(
    "schema_repair",
    1,
    "That reply does not fit the JSON Schema:\n{{errors}}\n"
    "Answer again with the corrected JSON object and nothing else.",
)

_FENCE = re.compile(r"```[A-Za-z0-9_-]*\s*\n(.*?)```", re.DOTALL)
_MAX_ERRORS = 5
_MAX_ERROR_CHARS = 200
_NOT_JSON = object()


def schema_instruction(output: OutputSchema) -> str:
    """The instruction for `output` in the prompt, for an endpoint that takes no schema."""
    schema = json.dumps(output.schema, ensure_ascii=False, separators=(",", ":"))
    return SCHEMA_PROMPT.fill(name=output.name, schema=schema)


def repair_instruction(errors: tuple[str, ...]) -> str:
    """The message that asks for a corrected reply."""
    return REPAIR_PROMPT.fill(errors="\n".join(f"- {error}" for error in errors))


class NotJson(ValueError):
    """A reply contains no JSON."""


class OutsideSchema(ValueError):
    """A reply is JSON but not valid against the schema; `errors` are the first five, as `path: message`."""

    def __init__(self, errors: tuple[str, ...]) -> None:
        super().__init__("; ".join(errors))
        self.errors = errors


def parse_structured(text: str, output: OutputSchema) -> str:
    """The JSON in `text` (plain, in a code fence, or inside prose) that is valid against the schema of `output`.

    Raises NotJson if there is none and OutsideSchema if it is not valid.
    """
    source, value = _find_json(text)
    if errors := _schema_errors(value, output.schema):
        raise OutsideSchema(errors)
    return source


def _find_json(text: str) -> tuple[str, Any]:
    for candidate in _candidates(text):
        value = _parse(candidate)
        if value is not _NOT_JSON:
            return candidate, value
    raise NotJson("the reply is not JSON")


def _candidates(text: str) -> list[str]:
    bare = text.strip().removeprefix("\ufeff")
    fenced = [match.strip() for match in _FENCE.findall(bare)]
    start, end = bare.find("{"), bare.rfind("}")
    inside_prose = [bare[start : end + 1]] if 0 <= start < end else []
    return [bare, *reversed(fenced), *inside_prose]


def _parse(candidate: str) -> Any:
    try:
        return json.loads(candidate, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _reject_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _schema_errors(value: Any, schema: dict[str, Any]) -> tuple[str, ...]:
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda error: list(map(str, error.path)))
    return tuple(f"{error.json_path}: {truncate(error.message, _MAX_ERROR_CHARS)}" for error in errors[:_MAX_ERRORS])


_MAX_ECHO_CHARS = 2000


class StructuredModel:
    """A model whose replies are valid against `request.output`; requests without it pass through.

    If the endpoint rejects schemas, or replies without JSON in spite of one, the schema goes into the prompt from then
    on. An invalid reply is repaired once: the request is sent again with the errors.
    """

    def __init__(self, inner: Model, *, quirks: Quirks) -> None:
        self._inner = inner
        self._quirks = quirks

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self._inner.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`. Raises ModelReplyInvalid if the repaired reply is not valid either."""
        output = request.output
        reply = await self._send(request, on_text=on_text)
        if output is None or reply.tool_calls:
            return reply
        try:
            return replace(reply, text=parse_structured(reply.text, output))
        except (NotJson, OutsideSchema) as error:
            if isinstance(error, NotJson):
                self._quirks.needs_schema_in_prompt = True
            return await self._repair(request, output, reply, _errors(error))

    async def aclose(self) -> None:
        """Close the wrapped model."""
        await self._inner.aclose()

    async def _send(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        try:
            return await self._inner.complete(self._adapt(request), on_text=on_text)
        except SchemaUnsupported:
            if not self._quirks.needs_schema_in_prompt:
                raise
            return await self._inner.complete(self._adapt(request), on_text=on_text)

    def _adapt(self, request: ModelRequest) -> ModelRequest:
        if request.output is None or not self._quirks.needs_schema_in_prompt:
            return request
        return replace(request, messages=_with_note(request.messages, schema_instruction(request.output)), output=None)

    async def _repair(
        self, request: ModelRequest, output: OutputSchema, reply: ModelReply, errors: tuple[str, ...]
    ) -> ModelReply:
        again = replace(
            request,
            messages=(
                *request.messages,
                Message("assistant", reply.text[:_MAX_ECHO_CHARS]),
                Message("user", repair_instruction(errors)),
            ),
        )
        second = await self._send(again)
        try:
            text = parse_structured(second.text, output)
        except (NotJson, OutsideSchema) as error:
            raise UnusableReply(
                f"the reply of the model '{self.name}' is not valid against the schema '{output.name}', even after a "
                f"repair: {'; '.join(_errors(error))}",
                model=self.name,
                retryable=False,
            ) from error
        return _with_cost_of(reply, replace(second, text=text))


def _errors(error: NotJson | OutsideSchema) -> tuple[str, ...]:
    return error.errors if isinstance(error, OutsideSchema) else (str(error),)


def _with_note(messages: Sequence[Message], note: str) -> tuple[Message, ...]:
    """Append the note to the system message: some endpoints reject a second system message."""
    first, *rest = messages
    if first.role != "system":
        return Message("system", note), first, *rest
    return replace(first, content=f"{first.content}\n\n{note}"), *rest


def _with_cost_of(first: ModelReply, second: ModelReply) -> ModelReply:
    """The second reply with the usage and cost of both."""
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
