"""The body of a response as a value: JSON, lines of JSON, a table of cells, or text.

Knows media types, encodings and what can be wrong with JSON. Knows no request, no document and no schema.
"""

import csv
import io
import json
import re
from collections.abc import Sequence
from email.message import Message

import orjson

from adapters.base import Json

_DELIMITERS = ",;\t|"
_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")
_NUMBER = re.compile(r"(?:0|-?[1-9]\d{0,14}|-0)(?:\.\d{1,15})?")


def parse_csv(text: str) -> list[Json] | None:
    """The records of a table with a header; an empty list for a header alone, None where it is no such table."""
    first = text.lstrip("\ufeff").partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    rows = _rows(text.lstrip("\ufeff"), delimiter)
    if not rows or not _is_header(rows[0]) or any(len(row) != len(rows[0]) for row in rows):
        return None
    columns = [_typed_column(column) for column in zip(*rows[1:], strict=True)]
    return [dict(zip(rows[0], cells, strict=True)) for cells in zip(*columns, strict=True)]


def _rows(text: str, delimiter: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    except csv.Error:
        return []


def _is_header(cells: Sequence[str]) -> bool:
    """Names: at least two, each there once, and none of them a number."""
    names = {cell.strip() for cell in cells}
    return len(cells) > 1 and len(names) == len(cells) and "" not in names and not any(map(_NUMBER.fullmatch, names))


def _typed_column(column: Sequence[str]) -> list[Json]:
    """A column as numbers where every cell is written as one is (`007` is none); an empty cell has no value."""
    filled = [cell for cell in column if cell]
    if filled and all(map(_INTEGER.fullmatch, filled)):
        return [int(cell) if cell else None for cell in column]
    if filled and all(map(_NUMBER.fullmatch, filled)):
        return [float(cell) if cell else None for cell in column]
    return [cell or None for cell in column]


_JSON_LINES = ("ndjson", "jsonl", "jsonlines", "json-seq", "json-lines")
_CSV_TYPES = ("text/csv", "application/csv", "text/tab-separated-values", "text/comma-separated-values")
_TEXT_SUFFIXES = ("xml", "yaml", "csv", "javascript", "x-www-form-urlencoded")
_SNIFFED_TYPES = ("", "text/plain", "text/html", "application/octet-stream", "binary/octet-stream")
_JSON_VERSION = re.compile(r"[+/-]json-\d[\d.]*$")  # application/x-amz-json-1.1
_XSSI_PREFIX = re.compile(rb"\s*(?:\)\]\}'?,?[^\S\n]*\n?|while ?\(1\);|for ?\(;;\);)(?=\s*[\[{])")
"""What some services put before JSON, so that no script of another site can run it."""
_LONG_INTEGER = re.compile(rb"[0-9]{19}")  # beyond 64 bits the fast parser silently rounds to a float


class MalformedBody(ValueError):
    """The body is not what its content type says; `is_perhaps_cut` if its end seems to be missing."""

    def __init__(self, why: str, *, is_perhaps_cut: bool = False) -> None:
        super().__init__(why)
        self.is_perhaps_cut = is_perhaps_cut


def parse_body(data: bytes, content_type: str | None) -> Json:
    """The value of a body; None for an empty one, a string for text. Raises MalformedBody."""
    if not data.strip():
        return None
    kind, charset = _media_type(content_type)
    if kind.rpartition("/")[2].rpartition("+")[2].removeprefix("x-") in _JSON_LINES:
        lines = data.replace(b"\x1e", b"").splitlines()
        return [_parse_json(line, charset) for line in lines if line.strip()]
    if kind.endswith("json") or _JSON_VERSION.search(kind):
        return _parse_json(data, charset)
    is_guarded = _XSSI_PREFIX.match(data) is not None
    if kind in _SNIFFED_TYPES and (is_guarded or data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")):
        return _parse_json(data, charset)
    if kind in _CSV_TYPES:
        text = _decode(data, charset or "utf-8-sig")
        cells = parse_csv(text)
        return text if cells is None else cells
    if not kind or kind.startswith("text/") or kind.endswith(_TEXT_SUFFIXES):
        return _decode(data, charset or "utf-8")
    raise MalformedBody(f"the body is '{kind}', which is neither JSON nor text")


def _media_type(content_type: str | None) -> tuple[str, str | None]:
    if not content_type:
        return "", None
    message = Message()
    message["content-type"] = content_type
    return message.get_content_type() if "/" in content_type else "", message.get_content_charset()


def _decode(data: bytes, charset: str) -> str:
    for encoding in (charset, "utf-8-sig", "latin-1"):
        try:
            return data.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    raise MalformedBody("the body is no text")  # latin-1 decodes anything: never reached


def _parse_json(data: bytes, charset: str | None) -> Json:
    if charset not in (None, "utf-8", "us-ascii") or data[:3] == b"\xef\xbb\xbf":
        data = _decode(data, charset or "utf-8").lstrip("\ufeff").encode("utf-8", "replace")
    if data[:1] not in (b"{", b"["):
        data = _XSSI_PREFIX.sub(b"", data, count=1)
    if _LONG_INTEGER.search(data) is None:
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            return _parse_json_slowly(data)
    return _parse_json_slowly(data)


def _parse_json_slowly(data: bytes) -> Json:
    """What the fast parser refuses or rounds: large integers, lone surrogates, NaN. Raises MalformedBody for the rest.

    NaN and Infinity become null, which is how JavaScript writes them: they are no values, and their records are.
    """
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_constant=_constant_as_null, parse_float=_finite_float)
        return _without_lone_surrogates(value) if "\\u" in text else value
    except UnicodeDecodeError as error:
        raise MalformedBody(f"the JSON body is not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise MalformedBody("the JSON body is nested too deeply") from None
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        raise MalformedBody(
            f"the body is no JSON: {error.msg} at character {error.pos}", is_perhaps_cut=is_cut
        ) from None
    except MalformedBody:
        raise
    except ValueError:
        raise MalformedBody("the JSON body holds an integer of more digits than can be read") from None


def _constant_as_null(_name: str) -> None:
    return None


def _finite_float(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise MalformedBody("the JSON body holds a number beyond the range of a double")
    return number


def _without_lone_surrogates(value: Json) -> Json:
    """Half of a surrogate pair is legal in JSON and cannot be written as UTF-8: it becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))
