"""Metering of model requests: size limit, concurrency slots, budget reservation, usage, cost and events.

`MeteredModel` wraps a model; each of its requests is one attempt of `RetryModel`. `MaskedModel` removes credentials.
"""

import asyncio
import heapq
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import IntEnum

from runax_cli.core.budget import Amount, Budget, Reservation
from runax_cli.core.errors import ContextTooLong, ModelRefused
from runax_cli.core.event_types import ModelReplied, ModelRequested
from runax_cli.core.events import Emitter
from runax_cli.core.results import RoleUsage, UsageReport
from runax_cli.models.base import Message, Model, ModelReply, ModelRequest, OnText, Role, ToolSchema, Usage
from runax_cli.models.pricing import Price
from runax_cli.models.tokens import CalibratedCounter, RequestSize, count_off_loop, measure_off_loop
from runax_cli.models.wire import ReplyTooLong, UnusableReply
from runax_cli.telemetry.credential_mask import CredentialMask


class Priority(IntEnum):
    """The priority of a request; lower goes first."""

    MAIN = 0
    WORKER = 1


def priority_of(role: Role) -> Priority:
    """Roles that read many chunks in parallel are workers; a person waits for the others."""
    match role:
        case Role.PLANNER | Role.AGENT | Role.SUMMARIZER | Role.REVIEWER:
            return Priority.MAIN
        case Role.REDUCER | Role.LABELLER:
            return Priority.WORKER


class PrioritySlots:
    """At most `size` concurrent requests. A free slot goes to the highest priority, then to the longest waiting.

    A main request waits for at most one running request, however many workers are queued. Workers are not starved: the
    main model has one request at a time.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"size must be at least 1, not {size}")
        self._free = size
        self._order = itertools.count()
        self._waiting: list[tuple[Priority, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, priority: Priority) -> AsyncIterator[None]:
        """Hold a slot in a `with` block."""
        await self._acquire(priority)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, priority: Priority) -> None:
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (priority, next(self._order), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()
            raise

    def _release(self) -> None:
        """Give the slot to the next waiting request; cancelled ones are skipped."""
        while self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


_MAX_PREVIEW_CHARS = 2000
_MAX_CHARS_PER_TOKEN = 16
_MIN_REPLY_LIMIT_CHARS = 4096
_COUNT_EVERY_CHARS = 512
_TOKENIZER_TOLERANCE = 1.5
"""Tokens by the counter per token of the endpoint: until it is calibrated, its tokenizer may be the more efficient."""


class RequestTooLarge(ModelRefused):
    """The request is longer than the effective context by the counter in use. Nothing was sent."""


class UsageMeter:
    """Requests, tokens and cost of one turn by role. A failed attempt counts with what it may have cost."""

    def __init__(self) -> None:
        self._by_role: dict[str, RoleUsage] = {}
        self._cost_usd: float | None = 0.0

    def record(self, role: Role, usage: Usage, *, requests: int, cost_usd: float | None) -> None:
        """Add to the usage of `role`."""
        before = self._by_role.get(role.value, RoleUsage())
        self._by_role[role.value] = RoleUsage(
            requests=before.requests + requests,
            input_tokens=before.input_tokens + usage.input_tokens,
            output_tokens=before.output_tokens + usage.output_tokens,
        )
        self._cost_usd = None if self._cost_usd is None or cost_usd is None else self._cost_usd + cost_usd

    @property
    def cost_usd(self) -> float | None:
        """The total cost; None if the price of any request is unknown."""
        return self._cost_usd

    def report(self) -> UsageReport:
        """The usage of all roles together and of each."""
        roles = self._by_role.values()
        return UsageReport(
            requests=sum(role.requests for role in roles),
            input_tokens=sum(role.input_tokens for role in roles),
            output_tokens=sum(role.output_tokens for role in roles),
            by_role=dict(self._by_role),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Metering:
    """The limits of a metered model, and where it reports its use."""

    role: Role
    effective_tokens: int
    counter: CalibratedCounter
    slots: PrioritySlots
    price: Price
    budget: Budget
    emitter: Emitter
    meter: UsageMeter


@dataclass(slots=True)
class _ReplyListener:
    """Keeps what a model writes, to count a broken reply, and passes text on. Raises `too_long` at the limit.

    Tokens are counted each time some hundred characters have arrived, so that a stream is cut soon after its limit.
    """

    on_text: OnText | None
    counter: CalibratedCounter
    max_tokens: int
    too_long: ReplyTooLong
    pieces: list[str] = field(default_factory=list)
    n_chars: int = 0
    n_kept_chars: int = 0
    n_new_chars: int = 0
    n_counted: int = 0
    n_tokens: int = 0

    @property
    def is_streamed(self) -> bool:
        """Whether text arrives in pieces."""
        return self.on_text is not None

    def receive(self, piece: str) -> None:
        """A piece of the text."""
        self.receive_hidden(piece)
        if self.on_text is not None:
            self.on_text(piece)

    def receive_hidden(self, piece: str) -> None:
        """A piece of something else that the model writes and that is billed, such as reasoning."""
        max_chars = max_reply_chars(self.max_tokens)
        kept = piece[: max_chars - self.n_kept_chars]
        self.pieces.append(kept)
        self.n_kept_chars += len(kept)
        self.n_new_chars += len(kept)
        self.n_chars += len(piece)
        if self.n_chars > max_chars or self._count_new() > self.max_tokens * _TOKENIZER_TOLERANCE:
            raise self.too_long

    def tokens(self) -> int:
        """The estimated tokens of everything that arrived; beyond the kept part by its proportion."""
        counted = self.counter.count("".join(self.pieces))
        return counted * self.n_chars // max(1, self.n_kept_chars)

    def _count_new(self) -> int:
        if self.n_new_chars >= _COUNT_EVERY_CHARS:
            self.n_tokens += self.counter.count("".join(self.pieces[self.n_counted :]))
            self.n_counted, self.n_new_chars = len(self.pieces), 0
        return self.n_tokens


class MeteredModel:
    """One model for one role within one turn.

    The worst case is reserved once the request has its slot. A success settles with its usage. A refusal is not billed
    and settles with zero. Any other end (broken, late, cancelled, unusable) may have been billed: it settles with the
    reported usage, else with the counted input and the received part of the reply.
    """

    def __init__(self, inner: Model, *, metering: Metering) -> None:
        self._inner = inner
        self._metering = metering

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self._inner.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`. Raises RequestTooLarge and BudgetExhausted before anything is sent."""
        size = await measure_off_loop(request, self._metering.counter)
        self._require_fit(size)
        async with self._metering.slots.slot(priority_of(self._metering.role)):
            # Other replies may have recalibrated the counter while this request was queueing.
            self._require_fit(size)
            reservation = await self._metering.budget.reserve_shared(self._worst_case(size, request))
            self._emit_request(request, size)
            return await self._attempt(request, size, reservation, on_text)

    async def aclose(self) -> None:
        """Close the wrapped model."""
        await self._inner.aclose()

    async def _attempt(
        self, request: ModelRequest, size: RequestSize, reservation: Reservation, on_text: OnText | None
    ) -> ModelReply:
        max_chars, too_long = max_reply_chars(request.max_output_tokens), self._too_long(request)
        received = _ReplyListener(on_text, self._metering.counter, request.max_output_tokens, too_long)
        heard = replace(request, on_hidden=received.receive_hidden)
        try:
            reply = await self._inner.complete(heard, on_text=None if on_text is None else received.receive)
            if _n_chars(reply) > max_chars:
                too_long.usage = reply.usage if reply.usage.is_reported else None
                raise too_long
            reply = await self._with_usage(reply, size, received)
        except ModelRefused as error:
            self._settle(reservation, Usage())
            if isinstance(error, ContextTooLong):
                self._metering.counter.refused(size.counted, self._metering.effective_tokens)
            raise
        except BaseException as error:
            self._settle(reservation, self._possibly_billed(error, size, received))
            raise
        self._settle(reservation, reply.usage, requests=reply.requests)
        if reply.usage.is_reported:
            self._metering.counter.observe(size.counted, reply.usage.input_tokens)
        self._emit_reply(reply)
        return reply

    def _too_long(self, request: ModelRequest) -> ReplyTooLong:
        return ReplyTooLong(
            f"the reply of the model '{self.name}' exceeds max_output_tokens ({request.max_output_tokens:,}); it was "
            "cut off.",
            model=self.name,
            retryable=False,
        )

    def _require_fit(self, size: RequestSize) -> None:
        bound, effective = size.bound(self._metering.counter), self._metering.effective_tokens
        if bound > effective:
            raise RequestTooLarge(
                f"the {self._metering.role.value} request is too large: up to {bound:,} tokens "
                f"({self._metering.counter.name}), but the effective context is {effective:,}. Raise LLM_MAX_CONTEXT "
                "or LLM_CONTEXT_UTILIZATION, or ask a narrower question.",
                model=self.name,
                retryable=False,
            )

    def _worst_case(self, size: RequestSize, request: ModelRequest) -> Amount:
        return self._amount(Usage(size.bound(self._metering.counter), request.max_output_tokens))

    def _amount(self, usage: Usage) -> Amount:
        """Tokens and cost of `usage`; an unknown price counts as zero, because it cannot be limited."""
        cost_usd = self._metering.price.cost_usd(usage)
        return Amount(tokens=usage.input_tokens + usage.output_tokens, usd=cost_usd or 0.0)

    def _settle(self, reservation: Reservation, usage: Usage, *, requests: int = 1) -> None:
        reservation.settle(self._amount(usage))
        cost_usd = self._metering.price.cost_usd(usage)
        self._metering.meter.record(self._metering.role, usage, requests=requests, cost_usd=cost_usd)

    def _possibly_billed(self, error: BaseException, size: RequestSize, received: _ReplyListener) -> Usage:
        if isinstance(error, UnusableReply) and error.usage is not None:
            return error.usage
        # A reply that reached its limit was billed with that limit, however little of it could be counted.
        least = received.max_tokens if isinstance(error, ReplyTooLong) else 0
        return Usage(size.estimate(self._metering.counter), max(least, received.tokens()), is_reported=False)

    async def _with_usage(self, reply: ModelReply, size: RequestSize, received: _ReplyListener) -> ModelReply:
        """The reply with its cost, and with counted usage if the endpoint reported none."""
        usage = reply.usage
        if not usage.is_reported:
            shown = reply.text + "".join(call.name + call.arguments for call in reply.tool_calls)
            # Without streaming, the text is in the reply only.
            heard = ("" if received.is_streamed else reply.text) + "".join(received.pieces)
            text = max(shown, heard, key=len)
            counter = self._metering.counter
            usage = Usage(size.estimate(counter), await count_off_loop(counter, text), is_reported=False)
        return replace(reply, usage=usage, cost_usd=self._metering.price.cost_usd(usage))

    def _emit_request(self, request: ModelRequest, size: RequestSize) -> None:
        self._metering.emitter.emit(
            ModelRequested(
                model=self.name,
                tokens_in=size.estimate(self._metering.counter),
                n_messages=len(request.messages),
                n_tools=len(request.tools),
                preview=_preview(request.messages[-1].content),
            )
        )

    def _emit_reply(self, reply: ModelReply) -> None:
        calls = " ".join(f"{call.name}({call.arguments})" for call in reply.tool_calls)
        self._metering.emitter.emit(
            ModelReplied(
                model=reply.model,
                input_tokens=reply.usage.input_tokens,
                output_tokens=reply.usage.output_tokens,
                cost_usd=reply.cost_usd,
                duration_s=reply.duration_s,
                first_token_s=reply.first_token_s,
                preview=_preview(f"{reply.text} {calls}"),
            )
        )


def max_reply_chars(tokens: int) -> int:
    """The limit in characters for a reply of at most `tokens` tokens; far above that of any real text."""
    return max(_MIN_REPLY_LIMIT_CHARS, tokens * _MAX_CHARS_PER_TOKEN)


def _n_chars(reply: ModelReply) -> int:
    return len(reply.text) + sum(len(call.name) + len(call.arguments) for call in reply.tool_calls)


def _preview(text: str) -> str:
    return " ".join(text[: _MAX_PREVIEW_CHARS * 2].split())[:_MAX_PREVIEW_CHARS]


class MaskedModel:
    """A model whose requests are masked: messages, arguments and tool definitions are sent without credentials."""

    def __init__(self, inner: Model, mask: CredentialMask) -> None:
        self._inner, self._mask = inner, mask

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self._inner.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`."""
        masked = replace(
            request,
            messages=tuple(self._message(message) for message in request.messages),
            tools=tuple(self._tool(tool) for tool in request.tools),
        )
        return await self._inner.complete(masked, on_text=on_text)

    async def aclose(self) -> None:
        """Close the wrapped model."""
        await self._inner.aclose()

    def _message(self, message: Message) -> Message:
        calls = tuple(replace(call, arguments=self._mask.text(call.arguments)) for call in message.tool_calls)
        return replace(message, content=self._mask.text(message.content), tool_calls=calls)

    def _tool(self, tool: ToolSchema) -> ToolSchema:
        text = json.dumps(tool.parameters, ensure_ascii=False)
        masked = self._mask.text(text)
        parameters = tool.parameters if masked == text else json.loads(masked)
        return replace(tool, description=self._mask.text(tool.description), parameters=parameters)
