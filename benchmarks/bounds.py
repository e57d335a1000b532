"""Whether any request to a model exceeds the effective context, as measured by the server that receives it.

Page sizes, record sizes, effective contexts and the endpoint's tokenizer are drawn at random; one record of each
dataset is longer than a chunk; some replies are invalid, cut off, or long. Every request is measured when it arrives
over HTTP, with the counter in use: bytes before calibration, the calibrated bound afterwards.

Prints one JSON object. Exits with 10 if a request was too large, or if a record was neither read nor reported.
"""

import asyncio
import json
import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from adapters.base import CallResult, Json, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.clock import ManualClock
from adapters.source_events import OnEvent, ignore_events
from benchmarks.setting import MISSED, Deaf, call_of, executor_over, scope
from mock_api.llm_server import WireCompletion, WireRequest, create_llm_app
from mock_api.serving import serve
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import Emitter
from runax_cli.models.base import Role
from runax_cli.models.metering import UsageMeter
from runax_cli.models.registry import ModelRegistry, RoleConfig
from runax_cli.models.rules import RulesModel
from runax_cli.models.tokens import MESSAGE_OVERHEAD, CalibratedCounter, O200kCounter

CASES = 30
_ALPHABETS = (
    "výpadek internetu a faktura ",
    "0123456789",
    '{"a":[1,2]} ',
    "🙂🚀✨ ",
    "   \t",
    "ABCdef_-/ ",
    "<|im_start|>",
)


@dataclass
class Wire:
    """An endpoint with its own tokenizer (`ratio`); keeps the largest request as a share of the effective context."""

    ratio: float
    effective: int
    rng: random.Random
    counter: CalibratedCounter | None = None
    requests: int = 0
    above: int = 0
    largest: float = 0.0
    uncalibrated: int = 0
    inner: O200kCounter = field(default_factory=O200kCounter)

    async def answer(self, request: WireRequest) -> WireCompletion:
        """Measure the request, and send a valid, invalid or truncated reply."""
        counted, n_bytes = self._weight(request)
        assert self.counter is not None
        self.requests += 1
        self.uncalibrated += not self.counter.is_calibrated
        bound = self.counter.bound_of_counted(counted, n_bytes)
        self.above += bound > self.effective or (self.counter.is_calibrated and counted * self.ratio > self.effective)
        self.largest = max(self.largest, bound / self.effective)
        text = self._reply(request)
        return WireCompletion(
            text=text,
            input_tokens=round(counted * self.ratio),
            output_tokens=self.inner.count(text),
            is_truncated=self.rng.random() < 0.03,
        )

    def _weight(self, request: WireRequest) -> tuple[int, int]:
        parts = [message.content for message in request.messages]
        if request.output_schema is not None:
            parts.append(orjson.dumps(request.output_schema.schema).decode())
        text = "\n".join(parts)
        overhead = MESSAGE_OVERHEAD * len(request.messages)
        return self.inner.count(text) + overhead, len(text.encode()) + overhead

    def _reply(self, request: WireRequest) -> str:
        if request.output_schema is not None and request.output_schema.name == "merged_findings":
            return json.dumps({"findings": [{"statement": "All of it.", "sources": ["f1", "f2"]}]})
        ref = 1 if self.rng.random() < 0.8 else 99_999
        statement = "a customer complained " * self.rng.randint(1, 20)
        findings = [
            {"statement": f"{statement}{self.rng.random()}", "records": [ref], "quote": None}
            for _ in range(self.rng.randint(1, 8))
        ]
        return json.dumps({"findings": findings, "nothing_relevant": False})


@dataclass
class Pages:
    """Records by offset, at most `cap` per page."""

    records: list[Json]
    cap: int

    async def call(
        self,
        _tool: str,
        _arguments: Mapping[str, Json],
        page: PageAddress | None = None,
        *,
        observer: OnEvent = ignore_events,  # noqa: ARG002 - the seam's signature
    ) -> CallResult:
        """A page."""
        given = page.arguments if page else {}
        start, size = int(given.get("offset", 0)), min(self.cap, int(given.get("limit", self.cap)))
        payload = {"items": self.records[start : start + size], "total": len(self.records)}
        return CallResult(payload=payload, location="GET /items")


def records(rng: random.Random, giant_chars: int) -> list[Json]:
    """Up to 150 records of different lengths, one of them huge."""
    made = [
        {"id": number, "text": (rng.choice(_ALPHABETS) * 400)[: int(rng.lognormvariate(5, 1.2))]}
        for number in range(rng.randint(1, 150))
    ]
    made[rng.randrange(len(made))]["text"] = "".join(rng.choice(_ALPHABETS) for _ in range(giant_chars // 8))
    return made


async def one(case: int) -> dict[str, Any]:
    """One dataset over one endpoint."""
    rng = random.Random(case)
    effective = rng.choice([8_000, 12_000, 24_000])
    wire = Wire(ratio=rng.choice([0.8, 1.0, 1.3]), effective=effective, rng=rng)
    api: Literal["responses", "chat"] = rng.choice(["responses", "chat"])
    async with serve(create_llm_app(wire.answer), port=0) as url:
        config = RoleConfig(
            name="wire", base_url=f"{url}/v1", api_key="k", api=api, max_context=effective, utilization=1
        )
        registry = ModelRegistry({Role.AGENT: config}, concurrency=4, rules=RulesModel, clock=ManualClock())
        wire.counter = registry.counter(Role.REDUCER)
        try:
            return await _read(registry, wire, records(rng, effective * 4), cap=rng.randint(1, 60))
        finally:
            await registry.aclose()


async def _read(registry: ModelRegistry, wire: Wire, held: list[Json], *, cap: int) -> dict[str, Any]:
    budget = Budget(Limits(), owner="benchmark")
    emitter = Emitter.for_run(Deaf(), run_id="benchmark", session_id="benchmark")
    reducer = registry.bind(Role.REDUCER, budget=budget, emitter=emitter, meter=UsageMeter())
    paging = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit", min_size=1, max_size=cap)
    tool = ToolSpec(
        name="list_items", description="", parameters={}, source="api", locator="GET /items", pagination=paging
    )
    counter = registry.counter(Role.REDUCER)
    async with executor_over(Pages(held, cap), counter, effective_tokens=wire.effective) as executor:
        outcome = await executor.execute(call_of(tool), scope(reducer, budget), direct_limit=100)
    coverage = outcome.coverage
    is_told = coverage.read_by_model == len(held) or not coverage.is_complete
    return {
        "requests": wire.requests,
        "uncalibrated": wire.uncalibrated,
        "above": wire.above,
        "largest": wire.largest,
        "records": len(held),
        "read_by_model": coverage.read_by_model,
        "is_told": is_told and coverage.records_read == len(held),
    }


async def all_of_them() -> dict[str, Any]:
    runs = [await one(case) for case in range(CASES)]
    summed = {name: sum(run[name] for run in runs) for name in ("requests", "uncalibrated", "above", "records")}
    return summed | {
        "cases": CASES,
        "read_by_model": sum(run["read_by_model"] for run in runs),
        "largest_share_of_effective": round(max(run["largest"] for run in runs), 4),
        "untold": sum(not run["is_told"] for run in runs),
    }


def main() -> int:
    told = asyncio.run(all_of_them())
    is_reached = told["above"] == 0 and told["untold"] == 0 and told["requests"] > CASES
    print(json.dumps(told | {"is_reached": is_reached}, indent=2))
    return 0 if is_reached else MISSED


if __name__ == "__main__":
    sys.exit(main())
