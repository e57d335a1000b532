"""A session: a conversation of turns that share history, datasets and what was shown of them.

Composes one turn from its parts, and makes a result of however it ends: answered, limited, timed out, failed,
interrupted. Every question gets exactly one `run.started` and one `run.finished`. Knows no view and no settings.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

from adapters.catalog import ToolCatalog
from adapters.clock import Clock, SystemClock
from runax_cli.agent.evidence.shown import RecordLookup, ShownData, named_by
from runax_cli.agent.evidence.verify import evidence_of, without_certificates
from runax_cli.agent.forecast import ForecastTracker
from runax_cli.agent.loop.data_tools import DatasetRouter, DataTools, OfferedTools, tokens_of
from runax_cli.agent.loop.journaled_model import taken_up
from runax_cli.agent.loop.middleware import SingleFlight
from runax_cli.agent.loop.scheduler import SubQuestionScheduler, plan_made, tell_repairs
from runax_cli.agent.loop.subquestion import RunContext, SubQuestionInput, SubQuestionRun, tell_lost
from runax_cli.agent.loop.toolbox import DEFAULT_LIMITS, ToolLimits, ToolRegistry
from runax_cli.agent.planning.plan import SubQuestion, plan_of, single
from runax_cli.agent.result.requested_call import RequestedCall, coverage_of
from runax_cli.agent.result.verdict import (
    PartResult,
    Stopped,
    TurnEnd,
    combined_text,
    coverage_under,
    verdict_of,
    verdict_over,
)
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.errors import RunaxError, StoreError, TurnTimedOut, first_cause
from runax_cli.core.event_types import AnswerDelta, RunFinished, RunStarted
from runax_cli.core.events import Emitter, EventSink
from runax_cli.core.results import ForecastCheck, RunResult, RunStatus
from runax_cli.executor.outcome import CallExecutor, CallScope
from runax_cli.executor.recheck_totals import TotalChange, call_to_check, recheck_totals
from runax_cli.guard.approval import AlwaysDeny, Approver, WritePolicy
from runax_cli.memory.conversation import History, RecordEntity
from runax_cli.memory.journal import Journal, StoredRun
from runax_cli.models.base import OnText, Role
from runax_cli.models.metering import UsageMeter
from runax_cli.models.registry import ModelRegistry

TraceOf: TypeAlias = Callable[[str], str | None]
_T = TypeVar("_T")
_ID_CHARS = 12
MOST_NAMED = 500
"""So many things that records named are remembered for the questions that follow; the oldest are forgotten first."""
_REMEMBERED = (RunStatus.COMPLETE, RunStatus.INCOMPLETE, RunStatus.LIMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """The most that one turn may use; None is no limit."""

    steps: int | None = 12
    calls: int | None = 24
    parallel_calls: int = 4
    requests: int | None = None
    retries: int | None = 500
    tokens: int | None = 2_000_000
    usd: float | None = None
    timeout_s: float | None = None
    session_timeout_s: float | None = None

    def budget(self, session: Budget) -> Budget:
        """A fresh budget for one turn of a session."""
        limits = Limits(
            steps=self.steps,
            calls=self.calls,
            requests=self.requests,
            retries=self.retries,
            tokens=self.tokens,
            usd=self.usd,
        )
        return session.child(limits, owner="turn")

    def time_left(self, spent_s: float) -> tuple[float | None, str]:
        """Seconds that a turn may take after turns of `spent_s`, and the flag that says so."""
        if self.session_timeout_s is None:
            return self.timeout_s, "--timeout"
        left_s = max(0.0, self.session_timeout_s - spent_s)
        is_shorter = self.timeout_s is None or left_s < self.timeout_s
        return (left_s, "--session-timeout") if is_shorter else (self.timeout_s, "--timeout")


@dataclass(slots=True, kw_only=True)
class _ActiveRun:
    """One question under way; `division` is None until there is a plan."""

    question: str
    started_s: float
    parts: RunContext
    foretold: ForecastTracker
    on_text: OnText | None
    division: SubQuestionScheduler | None = None
    changes: Mapping[str, TotalChange] = field(default_factory=dict)

    @property
    def emitter(self) -> Emitter:
        return self.parts.emitter

    def made_by(self, part: SubQuestionRun) -> tuple[RequestedCall, ...]:
        """The calls of a part; of those whose data has changed since, that is told."""
        return tuple(_with_change(call, self.changes.get(call.call_id)) for call in part.calls.made)

    def begin(self, asked: SubQuestionInput, budget: Budget) -> SubQuestionRun:
        """One part. Only that which is the whole question streams as it comes."""
        return SubQuestionRun(asked, self.parts, budget=budget, on_text=self.on_text if asked.number is None else None)


@dataclass(slots=True, kw_only=True)
class Session:
    """One conversation. Questions are asked one after the other.

    `settings` are written to the journal and must be free of secrets; `notices` are told with every `run.started`;
    `trace_of` tells where the events of a run are stored; `workbench` is what keeps datasets, where something does.
    """

    registry: ModelRegistry
    executor: CallExecutor
    catalog: ToolCatalog
    journal: Journal
    sink: EventSink
    limits: TurnLimits = TurnLimits()
    budget: Budget = field(default_factory=lambda: Budget(Limits(), owner="session"))
    allow_writes: bool = False
    approver: Approver = field(default_factory=AlwaysDeny)
    trace_of: TraceOf = field(default=lambda _run_id: None)
    clock: Clock = field(default_factory=SystemClock)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    workbench: DatasetRouter | None = None
    tool_limits: ToolLimits = DEFAULT_LIMITS
    id: str = field(default_factory=lambda: _new_id(), init=False)
    history: History = field(default_factory=History, init=False)
    last_result: RunResult | None = field(default=None, init=False)
    _shown: ShownData = field(default_factory=ShownData, init=False)
    _fetched: dict[str, str] = field(default_factory=dict, init=False)
    _named: deque[RecordEntity] = field(default_factory=lambda: deque(maxlen=MOST_NAMED), init=False)
    _shelf: ToolRegistry = field(init=False)

    def __post_init__(self) -> None:
        self._shelf = ToolRegistry(self.catalog.tools)

    _spent_s: float = field(default=0.0, init=False)

    @property
    def datasets(self) -> Mapping[str, RecordLookup]:
        """Datasets that were read in this session, by name."""
        return {name: shown.dataset for name, shown in self._shown.datasets.items()}

    @property
    def today(self) -> str:
        """The date that models are told."""
        return self._now().date().isoformat()

    async def ask(self, question: str, *, on_text: OnText | None = None) -> RunResult:
        """Answer a question. `on_text` gets the answer as it streams, before it is verified.

        Failures of sources and models, limits and timeouts are in the result. Cancellation and faults of runax itself
        are put in a result, told as `run.finished`, and raised again.
        """
        return await self._run(self._begin(question, on_text))

    async def resume(self, stored: StoredRun, *, on_text: OnText | None = None) -> RunResult:
        """Go on with a run that did not end well, as the first turn of this session, on the day that it began.

        Whatever the journal has of it is taken over: replies of models, pages, reductions, labels. What it used counts
        in its limits. Ends as `ask` does; raises StoreError where the journal cannot be read.
        """
        self.id = stored.session_id
        for run in self.journal.earlier_runs(stored):
            if run.result is not None and run.result.status in _REMEMBERED:
                self.history.add(run.question, run.result.answer)
        return await self._run(self._begin(stored.question, on_text, resumed=stored))

    async def _run(self, run: _ActiveRun) -> RunResult:
        try:
            stopped = await self._until_timeout(run)
            results = await _to_the_end(lambda: self._results(run, stopped))
        except BaseException as error:
            cause = first_cause(error)
            self._finish(run, self._results(run, cause), cause)
            raise
        return self._finish(run, results, stopped)

    async def _until_timeout(self, run: _ActiveRun) -> BaseException | None:
        """What ended the run from outside of its parts, or None."""
        timeout_s, flag = self.limits.time_left(self._spent_s)
        if timeout_s == 0:
            return TurnTimedOut(f"the wall time of the session is used up. Raise it with {flag}.")
        try:
            async with asyncio.timeout(timeout_s) as deadline:
                await self._answered(run)
        except TimeoutError:
            if not deadline.expired():
                raise
            return TurnTimedOut(f"the wall time of {timeout_s:g} s is used up. Raise it with {flag}.")
        finally:
            self._spent_s += self.clock.monotonic() - run.started_s
        return None

    async def _answered(self, run: _ActiveRun) -> None:
        planner = await asyncio.to_thread(run.parts.planner, run.question)
        plan = plan_of(run.question) or await planner.plan(run.question)
        run.emitter.emit(plan_made(plan))
        tell_repairs(plan, run.emitter)
        run.division = SubQuestionScheduler(
            plan=plan, begin=run.begin, budget=run.parts.budget, planner=planner, emitter=run.emitter
        )
        await run.division.run()
        await self._ask_again(run)

    async def _ask_again(self, run: _ActiveRun) -> None:
        """Whether the totals still are what they were; a change is told with the coverage of its call."""
        made = tuple(call for part in (run.division.begun if run.division else ()) for call in part.calls.made)
        reads = [
            read
            for call in made
            if call.outcome is not None
            and (read := call_to_check(call.outcome, call_id=call.call_id, tool=self.catalog.find(call.report.tool)))
        ]
        parts = run.parts
        scope = CallScope(
            emitter=run.emitter,
            budget=parts.budget,
            reducer=parts.model(Role.REDUCER, budget=parts.budget, emitter=run.emitter),
        )
        run.changes = await recheck_totals(reads, self.catalog, scope=scope)

    def _begin(self, question: str, on_text: OnText | None, *, resumed: StoredRun | None = None) -> _ActiveRun:
        run_id = resumed.run_id if resumed else _new_id()
        foretold = ForecastTracker(self.sink)
        emitter = Emitter.for_run(foretold, run_id=run_id, session_id=self.id, now=self._now)
        emitter.emit(self._run_started(question))
        meter, budget = UsageMeter(), self.limits.budget(self.budget)
        try:
            if resumed is None:
                self.journal.begin_run(
                    run_id, self.id, question=question, settings=self.settings, started_at=self._now()
                )
            else:
                taken_up(resumed, self.journal, emitter=emitter, meter=meter, budget=budget)
        except StoreError as error:
            tell_lost(emitter, error)
        parts = RunContext(
            run_id=run_id,
            today=resumed.started_at.date().isoformat() if resumed else self.today,
            registry=self.registry,
            executor=SingleFlight(self.executor, self._shelf),
            tools=self.tools,
            tool_limits=self.tool_limits,
            named=tuple(self._named),
            datasets=self._fetched,
            journal=self.journal,
            history=self.history,
            policy=WritePolicy(
                allow_writes=self.allow_writes, approver=self.approver, preview=self.catalog.preview_request
            ),
            meter=meter,
            emitter=emitter,
            budget=budget,
            parallel_calls=self.limits.parallel_calls,
        )
        started_s = self.clock.monotonic()
        return _ActiveRun(question=question, started_s=started_s, parts=parts, foretold=foretold, on_text=on_text)

    @property
    def tools(self) -> OfferedTools:
        """Everything that can be called now."""
        data = None if self.workbench is None else DataTools(self.workbench, taken=self._shelf)
        return OfferedTools(self._shelf, data)

    def _results(self, run: _ActiveRun, error: BaseException | None) -> tuple[PartResult, ...]:
        """Every part of the question in order, with what its answer rests on; blocking."""
        division = run.division
        begun = division.begun if division is not None else ()
        for call in (call for part in begun for call in run.made_by(part)):
            if call.outcome is not None:
                self._shown.note(call.outcome)
                self._named.extend(named_by(call)[0])
        self._shelf.note_used(call.report.tool for part in begun for call in part.calls.made)
        plan = single(run.question) if division is None else division.plan
        parts = {} if division is None else division.parts
        return tuple(self._result_of(run, plan.part(n), parts.get(n), error) for n in plan.numbers)

    def _result_of(
        self, run: _ActiveRun, sub: SubQuestion, part: SubQuestionRun | None, error: BaseException | None
    ) -> PartResult:
        end = _end_of(part, error)
        answer = without_certificates(end.text)
        calls = () if part is None else run.made_by(part)
        given = "\n".join([*(one.question for one in self.history.exchanges), run.question, run.parts.today])
        coverage, evidence = coverage_of(calls), evidence_of(answer, self._shown, question=given)
        verdict = verdict_of(end, calls=calls, coverage=coverage, evidence=evidence)
        return PartResult(sub=sub, answer=answer, calls=calls, coverage=coverage, evidence=evidence, verdict=verdict)

    def _finish(self, run: _ActiveRun, parts: Sequence[PartResult], error: BaseException | None) -> RunResult:
        """Result, journal, event, history: without a pause, so that nothing can come between."""
        result = self._result(run, parts, error)
        if len(parts) > 1 and result.answer:
            run.emitter.emit(AnswerDelta(text=result.answer))
            if run.on_text is not None:
                run.on_text(result.answer)
        try:
            self.journal.finish_run(result)
        except StoreError as lost:
            tell_lost(run.emitter, lost)
        run.emitter.emit(RunFinished(result=result, forecast=self._checked(run, result)))
        self.last_result = result
        if result.status in _REMEMBERED:
            self.history.add(result.question, result.answer)
        return result

    def _checked(self, run: _ActiveRun, result: RunResult) -> ForecastCheck | None:
        """How far the forecast of the probes was off."""
        if not run.foretold.has_probed:
            return None
        data, registry = run.parts.tools.data, self.registry
        to_come = 0 if data is None else tokens_of(data.all, registry.counter(Role.AGENT))
        effective_tokens = registry.config(Role.AGENT).effective_tokens
        return run.foretold.check(result.usage, effective_tokens=effective_tokens, tools_to_come=to_come)

    def _result(self, run: _ActiveRun, parts: Sequence[PartResult], error: BaseException | None) -> RunResult:
        made = tuple(call for part in parts for call in part.calls)
        void = tuple(call for part in (run.division.replaced if run.division else ()) for call in run.made_by(part))
        coverage = coverage_of(made)
        verdict = verdict_over(parts, error, coverage=coverage)
        meter = run.parts.meter
        return RunResult(
            run_id=run.parts.run_id,
            session_id=self.id,
            status=verdict.status,
            exit_code=int(verdict.exit_code),
            question=run.question,
            answer=combined_text(parts, question=run.question),
            sub_questions=tuple(part.report() for part in parts),
            coverage=coverage_under(verdict, coverage),
            calls=tuple(call.report for call in (*made, *void)),
            evidence=tuple(entry for part in parts for entry in part.evidence),
            usage=meter.report(),
            cost_usd=meter.cost_usd,
            duration_s=self.clock.monotonic() - run.started_s,
            trace_path=self.trace_of(run.parts.run_id),
            error=verdict.error,
        )

    def _run_started(self, question: str) -> RunStarted:
        registry = self.registry
        agent = registry.config(Role.AGENT)
        return RunStarted(
            question=question,
            model=agent.name,
            reducer_model=registry.config(Role.REDUCER).name,
            effective_tokens=agent.effective_tokens,
            counter=registry.counter(Role.AGENT).name,
            notices=self.notices,
        )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.wall(), UTC)


async def _to_the_end(work: Callable[[], _T]) -> _T:
    """What a thread makes. A cancellation passes when the thread is over: it changes what comes after would read."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    cancelled: asyncio.CancelledError | None = None
    while not working.done():
        try:
            await asyncio.wait({working})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled from working.exception()
    return working.result()


def _end_of(part: SubQuestionRun | None, error: BaseException | None) -> TurnEnd:
    if part is not None and error is None and part.end is not None:
        return part.end
    why = error or RunaxError("the run ended before this part did")
    return Stopped(why) if part is None else part.stopped_by(why)


def _new_id() -> str:
    return uuid4().hex[:_ID_CHARS]


def _with_change(call: RequestedCall, change: TotalChange | None) -> RequestedCall:
    if change is None or call.outcome is None:
        return call
    outcome = change.applied_to(call.outcome)
    return replace(call, outcome=outcome, report=outcome.report)
