"""The ledger: units of work of one run in the journal, by the hash of what they are made of.

Knows keys and that a journal may fail: that is told once, and never stops a call. Knows no payload.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from adapters.base import Json
from adapters.json_text import compact_json_bytes
from runax_cli.core.errors import StoreError
from runax_cli.core.event_types import Warned
from runax_cli.core.events import Emitter
from runax_cli.memory.journal import EntryKind, Journal

_T = TypeVar("_T")


class RunCache:
    """Journal entries of one run, written off the event loop."""

    def __init__(self, journal: Journal, emitter: Emitter) -> None:
        self._journal = journal
        self._emitter = emitter
        self._is_broken = False

    @property
    def run_id(self) -> str:
        """The run whose work this is."""
        return self._emitter.stamp.run_id

    async def found(self, key: str, *, max_age_s: float | None = None) -> bytes | None:
        """The stored result of a unit, or None; what another run stored is too old after `max_age_s`."""
        run_id = self.run_id
        return await self._guarded(lambda: self._journal.get(key, run_id=run_id, max_age_s=max_age_s))

    async def has_begun(self, key: str) -> bool:
        """Whether this run began a unit before, and its process died before the result was stored."""
        run_id = self.run_id
        return bool(await self._guarded(lambda: self._journal.was_started(key, run_id)))

    async def started(self, key: str, kind: EntryKind, *, reserved_tokens: int = 0) -> None:
        """Write that a unit begins."""
        run_id = self.run_id
        await self._guarded(lambda: self._journal.start_entry(key, kind, run_id, reserved_tokens=reserved_tokens))

    async def moved(self, key: str, payload: bytes) -> None:
        """Write where a unit's result is now, which is as old as it was."""
        await self._guarded(lambda: self._journal.update_entry(key, payload))

    async def failed(self, key: str) -> None:
        """Write that a unit came to nothing, and is not in flight any more."""
        run_id = self.run_id
        await self._guarded(lambda: self._journal.discard_entry(key, run_id))

    async def found_all(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The stored results of many units, by key."""
        run_id = self.run_id
        return await self._guarded(lambda: self._journal.get_all(keys, run_id=run_id)) or {}

    async def store(self, kind: EntryKind, entries: Mapping[str, bytes]) -> None:
        """Write many units that are done, at once."""
        run_id = self.run_id
        if entries:
            await self._guarded(lambda: self._journal.store_entries(kind, run_id, entries))

    async def _guarded(self, action: Callable[[], _T]) -> _T | None:
        if self._is_broken:
            return None
        try:
            return await asyncio.to_thread(action)
        except StoreError as error:
            self._is_broken = True
            self._emitter.emit(Warned(code="journal", text=f"This call cannot be resumed: {error}"))
            return None


def key_of(*parts: Json) -> str:
    """The key of a unit: a digest of everything that its result depends on."""
    return hashlib.sha256(compact_json_bytes(list(parts))).hexdigest()
