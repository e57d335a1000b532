"""Records that several calls of a run read: each counts once in what a run has read."""

from collections.abc import Iterable, Iterator, Sequence

from runax_cli.core.errors import StoreError
from runax_cli.executor.outcome import CallOutcome
from runax_cli.executor.store.dataset import Dataset
from runax_cli.memory.conversation import record_id

MAX_COMPARED_RECORDS = 200
"""Only datasets of at most so many records are compared: larger ones are seldom a lookup of a record already read."""


def repeated_records(outcomes: Sequence[CallOutcome]) -> int:
    """How many records were read again: those of a dataset whose ids are in an earlier one of the same kind.

    Blocking: reads small datasets from disk. Records without an id of their own are never counted as repeated.
    """
    read: set[tuple[str, str]] = set()
    repeated = 0
    for dataset in _fetched(outcomes):
        own = {(_kind(dataset), one) for one in _ids(dataset)}
        repeated += len(own & read)
        read |= own
    return repeated


def _fetched(outcomes: Iterable[CallOutcome]) -> Iterator[Dataset]:
    """The small datasets that calls fetched, each once. A single dataset repeats nothing."""
    datasets = {
        outcome.dataset.name: outcome.dataset
        for outcome in outcomes
        if outcome.dataset is not None and not outcome.source_coverage
    }
    small = [one for one in datasets.values() if 0 < one.n_records <= MAX_COMPARED_RECORDS]
    yield from small if len(small) > 1 else ()


def _kind(dataset: Dataset) -> str:
    """The noun of a dataset in singular: `customer` for `customers_1` and `customer_2`."""
    return dataset.name.rpartition("_")[0].removesuffix("s")


def _ids(dataset: Dataset) -> Iterator[str]:
    try:
        for record in dataset.records():
            if (own := record_id(record, _kind(dataset))) is not None:
                yield own
    except (StoreError, OSError):
        return
