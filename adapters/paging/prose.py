"""Text that stands in the place of data: that there is nothing (more), that something failed, or markup.

Knows sentences and the look of a text. Knows no source. A sentence is taken for what it says only where it is the whole
text, and short: a record may well be a text, and say anything.
"""

import re

_LONGEST_SENTENCE = 200
_LONGEST_ERROR = 1000
_RECORDS = (
    r"(?:results?|records?|rows?|items?|entries|entry|data|pages?|matches|hits|documents?|objects?|content|messages?|"
    r"files?|tickets?|users?|issues?|events?|elements?)"
)
_NOTHING = re.compile(
    rf"\W*(?:(?:there (?:are|is|were) )?(?:no|zero|0) (?:(?:more|further|additional|other|matching|remaining) )*"
    rf"{_RECORDS}(?: (?:were |was |are |is )?(?:found|available|returned|left|remaining|match\w*|"
    rf"to (?:show|display|return)))?|nothing (?:more|further|else|found)|"
    rf"end of (?:the )?(?:list|data|stream|{_RECORDS})|"
    rf"all {_RECORDS} (?:have been |were |are )?(?:returned|shown|listed|read|loaded))\W*",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\W{0,4}(?:[\w.]*(?:Error|Exception)(?: \w+ing\b[^:\n]{0,80}| \d{3})?\s*:\s*\S"
    r"|(?:fatal|internal(?: server)?) error\b|error (?:executing|calling|running|invoking) (?:the )?(?:tool|function)\b"
    r"|(?:tool|function) (?:call|execution) failed\b|failed to (?:call|execute|run|invoke) (?:the )?(?:tool|function)\b"
    r"|(?:failed|unable) to (?:connect|fetch|retrieve|load|query|list|get|read|search|reach|access)\b[^\n]*\Z"
    r"|could not (?:connect|fetch|retrieve|load|query|list|get|read|search|reach|access)\b[^\n]*\Z"
    r"|(?:rate limit(?:ed)?|quota|request limit)\b[^\n]{0,40}\bexceeded\b|too many requests\b|traceback \(most recent)",
    re.IGNORECASE,
)
_CUT = re.compile(
    rf"\b{_RECORDS}(?: (?:set|list|count))? (?:was |were |is |are |has been |have been |may be )?"
    rf"(?:truncated|incomplete|cut off|capped)\b|\b(?:truncated|incomplete|partial) {_RECORDS}\b"
    rf"|\bnot all {_RECORDS}\b|\bonly (?:the )?(?:first|last|top) \d[\d,]* {_RECORDS}"
    rf"|\b(?:scan|search|query|result|row|time|memory) (?:limit|budget) (?:was |is )?(?:reached|exceeded|hit)\b"
    rf"|\btoo many {_RECORDS}\b",
    re.IGNORECASE,
)
_UNSAID = re.compile(
    r"\b(?:no|not|never|without|isn't|aren't|wasn't|weren't|if|when|unless)\b[^.;]{0,30}$", re.IGNORECASE
)
_MARKUP = re.compile(r"<(?:\?xml|!doctype|!--|[a-z_][\w.:-]*[\s/>])", re.IGNORECASE)


def says_nothing(text: str) -> bool:
    """Whether a text is empty, or only says that there is nothing, or nothing more."""
    bare = text.strip()
    return not bare or (len(bare) <= _LONGEST_SENTENCE and _NOTHING.fullmatch(bare) is not None)


def says_failed(text: str) -> bool:
    """Whether a text begins as the message of a failure and is no longer than one."""
    bare = text.strip()
    return len(bare) <= _LONGEST_ERROR and _FAILED.match(bare) is not None


def says_cut(text: str) -> bool:
    """Whether a note beside records says that they are not all."""
    bare = text.strip()
    found = _CUT.search(bare) if len(bare) <= _LONGEST_ERROR else None
    return found is not None and _UNSAID.search(bare[: found.start()]) is None


def is_markup(text: str) -> bool:
    """Whether a text is XML or HTML."""
    return _MARKUP.match(text.lstrip("\ufeff \t\r\n")) is not None
