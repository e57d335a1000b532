import json
import re

import pytest

from adapters.base import ToolSpec
from runax_cli.core.results import Evidence, RecordRef, RoleUsage, SqlResult, UsageReport
from runax_cli.ui.slash_commands import COMMANDS, NextAction, SlashState, is_slash, respond

TOOLS = tuple(
    ToolSpec(name=name, description=f"{name}\nreads \x1b[31mthings", parameters={}, source="api", locator="GET /")
    for name in ("get_tickets", "get_customers")
)


class Talk:
    """A conversation that only shows its data."""

    tools = TOOLS
    models = {"agent": "gpt", "reducer": "mini"}  # noqa: RUF012
    last_result = None

    async def ask(self, question: str):
        raise AssertionError(question)


def used(agent: int, reducer: int) -> UsageReport:
    return UsageReport(
        by_role={
            "agent": RoleUsage(requests=1, input_tokens=agent),
            "reducer": RoleUsage(requests=2, input_tokens=reducer),
        }
    )


def test_command_names() -> None:
    assert list(COMMANDS) == ["/help", "/tools", "/model", "/usage", "/why", "/trace", "/retry", "/json", "/quit"]


def test_help_lists_every_command() -> None:
    text = respond("/help", SlashState(Talk())).text
    assert [line.split()[0] for line in text.splitlines()[:-1]] == list(COMMANDS)
    assert all(command.help in text for command in COMMANDS.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_work_before_the_first_question(name: str) -> None:
    response = respond(name, SlashState(Talk()))
    assert response.text or response.after is NextAction.QUIT


def test_tools_are_listed_and_filtered() -> None:
    assert respond("/tools", SlashState(Talk())).text.splitlines()[0] == "get_tickets [read] get_tickets reads things"
    assert respond("/tools CUST", SlashState(Talk())).text.startswith("get_customers")
    assert respond("/tools xyz", SlashState(Talk())).text == "No tool name contains 'xyz'."


def test_models_are_named_by_role() -> None:
    assert respond("/model", SlashState(Talk())).text == "agent: gpt\nreducer: mini"


def test_usage_sums_all_turns_and_mentions_unknown_prices(result_of) -> None:
    results = (result_of(usage=used(10, 20), cost_usd=0.5), result_of(usage=used(1, 2), cost_usd=None))
    assert respond("/usage", SlashState(Talk(), results)).text.splitlines() == [
        "agent: 2 requests, 11 tokens in, 0 out",
        "reducer: 4 requests, 22 tokens in, 0 out",
        "cost: $0.5 plus requests without a known price · 2 turns",
    ]
    assert "cost: unknown" in respond("/usage", SlashState(Talk(), results[1:])).text


def test_trace_names_the_file(result_of) -> None:
    assert respond("/trace", SlashState(Talk(), (result_of(trace_path="/logs/x.jsonl"),))).text == "/logs/x.jsonl"
    assert "no trace" in respond("/trace", SlashState(Talk(), (result_of(),))).text


def test_why_lists_the_evidence_of_each_statement(result_of) -> None:
    asked = SqlResult(id="q1", sql="SELECT n\nFROM t", columns=("city", "n"), rows=(("Praha", 12), (None, 3)), n_rows=9)
    evidence = (
        Evidence(statement="He paid", kind="record", records=(RecordRef(dataset="p_1", row=3, id="77"),), quote="paid"),
        Evidence(statement="Praha has 12", kind="sql", queries=(asked,), exact=True, verified=True),
        Evidence(
            statement="It was 47",
            kind="inference",
            unproven=("47",),
            note="unsupported: 47 does not appear in the data",
        ),
    )
    lines = respond("/why", SlashState(Talk(), (result_of(evidence=evidence),))).text.splitlines()
    assert lines == [
        "Evidence: 3 statements",
        "  1. He paid (record, NOT VERIFIED)",
        "     records: p_1#3 (id 77)",
        "     quote: “paid”",
        "  2. Praha has 12 (sql, verified, exact)",
        "     q1 (exact):",
        "       sql: SELECT n",
        "       sql: FROM t",
        "       city | n",
        "       Praha | 12",
        "        | 3",
        "       … 7 more rows",
        "  3. It was 47 (inference, NOT VERIFIED)",
        "     reason: unsupported: 47 does not appear in the data",
    ]
    assert "Praha has 12" in respond("/why 2", SlashState(Talk(), (result_of(evidence=evidence),))).text


def test_retry_asks_the_last_question_again() -> None:
    assert respond("/retry", SlashState(Talk(), (), "How many?")).after is NextAction.ASK_AGAIN
    assert respond("/retry", SlashState(Talk())).after is NextAction.GO_ON


def test_json_is_data_for_stdout(result_of) -> None:
    response = respond("/json", SlashState(Talk(), (result_of(),)))
    assert response.is_data
    assert json.loads(response.text)["run_id"] == "7f3a"


def test_unknown_command_suggests_the_nearest() -> None:
    assert respond("/tool", SlashState(Talk())).text == "Unknown command '/tool'. Did you mean /tools?"
    assert re.search("/help", respond("/zzz", SlashState(Talk())).text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("/help", True), ("  /TOOLS x", True), ("what is /x", False), ("/a/b is what?", False), ("", False)],
)
def test_path_is_not_a_command(text: str, expected: bool) -> None:
    assert is_slash(text) is expected
