"""Measures how many tokens the short form of records saves, for mock records and given files.

`python -m benchmarks.compact [FILE…]`: JSON (a list, or an object with one), NDJSON and CSV; the first records of each.
"""

import csv
import json
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from adapters.json_text import compact_json
from mockdata.tables import tables
from runax_cli.executor.reduce.chunks import Chunk, ChunkUnit, TextWeight, format_chunk
from runax_cli.models.tokens import O200kCounter

RECORDS = 150


def main(paths: Sequence[str]) -> None:
    """Print one line for each set of records."""
    counter = O200kCounter()
    sets = {name: [table.record(n) for n in range(1, RECORDS + 1)] for name, table in tables().items()}
    sets |= {Path(path).name: records_of(Path(path)) for path in paths}
    for name, records in sets.items():
        chunk = chunk_of(records)
        before, after = counter.count(chunk.text()), counter.count(format_chunk(chunk))
        print(f"{name:28} {len(records):4} records {before:8,} -> {after:8,} tokens {1 - after / before:6.1%} saved")


def chunk_of(records: Sequence[dict[str, Any]]) -> Chunk:
    """The records as one chunk, regardless of its size."""
    units = (
        ChunkUnit(row=row, page=0, text=compact_json(record), weight=TextWeight(), record_chars=0)
        for row, record in enumerate(records, 1)
    )
    return Chunk(index=1, units=tuple(units))


def records_of(path: Path) -> list[dict[str, Any]]:
    """The first records of a file."""
    with path.open(encoding="utf-8") as file:
        match path.suffix:
            case ".csv":
                return list(islice(csv.DictReader(file), RECORDS))
            case ".ndjson" | ".jsonl":
                return [json.loads(line) for line in islice(file, RECORDS)]
            case _:
                value = json.load(file)
                listed = value if isinstance(value, list) else next(v for v in value.values() if isinstance(v, list))
                return listed[:RECORDS]


if __name__ == "__main__":
    main(sys.argv[1:])
