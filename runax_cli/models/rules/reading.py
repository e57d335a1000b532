"""Replies of the reducer and the labeler: finds the records that contain the words of the focus, and labels texts."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.text import fold
from runax_cli.models.rules.words import content_stems, read_clues, stem, stems, topic_stems

QUOTE_CHARS = 200
MAX_FINDINGS = 12
_RELEVANT_SHARE = 0.5
_LINE = re.compile(r"^\[(\w+)(?: part \d+/\d+)?\] (.*)$")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_EMPTY_COLUMNS = re.compile(r" \(empty in all: .*\)$")
_JSON_CELLS = frozenset('"{[')
_DECODER = json.JSONDecoder()
_WORD = re.compile(r"[^\W_]+")
_BRIEF_FIRST = (
    "id",
    "name",
    "full_name",
    "title",
    "subject",
    "status",
    "category",
    "city",
    "date",
    "created_at",
    "amount",
)


@dataclass(frozen=True, slots=True)
class RelevantRecord:
    """A relevant record: its reference, its score, a statement about it, and a verbatim quote."""

    ref: str
    score: float
    statement: str
    quote: str | None


def numbered_lines(message: str, fence: str) -> Iterator[tuple[str, str]]:
    """The lines inside a tag such as `<records>`, as pairs of reference and text."""
    inside = message.partition(f"<{fence}>")[2].rpartition(f"</{fence}>")[0] or message.partition(f"<{fence}")[2]
    for line in inside.splitlines():
        matched = _LINE.match(line)
        if matched:
            yield matched[1], matched[2]


def records_of(message: str) -> list[tuple[str, Any]]:
    """The records in a reducer message: JSON, values of columns, or the text of a part of a record."""
    found = list(numbered_lines(message, "records"))
    if not found or found[0][0] != "columns":
        return [(ref, parsed(text)) for ref, text in found]
    columns = [str(name) for name in values_of(_EMPTY_COLUMNS.sub("", found[0][1]))]
    return [(ref, dict(zip(columns, values_of(row), strict=False))) for ref, row in found[1:]]


def values_of(row: str) -> list[Any]:
    """The cells of a row: JSON if a cell starts with a quote, brace or bracket, otherwise plain text."""
    values: list[Any] = []
    at = 0
    while at <= len(row):
        if row[at : at + 1] in _JSON_CELLS:
            value, at = _DECODER.raw_decode(row, at)
        else:
            stop = row.find(",", at)
            value, at = row[at : None if stop < 0 else stop] or None, len(row) if stop < 0 else stop
        values.append(value)
        at += 1
    return values


def focus_of(message: str) -> str:
    """The text after `FOCUS:`, up to the next tag."""
    return message.partition("FOCUS:")[2].partition("\n<")[0].strip()


def relevant(focus: str, records: Sequence[tuple[str, Any]]) -> list[RelevantRecord]:
    """The records that contain at least half of the weighted words of the focus, best first.

    A word weighs the more the fewer records have it. Words that name fields or nearly all records weigh nothing; quoted
    text must stand in a record as it is.
    """
    texts = [" ".join(_values(record)) for _, record in records]
    bags = [frozenset(stem(word) for word in _WORD.findall(fold(text))) for text in texts]
    weights = _weights(focus, records, bags)
    total = sum(weights.values())
    quoted = [fold(text) for text in read_clues(focus).quoted]
    passages = []
    for (ref, record), text, bag in zip(records, texts, bags, strict=True):
        score = sum(weight for word, weight in weights.items() if word in bag)
        if total and score >= _RELEVANT_SHARE * total and all(q in fold(text) for q in quoted):
            passages.append(_passage(ref, record, score, frozenset(weights)))
    return sorted(passages, key=lambda p: -p.score)


def brief(record: Any, extra: Iterable[str] = ()) -> str:
    """A record in a few words: its most telling scalar fields."""
    if not isinstance(record, dict):
        return _shorten(str(record))
    scalars = {k: v for k, v in record.items() if isinstance(v, str | int | float) and v != "" and len(str(v)) <= 80}
    wanted = [k for k in (*_BRIEF_FIRST, *extra, *scalars) if k in scalars]
    return "; ".join(f"{k}: {scalars[k]}" for k in list(dict.fromkeys(wanted))[:8])


def parsed(text: str) -> Any:
    """A record's JSON, or its text where it is a part of one."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _weights(focus: str, records: Sequence[tuple[str, Any]], bags: Sequence[frozenset[str]]) -> dict[str, float]:
    fields = {
        stem(word)
        for _, record in records[:5]
        if isinstance(record, dict)
        for key in record
        for word in _WORD.findall(fold(key))
    }
    asked = [word for word in topic_stems(focus) if word not in fields]
    n = len(records)
    df = Counter(word for bag in bags for word in asked if word in bag)
    return {word: math.log((n + 1) / (df[word] + 0.5)) for word in asked if n < 4 or df[word] <= 0.6 * n}


def _passage(ref: str, record: Any, score: float, asked: frozenset[str]) -> RelevantRecord:
    quote = max((_best_sentence(value, asked) for value in _values(record)), default=(0, ""), key=lambda pair: pair[0])[
        1
    ]
    summary = brief(record)
    statement = f"{summary} — {quote}" if quote and quote not in summary else summary
    return RelevantRecord(ref, score, statement, quote or None)


def _best_sentence(text: str, asked: frozenset[str]) -> tuple[int, str]:
    """The sentence with most of the words of the focus, and the text after it up to the length of a quote."""
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(text))]
    ends = [*starts[1:], len(text)]
    scored = [
        (len({stem(word) for word in _WORD.findall(fold(text[start:end]))} & asked), -start)
        for start, end in zip(starts, ends, strict=True)
    ]
    hits, start = max(scored, default=(0, 0))
    return (hits, _shorten(text[-start:].strip())) if hits else (0, "")


def _shorten(text: str) -> str:
    if len(text) <= QUOTE_CHARS:
        return text
    return text[:QUOTE_CHARS].rsplit(" ", 1)[0]


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


_FIELD = re.compile(r"^(\w+): (.+)$")
_OTHERS = ("other", "none", "unknown")


def label_texts(message: str) -> dict[str, Any]:
    """The labels of all texts in a message."""
    instruction = message.partition("INSTRUCTION:\n")[2].partition("\n\nFIELDS:\n")[0]
    fields = _fields(message.partition("\n\nFIELDS:\n")[2].partition("\n\n<texts>")[0])
    texts = [(ref, parsed(text) if text.startswith('"') else text) for ref, text in numbered_lines(message, "texts")]
    return {"labels": [{"ref": int(ref)} | _values_labels(str(text), fields, instruction) for ref, text in texts]}


def _fields(lines: str) -> Mapping[str, Sequence[str]]:
    """The values of each field; a single value is a type."""
    matched = filter(None, map(_FIELD.match, lines.splitlines()))
    return {field[1]: field[2].split(" | ") for field in matched}


def _values_labels(text: str, fields: Mapping[str, Sequence[str]], instruction: str) -> dict[str, Any]:
    own = stems(text)
    return {name: _value(own, values, instruction) for name, values in fields.items()}


def _value(own: Sequence[str], values: Sequence[str], instruction: str) -> Any:
    match values:
        case ["boolean"]:
            return any(word in own for word in content_stems(instruction))
        case ["integer"] | ["number"]:
            return 0
        case ["string"]:
            return next(iter(own), "")
        case _:
            counts = {value: sum(own.count(word) for word in stems(value)) for value in values}
            best = max(counts, key=lambda value: counts[value])
            return best if counts[best] else next((value for value in values if value in _OTHERS), values[-1])
