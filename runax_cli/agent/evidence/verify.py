"""An answer held against the data: what each statement rests on, verified by code.

A reference to a record is verified when its dataset exists, has that row, the row was shown to the model, and nothing
in the statement speaks against it: every figure and every quotation in it stands in what it cites, or was given (in
the question, in the arguments of a call, as a total). A reference to a query is verified when the figures stand in its
rows, or are their number; what is computed over incomplete data must be called a lower bound. A reference to a number
of records is verified when that number stands in the statement. Figures that stand nowhere are named, wherever they
are.
Knows nothing of how an answer is printed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from runax_cli.agent.evidence.citations import Statement, asides, statements
from runax_cli.agent.evidence.figures import EvidencePool, Figure, figures_in
from runax_cli.agent.evidence.notation import worded_in
from runax_cli.agent.evidence.shown import ShownData as ShownData
from runax_cli.agent.evidence.shown import ShownDataset as Shown
from runax_cli.agent.evidence.support import (
    SimilarRecords,
    Support,
    add_filters,
    add_rows,
    cited_record,
    is_of_another_row,
    named_in,
    quotes_in,
    says_none,
    support_of,
    unfound,
)
from runax_cli.core.results import Evidence, EvidenceKind, Lineage, SqlResult
from runax_cli.executor.outcome import SqlEvidence

ROWS_KEPT = 20
"""So many rows of a cited query are kept with the answer."""
_CERTIFICATE_LIKE = re.compile(
    r"^\W*(?:\d[\d\s,.]*/\s*\d[\d\s,.]*\s+\S+\s+fetched\b.*|no data was used\b.*|.*\s·\s.*\brun [0-9a-f]{4,}\W*)$",
    re.IGNORECASE,
)
_SAYS_AT_LEAST = re.compile(
    r"\b(?:at least|no fewer than|no less than|more than|minimum|lower bound|or more|incomplete|not all|partial\w*|"
    r"so far|of those (?:read|fetched)|that (?:were|was|could be) (?:read|fetched)|"
    r"alespoň|nejméně|minimálně|přinejmenším|více než|víc než|dolní mez|neúpln\w+|zatím|z načtených|z přečtených)\b|"
    r"[≥>+]",
    re.IGNORECASE,
)
_COUNTABLE = 20


def evidence_of(answer: str, shown: ShownData, *, question: str = "") -> tuple[Evidence, ...]:
    """What each statement of the answer rests on, in order; then what is figured beside the statements.

    `question` is everything that the user gave, the day of asking included. Reads cited records from disk; blocking.
    """
    made = statements(answer)
    judge = AnswerVerifier.over(made, shown, question)
    beside = (judge.aside(passage) for passage in asides(answer))
    return (*(judge.evidence(statement) for statement in made), *(entry for entry in beside if entry is not None))


def without_certificates(answer: str) -> str:
    """The answer without lines in which a model plays the certificate: only code may claim what was verified."""
    lines = [line for line in answer.splitlines() if not _CERTIFICATE_LIKE.match(line)]
    return "\n".join(lines).strip()


@dataclass(frozen=True, slots=True)
class AnswerVerifier:
    """What holds for every statement: `given` needs no reference, `anywhere` holds all that the answer may draw on."""

    shown: ShownData
    supports: Mapping[Statement, Support]
    given: EvidencePool
    computed: EvidencePool
    anywhere: Sequence[EvidencePool]
    neighbours: SimilarRecords
    n_statements: int

    @classmethod
    def over(cls, made: Sequence[Statement], shown: ShownData, question: str) -> "AnswerVerifier":
        """The judge of an answer that consists of these statements."""
        given, computed, anywhere = EvidencePool(), EvidencePool(), EvidencePool()
        given.add(question)
        given.add_all(shown.given)
        supports = {statement: _support(statement, shown, given) for statement in made}
        cited = {query.id: query for support in supports.values() for query in support.queries}
        for query in cited.values():
            add_rows(computed, query, given=given)
        for query in shown.queries.values():
            add_rows(anywhere, query, given=given)
            add_filters(anywhere, query)
        pools = (anywhere, *(support.in_records for support in supports.values()))
        return cls(shown, supports, given, computed, pools, SimilarRecords(shown.datasets), len(made))

    def evidence(self, statement: Statement) -> Evidence:
        """What one statement rests on."""
        support = self.supports[statement]
        if statement.queries:
            return self._computed(statement, support)
        if statement.citations:
            return self._recorded(statement, support)
        counted = [self.shown.datasets[name] for name in statement.datasets if name in self.shown.datasets]
        return self._counted(statement, counted) if counted else self._bare(statement)

    def aside(self, passage: Statement) -> Evidence | None:
        """A heading or lead-in needs no evidence, but its figures do."""
        entry = self._bare(passage)
        return entry if entry.unproven else None

    def _bare(self, statement: Statement) -> Evidence:
        """A statement that cites nothing."""
        return self._inference(statement, self._nowhere(figures_in(statement.text), statement.text))

    def _recorded(self, statement: Statement, support: Support) -> Evidence:
        """A statement that cites records, and perhaps numbers of records."""
        entry = Evidence(
            statement=statement.text,
            kind=EvidenceKind.RECORD,
            records=tuple(cited.ref for cited in support.records),
            quote=_quote(statement, self.shown.datasets),
        )
        if not support.are_records_shown:
            return entry.model_copy(update={"note": "it cites a record that was not shown or does not exist"})
        open_figures = self._open(statement, (support.in_records, self.computed))
        if nowhere := self._nowhere(open_figures, statement.text):
            return self._inference(statement, nowhere, entry)
        if open_figures:
            return entry.model_copy(update={"note": f"{_listed(open_figures)} does not stand in what it cites"})
        if wrong := _wrong_quote(statement.text, (support.in_records, self.given, self.computed)):
            return entry.model_copy(update={"note": f"“{wrong}” does not stand in what it cites"})
        figures = figures_in(statement.text)
        is_borne_out = len(unfound(figures, statement.text, (support.in_records,))) < len(figures)
        if not is_borne_out and self.neighbours.has_better(statement.text, statement.citations):
            return entry.model_copy(update={"note": "what it says stands in another record than the one it cites"})
        return entry.model_copy(update={"verified": True})

    def _computed(self, statement: Statement, support: Support) -> Evidence:
        """A statement that cites queries, and perhaps records."""
        entry = Evidence(
            statement=statement.text,
            kind=EvidenceKind.SQL,
            records=tuple(cited.ref for cited in support.records),
            sql=";\n".join(query.sql for query in support.queries) or None,
            exact=all(query.lineage is Lineage.EXACT for query in support.queries) if support.queries else None,
            queries=tuple(_stored(query) for query in support.queries),
        )
        if support.missing_queries:
            missing = ", ".join(support.missing_queries)
            return entry.model_copy(update={"note": f"no query over the data is known as {missing}"})
        if not support.are_records_shown:
            return entry.model_copy(update={"note": "it cites a record that was not shown or does not exist"})
        open_figures = self._open(statement, (support.in_rows, support.in_records, support.filters))
        if open_figures:
            said = f"{_listed(open_figures)} does not stand in what it cites"
            nowhere = tuple(figure.text for figure in self._nowhere(open_figures, statement.text))
            return entry.model_copy(update={"note": said, "unproven": nowhere})
        if wrong := _wrong_quote(statement.text, (support.in_rows, support.in_records, support.filters, self.given)):
            return entry.model_copy(update={"note": f"“{wrong}” does not stand in what it cites"})
        apart = unfound(figures_in(statement.text), statement.text, (support.in_records, support.filters, self.given))
        if strange := is_of_another_row(apart, statement.text, support.queries):
            return entry.model_copy(update={"note": f"{strange.text} stands in a row of something else"})
        if not _draws_on(statement.text, support):
            return self._inference(statement, (), entry, note="no figure and no name of the query's rows stands in it")
        if any(q.lineage is Lineage.LOWER_BOUND for q in support.queries) and not _SAYS_AT_LEAST.search(statement.text):
            return entry.model_copy(update={"note": "it presents a lower bound as exact: the data is incomplete"})
        return entry.model_copy(update={"verified": True})

    def _counted(self, statement: Statement, counted: Sequence[Shown]) -> Evidence:
        """A statement that cites numbers of records. Without a figure there is nothing to verify."""
        text, figures = statement.text, figures_in(statement.text)
        if not figures:
            return self._inference(statement, ())
        entry = Evidence(statement=text, kind=EvidenceKind.RECORD, exact=False)
        if all(shown.exact_total is not None and _is_said(shown.exact_total, figures) for shown in counted):
            entry = entry.model_copy(update={"exact": True})
        elif not (all(_is_said(shown.read, figures) for shown in counted) and _SAYS_AT_LEAST.search(text)):
            return entry.model_copy(update={"note": "the number of records that it cites is another, or is not exact"})
        totals = EvidencePool()
        totals.add_all([total for shown in counted for total in (shown.exact_total, shown.read)])
        open_figures = self._open(statement, (totals, self.computed))
        if nowhere := self._nowhere(open_figures, text):
            return self._inference(statement, nowhere, entry)
        return entry.model_copy(update={"verified": True})

    def _open(self, statement: Statement, pools: Sequence[EvidencePool]) -> tuple[Figure, ...]:
        """Figures that stand neither in the pools nor among what was given, and do not count the references."""
        found = unfound(figures_in(statement.text), statement.text, (*pools, self.given))
        n_cited = len(statement.citations)
        return tuple(figure for figure in found if n_cited < 2 or not _is_said(n_cited, (figure,)))

    def _nowhere(self, figures: Sequence[Figure], text: str) -> tuple[Figure, ...]:
        """Figures that stand in no evidence at all, and count nothing in the answer itself."""
        found = unfound(figures, text, (self.given, *self.anywhere, self.computed))
        counts = {self.n_statements} if self.n_statements <= _COUNTABLE else set()
        return tuple(figure for figure in found if not any(_is_said(count, (figure,)) for count in counts))

    def _inference(
        self, statement: Statement, nowhere: Sequence[Figure], entry: Evidence | None = None, *, note: str | None = None
    ) -> Evidence:
        base = entry or Evidence(statement=statement.text, kind=EvidenceKind.INFERENCE)
        said = f"{_listed(nowhere)} stands in no evidence" if nowhere else note
        unproven = tuple(dict.fromkeys(figure.text for figure in nowhere))
        return base.model_copy(
            update={
                "kind": EvidenceKind.INFERENCE,
                "verified": False,
                "exact": None,
                "unproven": unproven,
                "note": said,
            }
        )


def _support(statement: Statement, shown: ShownData, given: EvidencePool) -> Support:
    records = [cited_record(citation, shown.datasets.get(citation.dataset)) for citation in statement.citations]
    return support_of(records, shown.queries, statement.queries, given=given)


def _draws_on(text: str, support: Support) -> bool:
    """Whether anything in a statement comes from the rows it cites, and not only from what was asked."""
    figures = figures_in(text)
    if any(support.in_rows.has(figure) for figure in figures):
        return True
    if any(support.in_rows.has_value(value) for value in worded_in(text)):
        return True
    return named_in(text, support.names) or says_none(text, support.queries)


def _is_said(number: int, figures: Sequence[Figure]) -> bool:
    pool = EvidencePool()
    pool.add(number)
    return any(pool.has(figure) for figure in figures if figure.number is not None and not figure.number.is_percent)


def _wrong_quote(text: str, pools: Sequence[EvidencePool]) -> str | None:
    return next((quote for quote in quotes_in(text) if not any(pool.has_text(quote) for pool in pools)), None)


def _quote(statement: Statement, datasets: Mapping[str, Shown]) -> str | None:
    quotes = (datasets[c.dataset].quotes.get(c.row) for c in statement.citations if c.dataset in datasets)
    return next((quote for quote in quotes if quote), None)


def _listed(figures: Sequence[Figure]) -> str:
    return ", ".join(dict.fromkeys(figure.text for figure in figures))


def _stored(query: SqlEvidence) -> SqlResult:
    return SqlResult(
        id=query.id,
        sql=query.sql,
        columns=query.columns,
        rows=tuple(tuple(_plain(cell) for cell in row) for row in query.rows[:ROWS_KEPT]),
        n_rows=query.n_rows,
        lineage=query.lineage,
        agreement=query.agreement,
    )


def _plain(cell: Any) -> Any:
    """A cell as JSON has it."""
    match cell:
        case None | bool() | int() | float() | str():
            return cell
        case Decimal():
            return float(cell)
        case datetime() | date() | time():
            return cell.isoformat()
        case Mapping():
            return {str(name): _plain(value) for name, value in cell.items()}
        case list() | tuple():
            return [_plain(value) for value in cell]
        case _:
            return str(cell)
