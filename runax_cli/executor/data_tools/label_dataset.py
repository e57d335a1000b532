"""`label_dataset`: a question about meaning becomes a column.

Rows are chosen by the engine, each distinct text is labelled once, and the labels are a side table by row that is
joined to the dataset. Knows tables, labellers and files. Knows no prompt.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from runax_cli.core.errors import StoreError
from runax_cli.core.events import DatasetLabelled
from runax_cli.core.results import Coverage, Reason, ReasonCode
from runax_cli.executor.data_tools.base import DataCall, DataCallResult, data_call_coverage
from runax_cli.executor.data_tools.labeler import Labeler, LabelField, LabelingOutcome, Labels, LabelTask, label_fields
from runax_cli.executor.data_tools.query_dataset import QueryEvidence, build_evidence, evidence_hint
from runax_cli.executor.outcome import CallOutcome, EnvelopeStatus, ResultEnvelope
from runax_cli.executor.sql.columns import literal, quoted
from runax_cli.executor.sql.engine import QueryFailed
from runax_cli.executor.sql.tables import LabelTable, TableCatalog, coverage_by_dataset

_NAMED_ROWS = 8
_SQL_TYPES = {"string": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}


@dataclass(frozen=True, slots=True)
class _DistinctTexts:
    """Distinct texts, the rows that have each, and the rows that have none."""

    rows_of: Mapping[str, Sequence[int]]
    without: Sequence[int]

    @property
    def n_rows(self) -> int:
        """Rows that have a text."""
        return sum(map(len, self.rows_of.values()))


@dataclass(frozen=True, slots=True)
class _LabelingResult:
    """What labelling came to, and the table that holds it."""

    texts: _DistinctTexts
    labelled: LabelingOutcome
    table: LabelTable

    @property
    def unusable_rows(self) -> list[int]:
        """Rows whose text got no label."""
        pairs = zip(self.texts.rows_of.values(), self.labelled.labels, strict=True)
        return sorted(row for rows, label in pairs if label is None for row in rows)


async def label_rows(
    data_call: DataCall, tables: TableCatalog, labeller: Labeler, *, new_ref: Callable[[], str]
) -> CallOutcome:
    """Label the rows that `where` selects; the counts of the labels are a result of SQL. Raises StoreError."""
    arguments = data_call.arguments
    name, columns, where = str(arguments["dataset"]), list(arguments["columns"]), arguments.get("where")
    try:
        task = _task(arguments, columns)
        texts = _distinct(await tables.texts(name, columns, where))
    except (QueryFailed, ValueError) as error:
        return await data_call.refused(error)
    labelled = await labeller.label(list(texts.rows_of), task)
    given = await _kept(tables, name, task, texts, labelled)
    _tell(data_call, given)
    found = await build_evidence(
        data_call, tables, await tables.select(_counting(given.table.name, task)), new_ref=new_ref
    )
    return await _ended(data_call, tables, given, found)


def _task(arguments: Mapping[str, Any], columns: Sequence[str]) -> LabelTask:
    instruction = str(arguments["instruction"])
    if len(columns) > 1:
        instruction += f"\n(Each text is a JSON list: {', '.join(columns)}.)"
    return LabelTask(instruction, label_fields(arguments.get("labels"), arguments.get("schema")))


def _distinct(rows: Sequence[tuple[int, str | None]]) -> _DistinctTexts:
    rows_of: dict[str, list[int]] = defaultdict(list)
    without: list[int] = []
    for row, text in rows:
        (without if text is None else rows_of[text]).append(row)
    return _DistinctTexts(rows_of, without)


async def _kept(
    tables: TableCatalog, name: str, task: LabelTask, texts: _DistinctTexts, labelled: LabelingOutcome
) -> _LabelingResult:
    """The labels as a table of its own, with a row for every row that was selected."""
    entry = tables.entry(name)
    entry.n_labels += 1
    table = LabelTable(
        name=f"{name}_labels_{entry.n_labels}",
        joined=f"{name}_labelled_{entry.n_labels}",
        of=name,
        agreement=labelled.agreement,
        n_sample=labelled.n_sample,
        n_unusable=labelled.n_unusable,
    )
    path = entry.dataset.folder / f"labels_{entry.n_labels}.parquet"
    given: list[tuple[int, Labels | None]] = [(row, None) for row in texts.without]
    for rows, labels in zip(texts.rows_of.values(), labelled.labels, strict=True):
        given += [(row, labels) for row in rows]
    await asyncio.to_thread(_write, path, task.fields, sorted(given, key=lambda pair: pair[0]))
    await tables.add_labels(table, path)
    return _LabelingResult(texts, labelled, table)


def _write(path: Path, fields: Sequence[LabelField], given: Sequence[tuple[int, Labels | None]]) -> None:
    """Labels as Parquet, by way of lines of JSON with declared types. Raises StoreError."""
    import duckdb

    lines = path.with_suffix(".ndjson")
    types = {"row": "BIGINT"} | {field.name: _SQL_TYPES[field.type] for field in fields}
    declared = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in types.items())
    source = f"read_json({literal(str(lines))}, format='newline_delimited', columns={{{declared}}})"
    try:
        with lines.open("wb") as file:
            lines.chmod(0o600)
            file.writelines(orjson.dumps({"row": row} | dict(labels or {})) + b"\n" for row, labels in given)
        with contextlib.closing(duckdb.connect()) as connection:
            connection.execute(f"COPY (FROM {source}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")
        path.chmod(0o600)
    except (duckdb.Error, OSError) as error:
        raise StoreError(
            f"labels cannot be written to '{path}': {str(error).strip().splitlines()[0]}. Free some space and ask "
            "again; texts that are labelled already are not read again.",
            path=str(path),
        ) from error
    finally:
        lines.unlink(missing_ok=True)


def _counting(table: str, task: LabelTask) -> str:
    """How often each label was given: what a question of labels asks first."""
    first = quoted(task.fields[0].name)
    return f"SELECT {first}, count(*) AS n FROM {quoted(table)} GROUP BY 1 ORDER BY n DESC, 1"  # noqa: S608


async def _ended(
    data_call: DataCall, tables: TableCatalog, given: _LabelingResult, found: QueryEvidence
) -> CallOutcome:
    reasons = _reasons(given)
    read = given.texts.n_rows - len(given.unusable_rows)
    table = given.table
    shown = {"table": table.name, "joined": table.joined, "labelled": read, "distinct_texts": len(given.texts.rows_of)}
    if given.texts.without:
        shown["without_text"] = len(given.texts.without)
    own = data_call_coverage(
        selected=given.texts.n_rows, read_by_model=read, reasons=reasons, is_complete=not given.labelled.n_unusable
    )
    sent = ResultEnvelope(
        status=EnvelopeStatus.PARTIAL if given.labelled.n_unusable else EnvelopeStatus.SUCCESS,
        tool=data_call.call.tool.name,
        is_complete=own.is_complete,
        dataset=table.of,
        data=shown | found.data,
        next_action_hint=_hint(given, own, evidence_hint(found.basis, tables, found.evidence.id)),
    )
    behind = coverage_by_dataset(tables.entries, [table.of])
    ends = DataCallResult(coverage=own, name=table.of, records=given.texts.n_rows, sql=found.evidence, behind=behind)
    return await data_call.ended(sent, ends)


def _hint(given: _LabelingResult, own: Coverage, said: str) -> str:
    missing = f"INCOMPLETE: {'; '.join(reason.text for reason in own.reasons)}. " if not own.is_complete else ""
    return (
        f"{missing}For other figures query {given.table.joined}: all columns of {given.table.of} and the labels "
        f"(null where not labelled). {said}"
    )


def _reasons(given: _LabelingResult) -> tuple[Reason, ...]:
    reasons = []
    if rows := given.unusable_rows:
        named = ", ".join(f"#{row}" for row in rows[:_NAMED_ROWS]) + (", …" if len(rows) > _NAMED_ROWS else "")
        why = f": {given.labelled.why}" if given.labelled.why else ""
        text = f"{len(rows):,} rows of {given.table.of} got no usable label ({named}){why}"
        reasons.append(Reason(code=ReasonCode.LABELS_UNUSABLE, text=text))
    if given.labelled.n_cut:
        text = f"{given.labelled.n_cut:,} texts are longer than a request and were labelled by their beginning"
        reasons.append(Reason(code=ReasonCode.LABELS_UNUSABLE, text=text))
    return tuple(reasons)


def _tell(data_call: DataCall, given: _LabelingResult) -> None:
    labelled = given.labelled
    data_call.scope.emitter.emit(
        DatasetLabelled(
            dataset=given.table.of,
            table=given.table.name,
            rows=given.texts.n_rows,
            texts=len(given.texts.rows_of),
            unusable=labelled.n_unusable,
            agreement=labelled.agreement,
            n_sample=labelled.n_sample,
            requests=labelled.requests,
            from_store=labelled.from_store,
        )
    )
