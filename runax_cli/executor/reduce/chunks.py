"""Pack records, in order, into chunks for one reducer request each, and format a chunk as text.

A record that is larger than a chunk is split into parts that share its row. Pure: token counts and the test of what
fits are handed in.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from adapters.json_text import compact_json

REFERENCE = "[00000] "
"""The longest reference; every reference is counted as this one."""
PART_REFERENCE = "[00000 part 00000/00000] "
_SAFETY_FACTOR = 0.9


class Measure(Protocol):
    """Counts the tokens of a text, uncalibrated."""

    def __call__(self, text: str) -> int:
        """Return the tokens in `text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWeight:
    """The size of a text in uncalibrated tokens and in bytes. Both add up over lines."""

    counted: int = 0
    n_bytes: int = 0

    def __add__(self, other: "TextWeight") -> "TextWeight":
        return TextWeight(counted=self.counted + other.counted, n_bytes=self.n_bytes + other.n_bytes)


Fits: TypeAlias = Callable[[TextWeight], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkUnit:
    """A record, or a part of one, as a reducer sees it.

    `row` is the record's row number, `page` the index of its page (from 0), `record_chars` the length of the whole
    record's text: the record is read once that many characters of its row were read. `part` counts from 1; 0 means
    that the unit is a whole record.
    """

    row: int
    page: int
    text: str
    weight: TextWeight
    record_chars: int
    part: int = 0
    parts: int = 0

    def line(self, reference: int) -> str:
        """Return the line of a reducer request; `reference` counts from 1 within the chunk."""
        mark = f"[{reference} part {self.part}/{self.parts}]" if self.part else f"[{reference}]"
        return f"{mark} {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Units for one request; `index` counts from 1."""

    index: int
    units: tuple[ChunkUnit, ...]

    @property
    def weight(self) -> TextWeight:
        """The weight of all units together."""
        return sum((unit.weight for unit in self.units), TextWeight())

    @property
    def pages(self) -> tuple[int, ...]:
        """Page numbers (from 1) of the units."""
        return tuple(sorted({unit.page + 1 for unit in self.units}))

    @property
    def n_records(self) -> int:
        """Records that are in the chunk, in whole or in part."""
        return len({unit.row for unit in self.units})

    def text(self) -> str:
        """Return one line per unit."""
        return "\n".join(unit.line(number) for number, unit in enumerate(self.units, start=1))


class ChunkPacker:
    """Packs units in the order they come. A chunk is closed by the first unit that no longer fits.

    A chunk that was read in an earlier run gets as many units as it had then. What fits depends on the calibration of
    the counter, and a chunk with other units would have to be read, and paid for, again.
    """

    def __init__(self, fits: Fits) -> None:
        self._fits = fits
        self._open: list[ChunkUnit] = []
        self._weight = TextWeight()
        self._expected_units: int | None = None
        self.closed = 0

    @property
    def has_one_unit(self) -> bool:
        """Whether the open chunk has its first unit only."""
        return len(self._open) == 1

    def expect(self, units: int | None) -> None:
        """Set how many units the open chunk had in an earlier run; None if it was not read before."""
        self._expected_units = units

    def add(self, unit: ChunkUnit) -> Chunk | None:
        """Add a unit that fits a chunk by itself. Return the chunk that it closed, if any."""
        closed = self.close() if self._is_full(unit) else None
        self._open.append(unit)
        self._weight = self._weight + unit.weight
        return closed

    def close(self) -> Chunk | None:
        """Close the open chunk; None if it has no unit."""
        if not self._open:
            return None
        self.closed += 1
        chunk = Chunk(index=self.closed, units=tuple(self._open))
        self._open, self._weight, self._expected_units = [], TextWeight(), None
        return chunk

    def _is_full(self, unit: ChunkUnit) -> bool:
        if self._expected_units is not None:
            return len(self._open) >= self._expected_units
        return not self._fits(self._weight + unit.weight)


def record_weight(text: str, measure: Measure) -> TextWeight:
    """Weigh the line of a record, its reference and line end included."""
    return _weight_of(REFERENCE + text + "\n", measure)


def record_units(text: str, *, row: int, page: int, measure: Measure, fits: Fits) -> Iterator[ChunkUnit]:
    """Yield a record as one unit, or as parts that each fit a chunk by themselves."""
    weight = record_weight(text, measure)
    if fits(weight):
        yield ChunkUnit(row=row, page=page, text=text, weight=weight, record_chars=len(text))
        return
    pieces = list(_cut(text, weight, measure=measure, fits=fits))
    for number, (piece, piece_weight) in enumerate(pieces, start=1):
        yield ChunkUnit(
            row=row, page=page, text=piece, weight=piece_weight, record_chars=len(text), part=number, parts=len(pieces)
        )


def split_chunk(chunk: Chunk, measure: Measure) -> tuple[Chunk, Chunk] | None:
    """Split a chunk into two of about the same weight; a single unit is cut into parts. None if it cannot be cut."""
    units = chunk.units if len(chunk.units) > 1 else _cut_in_two(chunk.units[0], measure)
    if len(units) < 2:
        return None
    at = _middle([unit.weight.n_bytes for unit in units])
    return replace(chunk, units=units[:at]), replace(chunk, units=units[at:])


def _middle(weights: Sequence[int]) -> int:
    half, passed = sum(weights) / 2, 0
    for number, weight in enumerate(weights):
        passed += weight
        if passed >= half:
            return min(max(1, number + (passed - half <= weight / 2)), len(weights) - 1)
    return len(weights) - 1


def _cut_in_two(unit: ChunkUnit, measure: Measure) -> tuple[ChunkUnit, ...]:
    middle = len(unit.text) // 2
    if middle == 0:
        return (unit,)
    texts = unit.text[:middle], unit.text[middle:]
    numbers = ((unit.part, unit.parts),) * 2 if unit.part else ((1, 2), (2, 2))
    return tuple(
        replace(unit, text=text, weight=_part_weight(text, measure), part=part, parts=parts)
        for text, (part, parts) in zip(texts, numbers, strict=True)
    )


def _cut(text: str, whole: TextWeight, *, measure: Measure, fits: Fits) -> Iterator[tuple[str, TextWeight]]:
    """Yield pieces from the left. Their length follows from the record's average density; dense pieces are shorter."""
    length = _first_guess(text, whole, fits)
    at = 0
    while at < len(text):
        n_chars = length
        weight = _part_weight(text[at : at + n_chars], measure)
        while n_chars > 1 and not fits(weight):
            n_chars = max(1, n_chars // 2)
            weight = _part_weight(text[at : at + n_chars], measure)
        yield text[at : at + n_chars], weight
        at += n_chars


def _first_guess(text: str, whole: TextWeight, fits: Fits) -> int:
    share = 1.0
    while share * len(text) > 1 and not fits(_scaled(whole, share)):
        share *= _SAFETY_FACTOR
    return max(1, int(len(text) * share * _SAFETY_FACTOR))


def _scaled(weight: TextWeight, share: float) -> TextWeight:
    return TextWeight(counted=int(weight.counted * share), n_bytes=int(weight.n_bytes * share))


def _part_weight(text: str, measure: Measure) -> TextWeight:
    return _weight_of(f"{PART_REFERENCE}{text}\n", measure)


def _weight_of(line: str, measure: Measure) -> TextWeight:
    return TextWeight(counted=measure(line), n_bytes=len(line.encode("utf-8", "surrogatepass")))


COLUMNS_MARK = "[columns]"
MIN_TABLE_RECORDS = 2
MAX_TABLE_SHARE = 0.95
"""Records are formatted as a table only if that takes at most this share of the characters of their JSON."""
_NEEDS_QUOTES = re.compile(r'[,\x00-\x1f\x7f]|^["{\[]|^\s|\s$|^$')


def format_chunk(chunk: Chunk) -> str:
    """Format the lines of a request: a header and rows of values if that is shorter, else one JSON record per line."""
    lines = chunk.text()
    records = _records(chunk)
    if records is None:
        return lines
    columns = list(dict.fromkeys(name for record in records for name in record))
    kept = [name for name in columns if any(not _is_empty(record.get(name)) for record in records)]
    rows = [f"[{at}] {csv_row(record, kept)}" for at, record in enumerate(records, start=1)]
    table = "\n".join([_header(kept, [name for name in columns if name not in kept]), *rows])
    return table if kept and len(table) <= MAX_TABLE_SHARE * len(lines) else lines


def csv_row(record: Mapping[str, Any], columns: Sequence[str]) -> str:
    """Return the values of a record in the order of the columns, without trailing commas."""
    return ",".join(_cell(record.get(name)) for name in columns).rstrip(",")


def _records(chunk: Chunk) -> list[dict[str, Any]] | None:
    if len(chunk.units) < MIN_TABLE_RECORDS or any(unit.part for unit in chunk.units):
        return None
    records = [json.loads(unit.text) for unit in chunk.units]
    return records if all(isinstance(record, dict) for record in records) else None


def _header(kept: Sequence[str], empty: Sequence[str]) -> str:
    names = ",".join(map(_cell, kept))
    return f"{COLUMNS_MARK} {names}" + (f" (empty in all: {', '.join(map(_cell, empty))})" if empty else "")


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return compact_json(value) if _NEEDS_QUOTES.search(value) else value
        case _:
            return compact_json(value)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})
