"""A model under control: bounded, reserved in the budget, in its place in the queue, counted and told about.

Wraps a model; one request here is one attempt there. Knows sizes, amounts and events. Knows no wire and no retries.
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
from runax_cli.models.wire import UnusableReply
from runax_cli.telemetry.credential_mask import CredentialMask


class Priority(IntEnum):
    """Who goes first; lower is earlier."""

    MAIN = 0
    WORKER = 1


def priority_of(role: Role) -> Priority:
    """Whoever reads many chunks is a worker; a person waits for all others."""
    match role:
        case Role.PLANNER | Role.AGENT | Role.SUMMARIZER:
            return Priority.MAIN
        case Role.REDUCER | Role.LABELLER:
            return Priority.WORKER


class PrioritySlots:
    """At most `size` holders at once. A free slot goes to the highest priority, then to who came first.

    A main request waits for one running request at most, however many workers queue. Workers can wait for the main
    model only as long as it has requests, and it has one at a time.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError(f"there must be at least one slot, not {size}")
        self._free = size
        self._order = itertools.count()
        self._waiting: list[tuple[Priority, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, priority: Priority) -> AsyncIterator[None]:
        """Hold a slot for a block."""
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
        """Hand the slot to who is next; those that were cancelled while waiting are passed over."""
        while self._waiting:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


_LONGEST_PREVIEW = 2000
_MOST_CHARS_A_TOKEN = 16
_SMALLEST_CAP_CHARS = 4096


class RequestTooLarge(ModelRefused):
    """The request is above the effective context by the counter in use. Nothing was sent."""


class UsageMeter:
    """Requests, tokens and money of one turn, by role. Attempts that failed count with what they may have cost."""

    def __init__(self) -> None:
        self._by_role: dict[str, RoleUsage] = {}
        self._cost_usd: float | None = 0.0

    def record(self, role: Role, usage: Usage, *, requests: int, cost_usd: float | None) -> None:
        """Add to what `role` used."""
        before = self._by_role.get(role.value, RoleUsage())
        self._by_role[role.value] = RoleUsage(
            requests=before.requests + requests,
            input_tokens=before.input_tokens + usage.input_tokens,
            output_tokens=before.output_tokens + usage.output_tokens,
        )
        self._cost_usd = None if self._cost_usd is None or cost_usd is None else self._cost_usd + cost_usd

    @property
    def cost_usd(self) -> float | None:
        """The sum; None as soon as the price of one request is not known."""
        return self._cost_usd

    def report(self) -> UsageReport:
        """All roles together, and each."""
        roles = self._by_role.values()
        return UsageReport(
            requests=sum(role.requests for role in roles),
            input_tokens=sum(role.input_tokens for role in roles),
            output_tokens=sum(role.output_tokens for role in roles),
            by_role=dict(self._by_role),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Metering:
    """What a metered model is held to, and whom it tells."""

    role: Role
    effective_tokens: int
    counter: CalibratedCounter
    slots: PrioritySlots
    price: Price
    budget: Budget
    emitter: Emitter
    meter: UsageMeter


@dataclass(slots=True)
class _StreamListener:
    """Passes pieces of a stream on and keeps them, up to `most_chars`, so that a broken stream can be counted."""

    on_text: OnText
    most_chars: int
    too_long: Exception
    pieces: list[str] = field(default_factory=list)
    n_chars: int = 0

    def take(self, piece: str) -> None:
        self.n_chars += len(piece)
        if self.n_chars > self.most_chars:
            raise self.too_long
        self.pieces.append(piece)
        self.on_text(piece)


class MeteredModel:
    """One model for one role within one turn.

    The worst case is reserved when the request has its slot: what queues has cost nothing yet. A success settles with
    its usage. A refusal is not billed and settles with nothing. Any other end (broken, late, cancelled, unusable) may
    have been billed: it settles with the usage that came with it, else with the input and what was heard of the reply.
    """

    def __init__(self, inner: Model, *, metering: Metering) -> None:
        self._inner = inner
        self._to = metering

    @property
    def name(self) -> str:
        """The name of the model behind."""
        return self._inner.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`. Raises RequestTooLarge and BudgetExhausted before anything is sent."""
        size = await measure_off_loop(request, self._to.counter)
        self._require_fit(size)
        async with self._to.slots.slot(priority_of(self._to.role)):
            # Other replies may have recalibrated the counter while this request was queueing.
            self._require_fit(size)
            reservation = await self._to.budget.reserve_shared(self._worst(size, request))
            self._tell_request(request, size)
            return await self._attempt(request, size, reservation, on_text)

    async def aclose(self) -> None:
        """Close the model behind."""
        await self._inner.aclose()

    async def _attempt(
        self, request: ModelRequest, size: RequestSize, reservation: Reservation, on_text: OnText | None
    ) -> ModelReply:
        most, too_long = max_reply_chars(request.max_output_tokens), self._too_long(request)
        heard = None if on_text is None else _StreamListener(on_text, most, too_long)
        try:
            reply = await self._inner.complete(request, on_text=None if heard is None else heard.take)
            if _n_chars(reply) > most:
                too_long.usage = reply.usage if reply.usage.is_reported else None
                raise too_long
            reply = await self._with_usage(reply, size)
        except ModelRefused as error:
            self._settle(reservation, Usage())
            if isinstance(error, ContextTooLong):
                self._to.counter.refused(size.counted, self._to.effective_tokens)
            raise
        except BaseException as error:
            self._settle(reservation, self._perhaps_billed(error, size, heard))
            raise
        self._settle(reservation, reply.usage, requests=reply.requests)
        if reply.usage.is_reported:
            self._to.counter.observe(size.counted, reply.usage.input_tokens)
        self._tell_reply(reply)
        return reply

    def _too_long(self, request: ModelRequest) -> UnusableReply:
        return UnusableReply(
            f"the reply of the model '{self.name}' is longer than the {request.max_output_tokens:,} tokens that were "
            "reserved for it, and was cut off.",
            model=self.name,
            retryable=False,
        )

    def _require_fit(self, size: RequestSize) -> None:
        bound, effective = size.bound(self._to.counter), self._to.effective_tokens
        if bound > effective:
            raise RequestTooLarge(
                f"a request for the {self._to.role.value} may have {bound:,} tokens ({self._to.counter.name}), and the "
                f"effective context is {effective:,}. Raise LLM_MAX_CONTEXT or LLM_CONTEXT_UTILIZATION, or narrow "
                "what is asked.",
                model=self.name,
                retryable=False,
            )

    def _worst(self, size: RequestSize, request: ModelRequest) -> Amount:
        return self._amount(Usage(size.bound(self._to.counter), request.max_output_tokens))

    def _amount(self, usage: Usage) -> Amount:
        """Tokens and money of `usage`; an unknown price cannot be limited and counts as nothing in the budget."""
        cost_usd = self._to.price.cost_usd(usage)
        return Amount(tokens=usage.input_tokens + usage.output_tokens, usd=cost_usd or 0.0)

    def _settle(self, reservation: Reservation, usage: Usage, *, requests: int = 1) -> None:
        reservation.settle(self._amount(usage))
        cost_usd = self._to.price.cost_usd(usage)
        self._to.meter.record(self._to.role, usage, requests=requests, cost_usd=cost_usd)

    def _perhaps_billed(self, error: BaseException, size: RequestSize, heard: _StreamListener | None) -> Usage:
        if isinstance(error, UnusableReply) and error.usage is not None:
            return error.usage
        text = "".join(heard.pieces) if heard is not None else ""
        return Usage(size.estimate(self._to.counter), self._to.counter.count(text), is_reported=False)

    async def _with_usage(self, reply: ModelReply, size: RequestSize) -> ModelReply:
        """The reply with its price, and with counted tokens where the endpoint reported none."""
        usage = reply.usage
        if not usage.is_reported:
            said = reply.text + "".join(call.name + call.arguments for call in reply.tool_calls)
            counter = self._to.counter
            usage = Usage(size.estimate(counter), await count_off_loop(counter, said), is_reported=False)
        return replace(reply, usage=usage, cost_usd=self._to.price.cost_usd(usage))

    def _tell_request(self, request: ModelRequest, size: RequestSize) -> None:
        self._to.emitter.emit(
            ModelRequested(
                model=self.name,
                tokens_in=size.estimate(self._to.counter),
                n_messages=len(request.messages),
                n_tools=len(request.tools),
                preview=_preview(request.messages[-1].content),
            )
        )

    def _tell_reply(self, reply: ModelReply) -> None:
        calls = " ".join(f"{call.name}({call.arguments})" for call in reply.tool_calls)
        self._to.emitter.emit(
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
    """Where a reply is cut off that was allowed so many tokens: far above what texts have."""
    return max(_SMALLEST_CAP_CHARS, tokens * _MOST_CHARS_A_TOKEN)


def _n_chars(reply: ModelReply) -> int:
    return len(reply.text) + sum(len(call.name) + len(call.arguments) for call in reply.tool_calls)


def _preview(text: str) -> str:
    return " ".join(text[: _LONGEST_PREVIEW * 2].split())[:_LONGEST_PREVIEW]


class MaskedModel:
    """Wraps a model; what it is sent is masked."""

    def __init__(self, inner: Model, mask: CredentialMask) -> None:
        self._inner, self._mask = inner, mask

    @property
    def name(self) -> str:
        """The name of the model behind."""
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
        """Close the model behind."""
        await self._inner.aclose()

    def _message(self, message: Message) -> Message:
        calls = tuple(replace(call, arguments=self._mask.text(call.arguments)) for call in message.tool_calls)
        return replace(message, content=self._mask.text(message.content), tool_calls=calls)

    def _tool(self, tool: ToolSchema) -> ToolSchema:
        told = json.dumps(tool.parameters, ensure_ascii=False)
        masked = self._mask.text(told)
        parameters = tool.parameters if masked == told else json.loads(masked)
        return replace(tool, description=self._mask.text(tool.description), parameters=parameters)
