"""`query_dataset`: one SELECT, its result as the main model sees it, and the evidence that it is.

Knows results, what they rest on and how that is said. Knows no engine by itself.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from adapters.json_text import compact
from runax_cli.core.events import DatasetQueried
from runax_cli.executor.data_tools.base import DataCall, DataCallResult, of_nothing_fetched
from runax_cli.executor.outcome import CallOutcome, EnvelopeStatus, ResultEnvelope, SqlEvidence
from runax_cli.executor.sql.engine import QueryFailed, QueryResult
from runax_cli.executor.sql.tables import FigureBasis, LabelTable, SealedDataset, TableCatalog, by_name

LONGEST_CELL = 300
_QUOTED = frozenset(',"\n\r')


def plain(value: Any) -> Any:
    """A value of the engine as JSON has it: dates and times as text, decimals as numbers where these are the same."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return int(value) if value == value.to_integral_value() else _number(value)
        case datetime():
            return value.isoformat(sep=" ")
        case date() | time():
            return value.isoformat()
        case dict():
            return {str(name): plain(inner) for name, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case _:
            return str(value)


def cell(value: Any, *, longest: int | None = None) -> str:
    """A plain value as a cell; one above `longest` characters is cut, and ends in `…`."""
    text = value if isinstance(value, str) else "" if value is None else compact(value)
    if longest is not None and len(text) > longest:
        text = text[:longest] + "…"
    if isinstance(value, str) and (not text or text != text.strip() or _QUOTED & set(text)):
        return '"' + text.replace('"', '""') + '"'
    return text if not isinstance(value, dict | list) else '"' + text.replace('"', '""') + '"'


def line(values: Iterable[Any], *, longest: int | None = None) -> str:
    """Values as one line."""
    return ",".join(cell(value, longest=longest) for value in values)


def fitting(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], fits: Callable[[str], bool], *, longest: int = LONGEST_CELL
) -> tuple[str, int]:
    """The header and as many of the first rows as fit together, and how many these are."""
    lines = [line(columns), *(line(row, longest=longest) for row in rows)]
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits("\n".join(lines[: middle + 1])) else (low, middle - 1)
    return "\n".join(lines[: low + 1]), low


def _number(value: Decimal) -> Any:
    as_float = float(value)
    return as_float if Decimal(repr(as_float)) == value else str(value)


RESULT_TOKENS = 800
_PREVIEW_CHARS = 1000
_NO_ROWS = "No row fits. Before you conclude from that, look at how the values are written."


@dataclass(frozen=True, slots=True)
class QueryEvidence:
    """The result of a SELECT as evidence, as text, and what it rests on."""

    evidence: SqlEvidence
    text: str
    basis: FigureBasis

    @property
    def data(self) -> dict[str, Any]:
        """What the main model sees of it; the number of all rows stands there even where not all are shown."""
        shown = len(self.evidence.rows)
        told: dict[str, Any] = {"ref": self.evidence.id, "rows": self.evidence.n_rows, "result": self.text}
        return told if shown == self.evidence.n_rows else told | {"shown": shown}


async def asked(data_call: DataCall, tables: TableCatalog, *, new_ref: Callable[[], str]) -> CallOutcome:
    """Run the statement of a call; `new_ref` gives what the figures of one that succeeds are cited by."""
    sql = str(data_call.arguments["sql"])
    try:
        found = await figures(data_call, tables, await tables.select(sql), new_ref=new_ref)
    except QueryFailed as error:
        data_call.scope.emitter.emit(DatasetQueried(ref="", sql=sql, error=str(error)))
        return await data_call.refused(error)
    sent = ResultEnvelope(
        status=EnvelopeStatus.SUCCESS,
        tool=data_call.call.tool.name,
        data=found.data,
        next_action_hint=" ".join(
            [*([_NO_ROWS] * (not found.evidence.n_rows)), said_of(found.basis, tables, found.evidence.id)]
        ),
    )
    behind = by_name(tables.entries, found.basis.datasets)
    ends = DataCallResult(
        coverage=of_nothing_fetched(), name=next(iter(behind), None), sql=found.evidence, behind=behind
    )
    return await data_call.ended(sent, ends)


async def figures(
    data_call: DataCall, tables: TableCatalog, result: QueryResult, *, new_ref: Callable[[], str]
) -> QueryEvidence:
    """A result as evidence, with those rows that can be shown. It is told."""
    basis = tables.basis(result.tables)
    rows = [tuple(plain(value) for value in row) for row in result.rows]

    def fits(text: str) -> bool:
        return data_call.counter.count(compact(text)) <= RESULT_TOKENS

    text, shown = await asyncio.to_thread(fitting, result.columns, rows, fits)
    evidence = SqlEvidence(
        id=new_ref(),
        sql=result.sql,
        columns=result.columns,
        rows=tuple(rows[:shown]),
        n_rows=result.n_rows,
        datasets=(*basis.datasets, *(table.name for table in basis.labels)),
        lineage=basis.lineage,
        agreement=basis.agreement,
        sources=result.sources,
        filters=result.filters,
    )
    _tell(data_call, evidence, text)
    return QueryEvidence(evidence, text, basis)


def said_of(basis: FigureBasis, tables: TableCatalog, ref: str) -> str:
    """How far the figures can be trusted, and how they are cited."""
    partial = [said for name in basis.datasets if (said := _partial(name, tables.entries[name]))]
    by_label = [_by_label(table) for table in basis.labels]
    return " ".join([*partial, *by_label, f"Cite these figures as [{ref}]."])


def _partial(name: str, entry: SealedDataset) -> str:
    return "" if entry.is_whole else f"{name} is {entry.extent}: figures are lower bounds, say so."


def _by_label(table: LabelTable) -> str:
    sure = "" if table.agreement is None else f" (the same for {table.agreement:.0%} of {table.n_sample} read twice)"
    missing = f"; {table.n_unusable:,} texts have no label" if table.n_unusable else ""
    return f"By labels that a model gave{sure}{missing}: say so."


def _tell(data_call: DataCall, evidence: SqlEvidence, text: str) -> None:
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
