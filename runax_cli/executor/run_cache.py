"""Stores the finished work of a run in the journal, so that a resumed or later run does not repeat it.

A unit of work is one page, reduction or label batch. Its key is a digest of everything that its result depends on.
A journal that fails is reported once per call and never stops the call.
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
    """Reads and writes the journal entries of one run, off the event loop."""

    def __init__(self, journal: Journal, emitter: Emitter) -> None:
        self._journal = journal
        self._emitter = emitter
        self._is_broken = False

    @property
    def run_id(self) -> str:
        """The run that the entries belong to."""
        return self._emitter.stamp.run_id

    async def get(self, key: str, *, max_age_s: float | None = None) -> bytes | None:
        """Return the stored result of a unit, or None. `max_age_s` limits the age of results of other runs only."""
        run_id = self.run_id
        return await self._guarded(lambda: self._journal.get(key, run_id=run_id, max_age_s=max_age_s))

    async def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the stored results of several units, by key."""
        run_id = self.run_id
        return await self._guarded(lambda: self._journal.get_all(keys, run_id=run_id)) or {}

    async def was_started(self, key: str) -> bool:
        """Return whether this run started a unit earlier and its process died before the result was stored."""
        run_id = self.run_id
        return bool(await self._guarded(lambda: self._journal.was_started(key, run_id)))

    async def mark_started(self, key: str, kind: EntryKind, *, reserved_tokens: int = 0) -> None:
        """Record that work on a unit starts."""
        run_id = self.run_id
        await self._guarded(lambda: self._journal.start_entry(key, kind, run_id, reserved_tokens=reserved_tokens))

    async def mark_failed(self, key: str) -> None:
        """Record that a unit failed and is no longer in flight."""
        run_id = self.run_id
        await self._guarded(lambda: self._journal.discard_entry(key, run_id))

    async def store(self, kind: EntryKind, entries: Mapping[str, bytes]) -> None:
        """Store the results of several units in one write."""
        run_id = self.run_id
        if entries:
            await self._guarded(lambda: self._journal.store_entries(kind, run_id, entries))

    async def update_location(self, key: str, payload: bytes) -> None:
        """Replace the payload of a stored unit without changing its age."""
        await self._guarded(lambda: self._journal.update_entry(key, payload))

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
    """Return the key of a unit: the digest of everything that its result depends on."""
    return hashlib.sha256(compact_json_bytes(list(parts))).hexdigest()
