"""The result of a run is assembled without changing its inputs."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from runax_cli.agent.evidence.shown import ShownData
from runax_cli.agent.planning.plan import SubQuestion
from runax_cli.agent.result.assembly import EndedRun, EndedSubQuestion, assemble
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.agent.result.verdict import Answered, Stopped
from runax_cli.core.errors import TurnTimedOut
from runax_cli.core.results import EvidenceKind, Fault, ReasonCode, RunStatus
from runax_cli.executor.outcome import EnvelopeStatus

MakeCall = Callable[..., RequestedCall]


class Tickets:
    """One ticket."""

    name = "tickets_1"
    n_records = 1

    def record(self, row: int) -> dict[str, Any]:
        return {1: {"id": 501, "subject": "outage", "customer_id": 4}}[row]

    def records(self) -> Iterator[dict[str, Any]]:
        yield self.record(1)


def showing(call: RequestedCall) -> RequestedCall:
    """The call with a dataset, whose only record is shown."""
    assert call.outcome is not None
    envelope = call.envelope.model_copy(update={"data": {"tickets_1#1": Tickets().record(1)}})
    return replace(call, envelope=envelope, outcome=replace(call.outcome, envelope=envelope, dataset=Tickets()))


def ended(answer: str, *calls: RequestedCall, **changes: Any) -> EndedRun:
    sub = SubQuestion(question="What broke?", need="read")
    run = EndedRun(
        question="What broke?",
        user_text="What broke?",
        sub_questions=(EndedSubQuestion(sub_question=sub, end=Answered(answer), calls=calls),),
        superseded_calls=(),
        shown=ShownData(),
    )
    return replace(run, **changes)


def test_an_answer_is_verified_against_what_its_own_calls_showed(ran: MakeCall) -> None:
    assembly = assemble(ended("An outage [tickets_1#1].", showing(ran())))
    (evidence,) = assembly.evidence
    assert (evidence.kind, evidence.verified) == (EvidenceKind.RECORD, True)
    assert assembly.verdict.status is RunStatus.COMPLETE
    assert assembly.answer == "An outage [tickets_1#1]."
    assert [report.status for report in assembly.sub_questions] == [RunStatus.COMPLETE]


def test_assembly_changes_nothing_and_gives_the_same_again(ran: MakeCall) -> None:
    run = ended("An outage [tickets_1#1].", showing(ran()))
    first = assemble(run)
    assert run.shown.datasets == {}
    assert run.shown.uncited_values == []
    second = assemble(run)
    assert (second.answer, second.evidence, second.coverage) == (first.answer, first.evidence, first.coverage)
    assert second.shown.uncited_values == first.shown.uncited_values
    assert second.entities == first.entities


def test_an_assembly_names_what_the_session_remembers(ran: MakeCall) -> None:
    assembly = assemble(ended("An outage.", showing(ran())))
    assert assembly.shown.datasets["tickets_1"].rows == {1}
    assert [entity.text for entity in assembly.entities] == ['tickets 501 "outage" customer_id 4 [tickets_1#1]']
    assert assembly.tools_used == ("get_tickets",)


def test_superseded_calls_are_reported_and_not_part_of_the_coverage(ran: MakeCall) -> None:
    assembly = assemble(ended("a", ran(read=3, total=3), superseded_calls=(ran(read=5, total=5, data_key="d2"),)))
    assert [report.records_read for report in assembly.calls] == [3, 5]
    assert assembly.coverage.records_read == 3


def test_an_error_of_the_run_decides_its_verdict(ran: MakeCall) -> None:
    error = TurnTimedOut("timed out after 60 s")
    sub = EndedSubQuestion(sub_question=SubQuestion(question="q", need="read"), end=Stopped(error, "Half"))
    assembly = assemble(ended("", sub_questions=(sub,), error=error))
    assert (assembly.verdict.status, int(assembly.verdict.exit_code)) == (RunStatus.LIMIT, 124)
    assert not assembly.coverage.is_complete
    assert assembly.answer == "Half"


def test_a_figure_from_nowhere_is_marked_and_makes_the_run_incomplete(ran: MakeCall) -> None:
    assembly = assemble(ended("An outage [tickets_1#1]. It took 512 hours.", showing(ran())))
    assert assembly.answer == "An outage [tickets_1#1]. It took 512 hours. [unsupported]"
    assert (assembly.verdict.status, int(assembly.verdict.exit_code)) == (RunStatus.INCOMPLETE, 7)
    assert [entry.fault for entry in assembly.evidence] == [None, Fault.UNSUPPORTED]
    (reason,) = assembly.coverage.reasons
    assert reason.code is ReasonCode.UNSUPPORTED_STATEMENT
    assert "“It took 512 hours.” (" in reason.text
    assert not assembly.coverage.is_complete


def test_an_answer_that_was_cut_off_names_no_statement(ran: MakeCall) -> None:
    run = ended("", showing(ran()))
    sub = replace(run.sub_questions[0], end=Stopped(TurnTimedOut("timed out"), "It took 512"))
    assembly = assemble(replace(run, sub_questions=(sub,)))
    assert ReasonCode.UNSUPPORTED_STATEMENT not in [reason.code for reason in assembly.coverage.reasons]


def test_a_question_that_needs_data_and_got_none_is_incomplete() -> None:
    run = ended("There are no stores.")
    without = replace(run, sub_questions=(replace(run.sub_questions[0], needs_data=True),))
    assembly = assemble(without)
    assert (assembly.verdict.status, int(assembly.verdict.exit_code)) == (RunStatus.INCOMPLETE, 7)
    assert [reason.code for reason in assembly.coverage.reasons] == [ReasonCode.NO_DATA_USED]
    assert assemble(run).verdict.status is RunStatus.COMPLETE


def test_a_question_whose_call_was_denied_keeps_its_own_verdict(not_run: MakeCall) -> None:
    run = ended("I may not close it.", not_run(EnvelopeStatus.DENIED))
    assembly = assemble(replace(run, sub_questions=(replace(run.sub_questions[0], needs_data=True),)))
    assert int(assembly.verdict.exit_code) == 8
    assert assembly.coverage.reasons == ()
