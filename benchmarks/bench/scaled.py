"""The same questions over few and very many monitoring events, fetched once in one session.

Each size runs in its own process (`at_scale`), so that its peak memory can be measured.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from typing import Any

from benchmarks.bench.claims import Section, all_right, at_most
from benchmarks.bench.plain_way import Measured, fewer
from benchmarks.bench.sections import MOST_TOKENS, Tell
from runax_cli.core.errors import SourceUnavailable

FEW = 1000
_PROCESS = "benchmarks.bench.at_scale"


async def scaled(sizes: Sequence[int], model: str | None, plain: Measured | None, tell: Tell) -> Section:
    """Ask all questions about events at each size."""
    runs = []
    for size in sizes:
        runs.append(run := await _in_a_process(size, model))
        tell(f"{size:,} events: fetched and first answered in {run['first_seconds']:.1f} s, {run['peak_mb']:.0f} MB")
    rows = [row | {"events": run["events"]} for run in runs for row in run["questions"]]
    sizes_told = [_size_row(run, plain) for run in runs]
    few, many = runs[0], runs[-1]
    tokens = {question["id"]: question["tokens"] for question in few["questions"]}
    spread = [
        abs(question["tokens"] - tokens[question["id"]]) for question in many["questions"] if question["id"] in tokens
    ]
    claims = (
        all_right("exact at every size", [row["right"] for row in rows]),
        at_most("a question over events, at every size", [row["tokens"] for row in rows], MOST_TOKENS),
    )
    columns = (
        "events",
        "right",
        "requests",
        "first_seconds",
        "other_seconds",
        "peak_mb",
        "tokens",
        "plain_tokens",
        "fewer_percent",
    )
    notes = ("the first question fetches all events, the others use the same dataset in the same session",)
    differ = (
        f"a question's tokens differ by at most {max(spread, default=0):,} between the smallest and the largest size"
    )
    return Section(
        name="scale", columns=columns, rows=[*sizes_told], claims=claims, notes=(*notes, differ, *_wrong(rows))
    )


def _wrong(rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(f"{row['events']:,} events, {row['id']}: {row['why']}" for row in rows if not row["right"])


def _size_row(run: dict[str, Any], plain: Measured | None) -> dict[str, Any]:
    questions = run["questions"]
    tokens = [question["tokens"] for question in questions]
    row = {
        "events": run["events"],
        "right": f"{sum(question['right'] for question in questions)} of {len(questions)}",
        "requests": sum(question["requests"] for question in questions),
        "first_seconds": round(run["first_seconds"], 1),
        "other_seconds": round(run["other_seconds"], 2),
        "peak_mb": round(run["peak_mb"]),
        "tokens": f"{min(tokens):,} to {max(tokens):,}",
        "questions": questions,
    }
    if plain is None:
        return row
    _, plain_tokens, _ = plain.cost(run["events"])
    return row | {"plain_tokens": plain_tokens, "fewer_percent": fewer(max(tokens), plain_tokens)}


async def _in_a_process(size: int, model: str | None) -> dict[str, Any]:
    arguments = ["-m", _PROCESS, "--events", str(size), *(["--model", model] if model else [])]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=PIPE)
    out, _ = await process.communicate()
    if process.returncode:
        raise SourceUnavailable(f"the run over {size:,} events exited with {process.returncode}; see its output above.")
    measured: dict[str, Any] = json.loads(out)
    return measured
