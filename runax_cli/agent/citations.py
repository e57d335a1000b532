"""An answer taken apart: its statements, and the references that each carries.

`[tickets_1#17]`, `[tickets_1#17, payments_1#3]`, `[tickets_1#17, 18]` and `[tickets_1#17-19]` are references to
records; `[tickets_1]` refers to the number of records in a dataset, `[q1]` to the result of a query. One pair of
brackets may mix them, and 【】, which some models prefer, count as well. A list item or a table row is one statement;
elsewhere a sentence is. Pure: knows text and no dataset.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

MAX_RANGE = 200
_LOOK_AHEAD = 400
_BRACKETS = re.compile(r"\s?[\[【]([^\[\]【】]{1,2000})[\]】](?!\()")
_QUERY = re.compile(r"[qQ](\d{1,6})(?:\s*[-\N{EN DASH}]\s*[qQ]?(\d{1,6}))?")
_WHOLE = re.compile(r"[A-Za-z]\w*_\d+")
_ITEM = re.compile(r"(?:([A-Za-z][\w.-]*)\s*#|#)?\s*(\d{1,9})(?:\s*[-\N{EN DASH}]\s*(?:[A-Za-z][\w.-]*#|#)?(\d{1,9}))?")
_BETWEEN = re.compile(r"\s*[,;]\s*(?:and\s+|a\s+)?|\s+(?:and|a)\s+")
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_RULE_ROW = re.compile(r"^\s*\|?[\s:|-]*-{3}[\s:|-]*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_EMPHASIS = re.compile(r"(\*\*|__|`)")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”“')*_]*\s+(?=\S)")
_REFERENCES = re.compile(r"(?:[,;]?\s?[\[【][^\[\]【】]*(?:#|_\d|\b[qQ]\d)[^\[\]【】]*[\]】])+[.;,]?")
_NUMBERED = re.compile(r"(?:^|[^\w])\d{1,2}\.$")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\"„“'])(?:e\.g|i\.e|vs|etc|approx|no|nr|mr|mrs|ms|dr|ing|mgr|st|č|čp|tj|tzv|tzn|např|resp|cca|apod|atd|"
    r"min|max|mil|mld|tis|hod|[^\W\d_])\.$",
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

    `datasets` are those whose number of records it cites, `queries` the ids of those whose result it cites.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    datasets: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()

    @property
    def cites_something(self) -> bool:
        """Whether it carries any reference."""
        return bool(self.citations or self.datasets or self.queries)


@dataclass(frozen=True, slots=True)
class _Cited:
    """What one pair of brackets refers to."""

    records: tuple[Citation, ...] = ()
    datasets: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


def statements(answer: str) -> tuple[Statement, ...]:
    """What an answer states. Headings, lead-ins (ending in a colon), questions and code state nothing."""
    return tuple(made for passage, is_heading in _passages(answer) if (made := _stated(passage, is_heading=is_heading)))


def asides(answer: str) -> tuple[Statement, ...]:
    """What stands beside the statements: headings, lead-ins and single words. They need no reference."""
    return tuple(
        _statement(passage) for passage, is_heading in _passages(answer) if not _stated(passage, is_heading=is_heading)
    )


def citations_in(text: str) -> tuple[Citation, ...]:
    """Every reference to a record in a text, each once, in order."""
    return _cited_in(text).records


def without_citations(text: str) -> str:
    """The text without its references; other brackets stay."""
    return _BRACKETS.sub(lambda match: match[0] if _parsed(match[1]) is None else "", text)


def _cited_in(text: str) -> _Cited:
    found = [cited for match in _BRACKETS.finditer(text) if (cited := _parsed(match[1]))]
    return _Cited(
        tuple(dict.fromkeys(citation for cited in found for citation in cited.records)),
        tuple(dict.fromkeys(dataset for cited in found for dataset in cited.datasets)),
        tuple(dict.fromkeys(query for cited in found for query in cited.queries)),
    )


def _parsed(inside: str) -> _Cited | None:
    """The references in one pair of brackets, or None where it holds anything else."""
    records: list[Citation] = []
    datasets: list[str] = []
    queries: list[str] = []
    dataset: str | None = None
    for item in map(str.strip, _BETWEEN.split(inside.strip())):
        if query := _QUERY.fullmatch(item):
            queries += [f"q{number}" for number in _range(query[1], query[2])]
            dataset = None
        elif _WHOLE.fullmatch(item):
            datasets.append(item)
            dataset = None
        elif (match := _ITEM.fullmatch(item)) and (dataset := match[1] or dataset):
            records += [Citation(dataset, row) for row in _range(match[2], match[3])]
        else:
            return None
    return _Cited(tuple(records), tuple(datasets), tuple(queries))


def _range(first: str, last: str | None) -> Sequence[int]:
    start, end = int(first), int(last or first)
    return range(start, end + 1) if start <= end < start + MAX_RANGE else (start, end)


def _statement(passage: str) -> Statement:
    plain = _EMPHASIS.sub("", without_citations(passage))
    cited = _cited_in(passage)
    text = " ".join(plain.replace("|", " ").split()).rstrip(" ,;")
    return Statement(text, cited.records, cited.datasets, cited.queries)


def _stated(passage: str, *, is_heading: bool) -> Statement | None:
    """The statement that a passage makes, if it makes one."""
    made = _statement(passage)
    if is_heading:
        return None
    if made.citations or made.queries:
        return made
    return made if len(re.findall(r"[^\W_]+", made.text)) >= 2 and not made.text.endswith((":", "?")) else None


def _passages(answer: str) -> Iterator[tuple[str, bool]]:
    """List items, table rows and headings whole, paragraphs by sentence; no code. Each with whether it is a heading."""
    for block in _blocks(answer):
        match block.kind:
            case "paragraph":
                yield from ((sentence, False) for sentence in _sentences(block.text))
            case "item" | "row":
                yield block.text, False
            case "heading":
                yield block.text, True


@dataclass(frozen=True, slots=True)
class _Block:
    kind: Literal["paragraph", "item", "row", "heading"]
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
            if not _RULE_ROW.match(line):
                yield _Block("heading" if _RULE_ROW.match(following) else "row", text.strip("|").strip())
        elif text.startswith("#"):
            yield _Block("heading", text.strip("# "))
        elif text:
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
    """Not after an abbreviation, in a quotation or a date, or before a small letter ("21. 11.", "21. listopadu")."""
    if _ABBREVIATED.search(before) or _is_quoting(before, after):
        return False
    head = after.lstrip(" \"„“'([【*_")[:1]
    if _NUMBERED.search(before):
        return head.isupper()
    return not head.islower()


def _is_quoting(before: str, after: str) -> bool:
    """Whether a quotation is open, and is closed soon."""
    if before.count('"') % 2 and '"' in after:
        return True
    if "„" in before:
        return before.rfind("„") > max(map(before.rfind, "“”")) and any(mark in after for mark in "“”")
    return any(before.rfind(left) > before.rfind(right) and right in after for left, right in ("“”", "«»"))
