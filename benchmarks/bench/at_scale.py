"""Asks every question about monitoring events in one session, and measures seconds and peak memory.

`python -m benchmarks.bench.at_scale --events 1000000` prints JSON. The mock API runs in another process, so that only
the memory of runax is measured; gold is computed after the measurement.
"""

import argparse
import asyncio
import json
import re
import resource
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from benchmarks.bench.judged import fault_of, golds_of
from benchmarks.bench.knowing import Knowing
from benchmarks.bench.script import scripts_of
from benchmarks.bench.stage import Setting, Stage, stage_over
from benchmarks.bench.truth import Truth
from benchmarks.questions import EXACT, Fetch, Question, World
from benchmarks.questions.question import Record
from mock_api.pagination import MAX_LIMIT
from runax_cli.commands.demo import TOKEN
from runax_cli.commands.options import AnswerOptions, CommonOptions
from runax_cli.core.errors import SourceUnavailable

_ADDRESS = re.compile(r"http://[\d.]+:\d+")
_START_S = 60


class _Packed:
    """Records kept as bytes: a million of them fit into memory, and they can be iterated repeatedly."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._lines = [orjson.dumps(record) for record in records]

    def __iter__(self) -> Iterator[Record]:
        return map(orjson.loads, self._lines)


class _PackedWorld(World):
    """A world whose raw records are generated once."""

    def _read(self, name: str) -> Any:
        return _Packed(super()._read(name))


@asynccontextmanager
async def _served(events: int) -> AsyncIterator[str]:
    """The mock API in its own process; its base URL."""
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


async def measure(events: int, common: CommonOptions) -> dict[str, Any]:
    """Ask everything about `count` events in one session; gold is computed after memory was measured."""
    world = _PackedWorld(event_count=events)
    questions = [question for question in EXACT if question.fetches == (Fetch("events"),)]
    knowing = Knowing(scripts=scripts_of(questions), truth=Truth(labels={}, allowed={}))
    async with _served(events) as api_url, stage_over(api_url, Setting(common, world, knowing)) as stage:
        answered = [await _asked(stage, question) for question in questions]
        peak_mb = _peak_mb()
    judged = [one for question, one in zip(questions, answered, strict=True) if _is_judged(question, one, world)]
    seconds = [one["seconds"] for one in answered]
    return {
        "events": events,
        "peak_mb": peak_mb,
        "first_seconds": seconds[0],
        "other_seconds": sum(seconds[1:]) / max(1, len(seconds) - 1),
        "pages": -(-events // MAX_LIMIT),
        "questions": judged,
    }


def _peak_mb() -> float:
    """The peak of resident memory; on Linux, `getrusage` would count that of the parent process."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024


def _is_judged(question: Question, one: dict[str, Any], world: World) -> bool:
    """Replace the result by a verdict; False if the question has no unique answer over few events."""
    result = one.pop("result")
    try:
        golds = golds_of(question, world)
    except ValueError:
        return False
    one["why"] = fault_of(golds, result)
    one["right"] = not one["why"]
    return True


async def _asked(stage: Stage, question: Question) -> dict[str, Any]:
    began = time.perf_counter()
    result = await stage.conversation.ask(question.text)
    usage = result.usage
    tokens = usage.input_tokens + usage.output_tokens - stage.tool_list_tokens(result)
    seconds = time.perf_counter() - began
    return {"id": question.id, "tokens": tokens, "requests": usage.requests, "seconds": seconds, "result": result}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench.at_scale", description="Questions over many events."
    )
    parser.add_argument("--events", type=int, default=1000, help="number of monitoring events")
    parser.add_argument("--model", default=None, help="a real model instead of the oracle model")
    given = parser.parse_args(arguments)
    common = CommonOptions(answer=AnswerOptions(model=given.model))
    print(json.dumps(asyncio.run(measure(given.events, common))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
