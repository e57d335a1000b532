"""Messages of JSON-RPC in what a server sent and no reader of messages would take.

Knows the members of a message, and how programs get them wrong: several messages at once, words around one, an id of
another type or none, a result that is no object, an error that is a text. Knows no transport. Whose reply it is where a
reply does not say so, is told to it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from adapters.base import Json, JsonObject
from adapters.json_text import fix_surrogates
from adapters.mcp.content.lenient_json import value_at

_NOISE = " \t\r\n\f\v\ufeff\x00"
_MOST_STARTS = 20
_INTERNAL, _PARSE_ERROR = -32603, -32700
_SHORTEST_REPLY = 20
TOO_LARGE = "the reply is longer than what is read"
_NO_RESULT = "the reply holds neither a result nor an error"
_LISTS = {"tools/list": "tools", "resources/list": "resources", "resources/read": "contents", "tools/call": "content"}
_BLOCKS = frozenset({"text", "image", "audio", "resource", "resource_link"})
_MEMBERS = frozenset({"id", "result", "error"})
RequestId = int | str


def messages_in(spoiled: Json | bytes, pending: Mapping[RequestId, str]) -> list[JsonObject]:
    """The messages that are in there, in order, with what is wrong about them put right; none where there are none.

    `pending` are the methods of the requests that wait for a reply, by id.
    """
    if isinstance(spoiled, bytes):
        spoiled = spoiled.decode("utf-8", "replace")
    values = _values(spoiled) if isinstance(spoiled, str) else [spoiled]
    found = [part for value in values for part in (value if isinstance(value, list) else [value])]
    mended = (_message(part, pending) for part in found if isinstance(part, dict))
    messages = [message for message in mended if message is not None]
    return messages or (_unreadable(spoiled, pending) if isinstance(spoiled, str) else [])


def is_begun(text: str) -> bool:
    """Whether a line is the first one of a message that was printed over several."""
    return text.strip(_NOISE) in ("{", "[")


def too_large(pending: Iterable[RequestId]) -> Iterator[JsonObject]:
    """The failure of every request that waits, where a line is longer than what is read: nobody knows whose it was."""
    for named in pending:
        yield {"jsonrpc": "2.0", "id": named, "error": {"code": _PARSE_ERROR, "message": TOO_LARGE}}


def _values(text: str) -> Iterator[Json]:
    """Every object and list of a line, as far as it looks like a message."""
    end = 0
    for _ in range(_MOST_STARTS):
        start = min((at for sign in "{[" if (at := text.find(sign, end)) >= 0), default=-1)
        if start < 0:
            return
        try:
            value, end = value_at(text, start)
        except (ValueError, RecursionError):
            end = start + 1
            continue
        if isinstance(value, dict | list):
            yield fix_surrogates(value)


def _message(value: JsonObject, pending: Mapping[RequestId, str]) -> JsonObject | None:
    """The message that an object is; a line of a log may have members of the same names."""
    if isinstance(value.get("method"), str):
        return _call(value)
    is_ours = "jsonrpc" in value or (value.keys() <= _MEMBERS and str(value.get("id")) in map(str, pending))
    if not is_ours or ("result" not in value and "error" not in value):
        return None
    sent = _id(value.get("id"), pending)
    if sent is None:
        return None
    if _is_failure(value):
        return {"jsonrpc": "2.0", "id": sent, "error": _error(value.get("error"))}
    return {"jsonrpc": "2.0", "id": sent, "result": _result(value.get("result"), pending.get(sent, ""))}


def _unreadable(text: str, pending: Collection[RequestId]) -> list[JsonObject]:
    """The failure of the only request that waits, where a text was a reply, and is cut or broken."""
    is_reply = '"jsonrpc"' in text and any(name in text for name in ('"result"', '"error"'))
    if len(pending) != 1 or not is_reply or len(text) < _SHORTEST_REPLY:
        return []
    why = f"the reply, {len(text):,} characters, is no JSON: it is cut or broken, and ends with {text[-40:]!r}"
    return [{"jsonrpc": "2.0", "id": next(iter(pending)), "error": {"code": _PARSE_ERROR, "message": why}}]


def _call(value: JsonObject) -> JsonObject:
    """A request or a notification of the server."""
    params, named = value.get("params"), value.get("id")
    call: JsonObject = {"jsonrpc": "2.0", "method": value["method"]}
    if isinstance(params, dict):
        call["params"] = params
    if isinstance(named, int | str) and not isinstance(named, bool):
        call["id"] = named
    return call


def _id(named: Json, pending: Collection[RequestId]) -> RequestId | None:
    """The id of the request that a reply is for: of one without a usable id, the only one that waits."""
    if isinstance(named, float) and named.is_integer():
        return int(named)
    if isinstance(named, int | str) and not isinstance(named, bool):
        return named
    return next(iter(pending)) if len(pending) == 1 else None


def _is_failure(value: JsonObject) -> bool:
    """Whether a reply is an error: one beside a result is so only if it says anything."""
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
    named = f" ({code})" if code is not None and not is_code else ""
    told = str(message or error.get("data") or "the server gives no reason")
    return {"code": code if is_code else _INTERNAL, "message": told + named, "data": error.get("data")}


def _result(result: Json, method: str) -> JsonObject:
    """A result that is an object: of anything else, the one that holds it."""
    if isinstance(result, dict):
        return result
    name = _LISTS.get(method)
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
