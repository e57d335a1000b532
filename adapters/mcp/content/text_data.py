"""Finds the data in the text of a tool result: JSON, NDJSON, Python reprs, fenced blocks, JSON in JSON strings, tables.

Text around the data is kept with it; text without data stays text. Truncated data stays text too, and `flaw` says
why.
"""

import json
import re
from dataclasses import dataclass, field

import orjson

from adapters.base import Json, JsonObject
from adapters.json_text import fix_surrogates
from adapters.mcp.content.lenient_json import (
    LenientParseError,
    combine_values,
    parse_lenient,
    parse_sequence,
    parse_value,
    to_integer,
)
from adapters.mcp.content.prose_signals import metadata_in
from adapters.mcp.content.text_tables import (
    parse_empty_heading,
    parse_list,
    parse_list_items,
    parse_sections,
    parse_table,
    parse_yaml,
)

_OPENING_CHARS = ("{", "[", "(")
_FENCES = ("```", "~~~")
_MAX_FENCES = 2000
_WHITESPACE = " \t\r\n\f\v\ufeff\u200b\u00a0"
_ELLIPSIS_ROW = re.compile(r"^[ \t]*\.{2,}(?:[ \t|]+\.{2,})+[ \t|]*$", re.MULTILINE)
_ROWS_OMITTED = "the table omits rows ('...')"
_TABLE_LANGUAGES = frozenset({"csv", "tsv", "psv", "table"})
_FENCE = re.compile(
    r"^[ \t]*(```+|~~~+)[ \t]*([\w+-]*)[ \t]*(?:\r?\n|(?=[{\[]))(.*?)(?:^[ \t]*|(?<=[}\]]))\1[ \t]*\r?$",
    re.DOTALL | re.MULTILINE,
)
_VALUE_START = re.compile(r"(?:^[ \t]*|(?<=:)[ \t]+)(?=\{\s*[\"'\w$}]|\[\s*[\[{(\"'])", re.MULTILINE)
_LABEL = re.compile(r"\[[A-Za-z][A-Za-z ]*\]")
_WRAPPERS = frozenset({"result", "content", "text", "data", "output", "response", "body", "items", "results"})
_GENERIC_WRAPPERS = frozenset({"result", "content"})
"""Names under which servers return the whole text; any other name may be the name of a value."""
_MAX_SURROUNDING_CHARS = 600
_EXCERPT_CHARS = 60


@dataclass(frozen=True, slots=True)
class TextContent:
    """The content of a text: `value` (the text itself if it contains no data), and the text and metadata around it.

    `flaw` says why text that looks like data could not be parsed.
    """

    value: Json
    surrounding: str = ""
    metadata: JsonObject = field(default_factory=dict)
    flaw: str = ""

    @property
    def is_data(self) -> bool:
        """Whether the value was parsed from the text, and is not the text itself."""
        return isinstance(self.value, dict | list)


def parse_text(text: str) -> TextContent:
    """The object or list in a text, else the text."""
    stripped = text.strip(_WHITESPACE)
    if (content := _parse_fenced(stripped)) is not None:
        return content
    if any(sign in stripped for sign in _OPENING_CHARS):
        if (inner := _decode_json_string(stripped)) is not None:
            again = parse_text(inner)
            return again if again.is_data else TextContent(text)
        if stripped.startswith(_OPENING_CHARS) and (value := _parse_container(stripped)) is not None:
            return TextContent(unwrap(value))
        for parse in (_parse_ndjson, _parse_value_sequence, _parse_embedded):
            content = parse(stripped)
            if content is not None:
                return content
        if flaw := _syntax_error(stripped):
            return TextContent(text, flaw=flaw)
    return _parse_tabular(stripped) or TextContent(text, flaw=_ROWS_OMITTED if _ELLIPSIS_ROW.search(stripped) else "")


def parse_whole_text(text: str) -> TextContent:
    """Like `parse_text`, for the only text of a result: it may also be a list of items or an empty heading."""
    content = parse_text(text)
    if content.is_data or content.flaw:
        return content
    stripped = text.strip(_WHITESPACE)
    table = parse_sections(stripped) or parse_list_items(stripped) or parse_empty_heading(stripped)
    return content if table is None else _content_of(table.rows, table.surrounding)


def _decode_json_string(text: str) -> str | None:
    """The text inside a JSON string literal."""
    if not text.startswith('"'):
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, str) and value != text else None


def unwrap(value: Json) -> Json:
    """The value inside `{"result": …}` or `{"content": "…"}`; members that are JSON text are parsed."""
    if isinstance(value, list):
        return _parse_string_items(value)
    if not isinstance(value, dict):
        return value
    opened = {name: _unwrap_member(name, inner) for name, inner in value.items()}
    if len(opened) != 1:
        return opened
    name, inner = next(iter(opened.items()))
    if name not in _GENERIC_WRAPPERS:
        return opened if inner is value[name] else inner
    if isinstance(inner, str):
        return parse_text(inner).value
    return inner if name == "result" or inner is not value[name] else opened


def _unwrap_member(name: str, inner: Json) -> Json:
    if name.lower() not in _WRAPPERS:
        return inner
    if isinstance(inner, str) and inner.lstrip().startswith(_OPENING_CHARS):
        content = parse_text(inner)
        return content.value if content.is_data else inner
    return _parse_string_items(inner) if isinstance(inner, list) else inner


def _parse_string_items(items: list[Json]) -> list[Json]:
    """The items as objects, if all of them are JSON text of objects."""
    if not items or not all(isinstance(item, str) and item.lstrip().startswith("{") for item in items):
        return items
    values = [_parse_container(item.strip()) for item in items]
    return values if all(isinstance(value, dict) for value in values) else items


def _parse_container(text: str) -> Json:
    """The object or list that is the whole text, in any notation; None if it is neither."""
    for parse in (orjson.loads, _loads_loosely, _loads_lenient):
        try:
            value = parse(text)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict | list) else None
    return None


def _loads_loosely(text: str) -> Json:
    """JSON with line breaks inside strings, and with numbers that orjson rejects."""
    value = json.loads(text, strict=False, parse_int=to_integer, parse_constant=lambda _: None)
    return fix_surrogates(value) if "\\u" in text else value


def _loads_lenient(text: str) -> Json:
    value, end = parse_lenient(text)
    if text[end:].strip(" \t\r\n;") not in ("", "."):
        raise LenientParseError("text follows the value")
    return value


def _parse_fenced(text: str) -> TextContent | None:
    """Data in one or more fenced blocks."""
    if not 0 < sum(map(text.count, _FENCES)) <= _MAX_FENCES:
        return None
    blocks = list(_FENCE.finditer(text))
    contents = [_parse_fence(block[2], block[3]) for block in blocks]
    if not blocks or any(not content.is_data or content.flaw for content in contents):
        return None
    surrounding = "\n".join([_FENCE.sub("", text), *(content.surrounding for content in contents)])
    values = [content.value for content in contents]
    return _content_of(unwrap(values[0]) if len(values) == 1 else combine_values(values), surrounding)


def _parse_fence(name: str, text: str) -> TextContent:
    if name.lower() in _TABLE_LANGUAGES and (table := parse_table(text.strip())) is not None:
        return _content_of(table.rows, table.surrounding)
    return parse_text(text.strip())


def _parse_ndjson(text: str) -> TextContent | None:
    """One JSON object per line, parsed fast; anything else is left to `parse_sequence`."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or not lines[0].lstrip().startswith("{"):
        return None
    values = []
    for line in lines:
        try:
            values.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            return None
    return TextContent(combine_values(values)) if all(isinstance(value, dict) for value in values) else None


def _parse_value_sequence(text: str) -> TextContent | None:
    """Values in a row; a broken value at the end is reported as a flaw."""
    sequence = parse_sequence(text)
    if sequence is None:
        return None
    value = combine_values(sequence.values)
    return TextContent(
        value, sequence.surrounding, metadata_in(sequence.surrounding, n_records=_longest_list(value)), sequence.flaw
    )


def _parse_tabular(text: str) -> TextContent | None:
    """YAML, a table or a list, in plain text or Markdown."""
    if (data := parse_yaml(text)) is not None:
        return TextContent(data)
    table = parse_table(text) or parse_list(text)
    return None if table is None else _content_of(table.rows, table.surrounding)


def _parse_embedded(text: str) -> TextContent | None:
    """One value with text before or after it; the text must be short, so that a report with an example stays a report.

    Only the first text that looks like data is tried: the parts of a truncated value are not data.
    """
    match = _VALUE_START.search(text)
    if match is None or (match.end() > 0 and text.startswith(_OPENING_CHARS) and not _LABEL.match(text)):
        return None
    start = match.end()
    try:
        value, end = parse_value(text, start)
    except (ValueError, RecursionError):
        return None
    surrounding = f"{text[:start].strip()}\n{text[end:].strip()}".strip()
    is_surrounded_briefly = (
        len(surrounding) <= max(_MAX_SURROUNDING_CHARS, (end - start) // 4) and _VALUE_START.search(text, end) is None
    )
    return _content_of(unwrap(value), surrounding) if is_surrounded_briefly and _is_substantial(value) else None


def _is_substantial(value: Json) -> bool:
    """Whether a value is data and not a mark such as `[1]` or `{}` in a sentence."""
    if isinstance(value, list):
        return any(isinstance(item, dict | list) for item in value)
    return isinstance(value, dict) and bool(value)


def _content_of(value: Json, surrounding: str) -> TextContent:
    surrounding = surrounding.strip()
    return TextContent(value, surrounding, metadata_in(surrounding, n_records=_longest_list(value)))


def _longest_list(value: Json) -> int:
    """The length of a list, or of the longest list in an object."""
    if isinstance(value, dict):
        return max((len(inner) for inner in value.values() if isinstance(inner, list)), default=0)
    return len(value) if isinstance(value, list) else 0


def _syntax_error(text: str) -> str:
    """Why text that looks like data could not be parsed; empty if it does not look like data.

    Data that follows text counts only if it is most of the text.
    """
    match = _VALUE_START.search(text)
    if match is None or (match.start() > 0 and match.end() > len(text) // 2):
        return ""
    start = match.end()
    try:
        json.JSONDecoder(strict=False).raw_decode(text, start)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text) - 1 or error.msg.startswith("Unterminated string")
        problem = "unexpected end of data" if is_cut else error.msg
        excerpt = text[max(0, error.pos - 20) : error.pos + _EXCERPT_CHARS - 20]
        return f"{problem} at character {error.pos} of {len(text)}, near {excerpt!r}"
    except (ValueError, RecursionError) as error:
        return str(error)
    return "text follows the data" if start == 0 else ""
