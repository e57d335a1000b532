"""Query results as they are stored with an answer."""

from runax_cli.core.results import SqlResult
from runax_cli.executor.data_tools.query_dataset import to_json_value
from runax_cli.executor.outcome import SqlEvidence

MAX_STORED_ROWS = 20
"""At most this many rows of a cited query are stored with the answer."""


def stored_query(query: SqlEvidence) -> SqlResult:
    """The result of a query as it is stored with an answer: its first rows, as JSON values."""
    return SqlResult(
        id=query.id,
        sql=query.sql,
        columns=query.columns,
        rows=tuple(tuple(to_json_value(cell) for cell in row) for row in query.rows[:MAX_STORED_ROWS]),
        n_rows=query.n_rows,
        lineage=query.lineage,
        agreement=query.agreement,
        stored=query.stored,
    )
