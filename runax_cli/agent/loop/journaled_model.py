"""A model whose requests are written to the journal: what was asked, what came back, what it cost.

Requests of the main model and the planner are units of work, keyed by their run, what is sent, and how often it was
sent before. A run that goes on gets the replies that it already paid for from the journal, and sends only what was not
answered. Of any other role only the spend is written here. A journal that cannot be written costs its notes and not
the answer: that is told once. Knows no prompt.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import assert_never

from pydantic import TypeAdapter, ValidationError

from runax_cli.core.budget import Amount, Budget
from runax_cli.core.errors import StoreError
from runax_cli.core.event_types import Resumed
from runax_cli.core.events import Emitter
from runax_cli.memory.journal import EntryKind, Journal, StoredRun
from runax_cli.models.base import Model, ModelReply, ModelRequest, OnText, Role
from runax_cli.models.metering import UsageMeter
from runax_cli.models.tokens import CalibratedCounter, measure

Lost = Callable[[StoreError], None]
Replayed = Callable[[ModelRequest, ModelReply], None]
_REPLY = TypeAdapter(ModelReply)
_STEPS = frozenset({Role.AGENT, Role.PLANNER, Role.SUMMARIZER})


def _nobody(_request: ModelRequest, _reply: ModelReply) -> None:
    """Nobody needs to know."""


class JournaledModel:
    """Wraps the model of one role for one run.

    `on_lost` hears of the first note that could not be written, `on_replayed` of every reply that came from the
    journal in place of the model.
    """

    def __init__(
        self,
        inner: Model,
        *,
        role: Role,
        journal: Journal,
        run_id: str,
        on_lost: Lost,
        on_replayed: Replayed = _nobody,
    ) -> None:
        self._inner, self._role, self._journal, self._run_id = inner, role, journal, run_id
        self._on_lost, self._on_replayed = on_lost, on_replayed
        self._is_lost = False
        self._sent: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """The name of the model behind."""
        return self._inner.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`."""
        kind = _kind(self._role)
        if kind is None:
            reply = await self._inner.complete(request, on_text=on_text)
        else:
            key = self._key(request)
            if self._role in _STEPS and (stored := self._found(key)) is not None:
                return self._replayed(request, stored, on_text)
            reply = await self._paid(key, kind, request, on_text)
        self._note(lambda: self._spend(reply))
        return reply

    async def aclose(self) -> None:
        """Close the model behind."""
        await self._inner.aclose()

    async def _paid(self, key: str, kind: EntryKind, request: ModelRequest, on_text: OnText | None) -> ModelReply:
        """The model's own reply. While it is awaited the request is in flight, and is left so by a cancellation."""
        reserved = request.max_output_tokens
        self._note(lambda: self._journal.start_entry(key, kind, self._run_id, reserved_tokens=reserved))
        try:
            reply = await self._inner.complete(request, on_text=on_text)
        except Exception:
            self._note(lambda: self._journal.discard_entry(key, self._run_id))
            raise
        if self._role in _STEPS:
            self._note(lambda: self._journal.finish_entry(key, _payload(reply)))
        else:
            self._note(lambda: self._journal.discard_entry(key, self._run_id))
        return reply

    def _replayed(self, request: ModelRequest, reply: ModelReply, on_text: OnText | None) -> ModelReply:
        if on_text is not None and reply.text:
            on_text(reply.text)
        self._on_replayed(request, reply)
        return reply

    def _key(self, request: ModelRequest) -> str:
        """Of the run, everything that is sent, and how often the same was sent before: a repeated question is meant."""
        sent = _digest(self._role, self.name, request)
        self._sent[sent] += 1
        return f"{self._role.value}:{sent}:{self._sent[sent]}"

    def _found(self, key: str) -> ModelReply | None:
        """A stored reply; one that another version wrote, or that masking changed, is no reply."""
        if self._is_lost:
            return None
        try:
            payload = self._journal.get(key)
            return None if payload is None else _REPLY.validate_json(payload)
        except StoreError as error:
            self._is_lost = True
            self._on_lost(error)
        except ValidationError:
            return None
        return None

    def _spend(self, reply: ModelReply) -> None:
        usage, cost_usd = reply.usage, reply.cost_usd
        self._journal.record_spend(self._run_id, self._role, model=reply.model, usage=usage, cost_usd=cost_usd)

    def _note(self, write: Callable[[], None]) -> None:
        if self._is_lost:
            return
        try:
            write()
        except StoreError as error:
            self._is_lost = True
            self._on_lost(error)


def _kind(role: Role) -> EntryKind | None:
    """What a request of a role is in the journal; reductions write themselves down."""
    match role:
        case Role.AGENT | Role.PLANNER | Role.SUMMARIZER:
            return EntryKind.STEP
        case Role.LABELLER:
            return EntryKind.LABEL
        case Role.REDUCER:
            return None
        case _:
            assert_never(role)


def _digest(role: Role, model: str, request: ModelRequest) -> str:
    sent = {
        "role": role.value,
        "model": model,
        "run": request.run_id,
        "messages": [asdict(message) for message in request.messages],
        "tools": [asdict(tool) for tool in request.tools],
        "output": None if request.output is None else asdict(request.output),
    }
    text = json.dumps(sent, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _payload(reply: ModelReply) -> bytes:
    return json.dumps(asdict(reply), ensure_ascii=False).encode("utf-8", "surrogatepass")


def taken_up(run: StoredRun, journal: Journal, *, emitter: Emitter, meter: UsageMeter, budget: Budget) -> None:
    """Begin a stored run again. Raises StoreError.

    What it used stands in the meter and counts in the budget. Requests that were in flight when it stopped may have
    been billed, and will be sent again: that is told with the most that they may have cost.
    """
    tokens, usd = 0, 0.0
    for spent in journal.spend_by_role(run.run_id):
        meter.record(spent.role, spent.usage, requests=spent.requests, cost_usd=spent.cost_usd)
        tokens += spent.usage.input_tokens + spent.usage.output_tokens
        usd += spent.cost_usd or 0.0
    budget.charge(Amount(tokens=tokens, usd=usd))
    emitter.emit(Resumed(text=f"run {run.run_id} of {run.started_at:%Y-%m-%d %H:%M} goes on; {tokens:,} tokens used"))
    lost = journal.unfinished_entries(run.run_id)
    if lost:
        reserved = sum(unit.reserved_tokens for unit in lost)
        kinds = ", ".join(sorted({unit.kind.value for unit in lost}))
        text = f"{len(lost)} requests ({kinds}) were in flight when it stopped: perhaps billed, repeated where needed"
        emitter.emit(Resumed(text=f"{text}; at most {reserved:,} tokens were set aside for their replies"))
    journal.reopen_run(run.run_id)


def replayed(emitter: Emitter, counter: CalibratedCounter, request: ModelRequest, reply: ModelReply) -> None:
    """A reply came from the journal: the counter learns from it as it did from the first, and nothing was sent."""
    if reply.usage.is_reported:
        counter.observe(measure(request, counter).counted, reply.usage.input_tokens)
    emitter.emit(Resumed(text=f"{request.role.value}: a stored reply of {reply.model} is used; nothing is sent"))
