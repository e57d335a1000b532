"""Runs one sub-question: creates its turn, context and calls from what all sub-questions of a run share."""

import asyncio
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from functools import partial

from adapters.clock import Clock, SystemClock
from runax_cli.agent import prompts
from runax_cli.agent.evidence.answer_verifier import CheckedStatement
from runax_cli.agent.evidence.shown import ShownData
from runax_cli.agent.evidence.verify import check_statements
from runax_cli.agent.loop.answer_stream import AnswerStream
from runax_cli.agent.loop.context import TurnContext
from runax_cli.agent.loop.data_tools import OfferedTools
from runax_cli.agent.loop.entity_sweeper import EntitySweeper
from runax_cli.agent.loop.journaled_model import JournaledModel, note_replayed_reply
from runax_cli.agent.loop.middleware import ToolSearchMiddleware, tools_offered
from runax_cli.agent.loop.repetition import find_repetition
from runax_cli.agent.loop.summarizer import Summarizer
from runax_cli.agent.loop.tool_calls import CallDependencies, TurnCalls
from runax_cli.agent.loop.toolbox import DEFAULT_LIMITS, ToolBrevity, ToolLimits, ToolSelection
from runax_cli.agent.loop.turn import Turn, TurnDependencies
from runax_cli.agent.planning.data_need import needs_data
from runax_cli.agent.planning.everything import entity_request
from runax_cli.agent.planning.plan import SubQuestion
from runax_cli.agent.planning.planner import Planner
from runax_cli.agent.result.data_use import has_earlier_data, uses_no_data
from runax_cli.agent.result.verdict import Stopped, TurnEnd
from runax_cli.core.budget import Budget
from runax_cli.core.errors import RunaxError, StoreError
from runax_cli.core.event_types import ToolsOffered, Warned
from runax_cli.core.events import Emitter
from runax_cli.core.results import SweepReport
from runax_cli.executor.outcome import CallExecutor
from runax_cli.guard.approval import WritePolicy
from runax_cli.memory.conversation import History, RecordEntity
from runax_cli.memory.journal import Journal
from runax_cli.models.base import Model, OnText, Role, ToolSchema
from runax_cli.models.metering import UsageMeter
from runax_cli.models.registry import ModelRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What all sub-questions of a run share. `parallel_calls` is the limit of each.

    `entities` were named by records of earlier turns, `shown` is what these turns showed. `user_text` is all text from
    the user, and the date of the run: its figures need no citation. `early_answer` is called with the number of a
    sub-question after each step with calls: if it returns a text, that is the answer.
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
    entities: tuple[RecordEntity, ...] = ()
    shown: ShownData = field(default_factory=ShownData)
    user_text: str = ""
    early_answer: Callable[[int | None], str | None] = lambda _number: None
    clock: Clock = field(default_factory=SystemClock)

    def planner(self, question: str) -> Planner:
        """The planner of this run, with its whole budget. Blocking if there are many tools: they are ranked."""
        config = self.registry.config(Role.PLANNER)
        tools = self.tools.sources.planner_tools(question)
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
        """The model of a role, bound to a budget and journaled."""
        model = self.registry.bind(role, budget=budget, emitter=emitter, meter=self.meter)
        counter = self.registry.counter(role)
        return JournaledModel(
            model,
            role=role,
            journal=self.journal,
            run_id=self.run_id,
            on_store_error=partial(warn_not_recorded, emitter),
            on_replayed=partial(note_replayed_reply, emitter, counter),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQuestionInput:
    """A sub-question and its context: the results that it depends on. `number` is None if it is the whole question."""

    sub: SubQuestion
    number: int | None = None
    context: str = ""

    @property
    def text(self) -> str:
        """What the main model is asked."""
        text = self.sub.question
        if self.sub.expects and self.number is not None:
            text = prompts.PART_EXPECTS.fill(question=text, expects=self.sub.expects)
        return prompts.PART_CONTEXT.fill(question=text, context=self.context) if self.context else text


class SubQuestionRun:
    """The run of one sub-question. `end` is None until it has ended; `calls` and `text` are valid at any time."""

    def __init__(self, input_: SubQuestionInput, run: RunContext, *, budget: Budget, on_text: OnText | None) -> None:
        self.input, self._run, self.budget = input_, run, budget
        self.emitter = run.emitter if input_.number is None else run.emitter.child(sub_question=input_.number)
        self._stream = self._answer_stream(on_text)
        self._shown: tuple[int, ShownData] = (0, run.shown)
        self._tools = self._tool_selection()
        self._brevity = self._tool_brevity()
        context = self._context()
        self.calls = self._calls(context)
        self.sweeper = self._entity_sweeper()
        self._turn = Turn(self._turn_dependencies(context))
        self.end: TurnEnd | None = None

    @property
    def text(self) -> str:
        """The answer, as far as it has been streamed."""
        return self._stream.text if self.end is None else self.end.text

    @property
    def needs_data(self) -> bool:
        """Whether it can only be answered from data, and other sub-questions gave it none."""
        sources = self._run.tools.sources
        names = [schema.name for schema in self._tools.offered if schema.name in sources]
        if not names or self.input.context:
            return False
        return needs_data(self.input.sub.question, sources.nouns, has_earlier_data=has_earlier_data(self._run.shown))

    @property
    def sweep(self) -> SweepReport | None:
        """What was read for "everything about" an entity; None if it asks for something else."""
        return None if self.sweeper is None else self.sweeper.report(self.calls.requested)

    async def run(self) -> TurnEnd:
        """Run until it has ended. A RunaxError is an end; other exceptions propagate."""
        try:
            self.emitter.emit(await asyncio.to_thread(self._select_tools))
            self.end = await self._turn.run()
        except RunaxError as error:
            self.end = Stopped(error, self._stream.text, self._stream.streamed)
        return self.end

    def stopped_by(self, error: BaseException) -> TurnEnd:
        """How it ended if `error` ended the run. A sub-question may have ended before; the whole question has not."""
        if self.end is not None and self.input.number is not None:
            return self.end
        return Stopped(error, self.text, self._stream.streamed)

    def _answer_stream(self, on_text: OnText | None) -> AnswerStream:
        return AnswerStream(
            self.emitter,
            check=self._check,
            on_text=on_text,
            may_stream=lambda text: not self._lacks_data(text) and find_repetition(text) is None,
            is_silent=self.input.number is not None,
        )

    def _check(self, answer: str) -> list[CheckedStatement]:
        """Check a text against what its calls have shown so far. Blocking."""
        shown = self._shown_so_far()
        return check_statements(answer, shown, question=self._run.user_text, asked=self.input.sub.question)

    def _shown_so_far(self) -> ShownData:
        """What the session and the calls have shown. Kept until another call returns, since it is indexed once."""
        outcomes = [call.outcome for call in self.calls.requested if call.outcome is not None]
        if self._shown[0] != len(outcomes):
            self._shown = (len(outcomes), self._run.shown.with_outcomes(outcomes))
        return self._shown[1]

    def _lacks_data(self, answer: str) -> bool:
        """Whether an answer needs data and is based on none."""
        return self.needs_data and uses_no_data(answer, self.calls.requested, self._run.shown)

    def _tool_selection(self) -> ToolSelection:
        run, registry = self._run, self._run.registry
        limits = run.tool_limits.capped_to(registry.config(Role.AGENT).effective_tokens)
        return ToolSelection(run.tools, run.tools.sources, limits=limits, counter=registry.counter(Role.AGENT))

    def _select_tools(self) -> ToolsOffered:
        self._tools.select_for(self.input.sub.question)
        return tools_offered(self._tools, self._run.tools.sources)

    def _tool_brevity(self) -> ToolBrevity | None:
        """None with the rules model, which reads arguments from schemas only."""
        run = self._run
        if run.registry.config(Role.AGENT).is_rules:
            return None
        return ToolBrevity(tools=run.tools.sources, datasets=run.datasets)

    def _as_offered(self, schema: ToolSchema) -> ToolSchema:
        if self._brevity is None or self._tools.is_partial:
            return schema
        return self._brevity.schema(schema, self.calls.requested)

    def _context(self) -> TurnContext:
        run, registry = self._run, self._run.registry
        return TurnContext(
            system=prompts.AGENT_SYSTEM.fill(today=run.today),
            question=self.input.text,
            history=run.history,
            tools=self._tools.offered,
            dataset_tools=lambda: run.tools.dataset_tools,
            future_tools=() if run.tools.data is None else run.tools.data.all,
            counter=registry.counter(Role.AGENT),
            effective_tokens=registry.config(Role.AGENT).effective_tokens,
            run_id=run.run_id,
            as_shown=self._as_offered,
            can_summarize=not registry.config(Role.AGENT).is_rules,
            entities=() if registry.config(Role.AGENT).is_rules else run.entities,
        )

    def _calls(self, context: TurnContext) -> TurnCalls:
        run, sub = self._run, self.input.sub
        dependencies = CallDependencies(
            tools=self._tools,
            on_requested=self._tools.pin,
            executor=self._with_tool_search(),
            policy=run.policy,
            budget=self.budget,
            emitter=self.emitter,
            reducer=run.model(Role.REDUCER, budget=self.budget, emitter=self.emitter),
            question=sub.question,
            need=sub.need,
            parallel_calls=run.parallel_calls,
            direct_limit=context.direct_limit,
            measure=context.token_bound,
            labeller=run.model(Role.LABELLER, budget=self.budget, emitter=self.emitter),
            datasets=run.datasets,
        )
        return TurnCalls(dependencies)

    def _with_tool_search(self) -> ToolSearchMiddleware:
        run = self._run
        counter = run.registry.counter(Role.AGENT)
        return ToolSearchMiddleware(
            inner=run.executor, selection=self._tools, registry=run.tools.sources, counter=counter, clock=run.clock
        )

    def _turn_dependencies(self, context: TurnContext) -> TurnDependencies:
        counter = self._run.registry.counter(Role.AGENT)
        number = self.input.number
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
            early_answer=lambda: self._run.early_answer(number),
            lacks_data=self._lacks_data,
            sweeper=self.sweeper,
        )

    def _entity_sweeper(self) -> EntitySweeper | None:
        """The sweeper of a sub-question that asks for everything about an entity; else None."""
        question, sources, budget = self.input.sub.question, self._run.tools.sources, self.budget
        request = entity_request(question, nouns=sources.nouns)
        if request is None:
            return None
        return EntitySweeper(question, request, sources, calls_left=lambda: budget.remaining("calls"))

    def _summarizer(self) -> Summarizer | None:
        """None with the rules model, which understands results but no summaries: results are folded instead."""
        run, registry = self._run, self._run.registry
        if registry.config(Role.AGENT).is_rules:
            return None
        return Summarizer(
            run.model(Role.SUMMARIZER, budget=self.budget, emitter=self.emitter),
            registry.counter(Role.SUMMARIZER),
            question=self.input.text,
            effective_tokens=registry.config(Role.SUMMARIZER).effective_tokens,
            emitter=self.emitter,
            run_id=run.run_id,
        )


def warn_not_recorded(emitter: Emitter, error: StoreError) -> None:
    """Warn that the journal does not contain the whole run."""
    emitter.emit(Warned(code="store_error", text=f"the run could not be recorded completely: {error}"))
