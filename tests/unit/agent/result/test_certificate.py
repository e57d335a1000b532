"""The certificate is one line, and says what was read, proven and spent."""

import pytest

from runax_cli.agent.result.certificate import certificate_line, short_tokens
from runax_cli.core.results import (
    CallReport,
    Coverage,
    Evidence,
    EvidenceKind,
    Fault,
    Reason,
    ReasonCode,
    RunResult,
    RunStatus,
    SkippedCall,
    SqlResult,
    SweepReport,
    TotalIs,
)

PROVEN = Evidence(statement="s", kind=EvidenceKind.RECORD, verified=True)


def call(dataset: str | None = "tickets_1", **changes: object) -> CallReport:
    values = {
        "tool": "get_tickets",
        "source": "crm",
        "arguments": {},
        "status": "success",
        "dataset": dataset,
        "requests": 10,
        "tokens_raw": 355_123,
        "tokens_to_model": 2_130,
    }
    return CallReport.model_validate(values | changes)


def result(**changes: object) -> RunResult:
    values = {
        "run_id": "7f3a91c2d5e0",
        "session_id": "s",
        "status": RunStatus.COMPLETE,
        "exit_code": 0,
        "question": "q",
        "answer": "a",
        "coverage": Coverage(
            records_read=261, records_total=261, total_is=TotalIs.EXACT, selected=261, read_by_model=261, pages_read=9
        ),
        "calls": (call(),),
        "evidence": (PROVEN,) * 14,
        "cost_usd": 0.0041,
        "duration_s": 6.21,
    }
    return RunResult.model_validate(values | changes)


def computed(query: str, *, is_verified: bool = True, **values: object) -> Evidence:
    asked = SqlResult.model_validate({"id": query, "sql": "SELECT 1"} | values)
    return Evidence(statement="s", kind=EvidenceKind.SQL, queries=(asked,), verified=is_verified)


def test_the_line_is_as_users_know_it() -> None:
    assert certificate_line(result()) == (
        "261/261 tickets fetched · 9 pages · 14 findings, 14 verified · 355k → 2.1k tokens · $0.004 · 6.2 s · run 7f3a"
    )


def test_figures_computed_by_the_engine_are_named() -> None:
    line = certificate_line(result(evidence=(PROVEN, computed("q1"), computed("q2"), computed("q1"))))
    assert " · 1 finding, 1 verified · exact: 2 SQL results · 355k" in line


def test_figures_alone_need_no_findings() -> None:
    assert " · 9 pages · exact: 1 SQL result · 355k" in certificate_line(result(evidence=(computed("q1"),)))


def test_what_rests_on_labels_and_what_is_a_lower_bound_is_no_exact_result() -> None:
    evidence = (
        computed("q1", lineage="by_label", agreement=0.944),
        computed("q2", lineage="lower_bound"),
        computed("q3", is_verified=False),
    )
    said = " · by label (agreement 94 %): 1 SQL result · at least: 1 SQL result · 1 statement FAILED · "
    assert said in certificate_line(result(evidence=evidence))


def test_statements_that_failed_are_counted() -> None:
    guess = Evidence(statement="s", kind=EvidenceKind.INFERENCE)
    invented = Evidence(statement="t", kind=EvidenceKind.INFERENCE, unproven=("47",), fault=Fault.UNSUPPORTED)
    line = certificate_line(result(evidence=(PROVEN, guess, invented, invented)))
    assert " · 1 finding, 1 verified · 2 statements FAILED · " in line


def test_statements_that_failed_are_counted_without_data_too() -> None:
    invented = Evidence(statement="t", kind=EvidenceKind.INFERENCE, fault=Fault.UNSUPPORTED)
    line = certificate_line(result(calls=(), coverage=Coverage(), evidence=(invented,)))
    assert line.startswith("no data was used · 1 statement FAILED · ")


def test_an_answer_without_data_says_so() -> None:
    line = certificate_line(result(calls=(), coverage=Coverage(), evidence=(), cost_usd=0.0))
    assert line == "no data was used · $0 · 6.2 s · run 7f3a"


def test_calls_that_never_ran_are_no_data() -> None:
    denied = CallReport(tool="close", source="crm", arguments={}, status="denied")
    assert certificate_line(result(calls=(denied,), coverage=Coverage())).startswith("no data was used")


def test_what_is_missing_is_said() -> None:
    coverage = Coverage(
        records_read=240,
        records_total=261,
        total_is=TotalIs.EXACT,
        selected=240,
        read_by_model=230,
        pages_read=8,
        pages_failed=1,
        is_complete=False,
    )
    unproven = Evidence(statement="s", kind=EvidenceKind.RECORD)
    line = certificate_line(result(coverage=coverage, evidence=(PROVEN, unproven), cost_usd=None))
    assert line == (
        "240/261 tickets fetched · 8 pages, 1 failed · 230/240 read · 2 findings, 1 verified · 1 statement FAILED · "
        "incomplete · "
        "355k → 2.1k tokens · cost unknown · 6.2 s · run 7f3a"
    )


@pytest.mark.parametrize(
    ("total", "total_is", "shown"),
    [
        (None, TotalIs.UNKNOWN, "1,261/? "),
        (2000, TotalIs.AT_LEAST, "1,261/≥2,000 "),
        (2000, TotalIs.EXACT, "1,261/2,000 "),
    ],
)
def test_a_total_claims_no_more_than_is_known(total: int | None, total_is: TotalIs, shown: str) -> None:
    coverage = Coverage(records_read=1261, records_total=total, total_is=total_is)
    assert certificate_line(result(coverage=coverage)).startswith(shown)


def test_different_things_are_records_and_one_of_each_is_singular() -> None:
    line = certificate_line(
        result(calls=(call(), call("payments_1")), coverage=Coverage(pages_read=1), evidence=(PROVEN,))
    )
    assert "records fetched · 1 page · 1 finding, 1 verified" in line


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (9_949, "9.9k"), (9_960, "10k"), (355_123, "355k"), (1_240_000, "1.2M")],
)
def test_tokens_are_short(tokens: int, shown: str) -> None:
    assert short_tokens(tokens) == shown


@pytest.mark.parametrize(
    ("cost", "shown"), [(0.00042, "$0.0004"), (0.0041, "$0.004"), (0.126, "$0.13"), (12.3, "$12.30")]
)
def test_money_keeps_its_first_digit(cost: float, shown: str) -> None:
    assert f" · {shown} · " in certificate_line(result(cost_usd=cost))


def test_what_was_visited_and_skipped_for_an_entity_is_named() -> None:
    skipped = tuple(SkippedCall(tool=name, why="it changes data") for name in ("a", "b", "c", "d", "e"))
    found = SweepReport(name="Baláž", kind="user", id="4", visited=("get_user", "list_orders"), skipped=skipped)
    assert " · user 4: 2 tools visited, 5 skipped (a, b, c, d, …) · " in certificate_line(result(sweeps=(found,)))
    not_found = SweepReport(name="Baláž")
    assert " · 'Baláž': 0 tools visited · " in certificate_line(result(sweeps=(not_found,)))


def test_the_line_says_what_the_source_was_asked_for() -> None:
    line = certificate_line(result(calls=(call(arguments={"origin": "DTW", "delayed": True}),)))
    assert line.startswith("261/261 tickets (origin=DTW, delayed=true) fetched · ")


def test_the_arguments_of_many_calls_are_shortened() -> None:
    calls = tuple(call(arguments={"id": number}) for number in range(1, 6))
    assert "tickets (id=1; id=2; id=3; 2 more) fetched" in certificate_line(result(calls=calls))


def test_a_call_for_the_first_records_is_not_called_incomplete() -> None:
    first = Coverage(
        records_read=100,
        records_total=500,
        total_is=TotalIs.EXACT,
        reasons=(Reason(code=ReasonCode.FIRST_N, text="only the first 100 were requested"),),
    )
    assert "100/500 tickets fetched (only the first were asked for)" in certificate_line(result(coverage=first))
