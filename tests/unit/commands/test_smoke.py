"""Judging answers: passed, failed or inconclusive."""

from xml.etree import ElementTree as ET

import pytest

from mockdata.questions import Expectation, Question, QuestionKind
from runax_cli.commands.smoke import QuestionOutcome, QuestionVerdict, exit_code, judge, junit
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.results import (
    CallReport,
    Coverage,
    ErrorReport,
    Evidence,
    EvidenceKind,
    RecordRef,
    RunResult,
    RunStatus,
)

QUESTION = Question(
    id="q",
    kind=QuestionKind.NEEDLE,
    question="Which?",
    expect=Expectation(
        must_contain=("STORK-1",),
        must_not_contain=("guess",),
        tool="list_tickets",
        records_read=3,
        records_total=3,
        strategy="direct_pass",
        min_citations=1,
    ),
)
CALL = CallReport(
    tool="list_tickets",
    source="api",
    arguments={},
    status="success",
    strategy="direct_pass",
    records_read=3,
    records_total=3,
)
PROOF = Evidence(
    statement="It is STORK-1.",
    kind=EvidenceKind.RECORD,
    records=(RecordRef(dataset="tickets_1", row=2),),
    verified=True,
)


def result(**changes: object) -> RunResult:
    right = {
        "run_id": "r",
        "session_id": "s",
        "status": RunStatus.COMPLETE,
        "exit_code": 0,
        "question": "Which?",
        "answer": "It is stork-1 [tickets_1#2].",
        "calls": (CALL,),
        "evidence": (PROOF,),
        "coverage": Coverage(records_read=3, records_total=3),
    }
    return RunResult.model_validate(right | changes)


def test_correct_answer_passes() -> None:
    verdict = judge(QUESTION, result())
    assert (verdict.outcome, verdict.reasons) == (QuestionOutcome.PASSED, ())


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"answer": "I do not know"}, "does not contain 'STORK-1'"),
        ({"answer": "STORK-1 is my guess"}, "contains 'guess'"),
        ({"calls": ()}, "'list_tickets' was not called"),
        ({"calls": (CALL.model_copy(update={"records_read": 2}),)}, "records_read is 2, expected 3"),
        ({"calls": (CALL.model_copy(update={"records_total": None}),)}, "records_total is None"),
        ({"calls": (CALL.model_copy(update={"strategy": "table"}),)}, "strategy is table"),
        ({"evidence": ()}, "0 records cited"),
        ({"evidence": (PROOF.model_copy(update={"verified": False}),)}, "1 citation failed"),
        ({"coverage": Coverage(is_complete=False)}, "is_complete is False"),
    ],
)
def test_each_difference_fails_with_a_reason(changes: dict[str, object], named: str) -> None:
    verdict = judge(QUESTION, result(**changes))
    assert verdict.outcome is QuestionOutcome.FAILED
    assert any(named in reason for reason in verdict.reasons)


def test_last_call_of_the_tool_is_compared() -> None:
    first = CALL.model_copy(update={"records_read": 0})
    assert judge(QUESTION, result(calls=(first, CALL))).outcome is QuestionOutcome.PASSED
    assert judge(QUESTION, result(calls=(CALL, first))).outcome is QuestionOutcome.FAILED


def test_failed_run_is_inconclusive() -> None:
    failed = result(status=RunStatus.FAILED, error=ErrorReport(type="ModelError", message="no reply"))
    assert judge(QUESTION, failed).outcome is QuestionOutcome.INCONCLUSIVE


def verdicts(*outcomes: QuestionOutcome) -> list[QuestionVerdict]:
    return [
        QuestionVerdict(question=QUESTION, outcome=outcome, reasons=("why\x1b & <so>",), result=None, duration_s=0.5)
        for outcome in outcomes
    ]


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ((QuestionOutcome.PASSED, QuestionOutcome.PASSED), ExitCode.COMPLETE),
        ((QuestionOutcome.PASSED, QuestionOutcome.FAILED), ExitCode.SMOKE_FAILED),
        ((QuestionOutcome.FAILED, QuestionOutcome.INCONCLUSIVE), ExitCode.SMOKE_FAILED),
        ((QuestionOutcome.PASSED, QuestionOutcome.INCONCLUSIVE), ExitCode.SMOKE_FAILED),
        ((QuestionOutcome.INCONCLUSIVE, QuestionOutcome.INCONCLUSIVE), ExitCode.SMOKE_INCONCLUSIVE),
    ],
)
def test_exit_code_of_several_questions(outcomes: tuple[QuestionOutcome, ...], code: ExitCode) -> None:
    assert exit_code(verdicts(*outcomes)) is code


def test_junit_report() -> None:
    suite = ET.fromstring(junit(verdicts(*QuestionOutcome)))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    assert [case.get("name") for case in suite] == ["q", "q", "q"]
    assert [[child.tag for child in case] for case in suite] == [[], ["failure"], ["error"]]
