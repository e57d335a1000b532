"""Renders what statements cite for a reviewer: calls with their arguments, SQL with its rows, fields of records.

Everything is shortened to a bound. Of a long result, and of a record with many fields, the rows and fields stay that
share words with the statements. Pure.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.json_text import compact_json
from adapters.text import truncate
from runax_cli.agent.evidence.figures import normalize_text
from runax_cli.agent.evidence.shown import ShownCall
from runax_cli.core.untrusted_text import escape_for_prompt, one_line
from runax_cli.executor.outcome import SqlEvidence

MAX_SQL_CHARS = 1200
_MAX_CELL_CHARS = 300
_MAX_ARGUMENTS_CHARS = 400
_MAX_NAME_CHARS = 80
_STEM_CHARS = 5
_MIN_WORD_CHARS = 3
_WINDOW_CHARS = 160
_MIN_FIELD_CHARS = 40
_ELLIPSIS = "…"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """One piece of evidence as a reviewer reads it. `is_cut` if it has less than the main model was shown."""

    ref: str
    text: str
    is_cut: bool = False


class WantedWords:
    """The words that make a row, a field or a part of a text worth showing: those of statements and the question."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._stems = frozenset(stem for text in texts for stem in _stems(text))

    def count_in(self, text: str) -> int:
        """How many of the words a text has."""
        return len(self._stems.intersection(_stems(text)))

    def places_in(self, text: str) -> list[int]:
        """Where words of the text are wanted, from left to right."""
        return [found.start() for found in _WORD.finditer(text) if self._stems.intersection(_stems(found[0]))]


def _stems(text: str) -> list[str]:
    """The starts of the words, so that inflected words match, and the digits of numbers."""
    words = _WORD.findall(normalize_text(text))
    return [word[:_STEM_CHARS] for word in words if len(word) >= _MIN_WORD_CHARS or any(map(str.isdigit, word))]


def call_item(ref: str, calls: Sequence[ShownCall]) -> EvidenceItem:
    """The calls behind a dataset, with their arguments and how many records they returned."""
    lines = (f"call {_call(call)}: {_records(call)}" for call in calls)
    return EvidenceItem(ref, escape_for_prompt("\n".join(lines)))


def _call(call: ShownCall) -> str:
    arguments = ", ".join(
        f"{one_line(name, limit=_MAX_NAME_CHARS)}={_value(value)}" for name, value in call.arguments.items()
    )
    return f"{call.tool}({truncate(arguments, _MAX_ARGUMENTS_CHARS)})"


def _records(call: ShownCall) -> str:
    if call.records_total is None:
        text = f"{call.records_read} records read, total unknown"
    else:
        text = f"{call.records_total} records match, {call.records_read} read"
    return text if call.is_complete else f"{text}, incomplete"


def query_item(query: SqlEvidence, wanted: WantedWords, *, max_chars: int) -> EvidenceItem:
    """A query with its first rows, and with those that have wanted words."""
    header = " | ".join(one_line(name, limit=_MAX_NAME_CHARS) for name in query.columns)
    lines = [" | ".join(_cell(cell) for cell in row) for row in query.rows]
    kept = _fitting(lines, wanted.count_in, max_chars=max_chars)
    shown = [f"{number}. {lines[number - 1]}" for number in kept]
    sql = one_line(query.sql, limit=MAX_SQL_CHARS)
    count = f"({query.n_rows} rows)" if len(shown) == query.n_rows else f"({len(shown)} of {query.n_rows} rows shown)"
    text = escape_for_prompt("\n".join([sql, f"columns: {header}", *shown, count]))
    return EvidenceItem(query.id, text, len(shown) < len(lines) or sql.endswith(_ELLIPSIS))


def record_item(ref: str, record: Mapping[str, Any], wanted: WantedWords, *, max_chars: int) -> EvidenceItem:
    """A record, one field a line. Long texts are cut to the places around wanted words."""
    fields = [(path, _value(value)) for path, value in _fields(record)]
    longest = max(_MIN_FIELD_CHARS, max_chars // 2) if sum(len(text) for _, text in fields) > max_chars else max_chars
    lines = [
        f"{one_line(path, limit=_MAX_NAME_CHARS)}: {_around_words(text, wanted, max_chars=longest)}"
        for path, text in fields
    ]
    # A text is what a reviewer is needed for: rank it by its words before it is shortened.
    words = {line: wanted.count_in(f"{path} {text}") for line, (path, text) in zip(lines, fields, strict=True)}
    kept = _fitting(lines, lambda line: words[line], max_chars=max_chars)
    shown = [lines[number - 1] for number in kept]
    n_left_out = len(lines) - len(shown)
    if n_left_out:
        shown.append(f"({n_left_out} more fields not shown)")
    return EvidenceItem(ref, escape_for_prompt("\n".join(shown)), bool(n_left_out) or _ELLIPSIS in "".join(lines))


def _fields(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """The single values of a record with their paths; a list of single values is one value."""
    if isinstance(value, Mapping) and value:
        for name, member in value.items():
            yield from _fields(member, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and any(isinstance(member, Mapping) for member in value):
        for number, member in enumerate(value, 1):
            yield from _fields(member, f"{path}[{number}]")
    else:
        yield path, value


def _fitting(lines: Sequence[str], score: Callable[[str], int], *, max_chars: int) -> list[int]:
    """The numbers (from 1) of lines within a bound, in order: the first, then the best and the earliest of these."""
    if sum(len(line) + 1 for line in lines) <= max_chars:
        return list(range(1, len(lines) + 1))
    scores = [score(line) for line in lines]
    ranked = sorted(range(len(lines)), key=lambda at: (at > 0, -scores[at], at))
    kept: list[int] = []
    left = max_chars
    for at in ranked:
        if (size := len(lines[at]) + 1) <= left:
            kept.append(at + 1)
            left -= size
    return sorted(kept)


def _around_words(text: str, wanted: WantedWords, *, max_chars: int) -> str:
    """A text, or its start and the places around wanted words if it is too long."""
    if len(text) <= max_chars:
        return text
    windows: list[tuple[int, int]] = []
    for place in (0, *wanted.places_in(text)):
        start, end = max(0, place - _WINDOW_CHARS // 2), min(len(text), place + _WINDOW_CHARS // 2)
        if windows and start <= windows[-1][1]:
            more = [*windows[:-1], (windows[-1][0], end)]
        else:
            more = [*windows, (start, end)]
        if sum(last - first for first, last in more) > max_chars:
            break
        windows = more
    if not windows:
        return truncate(text, max_chars)
    parts = f" {_ELLIPSIS} ".join(text[start:end] for start, end in windows)
    return parts if windows[-1][1] == len(text) else f"{parts} {_ELLIPSIS}"


def _cell(value: Any) -> str:
    return truncate(_value(value), _MAX_CELL_CHARS)


def _value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping | list | tuple):
        return one_line(compact_json(value))
    return one_line(str(value))
