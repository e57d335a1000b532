"""`runax tools`: the tokens of a tool, its pagination, and all of its records without a model."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mock_api.app import create_app
from mock_api.serving import serve
from runax_cli.commands.options import CommonOptions, OutputOptions, SourceOptions
from runax_cli.commands.tools_call import run_call
from runax_cli.core.exit_codes import ExitCode

Run = Callable[..., Any]


@pytest.fixture
def api(mock: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with mock() as url:
        monkeypatch.setenv("BASE_API_URL", url)
        yield url


def test_list_names_price_and_hidden_parameters(runax: Run, api: str) -> None:
    done = runax("tools", "list", "-o", "json")
    rows = {row["name"]: row for row in json.loads(done.out)["tools"]}
    assert rows["list_tickets"]["hidden"] == ["offset", "limit", "meta_only"]
    assert rows["list_tickets"]["tokens"] > 100
    assert rows["get_ticket"]["hidden"] == []


def test_list_keeps_to_the_globs(runax: Run, api: str) -> None:
    names = [
        json.loads(line)["name"] for line in runax("tools", "list", "--tools", "get_*", "-o", "jsonl").out.splitlines()
    ]
    assert names
    assert all(name.startswith("get_") for name in names)


def test_show_tells_the_schema_without_pagination(runax: Run, api: str) -> None:
    shown = json.loads(runax("tools", "show", "list_tickets", "-o", "json").out)
    assert shown["paging"]["convention"] == "offset"
    assert not {"offset", "limit", "meta_only"} & set(shown["parameters"]["properties"])
    assert {"focus", "need", "at_most"} <= set(shown["parameters"]["properties"])


def test_show_names_the_rule_that_detected_the_pagination(runax: Run, api: str) -> None:
    lines = runax("tools", "show", "list_tickets").out.splitlines()
    assert "matched rule offset name with a page size parameter, description or list response" in lines


def test_an_unknown_tool_is_told_with_the_nearest(runax: Run, api: str) -> None:
    done = runax("tools", "show", "list_ticket")
    assert done.code == 2
    assert "Did you mean 'list_tickets'?" in done.err


def test_jsonl_is_every_record_and_the_certificate_is_on_stderr(runax: Run, api: str) -> None:
    done = runax("tools", "call", "list_tickets", "customer_id=4", "-o", "jsonl")
    records = [json.loads(line) for line in done.out.splitlines()]
    assert (done.code, len(records), len({record["id"] for record in records})) == (0, 261, 261)
    assert {record["customer_id"] for record in records} == {4}
    assert "261/261 tickets fetched" in done.err
    assert "complete" in done.err


def test_json_is_the_envelope_with_every_record(runax: Run, api: str) -> None:
    done = runax("tools", "call", "list_tickets", "customer_id=4", "-o", "json", "-q")
    envelope = json.loads(done.out)
    assert (envelope["status"], envelope["total_matches"], len(envelope["data"])) == ("success", 261, 261)
    assert done.err == ""


def test_text_is_a_preview(runax: Run, api: str) -> None:
    done = runax("tools", "call", "list_tickets", "customer_id=4")
    assert len(done.out.splitlines()) == 10
    assert "251 more" in done.err


def test_empty_result_is_not_an_error(runax: Run, api: str) -> None:
    done = runax("tools", "call", "list_tickets", "customer_id=9999", "-o", "json")
    envelope = json.loads(done.out)
    assert (done.code, envelope["status"], envelope["data"]) == (0, "empty", [])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["customer_id=x"], "customer_id"), (["customer=4"], "customer"), (["4"], "KEY=VALUE"), (["=4"], "KEY=VALUE")],
)
def test_invalid_arguments_are_a_usage_error(arguments: list[str], named: str, runax: Run, api: str) -> None:
    done = runax("tools", "call", "list_tickets", *arguments)
    assert (done.code, done.out) == (2, "")
    assert named in done.err


def test_missing_record_is_a_source_error(runax: Run, api: str) -> None:
    done = runax("tools", "call", "get_ticket", "ticket_id=99999999", "-o", "json")
    assert (done.code, json.loads(done.out)["status"]) == (4, "error")
    assert "404" in done.err


def test_incomplete_reading_is_code_7_and_keeps_what_came(runax: Run, mock: Any) -> None:
    with mock("--faults", "dropped_page=2") as url:
        done = runax("tools", "call", "list_tickets", "customer_id=4", "-o", "jsonl", "--base-url", url)
    records = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 7
    assert 0 < len(records) < 261
    assert "incomplete" in done.err


def test_a_reader_that_goes_away_breaks_nothing(runax: Run, api: str) -> None:
    done = runax("tools", "call", "list_tickets", "customer_id=4", "-o", "jsonl", "-q", redirect="| head -n 1")
    assert json.loads(done.out)["customer_id"] == 4
    assert done.err == ""


async def test_every_style_of_pagination_gives_the_same_records(capsys: Any) -> None:
    """The mock API and the command run in this process."""
    found = {}
    for style in ("offset", "page", "cursor", "link", "next_url", "single"):
        async with serve(create_app(styles={"tickets": style}), port=0) as url:
            common = CommonOptions(source=SourceOptions(base_url=url), output=OutputOptions(output="jsonl", quiet=True))
            code = await run_call("list_tickets", ["customer_id=4"], common)
        found[style] = (code, [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()])
    assert {code for code, _ in found.values()} == {ExitCode.COMPLETE}
    assert len(found["offset"][1]) == 261
    assert all(ids == found["offset"][1] for _, ids in found.values())


def test_mock_rejects_invalid_options(runax: Run) -> None:
    for arguments, named in (
        (["nowhere.json"], "nowhere.json"),
        (["--style", "tickets"], "RESOURCE=STYLE"),
        (["--style", "tickets=spiral"], "spiral"),
        (["--faults", "gremlins=1"], "gremlins"),
        (["--mcp", "--llm"], "--llm"),
    ):
        done = runax("mock", "--port", "0", *arguments)
        assert done.code == 2, done.err
        assert named in done.err


def test_doctor_says_what_is_reachable(runax: Run, api: str) -> None:
    done = runax("doctor", "-m", "rules", "-o", "json")
    rows = {row["check"]: row["state"] for row in json.loads(done.out)["checks"]}
    assert done.code == 0
    assert rows == {"runax": "ok", "state": "ok", "vocabulary": "ok", "source api": "ok", "models": "ok"}


def test_doctor_counts_the_tools_that_a_question_would_have(runax: Run, tmp_path: Path, mock: Any) -> None:
    with mock() as url:
        one = f"{{kind: openapi, base_url: '{url}', tools: ['get_*']}}"
        (tmp_path / "runax.yaml").write_text(f"sources:\n  one: {one}\n  two: {one}\n")
        done = runax("doctor", "-m", "rules", "-o", "json", "--config", str(tmp_path / "runax.yaml"))
        listed = json.loads(runax("tools", "list", "-o", "json", "--config", str(tmp_path / "runax.yaml")).out)["tools"]
        unknown = runax("tools", "show", "get_ticket", "--config", str(tmp_path / "runax.yaml"))
        none = runax("doctor", "-m", "rules", "--base-url", url, "--tools", "nothing*")
    details = {row["check"]: row["detail"] for row in json.loads(done.out)["checks"]}
    assert details["source one"].startswith("5 tools, ")
    assert details["tools"].startswith(f"{len(listed)} tools, ")
    assert "in every request" in details["tools"]
    assert "'one__get_ticket', 'two__get_ticket'" in unknown.err
    assert (none.code, "no usable tools" in none.out) == (3, True)


def test_settings_are_shown_without_the_keys_in_addresses_and_commands(runax: Run, tmp_path: Path) -> None:
    sources = "{a: {kind: mcp, command: 'server --token Abc-12345'}, b: {kind: openapi, base_url: 'http://u:Pw-7@h.x'}}"
    (tmp_path / "runax.yaml").write_text(f"sources: {sources}\n")
    shown = runax("config", "show", "--config", str(tmp_path / "runax.yaml")).out
    assert "server --token ***" in shown
    assert "http://***@h.x" in shown


@pytest.fixture
def posting(tmp_path: Path) -> str:
    """A document with a POST of unknown effect."""
    post = {"operationId": "search_things", "responses": {"200": {"description": "ok"}}}
    document = {"openapi": "3.1.0", "servers": [{"url": "http://127.0.0.1:9"}], "paths": {"/search": {"post": post}}}
    (tmp_path / "doc.json").write_text(json.dumps(document))
    return str(tmp_path / "doc.json")


def test_a_call_that_may_change_data_is_refused_with_both_ways_out(runax: Run, posting: str) -> None:
    refused = runax("tools", "call", "search_things", "--openapi", posting)
    assert refused.code == 8
    assert "--allow-writes" in refused.err
    assert "set `read: true` for it under `operations`" in refused.err


@pytest.mark.parametrize(("keys", "code"), [("n\n", 8), ("\x04", 8), ("y\n", 4)])
def test_leave_is_asked_for_on_a_terminal(terminal: Any, posting: str, keys: str, code: int) -> None:
    asked = terminal("tools", "call", "search_things", "--openapi", posting)
    asked.wait_for("[y/N]")
    asked.type(keys)
    assert asked.end().code == code


def test_ctrl_c_ends_the_approval_prompt(terminal: Any, posting: str) -> None:
    """Enter is never pressed, so reading a line would block forever."""
    asked = terminal("tools", "call", "search_things", "--openapi", posting)
    asked.wait_for("[y/N]")
    asked.interrupt()
    assert asked.end().code == 130


def test_doctor_checks_the_server_of_the_api(runax: Run, tmp_path: Path) -> None:
    secured = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    paths = {"/things": {"get": {"operationId": "things", "security": [{"key": []}], "responses": {}}}}
    document = {"openapi": "3.1.0", "paths": paths, "components": {"securitySchemes": secured}}
    (tmp_path / "doc.json").write_text(json.dumps(document))
    away = runax("doctor", "-m", "rules", "--openapi", str(tmp_path / "doc.json"), "--base-url", "http://127.0.0.1:9")
    assert away.code == 4
    assert "'http://127.0.0.1:9'" in away.out


def test_doctor_exits_with_the_code_of_the_first_failure(runax: Run) -> None:
    away = runax("doctor", "-m", "rules", "--base-url", "http://127.0.0.1:9")
    assert away.code == 4
    assert runax("doctor", "--base-url", "http://127.0.0.1:9").code == 4


def test_doctor_sends_a_request_to_the_model(runax: Run, mock: Any) -> None:
    with mock() as api_url, mock("--llm") as model_url:
        variables = {"BASE_API_URL": api_url, "LLM_API_BASE_URL": f"{model_url}/v1", "LLM_NAME": "mock"}
        done = runax("doctor", "-o", "json", variables=variables)
    [models] = [row for row in json.loads(done.out)["checks"] if row["check"] == "models"]
    assert (done.code, models["state"]) == (0, "ok")
    assert "'mock' replied" in models["detail"]


def test_doctor_exits_with_5_if_the_model_is_unreachable(runax: Run, api: str) -> None:
    variables = {"LLM_API_BASE_URL": "http://127.0.0.1:9/v1", "LLM_NAME": "mock"}
    assert runax("doctor", variables=variables).code == 5
