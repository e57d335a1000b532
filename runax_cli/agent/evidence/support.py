"""What one statement cites, as evidence: whether its references hold, and which words and figures stand in them.

Knows cited records and cited query results. Decides no kind of evidence and no verdict.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from adapters.json_text import compact
from runax_cli.agent.evidence.citations import Citation
from runax_cli.agent.evidence.figures import EvidencePool, Figure, folded
from runax_cli.agent.evidence.shown import ShownDataset
from runax_cli.core.errors import StoreError
from runax_cli.core.results import RecordRef
from runax_cli.executor.outcome import SqlEvidence
from runax_cli.executor.sql.lineage import ColumnLineage
from runax_cli.memory.conversation import record_id

_QUOTED = re.compile(r"[“„«\"]([^“”„\"«»]{3,1000})[”“\"»]")
_LEAST_QUOTED_WORDS = 2
_WORD = re.compile(r"[^\W\d_]{3,}")
_CELL_CHARS = 80
_MOST_OTHERS = 100
_ROWS_COMPARED = 200
_SHARED_WORDS = 2
_CHARS_COMPARED = 5000
_IN_TIME_UNITS = re.compile(
    r"(?:_m?s|sec|min|hour|duration|elapsed|time|_h|days?)(?:_|\b)|latency|uptime", re.IGNORECASE
)
_NEGATIVE = re.compile(
    r"\b(?:no|none|not|never|nobody|nothing|without|zero|ne\w+|žádn\w+|nikdo|nikdy|nic|bez|ani)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class CitedRecord:
    """A record that is cited: `record` is None where the reference does not hold; `is_shown`: the model saw it."""

    ref: RecordRef
    record: Mapping[str, Any] | None = None
    is_shown: bool = False


@dataclass(slots=True)
class Support:
    """Records and queries behind one statement, and the pool of what stands in them."""

    records: tuple[CitedRecord, ...] = ()
    queries: tuple[SqlEvidence, ...] = ()
    missing_queries: tuple[str, ...] = ()
    in_records: EvidencePool = field(default_factory=EvidencePool)
    in_rows: EvidencePool = field(default_factory=EvidencePool)
    filters: EvidencePool = field(default_factory=EvidencePool)

    @property
    def are_records_shown(self) -> bool:
        """Whether every cited record exists and was shown to the model."""
        return all(cited.is_shown for cited in self.records)

    @property
    def names(self) -> Iterator[str]:
        """Short texts in the first row of each cited query: what a ranking puts first, or the one thing asked for."""
        return (name for query in self.queries for row in query.rows[:1] for name in _names(row))


def cited_record(citation: Citation, shown: ShownDataset | None) -> CitedRecord:
    """Look a reference up; blocking, since records stand on disk."""
    unproven = CitedRecord(RecordRef(dataset=citation.dataset, row=citation.row))
    if shown is None:
        return unproven
    try:
        record = shown.dataset.record(citation.row)
    except (KeyError, StoreError, OSError):
        return unproven
    own_id = record_id(record, citation.dataset.rpartition("_")[0])
    ref = RecordRef(dataset=citation.dataset, row=citation.row, id=own_id)
    return CitedRecord(ref, record, is_shown=citation.row in shown.rows)


def support_of(
    records: Sequence[CitedRecord],
    queries: Mapping[str, SqlEvidence],
    wanted: Sequence[str],
    *,
    given: EvidencePool | None = None,
) -> Support:
    """Records and the queries `wanted` as one support. A query that read no table proves nothing: it is missing."""
    known = tuple(queries[name] for name in wanted if name in queries and queries[name].datasets)
    found = {query.id for query in known}
    support = Support(tuple(records), known, tuple(name for name in wanted if name not in found))
    support.in_records.add_all(cited.record for cited in records)
    support.in_records.add_all(cited.ref.id for cited in records)
    for query in known:
        add_rows(support.in_rows, query, given=given)
        add_filters(support.filters, query)
    return support


def add_rows(pool: EvidencePool, query: SqlEvidence, *, given: EvidencePool | None = None) -> None:
    """The rows of a query and their number; what the statement itself brings in is no evidence.

    A number that arithmetic mixes in counts as the model's own, unless it was `given` with the question.
    """
    pool.is_in_time_units |= any(_IN_TIME_UNITS.search(name) for name in query.columns)
    if not query.sources or any(source.is_data for source in query.sources):
        pool.add(query.n_rows)
    for row in query.rows:
        sources = query.sources or [ColumnLineage(is_data=True)] * len(row)
        pool.add_all(cell for cell, source in zip(row, sources, strict=True) if _is_from_data(cell, source, given))


def _is_from_data(cell: Any, source: ColumnLineage, given: EvidencePool | None) -> bool:
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        return source.is_data
    own = [number for number in source.operands if given is None or not given.has_value(number)]
    return source.is_data and not own and Decimal(str(cell)) not in source.literals


def add_filters(pool: EvidencePool, query: SqlEvidence) -> None:
    """What the rows were chosen by; all words of a statement that could not be analyzed."""
    if query.filters is None:
        pool.add(query.sql)
    else:
        pool.add_all(query.filters)


def named_in(text: str, names: Iterable[str]) -> bool:
    """Whether a text names one of these, inflected or not: "v Praze" names "Praha"."""
    words = frozenset(_WORD.findall(folded(text)))
    return any(_is_alike(mine, word) for name in names for word in _WORD.findall(folded(name)) for mine in words)


def _is_alike(one: str, other: str) -> bool:
    common = max(3, min(len(one), len(other)) - 2)
    return one[:common] == other[:common] and abs(len(one) - len(other)) <= 4


def is_of_another_row(figures: Sequence[Figure], text: str, queries: Sequence[SqlEvidence]) -> Figure | None:
    """A figure that stands only in rows whose names are not in the text, while names of other rows are."""
    for query in queries:
        named = [row for row in query.rows[:_ROWS_COMPARED] if named_in(text, _names(row))]
        others = [row for row in query.rows[:_ROWS_COMPARED] if _names(row) and row not in named]
        if len(named) + len(others) == len(query.rows) and named and others:
            mine, theirs = EvidencePool(), EvidencePool()
            add_rows(mine, replace(query, rows=tuple(named)))
            add_rows(theirs, replace(query, rows=tuple(others)))
            strange = unfound(figures, text, (mine,))
            found = next((figure for figure in strange if theirs.has(figure)), None)
            if found is not None:
                return found
    return None


def _names(row: Sequence[Any]) -> list[str]:
    return [cell for cell in row if isinstance(cell, str) and 0 < len(cell) <= _CELL_CHARS]


def says_none(text: str, queries: Sequence[SqlEvidence]) -> bool:
    """Whether a text says that there is nothing, and a query found nothing."""
    is_nothing = any(
        not query.n_rows or any(cell in (0, None) for row in query.rows for cell in row) for query in queries
    )
    return is_nothing and _NEGATIVE.search(text) is not None


def quotes_in(text: str) -> tuple[str, ...]:
    """What a text quotes, of two words and more."""
    return tuple(quote for quote in _QUOTED.findall(text) if len(quote.split()) >= _LEAST_QUOTED_WORDS)


@dataclass(frozen=True, slots=True)
class SimilarRecords:
    """Which of the records that were shown share words with a statement. Texts are read once for a whole answer.

    Findings count too, since these are in the language of the answer. Blocking.
    """

    datasets: Mapping[str, ShownDataset]
    texts: dict[Citation, str] = field(default_factory=dict)

    def has_better(self, text: str, citations: Sequence[Citation]) -> bool:
        """Whether nothing of a statement stands in the records it cites, and a good deal in another one."""
        words = frozenset(word[:5] for word in _WORD.findall(folded(text)) if len(word) > 3)
        if not words or any(self._common(words, citation) for citation in citations):
            return False
        others = (
            Citation(name, row)
            for name in dict.fromkeys(citation.dataset for citation in citations)
            for row in sorted(self.datasets[name].rows)[:_MOST_OTHERS]
        )
        return any(self._common(words, other) >= _SHARED_WORDS for other in others)

    def _common(self, words: frozenset[str], citation: Citation) -> int:
        if citation not in self.texts:
            self.texts[citation] = self._text(citation)
        return sum(word in self.texts[citation] for word in words)

    def _text(self, citation: Citation) -> str:
        shown = self.datasets[citation.dataset]
        record = cited_record(citation, shown).record
        said = " ".join(shown.said.get(citation.row, ()))
        return folded(f"{compact(record)[:_CHARS_COMPARED]} {said}" if record is not None else said)


def unfound(figures: Sequence[Figure], text: str, pools: Sequence[EvidencePool]) -> tuple[Figure, ...]:
    """Figures that stand in none of the pools."""
    return tuple(f for f in figures if not any(pool.has(f, after=_after(f, text)) for pool in pools))


def _after(figure: Figure, text: str) -> str:
    end = figure.start + len(figure.text)
    return text[end : end + 12]
