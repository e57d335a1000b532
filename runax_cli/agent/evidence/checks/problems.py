"""All checks of a statement that cites something, in order: the first problem is reported."""

from collections.abc import Callable, Sequence

from runax_cli.agent.evidence.checks.conditions import QuestionConditions, check_columns, check_conditions
from runax_cli.agent.evidence.checks.context import Problem, StatementContext
from runax_cli.agent.evidence.checks.counting import check_counted_noun
from runax_cli.agent.evidence.checks.names import check_unknown_names, check_values
from runax_cli.agent.evidence.checks.ordering import check_ordering
from runax_cli.agent.evidence.checks.pairs import check_pairs
from runax_cli.agent.evidence.checks.shares import check_shares

CHECKS: Sequence[Callable[[StatementContext], Problem | None]] = (
    check_values,
    check_unknown_names,
    check_pairs,
    check_ordering,
    check_counted_noun,
    check_shares,
)


def find_problem(context: StatementContext, asked: QuestionConditions) -> Problem | None:
    """The first problem of a statement that cites records, queries or datasets; None if there is none."""
    if not context.dataset_names:
        return None
    for check in CHECKS:
        if problem := check(context):
            return problem
    return check_conditions(asked, context) or check_columns(asked, context)
