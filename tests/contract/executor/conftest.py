"""A paged API with faults, a reducer that follows a script, and an executor between them."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from adapters.base import (
    CallResult,
    Json,
    OnEvent,
    PageAddress,
    Pagination,
    PaginationStyle,
    RequestSent,
    ToolList,
    ToolSpec,
    nobody,
)
from adapters.errors import HttpStatusError
from runax_cli.agent import prompts
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.executor.executor import Executor
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall
from runax_cli.executor.reduce.reducer import ReducerPrompts
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import Journal, MemoryJournal
from runax_cli.models.base import ByteCounter, Model, ModelReply, ModelRequest, ScriptedModel, Usage
from runax_cli.models.tokens import CalibratedCounter, measure

PROMPTS = ReducerPrompts(
    system=prompts.REDUCER_SYSTEM,
    user=prompts.REDUCER_USER,
    repair=prompts.REDUCER_REPAIR,
    merge_system=prompts.MERGE_SYSTEM,
    merge_user=prompts.MERGE_USER,
)
BY_OFFSET = Pagination(
    convention=PaginationStyle.OFFSET, position="offset", size="limit", min_size=1, max_size=50, default_size=20
)
LINE = re.compile(r"^\[(\d+)(?: part (\d+)/(\d+))?\] (.*)$")


def ticket(number: int, *, chars: int = 200) -> dict[str, Any]:
    """Record `number`, counted from 0."""
    text = f"Zákazník číslo {number} píše o výpadku. " * (chars // 40 + 1)
    return {"id": 1000 + number, "text": text[:chars], "nested": {"tags": ["a", "b"], "none": None}}


@dataclass
class Api:
    """Serves `records` in every convention; `faults` replace the answer of the nth request for a place (from 0)."""

    records: list[Json]
    announced: int | None = None
    convention: PaginationStyle = PaginationStyle.OFFSET
    cap: int = 50
    says_total: bool = True
    faults: dict[int, list[Any]] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    name: str = "crm"
    gate: asyncio.Event | None = None
    waits: asyncio.Event = field(default_factory=asyncio.Event)

    def spec(self, pagination: Pagination) -> ToolSpec:
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
        return ToolList(())

    async def call(
        self,
        tool_name: str,
        arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        /,
        *,
        observer: OnEvent = nobody,
    ) -> CallResult:
        given = {**arguments, **(page.arguments if page else {})}
        self.asked.append(given)
        observer(RequestSent(self.name, f"GET /tickets {given}"))
        if self.gate is not None and self._start(given) > 0:
            self.waits.set()
            await self.gate.wait()
        await asyncio.sleep(0)
        start = self._start(given)
        size = min(self.cap, int(given.get("limit", 20)))
        planned = self.faults.get(start, [])
        fault = planned.pop(0) if planned and size > 1 else None
        if isinstance(fault, Exception):
            raise fault
        records = fault(self, start, size) if callable(fault) else self.records[start : start + size]
        return self._result(records, start)

    def _start(self, given: Mapping[str, Any]) -> int:
        match self.convention:
            case PaginationStyle.PAGE:
                return (int(given.get("page", 1)) - 1) * min(self.cap, int(given.get("limit", 20)))
            case PaginationStyle.CURSOR:
                return int(str(given.get("cursor") or "at-0").removeprefix("at-"))
            case _:
                return int(given.get("offset", 0))

    def _result(self, records: list[Json], start: int) -> CallResult:
        payload: dict[str, Any] = {"items": records}
        if self.says_total:
            payload["total"] = len(self.records) if self.announced is None else self.announced
        if self.convention is PaginationStyle.CURSOR:
            following = start + len(records)
            payload["next_cursor"] = f"at-{following}" if following < len(self.records) else None
        body = json.dumps(payload, ensure_ascii=False).encode()
        return CallResult(payload=payload, location="GET /tickets", n_bytes=len(body), status=200)

    async def aclose(self) -> None: ...


def http_error(status: int, *, is_retryable: bool = False) -> HttpStatusError:
    return HttpStatusError(
        f"the server answered {status}", source="crm", location="GET /tickets", status=status, is_retryable=is_retryable
    )


def lines_of(request: ModelRequest) -> list[tuple[int, int, str]]:
    """Reference, part (0 for a whole record) and text of every record line of a reducer request."""
    inside = request.messages[1].content.partition("<records>\n")[2].rpartition("\n</records>")[0]
    found = [LINE.match(line) for line in inside.split("\n") if not line.startswith("[columns]")]
    assert all(found), inside[:500]
    return [(int(m[1]), int(m[2] or 0), m[4]) for m in found if m]


def reply(findings: list[dict[str, Any]] | None = None, *, text: str | None = None) -> ModelReply:
    said = text if text is not None else json.dumps({"findings": findings or [], "nothing_relevant": not findings})
    return ModelReply(text=said, model="scripted", usage=Usage(is_reported=False))


def cites_first(request: ModelRequest) -> ModelReply:
    """One finding a chunk, which rests on its first record and says its beginning; merges change nothing."""
    if "<findings>" in request.messages[1].content:
        return reply(text="no")
    ref, _, text = lines_of(request)[0]
    return reply([{"statement": f"It begins with {text[:40]}", "records": [ref], "quote": None}])


@dataclass
class Bench:
    """Everything around one executor."""

    api: Api
    executor: Executor
    reducer: Any
    sink: CollectingSink
    budget: Budget
    counter: CalibratedCounter
    folder: Path
    journal: Journal
    pagination: Pagination
    run_id: str = "run1"
    effective: int = 3000

    async def call(self, *, direct_limit: int = 500, **changes: Any) -> CallOutcome:
        decided = {
            "call_id": "c1",
            "tool": self.api.spec(self.pagination),
            "arguments": {"customer_id": 4},
            "focus": "outages",
        }
        return await self.executor.execute(DecidedCall(**decided | changes), self.scope(), direct_limit=direct_limit)

    async def read_all(self, **changes: Any) -> CallOutcome:
        decided = {"call_id": "c1", "tool": self.api.spec(self.pagination), "arguments": {}, "focus": ""}
        return await self.executor.read_all(DecidedCall(**decided | changes), self.scope())

    def scope(self) -> CallScope:
        emitter = Emitter.for_run(self.sink, run_id=self.run_id, session_id="s1")
        return CallScope(emitter=emitter, budget=self.budget, reducer=self.reducer)

    def events(self, kind: str) -> list[Any]:
        return [event.body for event in self.sink.events if event.body.type == kind]

    def codes(self, outcome: CallOutcome) -> set[str]:
        return {reason.code.value for reason in outcome.coverage.reasons}

    def largest_request(self) -> int:
        return max(measure(request, self.counter).bound(self.counter) for request in self.reducer.requests)

    def ids(self, outcome: CallOutcome) -> list[int]:
        assert outcome.dataset is not None
        return [record["id"] for record in outcome.dataset.records()]


MakeBench = Callable[..., Bench]


@pytest.fixture
def make(tmp_path: Path) -> MakeBench:
    """A bench over records: `n` tickets, or `records` themselves; further arguments are those of the API."""

    def made(
        n: int = 0,
        *,
        records: list[Json] | None = None,
        reducer: Any = cites_first,
        pagination: Pagination = BY_OFFSET,
        effective: int = 3000,
        limits: Limits | None = None,
        ratio: float | None = 1.0,
        journal: Journal | None = None,
        concurrency: int = 4,
        **api: Any,
    ) -> Bench:
        held = records if records is not None else [ticket(number) for number in range(n)]
        source = Api(held, convention=pagination.convention, **api)
        model: Model = ScriptedModel(reducer) if callable(reducer) or isinstance(reducer, list) else reducer
        # Bytes in place of a vocabulary: quick, deterministic, and just as strict about bounds.
        counter = CalibratedCounter(QuarterCounter(), ratio=ratio)
        kept = journal or MemoryJournal()
        executor = Executor(
            source,
            DatasetStore(tmp_path / "datasets"),
            kept,
            counter=counter,
            effective_tokens=effective,
            prompts=PROMPTS,
            api_concurrency=concurrency,
            reducer_concurrency=4,
            max_attempts=3,
        )
        return Bench(
            source,
            executor,
            model,
            CollectingSink(),
            Budget(limits or Limits(), owner="turn"),
            counter,
            tmp_path / "datasets",
            kept,
            pagination,
            effective=effective,
        )

    return made


class QuarterCounter:
    """A token for every four bytes of a line, rounded up: counts add up over lines as those of a vocabulary do."""

    name = "quarter"

    def count(self, text: str) -> int:
        inner = ByteCounter()
        return sum(-(-(inner.count(line) + 1) // 4) for line in text.split("\n"))
