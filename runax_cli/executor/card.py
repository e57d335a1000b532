"""The card of a table: what a model must know to write SQL over it, within a number of tokens whatever the width.

Knows profiles and how to tell them shortly. Runs no SQL.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runax_cli.executor.columns import TypedColumn
from runax_cli.executor.profile import ColumnProfile, TableProfile
from runax_cli.models.base import TokenCounter

CARD_TOKENS = 800
SAMPLE_CHARS = 60
_TYPE_CHARS = 160


@dataclass(frozen=True, slots=True)
class Card:
    """The text of a card, and the names of the columns that it leaves out."""

    text: str
    dropped: tuple[str, ...] = ()


def card(
    profile: TableProfile,
    samples: Sequence[dict[str, Any]],
    counter: TokenCounter,
    *,
    coverage: str,
    budget_tokens: int = CARD_TOKENS,
) -> Card:
    """Tell a profile within `budget_tokens`; the least useful columns are dropped first, and named.

    `samples` are the first records; `coverage` is a sentence ("complete: 261 of 261 records").
    """
    read_as = {typed.source: typed.name for typed in profile.table.typed}

    def usefulness(c: ColumnProfile) -> float:
        return _usefulness(c, profile.n_rows) - (0.8 if c.column.name in read_as else 0.0)

    ranked = sorted(profile.columns, key=usefulness, reverse=True)

    def told(n_columns: int, n_samples: int) -> Card:
        return _told(profile, ranked[:n_columns], samples[:n_samples], coverage)

    def fits(n_columns: int, n_samples: int) -> bool:
        return counter.count(told(n_columns, n_samples).text) <= budget_tokens

    for n_samples in (2, 1, 0):
        if fits(len(ranked), n_samples):
            return told(len(ranked), n_samples)
    most = _largest(len(ranked), lambda n: fits(n, 0))
    return _within(told(most, 0), counter, budget_tokens)


def _largest(upper: int, holds: Callable[[int], bool]) -> int:
    """The largest n up to `upper` for which `holds` is true, which it is for all smaller ones; 0 where for none."""
    low, high = 0, upper
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _told(
    profile: TableProfile, shown: Sequence[ColumnProfile], samples: Sequence[dict[str, Any]], coverage: str
) -> Card:
    names = {c.column.name for c in shown}
    typed = {t.name: t for t in profile.table.typed}
    read_as = {t.source: t.name for t in profile.table.typed}
    lines = [f"Table {profile.table.name}: {profile.n_rows} rows; {coverage}.", "Columns (name type; nulls; values):"]
    lines += [
        _line(c, profile.n_rows, typed.get(c.column.name), read_as.get(c.column.name))
        for c in profile.columns
        if c.column.name in names
    ]
    dropped = tuple(c.column.name for c in profile.columns if c.column.name not in names)
    if dropped:
        lines.append(f"Not shown, can be queried too: {', '.join(dropped)}")
    for sample in samples:
        kept = {k: _short(v) for k, v in sample.items() if k in names and v is not None}
        lines.append(f"Sample: {json.dumps(kept, ensure_ascii=False, separators=(',', ':'), default=str)}")
    return Card("\n".join(lines), dropped)


def _within(whole: Card, counter: TokenCounter, budget_tokens: int) -> Card:
    """Where even the names of the dropped columns are too many, they are cut to a count."""
    if counter.count(whole.text) <= budget_tokens:
        return whole
    head, _, tail = whole.text.rpartition("\nNot shown, can be queried too: ")
    for kept in (20, 5, 0):
        names = ", ".join(_short(name) for name in whole.dropped[:kept])
        text = f"{head}\nNot shown: {names}{' and ' if names else ''}{len(whole.dropped) - kept} more; see DESCRIBE."
        if counter.count(text) <= budget_tokens:
            return Card(text, whole.dropped)
    return Card((head or tail)[:budget_tokens], whole.dropped)


def _line(c: ColumnProfile, n_rows: int, typed: TypedColumn | None, read_as: str | None) -> str:
    if c.column.name == "row":
        return "row BIGINT; the row number, for citations"
    parts = [f"{_identifier(c.column.name)} {_shortened(c.column.type, _TYPE_CHARS)}"]
    if c.nulls:
        parts.append(f"{_percent(c.nulls, n_rows)} null")
    if typed is not None:
        misfits = f", {typed.misfits} don't fit" if typed.misfits else ""
        note = f", {typed.note}" if typed.note else ""
        parts.append(f"{_identifier(typed.source)} read as {typed.reading.value}{misfits}{note}")
    if read_as is not None:
        parts.append(f"text, e.g. {_short(c.frequent[0][0])}" if c.frequent else "text")
        return "; ".join([*parts, f"use {_identifier(read_as)}"])
    return "; ".join(parts + _values(c))


def _values(c: ColumnProfile) -> list[str]:
    if c.distinct == 0:
        return ["always null"]
    told = []
    if c.low is not None and c.high is not None:
        told.append(f"{c.low} … {c.high}")
    elif c.frequent:
        listed = ", ".join(f"{_short(value)} ({count})" for value, count in c.frequent)
        told.append(listed + (", …" if c.distinct and c.distinct > len(c.frequent) else ""))
    if c.distinct is not None and (not c.frequent or c.distinct > len(c.frequent)):
        told.append(f"{c.distinct} distinct")
    if c.avg_items is not None:
        told.append(f"{c.avg_items:.1f} items on average")
    if c.avg_chars is not None and c.avg_chars > 60:
        told.append(f"text of {c.avg_chars:.0f} characters on average")
    return told


def _usefulness(c: ColumnProfile, n_rows: int) -> float:
    """Higher for columns that questions are asked of: filled, varied, short; the row number always stays."""
    if c.column.name == "row":
        return 10.0
    if c.distinct in (0, 1):
        return 0.1 if c.distinct else 0.0
    filled = 1 - c.nulls / max(1, n_rows)
    shape = 1.0 if c.frequent or c.low is not None else 0.6 if c.column.is_nested else 0.5
    named = 0.4 if c.column.name.casefold() in {"id", "name", "status", "created_at", "date"} else 0.0
    return filled + shape + named


def _identifier(name: str) -> str:
    return name if name.isidentifier() and name.isascii() and name == name.lower() else f'"{name}"'


def _percent(part: int, whole: int) -> str:
    share = 100 * part / max(1, whole)
    return f"{share:.0f}%" if share >= 1 else "<1%"


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return _shortened(value, SAMPLE_CHARS)
    if isinstance(value, list | dict):
        return _shortened(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str), SAMPLE_CHARS)
    return value


def _shortened(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"
