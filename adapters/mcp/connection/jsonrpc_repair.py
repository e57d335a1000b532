"""Recovers JSON-RPC messages from what a server sent and the SDK rejected.

Handles several messages at once, text around a message, an id of another type or none, a result that is not an object,
and an error that is a string.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from adapters.base import Json, JsonObject
from adapters.json_text import fix_surrogates
from adapters.mcp.content.lenient_json import parse_value

_IGNORED_CHARS = " \t\r\n\f\v\ufeff\x00"
_MAX_STARTS = 20
_INTERNAL, _PARSE_ERROR = -32603, -32700
_MIN_REPLY_CHARS = 20
TOO_LARGE = "the reply exceeds the size limit"
_NO_RESULT = "the reply has neither a result nor an error"
_RESULT_MEMBERS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/read": "contents",
    "tools/call": "content",
}
_BLOCKS = frozenset({"text", "image", "audio", "resource", "resource_link"})
_REPLY_MEMBERS = frozenset({"id", "result", "error"})
RequestId = int | str


def recover_messages(invalid: Json | bytes, pending: Mapping[RequestId, str]) -> list[JsonObject]:
    """The messages in a rejected input, in order and corrected; empty if there are none.

    `pending` maps the ids of unanswered requests to their methods.
    """
    if isinstance(invalid, bytes):
        invalid = invalid.decode("utf-8", "replace")
    values = _values_in(invalid) if isinstance(invalid, str) else [invalid]
    found = [part for value in values for part in (value if isinstance(value, list) else [value])]
    messages_or_none = (_message(part, pending) for part in found if isinstance(part, dict))
    messages = [message for message in messages_or_none if message is not None]
    return messages or (_broken_reply_errors(invalid, pending) if isinstance(invalid, str) else [])


def starts_message(text: str) -> bool:
    """Whether a line is the first one of a message printed over several lines."""
    return text.strip(_IGNORED_CHARS) in ("{", "[")


def too_large_errors(pending: Iterable[RequestId]) -> Iterator[JsonObject]:
    """An error reply for every pending request, because it is unknown which one the long line replied to."""
    for request_id in pending:
        yield {"jsonrpc": "2.0", "id": request_id, "error": {"code": _PARSE_ERROR, "message": TOO_LARGE}}


def _values_in(text: str) -> Iterator[Json]:
    """Every object and list in a line that might be a message."""
    end = 0
    for _ in range(_MAX_STARTS):
        start = min((at for sign in "{[" if (at := text.find(sign, end)) >= 0), default=-1)
        if start < 0:
            return
        try:
            value, end = parse_value(text, start)
        except (ValueError, RecursionError):
            end = start + 1
            continue
        if isinstance(value, dict | list):
            yield fix_surrogates(value)


def _message(value: JsonObject, pending: Mapping[RequestId, str]) -> JsonObject | None:
    """The message that an object represents; a log line may have members of the same names."""
    if isinstance(value.get("method"), str):
        return _server_message(value)
    is_ours = "jsonrpc" in value or (value.keys() <= _REPLY_MEMBERS and str(value.get("id")) in map(str, pending))
    if not is_ours or ("result" not in value and "error" not in value):
        return None
    request_id = _reply_id(value.get("id"), pending)
    if request_id is None:
        return None
    if _is_error_reply(value):
        return {"jsonrpc": "2.0", "id": request_id, "error": _error(value.get("error"))}
    return {"jsonrpc": "2.0", "id": request_id, "result": _result(value.get("result"), pending.get(request_id, ""))}


def _broken_reply_errors(text: str, pending: Collection[RequestId]) -> list[JsonObject]:
    """An error reply for the only pending request, if the text is a truncated or broken reply."""
    is_reply = '"jsonrpc"' in text and any(name in text for name in ('"result"', '"error"'))
    if len(pending) != 1 or not is_reply or len(text) < _MIN_REPLY_CHARS:
        return []
    reason = f"the reply ({len(text):,} characters) is truncated or not valid JSON; it ends with {text[-40:]!r}"
    return [{"jsonrpc": "2.0", "id": next(iter(pending)), "error": {"code": _PARSE_ERROR, "message": reason}}]


def _server_message(value: JsonObject) -> JsonObject:
    """A request or notification of the server."""
    params, request_id = value.get("params"), value.get("id")
    call: JsonObject = {"jsonrpc": "2.0", "method": value["method"]}
    if isinstance(params, dict):
        call["params"] = params
    if isinstance(request_id, int | str) and not isinstance(request_id, bool):
        call["id"] = request_id
    return call


def _reply_id(request_id: Json, pending: Collection[RequestId]) -> RequestId | None:
    """The id of the request that a reply belongs to; without a usable id, the only pending request."""
    if isinstance(request_id, float) and request_id.is_integer():
        return int(request_id)
    if isinstance(request_id, int | str) and not isinstance(request_id, bool):
        return request_id
    return next(iter(pending)) if len(pending) == 1 else None


def _is_error_reply(value: JsonObject) -> bool:
    """Whether a reply is an error; an error next to a result must have a message or a code."""
    error = value.get("error")
    if not error:
        return value.get("result") is None
    is_said = not isinstance(error, dict) or bool(error.get("message") or error.get("code"))
    return is_said or value.get("result") is None


def _error(error: Json) -> JsonObject:
    if not isinstance(error, dict):
        return {"code": _INTERNAL, "message": str(error or _NO_RESULT)}
    code, message = error.get("code"), error.get("message")
    is_code = isinstance(code, int) and not isinstance(code, bool)
    code_text = f" ({code})" if code is not None and not is_code else ""
    text = str(message or error.get("data") or "the server gave no reason")
    return {"code": code if is_code else _INTERNAL, "message": text + code_text, "data": error.get("data")}


def _result(result: Json, method: str) -> JsonObject:
    """The result as an object; anything else is wrapped in the object that the method returns."""
    if isinstance(result, dict):
        return result
    name = _RESULT_MEMBERS.get(method)
    if name is None:
        return {}
    if name != "content":
        return {name: result if isinstance(result, list) else []}
    if isinstance(result, list) and any(_is_block(item) for item in result):
        return {"content": result}
    if isinstance(result, str):
        return {"content": [{"type": "text", "text": result}]}
    return {"content": [], "structuredContent": result}


def _is_block(item: Json) -> bool:
    return isinstance(item, dict) and item.get("type") in _BLOCKS
