"""An answer taken apart: its statements, and the references that each carries.

A list item or a table row is one statement; elsewhere a sentence is. A query that is cited once for a whole list, in
the words that lead to it or in a line of its own behind it, is cited by every item. Pure: knows text and no dataset.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

MAX_RANGE = 200
_BRACKETS = re.compile(r"\s?[\[【]([^\[\]【】]{1,2000})[\]】](?!\()")
_QUERY = re.compile(r"[qQ](\d{1,6})(?:\s*[-\N{EN DASH}]\s*[qQ]?(\d{1,6}))?")
_WHOLE = re.compile(r"[A-Za-z]\w*_\d+")
_ITEM = re.compile(r"(?:([A-Za-z][\w.-]*)\s*#|#)?\s*(\d{1,9})(?:\s*[-\N{EN DASH}]\s*(?:[A-Za-z][\w.-]*#|#)?(\d{1,9}))?")
_BETWEEN = re.compile(r"\s*[,;]\s*(?:and\s+|a\s+)?|\s+(?:and|a)\s+")


@dataclass(frozen=True, slots=True, order=True)
class Citation:
    """A reference to one row (from 1) of a dataset."""

    dataset: str
    row: int


@dataclass(frozen=True, slots=True)
class CitationGroup:
    """What one pair of brackets refers to."""

    records: tuple[Citation, ...] = ()
    datasets: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


def citations_in(text: str) -> tuple[Citation, ...]:
    """Every reference to a record in a text, each once, in order."""
    return cited_in(text).records


def without_references(text: str) -> str:
    """The text without its references; other brackets stay."""
    return _BRACKETS.sub(lambda match: match[0] if _parsed(match[1]) is None else "", text)


def cited_in(text: str) -> CitationGroup:
    """Everything that a text refers to, each once, in order."""
    found = [cited for match in _BRACKETS.finditer(text) if (cited := _parsed(match[1]))]
    return CitationGroup(
        tuple(dict.fromkeys(citation for cited in found for citation in cited.records)),
        tuple(dict.fromkeys(dataset for cited in found for dataset in cited.datasets)),
        tuple(dict.fromkeys(query for cited in found for query in cited.queries)),
    )


def _parsed(inside: str) -> CitationGroup | None:
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


_EMPHASIS = re.compile(r"(\*\*|__|`)")
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS_OF_A_SOURCE = 2


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
class _ParsedCitations:
    kind: Kind
    statement: Statement
    leads: bool = False

    @property
    def states_something(self) -> bool:
        """Headings, lead-ins, questions and single words state nothing, unless they carry a reference."""
        made = self.statement
        if self.kind == "heading" or self.leads:
            return False
        if made.citations or made.queries:
            return True
        return len(_WORD.findall(made.text)) >= 2 and not made.text.endswith((":", "?"))

    @property
    def can_inherit(self) -> bool:
        """An item or a row without a reference of its own."""
        return self.kind in ("item", "row") and not self.statement.cites_something


def statements(answer: str) -> tuple[Statement, ...]:
    """What an answer states. Headings, lead-ins (ending in a colon), questions and code state nothing."""
    return tuple(read.statement for read in _read(answer) if read.states_something)


def asides(answer: str) -> tuple[Statement, ...]:
    """What stands beside the statements: headings, lead-ins and single words. They need no reference."""
    return tuple(read.statement for read in _read(answer) if not read.states_something)


def _read(answer: str) -> tuple[_ParsedCitations, ...]:
    read = [_ParsedCitations(passage.kind, _statement(passage.text)) for passage in passages(answer)]
    return tuple(_backwards(list(_forwards(read))))


def _forwards(read: Sequence[_ParsedCitations]) -> Iterator[_ParsedCitations]:
    """Items take the queries of the words that lead to them; what leads then states nothing itself."""
    queries: tuple[str, ...] = ()
    for entry, following in zip(read, [*read[1:], None], strict=False):
        if entry.can_inherit and queries:
            yield replace(entry, statement=replace(entry.statement, queries=queries))
            continue
        is_before_a_list = following is not None and following.kind in ("item", "row")
        leads = entry.kind not in ("item", "row") and is_before_a_list and _only_leads(entry)
        if entry.kind not in ("item", "row"):
            queries = entry.statement.queries if leads else ()
        yield replace(entry, leads=leads)


def _only_leads(entry: _ParsedCitations) -> bool:
    made = entry.statement
    return bool(made.queries) and not made.citations and (entry.kind == "heading" or made.text.endswith(":"))


def _backwards(read: list[_ParsedCitations]) -> list[_ParsedCitations]:
    """Items take the queries of a line right behind them that names a source and nothing else."""
    for at, entry in enumerate(read):
        made = entry.statement
        is_source = entry.kind == "sentence" and made.queries and not made.citations
        if not is_source or len(_WORD.findall(made.text)) > _MOST_WORDS_OF_A_SOURCE:
            continue
        before = at - 1
        while before >= 0 and read[before].can_inherit:
            item = read[before]
            read[before] = replace(item, statement=replace(item.statement, queries=made.queries))
            before -= 1
        read[at] = replace(entry, leads=before < at - 1)
    return read


def _statement(passage: str) -> Statement:
    plain = _EMPHASIS.sub("", without_references(passage))
    cited = cited_in(passage)
    text = " ".join(plain.replace("|", " ").split()).rstrip(" ,;")
    return Statement(text, cited.records, cited.datasets, cited.queries)
