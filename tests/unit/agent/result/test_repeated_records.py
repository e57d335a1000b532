"""A record that several calls read counts once."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from runax_cli.agent.result.repeated_records import repeated_records
from runax_cli.agent.result.requested_call import RequestedCall, total_coverage
from runax_cli.executor.store.dataset import DatasetStore

MakeCall = Callable[..., RequestedCall]


def reading(call: RequestedCall, store: DatasetStore, noun: str, records: list[dict[str, Any]]) -> RequestedCall:
    """The call as if it had fetched these records."""
    assert call.outcome is not None
    dataset = store.create(noun)
    dataset.add_page(0, records, position="all")
    return replace(call, outcome=replace(call.outcome, dataset=dataset, source_coverage={}))


def test_a_record_read_in_a_list_and_by_its_id_counts_once(ran: MakeCall, tmp_path: Path) -> None:
    store = DatasetStore(tmp_path)
    listed = reading(ran(read=2, total=2, data_key="a"), store, "customers", [{"id": 4}, {"id": 5}])
    looked_up = reading(ran(read=1, total=1, data_key="b"), store, "customer", [{"id": 4, "name": "Novak"}])
    coverage = total_coverage([listed, looked_up])
    assert (coverage.records_read, coverage.records_total) == (2, 2)


def test_records_of_other_kinds_or_without_an_id_are_not_repeated(ran: MakeCall, tmp_path: Path) -> None:
    store = DatasetStore(tmp_path)
    calls = [
        reading(ran(), store, "customers", [{"id": 4}]),
        reading(ran(), store, "orders", [{"id": 4}]),
        reading(ran(), store, "customers", [{"name": "Novak"}]),
    ]
    assert repeated_records([call.outcome for call in calls if call.outcome is not None]) == 0
