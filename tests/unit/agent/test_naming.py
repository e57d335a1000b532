"""A result names what its records are: those shown, those behind findings, and rows of a query."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from runax_cli.agent.evidence.shown import named_by
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.core.results import Lineage
from runax_cli.executor.outcome import CallOutcome, Finding, SqlEvidence
from runax_cli.executor.store.dataset import DatasetStore

MakeCall = Callable[..., RequestedCall]


def outcome_of(call: RequestedCall) -> CallOutcome:
    assert call.outcome is not None
    return call.outcome


def test_records_that_are_shown_are_named_and_in_view(ran: MakeCall) -> None:
    call = ran()
    outcome = outcome_of(call)
    data = {"customers_1#1": {"id": 4, "name": "Baláž"}, "note": "no record"}
    shown = replace(outcome, envelope=outcome.envelope.model_copy(update={"data": data}))
    named, is_in_view = named_by(replace(call, outcome=shown))
    assert [entity.text for entity in named] == ['customers 4 "Baláž" [customers_1#1]']
    assert is_in_view


def test_records_behind_findings_are_named_and_not_in_view(ran: MakeCall, tmp_path: Path) -> None:
    dataset = DatasetStore(tmp_path).create("orders")
    dataset.add_page(0, [{"id": 17 + n, "customer_id": 4} for n in range(3)], position="all")
    finding = Finding(id="f1", statement="s", records=(2, 9))
    call = ran()
    found = replace(outcome_of(call), dataset=dataset, findings=(finding,))
    named, is_in_view = named_by(replace(call, outcome=found))
    assert [entity.text for entity in named] == ["orders 18 customer_id 4 [orders_1#2]"]
    assert not is_in_view


def test_rows_of_a_query_are_named(ran: MakeCall) -> None:
    call = ran()
    sql = SqlEvidence(
        id="q1",
        sql="SELECT id, name FROM customers_1",
        columns=("id", "name"),
        rows=((4, "Baláž"),),
        n_rows=1,
        datasets=("customers_1",),
        lineage=Lineage.EXACT,
    )
    named, _ = named_by(replace(call, outcome=replace(outcome_of(call), sql=sql)))
    assert [entity.text for entity in named] == ['customers 4 "Baláž"']


def test_a_call_that_did_not_run_names_nothing(ran: MakeCall) -> None:
    assert named_by(replace(ran(), outcome=None)) == ((), True)
