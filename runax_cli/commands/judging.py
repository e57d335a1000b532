"""Whether an answer is right: what a question expects, held against a result.

Pure. Knows expectations and results, and asks nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from mockdata.questions import Expectation, Question
from runax_cli.exits import ExitCode
from runax_cli.results import EvidenceKind, RunResult, RunStatus
from runax_cli.ui.console import strip_control


class Outcome(StrEnum):
    """What came of one question."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One question, its outcome, and why it is not PASSED."""

    question: Question
    outcome: Outcome
    reasons: tuple[str, ...]
    result: RunResult | None
    duration_s: float

    def as_row(self) -> dict[str, Any]:
        """The verdict as it is listed and written."""
        return {
            "id": self.question.id,
            "kind": self.question.kind.value,
            "outcome": self.outcome.value,
            "seconds": round(self.duration_s, 2),
            "reasons": list(self.reasons),
            "question": self.question.question,
            "answer": self.result.answer if self.result else "",
            "run_id": self.result.run_id if self.result else None,
        }


def judge(question: Question, result: RunResult) -> Verdict:
    """Hold a result against what the question expects. A run that failed as a whole proves nothing."""
    if result.status is RunStatus.FAILED:
        why = result.error.message if result.error else "the run failed"
        return _verdict(question, Outcome.INCONCLUSIVE, (why,), result)
    reasons = tuple(_differences(question.expect, result))
    return _verdict(question, Outcome.FAILED if reasons else Outcome.PASSED, reasons, result)


def _verdict(question: Question, outcome: Outcome, reasons: tuple[str, ...], result: RunResult) -> Verdict:
    return Verdict(question=question, outcome=outcome, reasons=reasons, result=result, duration_s=result.duration_s)


def _differences(expect: Expectation, result: RunResult) -> Iterator[str]:
    answer = result.answer.casefold()
    yield from (f"the answer lacks '{text}'" for text in expect.must_contain if text.casefold() not in answer)
    yield from (f"the answer has '{text}'" for text in expect.must_not_contain if text.casefold() in answer)
    yield from _differing_call(expect, result)
    cited = {(ref.dataset, ref.row) for item in result.evidence for ref in item.records if item.verified}
    unproved = [item for item in result.evidence if item.kind is EvidenceKind.RECORD and not item.verified]
    if len(cited) < expect.min_citations:
        yield f"{len(cited)} records are cited, at least {expect.min_citations} were expected"
    figures = sum(item.kind is EvidenceKind.SQL and item.verified and bool(item.exact) for item in result.evidence)
    if figures < expect.min_figures:
        yield f"{figures} figures rest on exact SQL, at least {expect.min_figures} were expected"
    if unproved:
        yield f"{len(unproved)} citations failed verification"


def _differing_call(expect: Expectation, result: RunResult) -> Iterator[str]:
    call = next((call for call in reversed(result.calls) if call.tool == expect.tool), None)
    if call is None:
        yield f"'{expect.tool}' was not called"
        return
    wanted = {"records_read": expect.records_read, "records_total": expect.records_total}
    found = {"records_read": call.records_read, "records_total": call.records_total}
    if expect.strategy is not None:
        wanted["strategy"], found["strategy"] = expect.strategy, call.strategy  # type: ignore[assignment]
    yield from (f"{name} is {found[name]} and not {value}" for name, value in wanted.items() if found[name] != value)
    if result.coverage.is_complete is not expect.is_complete:
        yield f"is_complete is {result.coverage.is_complete} and not {expect.is_complete}"


def exit_code(verdicts: Sequence[Verdict]) -> ExitCode:
    """COMPLETE where all passed, SMOKE_INCONCLUSIVE where nothing could be judged, else SMOKE_FAILED."""
    outcomes = {verdict.outcome for verdict in verdicts}
    if outcomes <= {Outcome.INCONCLUSIVE}:
        return ExitCode.SMOKE_INCONCLUSIVE
    return ExitCode.COMPLETE if outcomes == {Outcome.PASSED} else ExitCode.SMOKE_FAILED


def junit(verdicts: Sequence[Verdict]) -> str:
    """The verdicts as JUnit XML: a test case a question, inconclusive ones as errors."""
    count = {outcome: sum(verdict.outcome is outcome for verdict in verdicts) for outcome in Outcome}
    suite = Element(
        "testsuite",
        name="runax smoke",
        tests=str(len(verdicts)),
        failures=str(count[Outcome.FAILED]),
        errors=str(count[Outcome.INCONCLUSIVE]),
        time=f"{sum(verdict.duration_s for verdict in verdicts):.3f}",
    )
    for verdict in verdicts:
        case = SubElement(
            suite,
            "testcase",
            classname=f"smoke.{verdict.question.kind.value}",
            name=verdict.question.id,
            time=f"{verdict.duration_s:.3f}",
        )
        if verdict.outcome is not Outcome.PASSED:
            tag = "failure" if verdict.outcome is Outcome.FAILED else "error"
            SubElement(case, tag, message=strip_control("; ".join(verdict.reasons))).text = verdict.question.question
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
