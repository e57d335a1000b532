"""An answer taken apart: its statements, and the references that each carries.

`[tickets_1#17]`, `[tickets_1#17, payments_1#3]`, `[tickets_1#17, 18]` and `[tickets_1#17-19]` are references to
records; `[tickets_1]` refers to the number of records in a dataset. So does the same in 【】, which some models prefer.
A list item or a table row is one statement; elsewhere a sentence is. Pure: knows text and no dataset.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

MAX_RANGE = 200
_LOOK_AHEAD = 400
_BRACKETS = re.compile(r"\s?[\[【]([^\[\]【】]*#[^\[\]【】]*)[\]】]")
_WHOLE = re.compile(r"\s?[\[【]([A-Za-z]\w*_\d+)[\]】](?!\()")
_ITEM = re.compile(r"(?:([A-Za-z][\w.-]*)\s*#|#)?\s*(\d{1,9})(?:\s*[-\N{EN DASH}]\s*(?:[A-Za-z][\w.-]*#|#)?(\d{1,9}))?")
_BETWEEN = re.compile(r"\s*[,;]\s*(?:and\s+|a\s+)?|\s+(?:and|a)\s+")
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_RULE_ROW = re.compile(r"^\s*\|?[\s:|-]*-{3}[\s:|-]*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_EMPHASIS = re.compile(r"(\*\*|__|`)")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”“')*_]*\s+(?=\S)")
_REFERENCES = re.compile(r"(?:[,;]?\s?[\[【](?:[^\[\]【】]*#[^\[\]【】]*|[A-Za-z]\w*_\d+)[\]】])+[.;,]?")
_NUMBERED = re.compile(r"(?:^|[^\w])\d{1,2}\.$")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\"„“'])(?:e\.g|i\.e|vs|etc|approx|no|nr|mr|mrs|ms|dr|ing|mgr|st|č|čp|tj|tzv|tzn|např|resp|cca|apod|atd|"
    r"min|max|[^\W\d_])\.$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, order=True)
class Citation:
    """A reference to one row (from 1) of a dataset."""

    dataset: str
    row: int


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement without its references and marks of emphasis, and what it cites, each once, in order.

    `datasets` are those whose number of records it cites.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    datasets: tuple[str, ...] = ()


def statements(answer: str) -> tuple[Statement, ...]:
    """What an answer states. Headings, lead-ins (ending in a colon), questions and code state nothing."""
    return tuple(_statement(passage) for passage in _passages(answer) if _states_something(passage))


def citations_in(text: str) -> tuple[Citation, ...]:
    """Every reference in a text, each once, in order."""
    found = (citation for match in _BRACKETS.finditer(text) for citation in _parsed(match[1]) or ())
    return tuple(dict.fromkeys(found))


def without_citations(text: str) -> str:
    """The text without its references; other brackets stay."""
    return _BRACKETS.sub(lambda match: match[0] if _parsed(match[1]) is None else "", _WHOLE.sub("", text))


def _parsed(inside: str) -> tuple[Citation, ...] | None:
    """The references in one pair of brackets, or None where it holds anything else."""
    found: list[Citation] = []
    dataset: str | None = None
    for item in _BETWEEN.split(inside.strip()):
        match = _ITEM.fullmatch(item.strip())
        dataset = (match[1] if match else None) or dataset
        if match is None or dataset is None:
            return None
        start, end = int(match[2]), int(match[3] or match[2])
        rows = range(start, end + 1) if start <= end < start + MAX_RANGE else (start, end)
        found += [Citation(dataset, row) for row in rows]
    return tuple(found)


def _statement(passage: str) -> Statement:
    plain = _EMPHASIS.sub("", without_citations(passage))
    text = " ".join(plain.replace("|", " ").split()).rstrip(" ,;")
    return Statement(text, citations_in(passage), tuple(dict.fromkeys(_WHOLE.findall(passage))))


def _states_something(passage: str) -> bool:
    if citations_in(passage):
        return True
    plain = _EMPHASIS.sub("", passage).strip()
    return len(re.findall(r"[^\W_]+", plain)) >= 2 and not plain.endswith((":", "?"))


def _passages(answer: str) -> Iterator[str]:
    """List items and table rows whole, paragraphs by sentence; no headings and no code."""
    for block in _blocks(answer):
        match block.kind:
            case "paragraph":
                yield from _sentences(block.text)
            case "item" | "row":
                yield block.text


@dataclass(frozen=True, slots=True)
class _Block:
    kind: Literal["paragraph", "item", "row"]
    text: str


def _blocks(answer: str) -> Iterator[_Block]:
    """Lines joined to what they belong to: a line after an item or a paragraph continues it until a blank one."""
    lines = list(_lines_outside_code(answer))
    current: _Block | None = None
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        text = line.lstrip("> ").strip()
        opens_item = _LIST_MARK.match(line)
        if current and text and not opens_item and text[0] not in "#|":
            current = _Block(current.kind, f"{current.text} {text}")
            continue
        if current:
            yield current
        current = None
        if opens_item:
            current = _Block("item", _LIST_MARK.sub("", line).strip())
        elif text.startswith("|"):
            if not (_RULE_ROW.match(line) or _RULE_ROW.match(following)):
                yield _Block("row", text.strip("|").strip())
        elif text and not text.startswith("#"):
            current = _Block("paragraph", text)
    if current:
        yield current


def _lines_outside_code(answer: str) -> Iterator[str]:
    is_code = False
    for line in answer.splitlines():
        if _FENCE.match(line):
            is_code = not is_code
            yield ""
        elif not is_code:
            yield line


def _sentences(paragraph: str) -> Iterator[str]:
    """Sentences; references that follow a full stop belong to the sentence before them."""
    start = 0
    for end in _SENTENCE_END.finditer(paragraph):
        after = without_citations(paragraph[end.end() : end.end() + _LOOK_AHEAD])
        if end.start() < start or not _is_end(paragraph[start : end.start()], after):
            continue
        trailing = _REFERENCES.match(paragraph, end.end())
        stop = trailing.end() if trailing and without_citations(trailing[0]) != trailing[0] else end.start()
        yield paragraph[start:stop].strip()
        start = max(stop, end.end())
    if rest := paragraph[start:].strip():
        yield rest


def _is_end(before: str, after: str) -> bool:
    """Not after an abbreviation, not inside a date or before a small letter, as in "21. 11." or "21. listopadu"."""
    if _ABBREVIATED.search(before):
        return False
    head = after.lstrip(" \"„“'([【*_")[:1]
    if _NUMBERED.search(before):
        return head.isupper()
    return not head.islower()
