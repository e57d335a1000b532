"""The wire format of the Responses API (`POST /responses`).

Every request has the full input and nothing is stored at the endpoint, because `previous_response_id` is not portable.
Items without text or calls, such as reasoning, are ignored.
"""

from collections.abc import Iterator

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

_COMPLETED = "response.completed"
_TEXT_DELTA = "response.output_text.delta"
_TERMINAL = frozenset({_COMPLETED, "response.incomplete", "response.failed"})


class ResponsesWire:
    """Request bodies and replies of one model."""

    api: Api = "responses"
    path = "/responses"

    def __init__(self, model: str) -> None:
        self._model = model

    def body(self, request: ModelRequest, *, sampling: Sampling, dropped: set[str], stream: bool) -> Payload:
        """See `WireFormat.body`. A system message at the start is sent as `instructions`."""
        first, *rest = request.messages
        has_instructions = first.role == "system"
        messages = rest if has_instructions else request.messages
        body: Payload = {
            "model": self._model,
            "input": [item for message in messages for item in _items(message)],
            "max_output_tokens": request.max_output_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "store": False,
            "instructions": first.content if has_instructions else None,
            "tools": _tools(request),
            "text": _format(request),
            "stream": stream or None,
        }
        return {key: value for key, value in body.items() if value is not None and key not in dropped}

    def collector(self) -> "ResponsesCollector":
        """See `WireFormat.collector`."""
        return ResponsesCollector(self._model)

    def hidden_in(self, payload: Payload) -> str:
        """See `WireFormat.hidden_in`. The events at the end of a stream repeat its deltas and are left out."""
        kind = payload.get("type")
        if isinstance(kind, str):
            is_hidden = kind.endswith(".delta") and kind != _TEXT_DELTA
            return strings_written(payload.get("delta")) if is_hidden else ""
        return strings_written([item for item in objects_in(payload.get("output")) if item.get("type") != "message"])

    def read(self, payload: Payload) -> WireReply:
        """See `WireFormat.read`."""
        usage = read_usage(
            payload, input_name="input_tokens", output_name="output_tokens", details_name="input_tokens_details"
        )
        problem = _find_problem(payload)
        text = "".join(_text_of(payload))
        calls = tuple(_calls(payload))
        if problem is None and not calls and not _has_message(payload):
            problem = "contains neither text nor a tool call", True
        if problem is not None:
            what, is_retryable = problem
            raise UnusableReply(
                f"the reply of the model '{self._model}' {what}.",
                model=self._model,
                retryable=is_retryable,
                usage=usage,
            )
        return WireReply(
            text=text, tool_calls=calls, usage=usage, model=text_or_empty(payload.get("model")) or self._model
        )


class ResponsesCollector:
    """The terminal event has the complete reply; earlier events are used if an endpoint leaves its `output` empty.

    A server that ignores `stream` sends the complete reply as its only event.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._pieces: list[str] = []
        self._items: list[Payload] = []
        self._last: Payload | None = None

    def add(self, event: Payload) -> str:
        """See `Collector.add`."""
        kind = event.get("type")
        if kind is None and "output" in event:
            self._last = event
            return "".join(_text_of(event))
        if kind == _TEXT_DELTA:
            piece = text_or_empty(event.get("delta"))
            self._pieces.append(piece)
            return piece
        if kind == "response.output_item.done":
            self._items.append(as_object(event.get("item")))
        elif kind == "error":
            self._last = {"status": "failed", "error": as_object(event.get("error")) or event}
        elif kind in _TERMINAL:
            self._last = as_object(event.get("response"))
            self._last.setdefault("status", str(kind).removeprefix("response."))
        return ""

    def payload(self) -> Payload:
        """See `Collector.payload`."""
        if self._last is None:
            raise UnusableReply(
                f"the stream of the model '{self._model}' ended before '{_COMPLETED}'.",
                model=self._model,
                retryable=True,
            )
        if not self._last.get("output"):
            self._last["output"] = self._items or self._from_pieces()
        return self._last

    def _from_pieces(self) -> list[Payload]:
        text = "".join(self._pieces)
        return [{"type": "message", "content": [{"type": "output_text", "text": text}]}] if text else []


def _items(message: Message) -> Iterator[Payload]:
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.tool_call_id or "", "output": message.content}
        return
    if message.content or not message.tool_calls:
        yield {"type": "message", "role": message.role, "content": message.content}
    for call in message.tool_calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _tools(request: ModelRequest) -> list[Payload] | None:
    tools = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": False,
        }
        for tool in request.tools
    ]
    return tools or None


def _format(request: ModelRequest) -> Payload | None:
    if request.output is None:
        return None
    json_schema = {"type": "json_schema", "name": request.output.name, "schema": request.output.schema, "strict": True}
    return {"format": json_schema}


def _find_problem(payload: Payload) -> tuple[str, bool] | None:
    """Why a reply is unusable, and whether a retry can help; None if it is usable."""
    error = as_object(payload.get("error"))
    if error or payload.get("status") == "failed":
        return f"is an error: {text_or_empty(error.get('message')) or 'no reason given'}"[:500], True
    if payload.get("status") == "incomplete":
        reason = text_or_empty(as_object(payload.get("incomplete_details")).get("reason")) or "no reason given"
        return f"is incomplete ({reason})", False
    if payload.get("status") in {"in_progress", "queued", "cancelled"}:
        return f"is not complete (status '{payload['status']}')", True
    if refusals := [part for part in _parts(payload) if part.get("type") == "refusal"]:
        return f"is a refusal: {text_or_empty(refusals[0].get('refusal'))}"[:500], False
    return None


def _messages(payload: Payload) -> Iterator[Payload]:
    return (item for item in objects_in(payload.get("output")) if item.get("type") == "message")


def _parts(payload: Payload) -> Iterator[Payload]:
    return (part for message in _messages(payload) for part in objects_in(message.get("content")))


def _text_of(payload: Payload) -> Iterator[str]:
    for message in _messages(payload):
        yield text_or_empty(message.get("content"))
        for part in objects_in(message.get("content")):
            yield text_or_empty(part.get("text")) if part.get("type") in {"output_text", "text"} else ""


def _has_message(payload: Payload) -> bool:
    return any(isinstance(message.get("content"), list | str) for message in _messages(payload))


def _calls(payload: Payload) -> Iterator[ToolCall]:
    for number, item in enumerate(objects_in(payload.get("output"))):
        if item.get("type") == "function_call" and (name := text_or_empty(item.get("name"))):
            call_id = text_or_empty(item.get("call_id")) or text_or_empty(item.get("id")) or f"call_{number}"
            yield ToolCall(call_id, name, arguments_text(item.get("arguments")))
