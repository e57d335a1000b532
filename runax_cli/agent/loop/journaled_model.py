"""A model that writes its requests to the journal: request, reply and cost.

Requests of the main model, planner, summarizer and reviewer are units of work, keyed by run, content, and the number
of earlier equal requests. A resumed run takes replies that it has paid for from the journal, and sends only
unanswered requests. For other roles only the cost is recorded here. If the journal cannot be written, the run
continues with one warning.
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
from runax_cli.core.results import counted
from runax_cli.memory.journal import EntryKind, Journal, StoredRun
from runax_cli.models.base import Model, ModelReply, ModelRequest, OnText, Role
from runax_cli.models.metering import UsageMeter
from runax_cli.models.tokens import CalibratedCounter, measure

OnStoreError = Callable[[StoreError], None]
OnReplayed = Callable[[ModelRequest, ModelReply], None]
_REPLY = TypeAdapter(ModelReply)
_REPLAYED_ROLES = frozenset({Role.AGENT, Role.PLANNER, Role.SUMMARIZER, Role.REVIEWER})


def _ignore(_request: ModelRequest, _reply: ModelReply) -> None:
    """Do nothing."""


class JournaledModel:
    """Wraps the model of one role for one run.

    `on_store_error` is called for the first entry that cannot be written, `on_replayed` for every reply that comes from
    the journal instead of the model.
    """

    def __init__(
        self,
        inner: Model,
        *,
        role: Role,
        journal: Journal,
        run_id: str,
        on_store_error: OnStoreError,
        on_replayed: OnReplayed = _ignore,
    ) -> None:
        self._inner, self._role, self._journal, self._run_id = inner, role, journal, run_id
        self._on_store_error, self._on_replayed = on_store_error, on_replayed
        self._has_failed = False
        self._sent: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """The name of the wrapped model."""
        return self._inner.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`."""
        kind = _entry_kind(self._role)
        if kind is None:
            reply = await self._inner.complete(request, on_text=on_text)
        else:
            key = self._key(request)
            if self._role in _REPLAYED_ROLES and (stored := self._stored_reply(key)) is not None:
                return self._replay(request, stored, on_text)
            reply = await self._send(key, kind, request, on_text)
        self._write(lambda: self._record_spend(reply))
        return reply

    async def aclose(self) -> None:
        """Close the wrapped model."""
        await self._inner.aclose()

    async def _send(self, key: str, kind: EntryKind, request: ModelRequest, on_text: OnText | None) -> ModelReply:
        """Send the request. It is in flight while it is awaited; a cancellation leaves it so."""
        reserved = request.max_output_tokens
        self._write(lambda: self._journal.start_entry(key, kind, self._run_id, reserved_tokens=reserved))
        try:
            reply = await self._inner.complete(request, on_text=on_text)
        except Exception:
            self._write(lambda: self._journal.discard_entry(key, self._run_id))
            raise
        if self._role in _REPLAYED_ROLES:
            self._write(lambda: self._journal.finish_entry(key, _payload(reply)))
        else:
            self._write(lambda: self._journal.discard_entry(key, self._run_id))
        return reply

    def _replay(self, request: ModelRequest, reply: ModelReply, on_text: OnText | None) -> ModelReply:
        if on_text is not None and reply.text:
            on_text(reply.text)
        self._on_replayed(request, reply)
        return reply

    def _key(self, request: ModelRequest) -> str:
        """The key of a request: role, digest, and the number of equal requests, since a question may be repeated."""
        sent = _digest(self._role, self.name, request)
        self._sent[sent] += 1
        return f"{self._role.value}:{sent}:{self._sent[sent]}"

    def _stored_reply(self, key: str) -> ModelReply | None:
        """A stored reply; None if there is none, or if another version wrote it or masking changed it."""
        if self._has_failed:
            return None
        try:
            payload = self._journal.get(key)
            return None if payload is None else _REPLY.validate_json(payload)
        except StoreError as error:
            self._has_failed = True
            self._on_store_error(error)
        except ValidationError:
            return None
        return None

    def _record_spend(self, reply: ModelReply) -> None:
        usage, cost_usd = reply.usage, reply.cost_usd
        self._journal.record_spend(self._run_id, self._role, model=reply.model, usage=usage, cost_usd=cost_usd)

    def _write(self, write: Callable[[], None]) -> None:
        if self._has_failed:
            return
        try:
            write()
        except StoreError as error:
            self._has_failed = True
            self._on_store_error(error)


def _entry_kind(role: Role) -> EntryKind | None:
    """The kind of journal entry for a role; None for reducers, whose replies the pipeline stores."""
    match role:
        case Role.AGENT | Role.PLANNER | Role.SUMMARIZER | Role.REVIEWER:
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


def resume_run(run: StoredRun, journal: Journal, *, emitter: Emitter, meter: UsageMeter, budget: Budget) -> None:
    """Continue a stored run. Raises StoreError.

    What it has used counts in meter and budget. Requests that were in flight when it stopped may have been billed, and
    are sent again if needed: an event reports them with the tokens that they may have cost.
    """
    tokens, usd = 0, 0.0
    for spent in journal.spend_by_role(run.run_id):
        meter.record(spent.role, spent.usage, requests=spent.requests, cost_usd=spent.cost_usd)
        tokens += spent.usage.input_tokens + spent.usage.output_tokens
        usd += spent.cost_usd or 0.0
    budget.charge(Amount(tokens=tokens, usd=usd))
    emitter.emit(
        Resumed(text=f"resuming run {run.run_id} of {run.started_at:%Y-%m-%d %H:%M}; {tokens:,} tokens used so far")
    )
    in_flight = journal.unfinished_entries(run.run_id)
    if in_flight:
        reserved = sum(unit.reserved_tokens for unit in in_flight)
        kinds = ", ".join(sorted({unit.kind.value for unit in in_flight}))
        requests = counted(len(in_flight), "request")
        text = f"{requests} ({kinds}) in flight when it stopped: may have been billed, sent again if needed"
        emitter.emit(Resumed(text=f"{text}; up to {reserved:,} tokens were reserved for the replies"))
    journal.reopen_run(run.run_id)


def note_replayed_reply(emitter: Emitter, counter: CalibratedCounter, request: ModelRequest, reply: ModelReply) -> None:
    """Report a reply from the journal, and calibrate the token counter with it as with the original reply."""
    if reply.usage.is_reported:
        counter.observe(measure(request, counter).counted, reply.usage.input_tokens)
    emitter.emit(Resumed(text=f"{request.role.value}: using a stored reply of {reply.model}, no request sent"))
