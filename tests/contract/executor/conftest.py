"""The `make` fixture: an executor between a `PagedApi` and a scripted reducer."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Json, Pagination, PaginationStyle
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.executor.executor import Executor
from runax_cli.executor.outcome import CallOutcome, CallScope, DecidedCall
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import Journal, MemoryJournal
from runax_cli.models.base import ByteCounter, Model, ModelReply, ModelRequest, ScriptedModel, Usage
from runax_cli.models.tokens import CalibratedCounter, measure
from runax_cli.runtime.runtime import REDUCER_PROMPTS
from tests.fakes.paged_api import PagedApi

BY_OFFSET = Pagination(
    convention=PaginationStyle.OFFSET, position="offset", size="limit", min_size=1, max_size=50, default_size=20
)
LINE = re.compile(r"^\[(\d+)(?: part (\d+)/(\d+))?\] (.*)$")


def ticket(number: int, *, chars: int = 200) -> dict[str, Any]:
    """Record `number`, counted from 0."""
    text = f"Zákazník číslo {number} píše o výpadku. " * (chars // 40 + 1)
    return {"id": 1000 + number, "text": text[:chars], "nested": {"tags": ["a", "b"], "none": None}}


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
    """One finding per chunk, which cites its first record and quotes its beginning; merges change nothing."""
    if "<findings>" in request.messages[1].content:
        return reply(text="no")
    ref, _, text = lines_of(request)[0]
    return reply([{"statement": f"It begins with {text[:40]}", "records": [ref], "quote": None}])


@dataclass
class Bench:
    """One executor and its environment."""

    api: PagedApi
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
        source = PagedApi(held, style=pagination.convention, **api)
        model: Model = ScriptedModel(reducer) if callable(reducer) or isinstance(reducer, list) else reducer
        # Bytes instead of a vocabulary: fast, deterministic, and equally strict about bounds.
        counter = CalibratedCounter(QuarterCounter(), ratio=ratio)
        kept = journal or MemoryJournal()
        executor = Executor(
            source,
            DatasetStore(tmp_path / "datasets"),
            kept,
            counter=counter,
            effective_tokens=effective,
            prompts=REDUCER_PROMPTS,
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
    """A token for every four bytes of a line, rounded up: counts of lines add up, as with a real vocabulary."""

    name = "quarter"

    def count(self, text: str) -> int:
        inner = ByteCounter()
        return sum(-(-(inner.count(line) + 1) // 4) for line in text.split("\n"))
