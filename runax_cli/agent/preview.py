"""What a question will take, before it is asked: the plan, the first calls of each part, and a forecast over them.

Every part takes the steps that it would take, but ends where a call would read more than a small lookup does. Reduces
and labels nothing. Knows how to look; the arithmetic is in `forecast`.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from adapters.base import ToolSpec
from runax_cli.agent.forecast import ExpectedCall, PartTokens, TokenEstimate, of_part
from runax_cli.agent.loop.data_tools import tokens_of
from runax_cli.agent.loop.scheduler import SubQuestionScheduler, plan_made, tell_repairs
from runax_cli.agent.loop.subquestion import RunContext, SubQuestionInput, SubQuestionRun
from runax_cli.agent.planning.plan import Plan, plan_of
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

HELD = "Not answered: this is a forecast, and the calls of this part were looked at only."


@dataclass(frozen=True, slots=True)
class ModelStep:
    """One reply of a model: what it took, and how long."""

    role: str
    part: int | None
    tokens: TokenEstimate
    duration_s: float


@dataclass(slots=True)
class StepRecorder:
    """Listens to replies of models on the way to another sink."""

    to: EventSink
    made: list[ModelStep] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        """Keep what a reply took, and pass the event on."""
        if isinstance(event.body, ModelReplied):
            tokens = TokenEstimate(event.body.input_tokens, event.body.output_tokens, 1)
            self.made.append(ModelStep(event.stamp.role or "", event.stamp.sub_question, tokens, event.body.duration_s))
        self.to.emit(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartPreview:
    """What could be seen of one part; `error` where its first steps could not be taken."""

    number: int
    sights: tuple[CallPreview, ...]
    forecast: PartTokens
    error: BaseException | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPreview:
    """The plan and what was seen of its parts; `planner` and `step_s` are measured on the way."""

    plan: Plan
    parts: tuple[PartPreview, ...]
    planner: TokenEstimate
    step_s: float
    meter: UsageMeter

    @property
    def agent(self) -> TokenEstimate:
        """What the main model will take."""
        return sum((part.forecast.agent for part in self.parts), TokenEstimate())

    @property
    def reducer(self) -> TokenEstimate:
        """What reducers will take."""
        return sum((part.forecast.reducer for part in self.parts), TokenEstimate())


@dataclass(frozen=True, slots=True, kw_only=True)
class Previewer:
    """Looks ahead with the parts of a session. Nothing of it is kept: no history, no run in the journal."""

    session: Session
    lookout: DryRunExecutor

    async def of(self, question: str) -> QuestionPreview:
        """The forecast of a question. Raises what a model or a limit raises in planning, and TurnTimedOut."""
        steps = StepRecorder(self.session.sink)
        timeout_s = self.session.limits.timeout_s
        run = self._run(steps)
        try:
            async with asyncio.timeout(timeout_s):
                division = await self._divided(question, run)
        except TimeoutError:
            raise TurnTimedOut(f"the wall time of {timeout_s or 0:g} s is used up. Raise it with --timeout.") from None
        return await asyncio.to_thread(self._foreseen, division, run, steps.made)

    async def _divided(self, question: str, run: RunContext) -> SubQuestionScheduler:
        plan = plan_of(question) or await (await asyncio.to_thread(run.planner, question)).plan(question)
        run.emitter.emit(plan_made(plan))
        tell_repairs(plan, run.emitter)
        self.lookout.required_parts = frozenset(number for part in plan.parts for number in part.after)

        def begin(asked: SubQuestionInput, budget: Budget) -> SubQuestionRun:
            return SubQuestionRun(asked, run, budget=budget, on_text=None)

        division = SubQuestionScheduler(plan=plan, begin=begin, budget=run.budget, planner=None, emitter=run.emitter)
        await division.run()
        return division

    def _run(self, sink: EventSink) -> RunContext:
        session, run_id = self.session, uuid4().hex[:12]
        return RunContext(
            run_id=run_id,
            today=session.today,
            registry=session.registry,
            executor=self.lookout,
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
            halted=lambda number: HELD if self.lookout.has_open_call(number) else None,
        )

    def _foreseen(self, division: SubQuestionScheduler, run: RunContext, made: Sequence[ModelStep]) -> QuestionPreview:
        """Blocking: tokens of tools are counted."""
        counter, effective = run.registry.counter(Role.AGENT), run.registry.config(Role.AGENT).effective_tokens
        to_come = 0 if run.tools.data is None or run.tools.later else tokens_of(run.tools.data.all, counter)
        seen = tuple(
            self._part(number, division, made, effective_tokens=effective, tools_to_come=to_come)
            for number in division.plan.numbers
        )
        planned = sum((step.tokens for step in made if step.role == Role.PLANNER), TokenEstimate())
        lasted = [step.duration_s for step in made]
        step_s = sum(lasted) / len(lasted) if lasted else 0.0
        return QuestionPreview(plan=division.plan, parts=seen, planner=planned, step_s=step_s, meter=run.meter)

    def _part(
        self,
        number: int,
        division: SubQuestionScheduler,
        made: Sequence[ModelStep],
        *,
        effective_tokens: int,
        tools_to_come: int,
    ) -> PartPreview:
        part = division.parts[number]
        stamped = part.asked.number
        steps = [step.tokens for step in made if step.part == stamped and step.role == Role.AGENT]
        sights = tuple(sight for sight in self.lookout.previews if sight.part == stamped)
        ahead = [_ahead(sight) for sight in sights if sight.is_open]
        told = of_part(steps, ahead, effective_tokens=effective_tokens, tools_to_come=tools_to_come)
        error = part.end.error if isinstance(part.end, Stopped) else None
        return PartPreview(number=number, sights=sights, forecast=told, error=error)


def leads_on(session: Session) -> Callable[[ToolSpec], bool]:
    """Whether the ids that a tool returns are arguments of tools for other things: "customers" lead on to tickets."""
    takers = {
        (name.replace("_", "").casefold(), _singular(spec.noun))
        for spec in session.catalog.tools
        for name in spec.parameters.get("properties") or {}
    }

    def leads(spec: ToolSpec) -> bool:
        own = _singular(spec.noun)
        return any(name == f"{own}id" and noun != own for name, noun in takers)

    return leads


def _singular(noun: str) -> str:
    plain = noun.replace("_", "").casefold()
    return f"{plain[:-3]}y" if plain.endswith("ies") else plain.removesuffix("s")


def _ahead(sight: CallPreview) -> ExpectedCall:
    return ExpectedCall(
        strategy=Strategy.PAGINATED_REDUCTION if sight.choice is None else sight.choice.strategy,
        records=sight.records,
        tokens=sight.tokens,
        chunks=sight.chunks,
        overhead=sight.overhead,
        read_share=sight.read_share,
        is_computed=sight.call.need == "compute" and bool(sight.records and sight.records > 1),
    )
