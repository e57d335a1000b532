"""Verifies the statements of one answer: each with what it cites, or with what the statements before it cite."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from runax_cli.agent.evidence.checks.absence import claims_absence, is_refuted, shows_absence
from runax_cli.agent.evidence.checks.arithmetic import is_calculated
from runax_cli.agent.evidence.checks.conditions import QuestionConditions
from runax_cli.agent.evidence.checks.context import StatementContext
from runax_cli.agent.evidence.checks.ordering import claims_extreme
from runax_cli.agent.evidence.checks.problems import find_inherited_problem, find_problem
from runax_cli.agent.evidence.citations import (
    Citation,
    Statement,
    cited_segments,
)
from runax_cli.agent.evidence.figures import EvidencePool, Figure, figures_in, has_time_unit, normalize_text
from runax_cli.agent.evidence.numbers import number_words_in
from runax_cli.agent.evidence.shown import ShownData, ShownDataset
from runax_cli.agent.evidence.small_numbers import group_sizes, is_small_word, without_factors
from runax_cli.agent.evidence.stored_query import stored_query
from runax_cli.agent.evidence.support import (
    SimilarRecords,
    Support,
    add_filters,
    add_query_rows,
    build_support,
    data_numbers,
    figure_of_other_row,
    found_nothing,
    load_cited_record,
    mentions_any,
    quotes_in,
    states_absence,
    text_after,
    unsupported_figures,
)
from runax_cli.agent.evidence.values import leaves
from runax_cli.agent.locales import any_of
from runax_cli.core.results import Evidence, EvidenceKind, Fault, Lineage

_STATES_LOWER_BOUND = re.compile(rf"\b{any_of(lambda locale: locale.number.lower_bound)}\b|[≥>+]", re.IGNORECASE)
_MAX_COUNTED_STATEMENTS = 20
_MAX_SEARCHED_RECORDS = 100
_MAX_FEW_RECORDS = 5
_STATEMENTS_BEFORE = 5
_RECORD_NOT_SHOWN = "cites a record that does not exist or was not shown to the model"
_NOT_IN_CITED_DATA = "does not appear in the cited data"


@dataclass(frozen=True, slots=True)
class CheckedStatement:
    """A statement with its evidence. `added` is the citation that code found for a statement without one."""

    statement: Statement
    evidence: Evidence
    added: str = ""


@dataclass(frozen=True, slots=True)
class AnswerVerifier:
    """Verifies the statements of one answer.

    `uncited` holds values that need no citation, `query_rows` the rows of all cited queries, `all_evidence` everything
    that the answer may use. `conditions` is what the question restricts.
    """

    shown: ShownData
    supports: Mapping[Statement, Support]
    uncited: EvidencePool
    query_rows: EvidencePool
    all_evidence: Sequence[EvidencePool]
    similar_records: SimilarRecords
    n_statements: int
    conditions: QuestionConditions
    order: Sequence[Statement]

    @classmethod
    def for_statements(
        cls, statements: Sequence[Statement], shown: ShownData, question: str, *, asked: str = ""
    ) -> "AnswerVerifier":
        """A verifier for an answer that consists of these statements."""
        uncited, query_rows, all_queries = EvidencePool(), EvidencePool(), EvidencePool()
        uncited.add(question)
        uncited.add_all(shown.uncited_values)
        supports = {statement: _support(statement, shown, uncited) for statement in statements}
        cited = {query.id: query for support in supports.values() for query in support.queries}
        for query in cited.values():
            add_query_rows(query_rows, query, given=uncited)
        for query in shown.queries.values():
            add_query_rows(all_queries, query, given=uncited)
            add_filters(all_queries, query)
        pools = (all_queries, *(support.in_records for support in supports.values()))
        arguments = EvidencePool()
        arguments.add_all(shown.arguments)
        shapes = [query.shape for query in cited.values() if query.shape is not None]
        names = frozenset(str(name).casefold() for given in shown.arguments for name in given or ())
        return cls(
            shown=shown,
            supports=supports,
            uncited=uncited,
            query_rows=query_rows,
            all_evidence=pools,
            similar_records=SimilarRecords(shown.datasets),
            n_statements=len(statements),
            conditions=QuestionConditions(asked, arguments, names, shapes),
            order=statements,
        )

    def verify(self, statement: Statement) -> CheckedStatement:
        """Verify one statement. One without a citation gets that of the evidence that has its figures, if any."""
        if statement.has_citations:
            return CheckedStatement(statement, self._verify_cited(statement, self.supports[statement]))
        for ref, cited in self._possible_sources(statement):
            entry = self._verify_cited(cited, _support(cited, self.shown, self.uncited))
            if entry.verified:
                return CheckedStatement(statement, entry, added=ref)
        return CheckedStatement(statement, self._verify_uncited(statement))

    def _verify_cited(self, statement: Statement, support: Support) -> Evidence:
        entry = self._compare_with_cited(statement, support)
        if not (entry.verified or (entry.kind is EvidenceKind.INFERENCE and entry.fault is None)):
            return entry
        segments = [
            (text, self._support_of(cited.records))
            for text, cited in cited_segments(statement.source)
            if text and cited.records
        ]
        problem = find_problem(self._context(statement, support), self.conditions, segments)
        return entry if problem is None else _failed(entry, problem.fault, problem.note)

    def _support_of(self, citations: Sequence[Citation]) -> Support:
        records = [load_cited_record(one, self.shown.datasets.get(one.dataset)) for one in citations]
        return build_support(records, {}, ())

    def _before(self, statement: Statement) -> Sequence[Statement]:
        """The statements right before this one, the nearest last."""
        at = next((at for at, one in enumerate(self.order) if one.start == statement.start), 0)
        return self.order[max(0, at - _STATEMENTS_BEFORE) : at]

    def _text_before(self, statement: Statement) -> str:
        return " ; ".join(one.text for one in self._before(statement))

    def _context_before(self, statement: Statement) -> StatementContext:
        """The statement as if it cited everything that the statements before it cite."""
        cited = self._before(statement)
        whole = replace(
            statement,
            citations=tuple(dict.fromkeys(one for other in cited for one in other.citations)),
            datasets=tuple(dict.fromkeys(one for other in cited for one in other.datasets)),
            queries=tuple(dict.fromkeys(one for other in cited for one in other.queries)),
        )
        return self._context(whole, _support(whole, self.shown, self.uncited))

    def _inherited(self, statement: Statement) -> Statement:
        """The statement as if it cited what the last one before it with a citation cites."""
        cited = next((one for one in reversed(self._before(statement)) if one.has_citations), None)
        if cited is None:
            return statement
        return replace(statement, citations=cited.citations, datasets=cited.datasets, queries=cited.queries)

    def _compare_with_cited(self, statement: Statement, support: Support) -> Evidence:
        """Compare figures, quotes and citations with what the statement cites."""
        if absence := self._verify_absence(statement, support):
            return absence
        if statement.queries:
            return self._verify_queries(statement, support)
        if statement.citations:
            return self._verify_records(statement, support)
        counted = [self.shown.datasets[name] for name in statement.datasets if name in self.shown.datasets]
        return self._verify_totals(statement, support, counted) if counted else self._verify_uncited(statement)

    def _context(self, statement: Statement, support: Support) -> StatementContext:
        names = (*(cited.ref.dataset for cited in support.records), *statement.datasets)
        of_queries = (name for query in support.queries for name in query.datasets)
        used = {name: self.shown.datasets[name] for name in (*names, *of_queries) if name in self.shown.datasets}
        return StatementContext(
            text=statement.text,
            question=self.conditions.question,
            support=support,
            given=self.uncited,
            answer_rows=self.query_rows,
            indexes={name: self.shown.values_of(name) for name in used},
            totals={name: shown.exact_total for name, shown in used.items() if shown.exact_total is not None},
            cited_datasets=statement.datasets,
            records_read=tuple(shown.records_read for shown in used.values()),
            is_item=statement.kind in ("item", "row"),
        )

    def _possible_sources(self, statement: Statement) -> Iterator[tuple[str, Statement]]:
        """The queries and shown records that have a figure of an uncited statement, as references to them."""
        figures = [one for one in figures_in(statement.text) if not self.uncited.has(one) and not one.is_word]
        if not figures:
            return
        for ref, query in reversed(self.shown.queries.items()):
            pool = EvidencePool()
            add_query_rows(pool, query, given=self.uncited)
            if any(pool.has(figure) for figure in figures):
                yield ref, replace(statement, queries=(ref,))
        yield from self._possible_records(statement, figures)

    def _possible_records(self, statement: Statement, figures: Sequence[Figure]) -> Iterator[tuple[str, Statement]]:
        """Shown records that have all figures: one of them, or of a few records each some."""
        for name, shown in self.shown.datasets.items():
            rows = [Citation(name, row) for row in sorted(shown.rows)[:_MAX_SEARCHED_RECORDS]]
            together = [tuple(rows)] if 1 < len(rows) <= _MAX_FEW_RECORDS else []
            for cited in (*((one,) for one in rows), *together):
                pool = self._support_of(cited).in_records
                if all(pool.has(figure) for figure in figures):
                    yield ", ".join(f"{name}#{one.row}" for one in cited), replace(statement, citations=cited)

    def _verify_absence(self, statement: Statement, support: Support) -> Evidence | None:
        """The evidence of a statement that says that there is nothing, if what it cites shows that."""
        context = self._context(statement, support)
        if not claims_absence(statement.text, context.figures):
            return None
        if refuted := is_refuted(context):
            entry = Evidence(statement=statement.text, kind=EvidenceKind.SQL, sql=_sql_text(support))
            return _failed(entry, Fault.CONTRADICTED, refuted)
        if shows_absence(context):
            return Evidence(
                statement=statement.text,
                kind=EvidenceKind.ABSENCE,
                sql=_sql_text(support),
                exact=True,
                verified=True,
                queries=tuple(stored_query(query) for query in support.queries),
            )
        return None

    def verify_non_statement(self, passage: Statement) -> Evidence | None:
        """Verify the figures of a heading or lead-in, which otherwise needs no evidence."""
        entry = self._inference(passage, self._unknown(figures_in(passage.text), passage.text))
        return entry if entry.unproven else None

    def _verify_uncited(self, statement: Statement) -> Evidence:
        """Verify a statement that cites nothing, against what the statement before it cites."""
        figures = figures_in(statement.text)
        if unknown := self._unknown(figures, statement.text):
            together, before = self._context_before(statement), self._text_before(statement)
            unknown = tuple(figure for figure in unknown if not is_calculated(figure, together, before=before))
        if unknown:
            return self._inference(statement, unknown)
        if claims_absence(statement.text, figures):
            return self._uncited_absence(statement)
        entry, inherited = self._inference(statement, ()), self._inherited(statement)
        problem = find_inherited_problem(self._context(inherited, _support(inherited, self.shown, self.uncited)))
        return entry if problem is None else _failed(entry, problem.fault, problem.note)

    def _uncited_absence(self, statement: Statement) -> Evidence:
        """A statement that there is nothing: the only query, or without one every call, must have found nothing.

        Of several, nobody says which one the statement is about.
        """
        queries = [query for query in self.shown.queries.values() if query.datasets]
        is_empty = self.shown.exact_totals == {0} if not queries else len(queries) == 1 and found_nothing(queries[0])
        if not is_empty:
            return self._inference(statement, ())
        return Evidence(
            statement=statement.text,
            kind=EvidenceKind.ABSENCE,
            exact=all(query.lineage is Lineage.EXACT for query in queries),
            verified=True,
            queries=tuple(map(stored_query, queries)),
            sql=queries[0].sql if queries else None,
        )

    def _verify_records(self, statement: Statement, support: Support) -> Evidence:
        """Verify a statement that cites records, and perhaps totals of datasets."""
        entry = Evidence(
            statement=statement.text,
            kind=EvidenceKind.RECORD,
            records=tuple(cited.ref for cited in support.records),
            quote=_quote(statement, self.shown.datasets),
        )
        if not support.all_records_shown:
            return _failed(entry, Fault.UNCITED, _RECORD_NOT_SHOWN)
        unsupported = self._unsupported(statement, support, (support.in_records, support.durations, self.query_rows))
        if unknown := self._unknown(unsupported, statement.text):
            return self._inference(statement, unknown, entry)
        if unsupported:
            return _failed(entry, Fault.CONTRADICTED, f"{_join_figures(unsupported)} {_NOT_IN_CITED_DATA}")
        if wrong := _wrong_quote(statement.text, (support.in_records, self.uncited, self.query_rows)):
            return _failed(entry, Fault.UNSUPPORTED, f"the quote “{wrong}” {_NOT_IN_CITED_DATA}")
        figures = figures_in(statement.text)
        has_cited_figure = len(unsupported_figures(figures, statement.text, (support.in_records,))) < len(figures)
        if not has_cited_figure and self.similar_records.has_better(statement.text, statement.citations):
            return _failed(entry, Fault.CONTRADICTED, "another record matches this statement better than the cited one")
        is_partial = any(not self.shown.datasets[one.dataset].is_whole for one in statement.citations)
        if is_partial and claims_extreme(statement.text) and not _STATES_LOWER_BOUND.search(statement.text):
            return _failed(entry, Fault.CONTRADICTED, "claims an extreme of all records: the data is incomplete")
        return entry.model_copy(update={"verified": True})

    def _verify_queries(self, statement: Statement, support: Support) -> Evidence:
        """Verify a statement that cites queries, and perhaps records."""
        entry = Evidence(
            statement=statement.text,
            kind=EvidenceKind.SQL,
            records=tuple(cited.ref for cited in support.records),
            sql=_sql_text(support),
            exact=all(query.lineage is Lineage.EXACT for query in support.queries) if support.queries else None,
            queries=tuple(stored_query(query) for query in support.queries),
        )
        if support.unknown_queries:
            unknown = ", ".join(support.unknown_queries)
            return _failed(entry, Fault.UNCITED, f"{unknown} is not the result of a query over the data")
        if not support.all_records_shown:
            return _failed(entry, Fault.UNCITED, _RECORD_NOT_SHOWN)
        unsupported = self._unsupported(statement, support, (support.in_rows, support.in_records, support.filters))
        others = (support.filters, self.uncited)
        unsupported = tuple(one for one in unsupported if not support.in_rows.has_date_parts(one, others))
        if unsupported:
            note = f"{_join_figures(unsupported)} {_NOT_IN_CITED_DATA}"
            unproven = tuple(figure.text for figure in self._unknown(unsupported, statement.text))
            return _failed(entry, Fault.UNSUPPORTED, note).model_copy(update={"unproven": unproven})
        pools = (support.in_rows, support.in_records, support.filters, self.uncited)
        wrong = _wrong_quote(statement.text, pools)
        if wrong and not self._is_selected_value(wrong, support):
            return _failed(entry, Fault.UNSUPPORTED, f"the quote “{wrong}” {_NOT_IN_CITED_DATA}")
        other_pools = (support.in_records, support.filters, self.uncited)
        only_in_rows = unsupported_figures(figures_in(statement.text), statement.text, other_pools)
        if figure := figure_of_other_row(only_in_rows, statement.text, support.queries):
            return _failed(entry, Fault.CONTRADICTED, f"{figure.text} belongs to another row of the query result")
        if not _uses_query_rows(statement.text, support):
            return self._inference(statement, (), entry, note="contains no figure and no name from the query result")
        is_lower_bound = any(query.lineage is Lineage.LOWER_BOUND for query in support.queries)
        if is_lower_bound and not self._states_lower_bound(statement, support):
            return _failed(entry, Fault.CONTRADICTED, "presents a lower bound as exact: the data is incomplete")
        return entry.model_copy(update={"verified": True})

    def _is_selected_value(self, quote: str, support: Support) -> bool:
        """Whether a quote is a value of the data that the conditions of a cited query select by a part of it."""
        text = normalize_text(quote)
        selected = any(known.strip("% ") and known.strip("% ") in text for known in support.filters.texts)
        names = [name for query in support.queries for name in query.datasets if name in self.shown.datasets]
        return selected and any(self.shown.values_of(name).has_value(quote) for name in names)

    def _states_lower_bound(self, statement: Statement, support: Support) -> bool:
        """Whether the statement, or one next to it, says that the data is incomplete, or how much of it was read."""
        near = figures_in(" ; ".join(one.text for one in (*self._before(statement), statement)))
        read = [
            (shown.records_read, shown.exact_total)
            for query in support.queries
            for name in query.datasets
            if (shown := self.shown.datasets.get(name)) is not None
        ]
        is_told = any(
            total is not None and _states_number(number, near) and _states_number(total, near) for number, total in read
        )
        return is_told or _STATES_LOWER_BOUND.search(statement.text) is not None

    def _verify_totals(self, statement: Statement, support: Support, counted: Sequence[ShownDataset]) -> Evidence:
        """Verify a statement that cites totals of datasets. Without a figure there is nothing to verify."""
        text, figures = statement.text, figures_in(statement.text)
        if not figures:
            return self._inference(statement, ())
        entry = Evidence(statement=text, kind=EvidenceKind.RECORD, exact=False)
        if all(shown.exact_total is not None and _states_number(shown.exact_total, figures) for shown in counted):
            entry = entry.model_copy(update={"exact": True})
        elif not (
            all(_states_number(shown.records_read, figures) for shown in counted) and _STATES_LOWER_BOUND.search(text)
        ):
            note = "is not the number of records in the cited dataset, or that number is not exact"
            return _failed(entry, Fault.CONTRADICTED, note)
        totals = EvidencePool()
        totals.add_all([total for shown in counted for total in (shown.exact_total, shown.records_read)])
        unsupported = self._unsupported(statement, support, (totals, self.query_rows))
        if unknown := self._unknown(unsupported, text):
            return self._inference(statement, unknown, entry)
        return entry.model_copy(update={"verified": True})

    def _unsupported(self, statement: Statement, support: Support, pools: Sequence[EvidencePool]) -> tuple[Figure, ...]:
        """Figures that are not in the pools, need a citation, and do not count the cited records."""
        figures = figures_in(statement.text)
        found = unsupported_figures(figures, statement.text, (*pools, self.uncited))
        counts = self._counts(statement, support)
        # A small number is in many texts: in words it must be a number of the data, or count something.
        found += tuple(
            one
            for one in figures
            if one not in found and is_small_word(one) and not has_time_unit(text_after(one, statement.text))
        )
        found = tuple(one for one in found if not any(_states_number(count, (one,)) for count in counts))
        if not found:
            return ()
        context = self._context(statement, support)
        before = self._text_before(statement)
        found = without_factors(found, statement.text)
        return tuple(figure for figure in found if not is_calculated(figure, context, before=before))

    def _counts(self, statement: Statement, support: Support) -> frozenset[int]:
        """Whole numbers that the statement may give in words: of rows, of cited records, and the numbers in them."""
        cells = [cell for query in support.queries for row in data_numbers(query, self.uncited) for cell in row]
        cells += [value for cited in support.records for _, value in leaves(cited.record or {})]
        numbers = {cell for cell in cells if isinstance(cell, int) and not isinstance(cell, bool)}
        totals = [self.shown.datasets[one].exact_total for one in self._datasets(statement, support)]
        n_cited = range(2, len(statement.citations) + 1)
        words = {word for cell in cells if isinstance(cell, str) for word in number_words_in(cell)}
        asked = number_words_in(self.conditions.question)
        read = [self.shown.datasets[one].records_read for one in self._datasets(statement, support)]
        rows = (query.n_rows for query in support.queries)
        groups = group_sizes(support)
        return frozenset(
            (
                *numbers,
                *words,
                *groups,
                *n_cited,
                *asked,
                *rows,
                *read,
                *(total for total in totals if total is not None),
            )
        )

    def _datasets(self, statement: Statement, support: Support) -> list[str]:
        names = (*statement.datasets, *(name for query in support.queries for name in query.datasets))
        return [name for name in dict.fromkeys(names) if name in self.shown.datasets]

    def _unknown(self, figures: Sequence[Figure], text: str) -> tuple[Figure, ...]:
        """Figures that are not in any evidence, and do not count the statements of the answer."""
        found = unsupported_figures(figures, text, (self.uncited, *self.all_evidence, self.query_rows))
        counts = {self.n_statements} if self.n_statements <= _MAX_COUNTED_STATEMENTS else set()
        found = without_factors(found, text)
        return tuple(figure for figure in found if not any(_states_number(count, (figure,)) for count in counts))

    def _inference(
        self, statement: Statement, unknown: Sequence[Figure], entry: Evidence | None = None, *, note: str | None = None
    ) -> Evidence:
        base = entry or Evidence(statement=statement.text, kind=EvidenceKind.INFERENCE)
        unproven = tuple(dict.fromkeys(figure.text for figure in unknown))
        if unproven:
            verb = "does" if len(unproven) == 1 else "do"
            note = f"unsupported: {', '.join(unproven)} {verb} not appear in the data"
        return base.model_copy(
            update={
                "kind": EvidenceKind.INFERENCE,
                "verified": False,
                "exact": None,
                "unproven": unproven,
                "note": note,
                "fault": Fault.UNSUPPORTED if unproven else None,
            }
        )


def _failed(entry: Evidence, fault: Fault, note: str) -> Evidence:
    return entry.model_copy(update={"verified": False, "fault": fault, "note": note})


def _sql_text(support: Support) -> str | None:
    return ";\n".join(query.sql for query in support.queries) or None


def _support(statement: Statement, shown: ShownData, given: EvidencePool) -> Support:
    records = [load_cited_record(citation, shown.datasets.get(citation.dataset)) for citation in statement.citations]
    return build_support(records, shown.queries, statement.queries, given=given)


def _uses_query_rows(text: str, support: Support) -> bool:
    """Whether a statement contains a figure or name from the rows of the cited queries."""
    figures = figures_in(text)
    if any(support.in_rows.has(figure) for figure in figures):
        return True
    if any(support.in_rows.has_value(value) for value in number_words_in(text)):
        return True
    return mentions_any(text, support.names) or states_absence(text, support.queries)


def _states_number(number: int, figures: Sequence[Figure]) -> bool:
    mentions = (figure.number for figure in figures)
    return any(one is not None and not one.is_percent and one.includes(Decimal(number)) for one in mentions)


def _wrong_quote(text: str, pools: Sequence[EvidencePool]) -> str | None:
    return next((quote for quote in quotes_in(text) if not any(pool.has_text(quote) for pool in pools)), None)


def _quote(statement: Statement, datasets: Mapping[str, ShownDataset]) -> str | None:
    quotes = (datasets[c.dataset].quotes.get(c.row) for c in statement.citations if c.dataset in datasets)
    return next((quote for quote in quotes if quote), None)


def _join_figures(figures: Sequence[Figure]) -> str:
    return ", ".join(dict.fromkeys(figure.text for figure in figures))
