"""From the text of a tool's result to the data in it.

Knows how tools print data: JSON, lines of JSON, Python, a fenced block, JSON after some words, JSON inside the text of
JSON, tables. Knows no wire. Words beside the data are kept beside it; text without data stays text; data that ends too
early is text too, and is told by a reason.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from adapters.base import Json, JsonObject
from adapters.json_text import fix_surrogates
from adapters.mcp.content.lenient_json import LenientParseError, integer, read_nearly, read_sequence, together, value_at
from adapters.mcp.content.prose_signals import facts_in
from adapters.mcp.content.text_tables import (
    TextTable,
    read_heading,
    read_items,
    read_listing,
    read_sections,
    read_table,
    read_yaml,
)

_OPENING = ("{", "[", "(")
_FENCES = ("```", "~~~")
_MOST_FENCES = 2000
_BLANKS = " \t\r\n\f\v\ufeff\u200b\u00a0"
_GAP = re.compile(r"^[ \t]*\.{2,}(?:[ \t|]+\.{2,})+[ \t|]*$", re.MULTILINE)
_LEFT_OUT = "it is a table in which rows are left out, and dots stand for them"
_NAMES_OF_TABLES = frozenset({"csv", "tsv", "psv", "table"})
_FENCE = re.compile(
    r"^[ \t]*(```+|~~~+)[ \t]*([\w+-]*)[ \t]*(?:\r?\n|(?=[{\[]))(.*?)(?:^[ \t]*|(?<=[}\]]))\1[ \t]*\r?$",
    re.DOTALL | re.MULTILINE,
)
_STARTS = re.compile(r"(?:^[ \t]*|(?<=:)[ \t]+)(?=\{\s*[\"'\w$}]|\[\s*[\[{(\"'])", re.MULTILINE)
_LABEL = re.compile(r"\[[A-Za-z][A-Za-z ]*\]")
_WRAPPERS = frozenset({"result", "content", "text", "data", "output", "response", "body", "items", "results"})
_SOLE = frozenset({"result", "content"})
"""Names under which servers put a whole text; any other name may be the name of a fact."""
_MOST_WORDS = 600
_FIRST_SPOILED = 60


@dataclass(frozen=True, slots=True)
class TextContent:
    """What a text holds: `value` (the text itself where it holds no data), and the words and facts around it.

    `flaw` says why text that looks like data could not be read as such.
    """

    value: Json
    words: str = ""
    facts: JsonObject = field(default_factory=dict)
    flaw: str = ""

    @property
    def is_data(self) -> bool:
        """Whether the value was read from the text, and is not the text."""
        return isinstance(self.value, dict | list)


def read_text(text: str) -> TextContent:
    """The object or list that a text holds, else the text."""
    bare = text.strip(_BLANKS)
    if (fenced := _fenced(bare)) is not None:
        return fenced
    if any(sign in bare for sign in _OPENING):
        if (inner := _text_in_json(bare)) is not None:
            again = read_text(inner)
            return again if again.is_data else TextContent(text)
        if bare.startswith(_OPENING) and (value := _value(bare)) is not None:
            return TextContent(unwrapped(value))
        for read in (_lines, _sequence, _after_words):
            content = read(bare)
            if content is not None:
                return content
        if flaw := _flaw(bare):
            return TextContent(text, flaw=flaw)
    return _tabled(bare) or TextContent(text, flaw=_LEFT_OUT if _GAP.search(bare) else "")


def read_alone(text: str) -> TextContent:
    """The same for a text that is all of a result: it may be a list of items, or a heading with nothing under it."""
    content = read_text(text)
    table = None if content.is_data or content.flaw else _listed(text.strip(_BLANKS))
    return content if table is None else _with_words(table.rows, table.words)


def _listed(text: str) -> TextTable | None:
    return read_sections(text) or read_items(text) or read_heading(text)


def _text_in_json(text: str) -> str | None:
    """The text that was written as JSON once more, in quotes and with escapes."""
    if not text.startswith('"'):
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, str) and value != text else None


def unwrapped(value: Json) -> Json:
    """The value inside `{"result": …}` or `{"content": "…"}`, and every text that is a whole object read as one."""
    if isinstance(value, list):
        return _objects(value)
    if not isinstance(value, dict):
        return value
    opened = {name: _opened(name, inner) for name, inner in value.items()}
    if len(opened) != 1:
        return opened
    name, inner = next(iter(opened.items()))
    if name not in _SOLE:
        return opened if inner is value[name] else inner
    if isinstance(inner, str):
        return read_text(inner).value
    return inner if name == "result" or inner is not value[name] else opened


def _opened(name: str, inner: Json) -> Json:
    if name.lower() not in _WRAPPERS:
        return inner
    if isinstance(inner, str) and inner.lstrip().startswith(_OPENING):
        content = read_text(inner)
        return content.value if content.is_data else inner
    return _objects(inner) if isinstance(inner, list) else inner


def _objects(items: list[Json]) -> list[Json]:
    """The items, where all of them are texts of objects as those objects."""
    if not items or not all(isinstance(item, str) and item.lstrip().startswith("{") for item in items):
        return items
    values = [_value(item.strip()) for item in items]
    return values if all(isinstance(value, dict) for value in values) else items


def _value(text: str) -> Json:
    """The object or list that is the whole text, in any spelling; None where it is none."""
    for read in (orjson.loads, _lenient_json, _whole_nearly):
        try:
            value = read(text)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict | list) else None
    return None


def _lenient_json(text: str) -> Json:
    """JSON with line breaks inside of texts, and with numbers that the fast parser refuses."""
    value = json.loads(text, strict=False, parse_int=integer, parse_constant=lambda _: None)
    return fix_surrogates(value) if "\\u" in text else value


def _whole_nearly(text: str) -> Json:
    value, end = read_nearly(text)
    if text[end:].strip(" \t\r\n;") not in ("", "."):
        raise LenientParseError("more follows")
    return value


def _fenced(text: str) -> TextContent | None:
    """Data in fenced blocks, one or several."""
    if not 0 < sum(map(text.count, _FENCES)) <= _MOST_FENCES:
        return None
    blocks = list(_FENCE.finditer(text))
    contents = [_in_fence(block[2], block[3]) for block in blocks]
    if not blocks or any(not content.is_data or content.flaw for content in contents):
        return None
    words = "\n".join([_FENCE.sub("", text), *(content.words for content in contents)])
    return _with_words(_together([content.value for content in contents]), words)


def _in_fence(name: str, text: str) -> TextContent:
    if name.lower() in _NAMES_OF_TABLES and (table := read_table(text.strip())) is not None:
        return _with_words(table.rows, table.words)
    return read_text(text.strip())


def _lines(text: str) -> TextContent | None:
    """A JSON object a line, read fast; whatever else stands there is for the reader of sequences."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or not lines[0].lstrip().startswith("{"):
        return None
    values = []
    for line in lines:
        try:
            values.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            return None
    return TextContent(together(values)) if all(isinstance(value, dict) for value in values) else None


def _sequence(text: str) -> TextContent | None:
    """Values one behind another; what is broken behind them is told."""
    found = read_sequence(text)
    if found is None:
        return None
    value = together(found.values)
    return TextContent(value, found.words, facts_in(found.words, n_records=_length(value)), found.flaw)


def _tabled(text: str) -> TextContent | None:
    """YAML, a table or a listing, in plain text or as Markdown has it."""
    if (outlined := read_yaml(text)) is not None:
        return TextContent(outlined)
    table = read_table(text) or read_listing(text)
    return None if table is None else _with_words(table.rows, table.words)


def _after_words(text: str) -> TextContent | None:
    """One value with words before or behind it: few words, so that a report with an example stays a report.

    Only where the first thing that looks like data is data: behind the start of a cut value, its parts are not looked
    for.
    """
    match = _STARTS.search(text)
    if match is None or (match.end() > 0 and text.startswith(_OPENING) and not _LABEL.match(text)):
        return None
    start = match.end()
    try:
        value, end = value_at(text, start)
    except (ValueError, RecursionError):
        return None
    words = f"{text[:start].strip()}\n{text[end:].strip()}".strip()
    is_beside = len(words) <= max(_MOST_WORDS, (end - start) // 4) and _STARTS.search(text, end) is None
    return _with_words(unwrapped(value), words) if is_beside and _is_substantial(value) else None


def _is_substantial(value: Json) -> bool:
    """Whether a value is data and not a mark such as `[1]` or `{}` in a sentence."""
    if isinstance(value, list):
        return any(isinstance(item, dict | list) for item in value)
    return isinstance(value, dict) and bool(value)


def _with_words(value: Json, words: str) -> TextContent:
    words = words.strip()
    return TextContent(value, words, facts_in(words, n_records=_length(value)))


def _length(value: Json) -> int:
    """How many items a list has, or the longest list in an object."""
    if isinstance(value, dict):
        return max((len(inner) for inner in value.values() if isinstance(inner, list)), default=0)
    return len(value) if isinstance(value, list) else 0


def _together(values: Sequence[Json]) -> Json:
    """The one value; of several, one list."""
    return unwrapped(values[0]) if len(values) == 1 else together(values)


def _flaw(text: str) -> str:
    """Why text that looks like data could not be read; empty where it never looked so.

    Behind words it looks so where it is the most of the text.
    """
    match = _STARTS.search(text)
    if match is None or (match.start() > 0 and match.end() > len(text) // 2):
        return ""
    start = match.end()
    try:
        json.JSONDecoder(strict=False).raw_decode(text, start)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text) - 1 or error.msg.startswith("Unterminated string")
        about = "it ends too early" if is_cut else error.msg
        place = text[max(0, error.pos - 20) : error.pos + _FIRST_SPOILED - 20]
        return f"{about} at character {error.pos} of {len(text)}, near {place!r}"
    except (ValueError, RecursionError) as error:
        return str(error)
    return "more follows behind it" if start == 0 else ""
