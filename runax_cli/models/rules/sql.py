"""Figures: from the words of a question and what is known of a table to one SELECT.

Knows cards and records as a model is shown them, and a handful of figures in English. Where a word could mean more
than one thing, nothing is computed.
"""

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
    """A figure that a question may ask for; the value is what stands in SQL."""

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


@dataclass(frozen=True, slots=True)
class TableSketch:
    """A table: its columns by name with their types, and values that are known to occur."""

    table: str
    types: Mapping[str, str]
    values: Mapping[str, Sequence[str]]

    @property
    def measures(self) -> list[str]:
        """Columns of numbers that name nothing."""
        return [
            name for name, kind in self.types.items() if kind.startswith(_NUMBERS) and not _KEYS & set(words(name)[-1:])
        ]


def requested_figure(question: str) -> RequestedFigure | None:
    """The figure that a question asks for."""
    folded = fold(question)
    return next((figure for figure, pattern in _ASKED.items() if re.search(pattern, folded)), None)


def read_table(envelope: Mapping[str, Any]) -> TableSketch | None:
    """The table that a result left: as its card tells it, or by its records."""
    data, dataset = envelope.get("data"), envelope.get("dataset")
    if not isinstance(dataset, str):
        return None
    if envelope.get("strategy") == "table" and isinstance(data, str):
        return _of_card(data)
    if isinstance(data, dict):
        records = [record for ref, record in data.items() if "#" in ref and isinstance(record, dict)]
        return _of_records(dataset, records) if records else None
    return None


def select_statement(question: str, sheet: TableSketch, given: Mapping[str, Any]) -> str | None:
    """One SELECT for the question; None where its words do not tell a column. `given` are filters that hold already."""
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
            name = f"{figure.value}_of_{column}"
            return column and (
                f"SELECT {figure.value}({_quoted(column)}) AS {_quoted(name)} FROM {sheet.table}{where}"  # noqa: S608
            )


def _of_card(card: str) -> TableSketch | None:
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


def _of_records(dataset: str, records: Sequence[Mapping[str, Any]]) -> TableSketch:
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
    """The column whose whole name stands in the question; the longest of several."""
    asked = set(stems(question))
    named = [column for column in columns if (own := {stem(word) for word in words(column)}) and own <= asked]
    return max(named, key=lambda column: len(words(column)), default=None)


def _where(question: str, sheet: TableSketch, given: Mapping[str, Any]) -> str:
    found = [f"{_quoted(column)} = {_literal(value)}" for column, value in _filters(question, sheet, given)]
    return f" WHERE {' AND '.join(found)}" if found else ""


def _filters(question: str, sheet: TableSketch, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Values of columns that the question names together with their column, and that the call was not made with."""
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
