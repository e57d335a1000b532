"""Help, usage errors and settings."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


ESCAPE = "\x1b"


def test_help_is_printed_to_stdout(runax: Run) -> None:
    done = runax("--help")
    assert (done.code, done.err) == (0, "")
    assert "Ask questions about APIs" in done.out


@pytest.mark.parametrize(
    "variables", [{}, {"GITHUB_ACTIONS": "1"}, {"NO_COLOR": "1"}, {"GITHUB_ACTIONS": "true", "CI": "1"}]
)
def test_piped_help_has_no_escape_codes(variables: dict[str, str], runax: Run) -> None:
    assert ESCAPE not in runax("query", "--help", variables=variables).out


@pytest.mark.parametrize("arguments", [["--help"], ["query", "--help"]])
def test_help_fits_on_fifty_lines(arguments: list[str], runax: Run) -> None:
    lines = runax(*arguments, variables={"COLUMNS": "80"}).out.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80


def test_help_all_lists_every_option_except_aliases(runax: Run) -> None:
    short, full = runax("query", "--help").out, runax("query", "--help-all").out
    assert "--limit" in short
    assert "--max-steps" not in short
    assert "--max-steps" in full
    assert "--max-day-steps" not in full


@pytest.mark.parametrize("option", ["--help", "--help-all"])
@pytest.mark.parametrize("columns", [20, 40, 200])
def test_help_fits_any_terminal(columns: int, option: str, terminal: Callable[..., Any]) -> None:
    done = terminal(option, columns=columns, variables={"COLUMNS": str(columns), "NO_COLOR": "1"}).end()
    assert done.code == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.out)
    assert max(map(len, plain.splitlines())) <= columns


@pytest.mark.parametrize("arguments", [[], ["tools"], ["runs"], ["config"]])
def test_missing_command_prints_help_to_stderr(arguments: list[str], runax: Run) -> None:
    done = runax(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Usage: runax" in done.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nope"], "'nope'"),
        (["query", "--foo", "x"], "--foo"),
        (["query", "x", "--max-steps", "many"], "--max-steps"),
        (["query", "x", "--limit", "day.token=1"], "did you mean 'day.tokens'?"),
        (["query", "x", "--limit", "usd"], "NAME=VALUE"),
        (["query", "x", "--limit", "day.tokens=many"], "'--limit day.tokens=many'"),
        (["query", "x", "-o", "yaml"], "yaml"),
        (["runs", "show"], "run"),
        (["runs", "show", "zzzz"], "'zzzz'"),
    ],
)
def test_usage_error_is_one_line_with_code_2(arguments: list[str], named: str, runax: Run) -> None:
    done = runax(*arguments)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("runax: error: ")
    assert named in done.err


def test_invalid_setting_is_one_line_with_code_3(runax: Run) -> None:
    done = runax("config", "show", variables={"LLM_MAX_CONTEXT": "lots"})
    assert (done.code, done.out) == (3, "")
    assert re.fullmatch(r"runax: error: 'LLM_MAX_CONTEXT' is 'lots' \(environment\): .*131072\.\n", done.err)


def test_debug_shows_the_traceback(runax: Run) -> None:
    done = runax("config", "show", "--debug", variables={"LLM_MAX_CONTEXT": "lots"})
    assert done.code == 3
    assert "Traceback" in done.err


def test_options_before_the_command(runax: Run) -> None:
    before, after = runax("--max-steps", "3", "config", "show"), runax("config", "show", "--max-steps", "3")
    assert before == after
    assert re.search(r"^MAX_STEPS +3$", before.out, re.MULTILINE)


@pytest.mark.parametrize("option", [["--limit", "day.tokens=500"], ["--max-day-tokens", "500"]])
def test_limit_and_its_alias_set_the_same_setting(option: list[str], runax: Run) -> None:
    done = runax("config", "show", *option, "--origin")
    assert re.search(r"^MAX_DAY_TOKENS +500 +flag --limit day.tokens$", done.out, re.MULTILINE)


def test_limits_before_and_after_the_command_add_up(runax: Run) -> None:
    done = runax("--limit", "usd=1", "--limit", "steps=3", "config", "show", "--limit", "steps=4")
    assert re.search(r"^MAX_USD +1.0$", done.out, re.MULTILINE)
    assert re.search(r"^MAX_STEPS +4$", done.out, re.MULTILINE)


def test_option_after_the_command_takes_precedence(runax: Run) -> None:
    done = runax("--max-steps", "3", "config", "show", "--max-steps", "4", "--origin")
    assert re.search(r"^MAX_STEPS +4 +flag --max-steps$", done.out, re.MULTILINE)


def test_config_show_masks_secrets_in_every_form(runax: Run) -> None:
    for form in ("text", "json", "jsonl"):
        done = runax("config", "show", "-o", form, variables={"LLM_API_KEY": "sk-very-secret-indeed"})
        assert done.code == 0
        assert "very-secret" not in done.out + done.err


def test_config_show_as_json_is_one_object_with_origins(runax: Run) -> None:
    shown = json.loads(runax("config", "show", "-o", "json", variables={"LLM_NAME": "m"}).out)
    rows = {row["name"]: row for row in shown["settings"]}
    assert rows["LLM_NAME"] == {"name": "LLM_NAME", "value": "m", "origin": "environment"}
    assert rows["MAX_STEPS"]["origin"] == "default"


def test_config_init_keeps_existing_files(runax: Run) -> None:
    assert runax("config", "init").code == 0
    first = Path(".env").read_text(encoding="utf-8")
    Path(".env").write_text("MAX_STEPS=5\n", encoding="utf-8")
    done = runax("config", "init", "-o", "json")
    assert Path(".env").read_text(encoding="utf-8") == "MAX_STEPS=5\n"
    assert "# LLM_NAME=" in first
    assert {row["state"] for row in json.loads(done.out)["files"]} == {"there already"}
    assert Path(".env").stat().st_mode & 0o077 == 0


def test_files_of_config_init_are_valid(runax: Run) -> None:
    runax("config", "init")
    for path in (Path(".env"), Path("runax.yaml")):
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"^# (?=[A-Z_]+=\S|[a-z_]+:|  )", "", text, flags=re.MULTILINE), encoding="utf-8")
    assert runax("config", "show").err == ""


def test_config_check_lists_missing_settings(runax: Run) -> None:
    done = runax("config", "check", "-o", "json")
    assert done.code == 0
    missing = json.loads(done.out)["missing"]
    assert "LLM_NAME" in missing


def test_config_check_reports_an_unset_credential(runax: Run) -> None:
    Path("runax.yaml").write_text(
        "sources: {crm: {kind: openapi, base_url: 'http://127.0.0.1:1', auth: CRM_TOKEN}}\n", encoding="utf-8"
    )
    done = runax("config", "check")
    assert done.code == 3
    assert "'source crm'" in done.err
    assert "'CRM_TOKEN'" in done.err


def test_config_check_lists_skipped_sources(runax: Run, tmp_path: Path) -> None:
    servers = {"good": {"command": "x"}, "bad": {"comand": "x"}, "unset": {"url": "http://h.x/${NOT_SET_HERE}"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    done = runax("config", "check", "-o", "json", "--config", str(tmp_path / "mcp.json"))
    checked = json.loads(done.out)
    assert (done.code, [flaw.partition(":")[0] for flaw in checked["left_out"]]) == (0, ["bad", "unset"])
    assert checked["missing"] == ["LLM_NAME"]
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"bad": {"comand": "x"}}}))
    none = json.loads(runax("config", "check", "-o", "json", "--config", str(tmp_path / "mcp.json")).out)
    assert len(none["missing"]) == 2
    (tmp_path / "nowhere.yaml").write_text("sources: {a: {kind: openapi}}")
    nowhere = runax("config", "check", "--config", str(tmp_path / "nowhere.yaml"))
    assert (nowhere.code, "neither 'document' nor 'base_url'" in nowhere.err) == (3, True)


def test_runs_schema_is_the_schema_of_the_result(runax: Run) -> None:
    schema = json.loads(runax("runs", "schema").out)
    assert {"run_id", "coverage", "evidence", "usage"} <= set(schema["properties"])
    assert "run.finished" in runax("runs", "schema", "-o", "jsonl").out


def test_runs_list_creates_no_state(tmp_path: Path, runax: Run) -> None:
    done = runax("runs", "list", "-o", "json")
    assert (done.code, json.loads(done.out)) == (0, {"runs": []})
    assert list((tmp_path / "xdg_state_home").iterdir()) == []
