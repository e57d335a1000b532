"""Loads the records and query results that a statement cites, and compares the statement with them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from adapters.json_text import compact_json
from runax_cli.agent.evidence.citations import Citation
from runax_cli.agent.evidence.figures import EvidencePool, Figure, normalize_text
from runax_cli.agent.evidence.shown import ShownDataset
from runax_cli.agent.locales import LOCALES, any_of
from runax_cli.core.errors import StoreError
from runax_cli.core.results import RecordRef
from runax_cli.executor.outcome import SqlEvidence
from runax_cli.executor.sql.lineage import ColumnLineage
from runax_cli.memory.conversation import record_id

_QUOTED = tuple(
    re.compile(pattern)
    for pattern in (
        r"“([^“”]{3,1000})”",
        r"„([^„“”]{3,1000})[“”]",
        r"\"([^\"]{3,1000})\"",
        r"«([^«»]{3,1000})»",
        r"»([^»«]{3,1000})«",
        r"[\u2018\u201a]([^\u2018\u201a]{3,1000}?)[\u2019\u2018](?!\w)",
        r"\u203a([^\u203a\u2039]{3,1000})\u2039",
        r"\u2039([^\u203a\u2039]{3,1000})\u203a",
        r"(?<!\w)'([^'\n]{3,1000}?)'(?!\w)",
    )
)
_ITALIC = re.compile(r"(?<![*\w])\*([^*\n]{3,1000})\*(?![*\w])|(?<![_\w])_([^_\n]{3,1000})_(?![_\w])")
_MIN_ITALIC_WORDS = 4
"""Fewer words in italics are emphasis rather than a quotation."""
_MIN_QUOTED_WORDS = 2
_WORD = re.compile(r"[^\W\d_]{3,}")
_MAX_NAME_CHARS = 80
_MAX_OTHERS = 100
_SHORT_NAME = 4
_MIN_ID_DIGITS = 4
_UNIT_CHARS = 12
MAX_COMPARED_ROWS = 200
"""Only the first rows of a result are compared with the names of a statement."""
_MIN_SHARED_WORDS = 2
_MAX_COMPARED_CHARS = 5000
_DURATION_COLUMN = re.compile(
    r"(?:_m?s|secs?|mins?|hours?|duration|elapsed|time|_h|days?)(?:_|\b)|latency|uptime|delay|minut", re.IGNORECASE
)
_MONTH_COLUMN = re.compile(r"m$|mon|mes|měs", re.IGNORECASE)
_NEGATION = re.compile(rf"\b{any_of(lambda locale: locale.statement.negation)}\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CitedRecord:
    """A cited record. `record` is None if it does not exist; `is_shown` if the model was shown it."""

    ref: RecordRef
    record: Mapping[str, Any] | None = None
    is_shown: bool = False


@dataclass(slots=True)
class Support:
    """The records and queries that one statement cites, and the values in them.

    `durations` are the values of those fields of the records that are named like a duration.
    """

    records: tuple[CitedRecord, ...] = ()
    queries: tuple[SqlEvidence, ...] = ()
    unknown_queries: tuple[str, ...] = ()
    in_records: EvidencePool = field(default_factory=EvidencePool)
    in_rows: EvidencePool = field(default_factory=EvidencePool)
    filters: EvidencePool = field(default_factory=EvidencePool)
    durations: EvidencePool = field(default_factory=lambda: EvidencePool(has_durations=True))

    @property
    def all_records_shown(self) -> bool:
        """Whether every cited record exists and was shown to the model."""
        return all(cited.is_shown for cited in self.records)

    @property
    def names(self) -> Iterator[str]:
        """Short texts in the first row of each cited query: the top of a ranking, or the only result."""
        return (name for query in self.queries for row in query.rows[:1] for name in _names(row))


def load_cited_record(citation: Citation, shown: ShownDataset | None) -> CitedRecord:
    """Load a cited record. Blocking: records are on disk."""
    not_found = CitedRecord(RecordRef(dataset=citation.dataset, row=citation.row))
    if shown is None:
        return not_found
    try:
        record = shown.dataset.record(citation.row)
    except (KeyError, StoreError, OSError):
        return not_found
    own_id = record_id(record, citation.dataset.rpartition("_")[0])
    ref = RecordRef(dataset=citation.dataset, row=citation.row, id=own_id)
    return CitedRecord(ref, record, is_shown=citation.row in shown.rows)


def build_support(
    records: Sequence[CitedRecord],
    queries: Mapping[str, SqlEvidence],
    query_ids: Sequence[str],
    *,
    given: EvidencePool | None = None,
) -> Support:
    """Collect cited records and the queries with these `query_ids`. A query that read no table counts as unknown."""
    known = tuple(queries[name] for name in query_ids if name in queries and queries[name].datasets)
    found = {query.id for query in known}
    support = Support(tuple(records), known, tuple(name for name in query_ids if name not in found))
    support.in_records.add_all(cited.record for cited in records)
    support.in_records.add_all(cited.ref.id for cited in records)
    fields = ((name, value) for cited in records for name, value in (cited.record or {}).items())
    support.durations.add_all(value for name, value in fields if _DURATION_COLUMN.search(name))
    for query in known:
        add_query_rows(support.in_rows, query, given=given)
        add_filters(support.filters, query)
    return support


def add_query_rows(pool: EvidencePool, query: SqlEvidence, *, given: EvidencePool | None = None) -> None:
    """Add the rows of a query and their number, without numbers that the SQL itself brings in.

    A number that arithmetic mixes in counts as the model's own unless it was `given` with the question.
    """
    names = [*query.columns, *(name for one in (query.shape.outputs if query.shape else ()) for name in one.of)]
    pool.has_durations |= any(_DURATION_COLUMN.search(name) for name in names)
    if not query.sources or any(source.is_data for source in query.sources):
        pool.add(query.n_rows)
    for row in query.rows:
        sources = query.sources or [ColumnLineage(is_data=True)] * len(row)
        pool.add_all(cell for cell, source in zip(row, sources, strict=True) if _is_from_data(cell, source, given))


def _is_from_data(cell: Any, source: ColumnLineage, given: EvidencePool | None) -> bool:
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        return source.is_data
    invented = [number for number in source.operands if given is None or not given.has_value(number)]
    return source.is_data and not invented and Decimal(str(cell)) not in source.literals


def add_filters(pool: EvidencePool, query: SqlEvidence) -> None:
    """Add the literals of the conditions, or the whole SQL text if it could not be analyzed."""
    if query.filters is None:
        pool.add(query.sql)
    else:
        pool.add_all(query.filters)


def mentions_any(text: str, names: Iterable[str]) -> bool:
    """Whether a text mentions one of these names, also inflected: "v Praze" mentions "Praha"."""
    words = frozenset(_WORD.findall(normalize_text(text)))
    wanted = [word for name in names for word in _WORD.findall(normalize_text(name))]
    return any(_is_similar(mine, word) for word in wanted for mine in words)


def _is_similar(one: str, other: str) -> bool:
    common = max(3, min(len(one), len(other)) - 2)
    return one[:common] == other[:common] and abs(len(one) - len(other)) <= 4


def figure_of_other_row(figures: Sequence[Figure], text: str, queries: Sequence[SqlEvidence]) -> Figure | None:
    """A figure that is only in rows that the text does not name, although it names other rows.

    A text that gives more figures than it names rows may name the others in another language.
    """
    for query in queries:
        rows = query.rows[:MAX_COMPARED_ROWS]
        by_row = row_names(query)
        named = [row for row, names in zip(rows, by_row, strict=False) if any(name_positions(text, names))]
        others = [row for row, names in zip(rows, by_row, strict=False) if names and row not in named]
        if len(named) + len(others) == len(query.rows) and named and others:
            own, foreign = EvidencePool(), EvidencePool()
            add_query_rows(own, replace(query, rows=tuple(named)))
            add_query_rows(foreign, replace(query, rows=tuple(others)))
            found = [figure for figure in unsupported_figures(figures, text, (own,)) if foreign.has(figure)]
            in_rows = [figure for figure in figures if own.has(figure) or foreign.has(figure)]
            if found and len(in_rows) <= len(named):
                return found[0]
    return None


def name_positions(text: str, names: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Where a text names one of these names as whole words, perhaps with another ending: start, end, name."""
    for name in names:
        words = re.findall(r"[^\W_]+", name)
        if not words or (len(words) == 1 and words[0].isdigit() and len(words[0]) < _MIN_ID_DIGITS):
            continue
        *first, last = map(re.escape, words)
        ending = rf"{last[:-1]}\w{{0,3}}" if len(words[-1]) > _SHORT_NAME and words[-1].isalpha() else last
        pattern = r"(?<![^\W_])" + r"[\W_]+".join([*first, ending]) + r"(?![^\W_])"
        flags = re.IGNORECASE if len(name) > _SHORT_NAME else 0
        yield from ((match.start(), match.end(), name) for match in re.finditer(pattern, text, flags))


def names_in(text: str, names: Sequence[str]) -> list[tuple[int, int, str]]:
    """Where a text names one of these names, from left to right; a name inside a longer one does not count."""
    kept: list[tuple[int, int, str]] = []
    for span in sorted(name_positions(text, names), key=lambda one: one[0] - one[1]):
        if not any(one[0] < span[1] and span[0] < one[1] for one in kept):
            kept.append(span)
    return sorted(kept)


def row_names(query: SqlEvidence) -> list[list[str]]:
    """The texts that name each row: its short texts, and the names of the month if a column has months (1 to 12)."""
    names = [_names(row) for row in query.rows]
    for at, column in enumerate(query.columns):
        cells = [row[at] for row in query.rows if at < len(row)]
        is_month = _MONTH_COLUMN.match(column) and all(isinstance(cell, int) and 0 < cell <= 12 for cell in cells)
        if is_month and len(set(cells)) == len(cells):
            for own, cell in zip(names, cells, strict=True):
                own += [name for locale in LOCALES for name in locale.date.months[cell - 1].split() if len(name) > 2]
    return names


def data_numbers(query: SqlEvidence, given: EvidencePool | None = None) -> list[list[Any]]:
    """The cells of each row, None where the number is not from data but from the statement itself."""
    sources = query.sources or [ColumnLineage(is_data=True)] * len(query.columns)
    return [
        [cell if _is_from_data(cell, source, given) else None for cell, source in zip(row, sources, strict=False)]
        for row in query.rows
    ]


def _names(row: Sequence[Any]) -> list[str]:
    return [cell for cell in row if isinstance(cell, str) and 0 < len(cell) <= _MAX_NAME_CHARS]


def found_nothing(query: SqlEvidence) -> bool:
    """Whether a query returned no row, or a figure that is zero or missing."""
    cells = (cell for row in query.rows for cell in row if not isinstance(cell, bool))
    return not query.n_rows or any(cell in (0, None) for cell in cells)


def states_absence(text: str, queries: Sequence[SqlEvidence]) -> bool:
    """Whether a text says that there is nothing, and a query found nothing."""
    return any(map(found_nothing, queries)) and _NEGATION.search(text) is not None


def quotes_in(text: str) -> tuple[str, ...]:
    """The quotations of two or more words in a text, in any quotation marks or in italics."""
    marked = (quote for pattern in _QUOTED for quote in pattern.findall(text))
    italic = (one or other for one, other in _ITALIC.findall(text))
    quotes = [quote for quote in marked if len(quote.split()) >= _MIN_QUOTED_WORDS]
    quotes += [quote for quote in italic if len(quote.split()) >= _MIN_ITALIC_WORDS]
    return tuple(dict.fromkeys(quotes))


@dataclass(frozen=True, slots=True)
class SimilarRecords:
    """Finds shown records that share words with a statement. Each record is loaded once per answer. Blocking.

    Findings about a record count too, since they are in the language of the answer.
    """

    datasets: Mapping[str, ShownDataset]
    texts: dict[Citation, str] = field(default_factory=dict)

    def has_better(self, text: str, citations: Sequence[Citation]) -> bool:
        """Whether a statement shares no word with the cited records, and several with another one."""
        words = frozenset(word[:5] for word in _WORD.findall(normalize_text(text)) if len(word) > 3)
        if not words or any(self._common(words, citation) for citation in citations):
            return False
        others = (
            Citation(name, row)
            for name in dict.fromkeys(citation.dataset for citation in citations)
            for row in sorted(self.datasets[name].rows)[:_MAX_OTHERS]
        )
        return any(self._common(words, other) >= _MIN_SHARED_WORDS for other in others)

    def _common(self, words: frozenset[str], citation: Citation) -> int:
        if citation not in self.texts:
            self.texts[citation] = self._text(citation)
        return sum(word in self.texts[citation] for word in words)

    def _text(self, citation: Citation) -> str:
        shown = self.datasets[citation.dataset]
        record = load_cited_record(citation, shown).record
        findings = " ".join(shown.findings.get(citation.row, ()))
        return normalize_text(
            f"{compact_json(record)[:_MAX_COMPARED_CHARS]} {findings}" if record is not None else findings
        )


def unsupported_figures(figures: Sequence[Figure], text: str, pools: Sequence[EvidencePool]) -> tuple[Figure, ...]:
    """Figures that are in none of the pools."""
    return tuple(f for f in figures if not any(pool.has(f, after=text_after(f, text)) for pool in pools))


def text_after(figure: Figure, text: str) -> str:
    """The text right after a figure, long enough for a unit."""
    end = figure.start + len(figure.text)
    return text[end : end + _UNIT_CHARS]
