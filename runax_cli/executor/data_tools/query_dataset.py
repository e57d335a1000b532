"""`query_dataset`: run one SELECT, show its first rows to the main model as CSV, store all, and keep it as evidence."""

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from adapters.json_text import compact_json
from runax_cli.core.errors import StoreError
from runax_cli.core.event_types import DatasetQueried, Warned
from runax_cli.core.results import StoredResult, counted
from runax_cli.executor.data_tools.base import DataCall, DataCallResult, data_call_coverage
from runax_cli.executor.outcome import CallOutcome, EnvelopeStatus, ResultEnvelope, SqlEvidence
from runax_cli.executor.sql.engine import QueryFailed, QueryResult
from runax_cli.executor.sql.lineage import ColumnLineage
from runax_cli.executor.sql.stored_result import StoreRequest
from runax_cli.executor.sql.tables import FigureBasis, LabelTable, SealedDataset, TableCatalog, coverage_by_dataset
from runax_cli.executor.store.query_results import ResultDraft, ResultStore
from runax_cli.executor.token_fitting import largest_fitting

MAX_CELL_CHARS = 300
_NEEDS_QUOTES = frozenset(',"\n\r')


def to_json_value(value: Any) -> Any:
    """Convert a value of the engine to JSON: dates and times to text, decimals to numbers if that loses nothing."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return int(value) if value == value.to_integral_value() else _decimal(value)
        case datetime():
            return value.isoformat(sep=" ")
        case date() | time():
            return value.isoformat()
        case dict():
            return {str(name): to_json_value(inner) for name, inner in value.items()}
        case list() | tuple():
            return [to_json_value(inner) for inner in value]
        case _:
            return str(value)


def csv_cell(value: Any, *, max_chars: int | None = None) -> str:
    """Format a JSON value as a CSV cell; a longer one is cut to `max_chars` characters and ends with `…`."""
    text = value if isinstance(value, str) else "" if value is None else compact_json(value)
    if max_chars is not None and len(text) > max_chars:
        text = text[:max_chars] + "…"
    if isinstance(value, str) and (not text or text != text.strip() or _NEEDS_QUOTES & set(text)):
        return '"' + text.replace('"', '""') + '"'
    return text if not isinstance(value, dict | list) else '"' + text.replace('"', '""') + '"'


def csv_line(values: Iterable[Any], *, max_chars: int | None = None) -> str:
    """Format values as a CSV line."""
    return ",".join(csv_cell(value, max_chars=max_chars) for value in values)


def csv_preview(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    fits: Callable[[str], bool],
    *,
    max_chars: int = MAX_CELL_CHARS,
) -> tuple[str, int]:
    """Return the header and as many of the first rows as fit together, and their number."""
    lines = [csv_line(columns), *(csv_line(row, max_chars=max_chars) for row in rows)]
    n_rows = largest_fitting(len(rows), lambda n: fits("\n".join(lines[: n + 1])))
    return "\n".join(lines[: n_rows + 1]), n_rows


def _decimal(value: Decimal) -> Any:
    as_float = float(value)
    return as_float if Decimal(repr(as_float)) == value else str(value)


RESULT_TOKENS = 800
_PREVIEW_CHARS = 1000
_NO_ROWS = "No rows match. Before you conclude from that, check how the values are written."


@dataclass(frozen=True, slots=True)
class QueryEvidence:
    """The result of a SELECT: as evidence, as text, the data that it is based on, and where all of it is stored."""

    evidence: SqlEvidence
    text: str
    basis: FigureBasis
    stored: StoredResult

    @property
    def data(self) -> dict[str, Any]:
        """The result as the main model sees it, with the number of all rows even if only some are shown."""
        shown = len(self.evidence.rows)
        data: dict[str, Any] = {"ref": self.evidence.id, "rows": self.evidence.n_rows, "result": self.text}
        return data if shown == self.evidence.n_rows else data | {"shown": shown}


async def run_query(data_call: DataCall, tables: TableCatalog, results: ResultStore) -> CallOutcome:
    """Run the statement of a call, and store its whole result in `results`."""
    sql = str(data_call.arguments["sql"])
    try:
        query = await compute(data_call, tables, results, sql)
    except QueryFailed as error:
        data_call.scope.emitter.emit(DatasetQueried(ref="", sql=sql, error=str(error)))
        return await data_call.reject(error)
    no_rows = "" if query.evidence.n_rows else f"{_NO_ROWS} "
    envelope = ResultEnvelope(
        status=EnvelopeStatus.SUCCESS,
        tool=data_call.call.tool.name,
        data=query.data,
        next_action_hint=no_rows + evidence_hint(query, tables),
    )
    used = coverage_by_dataset(tables.entries, query.basis.datasets)
    result = DataCallResult(
        coverage=data_call_coverage(),
        name=next(iter(used), None),
        sql=query.evidence,
        source_coverage=used,
        stored=(query.stored,),
    )
    return await data_call.finish(envelope, result)


async def compute(data_call: DataCall, tables: TableCatalog, results: ResultStore, sql: str) -> QueryEvidence:
    """Run a SELECT and turn its result into evidence, with the rows that can be shown. Raises QueryFailed.

    A result that cannot be stored is evidence all the same, and reported. Credentials in the statement are masked, as
    they are in the data, so that no file contains them.
    """
    with results.draft() as draft:
        request = None if draft.path is None else StoreRequest(draft.path, results.bytes_left)
        result = await tables.select(results.mask.text(sql), store=request)
        ref = results.next_ref()
        stored = _stored(results, draft, ref, result)
    if stored.note:
        data_call.scope.emitter.emit(Warned(code="not_stored", text=f"{ref} is not stored: {stored.note}"))
    return await _evidence(data_call, tables, result, stored)


def _stored(results: ResultStore, draft: ResultDraft, ref: str, result: QueryResult) -> StoredResult:
    path, note = None, draft.note or result.not_stored
    if draft.path is not None and result.is_stored:
        try:
            path = str(results.keep(draft.path, ref))
        except StoreError as error:
            note = str(error)
    return StoredResult(name=ref, kind="sql", n_rows=result.n_rows, path=path, note=note or None)


async def _evidence(
    data_call: DataCall, tables: TableCatalog, result: QueryResult, stored: StoredResult
) -> QueryEvidence:
    basis = tables.basis(result.tables)
    rows = [tuple(to_json_value(value) for value in row) for row in result.rows]

    def fits(text: str) -> bool:
        return data_call.counter.count(compact_json(text)) <= RESULT_TOKENS

    text, n_shown = await asyncio.to_thread(csv_preview, result.columns, rows, fits)
    evidence = SqlEvidence(
        id=stored.name,
        sql=result.sql,
        columns=result.columns,
        rows=tuple(rows[:n_shown]),
        n_rows=result.n_rows,
        datasets=(*basis.datasets, *(table.name for table in basis.labels)),
        lineage=basis.lineage,
        agreement=basis.agreement,
        sources=result.sources,
        filters=result.filters,
        shape=result.shape,
        records=named_records(result.sources, rows[:n_shown]),
        stored=stored.path,
    )
    _emit_queried(data_call, evidence, text)
    return QueryEvidence(evidence, text, basis, stored)


def named_records(sources: Sequence[ColumnLineage], rows: Sequence[Sequence[Any]]) -> tuple[tuple[str, int], ...]:
    """Return dataset and row of the records that the rows of a result name in columns of row numbers, each once."""
    columns = [(at, source.row_of) for at, source in enumerate(sources) if source.row_of]
    named = ((dataset, row[at]) for row in rows for at, dataset in columns)
    return tuple(dict.fromkeys((dataset, row) for dataset, row in named if type(row) is int))


def evidence_hint(query: QueryEvidence, tables: TableCatalog) -> str:
    """Tell the model how far the figures can be trusted, how to cite them, and what the user can have whole."""
    basis, evidence = query.basis, query.evidence
    partial = [hint for name in basis.datasets if (hint := _partial_hint(name, tables.entries[name]))]
    by_label = [_label_hint(table) for table in basis.labels]
    is_cut = len(evidence.rows) < evidence.n_rows and evidence.stored is not None
    whole = f"All {evidence.n_rows:,} rows are stored as {evidence.id}; the user can save them."
    return " ".join([*partial, *by_label, *[whole] * is_cut, _citing_hint(evidence)])


def _citing_hint(evidence: SqlEvidence) -> str:
    figures = f"Cite these figures as [{evidence.id}]"
    by_dataset = dict(reversed(evidence.records))
    examples = " or ".join(f"[{dataset}#{row}]" for dataset, row in reversed(by_dataset.items()))
    return f"{figures}, a record as {examples}." if examples else f"{figures}."


def _partial_hint(name: str, entry: SealedDataset) -> str:
    return "" if entry.is_whole else f"{name} is {entry.extent}: figures are lower bounds, say so."


def _label_hint(table: LabelTable) -> str:
    agreement = (
        "" if table.agreement is None else f" (the same for {table.agreement:.0%} of {table.n_sample} read twice)"
    )
    missing = f"; {counted(table.n_unusable, 'text')} without a label" if table.n_unusable else ""
    return f"Based on labels that a model assigned{agreement}{missing}: say so."


def _emit_queried(data_call: DataCall, evidence: SqlEvidence, text: str) -> None:
    data_call.scope.emitter.emit(
        DatasetQueried(
            ref=evidence.id,
            sql=evidence.sql,
            n_rows=evidence.n_rows,
            lineage=evidence.lineage.value,
            duration_s=round(data_call.elapsed_s, 3),
            preview=text[:_PREVIEW_CHARS],
        )
    )
