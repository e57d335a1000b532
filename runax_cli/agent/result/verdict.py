"""Decides status and exit code of a sub-question and of a run.

The first rule that applies decides:

1. The turn was stopped: by a timeout (`limit`, 124), by the user (`interrupted`, 130), by an error of the model, the
   settings or runax itself (`failed`, and the exit code of the error).
2. A limit forced the answer, or stopped the reading of data: `limit`, 6. If missing progress forced it, rules 3 and 4
   apply, else it is `incomplete`, 7, and without an answer `failed`, 5.
3. A call was denied and no later call succeeded: `incomplete`, 8. If the model reached its answer by other calls, the
   denial is only reported.
4. Every call failed at its source and nothing was read: `failed`, 4.
5. The question needs data and the answer is based on none: `incomplete`, 7, with the reason `no_data_used`.
6. Data was fetched or read incompletely, or a statement failed its check: `incomplete`, 7. A failed statement gives the
   reason `unsupported_statement`. A conclusion of the model alone does not count.
7. Otherwise `complete`, 0.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from runax_cli.agent import locales
from runax_cli.agent.locales.locale import StatementWords
from runax_cli.agent.planning.plan import SubQuestion
from runax_cli.agent.result.annotation import NOTHING_STREAMED, StreamedPart
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.core.errors import BudgetExhausted, NoProgress, TurnTimedOut
from runax_cli.core.exit_codes import ExitCode, exit_code_of
from runax_cli.core.results import (
    Coverage,
    ErrorReport,
    Evidence,
    Reason,
    ReasonCode,
    RunStatus,
    SubQuestionReport,
    counted,
)
from runax_cli.core.untrusted_text import one_line
from runax_cli.executor.outcome import EnvelopeStatus
from runax_cli.guard.approval import READ_ONLY_HINT

_SUCCEEDED = (EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY, EnvelopeStatus.PARTIAL)


@dataclass(frozen=True, slots=True)
class Answered:
    """The model gave its final answer."""

    text: str
    streamed: StreamedPart = NOTHING_STREAMED


@dataclass(frozen=True, slots=True)
class Limited:
    """A limit or missing progress forced the answer, which may be empty."""

    text: str
    limit: BudgetExhausted | NoProgress
    streamed: StreamedPart = NOTHING_STREAMED


@dataclass(frozen=True, slots=True)
class Stopped:
    """The turn ended without a final answer; `text` is what had been streamed by then."""

    error: BaseException
    text: str = ""
    streamed: StreamedPart = NOTHING_STREAMED


TurnEnd: TypeAlias = Answered | Limited | Stopped


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """Status, exit code and error."""

    status: RunStatus
    exit_code: ExitCode
    error: ErrorReport | None = None


def decide_verdict(
    end: TurnEnd,
    *,
    calls: Sequence[RequestedCall],
    coverage: Coverage,
    evidence: Sequence[Evidence],
    lacks_data: bool = False,
) -> RunVerdict:
    """Apply the rules of this module to one sub-question. `lacks_data`: it needs data, and its answer has none."""
    match end:
        case Stopped(error):
            return _stopped(error, coverage)
        case Limited(text, NoProgress() as why):
            return _no_progress(why, calls, coverage, has_answer=bool(text.strip()))
        case Limited(limit=limit):
            return RunVerdict(RunStatus.LIMIT, exit_code_of(limit), _report(limit))
        case Answered():
            return _answered(calls, coverage, evidence, lacks_data=lacks_data)
        case _:
            assert_never(end)


def coverage_with_verdict(verdict: RunVerdict, coverage: Coverage) -> Coverage:
    """The coverage of a run with this verdict: a run that was stopped or failed is not complete."""
    match verdict.status:
        case RunStatus.COMPLETE:
            return coverage
        case RunStatus.INCOMPLETE if verdict.error is None or verdict.error.type != NoProgress.__name__:
            return coverage
        case RunStatus.INCOMPLETE:
            code = ReasonCode.NO_PROGRESS
        case RunStatus.LIMIT:
            code = ReasonCode.BUDGET
        case RunStatus.INTERRUPTED:
            code = ReasonCode.INTERRUPTED
        case RunStatus.FAILED:
            return coverage.model_copy(update={"is_complete": False})
        case _:
            assert_never(verdict.status)
    if any(reason.code is code for reason in coverage.reasons):
        return coverage.model_copy(update={"is_complete": False})
    why = verdict.error.message if verdict.error is not None else "a limit stopped the run"
    reasons = (*coverage.reasons, Reason(code=code, text=why))
    return coverage.model_copy(update={"is_complete": False, "reasons": reasons})


def coverage_with_answer(
    coverage: Coverage, end: TurnEnd, evidence: Sequence[Evidence], *, lacks_data: bool = False
) -> Coverage:
    """The coverage with the reasons why an answer must not be relied on. An answer that was cut off has none."""
    if isinstance(end, Stopped):
        return coverage
    reasons = []
    if lacks_data and isinstance(end, Answered):
        reasons.append(Reason(code=ReasonCode.NO_DATA_USED, text=_NO_DATA_USED))
    if failed := [entry for entry in evidence if entry.has_failed]:
        reasons.append(Reason(code=ReasonCode.UNSUPPORTED_STATEMENT, text=_failures(failed)))
    if not reasons:
        return coverage
    return coverage.model_copy(update={"is_complete": False, "reasons": (*coverage.reasons, *reasons)})


_NO_DATA_USED = "the question needs data, but the answer is based on no call and cites nothing that was read"
_MAX_NAMED_STATEMENTS = 3
_MAX_STATEMENT_CHARS = 120


def _failures(failed: Sequence[Evidence]) -> str:
    """The first failed statements and why."""
    shown = ((one_line(entry.statement, limit=_MAX_STATEMENT_CHARS), one_line(entry.why_failed)) for entry in failed)
    named = [f"“{statement}” ({why})" for statement, why in shown]
    more = len(named) - _MAX_NAMED_STATEMENTS
    rest = [f"and {more} more"] if more > 0 else []
    return "; ".join([*named[:_MAX_NAMED_STATEMENTS], *rest])


def _stopped(error: BaseException, coverage: Coverage) -> RunVerdict:
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
        report = ErrorReport(type="Interrupted", message="the run was interrupted" + _records_kept_note(coverage))
        return RunVerdict(RunStatus.INTERRUPTED, ExitCode.INTERRUPTED, report)
    status = RunStatus.LIMIT if isinstance(error, TurnTimedOut | BudgetExhausted) else RunStatus.FAILED
    report = ErrorReport(type=type(error).__name__, message=f"{error}{_records_kept_note(coverage)}")
    return RunVerdict(status, exit_code_of(error), report)


def _no_progress(
    why: NoProgress, calls: Sequence[RequestedCall], coverage: Coverage, *, has_answer: bool
) -> RunVerdict:
    """Find out why the turn made no progress: a denied call, a limit, the source, or the model itself."""
    if denied := _approval_denied(calls):
        return RunVerdict(RunStatus.INCOMPLETE, ExitCode.APPROVAL_NEEDED, denied)
    if limited := _budget_stopped(coverage):
        return limited
    if failed := _failed_at_source(calls, coverage):
        return RunVerdict(RunStatus.FAILED, ExitCode.SOURCE_FAILED, failed)
    if has_answer:
        return RunVerdict(RunStatus.INCOMPLETE, exit_code_of(why), _report(why))
    message = f"the model gave no answer: {why}, and its last reply, without tools, was empty"
    return RunVerdict(RunStatus.FAILED, ExitCode.MODEL_FAILED, ErrorReport(type=type(why).__name__, message=message))


def _answered(
    calls: Sequence[RequestedCall], coverage: Coverage, evidence: Sequence[Evidence], *, lacks_data: bool
) -> RunVerdict:
    if denied := _approval_denied(calls):
        return RunVerdict(RunStatus.INCOMPLETE, ExitCode.APPROVAL_NEEDED, denied)
    if limited := _budget_stopped(coverage):
        return limited
    if failed := _failed_at_source(calls, coverage):
        return RunVerdict(RunStatus.FAILED, ExitCode.SOURCE_FAILED, failed)
    if lacks_data or not coverage.is_complete or any(entry.has_failed for entry in evidence):
        return RunVerdict(RunStatus.INCOMPLETE, ExitCode.INCOMPLETE)
    return RunVerdict(RunStatus.COMPLETE, ExitCode.COMPLETE)


def _budget_stopped(coverage: Coverage) -> RunVerdict | None:
    """The verdict if a limit stopped the reading of data; its message is that of the first call it stopped."""
    why = next((reason.text for reason in coverage.reasons if reason.code is ReasonCode.BUDGET), None)
    if why is None:
        return None
    error = ErrorReport(type=BudgetExhausted.__name__, message=why)
    return RunVerdict(RunStatus.LIMIT, ExitCode.BUDGET_STOPPED, error)


def _approval_denied(calls: Sequence[RequestedCall]) -> ErrorReport | None:
    denied = [call for call in calls if call.envelope.status is EnvelopeStatus.DENIED]
    if not denied or any(_succeeded(call) and call.step > denied[-1].step for call in calls):
        return None
    tools = dict.fromkeys(f"'{call.report.tool}'" for call in denied)
    names, verb = ", ".join(tools), "changes data and was" if len(tools) == 1 else "change data and were"
    message = f"{names} {verb} not approved. Run again with --allow-writes to permit it. {READ_ONLY_HINT}"
    return ErrorReport(type="ApprovalDenied", message=message)


def _failed_at_source(calls: Sequence[RequestedCall], coverage: Coverage) -> ErrorReport | None:
    ran = [call for call in calls if call.outcome is not None]
    if not ran or coverage.records_read or any(_succeeded(call) for call in ran):
        return None
    faults = [call.envelope.error for call in ran if call.envelope.error is not None]
    message = faults[-1].message if faults else "every call failed and nothing was read"
    return ErrorReport(type="SourceFailed", message=f"every call failed and nothing was read: {message}")


def _succeeded(call: RequestedCall) -> bool:
    return call.outcome is not None and call.envelope.status in _SUCCEEDED


def _report(error: BaseException) -> ErrorReport:
    return ErrorReport(type=type(error).__name__, message=str(error))


def _records_kept_note(coverage: Coverage) -> str:
    if not coverage.records_read:
        return ""
    return f" (data read before that is kept: {counted(coverage.records_read, 'record')})"


_MAX_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQuestionResult:
    """A finished sub-question: its answer, the evidence for it, and the verdict."""

    sub_question: SubQuestion
    answer: str
    calls: tuple[RequestedCall, ...]
    coverage: Coverage
    evidence: tuple[Evidence, ...]
    verdict: RunVerdict

    @property
    def is_answered(self) -> bool:
        """Whether it has an answer that no failure cut off."""
        return bool(self.answer.strip()) and self.verdict.status is not RunStatus.FAILED

    def report(self) -> SubQuestionReport:
        """The report of the sub-question."""
        return SubQuestionReport(
            question=self.sub_question.question,
            need=self.sub_question.need,
            status=self.verdict.status,
            answer=self.answer,
            after=self.sub_question.after,
            error=self.verdict.error,
        )

    @property
    def reason(self) -> str:
        """Why it is not complete; "" if it is."""
        if self.verdict.status is RunStatus.COMPLETE:
            return ""
        if self.verdict.error is not None:
            return self.verdict.error.message
        reasons = [reason.text for reason in self.coverage.reasons[:_MAX_REASONS]]
        return "; ".join(reasons) or "a statement could not be verified"


def combine_answers(parts: Sequence[SubQuestionResult], *, question: str) -> str:
    """The only answer, or all answers, each under its sub-question, with the reason if one failed."""
    if len(parts) == 1:
        return parts[0].answer
    words = locales.detect(question).statement
    return "\n\n".join(_section(number, part, words) for number, part in enumerate(parts, 1))


def combine_verdicts(parts: Sequence[SubQuestionResult]) -> RunVerdict:
    """The common verdict of all sub-questions, else the first of these that one of them has.

    A limit (6), a missing approval (8), incomplete or failed (7). If all failed, the exit code of the first counts.
    """
    verdicts = [part.verdict for part in parts]
    if len(verdicts) == 1:
        return verdicts[0]
    error = _first_error(parts)
    statuses = {verdict.status for verdict in verdicts}
    if statuses == {RunStatus.COMPLETE}:
        return RunVerdict(RunStatus.COMPLETE, ExitCode.COMPLETE)
    if statuses == {RunStatus.FAILED}:
        return RunVerdict(RunStatus.FAILED, verdicts[0].exit_code, error)
    for status, exit_code in (
        (RunStatus.LIMIT, ExitCode.BUDGET_STOPPED),
        (RunStatus.INCOMPLETE, ExitCode.APPROVAL_NEEDED),
    ):
        if any((verdict.status, verdict.exit_code) == (status, exit_code) for verdict in verdicts):
            return RunVerdict(status, exit_code, error)
    return RunVerdict(RunStatus.INCOMPLETE, ExitCode.INCOMPLETE, error)


def run_verdict(parts: Sequence[SubQuestionResult], error: BaseException | None, *, coverage: Coverage) -> RunVerdict:
    """The verdict of a run: that of its sub-questions, or that of the error that ended it."""
    if error is None:
        return combine_verdicts(parts)
    evidence = [entry for part in parts for entry in part.evidence]
    calls = [call for part in parts for call in part.calls]
    return decide_verdict(Stopped(error), calls=calls, coverage=coverage, evidence=evidence)


def _first_error(parts: Sequence[SubQuestionResult]) -> ErrorReport | None:
    for number, part in enumerate(parts, 1):
        if (error := part.verdict.error) is not None:
            return error.model_copy(
                update={"message": f"sub-question {number} ('{part.sub_question.question}'): {error.message}"}
            )
    return None


def _section(number: int, part: SubQuestionResult, words: StatementWords) -> str:
    lines = [f"### {number}. {part.sub_question.question}"]
    if part.answer.strip():
        lines.append(part.answer.strip())
    if part.reason:
        lines.append(f"**{words.incomplete if part.is_answered else words.unanswered}:** {part.reason}")
    return "\n\n".join(lines)
