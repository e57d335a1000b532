"""One part of a question on its way: its own loop, context, budget and calls, over what all parts of a run share.

Puts a turn together for a sub-question. Knows nothing of the other parts, save the text that they left for this one.
"""

import asyncio
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from functools import partial

from adapters.clock import SystemClock
from runax_cli.agent import prompts
from runax_cli.agent.loop.context import Summarizer, TurnContext
from runax_cli.agent.loop.data_tools import OfferedTools
from runax_cli.agent.loop.journaled_model import JournaledModel, replayed
from runax_cli.agent.loop.middleware import ToolSearchMiddleware, offered
from runax_cli.agent.loop.tool_calls import CallDependencies, TurnCalls
from runax_cli.agent.loop.toolbox import DEFAULT_LIMITS, ToolLimits, ToolSelection
from runax_cli.agent.loop.turn import AnswerStream, Turn, TurnDependencies
from runax_cli.agent.planning.plan import SubQuestion
from runax_cli.agent.planning.planner import Planner
from runax_cli.agent.result.verdict import Stopped, TurnEnd
from runax_cli.core.budget import Budget
from runax_cli.core.errors import RunaxError, StoreError
from runax_cli.core.event_types import ToolsOffered, Warned
from runax_cli.core.events import Emitter
from runax_cli.executor.outcome import CallExecutor
from runax_cli.guard.approval import WritePolicy
from runax_cli.memory.conversation import History, RecordEntity
from runax_cli.memory.journal import Journal
from runax_cli.models.base import Model, OnText, Role
from runax_cli.models.metering import UsageMeter
from runax_cli.models.registry import ModelRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What all parts of a run work with. `parallel_calls` holds for each part.

    `halted` ends a part, by its number, after a step with calls: where it gives a text, that is its answer.
    """

    run_id: str
    today: str
    registry: ModelRegistry
    executor: CallExecutor
    tools: OfferedTools
    datasets: MutableMapping[str, str]
    journal: Journal
    history: History
    policy: WritePolicy
    meter: UsageMeter
    emitter: Emitter
    budget: Budget
    parallel_calls: int
    tool_limits: ToolLimits = DEFAULT_LIMITS
    named: tuple[RecordEntity, ...] = ()
    halted: Callable[[int | None], str | None] = lambda _number: None

    def planner(self, question: str) -> Planner:
        """The planner of this run, over the whole of its budget. Blocking where there are many tools."""
        config = self.registry.config(Role.PLANNER)
        tools = self.tools.sources.for_planning(question)
        return Planner(
            model=self.model(Role.PLANNER, budget=self.budget, emitter=self.emitter),
            history=self.history,
            tools=tools,
            more_tools=len(self.tools.sources) - len(tools),
            counter=self.registry.counter(Role.PLANNER),
            effective_tokens=config.effective_tokens,
            today=self.today,
            run_id=self.run_id,
        )

    def model(self, role: Role, *, budget: Budget, emitter: Emitter) -> Model:
        """The model of a role, bound to a budget and journalled."""
        model = self.registry.bind(role, budget=budget, emitter=emitter, meter=self.meter)
        counter = self.registry.counter(role)
        return JournaledModel(
            model,
            role=role,
            journal=self.journal,
            run_id=self.run_id,
            on_lost=partial(tell_lost, emitter),
            on_replayed=partial(replayed, emitter, counter),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQuestionInput:
    """How a part is asked. `number` is None where it is the whole question; `known` is what other parts left for it."""

    sub: SubQuestion
    number: int | None = None
    known: str = ""

    @property
    def text(self) -> str:
        """What the main model is asked."""
        asked = self.sub.question
        if self.sub.expects and self.number is not None:
            asked = prompts.PART_EXPECTS.fill(question=asked, expects=self.sub.expects)
        return prompts.PART_KNOWN.fill(question=asked, known=self.known) if self.known else asked


class SubQuestionRun:
    """One sub-question under way. `calls` and `text` are there at any moment, `end` when it is over."""

    def __init__(self, asked: SubQuestionInput, run: RunContext, *, budget: Budget, on_text: OnText | None) -> None:
        self.asked, self._run, self.budget = asked, run, budget
        self.emitter = run.emitter if asked.number is None else run.emitter.child(sub_question=asked.number)
        self._stream = AnswerStream(self.emitter, on_text=on_text, is_end_unconfirmed=asked.number is not None)
        self._toolbox = self._empty_toolbox()
        context = self._context()
        self.calls = self._calls(context)
        self._turn = Turn(self._turn_parts(context))
        self.end: TurnEnd | None = None

    @property
    def text(self) -> str:
        """What the part has said so far."""
        return self._stream.text if self.end is None else self.end.text

    async def run(self) -> TurnEnd:
        """Run to the end. Errors that runax raises on purpose are ends; whatever else happens passes through."""
        try:
            self.emitter.emit(await asyncio.to_thread(self._opened))
            self.end = await self._turn.run()
        except RunaxError as error:
            self.end = Stopped(error, self._stream.text)
        return self.end

    def stopped_by(self, error: BaseException) -> TurnEnd:
        """How the part ended: by itself, or by what ended the run. The whole question ends with its run."""
        if self.end is not None and self.asked.number is not None:
            return self.end
        return Stopped(error, self.text)

    def _empty_toolbox(self) -> ToolSelection:
        run, registry = self._run, self._run.registry
        limits = run.tool_limits.within(registry.config(Role.AGENT).effective_tokens)
        return ToolSelection(run.tools, run.tools.sources, limits=limits, counter=registry.counter(Role.AGENT))

    def _opened(self) -> ToolsOffered:
        self._toolbox.open(self.asked.sub.question)
        return offered(self._toolbox, self._run.tools.sources)

    def _context(self) -> TurnContext:
        run, registry = self._run, self._run.registry
        return TurnContext(
            system=prompts.AGENT_SYSTEM.fill(today=run.today),
            question=self.asked.text,
            history=run.history,
            tools=self._toolbox.offered,
            later=lambda: run.tools.later,
            to_come=() if run.tools.data is None else run.tools.data.all,
            counter=registry.counter(Role.AGENT),
            effective_tokens=registry.config(Role.AGENT).effective_tokens,
            run_id=run.run_id,
            can_summarize=not registry.config(Role.AGENT).is_rules,
            named=() if registry.config(Role.AGENT).is_rules else run.named,
        )

    def _calls(self, context: TurnContext) -> TurnCalls:
        run, sub = self._run, self.asked.sub
        parts = CallDependencies(
            tools=self._toolbox,
            named=self._toolbox.named,
            executor=self._finding(),
            policy=run.policy,
            budget=self.budget,
            emitter=self.emitter,
            reducer=run.model(Role.REDUCER, budget=self.budget, emitter=self.emitter),
            question=sub.question,
            need=sub.need,
            parallel_calls=run.parallel_calls,
            direct_limit=context.direct_limit,
            measure=context.bound,
            labeller=run.model(Role.LABELLER, budget=self.budget, emitter=self.emitter),
            datasets=run.datasets,
        )
        return TurnCalls(parts)

    def _finding(self) -> ToolSearchMiddleware:
        run = self._run
        counter = run.registry.counter(Role.AGENT)
        return ToolSearchMiddleware(
            behind=run.executor, toolbox=self._toolbox, shelf=run.tools.sources, counter=counter, clock=SystemClock()
        )

    def _turn_parts(self, context: TurnContext) -> TurnDependencies:
        counter = self._run.registry.counter(Role.AGENT)
        number = self.asked.number
        return TurnDependencies(
            model=self._run.model(Role.AGENT, budget=self.budget, emitter=self.emitter),
            context=context,
            calls=self.calls,
            budget=self.budget,
            emitter=self.emitter,
            stream=self._stream,
            is_calibrated=lambda: counter.is_calibrated,
            summarizer=self._summarizer(),
            call_prefix="call" if number is None else f"part{number}_call",
            halted=lambda: self._run.halted(number),
        )

    def _summarizer(self) -> Summarizer | None:
        """The rules model understands results and no summaries of them: with it, results are folded."""
        run, registry = self._run, self._run.registry
        if registry.config(Role.AGENT).is_rules:
            return None
        return Summarizer(
            run.model(Role.SUMMARIZER, budget=self.budget, emitter=self.emitter),
            registry.counter(Role.SUMMARIZER),
            question=self.asked.text,
            effective_tokens=registry.config(Role.SUMMARIZER).effective_tokens,
            emitter=self.emitter,
            run_id=run.run_id,
        )


def tell_lost(emitter: Emitter, error: StoreError) -> None:
    """Tell once that the journal does not have all of the run."""
    emitter.emit(Warned(code="store_error", text=f"this run is not recorded in full: {error}"))
