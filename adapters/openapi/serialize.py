"""Values as they are written into a URL, a header or a cookie: the styles of OpenAPI, which are those of RFC 6570.

Pure. Knows no operation and no argument. Everything that comes out is percent-encoded and ready to be joined, except
header values, which are not encoded by their rules. Null members and items are left out, as RFC 6570 leaves out what
is undefined. What the styles do not define (arrays in arrays) is written as JSON.
"""

from collections.abc import Callable
from urllib.parse import quote

import orjson

from adapters.base import Json
from adapters.openapi.operation import Encoding, Style

Pairs = list[tuple[str, str]]
_UNRESERVED = "-._~"
_RESERVED_KEPT = "-._~:/?@!$'()*,;="  # not `#` `[` `]`, illegal there, nor `&` and `+`, which servers read as syntax
_DELIMITERS = {Style.FORM: ",", Style.SPACE: "%20", Style.PIPE: "%7C", Style.TAB: "%09", Style.COOKIE: ","}


def text_of(value: Json) -> str:
    """One value as text: JSON's spelling of numbers and truth, strings as they are, structures as JSON."""
    if isinstance(value, str):
        return value
    return compact(value)


def compact(value: Json) -> str:
    """Compact JSON; integers beyond 64 bits included."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        import json

        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def query_pairs(name: str, value: Json, encoding: Encoding) -> Pairs:
    """The encoded pairs of one query parameter or form member; none where there is nothing to say."""
    escape = _escape(encoding)
    if encoding.media_type is not None:
        return [(escape(name), escape(compact(value)))]
    key = quote(name, safe=_UNRESERVED)
    if encoding.style is Style.DEEP and isinstance(value, dict | list):
        return [(quote(path, safe=_UNRESERVED), escape(text)) for path, text in _deep(name, value)]
    if isinstance(value, dict):
        return _query_object(key, value, encoding, escape)
    if isinstance(value, list):
        items = [escape(text_of(item)) for item in value if item is not None]
        if encoding.is_exploded or encoding.style is Style.DEEP:
            return [(key, item) for item in items]
        return [(key, _DELIMITERS[encoding.style].join(items))] if items else []
    return [] if value is None else [(key, escape(text_of(value)))]


def _query_object(key: str, value: dict[str, Json], encoding: Encoding, escape: Callable[[str], str]) -> Pairs:
    members = [(escape(name), escape(text_of(item))) for name, item in value.items() if item is not None]
    if encoding.is_exploded:
        return members
    flat = [part for member in members for part in member]
    return [(key, _DELIMITERS[encoding.style].join(flat))] if flat else []


def _deep(path: str, value: Json) -> list[tuple[str, str]]:
    """`name[member][inner]`; arrays of plain values repeat their name, others are numbered."""
    if isinstance(value, dict):
        return [pair for name, item in value.items() for pair in _deep(f"{path}[{name}]", item)]
    if isinstance(value, list):
        if any(isinstance(item, dict | list) for item in value):
            return [pair for index, item in enumerate(value) for pair in _deep(f"{path}[{index}]", item)]
        return [(path, text_of(item)) for item in value if item is not None]
    return [] if value is None else [(path, text_of(value))]


def path_text(name: str, value: Json, encoding: Encoding) -> str:
    """What stands in a path in place of `{name}`."""
    escape = _escape(encoding)
    if encoding.media_type is not None:
        return escape(compact(value))
    match encoding.style:
        case Style.LABEL:
            return _label(value, encoding, escape)
        case Style.MATRIX:
            return _matrix(escape(name), value, encoding, escape)
        case _:
            return _simple(value, encoding, escape)


def _simple(value: Json, encoding: Encoding, escape: Callable[[str], str]) -> str:
    return ",".join(_parts(value, escape, is_exploded=encoding.is_exploded))


def _label(value: Json, encoding: Encoding, escape: Callable[[str], str]) -> str:
    parts = _parts(value, escape, is_exploded=encoding.is_exploded)
    return "." + ("." if encoding.is_exploded else ",").join(parts) if parts else ""


def _matrix(name: str, value: Json, encoding: Encoding, escape: Callable[[str], str]) -> str:
    parts = _parts(value, escape, is_exploded=encoding.is_exploded)
    if not parts:
        return ""
    if encoding.is_exploded and isinstance(value, dict):
        return "".join(f";{part}" for part in parts)
    if encoding.is_exploded and isinstance(value, list):
        return "".join(f";{name}={part}" for part in parts)
    joined = ",".join(parts)
    return f";{name}={joined}" if joined else f";{name}"


def _parts(value: Json, escape: Callable[[str], str], *, is_exploded: bool) -> list[str]:
    """Encoded pieces: the items of an array; names and values of an object, as `name=value` where it is exploded."""
    if isinstance(value, list):
        return [escape(text_of(item)) for item in value if item is not None]
    if isinstance(value, dict):
        pairs = [(escape(name), escape(text_of(item))) for name, item in value.items() if item is not None]
        return [f"{name}={item}" for name, item in pairs] if is_exploded else [part for pair in pairs for part in pair]
    return [] if value is None else [escape(text_of(value))]


def header_text(value: Json, encoding: Encoding) -> str:
    """The value of a header, not encoded: simple style, or ASCII JSON where the parameter has a content."""
    if encoding.media_type is not None:
        import json

        return json.dumps(value, separators=(",", ":"))
    return ",".join(_parts(value, str, is_exploded=encoding.is_exploded))


def cookie_pairs(name: str, value: Json, encoding: Encoding) -> Pairs:
    """The pairs of one cookie parameter; `cookie` style leaves its values as they are."""
    if encoding.style is Style.COOKIE and encoding.media_type is None:
        if isinstance(value, list):
            return [(name, text_of(item)) for item in value if item is not None]
        if isinstance(value, dict):
            return [(key, text_of(item)) for key, item in value.items() if item is not None]
        return [] if value is None else [(name, text_of(value))]
    return query_pairs(name, value, encoding)


def joined_pairs(pairs: Pairs) -> str:
    """A query or a form body."""
    return "&".join(f"{name}={value}" for name, value in pairs)


def _escape(encoding: Encoding) -> Callable[[str], str]:
    safe = _RESERVED_KEPT if encoding.allows_reserved else _UNRESERVED
    return lambda text: quote(text, safe=safe, errors="replace")
