"""Records in the shortest form that is still faithful: the names of their columns once, then values alone.

A cell is a text as it is, JSON where it is anything else or would be misread, and empty for a null; columns that are
empty in all records are named and left out. Records that share too little stay JSON. Pure; knows chunks.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from runax_cli.executor.chunks import Chunk
from runax_cli.executor.compact import compact

HEAD = "[columns]"
FEWEST_RECORDS = 2
WORTH_IT = 0.95
"""Records stay as they are where the other form has more than this share of their characters."""
_MISREAD = re.compile(r'[,\x00-\x1f\x7f]|^["{\[]|^\s|\s$|^$')


def laid_out(chunk: Chunk) -> str:
    """The lines of a request: a header and rows of values where that is shorter, else a record's JSON on each line."""
    plain = chunk.text()
    records = _records(chunk)
    if records is None:
        return plain
    columns = list(dict.fromkeys(name for record in records for name in record))
    kept = [name for name in columns if any(not _is_empty(record.get(name)) for record in records)]
    rows = [f"[{at}] {row_of(record, kept)}" for at, record in enumerate(records, start=1)]
    short = "\n".join([_head(kept, [name for name in columns if name not in kept]), *rows])
    return short if kept and len(short) <= WORTH_IT * len(plain) else plain


def row_of(record: Mapping[str, Any], columns: Sequence[str]) -> str:
    """The values of a record, in the order of the columns; commas at the end say nothing and are left out."""
    return ",".join(_cell(record.get(name)) for name in columns).rstrip(",")


def _records(chunk: Chunk) -> list[dict[str, Any]] | None:
    if len(chunk.units) < FEWEST_RECORDS or any(unit.part for unit in chunk.units):
        return None
    records = [json.loads(unit.text) for unit in chunk.units]
    return records if all(isinstance(record, dict) for record in records) else None


def _head(kept: Sequence[str], empty: Sequence[str]) -> str:
    names = ",".join(map(_cell, kept))
    return f"{HEAD} {names}" + (f" (empty in all: {', '.join(map(_cell, empty))})" if empty else "")


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return compact(value) if _MISREAD.search(value) else value
        case _:
            return compact(value)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})
