"""List items and table rows: the texts of one item must stand together in one row of the cited result."""

from runax_cli.agent.evidence.checks.context import Problem, StatementContext
from runax_cli.agent.evidence.support import MAX_COMPARED_ROWS, names_in
from runax_cli.core.results import Fault


def check_item(context: StatementContext) -> Problem | None:
    """An item that names texts of different rows as if they belonged together."""
    if not context.is_item or len(context.queries) != 1:
        return None
    (query,) = context.queries
    rows = [tuple(cell for cell in row if isinstance(cell, str) and cell) for row in query.rows[:MAX_COMPARED_ROWS]]
    names = {name for row in rows for name in row}
    named = names_in(context.text, sorted(names))
    texts = {name for _, _, name in named}
    columns = {at for row in query.rows[:MAX_COMPARED_ROWS] for at, cell in enumerate(row) if cell in texts}
    if len(texts) < 2 or len(columns) < 2 or any(texts <= set(row) for row in rows):
        return None
    shown = ", ".join(f"'{name}'" for name in sorted(texts))
    return Problem(Fault.CONTRADICTED, f"{shown} are not in the same row of {query.id}")
