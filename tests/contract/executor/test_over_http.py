"""Calls to the mock API over real HTTP: every style and every fault, with the OpenAPI adapter."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson
import pytest

from adapters.clock import ManualClock
from adapters.openapi.adapter import OpenApiSource
from adapters.openapi.settings import OpenApiSettings
from mock_api.app import create_app
from mock_api.faults import Fault, FaultKind, FaultPlan
from mock_api.pagination import PagingStyle
from mock_api.resources import Filters, Resource
from mock_api.serving import serve
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter, Event
from runax_cli.executor.executor import Executor
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ByteCounter, Model, ModelReply, ModelRequest, ScriptedModel, Usage
from runax_cli.models.tokens import CalibratedCounter
from runax_cli.runtime.runtime import REDUCER_PROMPTS

N = 261
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}, "text": {"type": "string"}}}


def record(number: int, *, chars: int = 120) -> bytes:
    text = f"Zákazník {number} hlásí výpadek, signal is lost. " * (chars // 40 + 1)
    return orjson.dumps({"id": number, "text": text[:chars]})


def items(n: int = N, *, chars: Mapping[int, int] = MappingProxyType({})) -> Resource:
    def select(_filters: Filters) -> Sequence[int]:
        return range(n)

    return Resource(
        name="items",
        description="Items.",
        record_schema=SCHEMA,
        filters=(),
        select=select,
        read=lambda positions: [record(number, chars=chars.get(number, 120)) for number in positions],
        definitions={},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ByRequest(FaultPlan):
    """Faults by the number of the request to the API (from 1), and pages that always fail."""

    planned: Mapping[int, FaultKind] = field(default_factory=dict)

    def fault_for(self, number: int, *, page: int | None = None) -> Fault | None:
        """What happens to request `number`."""
        if page in self.dropped_pages:
            return Fault(FaultKind.DROPPED_PAGE)
        kind = self.planned.get(number)
        return None if kind is None else Fault(kind)


def nothing_relevant(_request: ModelRequest) -> ModelReply:
    text = json.dumps({"findings": [], "nothing_relevant": True})
    return ModelReply(text=text, model="scripted", usage=Usage(is_reported=False))


class AwaitableSink(CollectingSink):
    """A sink that sets `reached` after `times` events of `kind`."""

    def __init__(self, kind: str, times: int) -> None:
        super().__init__()
        self.reached = asyncio.Event()
        self._kind, self._left = kind, times

    def emit(self, event: Event) -> None:
        super().emit(event)
        self._left -= event.body.type == self._kind
        if self._left == 0:
            self.reached.set()


@dataclass
class Http:
    """A call over HTTP: the source, an executor, and the emitted events."""

    source: OpenApiSource
    executor: Executor
    sink: CollectingSink
    reducer: Model
    budget: Budget
    folder: Path

    async def call(self, *, direct_limit: int = 500, **changes: Any) -> CallOutcome:
        (tool,) = (await self.source.list_tools()).tools
        emitter = Emitter.for_run(self.sink, run_id="r", session_id="s")
        scope = CallScope(emitter=emitter, budget=self.budget, reducer=self.reducer)
        given: dict[str, Any] = {"call_id": "c", "tool": tool, "arguments": {}, "focus": "outages"}
        return await self.executor.execute(DecidedCall(**given | changes), scope, direct_limit=direct_limit)

    def events(self, kind: str) -> list[Any]:
        return [event.body for event in self.sink.events if event.body.type == kind]


Opened = Callable[..., AbstractAsyncContextManager[Http]]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    @asynccontextmanager
    async def over(
        resource: Resource | None = None,
        *,
        style: PagingStyle = PagingStyle.OFFSET,
        reducer: Model | None = None,
        concurrency: int = 4,
        limits: Limits | None = None,
        **app: Any,
    ) -> AsyncIterator[Http]:
        served = create_app([resource or items()], styles={"items": style}, max_limit=50, **app)
        async with serve(served, port=0) as url:
            settings = OpenApiSettings(name="mock", document=f"{url}/openapi.json", base_url=url)
            source = await OpenApiSource.open(settings, clock=ManualClock())
            try:
                executor = Executor(
                    source,
                    DatasetStore(tmp_path / "datasets"),
                    MemoryJournal(),
                    counter=CalibratedCounter(ByteCounter(), ratio=1.0),
                    effective_tokens=16_000,
                    prompts=REDUCER_PROMPTS,
                    api_concurrency=concurrency,
                    reducer_concurrency=4,
                )
                yield Http(
                    source=source,
                    executor=executor,
                    sink=CollectingSink(),
                    reducer=reducer or ScriptedModel(nothing_relevant),
                    budget=Budget(limits or Limits(), owner="turn"),
                    folder=tmp_path / "datasets",
                )
            finally:
                await source.aclose()

    return over


def ids(outcome: CallOutcome) -> list[int]:
    assert outcome.dataset is not None
    return [int(found["id"]) for found in outcome.dataset.records()]


def codes(outcome: CallOutcome) -> set[str]:
    return {reason.code.value for reason in outcome.coverage.reasons}


PAGED = [PagingStyle.OFFSET, PagingStyle.PAGE, PagingStyle.CURSOR, PagingStyle.LINK, PagingStyle.NEXT_URL]


@pytest.mark.parametrize("style", PagingStyle)
@pytest.mark.parametrize("n", [1, 50, N])
@pytest.mark.parametrize("says_total", [True, False])
async def test_every_style_returns_every_record_once(
    opened: Opened, style: PagingStyle, n: int, says_total: bool
) -> None:
    async with opened(items(n), style=style, has_total=says_total, has_metadata=says_total) as http:
        outcome = await http.call()
    assert ids(outcome) == list(range(n))
    assert outcome.coverage.is_complete, outcome.coverage.reasons
    assert outcome.coverage.records_total == n
    assert outcome.coverage.total_is == "exact"
    assert outcome.coverage.read_by_model == n
    assert outcome.dataset is not None
    assert outcome.dataset.is_sealed


@pytest.mark.parametrize("style", [PagingStyle.OFFSET, PagingStyle.PAGE, PagingStyle.LINK])
async def test_a_failed_page_is_reported_and_the_others_are_read(opened: Opened, style: PagingStyle) -> None:
    async with opened(style=style, faults=ByRequest(dropped_pages=frozenset({3}))) as http:
        outcome = await http.call()
    missing = set(range(N)) - set(ids(outcome))
    assert missing
    assert len(missing) <= 50
    assert outcome.envelope.status == "partial"
    assert "page_failed" in codes(outcome)
    assert outcome.coverage.records_total == N
    assert "could not be read" in outcome.envelope.next_action_hint


@pytest.mark.parametrize("style", PAGED)
@pytest.mark.parametrize("kind", [FaultKind.RATE_LIMITED, FaultKind.SERVER_ERROR, FaultKind.CUT_BODY])
async def test_a_request_that_fails_sometimes_is_retried_without_loss(
    opened: Opened, style: PagingStyle, kind: FaultKind
) -> None:
    plan = ByRequest(planned=dict.fromkeys(range(1, 60, 3), kind))
    async with opened(style=style, faults=plan) as http:
        outcome = await http.call()
    assert ids(outcome) == list(range(N))
    assert outcome.coverage.is_complete
    assert http.events("retry.scheduled")
    assert outcome.report.requests > outcome.coverage.pages_read


@pytest.mark.parametrize("style", [PagingStyle.OFFSET, PagingStyle.PAGE, PagingStyle.NEXT_URL, PagingStyle.LINK])
@pytest.mark.parametrize("kind", [FaultKind.SHORT_PAGE, FaultKind.REPEATED_RECORD, FaultKind.REPEATED_PAGE])
@pytest.mark.parametrize("number", [3, 5, 7])
async def test_a_wrong_page_is_repaired_or_reported(
    opened: Opened, style: PagingStyle, kind: FaultKind, number: int
) -> None:
    async with opened(style=style, faults=ByRequest(planned={number: kind})) as http:
        outcome = await http.call()
    found = ids(outcome)
    assert found == sorted(set(found))
    assert (found == list(range(N))) == outcome.coverage.is_complete
    if not outcome.coverage.is_complete:
        assert outcome.coverage.reasons


@pytest.mark.parametrize("style", [PagingStyle.OFFSET, PagingStyle.PAGE, PagingStyle.NEXT_URL, PagingStyle.LINK])
@pytest.mark.parametrize("number", [1, 2, 4])
async def test_a_wrong_total_is_not_trusted(opened: Opened, style: PagingStyle, number: int) -> None:
    async with opened(style=style, faults=ByRequest(planned={number: FaultKind.WRONG_TOTAL})) as http:
        outcome = await http.call()
    assert ids(outcome) == list(range(N))
    if outcome.coverage.is_complete:
        assert outcome.coverage.records_total == N
    else:
        assert codes(outcome) & {"total_mismatch", "total_changed"}


async def test_an_api_that_is_down_is_an_error_and_not_an_empty_dataset(opened: Opened) -> None:
    down = ByRequest(planned=dict.fromkeys(range(1, 99), FaultKind.SERVER_ERROR))
    async with opened(faults=down) as http:
        outcome = await http.call()
    sent = json.loads(outcome.envelope.to_model_text())
    assert sent["status"] == "error"
    assert sent["error"]["retryable"] is True
    assert outcome.dataset is None
    assert outcome.coverage.records_total is None
    assert not outcome.coverage.is_complete


@pytest.mark.parametrize("style", PagingStyle)
async def test_no_records_are_an_empty_result(opened: Opened, style: PagingStyle) -> None:
    async with opened(items(0), style=style) as http:
        outcome = await http.call()
    assert outcome.envelope.status == "empty"
    assert outcome.coverage.is_complete


@pytest.mark.parametrize("style", PagingStyle)
async def test_a_record_longer_than_a_chunk_is_read_in_parts(opened: Opened, style: PagingStyle) -> None:
    async with opened(items(40, chars={17: 60_000}), style=style) as http:
        outcome = await http.call()
    assert outcome.coverage.read_by_model == 40
    assert outcome.coverage.is_complete
    assert outcome.dataset is not None
    assert len(outcome.dataset.record(18)["text"]) == 60_000


@pytest.mark.parametrize("style", PAGED)
async def test_the_first_n_records_are_enough_if_requested(opened: Opened, style: PagingStyle) -> None:
    async with opened(style=style) as http:
        outcome = await http.call(at_most=70)
    assert ids(outcome) == list(range(70))
    assert codes(outcome) == {"first_n"}
    assert outcome.coverage.is_complete
    assert outcome.report.requests <= 8


@pytest.mark.parametrize("style", PAGED)
async def test_a_budget_that_ends_during_a_call_keeps_the_received_records(opened: Opened, style: PagingStyle) -> None:
    async with opened(style=style, limits=Limits(requests=5), concurrency=1) as http:
        outcome = await http.call()
    assert 0 < len(ids(outcome)) < N
    assert ids(outcome) == list(range(len(ids(outcome))))
    assert "budget" in codes(outcome)
    assert outcome.envelope.status == "partial"
    assert http.budget.spent.requests <= 5


async def test_cancellation_keeps_the_received_pages(opened: Opened) -> None:
    async with opened(items(4000), concurrency=1, faults=FaultPlan(latency_s=0.01)) as http:
        http.sink = sink = AwaitableSink("page.fetched", 3)
        task = asyncio.create_task(http.call())
        await sink.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (folder,) = http.folder.iterdir()
        pages = [json.loads(line) for line in (folder / "manifest.jsonl").read_text().splitlines()]
        assert len(pages) >= 3
        assert len((folder / "pages.ndjson").read_bytes().splitlines()) == sum(page["records"] for page in pages)


async def test_concurrent_calls_share_the_slots_of_their_source(opened: Opened) -> None:
    async with opened(concurrency=2) as http:
        under_way = most = 0
        inner = http.source.call

        async def counted(*given: Any, **named: Any) -> Any:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            try:
                return await inner(*given, **named)
            finally:
                under_way -= 1

        http.source.call = counted  # type: ignore[method-assign]
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(http.call(call_id=f"c{n}")) for n in range(3)]
    assert all(ids(call.result()) == list(range(N)) for call in calls)
    assert most == 2


async def test_a_full_disk_is_reported_and_its_records_count(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    from runax_cli.executor.store import spool

    room = 12_000
    inner = os.write

    def limited(descriptor: int, body: Any) -> int:
        nonlocal room
        if len(body) > room:
            room = 0
            raise OSError(28, "No space left on device")
        room -= len(body)
        return inner(descriptor, body)

    monkeypatch.setattr(spool.os, "write", limited)
    async with opened(concurrency=1) as http:
        outcome = await http.call()
    assert outcome.envelope.status == "partial"
    assert "store_error" in codes(outcome)
    found = ids(outcome)
    assert found
    assert found == list(range(len(found)))
    assert "No space left" in outcome.envelope.next_action_hint
