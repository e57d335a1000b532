"""References in a text: to records, to numbers of records, to results of queries.

`[tickets_1#17]`, `[tickets_1#17, payments_1#3]`, `[tickets_1#17, 18]` and `[tickets_1#17-19]` are references to
records; `[tickets_1]` refers to the number of records in a dataset, `[q1]` to the result of a query. One pair of
brackets may mix them, and 【】, which some models prefer, count as well. Pure: knows text and no dataset.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_RANGE = 200
_BRACKETS = re.compile(r"\s?[\[【]([^\[\]【】]{1,2000})[\]】](?!\()")
_QUERY = re.compile(r"[qQ](\d{1,6})(?:\s*[-\N{EN DASH}]\s*[qQ]?(\d{1,6}))?")
_WHOLE = re.compile(r"[A-Za-z]\w*_\d+")
_ITEM = re.compile(r"(?:([A-Za-z][\w.-]*)\s*#|#)?\s*(\d{1,9})(?:\s*[-\N{EN DASH}]\s*(?:[A-Za-z][\w.-]*#|#)?(\d{1,9}))?")
_BETWEEN = re.compile(r"\s*[,;]\s*(?:and\s+|a\s+)?|\s+(?:and|a)\s+")


@dataclass(frozen=True, slots=True, order=True)
class Citation:
    """A reference to one row (from 1) of a dataset."""

    dataset: str
    row: int


@dataclass(frozen=True, slots=True)
class Cited:
    """What one pair of brackets refers to."""

    records: tuple[Citation, ...] = ()
    datasets: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


def citations_in(text: str) -> tuple[Citation, ...]:
    """Every reference to a record in a text, each once, in order."""
    return cited_in(text).records


def without_references(text: str) -> str:
    """The text without its references; other brackets stay."""
    return _BRACKETS.sub(lambda match: match[0] if _parsed(match[1]) is None else "", text)


def cited_in(text: str) -> Cited:
    """Everything that a text refers to, each once, in order."""
    found = [cited for match in _BRACKETS.finditer(text) if (cited := _parsed(match[1]))]
    return Cited(
        tuple(dict.fromkeys(citation for cited in found for citation in cited.records)),
        tuple(dict.fromkeys(dataset for cited in found for dataset in cited.datasets)),
        tuple(dict.fromkeys(query for cited in found for query in cited.queries)),
    )


def _parsed(inside: str) -> Cited | None:
    """The references in one pair of brackets, or None where it holds anything else."""
    records: list[Citation] = []
    datasets: list[str] = []
    queries: list[str] = []
    dataset: str | None = None
    for item in map(str.strip, _BETWEEN.split(inside.strip())):
        if query := _QUERY.fullmatch(item):
            queries += [f"q{number}" for number in _range(query[1], query[2])]
            dataset = None
        elif _WHOLE.fullmatch(item):
            datasets.append(item)
            dataset = None
        elif (match := _ITEM.fullmatch(item)) and (dataset := match[1] or dataset):
            records += [Citation(dataset, row) for row in _range(match[2], match[3])]
        else:
            return None
    return Cited(tuple(records), tuple(datasets), tuple(queries))


def _range(first: str, last: str | None) -> Sequence[int]:
    start, end = int(first), int(last or first)
    return range(start, end + 1) if start <= end < start + MAX_RANGE else (start, end)
