"""Chunks: records packed together, in order, for one reducer request.

Knows units of text with their token counts and a test of what fits. A record larger than a chunk goes in parts that
share its row. Pure: counts and the test are handed in.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from adapters.json_text import compact

REFERENCE = "[00000] "
"""What a reference is counted as: no chunk has so many records that its references cost more tokens."""
PART_REFERENCE = "[00000 part 00000/00000] "
_SAFETY = 0.9


class Measure(Protocol):
    """Counts the tokens of a text, uncorrected."""

    def __call__(self, text: str) -> int:
        """Tokens in `text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextWeight:
    """What a text weighs: tokens as counted, uncorrected, and bytes. Both add up over lines."""

    counted: int = 0
    n_bytes: int = 0

    def __add__(self, other: "TextWeight") -> "TextWeight":
        return TextWeight(counted=self.counted + other.counted, n_bytes=self.n_bytes + other.n_bytes)


Fits: TypeAlias = Callable[[TextWeight], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkUnit:
    """A record, or a part of one, as a reducer will see it.

    `row` is the record's row number, `page` the index of its page from 0, `whole_chars` the length of the whole
    record's text: the record is read when so many characters of its row were. `part` counts from 1; 0 is a whole one.
    """

    row: int
    page: int
    text: str
    load: TextWeight
    whole_chars: int
    part: int = 0
    parts: int = 0

    def line(self, reference: int) -> str:
        """The line of a reducer request; `reference` counts from 1 within the chunk."""
        mark = f"[{reference} part {self.part}/{self.parts}]" if self.part else f"[{reference}]"
        return f"{mark} {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Units for one request; `index` counts from 1."""

    index: int
    units: tuple[ChunkUnit, ...]

    @property
    def load(self) -> TextWeight:
        """What all units weigh together."""
        return sum((unit.load for unit in self.units), TextWeight())

    @property
    def pages(self) -> tuple[int, ...]:
        """Page numbers (from 1) that the units come from."""
        return tuple(sorted({unit.page + 1 for unit in self.units}))

    @property
    def n_records(self) -> int:
        """Records of which something is in the chunk."""
        return len({unit.row for unit in self.units})

    def text(self) -> str:
        """The lines of the request."""
        return "\n".join(unit.line(number) for number, unit in enumerate(self.units, start=1))


class ChunkPacker:
    """Packs units in the order they come. A chunk is closed by the first unit that no longer fits.

    Where it is known how many units the same chunk had when it was read before, it gets as many again: what fits is
    a matter of how well the counter is calibrated, and a chunk cut elsewhere would be read, and paid for, again.
    """

    def __init__(self, fits: Fits) -> None:
        self._fits = fits
        self._open: list[ChunkUnit] = []
        self._load = TextWeight()
        self._known: int | None = None
        self.closed = 0

    @property
    def is_fresh(self) -> bool:
        """Whether the open chunk has its first unit and no other."""
        return len(self._open) == 1

    def expect(self, units: int | None) -> None:
        """So many units made up the open chunk when it was read before; None where it was not."""
        self._known = units

    def add(self, unit: ChunkUnit) -> Chunk | None:
        """Take a unit that fits a chunk by itself; the chunk that it closed, if it did."""
        closed = self._close() if self._open and self._is_full(unit) else None
        self._open.append(unit)
        self._load = self._load + unit.load
        return closed

    def rest(self) -> Chunk | None:
        """The last chunk, which nothing closed."""
        return self._close() if self._open else None

    def _is_full(self, unit: ChunkUnit) -> bool:
        if self._known is not None:
            return len(self._open) >= self._known
        return not self._fits(self._load + unit.load)

    def _close(self) -> Chunk:
        self.closed += 1
        chunk = Chunk(index=self.closed, units=tuple(self._open))
        self._open, self._load, self._known = [], TextWeight(), None
        return chunk


def record_weight(text: str, measure: Measure) -> TextWeight:
    """The load of one line, its reference and line end included."""
    return _load_of(REFERENCE + text + "\n", measure)


def record_units(text: str, *, row: int, page: int, measure: Measure, fits: Fits) -> Iterator[ChunkUnit]:
    """A record as one unit, or in as many parts as it takes for each to fit a chunk by itself."""
    load = record_weight(text, measure)
    if fits(load):
        yield ChunkUnit(row=row, page=page, text=text, load=load, whole_chars=len(text))
        return
    pieces = list(_cut(text, load, measure=measure, fits=fits))
    for number, (piece, piece_load) in enumerate(pieces, start=1):
        yield ChunkUnit(
            row=row, page=page, text=piece, load=piece_load, whole_chars=len(text), part=number, parts=len(pieces)
        )


def split_chunk(chunk: Chunk, measure: Measure) -> tuple[Chunk, Chunk] | None:
    """The chunk in two of about the same weight; one unit alone is cut into parts. None where nothing can be cut."""
    units = chunk.units if len(chunk.units) > 1 else _cut_in_two(chunk.units[0], measure)
    if len(units) < 2:
        return None
    at = _middle([unit.load.n_bytes for unit in units])
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
    labels = ((unit.part, unit.parts),) * 2 if unit.part else ((1, 2), (2, 2))
    return tuple(
        replace(unit, text=text, load=_load_of(f"{PART_REFERENCE}{text}\n", measure), part=part, parts=parts)
        for text, (part, parts) in zip(texts, labels, strict=True)
    )


def _cut(text: str, whole: TextWeight, *, measure: Measure, fits: Fits) -> Iterator[tuple[str, TextWeight]]:
    """Pieces from the left, each as long as the record's own density allows, and shorter where it is denser."""
    length = _first_guess(text, whole, fits)
    at = 0
    while at < len(text):
        take = length
        load = _load_of(f"{PART_REFERENCE}{text[at : at + take]}\n", measure)
        while take > 1 and not fits(load):
            take = max(1, take // 2)
            load = _load_of(f"{PART_REFERENCE}{text[at : at + take]}\n", measure)
        yield text[at : at + take], load
        at += take


def _first_guess(text: str, whole: TextWeight, fits: Fits) -> int:
    share = 1.0
    while share * len(text) > 1 and not fits(_scaled(whole, share)):
        share *= _SAFETY
    return max(1, int(len(text) * share * _SAFETY))


def _scaled(load: TextWeight, share: float) -> TextWeight:
    return TextWeight(counted=int(load.counted * share), n_bytes=int(load.n_bytes * share))


def _load_of(line: str, measure: Measure) -> TextWeight:
    return TextWeight(counted=measure(line), n_bytes=len(line.encode("utf-8", "surrogatepass")))


COLUMNS_MARK = "[columns]"
MIN_TABLE_RECORDS = 2
MAX_TABLE_SHARE = 0.95
"""Records stay as they are where the other form has more than this share of their characters."""
_MISREAD = re.compile(r'[,\x00-\x1f\x7f]|^["{\[]|^\s|\s$|^$')


def format_chunk(chunk: Chunk) -> str:
    """The lines of a request: a header and rows of values where that is shorter, else a record's JSON on each line."""
    plain = chunk.text()
    records = _records(chunk)
    if records is None:
        return plain
    columns = list(dict.fromkeys(name for record in records for name in record))
    kept = [name for name in columns if any(not _is_empty(record.get(name)) for record in records)]
    rows = [f"[{at}] {csv_row(record, kept)}" for at, record in enumerate(records, start=1)]
    short = "\n".join([_head(kept, [name for name in columns if name not in kept]), *rows])
    return short if kept and len(short) <= MAX_TABLE_SHARE * len(plain) else plain


def csv_row(record: Mapping[str, Any], columns: Sequence[str]) -> str:
    """The values of a record, in the order of the columns; commas at the end say nothing and are left out."""
    return ",".join(_cell(record.get(name)) for name in columns).rstrip(",")


def _records(chunk: Chunk) -> list[dict[str, Any]] | None:
    if len(chunk.units) < MIN_TABLE_RECORDS or any(unit.part for unit in chunk.units):
        return None
    records = [json.loads(unit.text) for unit in chunk.units]
    return records if all(isinstance(record, dict) for record in records) else None


def _head(kept: Sequence[str], empty: Sequence[str]) -> str:
    names = ",".join(map(_cell, kept))
    return f"{COLUMNS_MARK} {names}" + (f" (empty in all: {', '.join(map(_cell, empty))})" if empty else "")


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return compact(value) if _MISREAD.search(value) else value
        case _:
            return compact(value)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})
