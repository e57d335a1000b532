"""Assembles the result of a run from its finished sub-questions: answer, coverage, evidence and verdict.

`assemble` is pure: it changes nothing that it is given. `Session.absorb` takes over what a session remembers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from runax_cli.agent.evidence.shown import ShownData, entities_of
from runax_cli.agent.evidence.verify import strip_certificates, verify_answer
from runax_cli.agent.planning.plan import SubQuestion
from runax_cli.agent.result.requested_call import RequestedCall, coverage_with_sweeps, total_coverage
from runax_cli.agent.result.verdict import (
    RunVerdict,
    SubQuestionResult,
    TurnEnd,
    combine_answers,
    coverage_with_verdict,
    decide_verdict,
    run_verdict,
)
from runax_cli.core.results import CallReport, Coverage, Evidence, SubQuestionReport, SweepReport
from runax_cli.memory.conversation import RecordEntity


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedSubQuestion:
    """A sub-question, how it ended, and its calls. One that never started has no calls.

    `sweep` is set if it asked for everything about an entity.
    """

    sub_question: SubQuestion
    end: TurnEnd
    calls: tuple[RequestedCall, ...] = ()
    sweep: SweepReport | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """Everything that the result of a run is made from.

    `user_text` is all text from the user, and the date of the run: its figures need no citation. `superseded_calls`
    were made for sub-questions that were asked again in other words. `shown` is what the session showed before the run.
    `error` ended the run as a whole, None if its sub-questions ended by themselves.
    """

    question: str
    user_text: str
    sub_questions: tuple[EndedSubQuestion, ...]
    superseded_calls: tuple[RequestedCall, ...]
    shown: ShownData
    error: BaseException | None = None

    @property
    def calls(self) -> tuple[RequestedCall, ...]:
        """The calls of all sub-questions."""
        return tuple(call for ended in self.sub_questions for call in ended.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAssembly:
    """The result of a run, and what its session remembers: `shown`, `entities` and `tools_used`."""

    answer: str
    verdict: RunVerdict
    coverage: Coverage
    sub_questions: tuple[SubQuestionReport, ...]
    calls: tuple[CallReport, ...]
    evidence: tuple[Evidence, ...]
    sweeps: tuple[SweepReport, ...]
    shown: ShownData
    entities: tuple[RecordEntity, ...]
    tools_used: tuple[str, ...]


def assemble(run: EndedRun) -> RunAssembly:
    """Make the result of a run. Blocking: reads cited records from disk."""
    calls = (*run.calls, *run.superseded_calls)
    outcomes = [call.outcome for call in calls if call.outcome is not None]
    shown = run.shown.with_outcomes(outcomes)
    results = [_result(ended, shown, run.user_text) for ended in run.sub_questions]
    sweeps = tuple(ended.sweep for ended in run.sub_questions if ended.sweep is not None)
    coverage = coverage_with_sweeps(total_coverage(run.calls), sweeps)
    verdict = run_verdict(results, run.error, coverage=coverage)
    return RunAssembly(
        answer=combine_answers(results, question=run.question),
        verdict=verdict,
        coverage=coverage_with_verdict(verdict, coverage),
        sub_questions=tuple(result.report() for result in results),
        calls=tuple(call.report for call in calls),
        evidence=_all_evidence(results),
        sweeps=sweeps,
        shown=shown,
        entities=tuple(entity for outcome in outcomes for entity in entities_of(outcome)[0]),
        tools_used=tuple(call.report.tool for call in calls),
    )


def _result(ended: EndedSubQuestion, shown: ShownData, user_text: str) -> SubQuestionResult:
    answer = strip_certificates(ended.end.text)
    coverage = coverage_with_sweeps(total_coverage(ended.calls), () if ended.sweep is None else (ended.sweep,))
    evidence = verify_answer(answer, shown, question=user_text)
    return SubQuestionResult(
        sub_question=ended.sub_question,
        answer=answer,
        calls=ended.calls,
        coverage=coverage,
        evidence=evidence,
        verdict=decide_verdict(ended.end, calls=ended.calls, coverage=coverage, evidence=evidence),
    )


def _all_evidence(results: Sequence[SubQuestionResult]) -> tuple[Evidence, ...]:
    return tuple(entry for result in results for entry in result.evidence)
