"""Facts in the words that a server puts beside data: where the next page is, how many there are, that there is more.

Knows sentences. Knows no data: which words stand beside data, and not in place of it, is for others to say. A fact is
given the name that a server would give it as a member, and is read as that.
"""

import re
from collections.abc import Iterable, Mapping

from adapters.base import Json, JsonObject
from adapters.pagination.read.text_signals import is_error_message

_VALUE = r"[\"'`<]?(?P<value>[^\s\"'`<>]+?)[\"'`>]?"
_FACT = re.compile(r"^\W*([A-Za-z][A-Za-z _-]{1,30}?)\s*[:=]\s*[\"'`]?([^\s\"'`]+?)[\"'`]?[.,;]?\s*$", re.MULTILINE)
_MARK = r"(?:cursor|token|marker|bookmark)"
_NEXT = re.compile(
    rf"\b(?:next|continuation|resume|resumption)[ _-]?(?:page[ _-]?)?{_MARK}\W{{0,3}}(?:\s*(?:[:=]|is\b|->)\s*){_VALUE}"
    rf"(?=[.,;)\]]*(?:\s|$))",
    re.IGNORECASE,
)
_WITH = re.compile(
    rf"\b(?:more|next|continue|further|rest|remaining)\b[^\n]{{0,120}}?\b(?:page[ _-]?)?{_MARK}\W{{0,3}}"
    rf"(?:[:=]|is\b|\s)\s*(?=[\"'`<]?[^\s\"'`<>]*[\d=_+/-]){_VALUE}(?=[.,;)\]]*(?:\s|$))",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    rf"\b{_MARK}\W{{0,3}}(?:[:=]|is\b|\s)\s*(?=[\"'`<]?[^\s\"'`<>]*[\d=_+/-]){_VALUE}(?=[.,;)\]]*\s)"
    r"[^\n]{0,60}\b(?:more|next|continue|rest|remaining)\b",
    re.IGNORECASE,
)
_OF = re.compile(
    r"\b(?:showing|displaying|returned|returning|listing|results?|records?|rows?|items?|first|last|latest|top|only)\b"
    r"[^\n.]{0,20}?\b\d[\d,]*(?: \w+)?"
    r"(?:\s*(?:-|\u2013|to)\s*\d[\d,]*)?\s+(?:out )?of\s+(?P<total>\d[\d,]*)\b"
    r"|\b\d[\d,]* (?:out )?of (?P<all>\d[\d,]*)(?: \w+){0,2} (?:are |were )?(?:shown|returned|displayed|listed|read)\b",
    re.IGNORECASE,
)
_MORE = re.compile(
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
_PLACE = re.compile(
    r"\b(?:page|chunk|batch|part)\W{0,3}(?P<at>\d{1,9})\s*(?:of|/)\s*(?P<of>\d{1,9})\b"
    r"|\b(?:showing|displaying|listing|results?|records?|items?|rows?)\W{0,3}\d[\d,]*\s*(?:-|\u2013|to)\s*(?P<to>\d[\d,]*)"
    r"\s+(?:out )?of\s+(?P<all>\d[\d,]*)",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"\b(?:content|text|output|results?|response|list|data|document|file|page|body)"
    r"(?: (?:was|were|is|are|has been|have been))? (?:truncated|cut (?:off|short)|clipped|shortened)\b"
    r"|[\[(<\u2026.]\W{0,4}(?:truncated|cut off|clipped)\b"
    r"|\b\d[\d,]* (?:more|further|additional|remaining) (?:lines?|characters?|chars|bytes|tokens|rows|pages|words)\b"
    r"|\b\d[\d,]* (?:lines?|characters?|chars|bytes|tokens|rows|pages|words)"
    r" (?:(?:were |are )?(?:omitted|truncated|remaining|left out|not shown|hidden|skipped)|more)\b",
    re.IGNORECASE,
)
_LONGEST_LINE = 200
_DOTS = re.compile(r"^[\s>*_-]*(?:\.{3,}|\u2026)[\s*_]*$", re.MULTILINE)
_LIMIT = re.compile(
    r"\b(?:limited to|limit(?: of)?|capped at|cut (?:off )?at|(?:up to )?a? ?maximum(?: of)?|at most|no more than|only"
    r"|(?:the )?(?:first|last|latest|top)|truncated (?:to|at|after))(?: the)?(?: first| last)?\s*:?\s+(\d[\d,]*)\b",
    re.IGNORECASE,
)
_GOING_ON = frozenset({"next_cursor", "nextcursor", "has_more", "total", "next_page", "next_page_token", "next_offset"})
_NO_MORE = re.compile(r"\b(?:no|not|without|isn't|aren't|zero)\b[^\n.]{0,20}$", re.IGNORECASE)


def facts_in(words: str, *, n_records: int | None = None) -> JsonObject:
    """What words say as members: lines such as `Total: 261`, and sentences that tell of a next page or of more.

    Whole numbers are numbers. `n_records` is how many records the words stand beside: as many as a limit that the words
    name are a list that was cut there.
    """
    facts: JsonObject = {
        re.sub(r"[ -]+", "_", name.strip().lower()): _number_or_text(value) for name, value in _FACT.findall(words)
    }
    for pattern in (_NEXT, _WITH, _BEFORE):
        if (said := pattern.search(words)) is not None:
            facts.setdefault("next_cursor", _number_or_text(said["value"]))
            break
    if (of := _OF.search(words)) is not None:
        facts.setdefault("total", int((of["total"] or of["all"]).replace(",", "")))
    if _says_more(words) or _is_cut(words) or _is_of_pages(words, facts) or (n_records and n_records in _limits(words)):
        facts.setdefault("has_more", True)
    return facts


def going_on_in(words: str, *, n_records: int | None = None) -> JsonObject:
    """Only what words say of a next page, of more, and of how many there are."""
    return going_on([facts_in(words, n_records=n_records)])


def is_cut_short(text: str) -> bool:
    """Whether the first or the last line of a text says that it is a part: `Page 1 of 6`, `(content truncated)`.

    Other lines are what the text is about, and so are sentences that only offer more of something.
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    ends = [line for line in (lines[:1] + lines[-1:]) if len(line) <= _LONGEST_LINE]
    return any(is_before_last(line) or _NEXT.search(line) is not None or _is_cut(line) for line in ends)


def _is_cut(line: str) -> bool:
    return any(_NO_MORE.search(line[: said.start()]) is None for said in _CUT.finditer(line))


def is_before_last(words: str) -> bool:
    """Whether words name a place and a later one that is the last: of pages, or of records."""
    place = _PLACE.search(words)
    if place is None:
        return False
    at, last = place["at"] or place["to"], place["of"] or place["all"]
    return int(at.replace(",", "")) < int(last.replace(",", ""))


def going_on(told: Iterable[JsonObject]) -> JsonObject:
    """Those of several facts that tell of a next page, of more, and of how many there are."""
    return {name: value for facts in told for name, value in facts.items() if name in _GOING_ON}


def _is_of_pages(words: str, facts: JsonObject) -> bool:
    """Whether words speak of a page before the last one, where no total says as much."""
    return "total" not in facts and is_before_last(words)


def _limits(words: str) -> set[int]:
    return {int(said[1].replace(",", "")) for said in _LIMIT.finditer(words)}


def _says_more(words: str) -> bool:
    is_said = any(_NO_MORE.search(words[: said.start()]) is None for said in _MORE.finditer(words))
    return is_said or _DOTS.search(words) is not None


def _number_or_text(value: str) -> Json:
    return int(value) if value.isascii() and value.isdigit() else value


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
        return value if is_error_message(value) or _is_error_page(value) else ""
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
        _REFUSED.match(only) is not None or is_error_message(only)
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
