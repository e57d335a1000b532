"""Coverage of an answer is the sum over its calls, and never claims more than the weakest of them."""

from collections.abc import Callable

from runax_cli.agent.result.requested_call import RequestedCall, total_coverage
from runax_cli.core.results import Coverage, Reason, ReasonCode, TotalIs
from runax_cli.executor.outcome import EnvelopeStatus

MakeCall = Callable[..., RequestedCall]


def test_no_call_at_all_is_no_data_and_complete() -> None:
    assert total_coverage([]) == Coverage()


def test_figures_add_up(ran: MakeCall) -> None:
    coverage = total_coverage([ran(read=261, total=261, data_key="a"), ran(read=3, total=3, data_key="b")])
    assert (coverage.records_read, coverage.records_total, coverage.selected) == (264, 264, 264)
    assert (coverage.read_by_model, coverage.pages_read, coverage.total_is) == (264, 2, TotalIs.EXACT)
    assert coverage.is_complete


def test_one_unknown_total_makes_the_sum_unknown(ran: MakeCall) -> None:
    coverage = total_coverage([ran(), ran(total=None, total_is=TotalIs.UNKNOWN, data_key="b")])
    assert (coverage.records_total, coverage.total_is) == (None, TotalIs.UNKNOWN)


def test_one_lower_bound_makes_the_sum_a_lower_bound(ran: MakeCall) -> None:
    coverage = total_coverage([ran(), ran(total_is=TotalIs.AT_LEAST, data_key="b")])
    assert (coverage.records_total, coverage.total_is) == (20, TotalIs.AT_LEAST)


def test_one_incomplete_call_makes_the_answer_incomplete_and_keeps_its_reason(ran: MakeCall) -> None:
    coverage = total_coverage([ran(), ran(is_complete=False, reasons=(ReasonCode.PAGE_FAILED,), data_key="b")])
    assert not coverage.is_complete
    assert [reason.code for reason in coverage.reasons] == [ReasonCode.PAGE_FAILED]


def test_a_failed_call_yields_to_a_later_one_for_the_same_data_and_only_to_that(ran: MakeCall) -> None:
    failed = ran(read=0, is_complete=False, reasons=(ReasonCode.SOURCE_ERROR,))
    assert total_coverage([failed, ran(step=2)]).is_complete
    assert not total_coverage([failed, ran(step=2, data_key="other")]).is_complete
    assert not total_coverage([ran(), failed]).is_complete


def test_the_same_data_read_twice_counts_twice_because_it_was_read_twice(ran: MakeCall) -> None:
    assert total_coverage([ran(), ran(step=2)]).records_read == 20


def test_an_interrupted_call_and_a_fault_of_runax_are_incomplete(not_run: MakeCall) -> None:
    interrupted = not_run(EnvelopeStatus.ERROR, report_status="interrupted", data_key="a")
    fault = Reason(code=ReasonCode.STORE_ERROR, text="disk full")
    trapped = not_run(EnvelopeStatus.ERROR, fault=fault, data_key="b")

    coverage = total_coverage([interrupted, trapped])

    assert not coverage.is_complete
    assert [reason.code for reason in coverage.reasons] == [ReasonCode.INTERRUPTED, ReasonCode.STORE_ERROR]


def test_calls_that_never_ran_do_not_count(not_run: MakeCall) -> None:
    assert total_coverage([not_run(EnvelopeStatus.DENIED), not_run(EnvelopeStatus.VALIDATION_ERROR)]) == Coverage()
