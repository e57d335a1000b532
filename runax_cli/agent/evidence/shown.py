"""What the main model was shown in a session: rows of datasets, verified quotes, totals, query results.

An answer is verified against it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

from runax_cli.agent.evidence.citations import record_citations
from runax_cli.agent.evidence.values import ValueIndex
from runax_cli.core.errors import StoreError
from runax_cli.core.results import ReasonCode, TotalIs
from runax_cli.executor.outcome import CallOutcome, EnvelopeStatus, SqlEvidence
from runax_cli.memory.conversation import RecordEntity, entities_in

_SHOWS_DATA = (EnvelopeStatus.SUCCESS, EnvelopeStatus.EMPTY, EnvelopeStatus.PARTIAL)


class RecordLookup(Protocol):
    """The records of one dataset, by row from 1."""

    @property
    def name(self) -> str:
        """The dataset's name."""

    def record(self, row: int) -> dict[str, Any]:
        """One record. Raises KeyError if there is no such row, StoreError if it cannot be read."""

    def records(self) -> Iterator[dict[str, Any]]:
        """All records in order. Raises StoreError if one cannot be read."""


@dataclass(slots=True)
class ShownDataset:
    """What the main model was shown of one dataset.

    `rows` were in a result or are cited by a finding; `quotes` are verified; `findings` are statements. The latter two
    are keyed by row. `exact_total` is the total number of records if it is exact, `records_read` how many were fetched.
    `is_whole`: all records of the call were fetched, and not only the first n.
    """

    dataset: RecordLookup
    rows: set[int] = field(default_factory=set)
    quotes: dict[int, str] = field(default_factory=dict)
    exact_total: int | None = None
    records_read: int = 0
    findings: dict[int, list[str]] = field(default_factory=dict)
    is_whole: bool = True

    def copy(self) -> "ShownDataset":
        """A copy that can be changed independently."""
        findings = {row: list(statements) for row, statements in self.findings.items()}
        return replace(self, rows=set(self.rows), quotes=dict(self.quotes), findings=findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCall:
    """A call of a source and what it returned. `records_total` is None unless it is exact, `dataset` if it is empty."""

    tool: str
    arguments: Mapping[str, Any]
    dataset: str | None
    records_read: int
    records_total: int | None
    is_complete: bool


class ShownData:
    """What the main model was shown in a whole session, by dataset and by query.

    `uncited_values` need no citation: totals of results, and arguments of calls. `arguments` are those of all calls,
    `calls` those that returned records or found none.
    """

    def __init__(self) -> None:
        self.datasets: dict[str, ShownDataset] = {}
        self.queries: dict[str, SqlEvidence] = {}
        self.uncited_values: list[Any] = []
        self.arguments: list[Any] = []
        self.calls: list[ShownCall] = []
        self._totals: list[int] = []
        self._values: dict[str, ValueIndex] = {}

    def values_of(self, name: str) -> ValueIndex:
        """The values of a dataset's columns, collected once; empty if its records cannot be read. Blocking."""
        if name not in self._values:
            try:
                self._values[name] = ValueIndex.of_records(self.datasets[name].dataset.records())
            except (StoreError, OSError):
                self._values[name] = ValueIndex.of_records(())
        return self._values[name]

    @property
    def exact_totals(self) -> frozenset[int]:
        """The exact totals of all calls, also of those that returned no records."""
        return frozenset(self._totals)

    def with_outcomes(self, outcomes: Iterable[CallOutcome]) -> "ShownData":
        """A copy that also has what these calls showed."""
        copy = ShownData()
        copy.datasets = {name: shown.copy() for name, shown in self.datasets.items()}
        copy.queries = dict(self.queries)
        copy.uncited_values = list(self.uncited_values)
        copy.arguments = list(self.arguments)
        copy.calls = list(self.calls)
        copy._totals = list(self._totals)
        # Shared: a dataset has the same records in every copy.
        copy._values = self._values
        for outcome in outcomes:
            copy._add(outcome)
        return copy

    def _add(self, outcome: CallOutcome) -> None:
        """Add what one call showed: records, records cited by findings, rows of a query and the records they name."""
        envelope = outcome.envelope
        self.uncited_values += [envelope.total_matches, envelope.records_read, envelope.query]
        self.arguments.append(envelope.query)
        if outcome.coverage.total_is is TotalIs.EXACT and outcome.coverage.records_total is not None:
            self._totals.append(outcome.coverage.records_total)
        if outcome.sql is not None:
            self.queries[outcome.sql.id] = outcome.sql
        elif outcome.envelope.status in _SHOWS_DATA:
            self.calls.append(_shown_call(outcome))
        in_rows = () if outcome.sql is None else outcome.sql.records
        for dataset, row in (*_records_by_reference(envelope.data), *in_rows):
            if dataset in self.datasets:
                self.datasets[dataset].rows.add(row)
        if outcome.dataset is not None:
            self._add_dataset(outcome, self.datasets.setdefault(outcome.dataset.name, ShownDataset(outcome.dataset)))

    def _add_dataset(self, outcome: CallOutcome, shown: ShownDataset) -> None:
        named = _records_by_reference(outcome.envelope.data)
        shown.rows.update(row for dataset, row in named if dataset == shown.dataset.name)
        is_first_n = any(reason.code is ReasonCode.FIRST_N for reason in outcome.coverage.reasons)
        shown.is_whole = outcome.coverage.is_complete and not is_first_n
        shown.records_read = max(shown.records_read, outcome.coverage.records_read)
        if outcome.coverage.total_is is TotalIs.EXACT and not outcome.source_coverage:
            shown.exact_total = outcome.coverage.records_total
        for finding in outcome.findings:
            shown.rows.update(finding.records)
            for row in finding.records:
                shown.findings.setdefault(row, []).append(finding.statement)
            if finding.quote and finding.is_quote_verified:
                shown.quotes.update({row: finding.quote for row in finding.records if row not in shown.quotes})


def _shown_call(outcome: CallOutcome) -> ShownCall:
    coverage, report = outcome.coverage, outcome.report
    return ShownCall(
        tool=report.tool,
        arguments=report.arguments,
        dataset=None if outcome.dataset is None else outcome.dataset.name,
        records_read=coverage.records_read,
        records_total=coverage.records_total if coverage.total_is is TotalIs.EXACT else None,
        is_complete=coverage.is_complete,
    )


def _records_by_reference(data: Any) -> Iterator[tuple[str, int]]:
    """Dataset and row of the records that an envelope shows under their references."""
    if isinstance(data, dict):
        for key in data:
            yield from ((citation.dataset, citation.row) for citation in record_citations(f"[{key}]"))


MAX_ENTITY_RECORDS = 200
"""Entities are read from this many records of one result: a longer list identifies nothing in particular."""


def entities_of(outcome: CallOutcome | None) -> tuple[tuple[RecordEntity, ...], bool]:
    """The entities in the records of a call, and whether its envelope shows them.

    Blocking: records that findings cite are read from disk.
    """
    if outcome is None:
        return (), True
    if outcome.findings:
        return tuple(_entities_behind_findings(outcome)), False
    return tuple(_entities_in_view(outcome)), True


def _entities_in_view(outcome: CallOutcome) -> Iterator[RecordEntity]:
    data = outcome.envelope.data
    if isinstance(data, dict):
        for ref, record in islice(data.items(), MAX_ENTITY_RECORDS):
            for citation in record_citations(f"[{ref}]"):
                if isinstance(record, dict):
                    yield from entities_in(record, _noun(citation.dataset), ref=ref)
    if outcome.sql is not None:
        noun = _noun(outcome.sql.datasets[0]) if outcome.sql.datasets else "rows"
        for row in outcome.sql.rows[:MAX_ENTITY_RECORDS]:
            yield from entities_in(dict(zip(outcome.sql.columns, row, strict=False)), noun)


def _entities_behind_findings(outcome: CallOutcome) -> Iterator[RecordEntity]:
    dataset = outcome.dataset
    if dataset is None:
        return
    rows = dict.fromkeys(row for finding in outcome.findings for row in finding.records)
    for row in islice(rows, MAX_ENTITY_RECORDS):
        try:
            record = dataset.record(row)
        except (KeyError, StoreError, OSError):
            continue
        yield from entities_in(record, _noun(dataset.name), ref=f"{dataset.name}#{row}")


def _noun(dataset: str) -> str:
    return dataset.rpartition("_")[0] or dataset
