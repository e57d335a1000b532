"""The card of a table: what a model must know to write SQL over it, within a number of tokens whatever the width.

Knows profiles and how to tell them shortly. Runs no SQL.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runax_cli.executor.columns import TypedColumn, identifier
from runax_cli.executor.profile import ColumnProfile, TableProfile
from runax_cli.models.base import TokenCounter

CARD_TOKENS = 800
SAMPLE_CHARS = 60
_TYPE_CHARS = 240
_FEW_VALUES = 30
_SHORT_TEXT = 60


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

    def told(n_columns: int, n_samples: int, n_values: int) -> Card:
        return _told(profile, ranked[:n_columns], samples[:n_samples], coverage, n_values=n_values)

    def fits(whole: Card) -> bool:
        return counter.count(whole.text) <= budget_tokens

    # Values of fields help more to write SQL than sample records, of which nested values are cut anyway.
    for n_samples, n_values in ((2, 6), (1, 6), (0, 6), (0, 3), (1, 0), (0, 0)):
        if fits(whole := told(len(ranked), n_samples, n_values)):
            return whole
    most = _largest(len(ranked), lambda n: fits(told(n, 0, 0)))
    return _within(told(most, 0, 0), counter, budget_tokens)


def _largest(upper: int, holds: Callable[[int], bool]) -> int:
    """The largest n up to `upper` for which `holds` is true, which it is for all smaller ones; 0 where for none."""
    low, high = 0, upper
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _told(
    profile: TableProfile,
    shown: Sequence[ColumnProfile],
    samples: Sequence[dict[str, Any]],
    coverage: str,
    *,
    n_values: int,
) -> Card:
    names = {c.column.name for c in shown}
    typed = {t.name: t for t in profile.table.typed}
    read_as = {t.source: t.name for t in profile.table.typed}
    lines = [f"Table {profile.table.name}: {profile.n_rows} rows; {coverage}.", "Columns (name type; nulls; values):"]
    for c in (c for c in profile.columns if c.column.name in names):
        lines.append(_line(c, profile.n_rows, typed.get(c.column.name), read_as.get(c.column.name)))
        lines += _field_lines(c, n_values) if n_values else []
    dropped = tuple(c.column.name for c in profile.columns if c.column.name not in names)
    if dropped:
        lines.append(f"Not shown, can be queried too: {', '.join(dropped)}")
    for sample in samples:
        lines.append(f"Sample: {_sample({k: v for k, v in sample.items() if k in names and v is not None})}")
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
    parts = [f"{identifier(c.column.name)} {_shortened(c.column.type, _TYPE_CHARS)}"]
    if c.nulls:
        parts.append(f"{_percent(c.nulls, n_rows)} null")
    if typed is not None:
        misfits = f", {typed.misfits} don't fit" if typed.misfits else ""
        note = f", {typed.note}" if typed.note else ""
        parts.append(f"{identifier(typed.source)} read as {typed.reading.value}{misfits}{note}")
    if read_as is not None:
        parts.append(f"text, e.g. {_short(c.example)}" if c.example else "text")
        return "; ".join([*parts, f"use {identifier(read_as)}"])
    return "; ".join(parts + _values(c))


def _field_lines(c: ColumnProfile, n_values: int) -> list[str]:
    """One line with the values of fields that have an order or few values; none where no field has."""
    told = [(field.column.name, values) for field in c.fields if (values := _field_values(field, n_values))]
    listed = "; ".join(f"{name}: {values}" if name else values for name, values in told)
    return [f"  in {identifier(c.column.name)}: {listed}"] if told else []


def _field_values(field: ColumnProfile, n_values: int) -> str:
    if field.low is not None and field.low != field.high:
        return f"{field.low} … {field.high}"
    if not field.frequent or not field.distinct or field.distinct > _FEW_VALUES:
        return ""
    shown = [_short(value) for value, _ in field.frequent[:n_values]]
    return ", ".join(shown) + (", …" if field.distinct > len(shown) else "")


def _sample(record: dict[str, Any]) -> str:
    """A record in the notation of JSON, with nested values cut."""
    return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{_value(v)}" for name, v in record.items()) + "}"


def _value(value: Any) -> str:
    told = json.dumps(
        _short(value) if isinstance(value, str) else value, ensure_ascii=False, separators=(",", ":"), default=str
    )
    return _shortened(told, SAMPLE_CHARS) if isinstance(value, list | dict) else told


def _values(c: ColumnProfile) -> list[str]:
    if c.distinct == 0:
        return ["always null"]
    told = []
    if c.low is not None and c.high is not None:
        told.append(f"{c.low} … {c.high}")
    elif c.frequent:
        listed = ", ".join(f"{_short(value)} ({count})" for value, count in c.frequent)
        told.append(listed + (", …" if c.distinct and c.distinct > len(c.frequent) else ""))
    elif c.example and (c.avg_chars or 0) <= _SHORT_TEXT:
        told.append(f"e.g. {_short(c.example)}")
    if c.distinct is not None and (not c.frequent or c.distinct > len(c.frequent)):
        told.append(f"{c.distinct} distinct")
    if c.avg_items is not None:
        told.append(f"{c.avg_items:.1f} items on average")
    if c.avg_chars is not None and c.avg_chars > _SHORT_TEXT:
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


def _percent(part: int, whole: int) -> str:
    share = 100 * part / max(1, whole)
    return f"{share:.0f}%" if share >= 1 else "<1%"


def _short(text: str) -> str:
    return _shortened(text, SAMPLE_CHARS)


def _shortened(text: str, chars: int) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"
