"""The answer of all parts: put together in the question's order by code, and the verdict over them.

Knows what each part said, how it ended and why it failed. Pure; no model has a word in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from runax_cli.agent.plan import SubQuestion
from runax_cli.agent.requested import RequestedCall
from runax_cli.agent.verdict import Stopped, Verdict, verdict_of
from runax_cli.agent.wording import is_czech
from runax_cli.exits import ExitCode
from runax_cli.results import Coverage, ErrorReport, Evidence, RunStatus, SubQuestionReport

_MOST_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """One part when it is over: what it said, what that rests on, and the verdict."""

    sub: SubQuestion
    answer: str
    calls: tuple[RequestedCall, ...]
    coverage: Coverage
    evidence: tuple[Evidence, ...]
    verdict: Verdict

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


def combined_verdict(parts: Sequence[PartResult]) -> Verdict:
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
        return Verdict(RunStatus.COMPLETE, ExitCode.COMPLETE)
    if statuses == {RunStatus.FAILED}:
        return Verdict(RunStatus.FAILED, verdicts[0].exit_code, error)
    for status, exit_code in (
        (RunStatus.LIMIT, ExitCode.BUDGET_STOPPED),
        (RunStatus.INCOMPLETE, ExitCode.APPROVAL_NEEDED),
    ):
        if any((verdict.status, verdict.exit_code) == (status, exit_code) for verdict in verdicts):
            return Verdict(status, exit_code, error)
    return Verdict(RunStatus.INCOMPLETE, ExitCode.INCOMPLETE, error)


def verdict_over(parts: Sequence[PartResult], error: BaseException | None, *, coverage: Coverage) -> Verdict:
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
class _Words:
    unanswered: str
    incomplete: str


_ENGLISH = _Words(unanswered="This part could not be answered", incomplete="This part is incomplete")
_CZECH = _Words(unanswered="Tuto část se nepodařilo zodpovědět", incomplete="Tato část je neúplná")


def _section(number: int, part: PartResult, words: _Words) -> str:
    lines = [f"### {number}. {part.sub.question}"]
    if part.answer.strip():
        lines.append(part.answer.strip())
    if part.why:
        lines.append(f"**{words.incomplete if part.is_answered else words.unanswered}:** {part.why}")
    return "\n\n".join(lines)
