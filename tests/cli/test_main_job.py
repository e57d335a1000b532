"""The main job as a user runs it: demo, smoke, and a question over an API in another process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from runax_cli.core.results import RunResult

Run = Callable[..., Any]
STORK = "What is the number of the permit for the stork nest in the tickets of customer 4?"
PARROT = "What do the tickets of customer 31 say about a parrot?"
STAGES = (
    "LLM TOOL SELECTED: list_customers",
    "LLM TOOL SELECTED: list_tickets",
    "API end-point supports metadata & pagination",
    "API CALL:",
    "[META]",
    "[STRATEGY] PAGING ACTIVATED",
    "[CHUNKING]",
    "[PAGE 1/",
    "[CHUNK 1/",
    "[REDUCER]",
    "TOKEN CHANGE:",
    "[META] total_items=261",
    "262/262 records (name=Baláž; customer_id=4) fetched",
)


def test_the_demo_shows_every_stage_and_proves_its_answer(runax: Run) -> None:
    done = runax("demo")
    assert done.code == 0, done.err[-2000:]
    assert "KUNA-4417" in done.out
    assert [stage for stage in STAGES if stage not in done.out + done.err] == []
    assert "\x1b" not in done.out + done.err
    assert "rules" in done.err


def test_the_demo_leaves_a_run_that_can_be_listed_and_shown(runax: Run) -> None:
    first = runax("demo", "-o", "json", "-q")
    result = RunResult.model_validate_json(first.out)
    listed = json.loads(runax("runs", "list", "-o", "json").out)["runs"]
    assert [run["run_id"] for run in listed] == [result.run_id]
    shown = runax("runs", "show", result.run_id[:6], "-o", "json")
    assert json.loads(shown.out) == json.loads(first.out)
    assert result.trace_path is not None
    assert Path(result.trace_path).stat().st_mode & 0o077 == 0


def test_smoke_judges_and_writes_its_verdicts(runax: Run) -> None:
    done = runax("smoke", "--only", "email-of-*", "--only", "parrot", "--json", "s.json", "--junit", "s.xml")
    assert done.code == 0, done.out + done.err
    assert [line.split()[2] for line in done.out.splitlines()[1:]] == ["passed", "passed"]
    written = json.loads(Path("s.json").read_text(encoding="utf-8"))
    assert [question["id"] for question in written["questions"]] == ["email-of-balaz", "parrot"]
    assert ET.parse("s.xml").getroot().get("tests") == "2"


def test_smoke_without_such_a_question_is_a_usage_error(runax: Run) -> None:
    assert runax("smoke", "--only", "nothing-like-it").code == 2


def test_stdout_holds_the_answer_and_nothing_else(runax: Run, mock: Any) -> None:
    with mock("--token", "t") as url:
        done = runax("query", PARROT, "-m", "rules", "--base-url", url, variables={"BASE_API_TOKEN": "t"})
    assert done.code == 0, done.err
    assert "PARROT-5150" in done.out
    assert "[STRATEGY]" not in done.out
    assert "[STRATEGY]" in done.err


def test_json_is_one_object_of_the_contract(runax: Run, mock: Any) -> None:
    with mock() as url:
        done = runax("query", PARROT, "-m", "rules", "--base-url", url, "-o", "json")
    result = RunResult.model_validate_json(done.out)
    assert (result.status, result.exit_code, done.code) == ("complete", 0, 0)
    assert result.coverage.is_complete
    assert (result.coverage.records_read, result.coverage.records_total) == (6, 6)
    assert [call.tool for call in result.calls] == ["list_tickets"]
    assert len(done.out.splitlines()) == 1


def test_jsonl_ends_with_the_one_finished_event(runax: Run, mock: Any) -> None:
    with mock() as url:
        done = runax("query", PARROT, "-m", "rules", "--base-url", url, "-o", "jsonl")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [event["type"] for event in events].count("run.finished") == 1
    assert events[-1]["type"] == "run.finished"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["result"]["trace_path"]


def test_every_line_and_the_object_are_as_their_schemas_say(runax: Run, mock: Any) -> None:
    with mock() as url:
        asked = ("query", f"{PARROT} How many tickets has customer 4?", "-m", "rules", "--base-url", url)
        done, whole = runax(*asked, "-o", "jsonl"), runax(*asked, "-o", "json")
    line, result = (json.loads(runax("runs", "schema", "-o", form).out) for form in ("jsonl", "json"))
    events = [json.loads(text) for text in done.out.splitlines()]
    assert len({event["type"] for event in events}) > 10
    for event in events:
        Draft202012Validator(line).validate(event)
    Draft202012Validator(result).validate(json.loads(whole.out))
    bare = {key: value for key, value in events[0].items() if key != "seq"}
    assert not Draft202012Validator(line).is_valid(bare)


def test_a_pipe_brings_the_text_and_the_argument_the_question(runax: Run, mock: Any) -> None:
    with mock() as url:
        done = runax("query", "-m", "rules", "--base-url", url, "-o", "json", stdin=PARROT)
        bare = runax("-m", "rules", "--base-url", url, "-o", "json", stdin=PARROT)
    assert json.loads(done.out)["question"] == PARROT
    assert json.loads(bare.out)["question"] == PARROT


def test_the_same_question_over_mcp_gets_the_same_answer(runax: Run) -> None:
    server = f"{Path(sys.executable).with_name('runax')} mock --mcp --stdio"
    done = runax("query", PARROT, "-m", "rules", "--mcp", server, "-o", "json")
    result = RunResult.model_validate_json(done.out)
    assert done.code == 0, done.err
    assert "PARROT-5150" in result.answer
    assert result.coverage.records_read == 6


def test_a_page_that_never_comes_is_named_and_is_code_7(runax: Run, mock: Any) -> None:
    with mock("--faults", "dropped_page=2") as url:
        done = runax("query", STORK, "-m", "rules", "--base-url", url, "-o", "json")
    result = RunResult.model_validate_json(done.out)
    assert (done.code, result.status) == (7, "incomplete")
    assert result.coverage.pages_failed == 1
    assert not result.coverage.is_complete
    assert [reason.code for reason in result.coverage.reasons if reason.code == "page_failed"]


@pytest.mark.parametrize(
    ("options", "code"), [(["--timeout", "0.2"], 124), (["--max-tokens", "2000"], 6), (["--max-calls", "0"], 2)]
)
def test_limits_have_their_exit_codes(options: list[str], code: int, runax: Run, mock: Any) -> None:
    with mock("--faults", "latency=0.5") as url:
        done = runax("query", STORK, "-m", "rules", "--base-url", url, *options)
    assert done.code == code, done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_the_pages_and_is_code_130(
    mock: Any, ends: signal.Signals, request: pytest.FixtureRequest
) -> None:
    # A process started under nohup ignores SIGHUP, and so would its children.
    request.addfinalizer(partial(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_DFL)))
    runax = Path(sys.executable).with_name("runax")
    with mock("--faults", "latency=0.4") as url:
        process = subprocess.Popen(
            [runax, "query", STORK, "-m", "rules", "--base-url", url, "-o", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if "[PAGE " in line:
                break
        process.send_signal(ends)
        out, err = process.communicate(timeout=90)
    result = RunResult.model_validate_json(out)
    assert (process.returncode, result.status) == (130, "interrupted")
    assert "Traceback" not in err
    pages = list(Path(os.environ["XDG_STATE_HOME"]).rglob("datasets/**/*"))
    assert pages


def test_a_file_of_ones_own_is_served_and_asked(runax: Run, mock: Any) -> None:
    Path("parts.csv").write_text("id,name\n1,bolt\n2,zeppelin anchor 7741\n3,nut\n", encoding="utf-8")
    with mock("parts.csv") as url:
        done = runax("query", "Which parts mention a zeppelin?", "-m", "rules", "--base-url", url)
    assert done.code == 0, done.err
    assert "7741" in done.out
