"""The wire format of Chat Completions (`POST /chat/completions`)."""

from collections.abc import Iterator
from typing import Any

from runax_cli.models.base import Message, ModelRequest, ToolCall
from runax_cli.models.wire import (
    Api,
    Payload,
    Sampling,
    UnusableReply,
    WireReply,
    arguments_text,
    as_object,
    objects_in,
    read_usage,
    strings_written,
    text_or_empty,
)

_LIMIT_NAMES = ("max_completion_tokens", "max_tokens")


class ChatWire:
    """Request bodies and replies of one model."""

    api: Api = "chat"
    path = "/chat/completions"

    def __init__(self, model: str) -> None:
        self._model = model

    def body(self, request: ModelRequest, *, sampling: Sampling, dropped: set[str], stream: bool) -> Payload:
        """See `WireFormat.body`. If `max_completion_tokens` was rejected, `max_tokens` is used."""
        limit_name = next((name for name in _LIMIT_NAMES if name not in dropped), _LIMIT_NAMES[-1])
        body: Payload = {
            "model": self._model,
            "messages": [_wire_message(message) for message in request.messages],
            limit_name: request.max_output_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "tools": _tools(request),
            "response_format": _format(request),
            "stream": stream or None,
            "stream_options": {"include_usage": True} if stream else None,
        }
        return {key: value for key, value in body.items() if value is not None and key not in dropped}

    def collector(self) -> "ChatCollector":
        """See `WireFormat.collector`."""
        return ChatCollector(self._model)

    def hidden_in(self, payload: Payload) -> str:
        """See `WireFormat.hidden_in`. Further choices, which were not asked for, are hidden as a whole."""
        choices = [
            as_object(one.get("delta")) or as_object(one.get("message")) for one in objects_in(payload.get("choices"))
        ]
        if not choices:
            return ""
        first, *others = choices
        content = first.get("content")
        parts = [part for part in content if as_object(part).get("type") != "text"] if isinstance(content, list) else []
        hidden = [value for name, value in first.items() if name not in {"content", "role"}]
        return strings_written([*hidden, parts, others])

    def read(self, payload: Payload) -> WireReply:
        """See `WireFormat.read`."""
        usage = read_usage(
            payload, input_name="prompt_tokens", output_name="completion_tokens", details_name="prompt_tokens_details"
        )
        choice = next(objects_in(payload.get("choices")), {})
        message = as_object(choice.get("message"))
        calls = tuple(_calls(message))
        problem = _find_problem(payload, choice, message)
        if problem is None and not calls and not isinstance(message.get("content"), str | list):
            problem = "contains neither text nor a tool call", True
        if problem is not None:
            what, is_retryable = problem
            raise UnusableReply(
                f"the reply of the model '{self._model}' {what}.",
                model=self._model,
                retryable=is_retryable,
                usage=usage,
            )
        text = _text_of(message.get("content"))
        return WireReply(
            text=text, tool_calls=calls, usage=usage, model=text_or_empty(payload.get("model")) or self._model
        )


class ChatCollector:
    """Collects chunks into the object of a reply without streaming.

    A server that ignores `stream` sends that object as its only chunk.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._pieces: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, Payload] = {}
        self._finish_reason: str | None = None
        self._rest: Payload = {}
        self._whole: Payload | None = None

    def add(self, event: Payload) -> str:
        """See `Collector.add`."""
        self._rest |= {name: event[name] for name in ("model", "usage", "error") if event.get(name)}
        choice = next(objects_in(event.get("choices")), {})
        if isinstance(choice.get("message"), dict):
            self._whole = event
            return _text_of(choice["message"].get("content"))
        self._finish_reason = text_or_empty(choice.get("finish_reason")) or self._finish_reason
        delta = as_object(choice.get("delta"))
        for call in objects_in(delta.get("tool_calls")):
            self._add_call(call)
        self._refusal.append(text_or_empty(delta.get("refusal")))
        piece = _text_of(delta.get("content"))
        self._pieces.append(piece)
        return piece

    def _add_call(self, delta: Payload) -> None:
        """Deltas of one call share an index; without an index, an id starts a new call."""
        index = delta.get("index")
        if not isinstance(index, int):
            index = len(self._calls) if delta.get("id") or not self._calls else max(self._calls)
        call = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
        function = as_object(delta.get("function"))
        call["id"] = call["id"] or text_or_empty(delta.get("id"))
        call["name"] += text_or_empty(function.get("name"))
        call["arguments"] += arguments_text(function.get("arguments"))

    def payload(self) -> Payload:
        """See `Collector.payload`."""
        if self._whole is not None:
            return self._whole
        if self._finish_reason is None and "error" not in self._rest:
            raise UnusableReply(
                f"the stream of the model '{self._model}' ended before its 'finish_reason'.",
                model=self._model,
                retryable=True,
            )
        calls = [
            {"id": call["id"], "function": {"name": call["name"], "arguments": call["arguments"]}}
            for _, call in sorted(self._calls.items())
        ]
        message = {"content": "".join(self._pieces), "refusal": "".join(self._refusal), "tool_calls": calls}
        return self._rest | {"choices": [{"message": message, "finish_reason": self._finish_reason}]}


def _wire_message(message: Message) -> Payload:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": message.content}
    if not message.tool_calls:
        return {"role": message.role, "content": message.content}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.tool_calls
    ]
    return {"role": message.role, "content": message.content or None, "tool_calls": calls}


def _tools(request: ModelRequest) -> list[Payload] | None:
    tools = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in request.tools
    ]
    return tools or None


def _format(request: ModelRequest) -> Payload | None:
    if request.output is None:
        return None
    response_format = {"name": request.output.name, "schema": request.output.schema, "strict": True}
    return {"type": "json_schema", "json_schema": response_format}


def _find_problem(payload: Payload, choice: Payload, message: Payload) -> tuple[str, bool] | None:
    """Why a reply is unusable, and whether a retry can help; None if it is usable."""
    if error := as_object(payload.get("error")):
        return f"is an error: {text_or_empty(error.get('message')) or 'no reason given'}"[:500], True
    if choice.get("finish_reason") == "length":
        return "was cut off at its token limit (finish_reason 'length')", False
    if choice.get("finish_reason") == "content_filter":
        return "was stopped by a content filter", False
    if refusal := text_or_empty(message.get("refusal")):
        return f"is a refusal: {refusal}"[:500], False
    return None


def _text_of(content: Any) -> str:
    """The text of a message, or the text parts of a list."""
    if isinstance(content, list):
        return "".join(text_or_empty(part.get("text")) for part in objects_in(content) if part.get("type") == "text")
    return text_or_empty(content)


def _calls(message: Payload) -> Iterator[ToolCall]:
    for number, call in enumerate(objects_in(message.get("tool_calls"))):
        function = as_object(call.get("function"))
        if name := text_or_empty(function.get("name")):
            yield ToolCall(
                text_or_empty(call.get("id")) or f"call_{number}", name, arguments_text(function.get("arguments"))
            )
