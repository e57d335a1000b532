"""Parses response bodies: JSON, JSON lines, CSV or text, in any encoding, with common defects."""

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
    """Return the records of a CSV text with a header; an empty list for a header alone, None if it is not CSV."""
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
    """Whether cells are column names: at least two, unique, and not numbers."""
    names = {cell.strip() for cell in cells}
    return len(cells) > 1 and len(names) == len(cells) and "" not in names and not any(map(_NUMBER.fullmatch, names))


def _typed_column(column: Sequence[str]) -> list[Json]:
    """Convert a column to numbers if every cell is one (`007` is text); an empty cell becomes null."""
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
"""Prefixes before JSON that keep other sites from including it as a script (XSSI)."""
_LONG_INTEGER = re.compile(rb"[0-9]{19}")  # beyond 64 bits the fast parser silently rounds to a float


class MalformedBody(ValueError):
    """The body does not match its content type; `is_truncated` if its end seems to be missing."""

    def __init__(self, reason: str, *, is_truncated: bool = False) -> None:
        super().__init__(reason)
        self.is_truncated = is_truncated


def parse_body(data: bytes, content_type: str | None) -> Json:
    """Return the value of a body: None if it is empty, a string for text. Raises MalformedBody."""
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
    raise MalformedBody(f"unsupported content type '{kind}': expected JSON, CSV or text")


def _media_type(content_type: str | None) -> tuple[str, str | None]:
    if not content_type:
        return "", None
    message = Message()
    message["content-type"] = content_type
    return message.get_content_type() if "/" in content_type else "", message.get_content_charset()


def _decode(data: bytes, charset: str) -> str:
    for encoding in (charset, "utf-8-sig"):
        try:
            return data.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    return data.decode("latin-1")


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
    """Parse what the fast parser refuses or rounds: large integers, lone surrogates, NaN. Raises MalformedBody.

    NaN and Infinity become null, as JavaScript writes them, so that their records are kept.
    """
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_constant=lambda _: None, parse_float=_finite_float)
        return _without_lone_surrogates(value) if "\\u" in text else value
    except UnicodeDecodeError as error:
        raise MalformedBody(f"invalid JSON: not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise MalformedBody("invalid JSON: nested too deeply") from None
    except json.JSONDecodeError as error:
        is_truncated = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        raise MalformedBody(f"invalid JSON: {error.msg} at character {error.pos}", is_truncated=is_truncated) from None
    except MalformedBody:
        raise
    except ValueError:
        raise MalformedBody("invalid JSON: an integer has too many digits") from None


def _finite_float(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise MalformedBody("invalid JSON: a number exceeds the range of a double")
    return number


def _without_lone_surrogates(value: Json) -> Json:
    """Replace lone surrogates, legal in JSON and impossible in UTF-8, with question marks."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))
