"""Texts instead of data: messages that there is nothing (more), error messages, notes on truncation, and markup.

A sentence counts only if it is short and the whole text: a record may be a text, and say anything.
"""

import re
from collections.abc import Sequence

from adapters.base import Json
from adapters.pagination.vocabulary import members as vocabulary
from adapters.pagination.vocabulary.members import ENVELOPE, plain

_MAX_SENTENCE_CHARS = 200
_MAX_ERROR_CHARS = 1000
_RECORDS = (
    r"(?:results?|records?|rows?|items?|entries|entry|data|pages?|matches|hits|documents?|objects?|content|messages?|"
    r"files?|tickets?|users?|issues?|events?|elements?)"
)
_EMPTY_RESULT = re.compile(
    rf"\W*(?:(?:there (?:are|is|were) )?(?:no|zero|0) (?:(?:more|further|additional|other|matching|remaining) )*"
    rf"{_RECORDS}(?: (?:were |was |are |is )?(?:found|available|returned|left|remaining|match\w*|"
    rf"to (?:show|display|return)))?|nothing (?:more|further|else|found)|"
    rf"end of (?:the )?(?:list|data|stream|{_RECORDS})|"
    rf"all {_RECORDS} (?:have been |were |are )?(?:returned|shown|listed|read|loaded))\W*",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\W{0,4}(?:[\w.]*(?:Error|Exception)(?: \w+ing\b[^:\n]{0,80}| \d{3})?\s*:\s*\S"
    r"|(?:fatal|internal(?: server)?) error\b|error (?:executing|calling|running|invoking) (?:the )?(?:tool|function)\b"
    r"|(?:tool|function) (?:call|execution) failed\b|failed to (?:call|execute|run|invoke) (?:the )?(?:tool|function)\b"
    r"|(?:failed|unable) to (?:connect|fetch|retrieve|load|query|list|get|read|search|reach|access)\b[^\n]*\Z"
    r"|could not (?:connect|fetch|retrieve|load|query|list|get|read|search|reach|access)\b[^\n]*\Z"
    r"|(?:rate limit(?:ed)?|quota|request limit)\b[^\n]{0,40}\bexceeded\b|too many requests\b|traceback \(most recent)",
    re.IGNORECASE,
)
_TRUNCATION = re.compile(
    rf"\b{_RECORDS}(?: (?:set|list|count))? (?:was |were |is |are |has been |have been |may be )?"
    rf"(?:truncated|incomplete|cut off|capped)\b|\b(?:truncated|incomplete|partial) {_RECORDS}\b"
    rf"|\bnot all {_RECORDS}\b|\bonly (?:the )?(?:first|last|top) \d[\d,]* {_RECORDS}"
    rf"|\b(?:scan|search|query|result|row|time|memory) (?:limit|budget) (?:was |is )?(?:reached|exceeded|hit)\b"
    rf"|\btoo many {_RECORDS}\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:no|not|never|without|isn't|aren't|wasn't|weren't|if|when|unless)\b[^.;]{0,30}$", re.IGNORECASE
)
_MARKUP = re.compile(r"<(?:\?xml|!doctype|!--|[a-z_][\w.:-]*[\s/>])", re.IGNORECASE)


def is_empty_message(text: str) -> bool:
    """Whether a text is empty, or only says that there is nothing, or nothing more."""
    bare = text.strip()
    return not bare or (len(bare) <= _MAX_SENTENCE_CHARS and _EMPTY_RESULT.fullmatch(bare) is not None)


def is_error_message(text: str) -> bool:
    """Whether a text starts like an error message and is no longer than one."""
    bare = text.strip()
    return len(bare) <= _MAX_ERROR_CHARS and _ERROR.match(bare) is not None


def is_truncation_note(text: str) -> bool:
    """Whether a note next to records says that they are not all."""
    bare = text.strip()
    found = _TRUNCATION.search(bare) if len(bare) <= _MAX_ERROR_CHARS else None
    return found is not None and _NEGATION.search(bare[: found.start()]) is None


def is_markup(text: str) -> bool:
    """Whether a text is XML or HTML."""
    return _MARKUP.match(text.lstrip("\ufeff \t\r\n")) is not None


_ERROR_MEMBERS = vocabulary.words("error errors error_message error_code error_description fault exception err errmsg")
_SUCCESS_FLAGS = vocabulary.words("success ok successful succeeded is_success is_ok")
_STATES = vocabulary.words("status state result outcome stat response_status")
_ERROR_STATES = frozenset("error errors fail failed failure ko nok exception fault".split())
_ERROR_DETAILS = vocabulary.words(
    "message messages msg detail details title description reason instance trace trace_id request_id correlation_id "
    "help documentation documentation_url error_id data exception_type stacktrace hint more_info info path"
)
_MESSAGES = vocabulary.words("message msg detail title description reason")
_SUCCESS_TEXTS = frozenset({"ok", "okay", "success", "done"})
_MAX_SHOWN_CHARS = 120


def error_in_payload(payload: Json) -> str:
    """The error message of a response without records, shortened; "" if there is none."""
    if not isinstance(payload, dict):
        return ""
    if not any(_is_error_sign(name, value) for name, value in payload.items()) and not _is_message_only(payload):
        return ""
    if any(_is_data(name, value) for name, value in payload.items()):
        return ""
    return f"the response is an error message: {_message_text(payload)}"


def error_in_last_record(records: Sequence[Json]) -> str:
    """The error message in the last of several records, which ended the list early; "" if there is none."""
    last, first = (records[-1], records[0]) if len(records) > 1 else (None, None)
    if not isinstance(last, dict) or not isinstance(first, dict) or last.keys() & first.keys():
        return ""
    return error_in_payload(last)


def _is_error_sign(name: str, value: Json) -> bool:
    own = plain(name)
    if own in _ERROR_MEMBERS:
        return bool(value)
    if own in _SUCCESS_FLAGS:
        return value is False or (isinstance(value, str) and value.lower() == "false")
    return own in _STATES and isinstance(value, str) and value.lower() in _ERROR_STATES


def _is_message_only(payload: dict[str, Json]) -> bool:
    """Whether a response is a message and nothing else, and not one about an empty list."""
    filled = {plain(name): value for name, value in payload.items() if value not in (None, "")}
    texts = [value for name, value in filled.items() if name in _MESSAGES and isinstance(value, str)]
    is_message = bool(texts) and filled.keys() <= _MESSAGES | _ERROR_DETAILS | {"code", "type", "timestamp"}
    is_list = any(isinstance(value, list) for value in payload.values())
    return (
        is_message
        and not is_list
        and not any(is_empty_message(text) or text.lower() in _SUCCESS_TEXTS for text in texts)
    )


def _is_data(name: str, value: Json) -> bool:
    """Whether a member is neither about an error nor about the list, and not empty."""
    own = plain(name)
    is_about = own in _ERROR_MEMBERS | _SUCCESS_FLAGS | _STATES | _ERROR_DETAILS | ENVELOPE
    return not is_about and value not in (None, "", [], {}, 0, False)


def _message_text(payload: dict[str, Json]) -> str:
    texts = [f"{name}: {value}" for name, value in payload.items() if value and not isinstance(value, bool)]
    return "; ".join(texts)[:_MAX_SHOWN_CHARS]
