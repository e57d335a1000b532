"""How a turn ended, and what the process tells the caller: status and exit code.

The first rule that fits decides:

1. The turn was ended from outside: by its wall time (`limit`, 124), by the user (`interrupted`, 130), by an error of
   the model, the settings or runax itself (`failed`, and the error's own code).
2. A limit forced the answer, or stopped the reading of data: `limit`, 6. Where steps that led nowhere forced it, the
   run is judged by rules 3 and 4, else it is `incomplete`, 7, and without any answer `failed`, 5.
3. A call was denied and nothing succeeded after it, so that the run could not proceed otherwise: `incomplete`, 8. A
   model that was denied and then reached its answer by other calls did proceed, and the denial is in its report.
4. Every call failed at its source and nothing was read: `failed`, 4.
5. Data was fetched or read incompletely, or a citation failed verification: `incomplete`, 7. An uncited inference
   alone does not count.
6. Otherwise `complete`, 0.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from runax_cli.agent.planning.plan import SubQuestion
from runax_cli.agent.planning.question_analysis import is_czech
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.core.errors import BudgetExhausted, NoProgress, TurnTimedOut
from runax_cli.core.exit_codes import ExitCode, exit_code_of
from runax_cli.core.results import (
    Coverage,
    ErrorReport,
    Evidence,
    EvidenceKind,
    Reason,
    ReasonCode,
    RunStatus,
    SubQuestionReport,
)
from runax_cli.executor.outcome import EnvelopeStatus
from runax_cli.guard.approval import READ_ONLY_HINT

_BROUGHT_SOMETHING = (EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY, EnvelopeStatus.PARTIAL)


@dataclass(frozen=True, slots=True)
class Answered:
    """The model gave its final answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Limited:
    """A limit, or steps that led nowhere, forced the answer, which may be empty."""

    text: str
    limit: BudgetExhausted | NoProgress


@dataclass(frozen=True, slots=True)
class Stopped:
    """The turn ended without a final answer; `text` is what had been streamed of one."""

    error: BaseException
    text: str = ""


TurnEnd: TypeAlias = Answered | Limited | Stopped


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """Status, exit code and what failed."""

    status: RunStatus
    exit_code: ExitCode
    error: ErrorReport | None = None


def verdict_of(
    end: TurnEnd, *, calls: Sequence[RequestedCall], coverage: Coverage, evidence: Sequence[Evidence]
) -> RunVerdict:
    """Apply the rules above."""
    match end:
        case Stopped(error):
            return _stopped(error, coverage)
        case Limited(text, NoProgress() as why):
            return _led_nowhere(why, calls, coverage, has_answer=bool(text.strip()))
        case Limited(limit=limit):
            return RunVerdict(RunStatus.LIMIT, exit_code_of(limit), _report(limit))
        case Answered():
            return _answered(calls, coverage, evidence)
        case _:
            assert_never(end)


def coverage_under(verdict: RunVerdict, coverage: Coverage) -> Coverage:
    """The coverage of a run that ended so: what was stopped or failed did not look at all it would have looked at."""
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


def _stopped(error: BaseException, coverage: Coverage) -> RunVerdict:
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
        report = ErrorReport(type="Interrupted", message="the run was interrupted" + _what_was_read(coverage))
        return RunVerdict(RunStatus.INTERRUPTED, ExitCode.INTERRUPTED, report)
    status = RunStatus.LIMIT if isinstance(error, TurnTimedOut | BudgetExhausted) else RunStatus.FAILED
    report = ErrorReport(type=type(error).__name__, message=f"{error}{_what_was_read(coverage)}")
    return RunVerdict(status, exit_code_of(error), report)


def _led_nowhere(
    why: NoProgress, calls: Sequence[RequestedCall], coverage: Coverage, *, has_answer: bool
) -> RunVerdict:
    """The true reason why the turn could not go on: nobody's leave, the source, or the model itself."""
    if denied := _denied_for_good(calls):
        return RunVerdict(RunStatus.INCOMPLETE, ExitCode.APPROVAL_NEEDED, denied)
    if limited := _stopped_by_a_budget(coverage):
        return limited
    if failed := _failed_at_source(calls, coverage):
        return RunVerdict(RunStatus.FAILED, ExitCode.SOURCE_FAILED, failed)
    if has_answer:
        return RunVerdict(RunStatus.INCOMPLETE, exit_code_of(why), _report(why))
    message = f"the model gave no answer: {why}, and when its tools were taken away it said nothing"
    return RunVerdict(RunStatus.FAILED, ExitCode.MODEL_FAILED, ErrorReport(type=type(why).__name__, message=message))


def _answered(calls: Sequence[RequestedCall], coverage: Coverage, evidence: Sequence[Evidence]) -> RunVerdict:
    if denied := _denied_for_good(calls):
        return RunVerdict(RunStatus.INCOMPLETE, ExitCode.APPROVAL_NEEDED, denied)
    if limited := _stopped_by_a_budget(coverage):
        return limited
    if failed := _failed_at_source(calls, coverage):
        return RunVerdict(RunStatus.FAILED, ExitCode.SOURCE_FAILED, failed)
    is_proven = all(entry.verified for entry in evidence if entry.kind is not EvidenceKind.INFERENCE)
    if not (coverage.is_complete and is_proven):
        return RunVerdict(RunStatus.INCOMPLETE, ExitCode.INCOMPLETE)
    return RunVerdict(RunStatus.COMPLETE, ExitCode.COMPLETE)


def _stopped_by_a_budget(coverage: Coverage) -> RunVerdict | None:
    """A limit that stopped the reading of data, in the words of the first call that met it."""
    why = next((reason.text for reason in coverage.reasons if reason.code is ReasonCode.BUDGET), None)
    if why is None:
        return None
    error = ErrorReport(type=BudgetExhausted.__name__, message=why)
    return RunVerdict(RunStatus.LIMIT, ExitCode.BUDGET_STOPPED, error)


def _denied_for_good(calls: Sequence[RequestedCall]) -> ErrorReport | None:
    denied = [call for call in calls if call.envelope.status is EnvelopeStatus.DENIED]
    if not denied or any(_succeeded(call) and call.step > denied[-1].step for call in calls):
        return None
    names = ", ".join(dict.fromkeys(f"'{call.report.tool}'" for call in denied))
    message = f"{names} changes data and was not approved. Run again with --allow-writes to permit it. {READ_ONLY_HINT}"
    return ErrorReport(type="ApprovalDenied", message=message)


def _failed_at_source(calls: Sequence[RequestedCall], coverage: Coverage) -> ErrorReport | None:
    ran = [call for call in calls if call.outcome is not None]
    if not ran or coverage.records_read or any(_succeeded(call) for call in ran):
        return None
    faults = [call.envelope.error for call in ran if call.envelope.error is not None]
    message = faults[-1].message if faults else "every call failed and nothing was read"
    return ErrorReport(type="SourceFailed", message=f"every call failed and nothing was read: {message}")


def _succeeded(call: RequestedCall) -> bool:
    return call.outcome is not None and call.envelope.status in _BROUGHT_SOMETHING


def _report(error: BaseException) -> ErrorReport:
    return ErrorReport(type=type(error).__name__, message=str(error))


def _what_was_read(coverage: Coverage) -> str:
    if not coverage.records_read:
        return ""
    return f" ({coverage.records_read:,} records had been read by then and are kept.)"


_MOST_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """One part when it is over: what it said, what that rests on, and the verdict."""

    sub: SubQuestion
    answer: str
    calls: tuple[RequestedCall, ...]
    coverage: Coverage
    evidence: tuple[Evidence, ...]
    verdict: RunVerdict

    @property
    def is_answered(self) -> bool:
        """It has an answer that was not cut off by a failure."""
        return bool(self.answer.strip()) and self.verdict.status is not RunStatus.FAILED

    def report(self) -> SubQuestionReport:
        """The part as it is reported."""
        return SubQuestionReport(
            question=self.sub.question,
            need=self.sub.need,
            status=self.verdict.status,
            answer=self.answer,
            after=self.sub.after,
            error=self.verdict.error,
        )

    @property
    def why(self) -> str:
        """Why it is not complete, in words; "" where it is."""
        if self.verdict.status is RunStatus.COMPLETE:
            return ""
        if self.verdict.error is not None:
            return self.verdict.error.message
        reasons = [reason.text for reason in self.coverage.reasons[:_MOST_REASONS]]
        return "; ".join(reasons) or "a citation could not be verified"


def combined_text(parts: Sequence[PartResult], *, question: str) -> str:
    """The answer: that of the only part, or each part under its sub-question, with what failed and why."""
    if len(parts) == 1:
        return parts[0].answer
    words = _CZECH if is_czech(question) else _ENGLISH
    return "\n\n".join(_section(number, part, words) for number, part in enumerate(parts, 1))


def combined_verdict(parts: Sequence[PartResult]) -> RunVerdict:
    """The verdict over all parts: that of all where they agree, else the first of these that any part has.

    A limit (6), an approval that was missing (8), anything incomplete or failed (7). Where every part failed, the run
    failed as the first one did.
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


def verdict_over(parts: Sequence[PartResult], error: BaseException | None, *, coverage: Coverage) -> RunVerdict:
    """The verdict over a run: that over its parts, or that of what ended it from outside."""
    if error is None:
        return combined_verdict(parts)
    evidence = [entry for part in parts for entry in part.evidence]
    calls = [call for part in parts for call in part.calls]
    return verdict_of(Stopped(error), calls=calls, coverage=coverage, evidence=evidence)


def _first_error(parts: Sequence[PartResult]) -> ErrorReport | None:
    for number, part in enumerate(parts, 1):
        if (error := part.verdict.error) is not None:
            return error.model_copy(update={"message": f"part {number} ('{part.sub.question}'): {error.message}"})
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _VerdictWords:
    unanswered: str
    incomplete: str


_ENGLISH = _VerdictWords(unanswered="This part could not be answered", incomplete="This part is incomplete")
_CZECH = _VerdictWords(unanswered="Tuto část se nepodařilo zodpovědět", incomplete="Tato část je neúplná")


def _section(number: int, part: PartResult, words: _VerdictWords) -> str:
    lines = [f"### {number}. {part.sub.question}"]
    if part.answer.strip():
        lines.append(part.answer.strip())
    if part.why:
        lines.append(f"**{words.incomplete if part.is_answered else words.unanswered}:** {part.why}")
    return "\n\n".join(lines)
