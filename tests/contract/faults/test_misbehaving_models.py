"""Misbehaving models on loopback: a short run of the suite, at least one script of each kind."""

import pytest

from benchmarks.faults.model_scripts import Misbehaviour, script_of
from benchmarks.faults.models import ModelRun, run_script, run_scripts, table_of

FIRST = 1_000
SHORT = 2 * len(Misbehaviour)


@pytest.mark.timeout(240)
async def test_every_run_ends_within_its_budgets_with_a_correct_status() -> None:
    runs = await run_scripts(range(FIRST, FIRST + SHORT))
    assert {ran.script.kind for ran in runs} == set(Misbehaviour)
    wrong = {f"{ran.script.seed} {ran.script.kind}": ran.faults for ran in runs if ran.faults}
    assert wrong == {}, table_of(runs)


async def test_a_run_that_exceeds_a_limit_is_detected() -> None:
    ran = await run_script(script_of(1))
    assert ran.faults == ()
    values = {name: getattr(ran, name) for name in ModelRun.__slots__}
    assert ModelRun(**values | {"writes": 1}).faults == ("wrote without approval",)
    assert ModelRun(**values | {"seconds": 100.0}).faults
    assert ModelRun(**values | {"finished": 2}).faults == ("finished 2 times",)
    assert ModelRun(**values | {"result": None, "error": ValueError("x")}).faults == ("raised ValueError: x",)
