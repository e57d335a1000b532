"""Turns a question about a figure into one SELECT over a table card or records. Ambiguous words give none."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from adapters.text import fold
from runax_cli.models.rules.words import stem, stems, words

_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "BIGINT")
_KEYS = frozenset("id key number no row".split())
_LISTED = re.compile(r"(?:^|, )((?:(?! \(\d+\)).)+) \(\d+\)")
_TABLE = re.compile(r"^Table (\w+): ")
_COLUMN = re.compile(r'^(?:"([^"]+)"|(\w+)) ([A-Z][^;]*)(?:; (.*))?$')


class RequestedFigure(StrEnum):
    """A figure that a question can ask for; the value is the SQL function."""

    COUNT = "count"
    DISTINCT = "count distinct"
    SUM = "sum"
    AVERAGE = "avg"
    MEDIAN = "median"
    LARGEST = "max"
    SMALLEST = "min"
    TOP = "top"
    EACH = "each"


_GROUPED = r"(?:per|for each|by each|of each|in each|grouped by)"
_ASKED: Mapping[RequestedFigure, str] = {
    RequestedFigure.DISTINCT: r"\bhow many (?:different|distinct)\b",
    RequestedFigure.TOP: r"\bmost (?:common|frequent|often)\b",
    RequestedFigure.EACH: rf"\b(?:how many|number of|count of)\b.*\b{_GROUPED}\b",
    RequestedFigure.AVERAGE: r"\b(?:average|mean)\b",
    RequestedFigure.MEDIAN: r"\bmedian\b",
    RequestedFigure.SUM: r"\b(?:sum|total amount|total of)\b",
    RequestedFigure.LARGEST: r"\b(?:highest|largest|biggest|maximum)\b",
    RequestedFigure.SMALLEST: r"\b(?:lowest|smallest|minimum)\b",
    RequestedFigure.COUNT: r"\b(?:how many|numbers? of (?!the\b)|count of)\b",
}
_OF_A_COLUMN = (
    RequestedFigure.AVERAGE,
    RequestedFigure.MEDIAN,
    RequestedFigure.SUM,
    RequestedFigure.LARGEST,
    RequestedFigure.SMALLEST,
)


@dataclass(frozen=True, slots=True)
class TableSketch:
    """A table: types of its columns, and values that are known to occur in them."""

    table: str
    types: Mapping[str, str]
    values: Mapping[str, Sequence[str]]

    @property
    def measures(self) -> list[str]:
        """Numeric columns that are not identifiers."""
        return [
            name for name, kind in self.types.items() if kind.startswith(_NUMBERS) and not _KEYS & set(words(name)[-1:])
        ]


def requested_figure(question: str) -> RequestedFigure | None:
    """The figure that a question asks for, None if it asks for none."""
    folded = fold(question)
    return next((figure for figure, pattern in _ASKED.items() if re.search(pattern, folded)), None)


def read_table(envelope: Mapping[str, Any]) -> TableSketch | None:
    """The table of a result, from its table card or its records."""
    data, dataset = envelope.get("data"), envelope.get("dataset")
    if not isinstance(dataset, str):
        return None
    if envelope.get("strategy") == "table" and isinstance(data, dict):
        return _parse_card(str(data.get("table", "")))
    if isinstance(data, dict):
        records = [record for ref, record in data.items() if "#" in ref and isinstance(record, dict)]
        return _sketch_records(dataset, records) if records else None
    return None


def select_statement(question: str, sheet: TableSketch, given: Mapping[str, Any]) -> str | None:
    """One SELECT for the question, None if no column is named. `given` are filters that the call applied already."""
    figure = requested_figure(question)
    where = _where(question, sheet, given)
    match figure:
        case None:
            return None
        case RequestedFigure.COUNT:
            return f"SELECT count(*) AS n FROM {sheet.table}{where}"  # noqa: S608
        case RequestedFigure.TOP | RequestedFigure.EACH:
            column = _named(question, sheet.values) or _named(question, sheet.types)
            limit = " LIMIT 1" if figure is RequestedFigure.TOP else ""
            return column and (
                f"SELECT {_quoted(column)}, count(*) AS n FROM {sheet.table}{where} "  # noqa: S608
                f"GROUP BY 1 ORDER BY n DESC, 1{limit}"
            )
        case RequestedFigure.DISTINCT:
            column = _named(question, sheet.types)
            return column and f"SELECT count(DISTINCT {_quoted(column)}) AS n FROM {sheet.table}{where}"  # noqa: S608
        case _:
            column = _named(question, sheet.measures) or (sheet.measures[0] if len(sheet.measures) == 1 else None)
            return column and f"SELECT {', '.join(_aggregates(question, column))} FROM {sheet.table}{where}"  # noqa: S608


def _aggregates(question: str, column: str) -> Iterator[str]:
    """Every figure that a question asks for together: "how many are there, and what is their sum"."""
    folded = fold(question)
    if re.search(_ASKED[RequestedFigure.COUNT], folded):
        yield "count(*) AS n"
    for figure in _OF_A_COLUMN:
        if re.search(_ASKED[figure], folded):
            yield f"{figure.value}({_quoted(column)}) AS {_quoted(f'{figure.value}_of_{column}')}"


def _parse_card(card: str) -> TableSketch | None:
    lines = card.splitlines()
    table = _TABLE.match(lines[0]) if lines else None
    if table is None:
        return None
    types: dict[str, str] = {}
    values: dict[str, list[str]] = {}
    for matched in filter(None, map(_COLUMN.match, lines[2:])):
        name = matched[1] or matched[2]
        types[name] = matched[3]
        listed = next((part for part in (matched[4] or "").split("; ") if _LISTED.match(part)), "")
        if listed:
            values[name] = _LISTED.findall(listed)
    return TableSketch(table[1], types, values)


def _sketch_records(dataset: str, records: Sequence[Mapping[str, Any]]) -> TableSketch:
    types: dict[str, str] = {}
    values: dict[str, list[str]] = {}
    for record in records:
        for name, value in record.items():
            kind = _type_of(value)
            types[name] = kind if types.get(name, kind) == kind or types[name] == "NULL" else "VARCHAR"
            if kind == "VARCHAR" and str(value) not in values.setdefault(name, []):
                values[name].append(str(value))
    return TableSketch(dataset, types, values)


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "BOOLEAN"
        case int() | float():
            return "DOUBLE"
        case str():
            return "VARCHAR"
        case _:
            return "STRUCT"


def _named(question: str, columns: Mapping[str, Any] | Sequence[str]) -> str | None:
    """The column whose whole name is in the question; the longest of several."""
    asked = set(stems(question))
    named = [column for column in columns if (own := {stem(word) for word in words(column)}) and own <= asked]
    return max(named, key=lambda column: len(words(column)), default=None)


def _where(question: str, sheet: TableSketch, given: Mapping[str, Any]) -> str:
    found = [f"{_quoted(column)} = {_literal(value)}" for column, value in _filters(question, sheet, given)]
    return f" WHERE {' AND '.join(found)}" if found else ""


def _filters(question: str, sheet: TableSketch, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Columns and values that the question names together, unless the call was filtered by them."""
    asked = words(question)
    for column, values in sheet.values.items():
        if column in given or _named(question, [column]) is None:
            continue
        for value in values:
            spelled = words(value)
            if spelled and any(asked[i : i + len(spelled)] == spelled for i in range(len(asked))):
                yield column, value
                break


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
