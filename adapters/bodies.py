"""The body of a response as a value: JSON, lines of JSON, a table of cells, or text.

Knows media types, encodings and what can be wrong with JSON. Knows no request, no document and no schema.
"""

import json
import re
from email.message import Message

import orjson

from adapters.base import Json
from adapters.cells import records_of

_LINES = ("ndjson", "jsonl", "jsonlines", "json-seq", "json-lines")
_CELLS = ("text/csv", "application/csv", "text/tab-separated-values", "text/comma-separated-values")
_TEXT = ("xml", "yaml", "csv", "javascript", "x-www-form-urlencoded")
_UNNAMED = ("", "text/plain", "text/html", "application/octet-stream", "binary/octet-stream")
_JSON_VERSION = re.compile(r"[+/-]json-\d[\d.]*$")  # application/x-amz-json-1.1
_GUARD = re.compile(rb"\s*(?:\)\]\}'?,?[^\S\n]*\n?|while ?\(1\);|for ?\(;;\);)(?=\s*[\[{])")
"""What some services put before JSON, so that no script of another site can run it."""
_LONG_INTEGER = re.compile(rb"[0-9]{19}")  # beyond 64 bits the fast parser silently rounds to a float


class BodyFlaw(ValueError):
    """The body is not what its content type says; `is_perhaps_cut` if its end seems to be missing."""

    def __init__(self, why: str, *, is_perhaps_cut: bool = False) -> None:
        super().__init__(why)
        self.is_perhaps_cut = is_perhaps_cut


def parse_body(data: bytes, content_type: str | None) -> Json:
    """The value of a body; None for an empty one, a string for text. Raises BodyFlaw."""
    if not data.strip():
        return None
    kind, charset = _media_type(content_type)
    if kind.rpartition("/")[2].rpartition("+")[2].removeprefix("x-") in _LINES:
        lines = data.replace(b"\x1e", b"").splitlines()
        return [_json(line, charset) for line in lines if line.strip()]
    if kind.endswith("json") or _JSON_VERSION.search(kind):
        return _json(data, charset)
    is_guarded = _GUARD.match(data) is not None
    if kind in _UNNAMED and (is_guarded or data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")):
        return _json(data, charset)
    if kind in _CELLS:
        text = _text(data, charset or "utf-8-sig")
        cells = records_of(text)
        return text if cells is None else cells
    if not kind or kind.startswith("text/") or kind.endswith(_TEXT):
        return _text(data, charset or "utf-8")
    raise BodyFlaw(f"the body is '{kind}', which is neither JSON nor text")


def _media_type(content_type: str | None) -> tuple[str, str | None]:
    if not content_type:
        return "", None
    message = Message()
    message["content-type"] = content_type
    return message.get_content_type() if "/" in content_type else "", message.get_content_charset()


def _text(data: bytes, charset: str) -> str:
    for encoding in (charset, "utf-8-sig", "latin-1"):
        try:
            return data.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    raise BodyFlaw("the body is no text")  # latin-1 decodes anything: never reached


def _json(data: bytes, charset: str | None) -> Json:
    if charset not in (None, "utf-8", "us-ascii") or data[:3] == b"\xef\xbb\xbf":
        data = _text(data, charset or "utf-8").lstrip("\ufeff").encode("utf-8", "replace")
    if data[:1] not in (b"{", b"["):
        data = _GUARD.sub(b"", data, count=1)
    if _LONG_INTEGER.search(data) is None:
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            return _slow_json(data)
    return _slow_json(data)


def _slow_json(data: bytes) -> Json:
    """What the fast parser refuses or rounds: large integers, lone surrogates, NaN. Raises BodyFlaw for the rest.

    NaN and Infinity become null, which is how JavaScript writes them: they are no values, and their records are.
    """
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_constant=_no_value, parse_float=_finite)
        return _without_lone_surrogates(value) if "\\u" in text else value
    except UnicodeDecodeError as error:
        raise BodyFlaw(f"the JSON body is not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise BodyFlaw("the JSON body is nested too deeply") from None
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        raise BodyFlaw(f"the body is no JSON: {error.msg} at character {error.pos}", is_perhaps_cut=is_cut) from None
    except BodyFlaw:
        raise
    except ValueError:
        raise BodyFlaw("the JSON body holds an integer of more digits than can be read") from None


def _no_value(_name: str) -> None:
    return None


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise BodyFlaw("the JSON body holds a number beyond the range of a double")
    return number


def _without_lone_surrogates(value: Json) -> Json:
    """Half of a surrogate pair is legal in JSON and cannot be written as UTF-8: it becomes a question mark."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))
