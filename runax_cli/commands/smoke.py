"""`runax smoke`: ask questions with known answers, with the mock API and the rules model over HTTP."""

import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from mock_api.app import create_app
from mock_api.llm_server import create_llm_app
from mock_api.serving import serve
from mockdata.questions import Expectation, Question, load
from runax_cli.agent.result.certificate import certificate_line
from runax_cli.commands.conversation import SessionConversation, open_conversation, run_turn
from runax_cli.commands.demo import TOKEN, demo_configuration
from runax_cli.commands.mock import answer
from runax_cli.commands.options import CommonOptions
from runax_cli.commands.printing import Printer, environment_of
from runax_cli.core.errors import UsageError
from runax_cli.core.exit_codes import ExitCode
from runax_cli.core.results import EvidenceKind, RunResult, RunStatus, counted
from runax_cli.settings.loader import Configuration
from runax_cli.settings.loader import load as load_configuration
from runax_cli.ui.console import strip_control
from runax_cli.ui.json_output import to_json
from runax_cli.ui.view_factory import build_view


class QuestionOutcome(StrEnum):
    """The outcome of one question."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionVerdict:
    """One question, its outcome, and the reasons if it did not pass."""

    question: Question
    outcome: QuestionOutcome
    reasons: tuple[str, ...]
    result: RunResult | None
    duration_s: float

    def as_row(self) -> dict[str, Any]:
        """The verdict as a row of the output and of the report."""
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


def judge(question: Question, result: RunResult) -> QuestionVerdict:
    """Compare a result with the expectation of its question; a failed run is inconclusive."""
    if result.status is RunStatus.FAILED:
        why = result.error.message if result.error else "the run failed"
        return _verdict(question, QuestionOutcome.INCONCLUSIVE, (why,), result)
    reasons = tuple(_differences(question.expect, result))
    return _verdict(question, QuestionOutcome.FAILED if reasons else QuestionOutcome.PASSED, reasons, result)


def _verdict(
    question: Question, outcome: QuestionOutcome, reasons: tuple[str, ...], result: RunResult
) -> QuestionVerdict:
    return QuestionVerdict(
        question=question, outcome=outcome, reasons=reasons, result=result, duration_s=result.duration_s
    )


def _differences(expect: Expectation, result: RunResult) -> Iterator[str]:
    answer = result.answer.casefold()
    yield from (
        f"the answer does not contain '{text}'" for text in expect.must_contain if text.casefold() not in answer
    )
    yield from (f"the answer contains '{text}'" for text in expect.must_not_contain if text.casefold() in answer)
    yield from _call_differences(expect, result)
    cited = {(ref.dataset, ref.row) for item in result.evidence for ref in item.records if item.verified}
    unverified = [item for item in result.evidence if item.kind is EvidenceKind.RECORD and not item.verified]
    if len(cited) < expect.min_citations:
        yield f"{counted(len(cited), 'record')} cited, expected at least {expect.min_citations}"
    figures = sum(item.kind is EvidenceKind.SQL and item.verified and bool(item.exact) for item in result.evidence)
    if figures < expect.min_figures:
        yield f"{counted(figures, 'figure')} backed by exact SQL, expected at least {expect.min_figures}"
    if unverified:
        yield f"{counted(len(unverified), 'citation')} failed verification"


def _call_differences(expect: Expectation, result: RunResult) -> Iterator[str]:
    call = next((call for call in reversed(result.calls) if call.tool == expect.tool), None)
    if call is None:
        yield f"'{expect.tool}' was not called"
        return
    expected = {"records_read": expect.records_read, "records_total": expect.records_total}
    actual = {"records_read": call.records_read, "records_total": call.records_total}
    if expect.strategy is not None:
        expected["strategy"], actual["strategy"] = expect.strategy, call.strategy  # type: ignore[assignment]
    yield from (
        f"{name} is {actual[name]}, expected {value}" for name, value in expected.items() if actual[name] != value
    )
    if result.coverage.is_complete is not expect.is_complete:
        yield f"is_complete is {result.coverage.is_complete}, expected {expect.is_complete}"


def exit_code(verdicts: Sequence[QuestionVerdict]) -> ExitCode:
    """COMPLETE if all passed, SMOKE_INCONCLUSIVE if all are inconclusive, else SMOKE_FAILED."""
    outcomes = {verdict.outcome for verdict in verdicts}
    if outcomes <= {QuestionOutcome.INCONCLUSIVE}:
        return ExitCode.SMOKE_INCONCLUSIVE
    return ExitCode.COMPLETE if outcomes == {QuestionOutcome.PASSED} else ExitCode.SMOKE_FAILED


def junit(verdicts: Sequence[QuestionVerdict]) -> str:
    """The verdicts as JUnit XML: one test case per question, inconclusive ones as errors."""
    count = {outcome: sum(verdict.outcome is outcome for verdict in verdicts) for outcome in QuestionOutcome}
    suite = Element(
        "testsuite",
        name="runax smoke",
        tests=str(len(verdicts)),
        failures=str(count[QuestionOutcome.FAILED]),
        errors=str(count[QuestionOutcome.INCONCLUSIVE]),
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
        if verdict.outcome is not QuestionOutcome.PASSED:
            tag = "failure" if verdict.outcome is QuestionOutcome.FAILED else "error"
            SubElement(case, tag, message=strip_control("; ".join(verdict.reasons))).text = verdict.question.question
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


MODEL = "rules-over-http"
_COLUMNS = ("id", "kind", "outcome", "seconds", "reasons")


async def run(
    common: CommonOptions, *, json_file: Path | None, junit_file: Path | None, only: Sequence[str]
) -> ExitCode:
    """Ask the questions, print the verdicts and write the reports."""
    questions = [question for question in load().questions if _is_selected(question, only)]
    if not questions:
        raise UsageError(f"no question id matches {', '.join(map(repr, only))}. Without --only, all are asked.")
    printer = Printer(environment_of(common), common.output.form)
    async with _conversation(common) as conversation:
        verdicts = [await _ask(question, conversation, common, printer) for question in questions]
    code = exit_code(verdicts)
    printer.rows("questions", [_output_row(verdict, common) for verdict in verdicts], columns=_COLUMNS)
    passed = sum(verdict.outcome is QuestionOutcome.PASSED for verdict in verdicts)
    printer.note(f"smoke: {passed} of {len(verdicts)} passed; {code.meaning if code else 'all as expected'}")
    _write(json_file, to_json(_report(verdicts, code)) + "\n")
    _write(junit_file, junit(verdicts))
    return code


def _is_selected(question: Question, only: Sequence[str]) -> bool:
    return not only or any(fnmatchcase(question.id, glob) for glob in only)


@asynccontextmanager
async def _conversation(common: CommonOptions) -> AsyncIterator[SessionConversation]:
    """A conversation with both servers; its state is temporary, so that no cache of an earlier run is used."""
    quiet = not common.output.verbose
    view = build_view("text", environment_of(common), certificate=certificate_line, quiet=quiet, verbose=False)
    with tempfile.TemporaryDirectory(prefix="runax-smoke-") as folder:
        async with (
            serve(create_app(token=TOKEN), port=0) as api_url,
            serve(create_llm_app(answer, model=MODEL), port=0) as model_url,
            open_conversation(_configuration(api_url, model_url), common, view, state=Path(folder)) as conversation,
        ):
            yield conversation


def _configuration(api_url: str, model_url: str) -> Configuration:
    log_dir = load_configuration().settings.log_dir
    # The mock model cannot judge: its reviews would only warn.
    return demo_configuration(
        api_url, llm_name=MODEL, llm_api_base_url=f"{model_url}/v1", log_dir=log_dir, review="never"
    )


async def _ask(
    question: Question, conversation: SessionConversation, common: CommonOptions, printer: Printer
) -> QuestionVerdict:
    turn = conversation.new_session().ask(question.question)
    verdict = judge(question, await run_turn(turn, before_abort=lambda: None))
    if not common.output.quiet:
        printer.note(f"smoke: {verdict.outcome.value:<12} {verdict.duration_s:5.1f} s  {question.id}")
    return verdict


def _output_row(verdict: QuestionVerdict, common: CommonOptions) -> dict[str, object]:
    row = verdict.as_row()
    return row | {"reasons": "; ".join(verdict.reasons)} if common.output.form == "text" else row


def _report(verdicts: Sequence[QuestionVerdict], code: ExitCode) -> dict[str, object]:
    return {"exit_code": int(code), "model": MODEL, "questions": [verdict.as_row() for verdict in verdicts]}


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write '{path}' ({error.strerror}). Choose a file in an existing folder.") from error
