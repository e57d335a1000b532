"""The Parquet file of a whole SQL result: the SELECT that is written, and the casts to types that Parquet keeps.

Pure text; `engine` runs it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runax_cli.executor.sql.columns import ZONED, literal, quoted

# The writer keeps whole row groups in memory, and a result may have long texts.
_OPTIONS = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20000, USE_TMP_FILE false"
_WIDE_INTEGERS = ("BIGINT", "DECIMAL(38, 0)", "VARCHAR")
"""Types for integers of 128 bits, which Parquet would round: the first that holds all of them is used."""


@dataclass(frozen=True, slots=True)
class StoreRequest:
    """Where to write a whole result, a file that does not exist yet, and how many bytes it may take (0: no limit)."""

    path: Path
    max_bytes: int = 0


def copy_statements(statement: str, columns: Sequence[tuple[str, str]], target: Path) -> Iterator[str]:
    """Yield the statements that write the result of a SELECT, to be tried in order until one succeeds.

    `columns` are the names and types of the result.
    """
    kinds = [kind for _, kind in columns]
    for integer in _WIDE_INTEGERS if any("HUGEINT" in kind for kind in kinds) else _WIDE_INTEGERS[:1]:
        casts = [_kept(kind, integer) for kind in kinds]
        source = statement if casts == kinds else cast_columns(statement, columns, casts)
        yield f"COPY (\n{source}\n) TO {literal(str(target))} ({_OPTIONS})"


def first_rows(path: Path, max_rows: int) -> str:
    """Return the SELECT of the first rows of a stored result, in order."""
    return f"SELECT * FROM read_parquet({literal(str(path))}, hive_partitioning=false) LIMIT {max_rows}"  # noqa: S608


def _kept(kind: str, integer: str) -> str:
    """Return the type that a column is stored as. Intervals would lose their microseconds, unions their tag."""
    if "INTERVAL" in kind or "UNION(" in kind:
        return "VARCHAR"
    return unzoned(kind).replace("UHUGEINT", integer).replace("HUGEINT", integer)


def unzoned(kind: str) -> str:
    """Return a type with timestamps in UTC, without a zone, which can be read without a time zone library."""
    return kind.replace(ZONED, "TIMESTAMP")


def cast_columns(statement: str, columns: Sequence[tuple[str, str]], casts: Sequence[str]) -> str:
    """Return the SELECT of the same rows with columns of other types. `columns` are its names and types."""
    values = ", ".join(
        (f"c{at}" if cast == kind else f"CAST(c{at} AS {cast})") + f" AS {quoted(name)}"
        for at, ((name, kind), cast) in enumerate(zip(columns, casts, strict=True))
    )
    names = ", ".join(f"c{at}" for at in range(len(columns)))
    return f"SELECT {values} FROM (\n{statement}\n) AS result({names})"  # noqa: S608
