"""Compares the time of paginated reduction with its ideal, and with one request after another.

Latencies are simulated (page 50 ms, reducer 3 s), everything else is real: tokenizer, spool, journal, sealing. 24 pages
of about a chunk each, 4 requests to the API and 8 reducers in parallel, calibrated counter. The ideal is
`probe + first page + max(ceil(P / c_f) * f, ceil(P / c) * r)`. Prints one JSON object. Exits with 10 if the wall time
is above 1.15 of the ideal.
"""

import asyncio
import json
import math
import sys
import time
from collections.abc import Mapping
from typing import Any

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.source_events import OnEvent, ignore_events
from benchmarks.setting import MISSED, Instant, call_of, executor_over, scope
from runax_cli.executor.outcome import CallOutcome
from runax_cli.models.base import ModelReply, ModelRequest, OnText
from runax_cli.models.tokens import CalibratedCounter, O200kCounter

LIMIT = 1.15
PAGES, PAGE_S, REDUCER_S = 24, 0.05, 3.0
APIS, REDUCERS = 4, 8
EFFECTIVE = 32_768
PAGE_RECORDS = 108
TOKENS_A_RECORD = 221
_CHARS = 1000
_WORDS = "výpadek internet router faktura signal outage invoice modem technik Brno Plzeň speed line call".split()


def record(number: int) -> dict[str, Any]:
    """Record `number`: a text of words derived from the number."""
    words = (_WORDS[(number * 7 + at * at) % len(_WORDS)] for at in range(_CHARS // 7))
    return {"id": number, "customer_id": number % 40, "state": "open", "text": " ".join(words)}


class SlowApi:
    """Pages by offset, each after 50 ms."""

    def __init__(self) -> None:
        self.records = [record(number) for number in range(PAGES * PAGE_RECORDS)]
        self.requests = 0

    async def call(
        self,
        _tool: str,
        _arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ignore_events,  # noqa: ARG002 - the seam's signature
    ) -> CallResult:
        """A page."""
        self.requests += 1
        await asyncio.sleep(PAGE_S)
        given = page.arguments if page else {}
        if given.get("meta_only"):
            n, tokens = len(self.records), len(self.records) * TOKENS_A_RECORD
            figures = {"data_path": "items", "total_items": n, "tokens_estimation": tokens}
            return CallResult(payload=figures, location="GET /items")
        start, size = int(given.get("offset", 0)), int(given.get("limit", PAGE_RECORDS))
        payload = {"items": self.records[start : start + size], "total": len(self.records)}
        return CallResult(payload=payload, location="GET /items")


class SlowReducer(Instant):
    """A reply after 3 seconds; `together` is the maximum number of concurrent requests."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting = 0
        self.together = 0

    async def complete(self, request: ModelRequest, *, on_text: OnText | None = None) -> ModelReply:
        """Find nothing, after 3 seconds."""
        self._waiting += 1
        self.together = max(self.together, self._waiting)
        await asyncio.sleep(REDUCER_S)
        self._waiting -= 1
        return await super().complete(request, on_text=on_text)


def tool(max_size: int) -> ToolSpec:
    pagination = Pagination(
        convention=PaginationStyle.OFFSET,
        position="offset",
        size="limit",
        min_size=1,
        max_size=max_size,
        metadata="meta_only",
    )
    return ToolSpec(
        name="list_items", description="", parameters={}, source="api", locator="GET /items", pagination=pagination
    )


async def measured(effective: int, *, apis: int, reducers: int) -> tuple[float, CallOutcome, SlowApi, SlowReducer]:
    api, reducer = SlowApi(), SlowReducer()
    counter = CalibratedCounter(O200kCounter(), ratio=1.0)
    counter.count("warm")
    settings = {"api_concurrency": apis, "reducer_concurrency": reducers}
    async with executor_over(api, counter, effective_tokens=effective, **settings) as executor:
        began = time.perf_counter()
        outcome = await executor.execute(call_of(tool(PAGE_RECORDS)), scope(reducer), direct_limit=effective // 4)
        return time.perf_counter() - began, outcome, api, reducer


async def one_after_another(chunks: int) -> float:
    """The same requests in sequence: a probe, a page, its reduction, the next page."""
    api, reducer = SlowApi(), SlowReducer()
    request = ModelRequest(role="reducer", messages=())  # type: ignore[arg-type]
    began = time.perf_counter()
    await api.call("list_items", {}, PageAddress({"meta_only": True}))
    for number in range(PAGES):
        await api.call("list_items", {}, PageAddress({"offset": number * PAGE_RECORDS}))
    for _ in range(chunks):
        await reducer.complete(request)
    return time.perf_counter() - began


async def compared() -> dict[str, Any]:
    took, outcome, api, reducer = await measured(EFFECTIVE, apis=APIS, reducers=REDUCERS)
    chunks = reducer.requests
    slow = await one_after_another(chunks)
    ideal = PAGE_S + PAGE_S + max(math.ceil(PAGES / APIS) * PAGE_S, math.ceil(PAGES / REDUCERS) * REDUCER_S)
    return {
        "wall_s": round(took, 3),
        "ideal_s": round(ideal, 3),
        "ratio": round(took / ideal, 3),
        "limit": LIMIT,
        "one_after_another_s": round(slow, 3),
        "factor": round(slow / took, 2),
        "pages": outcome.coverage.pages_read,
        "chunks": chunks,
        "reducers_at_once": reducer.together,
        "api_requests": api.requests,
        "records_read": outcome.coverage.records_read,
        "read_by_model": outcome.coverage.read_by_model,
        "tokens": outcome.report.tokens_raw,
        "tokens_a_chunk": round(outcome.report.tokens_raw / max(1, chunks)),
        "is_complete": outcome.coverage.is_complete,
    }


def main() -> int:
    told = asyncio.run(compared())
    is_reached = told["ratio"] <= LIMIT and told["is_complete"] and told["pages"] == PAGES
    print(json.dumps(told | {"is_reached": is_reached}, indent=2))
    return 0 if is_reached else MISSED


if __name__ == "__main__":
    sys.exit(main())
