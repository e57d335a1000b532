"""Adds to the text of an answer what its checks found: missing citations, and marks after unsupported statements. Pure.

A citation that code found goes before the final punctuation of its statement, a mark goes right after the statement.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runax_cli.agent.evidence.answer_verifier import CheckedStatement
from runax_cli.core.results import Evidence

UNSUPPORTED_MARK = " [unsupported]"
_CLOSING = re.compile(r"(?<=[.!?…])[\"”“')*_]+(?=\s|$)")
"""Marks that close a sentence, which the text of its statement does not include."""
_QUOTE_END = re.compile(r"[\"”“')]")
_FINAL_PUNCTUATION = re.compile(r"[.!?…;,:]+[*_`]*$|[*_`]+$")


@dataclass(frozen=True, slots=True, order=True)
class Insertion:
    """A text to insert at a position of an answer. `is_mark` is set if it is not part of the statement before it."""

    position: int
    is_mark: bool
    text: str


@dataclass(frozen=True, slots=True)
class StreamedPart:
    """The part of an answer that is already printed, up to `end`, with its insertions. It cannot change anymore."""

    end: int = 0
    insertions: tuple[Insertion, ...] = ()


NOTHING_STREAMED = StreamedPart()


@dataclass(frozen=True, slots=True)
class AnnotatedAnswer:
    """An answer with its insertions. The statements of its evidence are parts of `text`."""

    text: str
    evidence: tuple[Evidence, ...]


def insertions_of(answer: str, checked: Sequence[CheckedStatement]) -> tuple[Insertion, ...]:
    """The citations and marks that checked statements of an answer need, in order."""
    return tuple(sorted({insertion for one in checked for insertion in _insertions(answer, one)}))


def _insertions(answer: str, one: CheckedStatement) -> Iterator[Insertion]:
    start, end = one.statement.start, one.statement.end
    closing = _CLOSING.match(answer, end)
    after = closing.end() if closing else end
    if one.evidence.has_failed:
        yield Insertion(after, is_mark=True, text=UNSUPPORTED_MARK)
    elif one.added:
        final = _FINAL_PUNCTUATION.search(answer[start:end])
        is_quote = closing is not None and _QUOTE_END.search(closing[0])
        position = after if is_quote else start + final.start() if final else end
        yield Insertion(position, is_mark=False, text=f" [{one.added}]")


def insert(answer: str, insertions: Sequence[Insertion], *, start: int = 0) -> str:
    """The part of an answer from `start` on, with the insertions in it. They are sorted and not before `start`."""
    pieces: list[str] = []
    for insertion in insertions:
        pieces += [answer[start : insertion.position], insertion.text]
        start = insertion.position
    return "".join([*pieces, answer[start:]])


def annotate(
    answer: str, checked: Sequence[CheckedStatement], *, streamed: StreamedPart = NOTHING_STREAMED
) -> AnnotatedAnswer:
    """Add citations and marks to an answer. What is already streamed keeps its own insertions."""
    rest = (one for one in insertions_of(answer, checked) if one.position > streamed.end)
    insertions = (*streamed.insertions, *rest)
    text = insert(answer, insertions)
    return AnnotatedAnswer(text, tuple(_as_annotated(one, text, insertions) for one in checked))


def _as_annotated(one: CheckedStatement, text: str, insertions: Sequence[Insertion]) -> Evidence:
    """The evidence of a statement, whose text includes an added citation and no mark."""
    start, end = one.statement.start, one.statement.end
    before = sum(len(added.text) for added in insertions if added.position <= start)
    inside = (added for added in insertions if start < added.position <= end)
    length = sum(len(added.text) for added in inside if added.position < end or not added.is_mark)
    statement = text[start + before : end + before + length]
    return one.evidence.model_copy(update={"statement": statement})
