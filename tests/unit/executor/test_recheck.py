"""Totals are asked again by one cheap request, and a change is told."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from adapters.base import CallResult, PageAddress, Pagination, PaginationStyle, ToolSpec
from adapters.errors import TimedOut
from adapters.memory_source import MemorySource
from runax_cli.core.budget import Budget, Limits
from runax_cli.core.events import CollectingSink, Emitter
from runax_cli.core.results import CallReport, Coverage, Reason, ReasonCode, TotalIs
from runax_cli.executor.fetch.verify import MOST_CHECKED, CheckedCall, TotalChange, changes, worth_checking
from runax_cli.executor.outcome import CallOutcome, CallScope, EnvelopeStatus, ResultEnvelope
from runax_cli.models.base import ScriptedModel

BY_OFFSET = Pagination(convention=PaginationStyle.OFFSET, position="offset", size="limit", min_size=1, max_size=25)
SPEC = ToolSpec(
    name="list_tickets",
    description="Tickets.",
    parameters={"type": "object", "properties": {}},
    source="crm",
    locator="GET /tickets",
    noun="tickets",
    pagination=BY_OFFSET,
)


def source(total: int | None, spec: ToolSpec = SPEC) -> MemorySource:
    def reply(_arguments: Mapping[str, Any], page: PageAddress | None) -> CallResult:
        if page is not None and page.arguments.get("meta_only"):
            return CallResult(payload={"data_path": "items", "total_items": total}, location="GET /tickets")
        told = {} if total is None else {"total": total}
        return CallResult(payload={"items": [{"id": 1}], **told}, location="GET /tickets")

    return MemorySource("crm", {spec.name: (spec, reply)})


def failing(_arguments: Mapping[str, Any], _page: PageAddress | None) -> CallResult:
    raise TimedOut("no reply in 30 s", source="crm", location="GET /tickets")


def scope(sink: CollectingSink, *, requests: int | None = None) -> CallScope:
    emitter = Emitter.for_run(sink, run_id="r", session_id="s")
    return CallScope(emitter=emitter, budget=Budget(Limits(requests=requests), owner="turn"), reducer=ScriptedModel([]))


def read(number: int = 1, *, spec: ToolSpec = SPEC, total: int = 261) -> CheckedCall:
    return CheckedCall(call_id=f"call_{number}", tool=spec, arguments={"customer_id": 4}, total=total)


def outcome(**changed: Any) -> CallOutcome:
    coverage = Coverage(records_read=261, records_total=261, total_is=TotalIs.EXACT, pages_read=9)
    report = CallReport(tool="list_tickets", source="crm", arguments={"customer_id": 4}, status="success", requests=10)
    envelope = ResultEnvelope(status=EnvelopeStatus.SUCCESS, next_action_hint="")
    return CallOutcome(envelope=envelope, report=report, coverage=coverage.model_copy(update=changed), dataset=None)


async def test_a_total_that_changed_is_told_by_call() -> None:
    asked = source(263)
    found = await changes([read()], asked, scope=scope(CollectingSink()))
    assert found["call_1"].total == 263
    assert found["call_1"].reason == Reason(
        code=ReasonCode.TOTAL_CHANGED, text="the data changed while it was read: 261 tickets then, 263 at the end"
    )
    ((_, arguments, page),) = asked.requests
    assert arguments == {"customer_id": 4}
    assert page is not None
    assert page.arguments == {"offset": 0, "limit": 1}


@pytest.mark.parametrize("total", [261, None])
async def test_a_total_that_is_the_same_or_not_told_says_nothing(total: int | None) -> None:
    assert await changes([read()], source(total), scope=scope(CollectingSink())) == {}


async def test_a_metadata_flag_is_asked_where_there_is_one() -> None:
    spec = replace(SPEC, pagination=replace(BY_OFFSET, metadata="meta_only"))
    asked = source(260, spec)
    assert (await changes([read(spec=spec)], asked, scope=scope(CollectingSink())))["call_1"].total == 260
    assert len(asked.requests) == 1


async def test_a_fault_in_looking_once_more_is_told_and_costs_no_answer() -> None:
    def broken(_arguments: Mapping[str, Any], _page: PageAddress | None) -> CallResult:
        raise ZeroDivisionError("a bug")

    asked, sink = MemorySource("crm", {SPEC.name: (SPEC, broken)}), CollectingSink()
    assert await changes([read(1), read(2)], asked, scope=scope(sink)) == {}
    told = [event.body.text for event in sink.events if event.body.type == "warned"]
    assert len(told) == 2
    assert "could not be asked: it failed inside runax: ZeroDivisionError: a bug (test_recheck.py:" in told[0]


async def test_a_tool_that_cannot_be_asked_cheaply_is_not_asked() -> None:
    spec = replace(SPEC, pagination=Pagination())
    asked = source(999, spec)
    assert await changes([read(spec=spec)], asked, scope=scope(CollectingSink())) == {}
    assert asked.requests == []


async def test_a_request_that_fails_or_that_no_budget_is_left_for_changes_nothing() -> None:
    sink = CollectingSink()
    assert await changes([read()], MemorySource("crm", {SPEC.name: (SPEC, failing)}), scope=scope(sink)) == {}
    assert await changes([read()], source(999), scope=scope(sink, requests=0)) == {}
    assert [event.body.code for event in sink.events if event.body.type == "warned"] == ["total_not_rechecked"] * 2


async def test_only_the_largest_of_many_are_asked() -> None:
    asked = source(7)
    reads = [read(n, total=100 + n) for n in range(1, 3 * MOST_CHECKED)]
    found = await changes(reads, asked, scope=scope(CollectingSink()))
    assert len(asked.requests) == MOST_CHECKED
    assert min(int(call_id.removeprefix("call_")) for call_id in found) == 2 * MOST_CHECKED


@pytest.mark.parametrize(
    "changed",
    [
        {"pages_read": 1},
        {"is_complete": False},
        {"total_is": TotalIs.AT_LEAST},
        {"reasons": (Reason(code=ReasonCode.FIRST_N, text="first 261"),)},
    ],
)
def test_what_one_page_brought_or_what_is_in_doubt_is_not_asked_again(changed: dict[str, Any]) -> None:
    assert worth_checking(outcome(**changed), call_id="c", tool=SPEC) is None


def test_what_came_in_pages_and_is_settled_is_asked_again() -> None:
    found = worth_checking(outcome(), call_id="c", tool=SPEC)
    assert found == CheckedCall(call_id="c", tool=SPEC, arguments={"customer_id": 4}, total=261)
    assert worth_checking(outcome(), call_id="c", tool=None) is None


def test_a_change_makes_the_call_incomplete() -> None:
    told = TotalChange(263, Reason(code=ReasonCode.TOTAL_CHANGED, text="t")).applied_to(outcome())
    assert (told.coverage.is_complete, told.coverage.records_read, told.coverage.records_total) == (False, 261, 263)
    assert told.coverage.reasons[-1].code is ReasonCode.TOTAL_CHANGED
    assert told.report.records_total == 263
