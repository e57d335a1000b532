"""Values as they are written into a URL, a header or a cookie: the styles of OpenAPI, which are those of RFC 6570.

Pure. Knows no operation and no argument. Everything that comes out is percent-encoded and ready to be joined, except
header values, which are not encoded by their rules. Null members and items are left out, as RFC 6570 leaves out what
is undefined. What the styles do not define (arrays in arrays) is written as JSON. Reserved characters that are allowed
stay as they are but for those that would be read as a delimiter.
"""

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote, unquote

import orjson

from adapters.base import Json
from adapters.openapi.operation import Encoding, Style

Pairs = list[tuple[str, str]]
_UNRESERVED = "-._~"
_RESERVED_KEPT = "-._~:/?@!$'()*,;="  # not `#` `[` `]`, illegal there, nor `&` and `+`, which servers read as syntax
_PATH_KEPT = "-._~:@!$&'()*+"  # a `/`, `?` or `#` would lead to another path, and `,` `;` `=` delimit
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


def media_text(value: Json, media_type: str) -> str:
    """A value as its media type has it: JSON where that is JSON or anything, else the text itself."""
    kind = media_type.lower()
    return compact(value) if "json" in kind or "*" in kind else text_of(value)


def is_undefined(value: Json) -> bool:
    """Whether there is nothing to write in any style: null, or an array or an object of nothing else."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,)
    return all(item is None for item in items)


def query_pairs(name: str, value: Json, encoding: Encoding) -> Pairs:
    """The encoded pairs of one query parameter or form member; none where there is nothing to say."""
    escape = _escape(encoding)
    if encoding.media_type is not None:
        return [(_whole(name), escape(media_text(value, encoding.media_type)))]
    key = _whole(name)
    if encoding.style is Style.DEEP and isinstance(value, dict | list):
        return [(_whole(path), escape(text)) for path, text in _deep(name, value)]
    if isinstance(value, dict):
        return _query_object(key, value, encoding, escape)
    if isinstance(value, list):
        items = [escape(text_of(item)) for item in value if item is not None]
        if encoding.is_exploded or encoding.style is Style.DEEP:
            return [(key, item) for item in items]
        joined = [item.replace(",", "%2C") for item in items]
        return [(key, _DELIMITERS[encoding.style].join(joined))] if items else []
    return [] if value is None else [(key, escape(text_of(value)))]


def _query_object(key: str, value: dict[str, Json], encoding: Encoding, escape: Callable[[str], str]) -> Pairs:
    members = [(_whole(name), escape(text_of(item))) for name, item in value.items() if item is not None]
    if encoding.is_exploded:
        return members
    flat = [part.replace(",", "%2C") for member in members for part in member]
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
    """What stands in a path in place of `{name}`; of several segments, without slashes at their ends."""
    escape = _escape(encoding, kept=_PATH_KEPT)
    if encoding.keeps_slashes and isinstance(value, str):
        return "/".join(escape(part) for part in value.strip("/").split("/"))
    if encoding.media_type is not None:
        return escape(media_text(value, encoding.media_type))
    match encoding.style:
        case Style.LABEL:
            return _label(value, encoding, escape)
        case Style.MATRIX:
            return _matrix(_whole(name), value, encoding, escape)
        case _:
            delimiter = _DELIMITERS.get(encoding.style, ",")
            return delimiter.join(_parts(value, escape, is_exploded=encoding.is_exploded))


def _label(value: Json, encoding: Encoding, escape: Callable[[str], str]) -> str:
    parts = _parts(value, escape, is_exploded=encoding.is_exploded)
    return "." + ("." if encoding.is_exploded else ",").join(parts) if parts else ""


def _matrix(name: str, value: Json, encoding: Encoding, escape: Callable[[str], str]) -> str:
    parts = _parts(value, escape, is_exploded=encoding.is_exploded)
    if not parts:
        return ""
    if encoding.is_exploded and isinstance(value, dict):
        return "".join(f";{part.removesuffix('=')}" for part in parts)
    named = parts if encoding.is_exploded else [",".join(parts)]
    return "".join(f";{name}={part}" if part else f";{name}" for part in named)


def _parts(value: Json, escape: Callable[[str], str], *, is_exploded: bool) -> list[str]:
    """Encoded pieces: the items of an array; names and values of an object, as `name=value` where it is exploded."""
    if isinstance(value, list):
        return [escape(text_of(item)) for item in value if item is not None]
    if isinstance(value, dict):
        pairs = [(escape(name), escape(text_of(item))) for name, item in value.items() if item is not None]
        return [f"{name}={item}" for name, item in pairs] if is_exploded else [part for pair in pairs for part in pair]
    return [] if value is None else [escape(text_of(value))]


def header_text(value: Json, encoding: Encoding) -> str:
    """The value of a header, not encoded: simple style, or ASCII JSON where the parameter has JSON as its content."""
    if encoding.media_type is not None:
        import json

        is_text = isinstance(value, str) and media_text(value, encoding.media_type) == value
        return str(value) if is_text else json.dumps(value, separators=(",", ":"))
    delimiter = unquote(_DELIMITERS.get(encoding.style, ","))
    return delimiter.join(_parts(value, str, is_exploded=encoding.is_exploded))


def cookie_pairs(name: str, value: Json, encoding: Encoding) -> Pairs:
    """The pairs of one cookie parameter; `cookie` style leaves its values as they are."""
    if encoding.style is Style.COOKIE and encoding.media_type is None:
        if isinstance(value, list):
            return [(name, text_of(item)) for item in value if item is not None]
        if isinstance(value, dict):
            return [(key, text_of(item)) for key, item in value.items() if item is not None]
        return [] if value is None else [(name, text_of(value))]
    return query_pairs(name, value, replace(encoding, allows_reserved=False))


def joined_pairs(pairs: Pairs) -> str:
    """A query or a form body."""
    return "&".join(f"{name}={value}" for name, value in pairs)


def _whole(name: str) -> str:
    """A name with everything encoded that could end it."""
    return quote(name, safe=_UNRESERVED, errors="replace")


def _escape(encoding: Encoding, *, kept: str = _RESERVED_KEPT) -> Callable[[str], str]:
    safe = kept if encoding.allows_reserved else _UNRESERVED
    return lambda text: quote(text, safe=safe, errors="replace")
