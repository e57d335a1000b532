"""JSON in as few tokens as it can be had: UTF-8, no spaces, no escapes that need not be.

Knows text and values. Knows no model, no fence, no budget.
"""

import json

import orjson

from adapters.base import Json


def compact_json(value: Json) -> str:
    """`value` as compact JSON text; integers of any length are kept."""
    return compact_json_bytes(value).decode("utf-8")


def compact_json_bytes(value: Json) -> bytes:
    """`value` as one line of compact UTF-8 JSON; what is no valid Unicode becomes U+FFFD."""
    try:
        return orjson.dumps(value)
    except TypeError:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode("utf-8")


def parse_json(line: bytes) -> Json:
    """The value that `compact_json_bytes` wrote. Not orjson: it reads integers beyond 64 bits as floats."""
    return json.loads(line)


_FIRST, _LAST = "\ud800", "\udfff"


def fix_surrogates(value: Json) -> Json:
    """The value with sound texts and names."""
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
    """Halves of surrogate pairs joined; one without its other half becomes a replacement character."""
    if text.isascii() or not any(_FIRST <= char <= _LAST for char in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
