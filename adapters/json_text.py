"""Compact JSON text: UTF-8, without spaces and needless escapes, which takes the fewest tokens."""

import json

import orjson

from adapters.base import Json


def compact_json(value: Json) -> str:
    """Return `value` as compact JSON text. Integers may have any length."""
    return compact_json_bytes(value).decode("utf-8")


def compact_json_bytes(value: Json) -> bytes:
    """Return `value` as one line of compact UTF-8 JSON; lone surrogates become U+FFFD."""
    try:
        return orjson.dumps(value)
    except TypeError:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode("utf-8")


def parse_json(line: bytes) -> Json:
    """Parse one line of `compact_json_bytes`. Not with orjson, which reads integers beyond 64 bits as floats."""
    return json.loads(line)


_FIRST, _LAST = "\ud800", "\udfff"


def fix_surrogates(value: Json) -> Json:
    """Return a value with `fix_surrogates_in_text` applied to all its strings and keys."""
    match value:
        case str():
            return fix_surrogates_in_text(value)
        case list():
            return [fix_surrogates(item) for item in value]
        case dict():
            return {fix_surrogates_in_text(name): fix_surrogates(item) for name, item in value.items()}
        case _:
            return value


def fix_surrogates_in_text(text: str) -> str:
    """Join surrogate pairs; a lone surrogate becomes U+FFFD."""
    if text.isascii() or not any(_FIRST <= char <= _LAST for char in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
