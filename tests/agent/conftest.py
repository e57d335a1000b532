"""A session over a scripted model and a source in memory; everything else is real."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from adapters.base import CallResult, Effect, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.catalog import ToolCatalog
from adapters.errors import SourceError
from adapters.memory_source import MemorySource
from runax_cli.agent.session import Session, TurnLimits
from runax_cli.core.budget import Amount, Budget, Limits
from runax_cli.core.events import CollectingSink
from runax_cli.core.results import CallReport, Coverage, Reason, ReasonCode, TotalIs
from runax_cli.executor.outcome import (
    CallOutcome,
    CallScope,
    DecidedCall,
    EnvelopeStatus,
    FaultCode,
    ResultEnvelope,
    ToolFault,
)
from runax_cli.executor.store.dataset import DatasetStore
from runax_cli.guard.approval import AlwaysDeny, Approver
from runax_cli.memory.journal import Journal, MemoryJournal
from runax_cli.models.base import ModelReply, ModelRequest, Role, Scripted, ScriptedModel, ToolCall, Usage
from runax_cli.models.registry import ModelRegistry, RoleConfig

Records = Sequence[dict[str, Any]]
Behaviour = Callable[[DecidedCall], Records]


def tool(name: str, *, effect: Effect = Effect.READ, **changes: Any) -> ToolSpec:
    """A tool with one optional integer, `customer_id`."""
    noun = name.rpartition("_")[2]
    values: dict[str, Any] = {
        "name": name,
        "description": f"All {noun}.",
        "parameters": {"type": "object", "properties": {"customer_id": {"type": "integer"}}},
        "source": "crm",
        "locator": f"GET /{noun}",
        "effect": effect,
        "noun": noun,
        "pagination": Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit"),
    }
    return ToolSpec(**(values | changes))


def says(text: str) -> ModelReply:
    """A reply of text."""
    return ModelReply(text=text, model="scripted", usage=Usage(is_reported=False))


def calls(*wanted: tuple[str, Mapping[str, Any] | str], text: str = "") -> ModelReply:
    """A reply that requests calls: names, with arguments as values or as raw text."""
    asked = tuple(
        ToolCall(f"c{i}", name, given if isinstance(given, str) else json.dumps(given))
        for i, (name, given) in enumerate(wanted)
    )
    return ModelReply(text=text, model="scripted", tool_calls=asked, usage=Usage(is_reported=False))


@dataclass
class StandIn:
    """An executor that passes on what a tool's function returns, or its SourceError."""

    store: DatasetStore
    behaviours: Mapping[str, Behaviour]
    executed: list[tuple[DecidedCall, int]] = field(default_factory=list)
    coverage: dict[str, Any] = field(default_factory=dict)

    async def execute(self, call: DecidedCall, scope: CallScope, *, direct_limit: int) -> CallOutcome:
        self.executed.append((call, direct_limit))
        name = call.tool.name
        try:
            request = Amount(requests=1)
            scope.budget.reserve(request).settle(request)
            records = list(self.behaviours[name](call))
        except SourceError as error:
            return self._failed(call, error)
        dataset = self.store.create(call.tool.noun)
        dataset.add_page(0, records, position="all")
        data = {f"{dataset.name}#{row}": record for row, record in enumerate(records, 1)}
        coverage = Coverage(
            records_read=len(records),
            records_total=len(records),
            total_is=TotalIs.EXACT,
            selected=len(records),
            read_by_model=len(records),
            pages_read=1,
        ).model_copy(update=self.coverage)
        status = EnvelopeStatus.SUCCESS if records else EnvelopeStatus.EMPTY
        envelope = ResultEnvelope(
            status=status,
            tool=name,
            query=call.arguments,
            strategy="direct_pass",
            total_matches=len(records),
            records_read=len(records),
            is_complete=coverage.is_complete,
            dataset=dataset.name,
            data=data,
            next_action_hint="Answer.",
        )
        return CallOutcome(
            envelope=envelope, report=_report(call, envelope, len(records)), coverage=coverage, dataset=dataset
        )

    def _failed(self, call: DecidedCall, error: SourceError) -> CallOutcome:
        fault = ToolFault(type=error.kind, code=FaultCode.TRAPPED, message=str(error), retryable=error.is_retryable)
        envelope = ResultEnvelope.failed(call.tool.name, fault)
        reason = Reason(code=ReasonCode.SOURCE_ERROR, text=str(error))
        coverage = Coverage(is_complete=False, reasons=(reason,))
        return CallOutcome(envelope=envelope, report=_report(call, envelope, 0), coverage=coverage, dataset=None)


def _report(call: DecidedCall, envelope: ResultEnvelope, n_records: int) -> CallReport:
    return CallReport(
        tool=call.tool.name,
        source=call.tool.source,
        arguments=call.arguments,
        focus=call.focus,
        need=call.need,
        status=envelope.status.value,
        dataset=envelope.dataset,
        records_read=n_records,
        requests=1,
        tokens_raw=n_records * 100,
        tokens_to_model=n_records * 100,
    )


@dataclass
class Bench:
    """A session and its environment."""

    session: Session
    model: ScriptedModel
    sink: CollectingSink
    executor: Any
    journal: Journal

    def types(self) -> list[str]:
        """Types of all events, in order."""
        return [event.body.type for event in self.sink.events]

    def bodies(self, kind: str) -> list[Any]:
        """All events of a type."""
        return [event.body for event in self.sink.events if event.body.type == kind]

    def envelopes(self, request: int) -> list[dict[str, Any]]:
        """The envelopes among the messages of one request to the main model, by its number from 0."""
        sent = [r for r in self.model.requests if r.role is Role.AGENT][request]
        return [json.loads(message.content) for message in sent.messages if message.role == "tool"]


@dataclass
class Stage:
    """The helpers of a test of turns."""

    folder: Path
    tool = staticmethod(tool)
    says = staticmethod(says)
    calls = staticmethod(calls)

    async def start(
        self,
        script: Sequence[Scripted] | Callable[[ModelRequest], ModelReply],
        behaviours: Mapping[str, Behaviour] | None = None,
        *,
        specs: Sequence[ToolSpec] = (),
        limits: TurnLimits | None = None,
        allow_writes: bool = False,
        approver: Approver | None = None,
        max_context: int = 131_072,
        journal: Journal | None = None,
        executor: Any = None,
        registry: type[ModelRegistry] = ModelRegistry,
        budget: Budget | None = None,
    ) -> Bench:
        """Make a bench: a script for the main model, and tool behaviors by name."""
        behaviours = behaviours or {}
        known = {spec.name: spec for spec in specs}
        tools = [known.get(name) or tool(name) for name in behaviours]
        model, sink = ScriptedModel(script), CollectingSink()
        role = RoleConfig(name="scripted", is_rules=True, max_context=max_context)
        source = MemorySource("crm", {spec.name: (spec, _unused) for spec in tools})
        journal = journal or MemoryJournal()
        executor = executor or StandIn(DatasetStore(self.folder / "datasets"), behaviours)
        session = Session(
            registry=registry({Role.AGENT: role}, concurrency=4, rules=lambda: model),
            executor=executor,
            catalog=await ToolCatalog.load([source]),
            journal=journal,
            sink=sink,
            limits=limits or TurnLimits(),
            budget=budget or Budget(Limits(), owner="session"),
            allow_writes=allow_writes,
            approver=approver or AlwaysDeny(),
        )
        return Bench(session, model, sink, executor, journal)


def _unused(_arguments: Mapping[str, Any], _page: PageAddress | None) -> CallResult:
    raise AssertionError("the stand-in does not ask the source")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A new stage."""
    return Stage(tmp_path)
