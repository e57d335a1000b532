"""Facts in the words that a server puts beside data: where the next page is, how many there are, that there is more.

Knows sentences. Knows no data: which words stand beside data, and not in place of it, is for others to say. A fact is
given the name that a server would give it as a member, and is read as that.
"""

import re

from adapters.base import Json, JsonObject

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
    r"\b(?:showing|displaying|returned|returning|listing|results?|records?|rows?|items?)\b[^\n.]{0,20}?\b\d[\d,]*"
    r"(?:\s*(?:-|\u2013|to)\s*\d[\d,]*)?\s+(?:out )?of\s+(?P<total>\d[\d,]*)\b",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\b(?:there (?:is|are) more|(?:more|further|additional|other) (?:\w+ ){0,2}?"
    r"(?:available|exist|remain|follow|not shown|can be)|(?:and|\+) \d[\d,]* more\b|has more\b"
    r"|(?:output|results?|response|list|data) (?:was |were |is |are |has been |have been )?truncated"
    r"|truncated[^\n]{0,40}\b(?:more|characters|results|rows|items|records)"
    r"|to (?:get|see|fetch|load|retrieve) (?:the )?(?:more|next|rest|remaining))\b",
    re.IGNORECASE,
)
_NO_MORE = re.compile(r"\b(?:no|not|without|isn't|aren't|zero)\b[^\n.]{0,20}$", re.IGNORECASE)


def facts_in(words: str) -> JsonObject:
    """What words say as members: lines such as `Total: 261`, and sentences that tell of a next page or of more.

    Whole numbers are numbers.
    """
    facts: JsonObject = {
        re.sub(r"[ -]+", "_", name.strip().lower()): _number_or_text(value) for name, value in _FACT.findall(words)
    }
    for pattern in (_NEXT, _WITH, _BEFORE):
        if (said := pattern.search(words)) is not None:
            facts.setdefault("next_cursor", _number_or_text(said["value"]))
            break
    if (of := _OF.search(words)) is not None:
        facts.setdefault("total", int(of["total"].replace(",", "")))
    if _says_more(words):
        facts.setdefault("has_more", True)
    return facts


def _says_more(words: str) -> bool:
    return any(_NO_MORE.search(words[: said.start()]) is None for said in _MORE.finditer(words))


def _number_or_text(value: str) -> Json:
    return int(value) if value.isascii() and value.isdigit() else value
