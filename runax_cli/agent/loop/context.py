"""What the main model sees of a turn, kept under the effective context.

System prompt, as much of the history as fits its share, the question, and working memory. Where that is too much, the
oldest results are folded into pointers until it fits. Decides by the counter's bound, shows its estimate. Knows
nothing of what is said in a message.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runax_cli.agent import prompts
from runax_cli.agent.evidence.citations import cited_in
from runax_cli.core.errors import BudgetExhausted, ModelError
from runax_cli.core.event_types import TokensChanged, Warned
from runax_cli.core.events import Emitter
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.executor.packing import truncate_middle
from runax_cli.memory.conversation import (
    MAX_ENTITIES_CHARS,
    Exchange,
    History,
    RecordEntity,
    WorkingMemory,
    describe_entities,
    rank_entities,
)
from runax_cli.models.base import Message, Model, ModelRequest, Role, ToolSchema
from runax_cli.models.tokens import CalibratedCounter, bound_off_loop, measure, measure_off_loop

SHARE = 0.7
MOST_TOKENS = 40_000
UNTOUCHED = 4
"""The last messages are never summarised."""
OUTPUT_TOKENS = 1024
MARK = "[Previous conversation summary]"
_LEAST_A_MESSAGE = 64
_MOST_REFERENCES = 200
_MOST_IDENTIFIERS = 100
_IDENTIFIER = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b"
    r"|\b[A-Za-z]{1,12}[-_][A-Za-z0-9_-]*\d[A-Za-z0-9_-]{0,40}\b"
    r"|\"\w{0,20}[iI][dD]\"\s*:\s*(?:\"[^\"]{1,60}\"|\d{1,18})"
)
_DATASET = re.compile(r"\"(?:dataset|ref)\"\s*:\s*\"([A-Za-z]\w{0,60})\"")


@dataclass(frozen=True, slots=True)
class MustKeep:
    """What a summary may not lose, in the order in which it was named."""

    references: tuple[str, ...]
    identifiers: tuple[str, ...]

    def lines(self) -> str:
        """As it stands under a summary; nothing where there is nothing."""
        named = (("References", self.references), ("Identifiers", self.identifiers))
        return "\n".join(f"{title}: {', '.join(values)}" for title, values in named if values)


def most_tokens(effective_tokens: int) -> int:
    """Above so many prompt tokens the older part is summarised."""
    return min(int(effective_tokens * SHARE), MOST_TOKENS)


def cut_of(messages: Sequence[Message]) -> int:
    """How many messages, from the first, are the older part. A call is never parted from its results."""
    cut = max(0, len(messages) - UNTOUCHED)
    while cut and messages[cut].role == "tool":
        cut -= 1
    return cut


def kept_of(messages: Sequence[Message]) -> MustKeep:
    """References and identifiers in messages; the latest ones where there are too many."""
    references: dict[str, None] = {}
    identifiers: dict[str, None] = {}
    for message in messages:
        cited = cited_in(message.content)
        named = [f"{one.dataset}#{one.row}" for one in cited.records] + [*cited.datasets, *cited.queries]
        for name in named + _DATASET.findall(message.content):
            references[name] = references.pop(name, None)
        for found in _IDENTIFIER.findall(message.content):
            identifiers[found] = identifiers.pop(found, None)
    return MustKeep(tuple(references)[-_MOST_REFERENCES:], tuple(identifiers)[-_MOST_IDENTIFIERS:])


def block_of(summary: str, kept: MustKeep) -> Message:
    """The one message that stands for the older part."""
    text = prompts.SUMMARY_BLOCK.fill(
        mark=MARK, summary=escape_for_prompt(summary.strip()), kept=escape_for_prompt(kept.lines())
    )
    return Message("user", text.rstrip())


def request_for(
    older: Sequence[Message], question: str, counter: CalibratedCounter, *, effective_tokens: int, run_id: str
) -> ModelRequest:
    """The request for a summary, within `effective_tokens`: long messages lose their middle. Blocking: it counts."""
    empty = _request("", question, run_id)
    room = effective_tokens - OUTPUT_TOKENS - measure(empty, counter).bound(counter)
    each = max(_LEAST_A_MESSAGE, room // max(1, len(older)) - _LEAST_A_MESSAGE // 2)
    lines = [f"{message.role}: {truncate_middle(_said(message), counter.bound, max_tokens=each)}" for message in older]
    shown = truncate_middle("\n".join(lines), counter.bound, max_tokens=max(1, room))
    return _request(escape_for_prompt(shown), question, run_id)


def _request(conversation: str, question: str, run_id: str) -> ModelRequest:
    user = prompts.SUMMARY_USER.fill(question=question, conversation=conversation)
    messages = (Message("system", prompts.SUMMARY_SYSTEM.text), Message("user", user))
    return ModelRequest(role=Role.SUMMARIZER, messages=messages, max_output_tokens=OUTPUT_TOKENS, run_id=run_id)


def _said(message: Message) -> str:
    calls = " ".join(f"{call.name}({call.arguments})" for call in message.tool_calls)
    return " ".join(part for part in (message.content, calls) if part)


MOST_ANSWER_TOKENS = 4096
_HISTORY_SHARE = 8
_ANSWER_SHARE = 8
_DIRECT_SHARE = 4
_LEAST_DIRECT_SHARE = 16
_KNOWN_SHARE = 16


@dataclass(frozen=True, slots=True)
class FittedRequest:
    """A request that fits; `used_tokens` is the estimate of its size, `bound_tokens` what it cannot exceed.

    `folded` are the calls whose results had to make room. `is_fitting` False: there was nothing left to fold.
    """

    request: ModelRequest
    used_tokens: int
    bound_tokens: int
    folded: tuple[str, ...]
    is_fitting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderMessages:
    """The older part of a conversation, where it stood, and the tokens of all that is said."""

    messages: tuple[Message, ...]
    n_history: int
    n_working: int
    used_tokens: int


class TurnContext:
    """The fixed parts of a turn, and the arithmetic of what is left beside them. All sizes are in tokens."""

    def __init__(
        self,
        *,
        system: str,
        question: str,
        history: History,
        tools: Sequence[ToolSchema],
        counter: CalibratedCounter,
        effective_tokens: int,
        run_id: str,
        later: Callable[[], Sequence[ToolSchema]] = tuple,
        to_come: Sequence[ToolSchema] = (),
        can_summarize: bool = False,
        named: Sequence[RecordEntity] = (),
    ) -> None:
        """`tools` may change from request to request: more are put on the list as they are found.

        `later` are further tools that can be called at a moment, `to_come` those that there may be at most.

        `can_summarize` is set where somebody makes summaries of what is older. `named` is what records of earlier turns
        named: a question that goes on may mean it.
        """
        earlier = history.latest(effective_tokens // _HISTORY_SHARE, measure=counter.bound)
        self.effective_tokens = effective_tokens
        known = self._known(named, question)
        self._system = Message("system", system)
        self._asked = Message("user", f"{question}\n\n{known}" if known else question)
        self._summary: tuple[Message, ...] = ()
        self._history = _messages(earlier)
        self._question = question
        self._summary_tokens = most_tokens(effective_tokens) if can_summarize else None
        self._tools, self._later, self._to_come = tools, later, tuple(to_come)
        self._counter = counter
        self._run_id = run_id
        self.answer_reserve = min(MOST_ANSWER_TOKENS, effective_tokens // _ANSWER_SHARE)

    async def fitted(
        self, working: WorkingMemory, *, is_last: bool = False, most_tokens: float | None = None
    ) -> FittedRequest:
        """The next request. `is_last` leaves the tools out; `most_tokens` (reply included) may ask for less still."""
        limit = self.effective_tokens if most_tokens is None else min(self.effective_tokens, most_tokens)
        folded: list[str] = []
        while True:
            tools = () if is_last else (*self._tools, *self._later())
            request = self._request(working, tools=tools)
            size = await measure_off_loop(request, self._counter)
            bound = size.bound(self._counter)
            is_fitting = bound + self.answer_reserve <= limit
            oldest = next(working.collapsible(), None)
            if is_fitting or oldest is None:
                return FittedRequest(request, size.estimate(self._counter), bound, tuple(folded), is_fitting)
            working.collapse(oldest)
            folded.append(oldest)

    async def older(self, working: WorkingMemory) -> OlderMessages | None:
        """What a summary should stand for now; None where the conversation is short, or has no older part."""
        if self._summary_tokens is None:
            return None
        used = (await measure_off_loop(self._request(working, tools=()), self._counter)).estimate(self._counter)
        if used <= self._summary_tokens:
            return None
        before = (*self._summary, *self._history)
        cut = cut_of((*before, self._asked, *working.messages))
        n_history = max(0, min(cut, len(before)) - len(self._summary)) // 2 * 2
        n_working = max(0, cut - len(before) - 1)
        if not n_history and not n_working:
            return None
        said = (*self._summary, *self._history[:n_history], *working.messages[:n_working])
        return OlderMessages(messages=said, n_history=n_history, n_working=n_working, used_tokens=used)

    async def summarized(
        self, older: OlderMessages, block: Message, working: WorkingMemory
    ) -> tuple[int, tuple[str, ...]]:
        """Put `block` in the place of what is older: the tokens then used, and the calls whose results went."""
        self._summary, self._history = (block,), self._history[older.n_history :]
        dropped = working.drop_first(older.n_working)
        size = await measure_off_loop(self._request(working, tools=()), self._counter)
        return size.estimate(self._counter), dropped

    async def room(self, working: WorkingMemory) -> int:
        """Tokens that results may still take before older ones have to be folded."""
        tools = (*self._tools, *(tuple(self._later()) or self._to_come))
        size = await measure_off_loop(self._request(working, tools=tools), self._counter)
        return max(0, self.effective_tokens - self.answer_reserve - size.bound(self._counter))

    def direct_limit(self, room: int, n_calls: int) -> int:
        """The most that one of `n_calls` results should bring into `room`: its share, a quarter of all at most.

        A small share is always granted: folding older results makes room for it.
        """
        share = min(self.effective_tokens // _DIRECT_SHARE, room // max(1, n_calls))
        return max(share, self.effective_tokens // _LEAST_DIRECT_SHARE)

    async def bound(self, text: str) -> int:
        """What `text` cannot exceed."""
        return await bound_off_loop(self._counter, text)

    def calibration(self, prompt: str) -> ModelRequest:
        """A request without tools that is worth sending only for the usage that its reply reports."""
        return ModelRequest(
            role=Role.AGENT,
            messages=(self._system, Message("user", prompt)),
            max_output_tokens=self.answer_reserve,
            run_id=self._run_id,
        )

    def _request(self, working: WorkingMemory, *, tools: tuple[ToolSchema, ...]) -> ModelRequest:
        return ModelRequest(
            role=Role.AGENT,
            messages=(self._system, *self._summary, *self._history, self._asked, *self._with_known(working)),
            tools=tools,
            max_output_tokens=self.answer_reserve,
            run_id=self._run_id,
        )

    def _with_known(self, working: WorkingMemory) -> tuple[Message, ...]:
        """The messages of the turn, and behind them what results named that is not in view: the most relevant of it."""
        known = self._known(working.named, self._question)
        if not known:
            return working.messages
        *before, last = working.messages
        if last.role == "user":
            return (*before, Message("user", f"{last.content}\n\n{known}"))
        return (*before, last, Message("user", known))

    def _known(self, named: Sequence[RecordEntity], question: str) -> str:
        """The most relevant of what was named, in words; "" where nothing was."""
        entities = rank_entities(
            named, question, max_chars=min(MAX_ENTITIES_CHARS, self.effective_tokens // _KNOWN_SHARE)
        )
        return prompts.AGENT_KNOWN.fill(entities=escape_for_prompt(describe_entities(entities))) if entities else ""


def _messages(exchanges: Sequence[Exchange]) -> tuple[Message, ...]:
    pairs = ((Message("user", one.question), Message("assistant", one.answer)) for one in exchanges)
    return tuple(message for pair in pairs for message in pair)


class Summarizer:
    """Shortens the conversation of one part of a question."""

    def __init__(
        self,
        model: Model,
        counter: CalibratedCounter,
        *,
        question: str,
        effective_tokens: int,
        emitter: Emitter,
        run_id: str,
    ) -> None:
        self._model, self._counter, self._question = model, counter, question
        self._effective, self._emitter, self._run_id = effective_tokens, emitter, run_id
        self._has_failed = False

    async def shorten(self, context: TurnContext, working: WorkingMemory) -> tuple[str, ...]:
        """Where it is time to, put a summary in the place of what is older; the calls whose results went."""
        older = None if self._has_failed else await context.older(working)
        if older is None:
            return ()
        request = await asyncio.to_thread(
            request_for,
            older.messages,
            self._question,
            self._counter,
            effective_tokens=self._effective,
            run_id=self._run_id,
        )
        try:
            reply = await self._model.complete(request)
        except (ModelError, BudgetExhausted) as error:
            self._has_failed = True
            self._emitter.emit(Warned(code="not_summarized", text=f"the conversation could not be shortened: {error}"))
            return ()
        block = block_of(reply.text, await asyncio.to_thread(kept_of, older.messages))
        after, dropped = await context.summarized(older, block, working)
        self._emitter.emit(TokensChanged(before=older.used_tokens, after=after))
        sizes = f"{older.used_tokens:,} -> {after:,} tokens"
        text = f"{len(older.messages)} older messages were replaced by a summary ({sizes})"
        self._emitter.emit(Warned(code="summarized", text=text))
        return dropped
