"""The SQL sandbox: what a statement that a model wrote may read and do.

Permissions follow DuckDB's guide "Securing DuckDB". `SqlEngine.select` also accepts only a single SELECT.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runax_cli.executor.sql.columns import literal, quoted


def open_sandbox(folder: Path, memory_limit: str) -> Any:
    """Open an in-memory DuckDB that may read `folder` and no other file, without network access.

    The configuration is locked, so that no statement can widen its permissions.
    """
    import duckdb

    connection = duckdb.connect()
    settings: Mapping[str, str] = {
        "memory_limit": literal(memory_limit),
        "threads": "2",
        "TimeZone": "'UTC'",
        # Models write both `x -> …` and `lambda x: …`; DuckDB 2 accepts only the second by default.
        "lambda_syntax": "'ENABLE_SINGLE_ARROW'",
        "temp_directory": "''",
        "allowed_directories": f"[{literal(f'{folder}/')}]",
        "enable_external_access": "false",
        "lock_configuration": "true",
    }
    for name, value in settings.items():
        connection.execute(f"SET {name} = {value}")
    return connection


def where_clause(name: str, where: str | None) -> str:
    """Wrap a condition that a model wrote, so that it can only select rows of the table, whatever it contains."""
    if where is None:
        return ""
    return f" WHERE row IN (SELECT row FROM {quoted(name)} WHERE (\n{where}\n))"  # noqa: S608
