"""A session: a conversation of turns that share history, datasets and what was shown of them.

Composes one turn from its parts, and makes a result of however it ends: answered, limited, timed out, failed,
interrupted. Every question gets exactly one `run.started` and one `run.finished`. Knows no view and no settings.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias
from uuid import uuid4

from adapters.clock import Clock, SystemClock
from adapters.combine import Catalog
from runax_cli.agent import prompts
from runax_cli.agent.answer import Records, ShownData, evidence_of, without_certificates
from runax_cli.agent.calls import CallExecutor, CallParts, TurnCalls
from runax_cli.agent.context import Context
from runax_cli.agent.coverage import coverage_of
from runax_cli.agent.journalled import JournalledModel
from runax_cli.agent.plan import Plan, plan_of
from runax_cli.agent.streaming import AnswerStream
from runax_cli.agent.turn import Turn, TurnParts
from runax_cli.agent.verdict import Stopped, TurnEnd, verdict_of
from runax_cli.budget import Budget, Limits
from runax_cli.errors import RunaxError, StoreError, TurnTimedOut
from runax_cli.events import Emitter, EventSink, PlanMade, RunFinished, RunStarted, Warned
from runax_cli.guard.policy import AlwaysDeny, Approver, WritePolicy
from runax_cli.guard.virtual import VisibleTool, visible
from runax_cli.memory.history import History
from runax_cli.memory.journal import Journal
from runax_cli.models.base import Model, OnText, Role
from runax_cli.models.metered import UsageMeter
from runax_cli.models.registry import ModelRegistry
from runax_cli.results import Evidence, RunResult, RunStatus, SubQuestionReport

TraceOf: TypeAlias = Callable[[str], str | None]
_ID_CHARS = 12
_REMEMBERED = (RunStatus.COMPLETE, RunStatus.INCOMPLETE, RunStatus.LIMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """The most that one turn may use; None is no limit."""

    steps: int | None = 12
    calls: int | None = 24
    parallel_calls: int = 4
    tokens: int | None = 2_000_000
    usd: float | None = None
    timeout_s: float | None = None

    def budget(self) -> Budget:
        """A fresh budget for one turn."""
        return Budget(Limits(steps=self.steps, calls=self.calls, tokens=self.tokens, usd=self.usd), owner="turn")


@dataclass(slots=True, kw_only=True)
class _Run:
    """One question under way."""

    run_id: str
    plan: Plan
    started_s: float
    emitter: Emitter
    meter: UsageMeter
    stream: AnswerStream
    calls: TurnCalls
    turn: Turn


@dataclass(slots=True, kw_only=True)
class Session:
    """One conversation. Questions are asked one after the other.

    `settings` are written to the journal and must be free of secrets; `notices` are told with every `run.started`;
    `trace_of` tells where the events of a run are stored.
    """

    registry: ModelRegistry
    executor: CallExecutor
    catalog: Catalog
    journal: Journal
    sink: EventSink
    limits: TurnLimits = TurnLimits()
    allow_writes: bool = False
    approver: Approver = field(default_factory=AlwaysDeny)
    trace_of: TraceOf = field(default=lambda _run_id: None)
    clock: Clock = field(default_factory=SystemClock)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: _new_id(), init=False)
    history: History = field(default_factory=History, init=False)
    last_result: RunResult | None = field(default=None, init=False)
    _shown: ShownData = field(default_factory=ShownData, init=False)

    @property
    def datasets(self) -> Mapping[str, Records]:
        """Datasets that were read in this session, by name."""
        return {name: shown.dataset for name, shown in self._shown.datasets.items()}

    async def ask(self, question: str, *, on_text: OnText | None = None) -> RunResult:
        """Answer a question. `on_text` gets the answer as it streams, before it is verified.

        Failures of sources and models, limits and timeouts are in the result. Cancellation and faults of runax itself
        are put in a result, told as `run.finished`, and raised again.
        """
        run = self._begin(question, on_text)
        try:
            end = await self._until_timeout(run)
            evidence = await asyncio.to_thread(evidence_of, _text(end), self._shown_by(run))
        except BaseException as error:
            stopped = Stopped(error, run.stream.text)
            self._finish(run, stopped, evidence_of(_text(stopped), self._shown_by(run)))
            raise
        return self._finish(run, end, evidence)

    async def _until_timeout(self, run: _Run) -> TurnEnd:
        timeout_s = self.limits.timeout_s
        try:
            async with asyncio.timeout(timeout_s) as deadline:
                return await run.turn.run()
        except TimeoutError:
            if not deadline.expired():
                raise
            error = TurnTimedOut(f"the wall time of {timeout_s:g} s is used up. Raise it with --timeout.")
            return Stopped(error, run.stream.text)
        except RunaxError as error:
            return Stopped(error, run.stream.text)

    def _begin(self, question: str, on_text: OnText | None) -> _Run:
        run_id = _new_id()
        emitter = Emitter.for_run(self.sink, run_id=run_id, session_id=self.id, now=self._now)
        emitter.emit(self._run_started(question))
        try:
            self.journal.begin_run(run_id, self.id, question=question, settings=self.settings, started_at=self._now())
        except StoreError as error:
            _tell_lost(emitter, error)
        plan = plan_of(question)
        emitter.emit(PlanMade(sub_questions=(plan.question,), needs=(plan.need,), rule=plan.rule))
        return self._composed(run_id, plan, emitter, on_text)

    def _composed(self, run_id: str, plan: Plan, emitter: Emitter, on_text: OnText | None) -> _Run:
        meter, budget = UsageMeter(), self.limits.budget()
        tools = {spec.name: visible(spec) for spec in self.catalog.tools}
        context = self._context(run_id, plan, tools)
        bind = partial(self._bound, run_id=run_id, budget=budget, emitter=emitter, meter=meter)
        calls = self._calls(plan, tools, context=context, budget=budget, emitter=emitter, reducer=bind(Role.REDUCER))
        stream = AnswerStream(emitter, on_text=on_text)
        counter = self.registry.counter(Role.AGENT)
        parts = TurnParts(
            model=bind(Role.AGENT),
            context=context,
            calls=calls,
            budget=budget,
            emitter=emitter,
            stream=stream,
            is_calibrated=lambda: counter.is_calibrated,
        )
        return _Run(
            run_id=run_id,
            plan=plan,
            started_s=self.clock.monotonic(),
            emitter=emitter,
            meter=meter,
            stream=stream,
            calls=calls,
            turn=Turn(parts),
        )

    def _bound(self, role: Role, *, run_id: str, budget: Budget, emitter: Emitter, meter: UsageMeter) -> Model:
        model = self.registry.bind(role, budget=budget, emitter=emitter, meter=meter)
        tell = partial(_tell_lost, emitter)
        return JournalledModel(model, role=role, journal=self.journal, run_id=run_id, on_lost=tell)

    def _context(self, run_id: str, plan: Plan, tools: Mapping[str, VisibleTool]) -> Context:
        return Context(
            system=prompts.AGENT_SYSTEM.fill(today=self._now().date().isoformat()),
            question=plan.question,
            history=self.history,
            tools=[tool.schema for tool in tools.values()],
            counter=self.registry.counter(Role.AGENT),
            effective_tokens=self.registry.config(Role.AGENT).effective_tokens,
            run_id=run_id,
        )

    def _calls(
        self,
        plan: Plan,
        tools: Mapping[str, VisibleTool],
        *,
        context: Context,
        budget: Budget,
        emitter: Emitter,
        reducer: Model,
    ) -> TurnCalls:
        parts = CallParts(
            tools=tools,
            executor=self.executor,
            policy=WritePolicy(allow_writes=self.allow_writes, approver=self.approver),
            budget=budget,
            emitter=emitter,
            reducer=reducer,
            question=plan.question,
            need=plan.need,
            parallel_calls=self.limits.parallel_calls,
            direct_limit=context.direct_limit,
            measure=context.bound,
        )
        return TurnCalls(parts)

    def _shown_by(self, run: _Run) -> ShownData:
        for call in run.calls.made:
            if call.outcome is not None:
                self._shown.note(call.outcome)
        return self._shown

    def _finish(self, run: _Run, end: TurnEnd, evidence: tuple[Evidence, ...]) -> RunResult:
        """Result, journal, event, history: without a pause, so that nothing can come between."""
        result = self._result(run, end, evidence)
        try:
            self.journal.finish_run(result)
        except StoreError as error:
            _tell_lost(run.emitter, error)
        run.emitter.emit(RunFinished(result=result))
        self.last_result = result
        if result.status in _REMEMBERED:
            self.history.add(result.question, result.answer)
        return result

    def _result(self, run: _Run, end: TurnEnd, evidence: tuple[Evidence, ...]) -> RunResult:
        made, answer = run.calls.made, _text(end)
        coverage = coverage_of(made)
        verdict = verdict_of(end, calls=made, coverage=coverage, evidence=evidence)
        part = SubQuestionReport(question=run.plan.question, need=run.plan.need, status=verdict.status, answer=answer)
        return RunResult(
            run_id=run.run_id,
            session_id=self.id,
            status=verdict.status,
            exit_code=int(verdict.exit_code),
            question=run.plan.question,
            answer=answer,
            sub_questions=(part,),
            coverage=coverage,
            calls=tuple(call.report for call in made),
            evidence=evidence,
            usage=run.meter.report(),
            cost_usd=run.meter.cost_usd,
            duration_s=self.clock.monotonic() - run.started_s,
            trace_path=self.trace_of(run.run_id),
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


def _text(end: TurnEnd) -> str:
    return without_certificates(end.text)


def _tell_lost(emitter: Emitter, error: StoreError) -> None:
    emitter.emit(Warned(code="store_error", text=f"this run is not recorded in full: {error}"))


def _new_id() -> str:
    return uuid4().hex[:_ID_CHARS]
