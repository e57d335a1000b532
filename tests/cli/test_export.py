"""`runax runs export` writes what a past run read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]


def asked(runax: Run, mock: Any) -> str:
    with mock() as url:
        done = runax(
            "query", "How many tickets does customer 4 have?", "-o", "json", "-q", "--base-url", url, "-m", "rules"
        )
    assert done.code == 0, done.err
    return str(json.loads(done.out)["run_id"])


def test_the_datasets_of_a_run_are_written_and_not_written_over(runax: Run, mock: Any, tmp_path: Path) -> None:
    run_id, out = asked(runax, mock), str(tmp_path / "out")
    done = runax("runs", "export", run_id[:6], "--format", "ndjson", "--out", out, "-o", "json")
    assert done.code == 0, done.err
    (written,) = json.loads(done.out)["datasets"]
    assert (written["dataset"], written["records"], written["format"]) == ("tickets_1", 261, "ndjson")
    lines = Path(written["path"]).read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["customer_id"] for line in lines} == {4}
    assert len(lines) == 261

    again = runax("runs", "export", run_id, "--format", "ndjson", "--out", out)
    assert again.code == 2
    assert "already exists" in again.err


def test_what_was_removed_is_told_with_how_to_get_it_back(runax: Run, mock: Any, tmp_path: Path) -> None:
    run_id = asked(runax, mock)
    assert runax("runs", "prune", "--all").code == 0
    done = runax("runs", "export", run_id, "--out", str(tmp_path / "out"))
    assert done.code == 2
    assert "tickets_1" in done.err
    assert "runax query" in done.err
    assert not (tmp_path / "out").exists()


def test_an_unknown_run_is_named(runax: Run, tmp_path: Path) -> None:
    done = runax("runs", "export", "nothing", "--out", str(tmp_path))
    assert done.code == 2
    assert "'nothing'" in done.err
