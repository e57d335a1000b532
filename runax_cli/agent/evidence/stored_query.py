"""Query results as they are stored with an answer."""

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from runax_cli.core.results import SqlResult
from runax_cli.executor.outcome import SqlEvidence

MAX_STORED_ROWS = 20
"""At most this many rows of a cited query are stored with the answer."""


def stored_query(query: SqlEvidence) -> SqlResult:
    """The result of a query as it is stored with an answer: its first rows, as JSON values."""
    return SqlResult(
        id=query.id,
        sql=query.sql,
        columns=query.columns,
        rows=tuple(tuple(_to_json_value(cell) for cell in row) for row in query.rows[:MAX_STORED_ROWS]),
        n_rows=query.n_rows,
        lineage=query.lineage,
        agreement=query.agreement,
        stored=query.stored,
    )


def _to_json_value(cell: Any) -> Any:
    """Convert a cell of a query result to a JSON value."""
    match cell:
        case None | bool() | int() | float() | str():
            return cell
        case Decimal():
            return float(cell)
        case datetime() | date() | time():
            return cell.isoformat()
        case Mapping():
            return {str(name): _to_json_value(value) for name, value in cell.items()}
        case list() | tuple():
            return [_to_json_value(value) for value in cell]
        case _:
            return str(cell)
