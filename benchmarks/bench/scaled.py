"""The same questions over few and very many monitoring events, fetched once in one session.

`python -m benchmarks.bench.scaled --events 1000000` runs in a process of its own, with the mock API in another, so
that peak memory is that of runax; it prints JSON. Knows events and processes.
"""

import argparse
import asyncio
import json
import re
import resource
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson

from benchmarks.bench.claims import Claim, Section, all_right, at_most
from benchmarks.bench.judged import fault_of, golds_of
from benchmarks.bench.knowing import Knowing
from benchmarks.bench.plain_way import Measured, fewer
from benchmarks.bench.script import scripts_of
from benchmarks.bench.sections import MOST_TOKENS, Tell
from benchmarks.bench.stage import Setting, Stage, stage_over
from benchmarks.bench.truth import Truth
from benchmarks.questions import EXACT, Fetch, Question, World
from benchmarks.questions.question import Record
from mock_api.paging import MAX_LIMIT
from runax_cli.commands.demo import TOKEN
from runax_cli.commands.options import AnswerOptions, Common
from runax_cli.errors import SourceUnavailable

FEW = 1000
_ADDRESS = re.compile(r"http://[\d.]+:\d+")
_START_S = 60


class _Packed:
    """Records kept as bytes: a million of them fit into memory, and can be gone through again and again."""

    def __init__(self, records: Sequence[Record] | Iterator[Record]) -> None:
        self._lines = [orjson.dumps(record) for record in records]

    def __iter__(self) -> Iterator[Record]:
        return map(orjson.loads, self._lines)


class _PackedWorld(World):
    """A world whose raw records are made once."""

    def _read(self, name: str) -> Any:
        return _Packed(iter(super()._read(name)))


async def scaled(sizes: Sequence[int], model: str | None, plain: Measured | None, tell: Tell) -> Section:
    """All questions about events at each size."""
    runs = []
    for size in sizes:
        runs.append(run := await _in_a_process(size, model))
        tell(f"{size:,} events: fetched and first answered in {run['first_seconds']:.1f} s, {run['peak_mb']:.0f} MB")
    rows = [row | {"events": run["events"]} for run in runs for row in run["questions"]]
    sizes_told = [_size_row(run, plain) for run in runs]
    few, many = runs[0], runs[-1]
    spread = [abs(a["tokens"] - b["tokens"]) for a, b in zip(few["questions"], many["questions"], strict=True)]
    claims = (
        all_right("exact at every size", [row["right"] for row in rows]),
        at_most("a question over events, at every size", [row["tokens"] for row in rows], MOST_TOKENS),
        Claim(
            f"tokens differ by {max(spread):,} at most between {few['events']:,} and {many['events']:,} events",
            None if few is many else True,
        ),
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
    notes = ("the first question fetches all events, the others are asked over the same dataset in the same session",)
    return Section(name="scale", columns=columns, rows=[*sizes_told], claims=claims, notes=(*notes, *_wrong(rows)))


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
    arguments = ["-m", __name__, "--events", str(size), *(["--model", model] if model else [])]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=PIPE)
    out, _ = await process.communicate()
    if process.returncode:
        raise SourceUnavailable(f"the run over {size:,} events ended with {process.returncode}; see its words above.")
    measured: dict[str, Any] = json.loads(out)
    return measured


@asynccontextmanager
async def _served(events: int) -> AsyncIterator[str]:
    """The mock API in a process of its own; its base URL."""
    arguments = ["-m", "runax_cli", "mock", "--port", "0", "--token", TOKEN, "--events", str(events)]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=DEVNULL, stderr=PIPE)
    try:
        assert process.stderr is not None
        line = await asyncio.wait_for(process.stderr.readline(), _START_S)
        found = _ADDRESS.search(line.decode())
        if found is None:
            raise SourceUnavailable(f"the mock API did not start: {line.decode().strip()}")
        yield found[0]
    finally:
        process.terminate()
        await process.wait()


async def measure(events: int, common: Common) -> dict[str, Any]:
    """Ask everything about so many events in one session; gold is computed after memory was measured."""
    world = _PackedWorld(event_count=events)
    questions = [question for question in EXACT if question.fetches == (Fetch("events"),)]
    knowing = Knowing(scripts=scripts_of(questions), truth=Truth(labels={}, allowed={}))
    async with _served(events) as api_url, stage_over(api_url, Setting(common, world, knowing)) as stage:
        answered = [await _asked(stage, question) for question in questions]
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for question, one in zip(questions, answered, strict=True):
        one["why"] = fault_of(golds_of(question, world), one.pop("result"))
        one["right"] = not one["why"]
    seconds = [one["seconds"] for one in answered]
    return {
        "events": events,
        "peak_mb": peak_mb,
        "first_seconds": seconds[0],
        "other_seconds": sum(seconds[1:]) / max(1, len(seconds) - 1),
        "pages": -(-events // MAX_LIMIT),
        "questions": answered,
    }


async def _asked(stage: Stage, question: Question) -> dict[str, Any]:
    began = time.perf_counter()
    result = await stage.conversation.ask(question.text)
    usage = result.usage
    tokens = usage.input_tokens + usage.output_tokens - stage.tool_list_tokens(result)
    seconds = time.perf_counter() - began
    return {"id": question.id, "tokens": tokens, "requests": usage.requests, "seconds": seconds, "result": result}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench.scaled", description="Questions over many events."
    )
    parser.add_argument("--events", type=int, default=FEW, help="number of monitoring events")
    parser.add_argument("--model", default=None, help="a real model instead of the knowing one")
    given = parser.parse_args(arguments)
    common = Common(answer=AnswerOptions(model=given.model))
    print(json.dumps(asyncio.run(measure(given.events, common))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
