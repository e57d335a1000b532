"""The loop of one part of a question: ask the model, run the calls it asks for, until it answers or has to stop.

Each pass ends in a small value that says what comes next: run again, force the answer, or an end. Knows the order of
things. Knows nothing of how a call runs, what an answer proves, and who listens.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

from runax_cli.agent import prompts
from runax_cli.agent.evidence.shown import named_by
from runax_cli.agent.loop.context import Summarizer, TurnContext
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
from runax_cli.core.event_types import AnswerDelta, BudgetNoted, ContextMeasured, Warned
from runax_cli.core.events import Emitter
from runax_cli.core.untrusted_text import without_template_marks
from runax_cli.memory.conversation import WorkingMemory
from runax_cli.models.base import Message, Model, ModelReply, ModelRequest, OnText, ToolCall

_PARAGRAPH_END = "\n\n"


class AnswerStream:
    """Hands pieces of the answer to the event stream, and to `on_text` where somebody listens.

    A stream that is silent keeps the text to itself: a part is heard when the answer of all parts is put together.
    """

    def __init__(self, emitter: Emitter, *, on_text: OnText | None, is_end_unconfirmed: bool = False) -> None:
        self._emitter = emitter
        self._on_text = on_text
        self._is_silent = is_end_unconfirmed
        self._held = ""
        self.text = ""

    def begin(self) -> None:
        """A reply is about to come."""
        self._held, self.text = "", ""

    def take(self, piece: str) -> None:
        """A piece of the reply."""
        was_held = _PARAGRAPH_END not in self.text
        self.text += piece
        if not was_held:
            self._hand_over(piece)
        elif _PARAGRAPH_END in self.text:
            self._held = ""
            self._hand_over(self.text)
        else:
            self._held = self.text

    def finish(self) -> None:
        """The reply is the answer: hand over what was held back."""
        held, self._held = self._held, ""
        if held:
            self._hand_over(held)

    def discard(self) -> None:
        """The reply was none."""
        self._held, self.text = "", ""

    def _hand_over(self, piece: str) -> None:
        if self._is_silent:
            return
        self._emitter.emit(AnswerDelta(text=piece))
        if self._on_text is not None:
            self._on_text(piece)


MOST_EMPTY_REPLIES = 2
MOST_CALLS_OF_A_REPLY = 32
_TOKENS_OF_A_CALL = 256
"""What a call and the shortest form of its result may take of the context."""
_ANSWER_SHARE_OF_BUDGET = 8


@dataclass(frozen=True, slots=True)
class RunAgain:
    """The model gets another step."""


@dataclass(frozen=True, slots=True)
class ForceAnswer:
    """A limit is reached, or the steps lead nowhere: the model gets one last reply, without tools."""

    why: BudgetExhausted | NoProgress


StepOutcome: TypeAlias = RunAgain | ForceAnswer | TurnEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDependencies:
    """What a turn works with. `is_calibrated` says whether the bound of a request is already better than its bytes.

    `call_prefix` begins the ids of its calls, which are unique in the run. `halted` is asked after each step with
    calls: where it gives a text, that is the end.
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
    halted: Callable[[], str | None] = lambda: None


class Turn:
    """One question on its way to an answer."""

    def __init__(self, parts: TurnDependencies) -> None:
        self._parts = parts
        self._working = WorkingMemory()
        self._empty_replies = 0
        self._n_calls = 0
        self._kept_back: Reservation | None = None
        self._was_refused = False

    async def run(self) -> TurnEnd:
        """Until the end. Raises ConfigurationError where the tools alone are too much for the context.

        Cancellation passes through; errors of the model and limits are ends.
        """
        try:
            outcome: StepOutcome = await self._begin()
            while True:
                match outcome:
                    case RunAgain():
                        outcome = await self._step()
                    case ForceAnswer(why):
                        return await self._forced(why)
                    case Answered() | Limited() | Stopped():
                        return outcome
                    case _:
                        assert_never(outcome)
        finally:
            self._release()

    async def _begin(self) -> StepOutcome:
        """See that the first request fits; an endpoint that was never measured is measured by a small one first."""
        try:
            self._kept_back = await self._keep_back_for_the_answer()
        except BudgetExhausted as limit:
            return ForceAnswer(limit)
        context = self._parts.context
        first = await context.fitted(self._working)
        if not first.is_fitting and not self._parts.is_calibrated():
            try:
                await self._parts.model.complete(context.calibration(prompts.AGENT_CALIBRATION.text))
            except (ModelError, BudgetExhausted) as error:
                return Stopped(error)
            first = await context.fitted(self._working)
        if not first.is_fitting:
            raise ConfigurationError(
                f"question and tools ({len(first.request.tools)}) may take {first.bound_tokens:,} tokens, and the "
                f"effective context has {context.effective_tokens:,}, of which {context.answer_reserve:,} are kept for "
                "the answer. Shorten the question, leave tools out with --tools, or raise LLM_MAX_CONTEXT or "
                "LLM_CONTEXT_UTILIZATION.",
                setting="LLM_MAX_CONTEXT",
            )
        return RunAgain()

    async def _step(self) -> StepOutcome:
        try:
            async with self._parts.budget.reservation(Amount(steps=1)):
                reply = await self._reply(is_last=False)
        except BudgetExhausted as limit:
            return ForceAnswer(limit)
        except ModelError as error:
            return Stopped(error, self._parts.stream.text)
        if reply.tool_calls:
            return await self._called(reply)
        return self._said(reply)

    def _said(self, reply: ModelReply) -> StepOutcome:
        if reply.text.strip():
            self._parts.stream.finish()
            return Answered(reply.text)
        self._empty_replies += 1
        if self._empty_replies < MOST_EMPTY_REPLIES:
            self._working.add(Message("user", prompts.AGENT_EMPTY.text))
            return RunAgain()
        return Stopped(_nothing_said(reply.model))

    async def _called(self, reply: ModelReply) -> StepOutcome:
        self._parts.stream.discard()
        self._empty_replies = 0
        calls = self._with_own_ids(await self._first_calls(reply))
        self._working.add(Message("assistant", reply.text, tool_calls=calls))
        result = await self._parts.calls.run(calls, room=await self._parts.context.room(self._working))
        await self._add_results(result.calls)
        if (text := self._parts.halted()) is not None:
            return Answered(text)
        return RunAgain() if result.stop is None else ForceAnswer(result.stop)

    async def _forced(self, limit: BudgetExhausted | NoProgress) -> TurnEnd:
        """The last reply, without tools; it may use what was kept back, and shrinks to what the budget still has."""
        self._tell_stop(limit)
        self._release()
        self._working.add(Message("user", prompts.AGENT_FORCED.fill(reason=_reason(limit))))
        try:
            reply = await self._reply(is_last=True)
        except BudgetExhausted as second:
            return Limited(self._parts.stream.text, second if isinstance(limit, NoProgress) else limit)
        except ModelError as error:
            return Stopped(error, self._parts.stream.text)
        self._parts.stream.finish()
        if reply.tool_calls:
            text = "the model went on asking for calls after its tools were taken away"
            self._parts.emitter.emit(Warned(code="calls_ignored", text=text))
        return Limited(reply.text, limit)

    async def _reply(self, *, is_last: bool) -> ModelReply:
        """The model's reply. What the endpoint refuses as too long is shortened and sent once more."""
        try:
            return await self._sent(is_last=is_last)
        except ContextTooLong as error:
            if self._was_refused:
                raise
            self._was_refused = True
            self._parts.emitter.emit(Warned(code="context_too_long", text=f"shortened and sent again: {error}"))
            return await self._sent(is_last=is_last)

    async def _sent(self, *, is_last: bool) -> ModelReply:
        await self._shorten()
        most = self._parts.budget.remaining("tokens") if is_last else None
        fitted = await self._parts.context.fitted(self._working, is_last=is_last, most_tokens=most)
        for call_id in fitted.folded:
            self._parts.calls.forget(call_id)
        self._tell_context(fitted.used_tokens, fitted.folded)
        request = fitted.request if most is None else _with_less_output(fitted.request, most - fitted.bound_tokens)
        self._parts.stream.begin()
        return await self._parts.model.complete(request, on_text=self._parts.stream.take)

    async def _shorten(self) -> None:
        if self._parts.summarizer is None:
            return
        for call_id in await self._parts.summarizer.shorten(self._parts.context, self._working):
            self._parts.calls.forget(call_id)

    async def _first_calls(self, reply: ModelReply) -> Sequence[ToolCall]:
        """As many calls as one reply may ask for: the answers to more would not fit beside each other."""
        asked, room = reply.tool_calls, await self._parts.context.room(self._working)
        most = max(1, min(MOST_CALLS_OF_A_REPLY, room // _TOKENS_OF_A_CALL))
        if len(asked) > most:
            text = f"the model asked for {len(asked):,} calls at once; the first {most} are looked at"
            self._parts.emitter.emit(Warned(code="too_many_calls", text=text))
        return asked[:most]

    def _with_own_ids(self, calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
        """Ids that are unique in the run: some endpoints send none, or the same one twice."""
        owned = []
        for call in calls:
            self._n_calls += 1
            owned.append(replace(call, id=f"{self._parts.call_prefix}_{self._n_calls}"))
        return tuple(owned)

    async def _add_results(self, calls: Sequence[RequestedCall]) -> None:
        for call in calls:
            named, is_in_view = await asyncio.to_thread(named_by, call)
            hint = prompts.AGENT_FOLDED.fill(tool=call.report.tool)
            pointer = call.envelope.model_copy(update={"data": None, "next_action_hint": hint}).to_model_text()
            text = without_template_marks(call.envelope.to_model_text())
            self._working.add_result(call.call_id, text, pointer=pointer, named=named, is_visible=is_in_view)

    async def _keep_back_for_the_answer(self) -> Reservation:
        """A share of tokens and money that no call may use up, so that a limit still leaves an answer."""
        budget, share = self._parts.budget, _ANSWER_SHARE_OF_BUDGET
        await budget.refresh()
        tokens, usd = budget.remaining("tokens"), budget.remaining("usd")
        amount = Amount(
            tokens=0 if tokens is None else min(self._parts.context.effective_tokens, int(tokens) // share),
            usd=0.0 if usd is None else usd / share,
        )
        return await budget.reserve_shared(amount)

    def _release(self) -> None:
        if self._kept_back is not None:
            self._kept_back.settle(Amount())

    def _tell_stop(self, limit: BudgetExhausted | NoProgress) -> None:
        if isinstance(limit, NoProgress):
            self._parts.emitter.emit(Warned(code="no_progress", text=str(limit)))
            return
        self._parts.emitter.emit(
            BudgetNoted(resource=limit.resource, used=limit.used, limit=limit.limit, is_exhausted=True, text=str(limit))
        )

    def _tell_context(self, used_tokens: int, folded: Sequence[str]) -> None:
        context = self._parts.context
        if folded:
            tools = ", ".join(self._tool_of(call_id) for call_id in folded)
            text = f"results were taken out of the context to make room: {tools}"
            self._parts.emitter.emit(Warned(code="context_folded", text=text))
        self._parts.emitter.emit(ContextMeasured(used_tokens=used_tokens, effective_tokens=context.effective_tokens))

    def _tool_of(self, call_id: str) -> str:
        names: Mapping[str, Any] = {call.call_id: call.report for call in self._parts.calls.made}
        report = names[call_id]
        return f"{report.tool} ({report.dataset})" if report.dataset else str(report.tool)


def _with_less_output(request: ModelRequest, rest: float) -> ModelRequest:
    """A reply within what is left of the budget, where that is less than its reserve but still a reply."""
    return replace(request, max_output_tokens=int(min(request.max_output_tokens, max(rest, 1))))


def _reason(limit: BudgetExhausted | NoProgress) -> str:
    if isinstance(limit, NoProgress):
        return str(limit)
    if limit.owner in ("session", "day") or limit.owner.startswith("tenant"):
        return f"the limit of {limit.limit:g} {limit.resource} of the {limit.owner} is reached"
    return f"the limit of {limit.limit:g} {limit.resource} for this question is reached"


def _nothing_said(model: str) -> ModelReplyInvalid:
    return ModelReplyInvalid(
        f"the model '{model}' gave an empty reply {MOST_EMPTY_REPLIES} times, with neither text nor a call. Ask again, "
        "or choose another model with LLM_NAME.",
        model=model,
        retryable=False,
    )
