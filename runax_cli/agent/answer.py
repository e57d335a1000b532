"""An answer held against the data: what each statement rests on, verified by code.

Knows datasets, and which of their rows the main model was shown. A reference to a record is verified when its dataset
exists, has that row, and the row was shown, by itself or behind a finding. A reference to a number of records is
verified when that number stands in the statement, and is exact. Knows nothing of how an answer is printed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from runax_cli.agent.citations import Citation, Statement, citations_in, statements
from runax_cli.errors import StoreError
from runax_cli.executor.outcome import CallOutcome
from runax_cli.results import Evidence, EvidenceKind, RecordRef, TotalIs

_CERTIFICATE_LIKE = re.compile(
    r"^\W*(?:\d[\d\s,.]*/\s*\d[\d\s,.]*\s+\S+\s+fetched\b.*|no data was used\b.*|.*\s·\s.*\brun [0-9a-f]{4,}\W*)$",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"(?<![\w.,-])(?:\d{1,3}(?:[\s.,]\d{3})+|\d{1,18})(?![\w-])")
_OWN_IDS = ("id", "uuid", "guid", "key", "number", "code", "slug")


class Records(Protocol):
    """The records of one call, by row from 1."""

    @property
    def name(self) -> str:
        """The dataset's name."""

    def record(self, row: int) -> dict[str, Any]:
        """One record. Raises KeyError where there is no such row, StoreError where it cannot be read."""


@dataclass(slots=True)
class Shown:
    """What the main model was shown of one dataset: rows, verified quotes by row, and the total where it is exact."""

    dataset: Records
    rows: set[int] = field(default_factory=set)
    quotes: dict[int, str] = field(default_factory=dict)
    exact_total: int | None = None


class ShownData:
    """What the main model was shown in a whole session, by dataset."""

    def __init__(self) -> None:
        self.datasets: dict[str, Shown] = {}

    def note(self, outcome: CallOutcome) -> None:
        """Take note of what one call showed: records as they are, and records behind findings."""
        if outcome.dataset is None:
            return
        shown = self.datasets.setdefault(outcome.dataset.name, Shown(outcome.dataset))
        if isinstance(outcome.envelope.data, dict):
            named = (citation for key in outcome.envelope.data for citation in citations_in(f"[{key}]"))
            shown.rows.update(citation.row for citation in named if citation.dataset == outcome.dataset.name)
        if outcome.coverage.total_is is TotalIs.EXACT:
            shown.exact_total = outcome.coverage.records_total
        for finding in outcome.findings:
            shown.rows.update(finding.records)
            if finding.quote and finding.is_quote_verified:
                shown.quotes.update({row: finding.quote for row in finding.records if row not in shown.quotes})


def evidence_of(answer: str, shown: ShownData) -> tuple[Evidence, ...]:
    """What each statement of the answer rests on, in order. Reads the cited records from disk; blocking."""
    return tuple(_evidence(statement, shown.datasets) for statement in statements(answer))


def without_certificates(answer: str) -> str:
    """The answer without lines in which a model plays the certificate: only code may claim what was verified."""
    lines = [line for line in answer.splitlines() if not _CERTIFICATE_LIKE.match(line)]
    return "\n".join(lines).strip()


def record_id(record: Mapping[str, Any], noun: str) -> str | None:
    """The record's own id, by the names that ids have: `id`, `ticket_id` for tickets, `key`, a single `…_id`."""
    singular = noun.removesuffix("s").replace("_", "").casefold()
    by_folded = {name.replace("_", "").casefold(): value for name, value in record.items() if _is_scalar(value)}
    names = [_OWN_IDS[0], f"{singular}id", f"{singular}key", *_OWN_IDS[1:]]
    for name in names:
        if (value := by_folded.get(name)) is not None:
            return str(value)
    others = [value for name, value in by_folded.items() if name.endswith("id")]
    return str(others[0]) if len(others) == 1 else None


def _evidence(statement: Statement, datasets: Mapping[str, Shown]) -> Evidence:
    counted = [datasets[name] for name in statement.datasets if name in datasets]
    if not statement.citations:
        return _counted(statement, counted)
    checked = [_checked(citation, datasets.get(citation.dataset)) for citation in statement.citations]
    return Evidence(
        statement=statement.text,
        kind=EvidenceKind.RECORD,
        records=tuple(ref for ref, _ in checked),
        quote=_quote(statement.citations, datasets),
        verified=all(is_verified for _, is_verified in checked),
    )


def _counted(statement: Statement, counted: Sequence[Shown]) -> Evidence:
    """A statement that cites numbers of records, or nothing. Without a figure there is nothing to verify."""
    figures = _figures(statement.text)
    if not counted or not figures:
        return Evidence(statement=statement.text, kind=EvidenceKind.INFERENCE)
    is_exact = all(shown.exact_total in figures for shown in counted)
    return Evidence(statement=statement.text, kind=EvidenceKind.RECORD, exact=is_exact, verified=is_exact)


def _figures(text: str) -> frozenset[int]:
    """Whole numbers in a text, thousands written together or apart: 1261, 1,261, 1.261, 1 261."""
    return frozenset(int(re.sub(r"\D", "", found)) for found in _FIGURE.findall(text))


def _checked(citation: Citation, shown: Shown | None) -> tuple[RecordRef, bool]:
    unproven = RecordRef(dataset=citation.dataset, row=citation.row)
    if shown is None:
        return unproven, False
    try:
        record = shown.dataset.record(citation.row)
    except (KeyError, StoreError, OSError):
        return unproven, False
    own_id = record_id(record, citation.dataset.rpartition("_")[0])
    return RecordRef(dataset=citation.dataset, row=citation.row, id=own_id), citation.row in shown.rows


def _quote(citations: Sequence[Citation], datasets: Mapping[str, Shown]) -> str | None:
    quotes = (datasets[c.dataset].quotes.get(c.row) for c in citations if c.dataset in datasets)
    return next((quote for quote in quotes if quote), None)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""
