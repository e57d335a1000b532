"""All checks of a statement that cites something, in order: the first problem is reported."""

from collections.abc import Callable, Sequence

from runax_cli.agent.evidence.checks.conditions import QuestionConditions, check_columns, check_conditions
from runax_cli.agent.evidence.checks.context import Problem, StatementContext
from runax_cli.agent.evidence.checks.counting import check_counted_noun, check_output_name
from runax_cli.agent.evidence.checks.names import check_named_columns, check_unknown_names, check_values
from runax_cli.agent.evidence.checks.ordering import check_ordering
from runax_cli.agent.evidence.checks.pairs import check_pairs
from runax_cli.agent.evidence.checks.rows import check_item
from runax_cli.agent.evidence.checks.segments import check_segments
from runax_cli.agent.evidence.checks.shares import check_multiples, check_shares
from runax_cli.agent.evidence.support import Support

CHECKS: Sequence[Callable[[StatementContext], Problem | None]] = (
    check_values,
    check_unknown_names,
    check_named_columns,
    check_pairs,
    check_item,
    check_ordering,
    check_counted_noun,
    check_output_name,
    check_shares,
    check_multiples,
)
INHERITED: Sequence[Callable[[StatementContext], Problem | None]] = (
    check_values,
    check_unknown_names,
    check_pairs,
    check_ordering,
    check_shares,
    check_multiples,
)
"""The checks of a statement without a citation, against what the statement before it cites."""


def find_problem(
    context: StatementContext, asked: QuestionConditions, segments: Sequence[tuple[str, Support]] = ()
) -> Problem | None:
    """The first problem of a statement that cites records, queries or datasets; None if there is none.

    `segments` are the pieces of the statement with what each cites.
    """
    if not context.dataset_names:
        return None
    found = (problem for check in CHECKS if (problem := check(context)))
    return next(found, None) or check_segments(context, segments) or _unmet_question(asked, context)


def find_inherited_problem(context: StatementContext) -> Problem | None:
    """The first problem of a statement that cites nothing, against what the statement before it cites."""
    if not context.dataset_names:
        return None
    return next((problem for check in INHERITED if (problem := check(context))), None)


def _unmet_question(asked: QuestionConditions, context: StatementContext) -> Problem | None:
    return check_conditions(asked, context) or check_columns(asked, context)
