"""The two wire formats of OpenAI-compatible model endpoints, read and written as values.

Supports text, function tools, JSON Schema output, usage and streams of the Responses API and Chat Completions
(platform.openai.com/docs/api-reference).
"""

import itertools
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
_DELTA_CHARS = 40


class WireInvalid(Exception):
    """The request body is not valid in its wire format."""


@dataclass(frozen=True, slots=True)
class WireToolCall:
    """A call of a function tool. `arguments` is raw text, as models send it, and may not be JSON."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class WireMessage:
    """One message; `role` is system, developer, user, assistant or tool (the result of `tool_call_id`)."""

    role: str
    content: str
    tool_calls: tuple[WireToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class WireTool:
    """A function tool as it was sent."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True)
class WireSchema:
    """The JSON Schema of the reply, and its name."""

    name: str
    schema: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """A request in either format. `role` and `run` are the X-Runax headers, "" if absent."""

    role: str
    model: str
    messages: tuple[WireMessage, ...]
    tools: tuple[WireTool, ...] = ()
    output_schema: WireSchema | None = None
    max_output_tokens: int | None = None
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireCompletion:
    """A reply. Usage is sent only if both token counts are given; `is_truncated` ends it with the length limit."""

    text: str = ""
    tool_calls: tuple[WireToolCall, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    is_truncated: bool = False


def read_responses(body: JsonObject, *, role: str = "", run: str = "") -> WireRequest:
    """A body of `POST /v1/responses`. Raises WireInvalid."""
    given = body.get("input", [])
    items = [{"role": "user", "content": given}] if isinstance(given, str) else _objects(given, "input")
    messages = [WireMessage("system", _text(body["instructions"]))] if body.get("instructions") else []
    for item in items:
        _append_item(messages, item)
    tools = [tool for tool in _objects(body.get("tools") or [], "tools") if tool.get("type") == "function"]
    form = _object(_object(body.get("text") or {}, "text").get("format") or {}, "text.format")
    return WireRequest(
        role=role,
        run=run,
        model=str(body.get("model", "")),
        messages=tuple(messages),
        tools=tuple(map(_tool, tools)),
        output_schema=_schema(form) if form.get("type") == "json_schema" else None,
        max_output_tokens=body.get("max_output_tokens"),
    )


def read_chat(body: JsonObject, *, role: str = "", run: str = "") -> WireRequest:
    """A body of `POST /v1/chat/completions`. Raises WireInvalid."""
    tools = [tool for tool in _objects(body.get("tools") or [], "tools") if tool.get("type") == "function"]
    form = _object(body.get("response_format") or {}, "response_format")
    wants_schema = form.get("type") == "json_schema"
    return WireRequest(
        role=role,
        run=run,
        model=str(body.get("model", "")),
        messages=tuple(_chat_message(message) for message in _objects(body.get("messages"), "messages")),
        tools=tuple(_tool(_object(tool.get("function"), "tools[].function")) for tool in tools),
        output_schema=_schema(_object(form.get("json_schema"), "response_format.json_schema"))
        if wants_schema
        else None,
        max_output_tokens=body.get("max_completion_tokens", body.get("max_tokens")),
    )


def _append_item(messages: list[WireMessage], item: JsonObject) -> None:
    """Add one input item; tool calls are added to the assistant message before them."""
    kind = item.get("type", "message")
    if kind == "function_call":
        call = WireToolCall(str(item.get("name")), str(item.get("arguments", "")), str(item.get("call_id", "")))
        before = messages.pop() if messages and messages[-1].role == "assistant" else WireMessage("assistant", "")
        messages.append(WireMessage("assistant", before.content, (*before.tool_calls, call)))
    elif kind == "function_call_output":
        messages.append(WireMessage("tool", _text(item.get("output")), tool_call_id=str(item.get("call_id", ""))))
    elif kind == "message":
        messages.append(WireMessage(str(item.get("role", "user")), _text(item.get("content"))))
    else:
        raise WireInvalid(
            f"input item of type '{kind}' is not supported; use message, function_call, function_call_output"
        )


def _chat_message(message: JsonObject) -> WireMessage:
    calls = []
    for call in _objects(message.get("tool_calls") or [], "tool_calls"):
        function = _object(call.get("function"), "tool_calls[].function")
        calls.append(
            WireToolCall(str(function.get("name")), str(function.get("arguments", "")), str(call.get("id", "")))
        )
    role = str(message.get("role", "user"))
    return WireMessage(role, _text(message.get("content")), tuple(calls), message.get("tool_call_id"))


def _text(content: Any) -> str:
    """Content as one string: a string, None, or a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(str(part.get("text", "")) for part in _objects(content, "content"))


def _tool(tool: JsonObject) -> WireTool:
    parameters = _object(tool.get("parameters") or {}, "parameters")
    return WireTool(str(tool.get("name")), str(tool.get("description") or ""), parameters)


def _schema(form: JsonObject) -> WireSchema:
    return WireSchema(str(form.get("name")), _object(form.get("schema") or {}, "schema"))


def _object(value: Any, name: str) -> JsonObject:
    if not isinstance(value, dict):
        raise WireInvalid(f"'{name}' must be an object, not {type(value).__name__}")
    return value


def _objects(value: Any, name: str) -> list[JsonObject]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise WireInvalid(f"'{name}' must be a list of objects")
    return value


def _new_id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:20]


def response_object(reply: WireCompletion, model: str) -> JsonObject:
    """A reply as a Responses API object."""
    output: list[JsonObject] = []
    if reply.text or not reply.tool_calls:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        item = {"type": "message", "id": _new_id("msg_"), "role": "assistant", "status": "completed", "content": [part]}
        output.append(item)
    for call in reply.tool_calls:
        at = {"type": "function_call", "id": _new_id("fc_"), "call_id": call.id or _new_id("call_")}
        output.append({**at, "name": call.name, "arguments": call.arguments, "status": "completed"})
    return {
        "id": _new_id("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "status": "incomplete" if reply.is_truncated else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if reply.is_truncated else None,
        "model": model,
        "output": output,
        "usage": _response_usage(reply),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "instructions": None,
        "metadata": {},
        "temperature": None,
        "top_p": None,
    }


def _response_usage(reply: WireCompletion) -> JsonObject | None:
    if reply.input_tokens is None or reply.output_tokens is None:
        return None
    return {
        "input_tokens": reply.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": reply.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }


def response_events(whole: JsonObject) -> Iterator[JsonObject]:
    """The events that stream a Responses API object, the final one last."""
    number = itertools.count()
    started = {**whole, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    body: Iterator[JsonObject] = itertools.chain.from_iterable(
        _item_events(index, item) for index, item in enumerate(whole["output"])
    )
    opening = ({"type": f"response.{kind}", "response": started} for kind in ("created", "in_progress"))
    closing = {"type": f"response.{whole['status']}", "response": whole}
    for event in itertools.chain(opening, body, (closing,)):
        yield {**event, "sequence_number": next(number)}


def _item_events(index: int, item: JsonObject) -> Iterator[JsonObject]:
    at = {"output_index": index, "item_id": item["id"]}
    is_message = item["type"] == "message"
    hollow: JsonObject = {"content": []} if is_message else {"arguments": ""}
    added = {**item, "status": "in_progress", **hollow}
    yield {"type": "response.output_item.added", "output_index": index, "item": added}
    yield from _text_events(item["content"][0], at) if is_message else _call_events(item, at)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _text_events(part: JsonObject, at: JsonObject) -> Iterator[JsonObject]:
    here = {**at, "content_index": 0}
    yield {"type": "response.content_part.added", "part": {**part, "text": ""}, **here}
    for piece in _pieces(part["text"]):
        yield {"type": "response.output_text.delta", "delta": piece, "logprobs": [], **here}
    yield {"type": "response.output_text.done", "text": part["text"], "logprobs": [], **here}
    yield {"type": "response.content_part.done", "part": part, **here}


def _call_events(item: JsonObject, at: JsonObject) -> Iterator[JsonObject]:
    for piece in _pieces(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", "delta": piece, **at}
    done = {"arguments": item["arguments"], "name": item["name"]}
    yield {"type": "response.function_call_arguments.done", **done, **at}


def chat_object(reply: WireCompletion, model: str) -> JsonObject:
    """A reply as a Chat Completions object."""
    message: JsonObject = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id or _new_id("call_"),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in reply.tool_calls
        ]
    elif message["content"] is None:
        message["content"] = ""
    finish = "length" if reply.is_truncated else "tool_calls" if reply.tool_calls else "stop"
    return {
        "id": _new_id("chatcmpl-"),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": _chat_usage(reply),
    }


def _chat_usage(reply: WireCompletion) -> JsonObject | None:
    if reply.input_tokens is None or reply.output_tokens is None:
        return None
    total = reply.input_tokens + reply.output_tokens
    return {"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens, "total_tokens": total}


def chat_chunks(whole: JsonObject, *, with_usage: bool) -> Iterator[JsonObject]:
    """The chunks that stream a Chat Completions object; usage comes last if requested and known."""
    choice = whole["choices"][0]
    message = choice["message"]
    yield _chunk(whole, {"role": "assistant", "content": ""})
    for piece in _pieces(message["content"] or ""):
        yield _chunk(whole, {"content": piece})
    for index, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        opened = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        yield _chunk(whole, {"tool_calls": [opened]})
        for piece in _pieces(function["arguments"]):
            yield _chunk(whole, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield _chunk(whole, {}, finish=choice["finish_reason"])
    if with_usage and whole["usage"]:
        yield {**_head(whole), "choices": [], "usage": whole["usage"]}


def _chunk(whole: JsonObject, delta: JsonObject, *, finish: str | None = None) -> JsonObject:
    return {**_head(whole), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _head(whole: JsonObject) -> JsonObject:
    same = {name: whole[name] for name in ("id", "created", "model")}
    return {**same, "object": "chat.completion.chunk"}


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _DELTA_CHARS] for start in range(0, len(text), _DELTA_CHARS))
