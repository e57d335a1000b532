"""The context of a turn: the next request to the main model, kept within the effective context.

A request has the system prompt, recent history, the question, and the messages of the turn. If it is too large, the
oldest results are folded: replaced by a pointer. Decisions use the upper bound of the token count, displays its
estimate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runax_cli.agent import prompts
from runax_cli.core.untrusted_text import escape_for_prompt
from runax_cli.memory.conversation import (
    MAX_ENTITIES_CHARS,
    Exchange,
    History,
    RecordEntity,
    WorkingMemory,
    describe_entities,
    rank_entities,
)
from runax_cli.models.base import Message, ModelRequest, Role, ToolSchema
from runax_cli.models.tokens import CalibratedCounter, bound_off_loop, measure_off_loop

THRESHOLD_SHARE = 0.7
MAX_THRESHOLD_TOKENS = 40_000
KEPT_MESSAGES = 4
"""The last messages of a conversation are never summarized."""
MAX_ANSWER_TOKENS = 4096
_HISTORY_SHARE = 8
_ANSWER_SHARE = 8
_DIRECT_SHARE = 4
_MIN_DIRECT_SHARE = 16
_ENTITIES_SHARE = 16


def summary_threshold(effective_tokens: int) -> int:
    """The number of prompt tokens above which the older part is summarized."""
    return min(int(effective_tokens * THRESHOLD_SHARE), MAX_THRESHOLD_TOKENS)


def split_point(messages: Sequence[Message]) -> int:
    """How many of the first messages are the older part. A call and its results stay together."""
    cut = max(0, len(messages) - KEPT_MESSAGES)
    while cut and messages[cut].role == "tool":
        cut -= 1
    return cut


@dataclass(frozen=True, slots=True)
class FittedRequest:
    """A request; `used_tokens` is the estimate of its size, `bound_tokens` the upper bound.

    `folded` are the calls whose results were folded for it. If it still does not fit, nothing is left to fold.
    """

    request: ModelRequest
    used_tokens: int
    bound_tokens: int
    folded: tuple[str, ...]
    fits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderMessages:
    """The older part of a conversation: from history and working memory. `used_tokens` is the size of the whole."""

    messages: tuple[Message, ...]
    n_history: int
    n_working: int
    used_tokens: int


class TurnContext:
    """Builds the requests of a turn. All sizes are in tokens."""

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
        dataset_tools: Callable[[], Sequence[ToolSchema]] = tuple,
        future_tools: Sequence[ToolSchema] = (),
        as_shown: Callable[[ToolSchema], ToolSchema] = lambda schema: schema,
        can_summarize: bool = False,
        entities: Sequence[RecordEntity] = (),
    ) -> None:
        """Create the context of one turn.

        `tools` may change between requests: found tools are added. `dataset_tools` returns the tools over datasets that
        can be called now, `future_tools` are those that there may be later. `as_shown` returns the schema of a tool as
        the next request shows it, which may be shorter. `can_summarize` is set if a Summarizer is
        used. `entities` were named by records of earlier turns, which the question may refer to.
        """
        earlier = history.latest(effective_tokens // _HISTORY_SHARE, measure=counter.bound)
        self.effective_tokens = effective_tokens
        known = self._known_entities(entities, question)
        self._system = Message("system", system)
        self._question_message = Message("user", f"{question}\n\n{known}" if known else question)
        self._summary: tuple[Message, ...] = ()
        self._history = _messages(earlier)
        self._question = question
        self._summary_tokens = summary_threshold(effective_tokens) if can_summarize else None
        self._tools, self._dataset_tools, self._future_tools = tools, dataset_tools, tuple(future_tools)
        self._as_shown = as_shown
        self._counter = counter
        self._run_id = run_id
        self.answer_reserve = min(MAX_ANSWER_TOKENS, effective_tokens // _ANSWER_SHARE)

    async def fit_request(
        self, working: WorkingMemory, *, is_last: bool = False, most_tokens: float | None = None
    ) -> FittedRequest:
        """The next request. `is_last` omits the tools; `most_tokens`, reply included, lowers the limit."""
        limit = self.effective_tokens if most_tokens is None else min(self.effective_tokens, most_tokens)
        folded: list[str] = []
        while True:
            tools = () if is_last else (*map(self._as_shown, self._tools), *self._dataset_tools())
            request = self._request(working, tools=tools)
            size = await measure_off_loop(request, self._counter)
            bound = size.bound(self._counter)
            fits = bound + self.answer_reserve <= limit
            oldest = next(working.collapsible(), None)
            if fits or oldest is None:
                return FittedRequest(request, size.estimate(self._counter), bound, tuple(folded), fits)
            working.collapse(oldest)
            folded.append(oldest)

    async def older_messages(self, working: WorkingMemory) -> OlderMessages | None:
        """The messages to summarize now; None if the conversation is short or has no older part."""
        if self._summary_tokens is None:
            return None
        used = (await measure_off_loop(self._request(working, tools=()), self._counter)).estimate(self._counter)
        if used <= self._summary_tokens:
            return None
        before = (*self._summary, *self._history)
        cut = split_point((*before, self._question_message, *working.messages))
        n_history = max(0, min(cut, len(before)) - len(self._summary)) // 2 * 2
        n_working = max(0, cut - len(before) - 1)
        if not n_history and not n_working:
            return None
        messages = (*self._summary, *self._history[:n_history], *working.messages[:n_working])
        return OlderMessages(messages=messages, n_history=n_history, n_working=n_working, used_tokens=used)

    async def replace_with_summary(
        self, older: OlderMessages, summary: Message, working: WorkingMemory
    ) -> tuple[int, tuple[str, ...]]:
        """Replace the older part by a summary. Returns the tokens then used, and the calls with dropped results."""
        self._summary, self._history = (summary,), self._history[older.n_history :]
        dropped = working.drop_first(older.n_working)
        size = await measure_off_loop(self._request(working, tools=()), self._counter)
        return size.estimate(self._counter), dropped

    async def free_tokens(self, working: WorkingMemory) -> int:
        """Tokens that results may still take before older ones must be folded."""
        tools = (*map(self._as_shown, self._tools), *(tuple(self._dataset_tools()) or self._future_tools))
        size = await measure_off_loop(self._request(working, tools=tools), self._counter)
        return max(0, self.effective_tokens - self.answer_reserve - size.bound(self._counter))

    def direct_limit(self, free_tokens: int, n_calls: int) -> int:
        """The direct limit of one of `n_calls` results: its share of the free tokens, at most a quarter of the context.

        A small share is always granted: folding older results makes room for it.
        """
        share = min(self.effective_tokens // _DIRECT_SHARE, free_tokens // max(1, n_calls))
        return max(share, self.effective_tokens // _MIN_DIRECT_SHARE)

    async def token_bound(self, text: str) -> int:
        """The upper bound of the tokens of `text`."""
        return await bound_off_loop(self._counter, text)

    def calibration_request(self, prompt: str) -> ModelRequest:
        """A small request without tools, sent to compare the reported usage with our count."""
        return ModelRequest(
            role=Role.AGENT,
            messages=(self._system, Message("user", prompt)),
            max_output_tokens=self.answer_reserve,
            run_id=self._run_id,
        )

    def _request(self, working: WorkingMemory, *, tools: tuple[ToolSchema, ...]) -> ModelRequest:
        return ModelRequest(
            role=Role.AGENT,
            messages=(
                self._system,
                *self._summary,
                *self._history,
                self._question_message,
                *self._with_entities(working),
            ),
            tools=tools,
            max_output_tokens=self.answer_reserve,
            run_id=self._run_id,
        )

    def _with_entities(self, working: WorkingMemory) -> tuple[Message, ...]:
        """The messages of the turn, and the most relevant entities of results that are not visible in them."""
        known = self._known_entities(working.named, self._question)
        if not known:
            return working.messages
        *before, last = working.messages
        if last.role == "user":
            return (*before, Message("user", f"{last.content}\n\n{known}"))
        return (*before, last, Message("user", known))

    def _known_entities(self, entities: Sequence[RecordEntity], question: str) -> str:
        """The most relevant entities as text; "" if there are none."""
        relevant = rank_entities(
            entities, question, max_chars=min(MAX_ENTITIES_CHARS, self.effective_tokens // _ENTITIES_SHARE)
        )
        return prompts.AGENT_ENTITIES.fill(entities=escape_for_prompt(describe_entities(relevant))) if relevant else ""


def _messages(exchanges: Sequence[Exchange]) -> tuple[Message, ...]:
    pairs = ((Message("user", one.question), Message("assistant", one.answer)) for one in exchanges)
    return tuple(message for pair in pairs for message in pair)
