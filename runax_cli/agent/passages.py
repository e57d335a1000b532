"""An answer taken apart into passages: sentences, list items, table rows and headings, without code.

Knows Markdown as models write it, and where sentences end in English and Czech. A reference behind a full stop belongs
to the sentence before it, and a first cell that only counts the rows of a table to no passage. Pure.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from runax_cli.agent.references import without_references

_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_RULE_ROW = re.compile(r"^\s*\|?[\s:|-]*-{3}[\s:|-]*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”“')*_]*\s+(?=\S)")
_REFERENCES = re.compile(r"(?:[,;]?\s?[\[【][^\[\]【】]*(?:#|_\d|\b[qQ]\d)[^\[\]【】]*[\]】])+[.;,]?")
_NUMBERED = re.compile(r"(?:^|[^\w])\d{1,2}\.$")
_LOOK_AHEAD = 400
_LOOK_BEHIND = 600
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\"„“'])(?:e\.g|i\.e|vs|etc|approx|no|nr|mr|mrs|ms|dr|ing|mgr|st|č|čp|tj|tzv|tzn|např|resp|cca|apod|atd|"
    r"min|max|mil|mld|tis|hod|[^\W\d_])\.$",
    re.IGNORECASE,
)

Kind: TypeAlias = Literal["sentence", "item", "row", "heading"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of an answer, as it stands there without its mark."""

    kind: Kind
    text: str


def passages(answer: str) -> Iterator[Passage]:
    """List items, table rows and headings whole, paragraphs by sentence; no code."""
    for block in _blocks(answer):
        if block.kind == "sentence":
            yield from (Passage("sentence", sentence) for sentence in _sentences(block.text))
        else:
            yield block


def _blocks(answer: str) -> Iterator[Passage]:
    """Lines joined to what they belong to: a line after an item or a paragraph continues it until a blank one."""
    lines = list(_lines_outside_code(answer))
    current: Passage | None = None
    rank = 0
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        text = line.lstrip("> ").strip()
        opens_item = _LIST_MARK.match(line)
        if current and text and not opens_item and text[0] not in "#|":
            current = Passage(current.kind, f"{current.text} {text}")
            continue
        if current:
            yield current
        current = None
        rank = rank + 1 if text.startswith("|") and not _RULE_ROW.match(line) else 0
        if opens_item:
            current = Passage("item", _LIST_MARK.sub("", line).strip())
        elif text.startswith("|"):
            if _RULE_ROW.match(line):
                continue
            is_head = bool(_RULE_ROW.match(following))
            rank = 0 if is_head else rank
            yield Passage("heading" if is_head else "row", _without_rank(text.strip("|").strip(), rank))
        elif text.startswith("#"):
            yield Passage("heading", text.strip("# "))
        elif text:
            current = Passage("sentence", text)
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
        after = without_references(paragraph[end.end() : end.end() + _LOOK_AHEAD])
        # Only what is near decides: without a bound, a reply of megabytes that never ends a sentence takes minutes.
        before = paragraph[max(start, end.start() - _LOOK_BEHIND) : end.start()]
        if end.start() < start or not _is_end(before, after):
            continue
        trailing = _REFERENCES.match(paragraph, end.end())
        stop = trailing.end() if trailing and without_references(trailing[0]) != trailing[0] else end.start()
        yield paragraph[start:stop].strip()
        start = max(stop, end.end())
    if rest := paragraph[start:].strip():
        yield rest


def _is_end(before: str, after: str) -> bool:
    """Not after an abbreviation, in a quotation or a date, or before a small letter ("21. 11.", "21. listopadu")."""
    head = after.lstrip(" \"„“'([【*_")[:1]
    if head.islower() or _ABBREVIATED.search(before) or _is_quoting(before, after):
        return False
    return head.isupper() or not _NUMBERED.search(before)


def _is_quoting(before: str, after: str) -> bool:
    """Whether a quotation is open, and is closed soon."""
    if before.count('"') % 2 and '"' in after:
        return True
    if "„" in before:
        return before.rfind("„") > max(map(before.rfind, "“”")) and any(mark in after for mark in "“”")
    return any(before.rfind(left) > before.rfind(right) and right in after for left, right in ("“”", "«»"))


def _without_rank(row: str, rank: int) -> str:
    """A table row without its first cell where that only counts the rows."""
    first, bar, rest = row.partition("|")
    return rest.strip() if bar and first.strip(" .)") == str(rank) else row
