"""Streams that are closed, broken or narrow, and a question that comes from a pipe."""

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize("redirect", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_break_nothing(redirect: str, runax: Run) -> None:
    done = runax("config", "show", redirect=redirect)
    assert (done.code, done.err) == (0, "")


def test_closed_stdin_is_no_question(runax: Run) -> None:
    done = runax(redirect="<&-")
    assert done.code == 2
    assert "Usage: runax" in done.err


def test_a_reader_that_goes_away_ends_it_quietly(runax: Run) -> None:
    done = runax("runs", "schema", redirect="| head -c 10; exit 0")
    assert done.err == ""
    done = runax("--help", redirect="| head -n 1 >/dev/null; exit 0")
    assert done.err == ""


def test_a_full_disk_under_stdout_is_an_error(runax: Run) -> None:
    done = runax("--help", redirect=">/dev/full")
    assert done.code != 0
    assert "Traceback" not in done.err


@pytest.mark.parametrize("arguments", [["query"], ["query", "-"], ["query", ""]])
def test_no_question_at_all_is_a_usage_error(arguments: list[str], runax: Run) -> None:
    done = runax(*arguments, stdin="")
    assert (done.code, done.out) == (2, "")
    assert "the question is missing" in done.err


def test_an_empty_pipe_into_the_bare_command_explains(runax: Run) -> None:
    done = runax(stdin="")
    assert done.code == 2
    assert "Usage: runax" in done.err


def test_standard_input_that_is_no_text_is_a_usage_error(runax: Run) -> None:
    done = runax("query", "-", redirect="< /bin/true")
    assert done.code == 2
    assert "UTF-8" in done.err


@pytest.mark.parametrize("arguments", [["query", "how many?"], []])
def test_without_a_model_the_error_names_the_setting_and_the_demo(arguments: list[str], runax: Run) -> None:
    done = runax(*arguments, stdin=None if arguments else "how many?", variables={"BASE_API_URL": "http://127.0.0.1:1"})
    assert (done.code, done.out) == (3, "")
    assert "'LLM_NAME' is not set" in done.err
    assert "runax demo" in done.err


def test_without_a_source_the_error_names_the_settings(runax: Run) -> None:
    done = runax("query", "how many?", "-m", "rules")
    assert done.code == 3
    assert "BASE_API_URL" in done.err


def test_a_source_that_is_away_is_code_4(runax: Run) -> None:
    done = runax("query", "how many?", "-m", "rules", "--base-url", "http://127.0.0.1:9")
    assert (done.code, done.out) == (4, "")
    assert "127.0.0.1:9" in done.err


def test_a_document_that_is_none_is_code_3(runax: Run) -> None:
    done = runax("tools", "list", "--openapi", "nowhere.yaml")
    assert done.code == 3
    assert "nowhere.yaml" in done.err


def test_chat_without_a_terminal_is_a_usage_error(runax: Run) -> None:
    done = runax("chat", stdin="")
    assert done.code == 2
    assert "terminal" in done.err


def test_json_holds_the_failure_of_a_run_that_could_not_begin(runax: Run) -> None:
    import json

    done = runax("query", "how many?", "-o", "json")
    result = json.loads(done.out)
    assert (done.code, result["exit_code"], result["status"]) == (3, 3, "failed")
    assert result["coverage"]["is_complete"] is False
    assert result["error"]["type"] == "ConfigurationError"
    lines = runax("query", "how many?", "-o", "jsonl").out.splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["run.finished"]
