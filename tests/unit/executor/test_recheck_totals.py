"""Totals are requested again by one small request, and a change is reported."""

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
from runax_cli.executor.outcome import CallOutcome, CallScope, EnvelopeStatus, ResultEnvelope
from runax_cli.executor.recheck_totals import (
    MAX_CHECKED,
    CheckedCall,
    TotalChange,
    call_to_check,
    recheck_totals,
)
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
        announced = {} if total is None else {"total": total}
        return CallResult(payload={"items": [{"id": 1}], **announced}, location="GET /tickets")

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


async def test_a_changed_total_is_returned_by_call() -> None:
    api = source(263)
    found = await recheck_totals([read()], api, scope=scope(CollectingSink()))
    assert found["call_1"].total == 263
    assert found["call_1"].reason == Reason(
        code=ReasonCode.TOTAL_CHANGED, text="the data changed while it was read: 261 tickets at first, 263 at the end"
    )
    ((_, arguments, page),) = api.requests
    assert arguments == {"customer_id": 4}
    assert page is not None
    assert page.arguments == {"offset": 0, "limit": 1}


@pytest.mark.parametrize("total", [261, None])
async def test_an_unchanged_or_missing_total_is_not_a_change(total: int | None) -> None:
    assert await recheck_totals([read()], source(total), scope=scope(CollectingSink())) == {}


async def test_a_metadata_flag_is_used_if_there_is_one() -> None:
    spec = replace(SPEC, pagination=replace(BY_OFFSET, metadata="meta_only"))
    api = source(260, spec)
    assert (await recheck_totals([read(spec=spec)], api, scope=scope(CollectingSink())))["call_1"].total == 260
    assert len(api.requests) == 1


async def test_an_internal_error_is_a_warning_and_costs_no_answer() -> None:
    def broken(_arguments: Mapping[str, Any], _page: PageAddress | None) -> CallResult:
        raise ZeroDivisionError("a bug")

    api, sink = MemorySource("crm", {SPEC.name: (SPEC, broken)}), CollectingSink()
    assert await recheck_totals([read(1), read(2)], api, scope=scope(sink)) == {}
    warnings = [event.body.text for event in sink.events if event.body.type == "warned"]
    assert len(warnings) == 2
    assert (
        "could not check whether the data of list_tickets changed: internal error: ZeroDivisionError: a bug ("
        in warnings[0]
    )
    assert "(test_recheck_totals.py:" in warnings[0]


async def test_a_tool_without_pages_is_not_requested() -> None:
    spec = replace(SPEC, pagination=Pagination())
    api = source(999, spec)
    assert await recheck_totals([read(spec=spec)], api, scope=scope(CollectingSink())) == {}
    assert api.requests == []


async def test_a_failed_or_unaffordable_request_is_a_warning() -> None:
    sink = CollectingSink()
    assert await recheck_totals([read()], MemorySource("crm", {SPEC.name: (SPEC, failing)}), scope=scope(sink)) == {}
    assert await recheck_totals([read()], source(999), scope=scope(sink, requests=0)) == {}
    assert [event.body.code for event in sink.events if event.body.type == "warned"] == ["total_not_rechecked"] * 2


async def test_only_the_largest_calls_are_checked() -> None:
    api = source(7)
    reads = [read(n, total=100 + n) for n in range(1, 3 * MAX_CHECKED)]
    found = await recheck_totals(reads, api, scope=scope(CollectingSink()))
    assert len(api.requests) == MAX_CHECKED
    assert min(int(call_id.removeprefix("call_")) for call_id in found) == 2 * MAX_CHECKED


@pytest.mark.parametrize(
    "changed",
    [
        {"pages_read": 1},
        {"is_complete": False},
        {"total_is": TotalIs.AT_LEAST},
        {"reasons": (Reason(code=ReasonCode.FIRST_N, text="first 261"),)},
    ],
)
def test_calls_of_one_page_or_with_uncertain_totals_are_not_checked(changed: dict[str, Any]) -> None:
    assert call_to_check(outcome(**changed), call_id="c", tool=SPEC) is None


def test_complete_calls_of_several_pages_are_checked() -> None:
    found = call_to_check(outcome(), call_id="c", tool=SPEC)
    assert found == CheckedCall(call_id="c", tool=SPEC, arguments={"customer_id": 4}, total=261)
    assert call_to_check(outcome(), call_id="c", tool=None) is None


def test_a_change_makes_the_call_incomplete() -> None:
    changed = TotalChange(263, Reason(code=ReasonCode.TOTAL_CHANGED, text="t")).applied_to(outcome())
    assert (changed.coverage.is_complete, changed.coverage.records_read, changed.coverage.records_total) == (
        False,
        261,
        263,
    )
    assert changed.coverage.reasons[-1].code is ReasonCode.TOTAL_CHANGED
    assert changed.report.records_total == 263
