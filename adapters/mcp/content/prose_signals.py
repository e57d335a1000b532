"""Metadata and error messages in the text around data: cursors, totals, "more results", "truncated", "access denied".

What a sentence says is returned under the name that a server would use for it as a member, such as `next_cursor`.
"""

import re
from collections.abc import Iterable, Mapping

from adapters.base import Json, JsonObject
from adapters.pagination.read.text_signals import is_error_message

_CURSOR_VALUE = r"[\"'`<]?(?P<value>[^\s\"'`<>]+?)[\"'`>]?"
_NAME_VALUE_LINE = re.compile(
    r"^\W*([A-Za-z][A-Za-z _-]{1,30}?)\s*[:=]\s*[\"'`]?([^\s\"'`]+?)[\"'`]?[.,;]?\s*$", re.MULTILINE
)
_CURSOR_WORD = r"(?:cursor|token|marker|bookmark)"
_NEXT_CURSOR = re.compile(
    rf"\b(?:next|continuation|resume|resumption)[ _-]?(?:page[ _-]?)?{_CURSOR_WORD}\W{{0,3}}"
    rf"(?:\s*(?:[:=]|is\b|->)\s*){_CURSOR_VALUE}"
    rf"(?=[.,;)\]]*(?:\s|$))",
    re.IGNORECASE,
)
_MORE_WITH_CURSOR = re.compile(
    rf"\b(?:more|next|continue|further|rest|remaining)\b[^\n]{{0,120}}?\b(?:page[ _-]?)?{_CURSOR_WORD}\W{{0,3}}"
    rf"(?:[:=]|is\b|\s)\s*(?=[\"'`<]?[^\s\"'`<>]*[\d=_+/-]){_CURSOR_VALUE}(?=[.,;)\]]*(?:\s|$))",
    re.IGNORECASE,
)
_CURSOR_FOR_MORE = re.compile(
    rf"\b{_CURSOR_WORD}\W{{0,3}}(?:[:=]|is\b|\s)\s*(?=[\"'`<]?[^\s\"'`<>]*[\d=_+/-]){_CURSOR_VALUE}(?=[.,;)\]]*\s)"
    r"[^\n]{0,60}\b(?:more|next|continue|rest|remaining)\b",
    re.IGNORECASE,
)
_COUNT_OF_TOTAL = re.compile(
    r"\b(?:showing|displaying|returned|returning|listing|results?|records?|rows?|items?|first|last|latest|top|only)\b"
    r"[^\n.]{0,20}?\b\d[\d,]*(?: \w+)?"
    r"(?:\s*(?:-|\u2013|to)\s*\d[\d,]*)?\s+(?:out )?of\s+(?P<total>\d[\d,]*)\b"
    r"|\b\d[\d,]* (?:out )?of (?P<all>\d[\d,]*)(?: \w+){0,2} (?:are |were )?(?:shown|returned|displayed|listed|read)\b",
    re.IGNORECASE,
)
_MORE_FOLLOWS = re.compile(
    r"\b(?:there (?:is|are) more|(?:more|further|additional|other) (?:\w+ ){0,2}?"
    r"(?:available|exist|remain|follow|not shown|can be)|(?:and|\+) \d[\d,]* more\b|has more\b"
    r"|(?:output|results?|response|list|data) (?:was |were |is |are |has been |have been )?truncated"
    r"|truncated[^\n]{0,40}\b(?:more|characters|results|rows|items|records)"
    r"|(?:output|results?|response|list|data) (?:was |is |are )?too (?:large|long|big|many)"
    r"|(?:full|complete|entire|whole) (?:output|results?|response|list|data) (?:was |is |are |has been )?"
    r"(?:at|in|saved|stored|written|available)"
    r"|\d[\d,]* (?:more|additional|further|remaining)(?: (?:results?|records?|rows?|items?|entries|lines?|files?"
    r"|tickets?|not shown|omitted|hidden)\b|(?=\s*[).\]]?\s*(?:\n|$)))"
    r"|\d[\d,]* (?:\w+ )?(?:(?:were |are )?(?:omitted|hidden|not shown|skipped|left out))"
    r"|to (?:get|see|fetch|load|retrieve) (?:the )?(?:more|next|rest|remaining))\b",
    re.IGNORECASE,
)
_POSITION_OF_LAST = re.compile(
    r"\b(?:page|chunk|batch|part)\W{0,3}(?P<at>\d{1,9})\s*(?:of|/)\s*(?P<of>\d{1,9})\b"
    r"|\b(?:showing|displaying|listing|results?|records?|items?|rows?)\W{0,3}\d[\d,]*\s*(?:-|\u2013|to)\s*(?P<to>\d[\d,]*)"
    r"\s+(?:out )?of\s+(?P<all>\d[\d,]*)",
    re.IGNORECASE,
)
_TRUNCATED = re.compile(
    r"\b(?:content|text|output|results?|response|list|data|document|file|page|body)"
    r"(?: (?:was|were|is|are|has been|have been))? (?:truncated|cut (?:off|short)|clipped|shortened)\b"
    r"|[\[(<\u2026.]\W{0,4}(?:truncated|cut off|clipped)\b"
    r"|\b\d[\d,]* (?:more|further|additional|remaining) (?:lines?|characters?|chars|bytes|tokens|rows|pages|words)\b"
    r"|\b\d[\d,]* (?:lines?|characters?|chars|bytes|tokens|rows|pages|words)"
    r" (?:(?:were |are )?(?:omitted|truncated|remaining|left out|not shown|hidden|skipped)|more)\b",
    re.IGNORECASE,
)
_MAX_LINE_CHARS = 200
_ELLIPSIS_LINE = re.compile(r"^[\s>*_-]*(?:\.{3,}|\u2026)[\s*_]*$", re.MULTILINE)
_LIMITED_TO = re.compile(
    r"\b(?:limited to|limit(?: of)?|capped at|cut (?:off )?at|(?:up to )?a? ?maximum(?: of)?|at most|no more than|only"
    r"|(?:the )?(?:first|last|latest|top)|truncated (?:to|at|after))(?: the)?(?: first| last)?\s*:?\s+(\d[\d,]*)\b",
    re.IGNORECASE,
)
_PAGING_KEYS = frozenset(
    {"next_cursor", "nextcursor", "has_more", "total", "next_page", "next_page_token", "next_offset"}
)
_NEGATION = re.compile(r"\b(?:no|not|without|isn't|aren't|zero)\b[^\n.]{0,20}$", re.IGNORECASE)


def metadata_in(text: str, *, n_records: int | None = None) -> JsonObject:
    """The metadata that a text states: lines such as `Total: 261`, and sentences about a next page or more results.

    Integers are returned as numbers. `n_records` is the number of records next to the text: if the text names it as a
    limit, the list was cut there.
    """
    metadata: JsonObject = {
        re.sub(r"[ -]+", "_", name.strip().lower()): _number_or_text(value)
        for name, value in _NAME_VALUE_LINE.findall(text)
    }
    for pattern in (_NEXT_CURSOR, _MORE_WITH_CURSOR, _CURSOR_FOR_MORE):
        if (match := pattern.search(text)) is not None:
            metadata.setdefault("next_cursor", _number_or_text(match["value"]))
            break
    if (match := _COUNT_OF_TOTAL.search(text)) is not None:
        metadata.setdefault("total", int((match["total"] or match["all"]).replace(",", "")))
    if (
        _mentions_more(text)
        or _mentions_truncation(text)
        or ("total" not in metadata and is_before_last_page(text))
        or (n_records and n_records in {int(match[1].replace(",", "")) for match in _LIMITED_TO.finditer(text)})
    ):
        metadata.setdefault("has_more", True)
    return metadata


def paging_metadata_in(text: str, *, n_records: int | None = None) -> JsonObject:
    """Only what the text says about a next page, more results, and the total."""
    return paging_metadata([metadata_in(text, n_records=n_records)])


def is_truncated(text: str) -> bool:
    """Whether the first or last line of a text says that it is a part: `Page 1 of 6`, `(content truncated)`.

    Other lines belong to the content, and sentences that merely offer more are ignored.
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    ends = [line for line in (lines[:1] + lines[-1:]) if len(line) <= _MAX_LINE_CHARS]
    return any(
        is_before_last_page(line) or _NEXT_CURSOR.search(line) is not None or _mentions_truncation(line)
        for line in ends
    )


def _mentions_truncation(line: str) -> bool:
    return any(_NEGATION.search(line[: match.start()]) is None for match in _TRUNCATED.finditer(line))


def is_before_last_page(text: str) -> bool:
    """Whether the text names a position and a later last one, of pages or of records."""
    match = _POSITION_OF_LAST.search(text)
    if match is None:
        return False
    current, last = match["at"] or match["to"], match["of"] or match["all"]
    return int(current.replace(",", "")) < int(last.replace(",", ""))


def paging_metadata(parts: Iterable[JsonObject]) -> JsonObject:
    """The entries about a next page, more results, and the total."""
    return {name: value for metadata in parts for name, value in metadata.items() if name in _PAGING_KEYS}


def _mentions_more(text: str) -> bool:
    is_mentioned = any(_NEGATION.search(text[: match.start()]) is None for match in _MORE_FOLLOWS.finditer(text))
    return is_mentioned or _ELLIPSIS_LINE.search(text) is not None


def _number_or_text(value: str) -> Json:
    return int(value) if value.isascii() and value.isdigit() else value


_ERROR_KEYS = ("error", "errors", "exception", "errorMessage", "error_message", "fault")
_SUCCESS_KEYS = ("success", "ok", "succeeded", "isSuccess", "is_success")
_FAILURE_KEYS = ("isError", "is_error", "failed")
_STATUS_KEYS = ("status", "state", "result", "type")
_FAILED_STATUSES = frozenset({"error", "failed", "failure", "fail", "exception"})
_ERROR_OBJECT_KEYS = frozenset(
    {"message", "msg", "code", "status", "state", "status_code", "statusCode", "detail", "details", "reason", "type",
     "title", "request_id", "requestId", "timestamp", "documentation_url", "jsonrpc", "hint", "traceback", "stack",
     "instance", "path", *_ERROR_KEYS, *_SUCCESS_KEYS, *_FAILURE_KEYS}
)  # fmt: skip
_AUTH_ERROR = re.compile(
    r"\W*(?:(?:not authenticated|not authorized|unauthorized|forbidden|bad credentials|(?:access|permission) denied)\b"
    r"|(?:invalid|missing|expired) (?:api[ _-]?key|token|credentials)\b|authentication (?:failed|required)\b)",
    re.IGNORECASE,
)
_HTML_ERROR_TITLE = re.compile(r"<title>\s*(?:(?:http )?error:?\s*)?[45]\d\d\b", re.IGNORECASE)
_MAX_ERROR_PAGE_CHARS = 20_000


def error_message_in(value: Json) -> str:
    """The error message of a value that is an error and not data; empty for data."""
    if isinstance(value, str):
        return value if is_error_message(value) or _is_error_page(value) else ""
    if not isinstance(value, dict) or not all(_is_error_member(name, inner, value) for name, inner in value.items()):
        return ""
    return _message(value) if _is_error_object(value) else ""


def partial_error_in(value: Json) -> str:
    """The error message next to partial data: GraphQL `errors`, or a success flag that is false."""
    if not isinstance(value, dict):
        return ""
    errors = value.get("errors")
    is_partial = "data" in value and isinstance(errors, list) and bool(errors)
    is_flagged = any(value.get(name) is False for name in _SUCCESS_KEYS) and any(
        isinstance(v, list) for v in value.values()
    )
    return _message(value) if is_partial or is_flagged else ""


def _is_error_object(value: Mapping[str, Json]) -> bool:
    has_message = any(_has_error(value.get(name)) for name in _ERROR_KEYS) and not value.keys() <= {"errors"}
    is_flagged = any(value.get(name) is False for name in _SUCCESS_KEYS) or any(
        value.get(name) is True for name in _FAILURE_KEYS
    )
    has_failed_status = (
        any(str(value.get(name)).lower() in _FAILED_STATUSES for name in _STATUS_KEYS) and len(value) > 1
    )
    only_text = next((inner for inner in value.values() if isinstance(inner, str)), "")
    is_auth_error = value.keys() <= {"detail", "message", "msg", "documentation_url"} and (
        _AUTH_ERROR.match(only_text) is not None or is_error_message(only_text)
    )
    return has_message or is_flagged or has_failed_status or is_auth_error


def _has_error(value: Json) -> bool:
    return bool(value) and value is not True and (not isinstance(value, int | float) or value >= 400)


def _is_error_member(name: str, inner: Json, value: Mapping[str, Json]) -> bool:
    """Whether a member is typical of an error object, or empty."""
    return name in _ERROR_OBJECT_KEYS or inner in (None, "", [], {}, 0, False) or (name == "id" and "jsonrpc" in value)


def _message(value: JsonObject) -> str:
    """The error message; the whole value as text if none is found."""
    for name in (*_ERROR_KEYS, "message", "msg", "detail", "reason"):
        inner = value.get(name)
        first = inner[0] if isinstance(inner, list) and inner else inner
        if isinstance(first, dict):
            first = next((first[key] for key in ("message", "msg", "detail") if first.get(key)), first)
        if first and not isinstance(first, bool | int | float):
            return str(first)
    return str(value)


def _is_error_page(text: str) -> bool:
    return (
        len(text) <= _MAX_ERROR_PAGE_CHARS and text.lstrip()[:1] == "<" and _HTML_ERROR_TITLE.search(text) is not None
    )
