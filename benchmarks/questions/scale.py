"""Measures the time and memory to make a table of many monitoring events ready for queries.

The stages are sealing, engine and card. `python -m benchmarks.questions.scale --events 1000000` runs each stage in its
own process and prints JSON: seconds (without imports) and peak resident memory.
"""

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mockdata.events import MAX_COUNT
from mockdata.tables import tables
from runax_cli.executor.sql.engine import SqlEngine
from runax_cli.executor.sql.parquet import seal
from runax_cli.executor.sql.table_card import profile_table, render_card, sample_rows
from runax_cli.executor.store.dataset import Dataset
from runax_cli.models.tokens import O200kCounter

_PAGE = 1000
_NAME = "events_1"


def spooled(folder: Path, count: int) -> Dataset:
    """A dataset of that many events, with its pages on disk."""
    table, dataset = tables(event_count=count)["events"], Dataset(_NAME, folder)
    for index, start in enumerate(range(1, count + 1, _PAGE)):
        records = [table.record(n) for n in range(start, min(start + _PAGE, count + 1))]
        dataset.add_page(index, records, position=str(index))
    return dataset


def sealing(folder: Path, count: int) -> dict[str, Any]:
    dataset = spooled(folder, count)
    began = time.perf_counter()
    sealed = seal(dataset)
    return {"seconds": time.perf_counter() - began, "megabytes": sealed.n_bytes / 1e6}


def asking(folder: Path, count: int) -> dict[str, Any]:
    began = time.perf_counter()
    engine = SqlEngine(folder)
    table = engine.add_table(_NAME, folder / "records.parquet")
    added = time.perf_counter()
    measured = profile_table(engine, table)
    profiled = time.perf_counter()
    names = tuple(column.name for column in table.columns)
    samples = [dict(zip(names, row, strict=True)) for row in sample_rows(engine, table, names, 2)]
    told = render_card(measured, samples, O200kCounter(), coverage=f"complete: {count} of {count} records")
    ended = time.perf_counter()
    stages = {"add": added - began, "profile": profiled - added, "card": ended - profiled}
    return {"seconds": ended - began, **stages, "card_tokens": O200kCounter().count(told.text)}


def _measured(stage: Callable[[Path, int], dict[str, Any]], folder: Path, count: int) -> dict[str, Any]:
    """The stage's figures in a fresh process, with that process's peak memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        figures: dict[str, Any] = pool.apply(_with_peak, (stage, folder, count))
    return figures


def _with_peak(stage: Callable[[Path, int], dict[str, Any]], folder: Path, count: int) -> dict[str, Any]:
    figures = stage(folder, count)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {name: round(value, 2) for name, value in {**figures, "peak_mb": peak_mb}.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions.scale", description="Many events, one table.")
    parser.add_argument("--events", type=int, default=MAX_COUNT, help="number of monitoring events")
    count = parser.parse_args(arguments).events
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(json.dumps({stage.__name__: _measured(stage, folder, count) for stage in (sealing, asking)}, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
