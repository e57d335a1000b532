"""An answer taken apart: its statements, and the references that each carries.

A list item or a table row is one statement; elsewhere a sentence is. A query that is cited once for a whole list, in
the words that lead to it or in a line of its own behind it, is cited by every item. Pure: knows text and no dataset.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from runax_cli.agent.passages import Kind, passages
from runax_cli.agent.references import Citation, cited_in, without_references

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
class _Read:
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


def _read(answer: str) -> tuple[_Read, ...]:
    read = [_Read(passage.kind, _statement(passage.text)) for passage in passages(answer)]
    return tuple(_backwards(list(_forwards(read))))


def _forwards(read: Sequence[_Read]) -> Iterator[_Read]:
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


def _only_leads(entry: _Read) -> bool:
    made = entry.statement
    return bool(made.queries) and not made.citations and (entry.kind == "heading" or made.text.endswith(":"))


def _backwards(read: list[_Read]) -> list[_Read]:
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
