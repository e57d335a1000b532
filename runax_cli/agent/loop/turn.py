"""The loop of one sub-question: ask the model and run the calls it requests, until it answers or has to stop.

Each step returns a value that says what comes next: run again, force the answer, or an end.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

from runax_cli.agent import prompts
from runax_cli.agent.evidence.shown import entities_of
from runax_cli.agent.evidence.verify import strip_certificates
from runax_cli.agent.loop.answer_stream import AnswerStream
from runax_cli.agent.loop.context import TurnContext
from runax_cli.agent.loop.entity_sweeper import EntitySweeper
from runax_cli.agent.loop.repetition import Repetition, cut_repetition, find_repetition
from runax_cli.agent.loop.summarizer import Summarizer
from runax_cli.agent.loop.tool_calls import TurnCalls
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.agent.result.verdict import Answered, Limited, Stopped, TurnEnd
from runax_cli.core.budget import Amount, Budget, Reservation
from runax_cli.core.errors import (
    BudgetExhausted,
    ConfigurationError,
    ContextTooLong,
    ModelError,
    ModelReplyInvalid,
    NoProgress,
)
from runax_cli.core.event_types import BudgetNoted, ContextMeasured, Warned
from runax_cli.core.events import Emitter
from runax_cli.core.results import counted
from runax_cli.core.untrusted_text import without_template_marks
from runax_cli.memory.conversation import WorkingMemory
from runax_cli.models.base import Message, Model, ModelReply, ModelRequest, Prompt, ToolCall

MAX_EMPTY_REPLIES = 2
MAX_CALLS_PER_REPLY = 32
_TOKENS_PER_CALL = 256
"""The context that a call and the shortest form of its result may take."""
_ANSWER_RESERVE_SHARE = 8


@dataclass(frozen=True, slots=True)
class RunAgain:
    """The model gets another step."""


@dataclass(frozen=True, slots=True)
class ForceAnswer:
    """A limit is reached, or there is no progress: the model gets one last reply, without tools."""

    why: BudgetExhausted | NoProgress


StepOutcome: TypeAlias = RunAgain | ForceAnswer | TurnEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDependencies:
    """What a turn needs. `is_calibrated` returns whether the endpoint has reported its own token count.

    `call_prefix` makes the ids of its calls unique in the run. `early_answer` is called after each step with calls: if
    it returns a text, that is the answer. `lacks_data` returns whether an answer needs data and is based on none.
    `sweeper` may request calls before each step of the model.
    """

    model: Model
    context: TurnContext
    calls: TurnCalls
    budget: Budget
    emitter: Emitter
    stream: AnswerStream
    is_calibrated: Callable[[], bool]
    summarizer: Summarizer | None = None
    call_prefix: str = "call"
    early_answer: Callable[[], str | None] = lambda: None
    lacks_data: Callable[[str], bool] = lambda _answer: False
    sweeper: EntitySweeper | None = None


class Turn:
    """Runs one turn: from the question to its end."""

    def __init__(self, dependencies: TurnDependencies) -> None:
        self._deps = dependencies
        self._working = WorkingMemory()
        self._empty_replies = 0
        self._has_repeated = False
        self._was_told_to_call = False
        self._n_calls = 0
        self._answer_budget: Reservation | None = None
        self._was_too_long = False

    async def run(self) -> TurnEnd:
        """Run to the end. Raises ConfigurationError if question and tools do not fit the context.

        Errors of the model and limits are ends; cancellation propagates.
        """
        try:
            outcome: StepOutcome = await self._start()
            while True:
                match outcome:
                    case RunAgain():
                        outcome = await self._step()
                    case ForceAnswer(why):
                        return await self._force_answer(why)
                    case Answered() | Limited() | Stopped():
                        return outcome
                    case _:
                        assert_never(outcome)
        finally:
            self._release()

    async def _start(self) -> StepOutcome:
        """Check that the first request fits. If it does not, calibrate the token counter with a small request first."""
        try:
            self._answer_budget = await self._reserve_answer_budget()
        except BudgetExhausted as limit:
            return ForceAnswer(limit)
        context = self._deps.context
        first = await context.fit_request(self._working)
        if not first.fits and not self._deps.is_calibrated():
            try:
                await self._deps.model.complete(context.calibration_request(prompts.AGENT_CALIBRATION.text))
            except (ModelError, BudgetExhausted) as error:
                return Stopped(error)
            first = await context.fit_request(self._working)
        if not first.fits:
            raise ConfigurationError(
                f"the question and {counted(len(first.request.tools), 'tool')} need up to {first.bound_tokens:,} "
                f"tokens, but the effective context has {context.effective_tokens:,}, of which "
                f"{context.answer_reserve:,} are reserved for the answer. Shorten the question, "
                "select fewer tools with --tools, or raise "
                "LLM_MAX_CONTEXT or LLM_CONTEXT_UTILIZATION.",
                setting="LLM_MAX_CONTEXT",
            )
        return RunAgain()

    async def _step(self) -> StepOutcome:
        if (planned := await self._planned_step()) is not None:
            return planned
        try:
            async with self._deps.budget.reservation(Amount(steps=1)):
                reply = await self._reply(is_last=False)
        except BudgetExhausted as limit:
            return ForceAnswer(limit)
        except ModelError as error:
            return self._stopped(error)
        if reply.tool_calls:
            return await self._run_calls(reply)
        return await self._handle_text(reply)

    async def _planned_step(self) -> StepOutcome | None:
        """Run the calls that code requests; None if there are none."""
        sweeper = self._deps.sweeper
        planned = None if sweeper is None else await sweeper.next_step(self._deps.calls.requested)
        if planned is None:
            return None
        outcome = await self._run_calls(ModelReply(text="", model="", tool_calls=planned.calls))
        if planned.note:
            self._working.add(Message("user", planned.note))
        return outcome

    async def _handle_text(self, reply: ModelReply) -> StepOutcome:
        text = strip_certificates(reply.text)
        if not text:
            return self._handle_empty(reply)
        if (repetition := find_repetition(text)) is not None:
            return await self._handle_repetition(text, repetition)
        if not self._was_told_to_call and self._deps.lacks_data(text):
            self._was_told_to_call = True
            why = "the answer is based on no data; the model is asked to call a tool first"
            return self._ask_again(prompts.AGENT_CALL_FIRST, code="no_data_used", why=why)
        await self._deps.stream.finish(text)
        return Answered(text, self._deps.stream.streamed)

    def _handle_empty(self, reply: ModelReply) -> StepOutcome:
        self._empty_replies += 1
        if self._empty_replies < MAX_EMPTY_REPLIES:
            self._working.add(Message("user", prompts.AGENT_EMPTY.text))
            return RunAgain()
        return Stopped(_empty_reply_error(reply.model))

    async def _handle_repetition(self, text: str, repetition: Repetition) -> StepOutcome:
        """Ask once more for an answer that does not repeat itself. A second repetition ends the turn."""
        why = f"the reply repeats itself: '{repetition.text}'"
        if not self._has_repeated:
            self._has_repeated = True
            return self._ask_again(prompts.AGENT_REPEATED, code="reply_repeated", why=f"{why}; it is asked for again")
        error = NoProgress(f"{why}, also when it was asked for again. Ask in other words, or use another model.")
        self._emit_stop(error)
        answer = cut_repetition(text, repetition)
        await self._deps.stream.finish(answer)
        return Limited(answer, error, self._deps.stream.streamed)

    def _ask_again(self, prompt: Prompt, *, code: str, why: str) -> StepOutcome:
        """Reject a reply. It does not stay in the conversation, where the model would repeat it."""
        self._deps.stream.discard()
        self._deps.emitter.emit(Warned(code=code, text=why))
        self._working.add(Message("user", prompt.text))
        return RunAgain()

    def _stopped(self, error: ModelError) -> Stopped:
        return Stopped(error, self._deps.stream.text, self._deps.stream.streamed)

    async def _run_calls(self, reply: ModelReply) -> StepOutcome:
        self._deps.stream.discard()
        self._empty_replies = 0
        calls = self._with_own_ids(await self._limit_calls(reply))
        self._working.add(Message("assistant", reply.text, tool_calls=calls))
        result = await self._deps.calls.run(calls, free_tokens=await self._deps.context.free_tokens(self._working))
        await self._add_results(result.calls)
        if (text := self._deps.early_answer()) is not None:
            return Answered(text)
        return RunAgain() if result.stop is None else ForceAnswer(result.stop)

    async def _force_answer(self, limit: BudgetExhausted | NoProgress) -> TurnEnd:
        """Get the last reply, without tools. It may use the reserved budget, and is shortened to what is left."""
        self._emit_stop(limit)
        self._release()
        self._working.add(Message("user", prompts.AGENT_FORCED.fill(reason=_stop_reason(limit))))
        try:
            reply = await self._reply(is_last=True)
        except BudgetExhausted as second:
            why = second if isinstance(limit, NoProgress) else limit
            return Limited(self._deps.stream.text, why, self._deps.stream.streamed)
        except ModelError as error:
            return self._stopped(error)
        text = strip_certificates(reply.text)
        if (repetition := find_repetition(text)) is not None:
            text = cut_repetition(text, repetition)
        await self._deps.stream.finish(text)
        if reply.tool_calls:
            ignored = "the model requested calls in its last reply, which has no tools; they were ignored"
            self._deps.emitter.emit(Warned(code="calls_ignored", text=ignored))
        return Limited(text, limit, self._deps.stream.streamed)

    async def _reply(self, *, is_last: bool) -> ModelReply:
        """Get a reply. A request that the endpoint rejects as too long is shortened and sent again, once."""
        try:
            return await self._send(is_last=is_last)
        except ContextTooLong as error:
            if self._was_too_long:
                raise
            self._was_too_long = True
            self._deps.emitter.emit(Warned(code="context_too_long", text=f"request shortened and sent again: {error}"))
            return await self._send(is_last=is_last)

    async def _send(self, *, is_last: bool) -> ModelReply:
        await self._summarize()
        most = self._deps.budget.remaining("tokens") if is_last else None
        sized = await self._deps.context.fit_request(self._working, is_last=is_last, most_tokens=most)
        for call_id in sized.folded:
            self._deps.calls.forget(call_id)
        self._emit_context(sized.used_tokens, sized.folded)
        request = sized.request if most is None else _with_less_output(sized.request, most - sized.bound_tokens)
        async with self._deps.stream.reply() as on_text:
            return await self._deps.model.complete(request, on_text=on_text)

    async def _summarize(self) -> None:
        if self._deps.summarizer is None:
            return
        for call_id in await self._deps.summarizer.summarize_if_long(self._deps.context, self._working):
            self._deps.calls.forget(call_id)

    async def _limit_calls(self, reply: ModelReply) -> Sequence[ToolCall]:
        """The first calls of a reply: the results of more would not fit the context together."""
        requested, free_tokens = reply.tool_calls, await self._deps.context.free_tokens(self._working)
        most = max(1, min(MAX_CALLS_PER_REPLY, free_tokens // _TOKENS_PER_CALL))
        if len(requested) > most:
            text = f"the model requested {len(requested):,} calls in one reply; only the first {most} are considered"
            self._deps.emitter.emit(Warned(code="too_many_calls", text=text))
        return requested[:most]

    def _with_own_ids(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """Give the calls ids that are unique in the run: some endpoints send none, or the same one twice."""
        owned = []
        for call in calls:
            self._n_calls += 1
            owned.append(replace(call, id=f"{self._deps.call_prefix}_{self._n_calls}"))
        return tuple(owned)

    async def _add_results(self, calls: Sequence[RequestedCall]) -> None:
        for call in calls:
            entities, is_in_view = await asyncio.to_thread(entities_of, call.outcome)
            hint = prompts.AGENT_FOLDED.fill(tool=call.report.tool)
            pointer = call.envelope.model_copy(update={"data": None, "next_action_hint": hint}).to_model_text()
            text = without_template_marks(call.envelope.to_model_text())
            self._working.add_result(call.call_id, text, pointer=pointer, named=entities, is_visible=is_in_view)

    async def _reserve_answer_budget(self) -> Reservation:
        """Reserve a share of tokens and money, so that there is an answer even if calls exhaust the budget."""
        budget, share = self._deps.budget, _ANSWER_RESERVE_SHARE
        await budget.refresh()
        tokens, usd = budget.remaining("tokens"), budget.remaining("usd")
        amount = Amount(
            tokens=0 if tokens is None else min(self._deps.context.effective_tokens, int(tokens) // share),
            usd=0.0 if usd is None else usd / share,
        )
        return await budget.reserve_shared(amount)

    def _release(self) -> None:
        if self._answer_budget is not None:
            self._answer_budget.settle(Amount())

    def _emit_stop(self, limit: BudgetExhausted | NoProgress) -> None:
        if isinstance(limit, NoProgress):
            self._deps.emitter.emit(Warned(code="no_progress", text=str(limit)))
            return
        self._deps.emitter.emit(
            BudgetNoted(resource=limit.resource, used=limit.used, limit=limit.limit, is_exhausted=True, text=str(limit))
        )

    def _emit_context(self, used_tokens: int, folded: Sequence[str]) -> None:
        context = self._deps.context
        if folded:
            tools = ", ".join(self._tool_of(call_id) for call_id in folded)
            text = f"results removed from the context to make room: {tools}"
            self._deps.emitter.emit(Warned(code="context_folded", text=text))
        self._deps.emitter.emit(ContextMeasured(used_tokens=used_tokens, effective_tokens=context.effective_tokens))

    def _tool_of(self, call_id: str) -> str:
        names: Mapping[str, Any] = {call.call_id: call.report for call in self._deps.calls.requested}
        report = names[call_id]
        return f"{report.tool} ({report.dataset})" if report.dataset else str(report.tool)


def _with_less_output(request: ModelRequest, rest: float) -> ModelRequest:
    """The request, with its output limited to the rest of the budget."""
    return replace(request, max_output_tokens=int(min(request.max_output_tokens, max(rest, 1))))


def _stop_reason(limit: BudgetExhausted | NoProgress) -> str:
    if isinstance(limit, NoProgress):
        return str(limit)
    if limit.owner in ("session", "day") or limit.owner.startswith("tenant"):
        return f"the limit of {limit.limit:g} {limit.resource} of the {limit.owner} is reached"
    return f"the limit of {limit.limit:g} {limit.resource} for this question is reached"


def _empty_reply_error(model: str) -> ModelReplyInvalid:
    return ModelReplyInvalid(
        f"the model '{model}' returned {MAX_EMPTY_REPLIES} empty replies, without text or a call. Ask again, or choose "
        "another model with LLM_NAME.",
        model=model,
        retryable=False,
    )
