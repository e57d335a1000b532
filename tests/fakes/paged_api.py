"""A scriptable paged API in memory: every pagination style, page caps, faults and wrong totals, without a network."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from adapters.base import (
    CallResult,
    Json,
    OnEvent,
    PageAddress,
    Pagination,
    PaginationStyle,
    ToolList,
    ToolSpec,
    ignore_events,
)
from adapters.clock import ManualClock
from adapters.errors import HttpStatusError, TimedOut
from adapters.source_events import RequestSent

Fault: TypeAlias = "Exception | Callable[[PagedApi, int, int], list[Json]]"
"""What happens to a request: an error, or other records than those from `start` on (API, start, page size)."""

Answer: TypeAlias = Callable[[PageAddress], Json]
"""The payload for a page address, or None for the regular one."""


@dataclass
class PagedApi:
    """Serves `records` in one pagination style and keeps the arguments of all `requests`.

    `cap` is the largest page, `default_size` that of a request without a limit. `announced` is the total, as a number
    or by the start of the page; None is the real one. `faults` are by the number of records before a page, each used
    by one request; requests for one record (probes) have none. `seek` maps the requested position to the one served.
    `skips_missing`: the next cursor counts whole pages, so that records cut from a page are skipped. A request for
    position `gate_from` or later sets `at_gate` and waits for `gate`. `answer` replaces everything else.
    """

    records: list[Json]
    style: PaginationStyle = PaginationStyle.OFFSET
    cap: int = 50
    default_size: int = 20
    says_total: bool = True
    announced: int | Callable[[int], int] | None = None
    faults: dict[int, list[Fault]] = field(default_factory=dict)
    refuses_beyond: bool = False
    skips_missing: bool = False
    seek: Callable[[int], int] = lambda position: position
    answer: Answer | None = None
    name: str = "crm"
    location: str = "GET /tickets"
    status: int | None = 200
    requests: list[dict[str, Any]] = field(default_factory=list)
    gate: asyncio.Event | None = None
    gate_from: int = 1
    at_gate: asyncio.Event = field(default_factory=asyncio.Event)
    clock: ManualClock = field(default_factory=ManualClock)
    request_s: float = 0.0

    def spec(self, pagination: Pagination) -> ToolSpec:
        """The tool that lists the records."""
        return ToolSpec(
            name="list_tickets",
            description="Tickets.",
            parameters={"type": "object", "properties": {}},
            source=self.name,
            locator="GET /tickets",
            noun="tickets",
            pagination=pagination,
        )

    async def list_tools(self) -> ToolList:
        """Tools are passed to the executor by the tests."""
        return ToolList(())

    async def call(
        self,
        tool_name: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        /,
        *,
        observer: OnEvent = ignore_events,
    ) -> CallResult:
        """Return a page, or fail as planned."""
        address = page or PageAddress()
        given = {**arguments, **address.arguments}
        self.requests.append(given)
        self.clock.now += self.request_s
        observer(RequestSent(self.name, f"{self.location} {given}"))
        payload = self.answer(address) if self.answer is not None else None
        if payload is not None:
            return self._result(payload)
        start, size = self.seek(self._position(given)), self._size(given)
        if self.gate is not None and start >= self.gate_from:
            self.at_gate.set()
            await self.gate.wait()
        await asyncio.sleep(0)
        if self.refuses_beyond and start >= len(self.records) and start > 0:
            raise http_error(404)
        return self._result(self._payload(self._page(start, size), start, size))

    def _size(self, given: Mapping[str, Any]) -> int:
        return min(self.cap, int(given.get("limit", self.default_size)))

    def _position(self, given: Mapping[str, Any]) -> int:
        match self.style:
            case PaginationStyle.PAGE:
                return (int(given.get("page", 1)) - 1) * self._size(given)
            case PaginationStyle.CURSOR:
                return int(str(given.get("cursor") or "at-0").removeprefix("at-"))
            case _:
                return int(given.get("offset", 0))

    def _page(self, start: int, size: int) -> list[Json]:
        if start < 0:
            return []
        planned = self.faults.get(start, [])
        fault = planned.pop(0) if planned and size > 1 else None
        if isinstance(fault, Exception):
            raise fault
        return self.records[start : start + size] if fault is None else fault(self, start, size)

    def _payload(self, records: list[Json], start: int, size: int) -> dict[str, Any]:
        payload: dict[str, Any] = {"items": records}
        if self.says_total:
            announced = self.announced(start) if callable(self.announced) else self.announced
            payload["total"] = len(self.records) if announced is None else announced
        if self.style is PaginationStyle.CURSOR:
            following = start + (size if self.skips_missing else len(records))
            payload["next_cursor"] = f"at-{following}" if following < len(self.records) else None
        return payload

    def _result(self, payload: Json) -> CallResult:
        n_bytes = len(json.dumps(payload, ensure_ascii=False).encode())
        return CallResult(payload=payload, location=self.location, n_bytes=n_bytes, status=self.status)

    async def aclose(self) -> None:
        """Nothing is open."""


def http_error(status: int, *, is_retryable: bool = False) -> HttpStatusError:
    """The error of a server that answers with `status`."""
    text = f"the server answered {status}"
    return HttpStatusError(text, source="crm", location="GET /tickets", status=status, is_retryable=is_retryable)


def timed_out(*, is_retryable: bool = True, retry_after_s: float | None = None) -> TimedOut:
    """The error of a request whose three attempts had no reply."""
    return TimedOut(
        "no reply in 30 s",
        source="crm",
        location="GET /tickets",
        is_retryable=is_retryable,
        retry_after_s=retry_after_s,
        requests=3,
    )


def cut(n: int, *, keep: int = 0) -> Fault:
    """A page that lacks its last `n` records, but keeps `keep`."""

    def page(api: PagedApi, start: int, size: int) -> list[Json]:
        records = api.records[start : start + size]
        return records[: max(keep, len(records) - n)]

    return page


def shifted(pages: int) -> Fault:
    """The page that lies `pages` pages away from the requested one."""

    def page(api: PagedApi, start: int, size: int) -> list[Json]:
        first = max(0, start + pages * size)
        return api.records[first : first + size]

    return page


def empty(_api: PagedApi, _start: int, _size: int) -> list[Json]:
    """A page without records."""
    return []


def first_page(api: PagedApi, start: int, size: int) -> list[Json]:
    """The first records instead of the requested ones."""
    return api.records[: len(api.records[start : start + size])]


def with_duplicate(api: PagedApi, start: int, size: int) -> list[Json]:
    """A page with its first record again instead of its last one."""
    records = api.records[start : start + size]
    return [*records[:-1], *records[:1]]


def with_inserted_duplicate(at: int) -> Fault:
    """A page with its first record once more at position `at`, which pushes its last one out if the page is full."""

    def page(api: PagedApi, start: int, size: int) -> list[Json]:
        records = api.records[start : start + size]
        return [*records[:at], *records[:1], *records[at:]][:size]

    return page
