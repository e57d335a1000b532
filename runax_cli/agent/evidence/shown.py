"""What the main model was shown in a session: rows of datasets, verified quotes, totals, results of queries.

Knows outcomes of calls. Verifies nothing itself: it is what an answer can be held against.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from runax_cli.agent.evidence.citations import citations_in
from runax_cli.agent.result.requested_call import RequestedCall
from runax_cli.core.errors import StoreError
from runax_cli.core.results import TotalIs
from runax_cli.executor.outcome import CallOutcome, SqlEvidence
from runax_cli.memory.conversation import RecordEntity, entities_in


class RecordLookup(Protocol):
    """The records of one call, by row from 1."""

    @property
    def name(self) -> str:
        """The dataset's name."""

    def record(self, row: int) -> dict[str, Any]:
        """One record. Raises KeyError where there is no such row, StoreError where it cannot be read."""


@dataclass(slots=True)
class ShownDataset:
    """What the main model was shown of one dataset.

    `rows` stood in a result or behind a finding; `quotes` are verified, `said` what findings state, both by row.
    `exact_total` is the number of records where it is exact, `read` how many were fetched.
    """

    dataset: RecordLookup
    rows: set[int] = field(default_factory=set)
    quotes: dict[int, str] = field(default_factory=dict)
    exact_total: int | None = None
    read: int = 0
    said: dict[int, list[str]] = field(default_factory=dict)


class ShownData:
    """What the main model was shown in a whole session, by dataset and by query.

    `given` are figures that need no reference: totals that envelopes told, and arguments that calls were made with.
    """

    def __init__(self) -> None:
        self.datasets: dict[str, ShownDataset] = {}
        self.queries: dict[str, SqlEvidence] = {}
        self.given: list[Any] = []

    def note(self, outcome: CallOutcome) -> None:
        """Take note of what one call showed: records as they are, records behind findings, rows of a query."""
        envelope = outcome.envelope
        self.given += [envelope.total_matches, envelope.records_read, envelope.query]
        if outcome.sql is not None:
            self.queries[outcome.sql.id] = outcome.sql
        for citation in _shown_by_reference(envelope.data):
            if citation[0] in self.datasets:
                self.datasets[citation[0]].rows.add(citation[1])
        if outcome.dataset is not None:
            self._note_dataset(outcome, self.datasets.setdefault(outcome.dataset.name, ShownDataset(outcome.dataset)))

    def _note_dataset(self, outcome: CallOutcome, shown: ShownDataset) -> None:
        named = _shown_by_reference(outcome.envelope.data)
        shown.rows.update(row for dataset, row in named if dataset == shown.dataset.name)
        shown.read = max(shown.read, outcome.coverage.records_read)
        if outcome.coverage.total_is is TotalIs.EXACT and not outcome.source_coverage:
            shown.exact_total = outcome.coverage.records_total
        for finding in outcome.findings:
            shown.rows.update(finding.records)
            for row in finding.records:
                shown.said.setdefault(row, []).append(finding.statement)
            if finding.quote and finding.is_quote_verified:
                shown.quotes.update({row: finding.quote for row in finding.records if row not in shown.quotes})


def _shown_by_reference(data: Any) -> Iterator[tuple[str, int]]:
    """Dataset and row of records that stand in an envelope under their reference."""
    if isinstance(data, dict):
        for key in data:
            yield from ((citation.dataset, citation.row) for citation in citations_in(f"[{key}]"))


MOST_RECORDS = 200
"""So many records of one result are looked at; a longer list names nothing in particular."""


def named_by(call: RequestedCall) -> tuple[tuple[RecordEntity, ...], bool]:
    """The entities, and whether the envelope shows them itself. Reads records behind findings from disk; blocking."""
    outcome = call.outcome
    if outcome is None:
        return (), True
    if outcome.findings:
        return tuple(_behind_findings(outcome)), False
    return tuple(_in_view(outcome)), True


def _in_view(outcome: CallOutcome) -> Iterator[RecordEntity]:
    data = outcome.envelope.data
    if isinstance(data, dict):
        for ref, record in islice(data.items(), MOST_RECORDS):
            for citation in citations_in(f"[{ref}]"):
                if isinstance(record, dict):
                    yield from entities_in(record, _noun(citation.dataset), ref=ref)
    if outcome.sql is not None:
        noun = _noun(outcome.sql.datasets[0]) if outcome.sql.datasets else "rows"
        for row in outcome.sql.rows[:MOST_RECORDS]:
            yield from entities_in(dict(zip(outcome.sql.columns, row, strict=False)), noun)


def _behind_findings(outcome: CallOutcome) -> Iterator[RecordEntity]:
    dataset = outcome.dataset
    if dataset is None:
        return
    rows = dict.fromkeys(row for finding in outcome.findings for row in finding.records)
    for row in islice(rows, MOST_RECORDS):
        try:
            record = dataset.record(row)
        except (KeyError, StoreError, OSError):
            continue
        yield from entities_in(record, _noun(dataset.name), ref=f"{dataset.name}#{row}")


def _noun(dataset: str) -> str:
    return dataset.rpartition("_")[0] or dataset
