"""Measures how fast the largest real documents become tools, relative to Python's `json.loads` of the same files.

`python -m benchmarks.documents_speed [FOLDER]` reads the documents of GitHub, Kubernetes and Elasticsearch from FOLDER
(`../shared/specs`). The limit is four times `json.loads` plus a millisecond per operation, and half of that with cached
tools. The measurements alternate, and the minimum of all rounds counts, to reduce the influence of other processes.
Exits with 10 if a document exceeds its limit.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from adapters.openapi.adapter import OpenApiSettings, OpenApiSource
from adapters.openapi.document.document import OpenApiDocument
from adapters.openapi.document.loader import parse_document
from benchmarks.documents import SPECS, operations
from benchmarks.setting import MISSED

FILES = ("github_api.json", "kubernetes.json", "elasticsearch_serverless.json")
TIMES_JSON = 4
SECONDS_PER_OPERATION = 0.001
CACHED_SHARE = 0.5
_ROUNDS = 7
_HEAD = ("document", "operations", "json.loads", "allowed", "built", "ratio", "allowed", "cached", "ratio")


@dataclass(slots=True)
class Timed:
    """One document, with the seconds of each round."""

    path: Path
    operations: int
    parsed: list[float] = field(default_factory=list)
    built: list[float] = field(default_factory=list)
    cached: list[float] = field(default_factory=list)

    @property
    def allowed(self) -> float:
        """Seconds that building the tools may take."""
        return TIMES_JSON * min(self.parsed) + SECONDS_PER_OPERATION * self.operations

    @property
    def ratios(self) -> tuple[float, float]:
        """Time of building and of loading from the cache, relative to their limits."""
        return min(self.built) / self.allowed, min(self.cached) / (self.allowed * CACHED_SHARE)

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        built, cached = self.ratios
        return (
            self.path.stem,
            f"{self.operations:,}",
            *(f"{seconds:.3f} s" for seconds in (min(self.parsed), self.allowed, min(self.built))),
            f"{built:.0%}",
            *(f"{seconds:.3f} s" for seconds in (self.allowed * CACHED_SHARE, min(self.cached))),
            f"{cached:.0%}",
        )


def table(rows: list[Timed]) -> Iterator[str]:
    """Format the rows as a table."""
    lines = [_HEAD, *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        yield "  ".join([first.ljust(widths[0]), *(cell.rjust(n) for cell, n in zip(rest, widths[1:], strict=True))])


async def seconds_to_tools(path: Path, cache: Path | None = None) -> float:
    """Return the seconds from a file to the list of its tools."""
    began = time.perf_counter()
    source = await OpenApiSource.open(OpenApiSettings(name="api", document=str(path), cache_folder=cache))
    await source.list_tools()
    taken = time.perf_counter() - began
    await source.aclose()
    return taken


async def measure(one: Timed, cache: Path) -> None:
    """Measure one round of one document."""
    data = one.path.read_bytes()
    began = time.perf_counter()
    value = json.loads(data)
    one.parsed.append(time.perf_counter() - began)
    del value
    one.built.append(await seconds_to_tools(one.path))
    one.cached.append(await seconds_to_tools(one.path, cache))


async def measure_all(folder: Path, rounds: int) -> list[Timed]:
    """Measure every document, after caching its tools once."""
    paths = [folder / file for file in FILES]
    rows = [
        Timed(path, operations(OpenApiDocument(path.as_uri(), parse_document(path.read_bytes())))) for path in paths
    ]
    with tempfile.TemporaryDirectory() as cache:
        for path in paths:
            await seconds_to_tools(path, Path(cache))
        for _ in range(rounds):
            for row in rows:
                await measure(row, Path(cache))
    return rows


def main() -> int:
    """Measure, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=SPECS)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    given = parser.parse_args()
    missing = [file for file in FILES if not (given.folder / file).exists()]
    if missing:
        print(f"skipped: '{given.folder}' has no {', '.join(missing)}; pass the folder that has them")
        return 0
    rows = asyncio.run(measure_all(given.folder.resolve(), given.rounds))
    print("\n".join(table(rows)))
    return MISSED if any(ratio > 1 for row in rows for ratio in row.ratios) else 0


if __name__ == "__main__":
    sys.exit(main())
