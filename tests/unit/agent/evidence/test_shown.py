"""Entities are read from shown records, from records that findings cite, and from rows of a query."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from runax_cli.agent.evidence.shown import ShownData, ShownDataset, entities_of
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.core.results import Lineage
from runax_cli.executor.outcome import CallOutcome, Finding, SqlEvidence
from runax_cli.executor.store.dataset import DatasetStore

MakeCall = Callable[..., RequestedCall]


def outcome_of(call: RequestedCall) -> CallOutcome:
    assert call.outcome is not None
    return call.outcome


def test_entities_of_shown_records_are_in_view(ran: MakeCall) -> None:
    outcome = outcome_of(ran())
    data = {"customers_1#1": {"id": 4, "name": "Baláž"}, "note": "no record"}
    shown = replace(outcome, envelope=outcome.envelope.model_copy(update={"data": data}))
    named, is_in_view = entities_of(shown)
    assert [entity.text for entity in named] == ['customers 4 "Baláž" [customers_1#1]']
    assert is_in_view


def test_entities_of_records_behind_findings_are_not_in_view(ran: MakeCall, tmp_path: Path) -> None:
    dataset = DatasetStore(tmp_path).create("orders")
    dataset.add_page(0, [{"id": 17 + n, "customer_id": 4} for n in range(3)], position="all")
    finding = Finding(id="f1", statement="s", records=(2, 9))
    found = replace(outcome_of(ran()), dataset=dataset, findings=(finding,))
    named, is_in_view = entities_of(found)
    assert [entity.text for entity in named] == ["orders 18 customer_id 4 [orders_1#2]"]
    assert not is_in_view


def test_rows_of_a_query_have_entities(ran: MakeCall) -> None:
    sql = SqlEvidence(
        id="q1",
        sql="SELECT id, name FROM customers_1",
        columns=("id", "name"),
        rows=((4, "Baláž"),),
        n_rows=1,
        datasets=("customers_1",),
        lineage=Lineage.EXACT,
    )
    named, _ = entities_of(replace(outcome_of(ran()), sql=sql))
    assert [entity.text for entity in named] == ['customers 4 "Baláž"']


def test_a_call_that_did_not_run_has_no_entities() -> None:
    assert entities_of(None) == ((), True)


class CountedRecords:
    """One record, and how often all records were read."""

    name = "tickets_1"
    n_reads = 0

    def record(self, row: int) -> dict[str, Any]:
        return {"status": "open"}

    def records(self) -> Iterator[dict[str, Any]]:
        self.n_reads += 1
        yield self.record(1)


def test_the_values_of_a_dataset_are_collected_once_for_all_copies() -> None:
    shown, dataset = ShownData(), CountedRecords()
    shown.datasets["tickets_1"] = ShownDataset(dataset)
    later = shown.with_outcomes(())
    assert later.values_of("tickets_1").columns == {"status"}
    assert shown.values_of("tickets_1") is later.values_of("tickets_1")
    assert dataset.n_reads == 1
