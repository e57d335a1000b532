"""A model whose requests are written to the journal: what was asked, what came back, what it cost.

Steps of the main model are units of work, keyed by their request; of any other role only the spend is written here.
A journal that cannot be written costs its notes and not the answer: that is told once. Knows no prompt.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict

from runax_cli.errors import StoreError
from runax_cli.memory.journal import EntryKind, Journal
from runax_cli.models.base import Model, ModelReply, ModelRequest, OnText, Role

Lost = Callable[[StoreError], None]


class JournalledModel:
    """Wraps the model of one role for one run. `on_lost` hears of the first note that could not be written."""

    def __init__(self, inner: Model, *, role: Role, journal: Journal, run_id: str, on_lost: Lost) -> None:
        self._inner = inner
        self._role = role
        self._journal = journal
        self._run_id = run_id
        self._on_lost = on_lost
        self._is_lost = False

    @property
    def name(self) -> str:
        """The name of the model behind."""
        return self._inner.name

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """See `Model.complete`."""
        key = _key(self.name, request) if self._role is Role.AGENT else None
        if key is not None:
            reserved = request.max_output_tokens
            self._note(lambda: self._journal.started(key, EntryKind.STEP, self._run_id, reserved_tokens=reserved))
        reply = await self._inner.complete(request, on_text=on_text)
        if key is not None:
            self._note(lambda: self._journal.done(key, _payload(reply)))
        self._note(lambda: self._spend(reply))
        return reply

    async def aclose(self) -> None:
        """Close the model behind."""
        await self._inner.aclose()

    def _spend(self, reply: ModelReply) -> None:
        usage, cost_usd = reply.usage, reply.cost_usd
        self._journal.spend(self._run_id, self._role, model=reply.model, usage=usage, cost_usd=cost_usd)

    def _note(self, write: Callable[[], None]) -> None:
        if self._is_lost:
            return
        try:
            write()
        except StoreError as error:
            self._is_lost = True
            self._on_lost(error)


def _key(model: str, request: ModelRequest) -> str:
    """Of the run and everything that is sent: within a run no step is sent twice."""
    sent = {"model": model, "run": request.run_id, "messages": [asdict(message) for message in request.messages]}
    text = json.dumps(sent | {"tools": [asdict(tool) for tool in request.tools]}, sort_keys=True, default=str)
    return "step:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _payload(reply: ModelReply) -> bytes:
    return json.dumps(asdict(reply), ensure_ascii=False).encode("utf-8", "surrogatepass")
