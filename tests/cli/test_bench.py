"""`runax bench` as a process: one question end to end, and errors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runax_cli.commands import bench
from runax_cli.commands.options import BenchOptions, CommonOptions
from runax_cli.core.errors import UsageError

Run = Callable[..., Any]
ONE = ("bench", "--section", "exact", "--only", "customers-active")


def test_one_question_is_answered_exactly(runax: Run, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    done = runax(*ONE, "--json", str(file))
    assert done.code == 0, done.err
    assert "reached: exact: 1 of 1" in done.out
    (section,) = json.loads(file.read_text())["sections"]
    (row,) = section["rows"]
    assert row["right"] is True
    assert row["answer"].startswith("443 [q1]")
    assert 1000 < row["tokens"] < 5000
    assert row["tool_list_tokens"] > 1000


def test_nothing_to_judge_is_inconclusive(runax: Run) -> None:
    done = runax("bench", "--section", "exact", "--only", "no-such-question", "-q")
    assert (done.code, "not judged: exact" in done.out) == (11, True)


def test_unknown_section_lists_the_known_ones(runax: Run) -> None:
    done = runax("bench", "--section", "exat")
    assert done.code == 2
    assert "'exat'" in done.err
    assert "exact, repaired" in done.err


def test_scale_section_measures_memory_and_json_is_all_of_standard_output(runax: Run) -> None:
    done = runax("bench", "--section", "scale", "--events", "300", "-o", "json", "-q")
    assert done.code == 0, done.out + done.err
    report = json.loads(done.out)
    assert report["exit_code"] == 0
    (section,) = report["sections"]
    assert "300 events" not in done.err
    (row,) = section["rows"]
    assert (row["events"], row["peak_mb"] > 50) == (300, True)
    assert row["right"] == "10 of 10"  # one of them has no unique answer over so few events


async def test_bench_needs_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_PACKAGE", "benchmarks_that_are_absent")
    with pytest.raises(UsageError, match="needs the folder 'benchmarks'"):
        await bench.run(BenchOptions(), CommonOptions())
