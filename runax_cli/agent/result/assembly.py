"""Assembles the result of a run from its finished sub-questions: answer, coverage, evidence and verdict.

`assemble` is pure: it changes nothing that it is given. `Session.absorb` takes over what a session remembers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from runax_cli.agent.evidence.review import Judgement, apply_review
from runax_cli.agent.evidence.shown import ShownData, entities_of
from runax_cli.agent.evidence.verify import check_statements, strip_certificates
from runax_cli.agent.planning.plan import SubQuestion
from runax_cli.agent.result.annotation import annotate
from runax_cli.agent.result.data_use import uses_no_data
from runax_cli.agent.result.requested_call import RequestedCall, coverage_with_sweeps, total_coverage
from runax_cli.agent.result.verdict import (
    RunVerdict,
    SubQuestionResult,
    TurnEnd,
    combine_answers,
    coverage_with_answer,
    coverage_with_verdict,
    decide_verdict,
    run_verdict,
)
from runax_cli.core.results import CallReport, Coverage, Evidence, SubQuestionReport, SweepReport
from runax_cli.memory.conversation import RecordEntity


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedSubQuestion:
    """A sub-question, how it ended, and its calls. One that never started has no calls.

    `needs_data` is set if it can only be answered from data, and no other sub-question gave it any. `sweep` is set if
    it asked for everything about an entity. `judgements` are the verdicts of a review, by where their statement starts
    in the answer.
    """

    sub_question: SubQuestion
    end: TurnEnd
    calls: tuple[RequestedCall, ...] = ()
    needs_data: bool = False
    judgements: Mapping[int, Judgement] = field(default_factory=dict)
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
        coverage=coverage_with_verdict(verdict, _with_reasons(coverage, results)),
        sub_questions=tuple(result.report() for result in results),
        calls=tuple(call.report for call in calls),
        evidence=_all_evidence(results),
        sweeps=sweeps,
        shown=shown,
        entities=tuple(entity for outcome in outcomes for entity in entities_of(outcome)[0]),
        tools_used=tuple(call.report.tool for call in calls),
    )


def _result(ended: EndedSubQuestion, shown: ShownData, user_text: str) -> SubQuestionResult:
    end, calls = ended.end, ended.calls
    text = strip_certificates(end.text)
    checked = check_statements(text, shown, question=user_text, asked=ended.sub_question.question)
    checked = apply_review(checked, ended.judgements)
    answer = annotate(text, checked, streamed=end.streamed)
    lacks_data = ended.needs_data and uses_no_data(text, calls, shown)
    coverage = coverage_with_sweeps(total_coverage(calls), () if ended.sweep is None else (ended.sweep,))
    verdict = decide_verdict(end, calls=calls, coverage=coverage, evidence=answer.evidence, lacks_data=lacks_data)
    return SubQuestionResult(
        sub_question=ended.sub_question,
        answer=answer.text,
        calls=calls,
        coverage=coverage_with_answer(coverage, end, answer.evidence, lacks_data=lacks_data),
        evidence=answer.evidence,
        verdict=verdict,
    )


def _with_reasons(coverage: Coverage, results: Sequence[SubQuestionResult]) -> Coverage:
    """The coverage of the run with the reasons of its sub-questions."""
    reasons = dict.fromkeys((*coverage.reasons, *(reason for result in results for reason in result.coverage.reasons)))
    is_complete = coverage.is_complete and all(result.coverage.is_complete for result in results)
    return coverage.model_copy(update={"is_complete": is_complete, "reasons": tuple(reasons)})


def _all_evidence(results: Sequence[SubQuestionResult]) -> tuple[Evidence, ...]:
    return tuple(entry for result in results for entry in result.evidence)
