"""Splits an answer into statements, and parses the citations of each.

A list item or a table row is one statement; in other text, each sentence is one. If a query is cited once for a whole
list, in its lead-in or on a separate line after the list, every item cites it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from runax_cli.agent.locales import LOCALES, any_of

MAX_RANGE = 200
_BRACKETS = re.compile(r"\s?[\[【]([^\[\]【】]{1,2000})[\]】](?!\()")
_QUERY = re.compile(r"[qQ](\d{1,6})(?:\s*[-\N{EN DASH}]\s*[qQ]?(\d{1,6}))?")
_DATASET = re.compile(r"[A-Za-z]\w*_\d+")
_ITEM = re.compile(r"(?:([A-Za-z][\w.-]*)\s*#|#)?\s*(\d{1,9})(?:\s*[-\N{EN DASH}]\s*(?:[A-Za-z][\w.-]*#|#)?(\d{1,9}))?")
_AND = any_of(lambda locale: locale.statement.list_conjunction)
_SEPARATOR = re.compile(rf"\s*[,;]\s*(?:{_AND}\s+)?|\s+{_AND}\s+")


@dataclass(frozen=True, slots=True, order=True)
class Citation:
    """A reference to one row of a dataset; `row` counts from 1."""

    dataset: str
    row: int


@dataclass(frozen=True, slots=True)
class CitationGroup:
    """The records, datasets and queries that a text refers to."""

    records: tuple[Citation, ...] = ()
    datasets: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


def record_citations(text: str) -> tuple[Citation, ...]:
    """The records that a text cites, each once, in order."""
    return parse_citations(text).records


def strip_citations(text: str) -> str:
    """The text without its citations; other brackets stay."""
    return _BRACKETS.sub(lambda match: match[0] if _parse_brackets(match[1]) is None else "", text)


def parse_citations(text: str) -> CitationGroup:
    """Everything that a text cites, each once, in order."""
    found = [cited for match in _BRACKETS.finditer(text) if (cited := _parse_brackets(match[1]))]
    return CitationGroup(
        tuple(dict.fromkeys(citation for cited in found for citation in cited.records)),
        tuple(dict.fromkeys(dataset for cited in found for dataset in cited.datasets)),
        tuple(dict.fromkeys(query for cited in found for query in cited.queries)),
    )


def _parse_brackets(inside: str) -> CitationGroup | None:
    """The citations in one pair of brackets; None if it contains anything else."""
    records: list[Citation] = []
    datasets: list[str] = []
    queries: list[str] = []
    dataset: str | None = None
    for item in map(str.strip, _SEPARATOR.split(inside.strip())):
        if query := _QUERY.fullmatch(item):
            queries += [f"q{number}" for number in _range(query[1], query[2])]
            dataset = None
        elif _DATASET.fullmatch(item):
            datasets.append(item)
            dataset = None
        elif (match := _ITEM.fullmatch(item)) and (dataset := match[1] or dataset):
            records += [Citation(dataset, row) for row in _range(match[2], match[3])]
        else:
            return None
    return CitationGroup(tuple(records), tuple(datasets), tuple(queries))


def _range(first: str, last: str | None) -> Sequence[int]:
    start, end = int(first), int(last or first)
    return range(start, end + 1) if start <= end < start + MAX_RANGE else (start, end)


_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_RULE_ROW = re.compile(r"^\s*\|?[\s:|-]*-{3}[\s:|-]*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”“')*_]*\s+(?=\S)")
_REFERENCES = re.compile(r"(?:[,;]?\s?[\[【][^\[\]【】]*(?:#|_\d|\b[qQ]\d)[^\[\]【】]*[\]】])+[.;,]?")
_NUMBERED = re.compile(r"(?:^|[^\w])\d{1,2}\.$")
_DIGIT = re.compile(r"\d")
_MONTH_NEXT = re.compile(
    rf"(?:{'|'.join(name for locale in LOCALES for names in locale.date.months for name in names.split())})\b",
    re.IGNORECASE,
)
_LOOK_AHEAD = 400
_LOOK_BEHIND = 600
_ABBREVIATED = re.compile(
    rf"(?:^|[\s(\"„“'])(?:{any_of(lambda locale: locale.statement.abbreviation)}|[^\W\d_])\.$",
    re.IGNORECASE,
)

PassageKind: TypeAlias = Literal["sentence", "item", "row", "heading"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of an answer, without its list or heading mark.

    `text` has lines joined by spaces; `start` and `end` are where it stands in the answer.
    """

    kind: PassageKind
    text: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of an answer: its text, and the position in the answer of each character."""

    kind: PassageKind
    text: str
    positions: list[int]

    def part(self, start: int, end: int) -> Passage:
        """The passage between two positions of the text, without white space around it."""
        text = self.text[start:end]
        start += len(text) - len(text.lstrip())
        text = text.strip()
        if not text:
            return Passage(self.kind, "")
        return Passage(self.kind, text, self.positions[start], self.positions[start + len(text) - 1] + 1)


def split_passages(answer: str) -> Iterator[Passage]:
    """Yield list items, table rows and headings whole, and paragraphs sentence by sentence. Skips code blocks."""
    for block in _blocks(answer):
        if block.kind == "sentence":
            yield from (block.part(start, end) for start, end in _sentences(block.text))
        else:
            yield block.part(0, len(block.text))


def _blocks(answer: str) -> Iterator[_Block]:
    """Join lines to blocks: a line after a list item or paragraph continues it, up to a blank line."""
    lines = list(_lines_outside_code(answer))
    current: _Block | None = None
    rank = 0
    for (line, offset), (following, _) in zip(lines, [*lines[1:], ("", 0)], strict=False):
        text = line.lstrip("> ").strip()
        opens_item = _LIST_MARK.match(line)
        if current and text and not opens_item and text[0] not in "#|":
            current = _joined(current, _block(current.kind, text, line, offset))
            continue
        if current:
            yield current
        current = None
        rank = rank + 1 if text.startswith("|") and not _RULE_ROW.match(line) else 0
        if opens_item:
            current = _block("item", _LIST_MARK.sub("", line).strip(), line, offset)
        elif text.startswith("|"):
            if _RULE_ROW.match(line):
                continue
            is_head = bool(_RULE_ROW.match(following))
            rank = 0 if is_head else rank
            cells = _without_rank(text.strip("|").strip(), rank)
            yield _block("heading" if is_head else "row", cells, line, offset)
        elif text.startswith("#"):
            yield _block("heading", text.strip("# "), line, offset)
        elif text:
            current = _block("sentence", text, line, offset)
    if current:
        yield current


def _block(kind: PassageKind, text: str, line: str, offset: int) -> _Block:
    """A block of one line; marks stand before its text, so the last occurrence of the text is meant."""
    start = offset + line.rfind(text)
    return _Block(kind, text, list(range(start, start + len(text))))


def _joined(block: _Block, line: _Block) -> _Block:
    return _Block(block.kind, f"{block.text} {line.text}", [*block.positions, line.positions[0] - 1, *line.positions])


def _lines_outside_code(answer: str) -> Iterator[tuple[str, int]]:
    """The lines with their offsets; those of code blocks are empty."""
    is_code = False
    offset = 0
    for line in answer.splitlines(keepends=True):
        text = line.rstrip("\r\n")
        if _FENCE.match(text):
            is_code = not is_code
            yield "", offset
        elif not is_code:
            yield text, offset
        offset += len(line)


def _sentences(paragraph: str) -> Iterator[tuple[int, int]]:
    """Where each sentence starts and ends. Citations after a full stop belong to the sentence before it."""
    start = 0
    for end in _SENTENCE_END.finditer(paragraph):
        after = strip_citations(paragraph[end.end() : end.end() + _LOOK_AHEAD])
        # Look at nearby text only: otherwise a reply of megabytes that never ends a sentence takes minutes.
        before = paragraph[max(start, end.start() - _LOOK_BEHIND) : end.start()]
        if end.start() < start or not _is_end(before, after):
            continue
        trailing = _REFERENCES.match(paragraph, end.end())
        stop = trailing.end() if trailing and strip_citations(trailing[0]) != trailing[0] else end.start()
        yield start, stop
        start = max(stop, end.end())
    if paragraph[start:].strip():
        yield start, len(paragraph)


def _is_end(before: str, after: str) -> bool:
    """Whether a sentence ends: not after an abbreviation, inside a quotation or date, or before a lower-case letter."""
    head = after.lstrip(" \"„“'([【*_")[:1]
    if _NUMBERED.search(before) and _MONTH_NEXT.match(after):
        return False
    if head.islower() or _ABBREVIATED.search(before) or _is_quoting(before, after):
        return False
    return head.isupper() or not _NUMBERED.search(before)


def _is_quoting(before: str, after: str) -> bool:
    """Whether a quotation is open and is closed soon."""
    if before.count('"') % 2 and '"' in after:
        return True
    if "„" in before:
        return before.rfind("„") > max(map(before.rfind, "“”")) and any(mark in after for mark in "“”")
    return any(
        before.rfind(left) > before.rfind(right) and right in after
        for left, right in ("“”", "«»", "\u2018\u2019", "\u203a\u2039", "»«")
    )


def _without_rank(row: str, rank: int) -> str:
    """A table row without its first cell if that only numbers the rows."""
    first, bar, rest = row.partition("|")
    return rest.strip() if bar and first.strip(" .)") == str(rank) else row


_EMPHASIS = re.compile(r"(\*\*|__|`)")
_WORD = re.compile(r"[^\W_]+")
_MAX_SOURCE_WORDS = 6
"""A line after a list that cites a query and has no figure and at most so many words names the source of the list."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement without citations and emphasis marks, and what it cites, each once, in order.

    `datasets` are cited for their number of records; `queries` are ids of cited query results. `start` and `end` are
    where it stands in the answer, `kind` is the kind of its passage, and `source` its text with citations.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    datasets: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)
    kind: PassageKind = field(default="sentence", compare=False)
    source: str = field(default="", compare=False, repr=False)

    @property
    def has_citations(self) -> bool:
        """Whether it cites anything."""
        return bool(self.citations or self.datasets or self.queries)


@dataclass(frozen=True, slots=True)
class _ParsedPassage:
    kind: PassageKind
    statement: Statement
    is_lead_in: bool = False

    @property
    def is_statement(self) -> bool:
        """Headings, lead-ins, questions and single words are not statements, unless they cite something."""
        statement = self.statement
        if self.kind == "heading" or self.is_lead_in:
            return False
        if statement.citations or statement.queries:
            return True
        return len(_WORD.findall(statement.text)) >= 2 and not statement.text.endswith((":", "?"))

    @property
    def can_inherit_queries(self) -> bool:
        """Whether it is a list item or table row without its own citation."""
        return self.kind in ("item", "row") and not self.statement.has_citations


def parse_statements(answer: str) -> tuple[Statement, ...]:
    """The statements of an answer. Headings, lead-ins (ending in a colon), questions and code are not statements."""
    return tuple(parsed.statement for parsed in _parse_passages(answer) if parsed.is_statement)


def non_statements(answer: str) -> tuple[Statement, ...]:
    """Headings, lead-ins, questions and single words. They need no citation."""
    return tuple(parsed.statement for parsed in _parse_passages(answer) if not parsed.is_statement)


def _parse_passages(answer: str) -> tuple[_ParsedPassage, ...]:
    parsed = [_ParsedPassage(passage.kind, _statement(passage)) for passage in split_passages(answer)]
    return tuple(_inherit_from_source_line(list(_inherit_from_lead_in(parsed))))


def _inherit_from_lead_in(parsed: Sequence[_ParsedPassage]) -> Iterator[_ParsedPassage]:
    """List items cite the queries of their lead-in, which then is not a statement itself."""
    queries: tuple[str, ...] = ()
    for entry, following in zip(parsed, [*parsed[1:], None], strict=False):
        if entry.can_inherit_queries and queries:
            yield replace(entry, statement=replace(entry.statement, queries=queries))
            continue
        is_before_a_list = following is not None and following.kind in ("item", "row")
        is_lead_in = entry.kind not in ("item", "row") and is_before_a_list and _only_leads_in(entry)
        if entry.kind not in ("item", "row"):
            queries = entry.statement.queries if is_lead_in else ()
        yield replace(entry, is_lead_in=is_lead_in)


def _only_leads_in(entry: _ParsedPassage) -> bool:
    statement = entry.statement
    return (
        bool(statement.queries)
        and not statement.citations
        and (entry.kind == "heading" or statement.text.endswith(":"))
    )


def _inherit_from_source_line(parsed: list[_ParsedPassage]) -> list[_ParsedPassage]:
    """List items cite the queries of a line right after them that names a source and nothing else."""
    for at, entry in enumerate(parsed):
        statement = entry.statement
        is_source = entry.kind == "sentence" and not entry.is_lead_in and statement.queries and not statement.citations
        if not is_source or len(_WORD.findall(statement.text)) > _MAX_SOURCE_WORDS or _DIGIT.search(statement.text):
            continue
        before = at - 1
        while before >= 0 and parsed[before].can_inherit_queries:
            item = parsed[before]
            parsed[before] = replace(item, statement=replace(item.statement, queries=statement.queries))
            before -= 1
        parsed[at] = replace(entry, is_lead_in=before < at - 1)
    return parsed


def _statement(passage: Passage) -> Statement:
    plain = _EMPHASIS.sub("", strip_citations(passage.text))
    cited = parse_citations(passage.text)
    text = " ".join(plain.split()).rstrip(" ,;|")
    return Statement(
        text, cited.records, cited.datasets, cited.queries, passage.start, passage.end, passage.kind, passage.text
    )


def cited_segments(source: str) -> tuple[tuple[str, CitationGroup], ...]:
    """The pieces of a statement, each with the citations right after it; text after the last citation is dropped."""
    found: list[tuple[str, CitationGroup]] = []
    start = 0
    for match in _BRACKETS.finditer(source):
        if (cited := _parse_brackets(match[1])) is None:
            continue
        text = _EMPHASIS.sub("", source[start : match.start()]).strip(" ,;.")
        start = match.end()
        if text or not found:
            found.append((text, cited))
    return tuple(found)
