"""Whole turns through the real executor: a paged source in memory, a scripted model in both roles."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.catalog import ToolCatalog
from adapters.errors import TimedOut
from adapters.memory_source import MemorySource
from runax_cli.agent.session import Session, TurnLimits
from runax_cli.core.events import CollectingSink
from runax_cli.core.results import EvidenceKind, ReasonCode, RunStatus
from runax_cli.executor.executor import Executor
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.memory.journal import MemoryJournal
from runax_cli.models.base import ModelReply, ModelRequest, Role, ScriptedModel, ToolCall, Usage
from runax_cli.models.registry import ModelRegistry, RoleConfig
from runax_cli.runtime.runtime import REDUCER_PROMPTS
from runax_cli.ui.log_lines import line_of

N_TICKETS = 120
TICKETS = [
    {"id": 500 + n, "customer_id": 4, "text": f"Ticket {n}: " + ("výpadek " if n % 40 == 7 else "dotaz ") * 60}
    for n in range(N_TICKETS)
]
SPEC = ToolSpec(
    name="list_tickets",
    description="Tickets of a customer.",
    parameters={"type": "object", "properties": {"customer_id": {"type": "integer"}}},
    source="crm",
    locator="GET /tickets",
    noun="tickets",
    pagination=Pagination(
        convention=PaginationStyle.OFFSET,
        position="offset",
        size="limit",
        min_size=1,
        max_size=25,
        default_size=25,
        is_declared=True,
    ),
)


def served(arguments: Mapping[str, Any], page: PageAddress | None) -> CallResult:
    given = {**arguments, **(page.arguments if page else {})}
    start, size = int(given.get("offset", 0)), min(25, int(given.get("limit", 25)))
    records = TICKETS[start : start + size]
    payload = {"items": records, "total": N_TICKETS}
    return CallResult(payload=payload, location="GET /tickets", n_bytes=len(json.dumps(payload)), status=200)


def lossy(arguments: Mapping[str, Any], page: PageAddress | None) -> CallResult:
    if page is not None and page.arguments.get("offset") == 50:
        raise TimedOut("no reply in 30 s", source="crm", location="GET /tickets")
    return served(arguments, page)


def reads_outages(request: ModelRequest) -> ModelReply:
    """A reducer that finds the outages: one finding for each record that has the word."""
    lines = request.messages[-1].content.partition("<records>\n")[2].splitlines()
    hits = [int(line[1 : line.index("]")]) for line in lines if "výpadek" in line]
    findings = [{"statement": "Zákazník hlásil výpadek.", "records": [hit], "quote": "výpadek"} for hit in hits]
    return _said(json.dumps({"findings": findings, "nothing_relevant": not findings}))


def _said(text: str, *calls: ToolCall) -> ModelReply:
    return ModelReply(text=text, model="scripted", tool_calls=calls, usage=Usage(is_reported=False))


def answers(request: ModelRequest) -> ModelReply:
    """A main model that asks for the tickets once and cites the first finding."""
    results = [json.loads(message.content) for message in request.messages if message.role == "tool"]
    if not results:
        wanted = {"customer_id": 4, "focus": "výpadky zákazníka 4"}
        return _said("", ToolCall("c1", "list_tickets", json.dumps(wanted)))
    data = results[0].get("data")
    first = data[0]["records"][0] if isinstance(data, list) and data else None
    return _said(f"Byl výpadek [{first}]." if first else "Nic nebylo nalezeno.")


def both(request: ModelRequest) -> ModelReply:
    return reads_outages(request) if request.role is Role.REDUCER else answers(request)


async def session_over(folder: Path, serve: Any, sink: CollectingSink) -> tuple[Session, ScriptedModel]:
    model, journal = ScriptedModel(both), MemoryJournal()
    registry = ModelRegistry(
        {Role.AGENT: RoleConfig(name="scripted", is_rules=True, max_context=24_000)},
        concurrency=4,
        rules=lambda: model,
    )
    catalog = await ToolCatalog.load([MemorySource("crm", {"list_tickets": (SPEC, serve)})])
    executor = Executor(
        catalog,
        DatasetStore(folder / "datasets"),
        journal,
        counter=registry.counter(Role.REDUCER),
        effective_tokens=registry.config(Role.REDUCER).effective_tokens,
        prompts=REDUCER_PROMPTS,
        api_concurrency=4,
        reducer_concurrency=4,
    )
    session = Session(
        registry=registry, executor=executor, catalog=catalog, journal=journal, sink=sink, limits=TurnLimits()
    )
    return session, model


async def test_a_dataset_larger_than_the_context_is_read_whole_and_the_answer_is_proven(tmp_path: Path) -> None:
    sink = CollectingSink()
    session, model = await session_over(tmp_path, served, sink)

    result = await session.ask("Jaké výpadky měl zákazník 4?")

    assert result.status is RunStatus.COMPLETE, result
    assert (result.coverage.records_read, result.coverage.records_total) == (N_TICKETS, N_TICKETS)
    assert result.coverage.read_by_model == N_TICKETS
    assert result.calls[0].strategy == "paginated_reduction"
    (evidence,) = result.evidence
    assert (evidence.kind, evidence.verified, evidence.quote) == (EvidenceKind.RECORD, True, "výpadek")
    assert evidence.records[0].id == "507"
    assert evidence.records[0].row == 8
    assert result.usage.by_role["reducer"].requests > 1
    assert {request.run_id for request in model.requests} == {result.run_id}
    assert sum(1 for event in sink.events if event.body.type == "run.finished") == 1


@pytest.mark.parametrize("attempt", range(8))
async def test_rows_are_the_records_in_the_order_of_the_api_however_pages_arrive(tmp_path: Path, attempt: int) -> None:
    sink = CollectingSink()
    session, _ = await session_over(tmp_path, served, sink)
    result = await session.ask(f"Jaké výpadky? ({attempt})")

    dataset = session.datasets["tickets_1"]
    assert [dataset.record(row) for row in range(1, N_TICKETS + 1)] == TICKETS
    assert [event.body.text for event in sink.events if event.body.type == "warned"] == []
    assert result.coverage.reasons == ()


async def test_every_run_tells_how_far_the_forecast_of_its_probes_was_off(tmp_path: Path) -> None:
    sink = CollectingSink()
    session, _ = await session_over(tmp_path, served, sink)
    result = await session.ask("Jaké výpadky měl zákazník 4?")
    check = sink.events[-1].body.forecast
    assert check.tokens_used == result.usage.input_tokens + result.usage.output_tokens
    assert check.off_by == pytest.approx((check.tokens_forecast - check.tokens_used) / check.tokens_used, abs=1e-4)
    assert abs(check.off_by) < 0.5
    assert f"forecast={check.tokens_forecast} (" in (line_of(sink.events[-1]) or "")


async def test_a_page_that_cannot_be_had_is_named_and_the_answer_is_incomplete(tmp_path: Path) -> None:
    session, _ = await session_over(tmp_path, lossy, CollectingSink())

    result = await session.ask("Jaké výpadky měl zákazník 4?")

    assert (result.status, result.exit_code) == (RunStatus.INCOMPLETE, 7)
    assert result.coverage.records_read < N_TICKETS
    assert ReasonCode.PAGE_FAILED in {reason.code for reason in result.coverage.reasons}


@pytest.mark.parametrize("question", ["Jaké výpadky?", "Kolik bylo výpadků?"])
async def test_no_request_of_either_role_passes_the_effective_context(tmp_path: Path, question: str) -> None:
    sink = CollectingSink()
    session, _ = await session_over(tmp_path, served, sink)
    await session.ask(question)
    sizes = [event.body.tokens_in for event in sink.events if event.body.type == "model.requested"]
    assert len(sizes) > 3
    assert max(sizes) <= 6_000


async def test_data_that_changed_while_it_was_read_is_told(tmp_path: Path) -> None:
    smallest: list[PageAddress] = []

    def growing(arguments: Mapping[str, Any], page: PageAddress | None) -> CallResult:
        result = served(arguments, page)
        if page is None or page.arguments.get("limit") != 1:
            return result
        smallest.append(page)
        return result if len(smallest) == 1 else replace(result, payload=result.payload | {"total": N_TICKETS + 2})

    session, _ = await session_over(tmp_path, growing, CollectingSink())

    result = await session.ask("Jaké výpadky měl zákazník 4?")

    assert (result.status, result.exit_code) == (RunStatus.INCOMPLETE, 7)
    assert (result.coverage.records_read, result.coverage.records_total) == (N_TICKETS, N_TICKETS + 2)
    assert [reason.code for reason in result.coverage.reasons] == [ReasonCode.TOTAL_CHANGED]
