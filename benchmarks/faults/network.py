"""Failing networks and faulty APIs: every run equals its baseline, or reports what is missing.

`python -m benchmarks.faults.network --plans 300 --seed 0` prints a table and exits with 10 if a run was wrong. A run is
silently wrong if it claims to be complete and its answer differs. Waits between attempts take no time: they advance the
clock that sources and models use.
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.clock import SystemClock
from benchmarks.faults.faulty_network import serve_with_faults
from benchmarks.faults.network_plans import API, MODEL, DataFault, NetworkFault, NetworkPlan, plan_of
from benchmarks.setting import MISSED
from mock_api.app import create_app, default_resources
from mock_api.faults import FaultPlan
from mock_api.llm_server import create_llm_app
from mock_api.resources import Resource
from runax_cli.commands.demo import TOKEN, demo_configuration
from runax_cli.commands.mock import answer
from runax_cli.core.errors import RunaxError
from runax_cli.core.events import CollectingSink
from runax_cli.core.results import RunResult, RunStatus
from runax_cli.guard.approval import AlwaysDeny
from runax_cli.runtime.runtime import open_runtime

QUESTIONS = (
    "How many payments does customer 4 have, and what is their sum?",
    "How many events are there of each kind?",
    "How many customers are there in each city?",
    "How many tickets of each category does customer 4 have?",
    'What is the case code of the marten in the tickets of the customer named "Baláž"?',
)
"""Slower questions come later."""
API_TIMEOUT_S, MODEL_TIMEOUT_S = 3.0, 10.0


class SkippingClock(SystemClock):
    """A clock that runs normally and skips ahead when something sleeps on it."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def monotonic(self) -> float:
        """See `SystemClock.monotonic`."""
        return super().monotonic() + self.ahead_s

    def wall(self) -> float:
        """See `SystemClock.wall`."""
        return super().wall() + self.ahead_s

    async def sleep(self, seconds: float) -> None:
        """Skip ahead."""
        self.ahead_s += seconds
        await asyncio.sleep(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkRun:
    """One run under a plan, with its baseline without faults. `error` is the exception that ended it."""

    plan: NetworkPlan
    baseline: RunResult
    result: RunResult | None
    error: Exception | None
    injected_faults: tuple[NetworkFault, ...]
    retries: int
    seconds: float

    @property
    def is_complete(self) -> bool:
        """Whether it claims that nothing is missing."""
        return self.result is not None and self.result.status is RunStatus.COMPLETE

    @property
    def is_silent(self) -> bool:
        """Whether it claims to be complete and differs from the baseline."""
        result = self.result
        if result is None or not self.is_complete:
            return False
        read = result.coverage.records_read
        return result.answer != self.baseline.answer or read != self.baseline.coverage.records_read

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with it; empty if nothing is."""
        if self.result is None:
            is_told = isinstance(self.error, RunaxError)
            return () if is_told else (f"raised {type(self.error).__name__}: {self.error}",)
        return tuple(text for is_wrong, text in self._checks(self.result) if is_wrong)

    def _checks(self, result: RunResult) -> Sequence[tuple[bool, str]]:
        coverage = result.coverage
        says = bool(coverage.reasons) or result.error is not None
        text = result.model_dump_json()
        return (
            (self.is_silent, f"silently says '{result.answer}' and not '{self.baseline.answer}'"),
            (not self.is_complete and not says, f"ended {result.status} with {result.exit_code} and gives no reason"),
            (not self.is_complete and result.exit_code == 0, f"is {result.status} with the code 0"),
            (
                coverage.records_read > self.baseline.coverage.records_read,
                f"read {coverage.records_read} of {self.baseline.coverage.records_read} records",
            ),
            ("Traceback" in text or "internal_error" in text, "failed inside"),
        )


@cache
def _resources() -> tuple[Resource, ...]:
    return default_resources(event_count=50)


async def run_plan(plan: NetworkPlan) -> NetworkRun:
    """Ask the plan's question as planned; also ask each question once without faults, since nothing else affects it."""
    async with _LOCKS.setdefault((asyncio.get_running_loop(), plan.question), asyncio.Lock()):
        if plan.question not in _BASELINES:
            _BASELINES[plan.question] = await _baseline(plan)
    return await _ask(plan, _BASELINES[plan.question])


_BASELINES: dict[int, RunResult] = {}
_LOCKS: dict[tuple[asyncio.AbstractEventLoop, int], asyncio.Lock] = {}


async def _baseline(plan: NetworkPlan) -> RunResult:
    ran = await _ask(plan, None)
    if ran.result is None or not ran.is_complete:
        raise RuntimeError(f"the baseline run of '{QUESTIONS[plan.question]}' failed: {ran.error or ran.result}")
    return ran.result


async def _ask(plan: NetworkPlan, baseline: RunResult | None) -> NetworkRun:
    """Ask the question over both servers. Without `baseline` nothing fails."""
    trouble = None if baseline is None else plan
    api = create_app(
        _resources(),
        token=TOKEN,
        styles={resource.name: plan.style for resource in _resources()},
        faults=FaultPlan() if trouble is None else trouble.faults,
        has_metadata=plan.has_metadata,
        has_total=plan.has_total,
        max_limit=plan.max_limit,
    )
    llm, sink, began = create_llm_app(answer, model="mock"), CollectingSink(), time.monotonic()
    async with (
        serve_with_faults(api, trouble, server=API) as (api_url, api_wire),
        serve_with_faults(llm, trouble, server=MODEL) as (llm_url, llm_wire),
    ):
        try:
            result, error = await _run(plan, api_url, llm_url, sink), None
        except Exception as raised:
            result, error = None, raised
    return NetworkRun(
        plan=plan,
        baseline=baseline or result or _nothing(),
        result=result,
        error=error,
        injected_faults=(*api_wire.injected_faults, *llm_wire.injected_faults),
        retries=sum(event.body.type == "retry.scheduled" for event in sink.events),
        seconds=time.monotonic() - began,
    )


def _nothing() -> RunResult:
    return RunResult(run_id="", session_id="", status=RunStatus.FAILED, exit_code=1, question="", answer="")


async def _run(plan: NetworkPlan, api_url: str, llm_url: str, sink: CollectingSink) -> RunResult:
    with TemporaryDirectory(prefix="runax-network-") as folder:
        configuration = demo_configuration(
            api_url,
            llm_name="mock",
            llm_api_base_url=f"{llm_url}/v1",
            llm_api_key="none",
            llm_api=plan.api,
            api_timeout=API_TIMEOUT_S,
            llm_timeout=MODEL_TIMEOUT_S,
            log_dir=Path(folder) / "logs",
        )
        async with open_runtime(configuration, state=Path(folder) / "state", clock=SkippingClock()) as runtime:
            session = runtime.session(sink=sink, approver=AlwaysDeny(), trace_of=lambda _run_id: None)
            return await session.ask(QUESTIONS[plan.question])


async def run_plans(
    seeds: Sequence[int],
    *,
    questions: int = len(QUESTIONS),
    at_once: int = 4,
    ran: Callable[[NetworkRun], None] = lambda _one: None,
) -> tuple[NetworkRun, ...]:
    """All plans of the seeds over the first `questions` questions, in order; `ran` is called with each finished run."""
    slots = asyncio.Semaphore(at_once)

    async def one(seed: int) -> NetworkRun:
        async with slots:
            disturbed = await run_plan(plan_of(seed, questions=questions))
        ran(disturbed)
        return disturbed

    async with asyncio.TaskGroup() as group:
        runs = [group.create_task(one(seed)) for seed in seeds]
    return tuple(run.result() for run in runs)


def table_of(runs: Sequence[NetworkRun]) -> str:
    """One row per kind of fault: plans with it, how they ended, how many are wrong."""
    rows = [
        "| trouble | plans | same answer | says what is missing | no answer, says why | silent | wrong |",
        "|---|---|---|---|---|---|---|",
    ]
    by_kind = {kind: [run for run in runs if kind in run.plan.kinds] for kind in (*NetworkFault, *DataFault)}
    rows += [_row(kind.value, of_kind) for kind, of_kind in by_kind.items() if of_kind]
    return "\n".join([*rows, _row("all", runs)])


def _row(name: str, runs: Sequence[NetworkRun]) -> str:
    ends = Counter(_end_of(run) for run in runs)
    silent, wrong = sum(run.is_silent for run in runs), sum(bool(run.faults) for run in runs)
    counts = (len(runs), ends["whole"], ends["partial"], ends["none"], silent, wrong)
    return f"| {name} | {' | '.join(map(str, counts))} |"


def _end_of(run: NetworkRun) -> str:
    if run.is_complete:
        return "silent" if run.is_silent else "whole"
    return "none" if run.result is None or run.result.status is RunStatus.FAILED else "partial"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite, print its table and all wrong runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--plans", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    runs = asyncio.run(run_plans(range(given.seed, given.seed + given.plans), ran=_print_faults))
    print(table_of(runs))
    retries, mishaps = sum(run.retries for run in runs), sum(len(run.injected_faults) for run in runs)
    wrong, silent = sum(bool(run.faults) for run in runs), sum(run.is_silent for run in runs)
    print(f"{len(runs)} plans, {mishaps} injected faults, {retries} retries, {wrong} wrong, {silent} silent errors")
    return MISSED if wrong else 0


def _print_faults(run: NetworkRun) -> None:
    if run.faults:
        kinds = ", ".join(kind.value for kind in run.plan.kinds)
        print(f"seed {run.plan.seed} ({run.plan.style.value}: {kinds}): {'; '.join(run.faults)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
