"""Pieces of a statement: what stands before a citation must be true of that record, not of another one cited."""

from collections.abc import Sequence
from dataclasses import replace

from runax_cli.agent.evidence.checks.context import Problem, StatementContext
from runax_cli.agent.evidence.figures import EvidencePool, figures_in
from runax_cli.agent.evidence.support import Support, unsupported_figures
from runax_cli.core.results import Fault

MAX_SEGMENTS = 50


def check_segments(context: StatementContext, segments: Sequence[tuple[str, Support]]) -> Problem | None:
    """A figure or value before a citation that only another cited record of the statement has."""
    if len(segments) < 2:
        return None
    for text, support in segments[:MAX_SEGMENTS]:
        others = EvidencePool()
        others.add_all(cited.record for _, other in segments if other is not support for cited in other.records)
        own = replace(context, text=text, support=support)
        if problem := _foreign_figure(own, others) or _foreign_value(own, others):
            return problem
    return None


def _foreign_figure(own: StatementContext, others: EvidencePool) -> Problem | None:
    missing = unsupported_figures(figures_in(own.text), own.text, (own.support.in_records, own.given, own.answer_rows))
    wrong = [figure for figure in missing if others.has(figure) and not figure.is_word]
    if not wrong:
        return None
    return Problem(Fault.CONTRADICTED, f"{wrong[0].text} is in another cited record, not in {_ref(own)}")


def _foreign_value(own: StatementContext, others: EvidencePool) -> Problem | None:
    for index in own.own_indexes:
        for mention in index.mentions(own.text):
            is_own = any(pool.has_words(mention.value) for pool in (own.support.in_records, own.given, own.answer_rows))
            if not is_own and others.has_words(mention.value):
                return Problem(Fault.CONTRADICTED, f"'{mention.value}' is in another cited record, not in {_ref(own)}")
    return None


def _ref(own: StatementContext) -> str:
    return ", ".join(f"{cited.ref.dataset}#{cited.ref.row}" for cited in own.support.records)
