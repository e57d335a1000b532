"""kill -9 at random moments, then `runax runs resume`: the answer is the same, and no stored work is repeated.

The real command runs in its own process, over the mock API and the mock model endpoint on loopback. A moment is the
arrival of the n-th request of a run, or its response, drawn at random. The journal is the judge: entries that were done
when the process died must be unchanged afterwards, since a unit that is fetched, reduced, labeled or asked again is
also written again. Prints one line per moment and a summary; exits with 10 if a moment failed.

    python -m benchmarks.kills [MOMENTS] [SEED]
"""

import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from mock_api.app import create_app
from mock_api.llm_server import create_llm_app
from mock_api.serving import serve
from runax_cli.commands.mock import answer

MISSED = 10
QUESTIONS = (
    'What is the case code of the marten in the tickets of the customer named "Baláž"?',
    "How many payments does customer 4 have, and what is their sum?",
)
_PATIENCE_S = 120.0
_ROOT = Path(__file__).resolve().parents[1]
_TOKEN = "kill-token"
_UNCOUNTED = frozenset({"/openapi.json", "/v1/models"})


@dataclass(slots=True)
class Wire:
    """Requests of one process as seen by both servers. The process is killed at the drawn moment.

    `seen` names the requests: those to a model by their role, those to the API by path and query. `how` is the signal
    to send; `away_from` is the request from which on the API does not respond, as if its network were down.
    """

    at: int | None = None
    after_answer: bool = False
    how: signal.Signals = signal.SIGKILL
    away_from: int | None = None
    process: asyncio.subprocess.Process | None = None
    arrived: int = 0
    open: int = 0
    seen: list[str] = field(default_factory=list)

    def began(self, what: str) -> int:
        """Record the arrival of a request; return its number, from 1."""
        self.arrived += 1
        self.open += 1
        self.seen.append(what)
        if not self.after_answer:
            self._strike(self.arrived)
        return self.arrived

    def ended(self, number: int) -> None:
        """Record that a request is answered."""
        self.open -= 1
        if self.after_answer:
            self._strike(number)

    def _strike(self, number: int) -> None:
        if number == self.at and self.process is not None and self.process.returncode is None:
            self.process.send_signal(self.how)


@dataclass(slots=True)
class Watched:
    """An app that reports its requests to a wire."""

    app: ASGIApp
    wire: Wire = field(default_factory=Wire)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, and report the request and the response."""
        if scope["type"] != "http" or scope["path"] in _UNCOUNTED:
            await self.app(scope, receive, send)
            return
        wire = self.wire
        role = dict(scope["headers"]).get(b"x-runax-role", b"").decode()
        number = wire.began(role or f"{scope['path']}?{scope['query_string'].decode()}")
        is_away = not role and wire.away_from is not None and number >= wire.away_from
        try:
            await (_away if is_away else self.app)(scope, receive, send)
        finally:
            wire.ended(number)


async def _away(_scope: Scope, _receive: Receive, send: Send) -> None:
    """The response of a gateway whose service is unreachable."""
    await send({"type": "http.response.start", "status": 503, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Both servers, and a folder for everything that processes write."""

    api: Watched
    llm: Watched
    variables: dict[str, str]
    folder: Path

    def watch(self, wire: Wire) -> None:
        """Let both servers report to this wire from now on."""
        self.api.wire = self.llm.wire = wire

    async def runax(
        self, state: str, *arguments: str, wire: Wire, most_blocks: int | None = None
    ) -> tuple[int, str, str]:
        """Run the command in its own process: exit code, stdout, stderr. Its files are limited to `most_blocks`."""
        self.watch(wire)
        limited = () if most_blocks is None else ("sh", "-c", f'ulimit -f {most_blocks}; exec "$@"', "sh")
        process = await asyncio.create_subprocess_exec(
            *limited,
            sys.executable,
            "-m",
            "runax_cli",
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.folder,
            env=self.variables | {"XDG_STATE_HOME": str(self.folder / state), "LOG_DIR": str(self.folder / state)},
        )
        wire.process = process
        async with asyncio.timeout(_PATIENCE_S):
            out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode()


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """Servers on free ports of loopback."""
    api, llm = Watched(create_app(token=_TOKEN)), Watched(create_llm_app(answer, model="mock", token=None))
    with TemporaryDirectory() as folder:
        async with serve(api, port=0) as api_url, serve(llm, port=0) as llm_url:
            variables = {
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(_ROOT),
                "HOME": folder,
                "BASE_API_URL": api_url,
                "BASE_API_TOKEN": _TOKEN,
                "LLM_API_BASE_URL": f"{llm_url}/v1",
                "LLM_API_KEY": "none",
                "LLM_NAME": "mock",
                "LLM_API": "chat",
            }
            yield World(api=api, llm=llm, variables=variables, folder=Path(folder))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one moment; `faults` is empty if all is well, `told` has the resume lines of the log."""

    moment: str
    stored: int
    sent_again: int
    in_flight: int
    faults: tuple[str, ...]
    told: tuple[str, ...] = ()

    def line(self) -> str:
        """The line to print."""
        state = "; ".join(self.faults) or "ok"
        counts = f"{self.stored} units stored, {self.in_flight} in flight, {self.sent_again} sent after"
        return f"{self.moment}: {counts}: {state}"


def units(state: Path) -> dict[str, str]:
    """Units with a result, by key, and when they were stored."""
    journal = state / "runax" / "journal.sqlite"
    if not journal.exists():
        return {}
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
        return dict(connection.execute("SELECT key, done_at FROM units WHERE payload IS NOT NULL").fetchall())


def run_of(state: Path) -> str | None:
    """The run that was started, if it got that far."""
    journal = state / "runax" / "journal.sqlite"
    if not journal.exists():
        return None
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
        row = connection.execute("SELECT run_id FROM runs").fetchone()
    return None if row is None else str(row[0])


async def undisturbed(within: World, question: str, name: str) -> tuple[dict[str, Any], int]:
    """The answer of a run that is not killed, and how many requests it sends."""
    wire = Wire()
    code, out, err = await within.runax(name, "query", question, "-o", "json", wire=wire)
    if code != 0:
        raise RuntimeError(f"the uninterrupted run ended with exit code {code}: {err[-2000:]}")
    return json.loads(out), wire.arrived


def _evidence(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The evidence of a result without the files of stored results, which each run has for itself."""
    return [
        entry | {"queries": [query | {"stored": None} for query in entry["queries"]]} for entry in result["evidence"]
    ]


async def killed(within: World, question: str, whole: dict[str, Any], *, at: int, after: bool, name: str) -> Verdict:
    """Kill at one moment, resume, and judge."""
    wire = Wire(at=at, after_answer=after)
    await within.runax(name, "query", question, "-o", "json", wire=wire)
    state, moment = within.folder / name, f"request {at} {'answered' if after else 'arrived'}"
    before, in_flight, run = units(state), wire.open, run_of(state)
    if run is None:
        return Verdict(moment, 0, 0, in_flight, ("the run had not started",) if before else ())
    second = Wire()
    code, out, err = await within.runax(name, "runs", "resume", run, "-o", "json", wire=second)
    faults = []
    if code != whole["exit_code"]:
        faults.append(f"exit code {code}: {err[-300:]}")
    else:
        resumed = json.loads(out)
        faults += [f"another {key}" for key in ("answer", "status") if resumed[key] != whole[key]]
        faults += ["another evidence"] if _evidence(resumed) != _evidence(whole) else []
        faults += [] if resumed["run_id"] == run else ["another run"]
    after_units = units(state)
    again = [key for key, done_at in before.items() if after_units.get(key) != done_at]
    faults += [f"{len(again)} stored units were repeated"] if again else []
    told = tuple(line for line in err.splitlines() if "[RESUME]" in line)
    return Verdict(moment, len(before), second.arrived, in_flight, tuple(faults), told)


async def judged(moments: int, seed: int) -> Sequence[Verdict]:
    """Every moment, one after the other."""
    draw = random.Random(seed)
    verdicts = []
    async with world() as within:
        for number, question in enumerate(QUESTIONS):
            whole, n_requests = await undisturbed(within, question, f"whole{number}")
            print(f"{question} {n_requests} requests without interruption")
            for moment in range(moments // len(QUESTIONS)):
                at, after = draw.randint(1, n_requests), draw.random() < 0.5
                name = f"killed{number}_{moment}"
                verdict = await killed(within, question, whole, at=at, after=after, name=name)
                print(verdict.line(), flush=True)
                verdicts.append(verdict)
    return verdicts


def main() -> int:
    """Run, print, judge."""
    given = [int(value) for value in sys.argv[1:3]]
    verdicts = asyncio.run(judged(*(given + [50, 20260][len(given) :])))
    failed = [verdict for verdict in verdicts if verdict.faults]
    print(f"{len(verdicts) - len(failed)} of {len(verdicts)} moments: the same answer, and no stored work repeated")
    return MISSED if failed else 0


if __name__ == "__main__":
    sys.exit(main())
