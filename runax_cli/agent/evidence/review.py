"""The review of an answer by a model: builds its request from statements and evidence, and checks its reply.

A verdict counts only if the words that it rests on stand in the evidence of its statement. What code has rejected is
not reviewed, and a verdict "supported" does not verify anything. Pure, except that cited records are read from disk.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runax_cli.agent.evidence.answer_verifier import CheckedStatement
from runax_cli.agent.evidence.citations import Citation, Statement, non_statements
from runax_cli.agent.evidence.figures import normalize_text
from runax_cli.agent.evidence.review_evidence import (
    EvidenceItem,
    WantedWords,
    call_item,
    query_item,
    record_item,
)
from runax_cli.agent.evidence.shown import ShownCall, ShownData
from runax_cli.agent.evidence.support import load_cited_record
from runax_cli.core.results import Evidence, Fault, Lineage, ReviewVerdict
from runax_cli.core.untrusted_text import escape_for_prompt, one_line

MAX_EVIDENCE_CHARS = 16_000
"""All evidence of a request together: about 5,000 tokens."""
MAX_QUERY_CHARS = 3200
MAX_RECORD_CHARS = 1600
MIN_ITEM_CHARS = 200
MAX_STATEMENTS = 60
MAX_STATEMENT_CHARS = 1500
MAX_UNCITED_RECORDS = 10
"""At most this many records that nothing cites are shown for statements without a citation."""
_ALL = "all"
_MAX_NOTE_CHARS = 120


@dataclass(frozen=True, slots=True)
class ReviewedText:
    """A statement in a request. `refs` are the items of evidence that it may use; `lead_in` stands before its list."""

    number: int
    statement: Statement
    refs: tuple[str, ...]
    lead_in: str = ""
    is_uncited: bool = False

    @property
    def line(self) -> str:
        """The statement as the reviewer reads it."""
        uses = _ALL if self.is_uncited else ", ".join(self.refs)
        text = f"{one_line(self.lead_in)} → {one_line(self.statement.text)}" if self.lead_in else self.statement.text
        return f"{self.number} [{uses}] {escape_for_prompt(one_line(text, limit=MAX_STATEMENT_CHARS))}"


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """The statements of one answer with their evidence."""

    question: str
    statements: tuple[ReviewedText, ...]
    items: Mapping[str, EvidenceItem]

    @property
    def evidence_text(self) -> str:
        """All evidence, each item under its reference."""
        return "\n\n".join(f"[{item.ref}]\n{item.text}" for item in self.items.values())

    @property
    def statements_text(self) -> str:
        """The statements, one a line."""
        return "\n".join(one.line for one in self.statements)

    def evidence_of(self, reviewed: ReviewedText) -> tuple[EvidenceItem, ...]:
        """The evidence that a statement may use."""
        return tuple(self.items[ref] for ref in reviewed.refs)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict whose words were found. `claim` is the part of the statement that fails, "" if it is supported."""

    verdict: ReviewVerdict
    claim: str
    words: tuple[str, ...]

    @property
    def note(self) -> str:
        """Why the statement fails."""
        claim, words = one_line(self.claim, limit=_MAX_NOTE_CHARS), one_line(self.words[0], limit=_MAX_NOTE_CHARS)
        verb = "contradicts" if self.verdict is ReviewVerdict.CONTRADICTED else "does not say"
        return f"the reviewer: the evidence {verb} “{claim}”: “{words}”"


@dataclass(frozen=True, slots=True)
class ReviewReply:
    """The usable verdicts of a reply by where their statement starts in the answer, and what is wrong with others.

    `can_be_repaired` is not set if the reply has no verdict at all: then the model does not review.
    """

    judgements: Mapping[int, Judgement]
    problems: tuple[str, ...] = ()
    can_be_repaired: bool = True


def rests_on_read_text(statements: Iterable[Statement], shown: ShownData, *, was_read: bool) -> bool:
    """Whether an answer rests on text that a model has read: a cited record, or labels.

    With `was_read` a model read records for this answer; then statements without a citation rest on them, too.
    """
    for one in statements:
        if one.citations or (was_read and not one.has_citations):
            return True
        queries = (shown.queries[ref] for ref in one.queries if ref in shown.queries)
        if any(query.lineage is Lineage.BY_LABEL or query.agreement is not None for query in queries):
            return True
    return False


def is_reviewable(checked: CheckedStatement) -> bool:
    """Whether a statement is sent: only if code has not rejected it."""
    return checked.evidence.fault is None


def build_review(
    question: str,
    answer: str,
    checked: Sequence[CheckedStatement],
    shown: ShownData,
    *,
    max_chars: int = MAX_EVIDENCE_CHARS,
) -> ReviewRequest | None:
    """The request for a review of an answer; None if there is nothing to review.

    `max_chars` limits the evidence: items that do not fit are left out, with the statements that cite them. Blocking:
    reads cited records from disk.
    """
    reviewable = [one for one in checked if is_reviewable(one)][:MAX_STATEMENTS]
    cited = [_with_added(one) for one in reviewable]
    if not cited:
        return None
    collected = _EvidenceCollector(question, cited, shown, max_chars=max_chars).collect()
    lead_ins = non_statements(answer)
    statements: list[ReviewedText] = []
    for one in cited:
        refs = _refs(one, shown) if one.has_citations else tuple(collected)
        if refs and all(ref in collected for ref in refs):
            lead_in = _lead_in(one, lead_ins)
            statements.append(ReviewedText(len(statements) + 1, one, refs, lead_in, is_uncited=not one.has_citations))
    return ReviewRequest(question, tuple(statements), collected) if statements else None


def _with_added(checked: CheckedStatement) -> Statement:
    """The statement with the citation that code has found for it."""
    statement = checked.statement
    return replace(statement, queries=(*statement.queries, checked.added)) if checked.added else statement


def _lead_in(statement: Statement, others: Sequence[Statement]) -> str:
    """The heading or lead-in of a list item or table row."""
    if statement.kind not in ("item", "row"):
        return ""
    before = [other.text for other in others if other.end <= statement.start and other.kind not in ("item", "row")]
    return before[-1] if before else ""


def _refs(statement: Statement, shown: ShownData) -> tuple[str, ...]:
    """The items of evidence of a statement: what it cites, and the calls behind that."""
    records = [_record_ref(citation) for citation in statement.citations]
    datasets = [citation.dataset for citation in statement.citations]
    for ref in statement.queries:
        datasets += shown.queries[ref].datasets if ref in shown.queries else ()
    known = {call.dataset for call in shown.calls}
    calls = [name for name in dict.fromkeys((*statement.datasets, *datasets)) if name in known]
    return tuple(dict.fromkeys((*records, *statement.queries, *calls)))


def _record_ref(citation: Citation) -> str:
    return f"{citation.dataset}#{citation.row}"


class _EvidenceCollector:
    """Renders the evidence of all statements within one bound."""

    def __init__(self, question: str, statements: Sequence[Statement], shown: ShownData, *, max_chars: int) -> None:
        self._question, self._statements, self._shown = question, statements, shown
        self._max_chars = max_chars
        self._uncited = [one for one in statements if not one.has_citations]

    def collect(self) -> dict[str, EvidenceItem]:
        """The items by reference: calls, then queries and records, until the bound is reached."""
        queries, records = self._queries(), self._records()
        items = dict(self._calls(queries, records))
        left = self._max_chars - sum(len(item.text) for item in items.values())
        n_left = len(queries) + len(records)
        for ref in (*queries, *map(_record_ref, records)):
            share = max(MIN_ITEM_CHARS, left // max(1, n_left))
            item = self._item(ref, queries, records, share=share)
            n_left -= 1
            if item is not None and len(item.text) <= left:
                items[ref] = item
                left -= len(item.text)
        return items

    def _item(
        self, ref: str, queries: Sequence[str], records: Sequence[Citation], *, share: int
    ) -> EvidenceItem | None:
        wanted = WantedWords([self._question, *(one.text for one in self._statements if self._uses(one, ref))])
        if ref in queries:
            return query_item(self._shown.queries[ref], wanted, max_chars=min(share, MAX_QUERY_CHARS))
        citation = next(one for one in records if _record_ref(one) == ref)
        record = load_cited_record(citation, self._shown.datasets.get(citation.dataset)).record
        return None if record is None else record_item(ref, record, wanted, max_chars=min(share, MAX_RECORD_CHARS))

    def _uses(self, statement: Statement, ref: str) -> bool:
        return not statement.has_citations or ref in _refs(statement, self._shown)

    def _queries(self) -> list[str]:
        cited = [ref for one in self._statements for ref in one.queries if ref in self._shown.queries]
        others = reversed(self._shown.queries) if self._uncited else ()
        return list(dict.fromkeys((*cited, *others)))

    def _records(self) -> list[Citation]:
        cited = [citation for one in self._statements for citation in one.citations]
        others = islice(self._similar_records(), MAX_UNCITED_RECORDS) if self._uncited and not cited else ()
        return list(dict.fromkeys((*cited, *others)))

    def _similar_records(self) -> Iterator[Citation]:
        """The records that the main model was shown, in the order of datasets, the latest first."""
        for name, shown in reversed(self._shown.datasets.items()):
            yield from (Citation(name, row) for row in sorted(shown.rows))

    def _calls(self, queries: Sequence[str], records: Sequence[Citation]) -> Iterator[tuple[str, EvidenceItem]]:
        """The calls behind queries and records; for statements without a citation all calls."""
        of_queries = (name for ref in queries for name in self._shown.queries[ref].datasets)
        of_statements = (name for one in self._statements for name in one.datasets)
        used = {*of_queries, *of_statements, *(citation.dataset for citation in records)}
        by_ref: dict[str, list[ShownCall]] = {}
        for number, call in enumerate(self._shown.calls, 1):
            if call.dataset in used or self._uncited:
                by_ref.setdefault(call.dataset or f"call {number}", []).append(call)
        yield from ((ref, call_item(ref, calls)) for ref, calls in by_ref.items())


class _Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    statement: int
    verdict: ReviewVerdict
    claim: str
    words: Annotated[list[str], Field(max_length=10)]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    verdicts: list[_Verdict]


def check_reply(text: str, review: ReviewRequest) -> ReviewReply:
    """The verdicts of a reply whose words were found. JSON that is not valid is a problem, too."""
    try:
        reply = _Reply.model_validate_json(text)
    except ValidationError as error:
        return ReviewReply({}, (f"the reply is not valid: {error.errors()[0]['msg']}",))
    if not reply.verdicts:
        return ReviewReply({}, ("the reply has no verdicts",), can_be_repaired=False)
    by_number = {one.number: one for one in review.statements}
    verdicts = {verdict.statement: verdict for verdict in reply.verdicts}
    judgements: dict[int, Judgement] = {}
    problems = [f"there is no statement {number}" for number in verdicts if number not in by_number]
    for number, reviewed in by_number.items():
        found = _judge(verdicts.get(number), reviewed, review)
        if isinstance(found, Judgement):
            judgements[reviewed.statement.start] = found
        elif found:
            problems.append(f"statement {number}: {found}")
    return ReviewReply(judgements, tuple(problems))


def _judge(verdict: _Verdict | None, reviewed: ReviewedText, review: ReviewRequest) -> Judgement | str:
    """The judgement, or why the verdict does not count."""
    if verdict is None:
        return "it has no verdict"
    evidence = review.evidence_of(reviewed)
    words = tuple(word for word in verdict.words if word.strip())
    if not words:
        return "`words` is empty"
    if missing := next((word for word in words if not any(_stands_in(word, item.text) for item in evidence)), None):
        return f"“{one_line(missing, limit=_MAX_NOTE_CHARS)}” does not stand in its evidence"
    if verdict.verdict is ReviewVerdict.SUPPORTED:
        return Judgement(verdict.verdict, "", words)
    if not _stands_in(verdict.claim, f"{reviewed.lead_in} {reviewed.statement.text}"):
        return f"the claim “{one_line(verdict.claim, limit=_MAX_NOTE_CHARS)}” does not stand in the statement"
    if verdict.verdict is ReviewVerdict.NOT_IN_EVIDENCE and any(item.is_cut for item in evidence):
        return ""
    return Judgement(verdict.verdict, verdict.claim, words)


def _stands_in(words: str, text: str) -> bool:
    """Whether whole words stand in a text, whatever their case, quotation marks and white space."""
    wanted, inside = normalize_text(words), normalize_text(text)
    if not any(char.isalnum() for char in wanted):
        return False
    at = inside.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        if not _splits_word(inside, at) and not _splits_word(inside, end):
            return True
        at = inside.find(wanted, at + 1)
    return False


def _splits_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def apply_review(checked: Sequence[CheckedStatement], judgements: Mapping[int, Judgement]) -> list[CheckedStatement]:
    """The statements with the verdicts on them. What code has rejected stays as it is."""
    return [_judged(one, judgements.get(one.statement.start)) for one in checked]


def _judged(checked: CheckedStatement, judgement: Judgement | None) -> CheckedStatement:
    if judgement is None or not is_reviewable(checked):
        return checked
    return replace(checked, evidence=_with_judgement(checked.evidence, judgement))


def _with_judgement(evidence: Evidence, judgement: Judgement) -> Evidence:
    match judgement.verdict:
        case ReviewVerdict.SUPPORTED:
            return evidence.model_copy(update={"review": judgement.verdict})
        case ReviewVerdict.CONTRADICTED:
            fault = Fault.CONTRADICTED
        case ReviewVerdict.NOT_IN_EVIDENCE:
            fault = Fault.UNSUPPORTED
    update = {"review": judgement.verdict, "verified": False, "fault": fault, "note": judgement.note}
    return evidence.model_copy(update=update)
