"""Failing networks and faulty APIs on loopback: a short run of the suite, with every kind of fault."""

from dataclasses import replace

import pytest

from benchmarks.faults.network import NetworkRun, run_plan, run_plans, table_of
from benchmarks.faults.network_plans import DataFault, NetworkFault, plan_of
from runax_cli.core.results import Coverage, RunStatus

FIRST, SHORT = 5_000, 26
CHEAP = 3


@pytest.mark.timeout(240)
async def test_every_run_equals_the_baseline_or_reports_what_is_missing() -> None:
    runs = await run_plans(range(FIRST, FIRST + SHORT), questions=CHEAP)
    assert {kind for run in runs for kind in run.plan.kinds} == {*NetworkFault, *DataFault}
    assert sum(len(run.injected_faults) for run in runs) > SHORT
    assert any(run.is_complete for run in runs if run.injected_faults)
    assert any(not run.is_complete for run in runs)
    wrong = {f"{run.plan.seed} {run.plan.kinds}": run.faults for run in runs if run.faults}
    assert wrong == {}, table_of(runs)


async def test_a_silently_wrong_run_is_detected() -> None:
    plan = next(
        plan for plan in (plan_of(seed, questions=1) for seed in range(99)) if plan.kinds == (NetworkFault.DRIP,)
    )
    run = await run_plan(plan)
    assert (run.faults, run.is_complete, run.is_silent) == ((), True, False)
    assert run.result is not None
    fewer = run.result.coverage.model_copy(update={"records_read": 3})
    half = Coverage(records_read=3, records_total=13, is_complete=False)
    unwhole = {"status": RunStatus.INCOMPLETE, "exit_code": 7, "coverage": half}
    values = {name: getattr(run, name) for name in NetworkRun.__slots__}
    for changes, words in (
        ({"answer": "something else"}, "silently says"),
        ({"coverage": fewer}, "silently says"),
        (unwhole, "gives no reason"),
        (unwhole | {"exit_code": 0}, "with the code 0"),
    ):
        wrong = NetworkRun(**values | {"result": run.result.model_copy(update=changes)})
        assert any(words in fault for fault in wrong.faults), changes
    assert replace(run, result=None, error=ValueError("x")).faults == ("raised ValueError: x",)
