"""Misbehaving models over HTTP: every run ends within its budgets, with a correct status and without a traceback.

`python -m benchmarks.faults.models --scripts 500 --seed 0` prints a table and exits with 10 if a run was wrong.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adapters.base import CallResult, Effect, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.catalog import ToolCatalog
from adapters.memory_source import MemorySource
from benchmarks.faults.misbehaving_model import MisbehavingModelServer, serve_script
from benchmarks.faults.model_scripts import ALLOWED_EXIT_CODES, TOOL, WRITE, Misbehaviour, ModelScript, script_of
from benchmarks.setting import MISSED
from runax_cli.agent.session import Session, TurnLimits
from runax_cli.core.budget import Amount, Budget, Limits
from runax_cli.core.events import CollectingSink
from runax_cli.core.results import RunResult, RunStatus
from runax_cli.executor.executor import Executor
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import Role, ScriptedModel
from runax_cli.models.metering import max_reply_chars
from runax_cli.models.registry import ModelRegistry, RoleConfig
from runax_cli.models.retry import RetryPolicy
from runax_cli.runtime.runtime import REDUCER_PROMPTS

GRACE_S = 5.0
"""How much later than its time limit a turn may end on a busy machine."""
MODEL_TIMEOUT_S = 0.4
_PROPERTIES: dict[str, Any] = {
    "customer_id": {"type": "integer", "minimum": 0, "format": "int32"},
    "q": {"type": "string", "maxLength": 200},
    "since": {"type": "string", "format": "date"},
}
_CODES: Mapping[RunStatus, frozenset[int]] = {
    RunStatus.COMPLETE: frozenset({0}),
    RunStatus.INCOMPLETE: frozenset({7, 8}),
    RunStatus.LIMIT: frozenset({6, 124}),
    RunStatus.FAILED: frozenset({3, 4, 5}),
    RunStatus.INTERRUPTED: frozenset({130}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRun:
    """One run under a script, and everything that is checked about it."""

    script: ModelScript
    result: RunResult | None
    error: BaseException | None
    seconds: float
    sent: MisbehavingModelServer
    source_requests: int
    writes: int
    spent: Amount
    reserved: Amount
    finished: int
    warned: tuple[str, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong with it; empty if nothing is."""
        if self.result is None:
            return (f"raised {type(self.error).__name__}: {self.error}",)
        return tuple(text for is_wrong, text in self._checks(self.result) if is_wrong)

    @property
    def _allowed(self) -> frozenset[int]:
        """On a busy machine, any run may exceed its time limit."""
        is_late = self.seconds >= self.script.timeout_s
        return ALLOWED_EXIT_CODES[self.script.kind] | (frozenset({124}) if is_late else frozenset())

    def _checks(self, result: RunResult) -> Sequence[tuple[bool, str]]:
        script, longest = self.script, max_reply_chars(self.sent.max_output_tokens)
        return (
            (result.exit_code not in self._allowed, f"ended with {result.exit_code}: {result.error}"),
            (result.exit_code not in _CODES[result.status], f"status {result.status} with code {result.exit_code}"),
            (self.spent.steps > script.steps, f"{self.spent.steps} steps of {script.steps}"),
            (self.spent.calls > script.calls, f"{self.spent.calls} calls of {script.calls}"),
            (self.sent.tokens_in > script.tokens, f"{self.sent.tokens_in} tokens sent of {script.tokens}"),
            (self.seconds > script.timeout_s + GRACE_S, f"took {self.seconds:.1f} s of {script.timeout_s:g}"),
            (self.writes > 0, "wrote without approval"),
            (self.reserved != Amount(), f"left {self.reserved} reserved"),
            (self.finished != 1, f"finished {self.finished} times"),
            ("internal_error" in self.warned, "failed inside"),
            (len(result.answer) > longest, f"an answer of {len(result.answer)} characters"),
            (result.error is None and result.exit_code != 0, "gave no reason"),
            ("Traceback" in result.model_dump_json(), "showed a traceback"),
        )


def _tickets(arguments: Mapping[str, Any], page: PageAddress | None) -> CallResult:
    """Ten tickets of any customer; a text search always finds the same two."""
    start = int((page.arguments if page else {}).get("offset", 0))
    customer = arguments.get("customer_id", 0)
    records = [{"id": 1000 * customer + n, "text": f"Ticket {n} of {customer}: outage"} for n in range(10)]
    found = records[:2] if "q" in arguments else records
    payload = {"items": found[start : start + 25], "total": len(found)}
    return CallResult(payload=payload, location="GET /tickets", n_bytes=len(json.dumps(payload)), status=200)


def _source() -> MemorySource:
    paged = Pagination(
        convention=PaginationStyle.OFFSET, position="offset", size="limit", max_size=25, is_declared=True
    )
    read = ToolSpec(
        name=TOOL,
        description="Tickets of a customer.",
        parameters={"type": "object", "properties": _PROPERTIES},
        source="crm",
        locator="GET /tickets",
        noun="tickets",
        pagination=paged,
    )
    write = ToolSpec(
        name=WRITE,
        description="Close a ticket.",
        parameters={"type": "object", "properties": {"ticket_id": {"type": "integer"}}},
        source="crm",
        locator="POST /tickets/close",
        effect=Effect.WRITE,
        returns_many=False,
    )
    closed = CallResult(payload={"closed": True}, location="POST /tickets/close", status=200)
    return MemorySource("crm", {TOOL: (read, _tickets), WRITE: (write, lambda _arguments, _page: closed)})


async def run_script(script: ModelScript) -> ModelRun:
    """Ask one question of the model that follows the script."""
    with TemporaryDirectory(prefix="runax-faults-") as folder:
        async with serve_script(script) as (base_url, wild):
            return await _run(script, base_url, wild, Path(folder))


async def _run(script: ModelScript, base_url: str, wild: MisbehavingModelServer, folder: Path) -> ModelRun:
    role = RoleConfig(
        name="wild", base_url=base_url, api="chat", max_context=script.max_context, timeout_s=MODEL_TIMEOUT_S
    )
    policy = RetryPolicy(base_s=0.01, cap_s=0.05)
    registry = ModelRegistry({Role.AGENT: role}, concurrency=4, rules=lambda: ScriptedModel([]), policy=policy)
    source, sink = _source(), CollectingSink()
    budget = Budget(Limits(), owner="session")
    session = await _session(script, registry, source, sink=sink, budget=budget, folder=folder)
    result, error, began = None, None, time.monotonic()
    try:
        result = await session.ask("Which tickets are there?")
    except Exception as raised:
        error = raised
    seconds = time.monotonic() - began
    await registry.aclose()
    bodies: list[Any] = [event.body for event in sink.events]
    return ModelRun(
        script=script,
        result=result,
        error=error,
        seconds=seconds,
        sent=wild,
        source_requests=len(source.requests),
        writes=sum(name == WRITE for name, _, _ in source.requests),
        spent=budget.spent,
        reserved=budget.reserved,
        finished=sum(body.type == "run.finished" for body in bodies),
        warned=tuple(body.code for body in bodies if body.type == "warned"),
    )


async def _session(
    script: ModelScript,
    registry: ModelRegistry,
    source: MemorySource,
    *,
    sink: CollectingSink,
    budget: Budget,
    folder: Path,
) -> Session:
    catalog, journal = await ToolCatalog.load([source]), MemoryJournal()
    executor = Executor(
        catalog,
        DatasetStore(folder),
        journal,
        counter=registry.counter(Role.REDUCER),
        effective_tokens=registry.config(Role.REDUCER).effective_tokens,
        prompts=REDUCER_PROMPTS,
    )
    limits = TurnLimits(
        steps=script.steps, calls=script.calls, requests=500, tokens=script.tokens, timeout_s=script.timeout_s
    )
    return Session(
        registry=registry,
        executor=executor,
        catalog=catalog,
        journal=journal,
        sink=sink,
        limits=limits,
        budget=budget,
    )


async def run_scripts(seeds: Sequence[int], *, at_once: int = 4) -> tuple[ModelRun, ...]:
    """All scripts of the seeds, some at a time, in order."""
    slots = asyncio.Semaphore(at_once)

    async def one(seed: int) -> ModelRun:
        async with slots:
            return await run_script(script_of(seed))

    async with asyncio.TaskGroup() as group:
        runs = [group.create_task(one(seed)) for seed in seeds]
    return tuple(run.result() for run in runs)


def table_of(runs: Sequence[ModelRun]) -> str:
    """One row per kind: runs, exit codes, maximum steps and time, and how many are wrong."""
    rows = ["| misbehavior | runs | exit codes | most steps | most s | wrong |", "|---|---|---|---|---|---|"]
    for kind in Misbehaviour:
        of_kind = [ran for ran in runs if ran.script.kind is kind]
        if of_kind:
            codes = Counter(ran.result.exit_code if ran.result else -1 for ran in of_kind)
            code_counts = " ".join(f"{code}:{count}" for code, count in sorted(codes.items()))
            steps, seconds = max(ran.spent.steps for ran in of_kind), max(ran.seconds for ran in of_kind)
            wrong = sum(bool(ran.faults) for ran in of_kind)
            rows.append(f"| {kind.value} | {len(of_kind)} | {code_counts} | {steps} | {seconds:.1f} | {wrong} |")
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite, print its table and all wrong runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scripts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    runs = asyncio.run(run_scripts(range(given.seed, given.seed + given.scripts)))
    print(table_of(runs))
    wrong = [ran for ran in runs if ran.faults]
    for ran in wrong:
        print(f"seed {ran.script.seed} ({ran.script.kind.value}): {'; '.join(ran.faults)}")
    print(f"{len(runs)} scripts, {len(wrong)} wrong")
    return MISSED if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
