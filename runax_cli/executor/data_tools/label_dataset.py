"""`label_dataset`: answer a question about meaning as a column of labels.

SQL selects the rows, each distinct text is labeled once, and the labels become a table by row that is joined to the
dataset.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from runax_cli.core.errors import StoreError
from runax_cli.core.event_types import DatasetLabelled
from runax_cli.core.results import Coverage, Reason, ReasonCode, StoredResult, counted
from runax_cli.executor.data_tools.base import DataCall, DataCallResult, data_call_coverage
from runax_cli.executor.data_tools.labeler import Labeler, LabelField, LabelingOutcome, Labels, LabelTask, label_fields
from runax_cli.executor.data_tools.query_dataset import QueryEvidence, compute, evidence_hint
from runax_cli.executor.outcome import CallOutcome, EnvelopeStatus, ResultEnvelope
from runax_cli.executor.responses import list_rows
from runax_cli.executor.sql.columns import literal, quoted
from runax_cli.executor.sql.engine import QueryFailed
from runax_cli.executor.sql.tables import LabelTable, TableCatalog, coverage_by_dataset
from runax_cli.executor.store.query_results import ResultStore
from runax_cli.telemetry.credential_mask import CredentialMask

_SQL_TYPES = {"string": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}


@dataclass(frozen=True, slots=True)
class _DistinctTexts:
    """Distinct texts with the rows that have each, and the rows without text."""

    rows_of: Mapping[str, Sequence[int]]
    without_text: Sequence[int]

    @property
    def n_rows(self) -> int:
        """Rows that have a text."""
        return sum(map(len, self.rows_of.values()))


@dataclass(frozen=True, slots=True)
class _LabelingResult:
    """The labels of the texts, and the table that holds them and its file."""

    texts: _DistinctTexts
    labeling: LabelingOutcome
    table: LabelTable
    stored: StoredResult

    @property
    def unusable_rows(self) -> list[int]:
        """Rows whose text got no label."""
        pairs = zip(self.texts.rows_of.values(), self.labeling.labels, strict=True)
        return sorted(row for rows, label in pairs if label is None for row in rows)


async def label_rows(data_call: DataCall, tables: TableCatalog, labeler: Labeler, results: ResultStore) -> CallOutcome:
    """Label the rows that `where` selects. The counts of the labels are SQL evidence. Raises StoreError."""
    arguments = data_call.arguments
    name, columns, where = str(arguments["dataset"]), list(arguments["columns"]), arguments.get("where")
    try:
        task = _task(arguments, columns)
        texts = _distinct(await tables.texts(name, columns, where))
    except (QueryFailed, ValueError) as error:
        return await data_call.reject(error)
    labeling = await labeler.label(list(texts.rows_of), task)
    result = await _add_label_table(tables, name, task, texts, labeling, mask=results.mask)
    _emit_labeled(data_call, result)
    query = await compute(data_call, tables, results, _count_statement(result.table.name, task))
    return await _finish(data_call, tables, result, query)


def _task(arguments: Mapping[str, Any], columns: Sequence[str]) -> LabelTask:
    instruction = str(arguments["instruction"])
    if len(columns) > 1:
        instruction += f"\n(Each text is a JSON list: {', '.join(columns)}.)"
    return LabelTask(instruction, label_fields(arguments.get("labels"), arguments.get("schema")))


def _distinct(rows: Sequence[tuple[int, str | None]]) -> _DistinctTexts:
    rows_of: dict[str, list[int]] = defaultdict(list)
    without_text: list[int] = []
    for row, text in rows:
        (without_text if text is None else rows_of[text]).append(row)
    return _DistinctTexts(rows_of, without_text)


async def _add_label_table(
    tables: TableCatalog,
    name: str,
    task: LabelTask,
    texts: _DistinctTexts,
    labeling: LabelingOutcome,
    *,
    mask: CredentialMask,
) -> _LabelingResult:
    """Write the labels as a table of their own, with a row for every selected row."""
    entry = tables.entry(name)
    entry.n_labels += 1
    table = LabelTable(
        name=f"{name}_labels_{entry.n_labels}",
        joined=f"{name}_labelled_{entry.n_labels}",
        of=name,
        agreement=labeling.agreement,
        n_sample=labeling.n_sample,
        n_unusable=labeling.n_unusable,
    )
    path = entry.dataset.folder / f"labels_{entry.n_labels}.parquet"
    rows: list[tuple[int, Labels | None]] = [(row, None) for row in texts.without_text]
    for same_text, labels in zip(texts.rows_of.values(), labeling.labels, strict=True):
        rows += [(row, labels) for row in same_text]
    lines = (mask.data(orjson.dumps({"row": row} | dict(labels or {}))) for row, labels in sorted(rows, key=_row))
    await asyncio.to_thread(_write, path, task.fields, lines)
    await tables.add_labels(table, path)
    stored = StoredResult(name=table.name, kind="labels", n_rows=len(rows), path=str(path))
    return _LabelingResult(texts, labeling, table, stored)


def _row(labeled: tuple[int, Labels | None]) -> int:
    return labeled[0]


def _write(path: Path, fields: Sequence[LabelField], lines: Iterable[bytes]) -> None:
    """Write labels as Parquet, by way of JSON lines with declared types. Raises StoreError."""
    import duckdb

    draft = path.with_suffix(".ndjson")
    types = {"row": "BIGINT"} | {field.name: _SQL_TYPES[field.type] for field in fields}
    declared = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in types.items())
    source = f"read_json({literal(str(draft))}, format='newline_delimited', columns={{{declared}}})"
    try:
        with draft.open("wb") as file:
            draft.chmod(0o600)
            file.writelines(line + b"\n" for line in lines)
        with contextlib.closing(duckdb.connect()) as connection:
            connection.execute(f"COPY (FROM {source}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")
        path.chmod(0o600)
    except (duckdb.Error, OSError) as error:
        raise StoreError(
            f"labels cannot be written to '{path}': {str(error).strip().splitlines()[0]}. Free some space and ask "
            "again; texts that are already labeled are not read again.",
            path=str(path),
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def _count_statement(table: str, task: LabelTask) -> str:
    """Return the SELECT that counts each label of the first field."""
    first = quoted(task.fields[0].name)
    return f"SELECT {first}, count(*) AS n FROM {quoted(table)} GROUP BY 1 ORDER BY n DESC, 1"  # noqa: S608


async def _finish(
    data_call: DataCall, tables: TableCatalog, result: _LabelingResult, query: QueryEvidence
) -> CallOutcome:
    texts, table = result.texts, result.table
    n_labeled = texts.n_rows - len(result.unusable_rows)
    is_complete = not result.labeling.n_unusable
    coverage = data_call_coverage(
        selected=texts.n_rows, read_by_model=n_labeled, reasons=_reasons(result), is_complete=is_complete
    )
    data = {
        "table": table.name,
        "joined": table.joined,
        "labelled": n_labeled,
        "distinct_texts": len(texts.rows_of),
    }
    if texts.without_text:
        data["without_text"] = len(texts.without_text)
    envelope = ResultEnvelope(
        status=EnvelopeStatus.SUCCESS if is_complete else EnvelopeStatus.PARTIAL,
        tool=data_call.call.tool.name,
        is_complete=is_complete,
        dataset=table.of,
        data=data | query.data,
        next_action_hint=_hint(table, coverage, evidence_hint(query, tables)),
    )
    return await data_call.finish(
        envelope,
        DataCallResult(
            coverage=coverage,
            name=table.of,
            records=texts.n_rows,
            sql=query.evidence,
            source_coverage=coverage_by_dataset(tables.entries, [table.of]),
            stored=(result.stored, query.stored),
        ),
    )


def _hint(table: LabelTable, coverage: Coverage, evidence: str) -> str:
    reasons = "; ".join(reason.text for reason in coverage.reasons)
    missing = "" if coverage.is_complete else f"INCOMPLETE: {reasons}. "
    return (
        f"{missing}For other figures query {table.joined}: all columns of {table.of} and the labels "
        f"(null where not labeled). {evidence}"
    )


def _reasons(result: _LabelingResult) -> tuple[Reason, ...]:
    reasons = []
    labeling = result.labeling
    if rows := result.unusable_rows:
        why = f": {labeling.why}" if labeling.why else ""
        text = f"{counted(len(rows), 'row')} of {result.table.of} got no usable label ({list_rows(rows)}){why}"
        reasons.append(Reason(code=ReasonCode.LABELS_UNUSABLE, text=text))
    if labeling.n_cut:
        text = f"{counted(labeling.n_cut, 'text')} longer than a request: only the beginning was labeled"
        reasons.append(Reason(code=ReasonCode.LABELS_UNUSABLE, text=text))
    return tuple(reasons)


def _emit_labeled(data_call: DataCall, result: _LabelingResult) -> None:
    labeling = result.labeling
    data_call.scope.emitter.emit(
        DatasetLabelled(
            dataset=result.table.of,
            table=result.table.name,
            rows=result.texts.n_rows,
            texts=len(result.texts.rows_of),
            unusable=labeling.n_unusable,
            agreement=labeling.agreement,
            n_sample=labeling.n_sample,
            requests=labeling.requests,
            from_store=labeling.from_store,
        )
    )
