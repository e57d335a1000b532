"""What a result says of having failed, where it is given as if it were data.

Knows how services word a failure inside an answer that is otherwise in order: a message in the place of data, a flag, a
list of errors. Knows no session and no exception. A record may hold an error of its own (a job that failed): an object
is a failure only where it holds nothing else.
"""

import re
from collections.abc import Mapping

from adapters.base import Json, JsonObject
from adapters.paging.prose import says_failed

_ERRORS = ("error", "errors", "exception", "errorMessage", "error_message", "fault")
_FLAGS = ("success", "ok", "succeeded", "isSuccess", "is_success")
_RAISED = ("isError", "is_error", "failed")
_STATES = ("status", "state", "result", "type")
_FAILED = frozenset({"error", "failed", "failure", "fail", "exception"})
_BESIDE = frozenset(
    {"message", "msg", "code", "status", "state", "status_code", "statusCode", "detail", "details", "reason", "type",
     "title", "request_id", "requestId", "timestamp", "documentation_url", "jsonrpc", "hint", "traceback", "stack",
     "instance", "path", *_ERRORS, *_FLAGS, *_RAISED}
)  # fmt: skip
_REFUSED = re.compile(
    r"\W*(?:(?:not authenticated|not authorized|unauthorized|forbidden|bad credentials|(?:access|permission) denied)\b"
    r"|(?:invalid|missing|expired) (?:api[ _-]?key|token|credentials)\b|authentication (?:failed|required)\b)",
    re.IGNORECASE,
)
_ERROR_PAGE = re.compile(r"<title>\s*(?:(?:http )?error:?\s*)?[45]\d\d\b", re.IGNORECASE)
_LONGEST_PAGE = 20_000


def complaint_in(value: Json) -> str:
    """The message of a failure that stands in the place of data; empty where the value is data."""
    if isinstance(value, str):
        return value if says_failed(value) or _is_error_page(value) else ""
    if not isinstance(value, dict) or not all(_is_beside(name, inner, value) for name, inner in value.items()):
        return ""
    return _message(value) if _complains(value) else ""


def complaint_beside(value: Json) -> str:
    """What an answer says of having failed in part, beside data: `errors` as GraphQL has them, or a flag."""
    if not isinstance(value, dict):
        return ""
    errors = value.get("errors")
    is_partial = "data" in value and isinstance(errors, list) and bool(errors)
    is_flagged = any(value.get(name) is False for name in _FLAGS) and any(isinstance(v, list) for v in value.values())
    return _message(value) if is_partial or is_flagged else ""


def _complains(value: Mapping[str, Json]) -> bool:
    is_told = any(_is_error(value.get(name)) for name in _ERRORS) and not value.keys() <= {"errors"}
    is_flagged = any(value.get(name) is False for name in _FLAGS) or any(value.get(name) is True for name in _RAISED)
    is_state = any(str(value.get(name)).lower() in _FAILED for name in _STATES) and len(value) > 1
    only = next((inner for inner in value.values() if isinstance(inner, str)), "")
    is_refusal = value.keys() <= {"detail", "message", "msg", "documentation_url"} and (
        _REFUSED.match(only) is not None or says_failed(only)
    )
    return is_told or is_flagged or is_state or is_refusal


def _is_error(value: Json) -> bool:
    return bool(value) and value is not True and (not isinstance(value, int | float) or value >= 400)


def _is_beside(name: str, inner: Json, value: Mapping[str, Json]) -> bool:
    """Whether a member is what stands beside an error, or holds nothing."""
    return name in _BESIDE or inner in (None, "", [], {}, 0, False) or (name == "id" and "jsonrpc" in value)


def _message(value: JsonObject) -> str:
    """The words of the failure; all of it where none are found."""
    for name in (*_ERRORS, "message", "msg", "detail", "reason"):
        inner = value.get(name)
        first = inner[0] if isinstance(inner, list) and inner else inner
        if isinstance(first, dict):
            first = next((first[key] for key in ("message", "msg", "detail") if first.get(key)), first)
        if first and not isinstance(first, bool | int | float):
            return str(first)
    return str(value)


def _is_error_page(text: str) -> bool:
    return len(text) <= _LONGEST_PAGE and text.lstrip()[:1] == "<" and _ERROR_PAGE.search(text) is not None
