"""What a call decided before: answers to its probe, and the size of its pages, from the journal.

A run that goes on must see the data as it saw it before: the total and the first record decide which stored pages are
its own, and pages of another size are other pages. Knows requests and responses as values. Knows no walk.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pydantic import ValidationError

from adapters.base import CallResult, Json, PageAddress
from adapters.errors import ConnectionFailed, SourceError, TimedOut
from runax_cli.executor.ledger import Ledger, key_of
from runax_cli.executor.outcome import DecidedCall
from runax_cli.executor.pages import where_of
from runax_cli.executor.snapshot import Sight, Snapshot
from runax_cli.memory.journal import EntryKind
from runax_cli.results import Stored
from runax_cli.telemetry.keys import NO_SECRETS

Send: TypeAlias = Callable[[PageAddress | None], Awaitable[CallResult]]
_UNSTORED_HEADERS = frozenset({"set-cookie", "authorization", "www-authenticate", "proxy-authenticate"})
_MOST_BYTES = 2 * 2**20
"""A larger answer is the data itself and is stored as a page."""


class StoredAnswer(Stored):
    """A response as it stands in the journal."""

    payload: Json
    location: str
    headers: dict[str, str]
    n_bytes: int
    status: int | None
    flaw: str = ""


class Recalled:
    """Sends a probe's requests, and remembers their answers. `sight` is that of the first answer.

    `identity` is the source's: an answer to another account, or of another server, is no answer.
    """

    def __init__(self, send: Send, call: DecidedCall, ledger: Ledger, *, identity: str = "") -> None:
        self._send, self._call, self._ledger, self._identity = send, call, ledger, identity
        self.sight = Sight()
        self._has_seen = False

    async def __call__(self, place: PageAddress | None) -> CallResult:
        """One answer. Raises SourceError and BudgetExhausted."""
        key = self._key(place)
        result = await self._stored(key)
        if result is None:
            result = await (self._send(place) if self._call.is_repeatable else self._sent_once(key, place))
            await self._remember(key, result)
        if not self._has_seen:
            self._has_seen, self.sight = True, Sight.of(result)
        return result

    async def _sent_once(self, key: str, place: PageAddress | None) -> CallResult:
        """The answer to what changes data. It is never repeated where it is not known whether it happened."""
        tool = self._call.tool
        if await self._ledger.has_begun(key):
            text = "it was sent before the run was cut off, and nobody knows whether it happened; it is not sent again"
            raise SourceError(text, source=tool.source, location=tool.locator, requests=0)
        await self._ledger.started(key, EntryKind.PAGE)
        try:
            return await self._send(place)
        except (ConnectionFailed, TimedOut):
            raise
        except Exception:
            await self._ledger.failed(key)
            raise

    async def _stored(self, key: str) -> CallResult | None:
        payload = None if self._call.tool.requires_fresh_input else await self._ledger.found(key)
        if payload is None:
            return None
        try:
            stored = await asyncio.to_thread(StoredAnswer.model_validate_json, payload)
        except ValidationError:
            return None
        return CallResult(
            payload=stored.payload,
            location=stored.location,
            headers=stored.headers,
            n_bytes=stored.n_bytes,
            requests=0,
            status=stored.status,
            flaw=stored.flaw,
        )

    async def _remember(self, key: str, result: CallResult) -> None:
        if result.n_bytes > _MOST_BYTES and self._call.is_repeatable:
            return
        stored = StoredAnswer(
            payload=result.payload,
            location=result.location,
            headers={k: v for k, v in result.headers.items() if k not in _UNSTORED_HEADERS},
            n_bytes=result.n_bytes,
            status=result.status,
            flaw=result.flaw,
        )
        payload = stored.model_dump_json().encode("utf-8", "replace")
        # What a credential was taken out of is no answer any more: it is asked for again.
        if not NO_SECRETS.is_touched(payload):
            await self._ledger.store(EntryKind.PAGE, {key: payload})

    def _key(self, place: PageAddress | None) -> str:
        call = self._call
        where = [call.tool.source, call.tool.name, call.arguments, where_of(place), bool(place and place.is_head)]
        return key_of("probe", self._ledger.run_id, call.call_id, self._identity, *where)


async def same_size(
    wanted: int | None, call: DecidedCall, ledger: Ledger, *, snapshot: Snapshot | None, identity: str = ""
) -> int | None:
    """The size of the pages that are stored already, else `wanted`, which is then that of all further ones."""
    if wanted is None:
        return None
    within = [ledger.run_id, call.call_id, identity] if snapshot is None else [snapshot.digest]
    tool = call.tool
    key = key_of("size", *within, tool.source, tool.name, call.arguments, call.at_most)
    stored = await ledger.found(key, max_age_s=0.0 if snapshot is None else snapshot.max_age_s)
    if stored is not None and stored.isdigit():
        return int(stored)
    await ledger.store(EntryKind.PAGE, {key: str(wanted).encode()})
    return wanted
