"""Generates any record by resource, number and seed, and the sample files that are committed.

`python -m mockdata.generate --write` updates `samples/` and `questions.yaml`; without `--write` it reports differences.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from mockdata import questions
from mockdata.tables import DEFAULT_SEED, Table, tables

SAMPLE_SIZE = 3
HERE = Path(__file__).parent


@lru_cache(maxsize=8)
def _tables(seed: int) -> dict[str, Table]:
    return tables(seed)


def record(resource: str, n: int, seed: int = DEFAULT_SEED) -> dict[str, Any]:
    """Record `n` (from 1) of a resource, always the same for the same seed. Raises KeyError for an unknown resource."""
    return _tables(seed)[resource].record(n)


def generated_files(seed: int = DEFAULT_SEED) -> dict[str, str]:
    """The committed files, by path relative to this module."""
    made = _tables(seed)
    kept = {f"samples/{name}.json": _sample(table) for name, table in made.items()}
    return {**kept, questions.FILE: questions.as_yaml(questions.compute(made, seed=seed))}


def _sample(table: Table) -> str:
    first = [table.record(n) for n in range(1, SAMPLE_SIZE + 1)]
    return orjson.dumps(first, option=orjson.OPT_INDENT_2).decode() + "\n"


def stale_files(folder: Path = HERE) -> list[str]:
    """Committed files that are missing or differ from a new computation."""
    return [name for name, text in generated_files().items() if not _is_current(folder / name, text)]


def _is_current(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def write(folder: Path = HERE) -> None:
    """Write all generated files."""
    for name, text in generated_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write, or compare: returns 0 if all files are current, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m mockdata.generate", description="Update or check the generated files."
    )
    parser.add_argument("--write", action="store_true", help="write samples and questions")
    if parser.parse_args(arguments).write:
        write()
        return 0
    differing = stale_files()
    for name in differing:
        sys.stderr.write(f"'{name}' is out of date; run with --write\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
