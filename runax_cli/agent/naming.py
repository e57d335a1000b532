"""The entities that a result named: from records as they are, from rows of a query, from records behind findings.

Knows outcomes of calls and where their records stand. Which entities a model is told of is not decided here.
"""

from collections.abc import Iterator
from itertools import islice

from runax_cli.agent.references import citations_in
from runax_cli.agent.requested import RequestedCall
from runax_cli.errors import StoreError
from runax_cli.executor.outcome import CallOutcome
from runax_cli.memory.entities import Entity, entities_in

MOST_RECORDS = 200
"""So many records of one result are looked at; a longer list names nothing in particular."""


def named_by(call: RequestedCall) -> tuple[tuple[Entity, ...], bool]:
    """The entities, and whether the envelope shows them itself. Reads records behind findings from disk; blocking."""
    outcome = call.outcome
    if outcome is None:
        return (), True
    if outcome.findings:
        return tuple(_behind_findings(outcome)), False
    return tuple(_in_view(outcome)), True


def _in_view(outcome: CallOutcome) -> Iterator[Entity]:
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


def _behind_findings(outcome: CallOutcome) -> Iterator[Entity]:
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
