"""A session: a conversation whose turns share history, datasets and what the model was shown.

A turn is plan, run, assemble: the question is split into sub-questions, these are answered, and the result is assembled
from them, however they ended. Every question emits exactly one `run.started` and one `run.finished`.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import uuid4

from adapters.catalog import ToolCatalog
from adapters.clock import Clock, SystemClock
from runax_cli.agent.evidence.review import Judgement
from runax_cli.agent.evidence.shown import RecordLookup, ShownData
from runax_cli.agent.forecast import ForecastTracker
from runax_cli.agent.loop.data_tools import DatasetRouter, DataTools, OfferedTools, tool_tokens
from runax_cli.agent.loop.journaled_model import resume_run
from runax_cli.agent.loop.middleware import SingleFlight
from runax_cli.agent.loop.reviewer import review_answers
from runax_cli.agent.loop.scheduler import SubQuestionScheduler, emit_plan
from runax_cli.agent.loop.subquestion import RunContext, SubQuestionInput, SubQuestionRun, warn_not_recorded
from runax_cli.agent.loop.toolbox import DEFAULT_LIMITS, ToolLimits, ToolRegistry
from runax_cli.agent.planning.plan import Plan, plan_by_rule, single_plan
from runax_cli.agent.result.assembly import EndedRun, EndedSubQuestion, RunAssembly, assemble
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.agent.result.verdict import Stopped, TurnEnd
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.errors import RunaxError, StoreError, TurnTimedOut, first_cause
from runax_cli.core.event_types import AnswerDelta, RunFinished, RunStarted, Warned
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
from runax_cli.settings.settings import ReviewMode

TraceOf: TypeAlias = Callable[[str], str | None]
_ID_CHARS = 12
MAX_ENTITIES = 500
"""At most this many entities of records are remembered for later questions; the oldest are dropped first."""
_REMEMBERED = (RunStatus.COMPLETE, RunStatus.INCOMPLETE, RunStatus.LIMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """The limits of one turn; None means no limit."""

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
        """A new budget for one turn, under the budget of its session."""
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
        """Seconds for the next turn if earlier turns took `spent_s`, and the flag that sets this limit."""
        if self.session_timeout_s is None:
            return self.timeout_s, "--timeout"
        left_s = max(0.0, self.session_timeout_s - spent_s)
        is_shorter = self.timeout_s is None or left_s < self.timeout_s
        return (left_s, "--session-timeout") if is_shorter else (self.timeout_s, "--timeout")


@dataclass(slots=True, kw_only=True)
class _ActiveRun:
    """One question while it is answered. `scheduler` is None until there is a plan.

    `judgements` are the verdicts of reviews by sub-question; `is_answered` is set when only the review is left.
    """

    question: str
    started_s: float
    context: RunContext
    forecast: ForecastTracker
    on_text: OnText | None
    scheduler: SubQuestionScheduler | None = None
    total_changes: Mapping[str, TotalChange] = field(default_factory=dict)
    judgements: Mapping[int, Mapping[int, Judgement]] = field(default_factory=dict)
    is_answered: bool = False

    @property
    def emitter(self) -> Emitter:
        return self.context.emitter

    def start(self, input_: SubQuestionInput, budget: Budget) -> SubQuestionRun:
        """Start a sub-question. It streams its answer only if it is the whole question."""
        on_text = self.on_text if input_.number is None else None
        return SubQuestionRun(input_, self.context, budget=budget, on_text=on_text)

    def calls_of(self, sub: SubQuestionRun) -> tuple[RequestedCall, ...]:
        """The calls of a sub-question, with the change of a total in their coverage."""
        return tuple(_with_change(call, self.total_changes.get(call.call_id)) for call in sub.calls.requested)

    def ended(self, error: BaseException | None, *, shown: ShownData) -> EndedRun:
        """The run as it ended: by itself, or by an error."""
        plan = single_plan(self.question) if self.scheduler is None else self.scheduler.plan
        superseded = () if self.scheduler is None else self.scheduler.superseded
        return EndedRun(
            question=self.question,
            user_text=self.context.user_text,
            sub_questions=tuple(self._ended_sub_question(plan, number, error) for number in plan.numbers),
            superseded_calls=tuple(call for sub in superseded for call in self.calls_of(sub)),
            shown=shown,
            error=error,
        )

    def _ended_sub_question(self, plan: Plan, number: int, error: BaseException | None) -> EndedSubQuestion:
        run = None if self.scheduler is None else self.scheduler.runs.get(number)
        return EndedSubQuestion(
            sub_question=plan.sub_question(number),
            end=_end_of(run, error),
            calls=() if run is None else self.calls_of(run),
            needs_data=run is not None and run.needs_data,
            judgements=self.judgements.get(number, {}),
            sweep=None if run is None else run.sweep,
        )


@dataclass(slots=True, kw_only=True)
class Session:
    """One conversation. Questions are asked one after the other.

    `settings` are written to the journal and must not contain secrets. `notices` are part of every `run.started`.
    `trace_of` returns where the events of a run are stored. `workbench` keeps datasets, None if nothing does. `review`
    says which answers are reviewed by a model.
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
    review: ReviewMode = "never"
    id: str = field(default_factory=lambda: _new_id(), init=False)
    history: History = field(default_factory=History, init=False)
    last_result: RunResult | None = field(default=None, init=False)
    _shown: ShownData = field(default_factory=ShownData, init=False)
    _fetched: dict[str, str] = field(default_factory=dict, init=False)
    _entities: deque[RecordEntity] = field(default_factory=lambda: deque(maxlen=MAX_ENTITIES), init=False)
    _spent_s: float = field(default=0.0, init=False)
    _source_tools: ToolRegistry = field(init=False)

    def __post_init__(self) -> None:
        self._source_tools = ToolRegistry(self.catalog.tools)

    @property
    def datasets(self) -> Mapping[str, RecordLookup]:
        """The datasets that were read in this session, by name."""
        return {name: shown.dataset for name, shown in self._shown.datasets.items()}

    @property
    def today(self) -> str:
        """The date that prompts contain."""
        return self._now().date().isoformat()

    @property
    def review_mode(self) -> ReviewMode:
        """Which answers are reviewed. The rules model reviews none."""
        return "never" if self.registry.config(Role.REVIEWER).is_rules else self.review

    @property
    def tools(self) -> OfferedTools:
        """Everything that can be called now."""
        data = None if self.workbench is None else DataTools(self.workbench, taken=self._source_tools)
        return OfferedTools(self._source_tools, data)

    async def ask(self, question: str, *, on_text: OnText | None = None) -> RunResult:
        """Answer a question. `on_text` receives the answer as it streams, before it is verified.

        Failures of sources and models, limits and timeouts are part of the result. Cancellation and internal errors are
        too: they are reported as `run.finished`, and raised again.
        """
        return await self._run(self._start(question, on_text))

    async def resume(self, stored: StoredRun, *, on_text: OnText | None = None) -> RunResult:
        """Continue a stored run as the first turn of this session, with the date on which it began.

        Everything in the journal is reused: replies of models, pages, reductions, labels. What the run has used counts
        toward its limits. Ends like `ask`; raises StoreError if the journal cannot be read.
        """
        self.id = stored.session_id
        for run in self.journal.earlier_runs(stored):
            if run.result is not None and run.result.status in _REMEMBERED:
                self.history.add(run.question, run.result.answer)
        return await self._run(self._start(stored.question, on_text, resumed=stored))

    async def _run(self, run: _ActiveRun) -> RunResult:
        try:
            error = await self._answer_within_timeout(run)
            assembly = await asyncio.to_thread(assemble, self._ended(run, error))
        except BaseException as raised:
            self._finish(run, assemble(self._ended(run, first_cause(raised))))
            raise
        return self._finish(run, assembly)

    def _ended(self, run: _ActiveRun, error: BaseException | None) -> EndedRun:
        return run.ended(error, shown=self._shown)

    async def _answer_within_timeout(self, run: _ActiveRun) -> BaseException | None:
        """Answer the question. Returns TurnTimedOut if the time is over, else None."""
        timeout_s, flag = self.limits.time_left(self._spent_s)
        if timeout_s == 0:
            return TurnTimedOut(f"the session timed out. Raise the limit with {flag}.")
        try:
            async with asyncio.timeout(timeout_s) as deadline:
                await self._plan_and_run(run)
        except TimeoutError:
            if not deadline.expired():
                raise
            if run.is_answered:
                text = f"the answer was not fully reviewed: timed out after {timeout_s:g} s"
                run.emitter.emit(Warned(code="not_reviewed", text=text))
                return None
            return TurnTimedOut(f"timed out after {timeout_s:g} s. Raise the limit with {flag}.")
        finally:
            self._spent_s += self.clock.monotonic() - run.started_s
        return None

    async def _plan_and_run(self, run: _ActiveRun) -> None:
        if self.workbench is not None:
            await self.workbench.start_turn()
        planner = await asyncio.to_thread(run.context.planner, run.question)
        plan = plan_by_rule(run.question, nouns=self._source_tools.nouns) or await planner.plan(run.question)
        emit_plan(plan, run.emitter)
        run.scheduler = SubQuestionScheduler(
            plan=plan, start=run.start, budget=run.context.budget, planner=planner, emitter=run.emitter
        )
        await run.scheduler.run()
        run.total_changes = await self._changed_totals(run, run.scheduler)
        run.is_answered = True
        run.judgements = await self._review(run, run.scheduler)

    async def _review(self, run: _ActiveRun, scheduler: SubQuestionScheduler) -> Mapping[int, Mapping[int, Judgement]]:
        """Review the answers against everything that the run has shown."""
        if self.review_mode == "never":
            return {}
        calls = (call for sub in scheduler.started for call in run.calls_of(sub))
        outcomes = [call.outcome for call in calls if call.outcome is not None]
        shown = await asyncio.to_thread(self._shown.with_outcomes, outcomes)
        return await review_answers(scheduler.runs, run.context, mode=self.review_mode, shown=shown)

    async def _changed_totals(self, run: _ActiveRun, scheduler: SubQuestionScheduler) -> Mapping[str, TotalChange]:
        """Ask the sources again for totals that may have changed during the run."""
        calls = (call for sub in scheduler.started for call in sub.calls.requested)
        reads = [
            read
            for call in calls
            if call.outcome is not None
            and (read := call_to_check(call.outcome, call_id=call.call_id, tool=self.catalog.find(call.report.tool)))
        ]
        context = run.context
        scope = CallScope(
            emitter=run.emitter,
            budget=context.budget,
            reducer=context.model(Role.REDUCER, budget=context.budget, emitter=run.emitter),
        )
        return await recheck_totals(reads, self.catalog, scope=scope)

    def _start(self, question: str, on_text: OnText | None, *, resumed: StoredRun | None = None) -> _ActiveRun:
        run_id = resumed.run_id if resumed else _new_id()
        forecast = ForecastTracker(self.sink, self.review_mode)
        emitter = Emitter.for_run(forecast, run_id=run_id, session_id=self.id, now=self._now)
        emitter.emit(self._run_started(question))
        meter, budget = UsageMeter(), self.limits.budget(self.budget)
        try:
            if resumed is None:
                self.journal.begin_run(
                    run_id, self.id, question=question, settings=self.settings, started_at=self._now()
                )
            else:
                resume_run(resumed, self.journal, emitter=emitter, meter=meter, budget=budget)
        except StoreError as error:
            warn_not_recorded(emitter, error)
        today = resumed.started_at.date().isoformat() if resumed else self.today
        context = RunContext(
            run_id=run_id,
            today=today,
            registry=self.registry,
            executor=SingleFlight(self.executor, self._source_tools),
            tools=self.tools,
            tool_limits=self.tool_limits,
            entities=tuple(self._entities),
            shown=self._shown,
            user_text="\n".join([*(exchange.question for exchange in self.history.exchanges), question, today]),
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
            clock=self.clock,
        )
        started_s = self.clock.monotonic()
        return _ActiveRun(question=question, started_s=started_s, context=context, forecast=forecast, on_text=on_text)

    def _finish(self, run: _ActiveRun, assembly: RunAssembly) -> RunResult:
        """Take over the assembly, and report the result to journal, events and history. Never awaits."""
        self.absorb(assembly)
        result = self._result(run, assembly)
        if len(result.sub_questions) > 1 and result.answer:
            run.emitter.emit(AnswerDelta(text=result.answer))
            if run.on_text is not None:
                run.on_text(result.answer)
        try:
            self.journal.finish_run(result)
        except StoreError as error:
            warn_not_recorded(run.emitter, error)
        run.emitter.emit(RunFinished(result=result, forecast=self._forecast_check(run, result)))
        self.last_result = result
        if result.status in _REMEMBERED:
            self.history.add(result.question, result.answer)
        return result

    def absorb(self, assembly: RunAssembly) -> None:
        """Remember what a run showed, named and used, for the questions that follow."""
        self._shown = assembly.shown
        self._entities.extend(assembly.entities)
        self._source_tools.record_used(assembly.tools_used)

    def _forecast_check(self, run: _ActiveRun, result: RunResult) -> ForecastCheck | None:
        """The forecast of the probes, compared with what was used."""
        if not run.forecast.has_probed:
            return None
        data, registry = run.context.tools.data, self.registry
        tokens = 0 if data is None else tool_tokens(data.all, registry.counter(Role.AGENT))
        effective_tokens = registry.config(Role.AGENT).effective_tokens
        return run.forecast.check(result.usage, effective_tokens=effective_tokens, data_tool_tokens=tokens)

    def _result(self, run: _ActiveRun, assembly: RunAssembly) -> RunResult:
        verdict, meter = assembly.verdict, run.context.meter
        return RunResult(
            run_id=run.context.run_id,
            session_id=self.id,
            status=verdict.status,
            exit_code=int(verdict.exit_code),
            question=run.question,
            answer=assembly.answer,
            sub_questions=assembly.sub_questions,
            coverage=assembly.coverage,
            calls=assembly.calls,
            evidence=assembly.evidence,
            sweeps=assembly.sweeps,
            usage=meter.report(),
            cost_usd=meter.cost_usd,
            duration_s=self.clock.monotonic() - run.started_s,
            trace_path=self.trace_of(run.context.run_id),
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


def _end_of(sub: SubQuestionRun | None, error: BaseException | None) -> TurnEnd:
    if sub is not None and error is None and sub.end is not None:
        return sub.end
    why = error or RunaxError("the run ended before this sub-question did")
    return Stopped(why) if sub is None else sub.stopped_by(why)


def _new_id() -> str:
    return uuid4().hex[:_ID_CHARS]


def _with_change(call: RequestedCall, change: TotalChange | None) -> RequestedCall:
    if change is None or call.outcome is None:
        return call
    outcome = change.applied_to(call.outcome)
    return replace(call, outcome=outcome, report=outcome.report)
