"""Previews a question: its plan and the first calls of each sub-question, without reading data.

Every sub-question takes its usual steps, but stops at a call that would read more than a small lookup. Nothing is
reduced or labeled. `forecast` turns a preview into numbers.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from adapters.base import ToolSpec
from runax_cli.agent.forecast import ExpectedCall, TokenEstimate, TokenForecast, forecast_tokens
from runax_cli.agent.loop.data_tools import tool_tokens
from runax_cli.agent.loop.scheduler import SubQuestionScheduler, emit_plan
from runax_cli.agent.loop.subquestion import RunContext, SubQuestionInput, SubQuestionRun
from runax_cli.agent.planning.plan import Plan, plan_by_rule
from runax_cli.agent.result.verdict import Stopped
from runax_cli.agent.session import Session
from runax_cli.core.budget import Budget
from runax_cli.core.errors import TurnTimedOut
from runax_cli.core.event_types import ModelReplied
from runax_cli.core.events import Emitter, Event, EventSink
from runax_cli.executor.dry_run import CallPreview, DryRunExecutor
from runax_cli.executor.strategy import Strategy
from runax_cli.guard.approval import AlwaysDeny, WritePolicy
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import Role
from runax_cli.models.metering import UsageMeter

DRY_RUN_ANSWER = "Dry run: the calls of this sub-question were previewed and not made."


@dataclass(frozen=True, slots=True)
class ModelStep:
    """The tokens and duration of one model reply. `sub_question` is its number, None for the whole question."""

    role: str
    sub_question: int | None
    tokens: TokenEstimate
    duration_s: float


@dataclass(slots=True)
class StepRecorder:
    """Records the replies of models, and passes every event on to `to`."""

    to: EventSink
    steps: list[ModelStep] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        """Record a reply, and pass the event on."""
        if isinstance(event.body, ModelReplied):
            tokens = TokenEstimate(event.body.input_tokens, event.body.output_tokens, 1)
            step = ModelStep(event.stamp.role or "", event.stamp.sub_question, tokens, event.body.duration_s)
            self.steps.append(step)
        self.to.emit(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQuestionPreview:
    """The first calls of one sub-question and its forecast. `error` is set if its first steps failed."""

    number: int
    calls: tuple[CallPreview, ...]
    forecast: TokenForecast
    error: BaseException | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPreview:
    """The plan and the previews of its sub-questions. `planner` and `step_s` (seconds per step) are measured."""

    plan: Plan
    sub_questions: tuple[SubQuestionPreview, ...]
    planner: TokenEstimate
    step_s: float
    meter: UsageMeter

    @property
    def agent(self) -> TokenEstimate:
        """The tokens that the main model will take."""
        return sum((sub.forecast.agent for sub in self.sub_questions), TokenEstimate())

    @property
    def reviewer(self) -> TokenEstimate:
        """The tokens that the reviewer will take."""
        return sum((sub.forecast.reviewer for sub in self.sub_questions), TokenEstimate())

    @property
    def reducer(self) -> TokenEstimate:
        """The tokens that reducers will take."""
        return sum((sub.forecast.reducer for sub in self.sub_questions), TokenEstimate())


@dataclass(frozen=True, slots=True, kw_only=True)
class Previewer:
    """Previews questions of a session. Leaves no trace: nothing is added to history or journal."""

    session: Session
    dry_run: DryRunExecutor

    async def preview(self, question: str) -> QuestionPreview:
        """Preview a question. Raises errors of models and limits in planning, and TurnTimedOut."""
        recorder = StepRecorder(self.session.sink)
        timeout_s = self.session.limits.timeout_s
        run = self._run_context(recorder)
        try:
            async with asyncio.timeout(timeout_s):
                scheduler = await self._plan_and_run(question, run)
        except TimeoutError:
            text = f"timed out after {timeout_s or 0:g} s. Raise the limit with --timeout."
            raise TurnTimedOut(text) from None
        return await asyncio.to_thread(self._question_preview, scheduler, run, recorder.steps)

    async def _plan_and_run(self, question: str, run: RunContext) -> SubQuestionScheduler:
        plan = plan_by_rule(question, nouns=run.tools.sources.nouns)
        if plan is None:
            plan = await (await asyncio.to_thread(run.planner, question)).plan(question)
        emit_plan(plan, run.emitter)
        self.dry_run.required_parts = frozenset(number for sub in plan.sub_questions for number in sub.after)

        def start(input_: SubQuestionInput, budget: Budget) -> SubQuestionRun:
            return SubQuestionRun(input_, run, budget=budget, on_text=None)

        scheduler = SubQuestionScheduler(plan=plan, start=start, budget=run.budget, planner=None, emitter=run.emitter)
        await scheduler.run()
        return scheduler

    def _run_context(self, sink: EventSink) -> RunContext:
        session, run_id = self.session, uuid4().hex[:12]
        return RunContext(
            run_id=run_id,
            today=session.today,
            registry=session.registry,
            executor=self.dry_run,
            tools=session.tools,
            tool_limits=session.tool_limits,
            datasets={},
            journal=MemoryJournal(),
            history=session.history,
            policy=WritePolicy(allow_writes=False, approver=AlwaysDeny()),
            meter=UsageMeter(),
            emitter=Emitter.for_run(sink, run_id=run_id, session_id=session.id),
            budget=session.limits.budget(session.budget),
            parallel_calls=session.limits.parallel_calls,
            early_answer=lambda number: DRY_RUN_ANSWER if self.dry_run.has_open_call(number) else None,
            clock=session.clock,
        )

    def _question_preview(
        self, scheduler: SubQuestionScheduler, run: RunContext, steps: Sequence[ModelStep]
    ) -> QuestionPreview:
        """Blocking: counts the tokens of tools."""
        counter, effective = run.registry.counter(Role.AGENT), run.registry.config(Role.AGENT).effective_tokens
        tokens = 0 if run.tools.data is None or run.tools.dataset_tools else tool_tokens(run.tools.data.all, counter)
        previews = tuple(
            self._sub_question_preview(number, scheduler, steps, effective_tokens=effective, data_tool_tokens=tokens)
            for number in scheduler.plan.numbers
        )
        return QuestionPreview(
            plan=scheduler.plan,
            sub_questions=previews,
            planner=sum((step.tokens for step in steps if step.role == Role.PLANNER), TokenEstimate()),
            step_s=sum(step.duration_s for step in steps) / len(steps) if steps else 0.0,
            meter=run.meter,
        )

    def _sub_question_preview(
        self,
        number: int,
        scheduler: SubQuestionScheduler,
        steps: Sequence[ModelStep],
        *,
        effective_tokens: int,
        data_tool_tokens: int,
    ) -> SubQuestionPreview:
        run = scheduler.runs[number]
        # None if it is the whole question: then its events carry no number.
        stamp = run.input.number
        tokens = [step.tokens for step in steps if step.sub_question == stamp and step.role == Role.AGENT]
        calls = tuple(call for call in self.dry_run.previews if call.part == stamp)
        expected = [_expected_call(call) for call in calls if call.is_open]
        return SubQuestionPreview(
            number=number,
            calls=calls,
            forecast=forecast_tokens(
                tokens,
                expected,
                effective_tokens=effective_tokens,
                data_tool_tokens=data_tool_tokens,
                review=self.session.review_mode,
            ),
            error=run.end.error if isinstance(run.end, Stopped) else None,
        )


def returns_ids_for_other_tools(session: Session) -> Callable[[ToolSpec], bool]:
    """A predicate: whether a tool returns ids that other tools take: "customers" returns the customer_id of tickets."""
    takers = {
        (name.replace("_", "").casefold(), _singular(spec.noun))
        for spec in session.catalog.tools
        for name in spec.parameters.get("properties") or {}
    }

    def returns_ids(spec: ToolSpec) -> bool:
        own = _singular(spec.noun)
        return any(name == f"{own}id" and noun != own for name, noun in takers)

    return returns_ids


def _singular(noun: str) -> str:
    plain = noun.replace("_", "").casefold()
    return f"{plain[:-3]}y" if plain.endswith("ies") else plain.removesuffix("s")


def _expected_call(call: CallPreview) -> ExpectedCall:
    return ExpectedCall(
        strategy=Strategy.PAGINATED_REDUCTION if call.choice is None else call.choice.strategy,
        records=call.records,
        tokens=call.tokens,
        chunks=call.chunks,
        overhead=call.overhead,
        read_share=call.read_share,
        is_computed=call.call.need == "compute" and bool(call.records and call.records > 1),
    )
