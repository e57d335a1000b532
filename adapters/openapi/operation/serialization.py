"""Serialization of parameters and form bodies: the styles of OpenAPI (form, simple, label, matrix, deepObject, ...).

The styles are those of RFC 6570. Results are percent-encoded, except header values. Null members and items are omitted,
as RFC 6570 omits undefined values. What the styles do not define (arrays in arrays) is written as JSON. With
`allowReserved`, reserved characters stay as they are unless they would be read as a delimiter.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from urllib.parse import quote, unquote

import httpx2

from adapters.base import Json, JsonObject
from adapters.json_text import compact_json
from adapters.openapi.operation.model import ParameterEncoding, ParameterStyle

Pairs = list[tuple[str, str]]
_UNRESERVED = "-._~"
_ALLOWED_RESERVED = "-._~:/?@!$'()*,;="  # not `#` `[` `]`, illegal there, nor `&` and `+`, which servers read as syntax
_ALLOWED_IN_PATH = "-._~:@!$&'()*+"  # a `/`, `?` or `#` would lead to another path, and `,` `;` `=` delimit
_DELIMITERS = {
    ParameterStyle.FORM: ",",
    ParameterStyle.SPACE: "%20",
    ParameterStyle.PIPE: "%7C",
    ParameterStyle.TAB: "%09",
    ParameterStyle.COOKIE: ",",
}


def to_text(value: Json) -> str:
    """Return a string as it is, and any other value as JSON."""
    return value if isinstance(value, str) else compact_json(value)


def to_media_text(value: Json, media_type: str) -> str:
    """Return a value as JSON if the media type is JSON or a wildcard, else as text."""
    kind = media_type.lower()
    return compact_json(value) if "json" in kind or "*" in kind else to_text(value)


def is_undefined(value: Json) -> bool:
    """Whether a value is null, or an array or object of nothing but null."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,)
    return all(item is None for item in items)


def encode_query(name: str, value: Json, encoding: ParameterEncoding) -> Pairs:
    """Encode one query parameter or form member as pairs of name and value."""
    escape = _escaper(encoding)
    if encoding.media_type is not None:
        return [(_quote_name(name), escape(to_media_text(value, encoding.media_type)))]
    key = _quote_name(name)
    if encoding.style is ParameterStyle.DEEP and isinstance(value, dict | list):
        return [(_quote_name(path), escape(text)) for path, text in _deep_object(name, value)]
    if isinstance(value, dict):
        return _query_object(key, value, encoding, escape)
    if isinstance(value, list):
        items = [escape(to_text(item)) for item in value if item is not None]
        if encoding.is_exploded or encoding.style is ParameterStyle.DEEP:
            return [(key, item) for item in items]
        joined = [item.replace(",", "%2C") for item in items]
        return [(key, _DELIMITERS[encoding.style].join(joined))] if items else []
    return [] if value is None else [(key, escape(to_text(value)))]


def _query_object(key: str, value: dict[str, Json], encoding: ParameterEncoding, escape: Callable[[str], str]) -> Pairs:
    members = [(_quote_name(name), escape(to_text(item))) for name, item in value.items() if item is not None]
    if encoding.is_exploded:
        return members
    flat = [part.replace(",", "%2C") for member in members for part in member]
    return [(key, _DELIMITERS[encoding.style].join(flat))] if flat else []


def _deep_object(path: str, value: Json) -> list[tuple[str, str]]:
    """Serialize `name[member][inner]`; arrays of scalars repeat their name, other arrays are indexed."""
    if isinstance(value, dict):
        return [pair for name, item in value.items() for pair in _deep_object(f"{path}[{name}]", item)]
    if isinstance(value, list):
        if any(isinstance(item, dict | list) for item in value):
            return [pair for index, item in enumerate(value) for pair in _deep_object(f"{path}[{index}]", item)]
        return [(path, to_text(item)) for item in value if item is not None]
    return [] if value is None else [(path, to_text(value))]


def encode_path(name: str, value: Json, encoding: ParameterEncoding) -> str:
    """Encode a value for `{name}` in a path; slashes at the ends of several segments are removed."""
    escape = _escaper(encoding, kept=_ALLOWED_IN_PATH)
    if encoding.keeps_slashes and isinstance(value, str):
        return "/".join(escape(part) for part in value.strip("/").split("/"))
    if encoding.media_type is not None:
        return escape(to_media_text(value, encoding.media_type))
    match encoding.style:
        case ParameterStyle.LABEL:
            return _label(value, encoding, escape)
        case ParameterStyle.MATRIX:
            return _matrix(_quote_name(name), value, encoding, escape)
        case _:
            delimiter = _DELIMITERS.get(encoding.style, ",")
            return delimiter.join(_simple_parts(value, escape, is_exploded=encoding.is_exploded))


def _label(value: Json, encoding: ParameterEncoding, escape: Callable[[str], str]) -> str:
    parts = _simple_parts(value, escape, is_exploded=encoding.is_exploded)
    return "." + ("." if encoding.is_exploded else ",").join(parts) if parts else ""


def _matrix(name: str, value: Json, encoding: ParameterEncoding, escape: Callable[[str], str]) -> str:
    parts = _simple_parts(value, escape, is_exploded=encoding.is_exploded)
    if not parts:
        return ""
    if encoding.is_exploded and isinstance(value, dict):
        return "".join(f";{part.removesuffix('=')}" for part in parts)
    named = parts if encoding.is_exploded else [",".join(parts)]
    return "".join(f";{name}={part}" if part else f";{name}" for part in named)


def _simple_parts(value: Json, escape: Callable[[str], str], *, is_exploded: bool) -> list[str]:
    """Encode the items of an array, or the names and values of an object: `name=value` if it is exploded."""
    if isinstance(value, list):
        return [escape(to_text(item)) for item in value if item is not None]
    if isinstance(value, dict):
        pairs = [(escape(name), escape(to_text(item))) for name, item in value.items() if item is not None]
        return [f"{name}={item}" for name, item in pairs] if is_exploded else [part for pair in pairs for part in pair]
    return [] if value is None else [escape(to_text(value))]


def encode_header(value: Json, encoding: ParameterEncoding) -> str:
    """Serialize the value of a header, unencoded: simple style, or ASCII JSON if the parameter has a JSON content."""
    if encoding.media_type is not None:
        is_text = isinstance(value, str) and to_media_text(value, encoding.media_type) == value
        return str(value) if is_text else json.dumps(value, separators=(",", ":"))
    delimiter = unquote(_DELIMITERS.get(encoding.style, ","))
    return delimiter.join(_simple_parts(value, str, is_exploded=encoding.is_exploded))


def encode_cookie(name: str, value: Json, encoding: ParameterEncoding) -> Pairs:
    """Encode one cookie parameter as pairs; the style `cookie` does not encode values."""
    if encoding.style is ParameterStyle.COOKIE and encoding.media_type is None:
        if isinstance(value, list):
            return [(name, to_text(item)) for item in value if item is not None]
        if isinstance(value, dict):
            return [(key, to_text(item)) for key, item in value.items() if item is not None]
        return [] if value is None else [(name, to_text(value))]
    return encode_query(name, value, replace(encoding, allows_reserved=False))


def join_pairs(pairs: Pairs) -> str:
    """Join encoded pairs to a query or form body."""
    return "&".join(f"{name}={value}" for name, value in pairs)


def _quote_name(name: str) -> str:
    """Percent-encode a name."""
    return quote(name, safe=_UNRESERVED, errors="replace")


def _escaper(encoding: ParameterEncoding, *, kept: str = _ALLOWED_RESERVED) -> Callable[[str], str]:
    safe = kept if encoding.allows_reserved else _UNRESERVED
    return lambda text: quote(text, safe=safe, errors="replace")


_NO_ENCODINGS: Mapping[str, ParameterEncoding] = MappingProxyType({})
_Part = tuple[str | None, bytes, str | None]
_FORM_MEMBER = ParameterEncoding(style=ParameterStyle.FORM, is_exploded=True)
_FILE_TYPE = "application/octet-stream"
_JSON_MEMBER = ParameterEncoding(style=ParameterStyle.FORM, is_exploded=True, media_type="application/json")


def encode_urlencoded(value: JsonObject, encodings: Mapping[str, ParameterEncoding]) -> str:
    """Encode a form body; an object without its own encoding is written as JSON."""
    pairs = []
    for name, member in value.items():
        default = _JSON_MEMBER if isinstance(member, dict) else _FORM_MEMBER
        pairs += encode_query(name, member, encodings.get(name, default))
    return join_pairs(pairs)


def encode_multipart(
    value: JsonObject, files: frozenset[str], encodings: Mapping[str, ParameterEncoding] = _NO_ENCODINGS
) -> tuple[bytes, str]:
    """Encode a multipart body and return it with its content type. Items of an array become separate parts.

    Members in `files` are sent as files named after the member. An encoding sets the content type of the parts, or a
    style, whose values are not percent-encoded here.
    """
    parts = [
        part
        for name, member in value.items()
        for part in _multipart_parts(name, member, encodings.get(name), is_file=name in files)
    ]
    request = httpx2.Request("POST", "http://form.invalid", files=parts or {"": (None, b"")})
    return request.read(), request.headers["content-type"]


def _multipart_parts(
    name: str, member: Json, encoding: ParameterEncoding | None, *, is_file: bool
) -> list[tuple[str, _Part]]:
    if encoding is not None and encoding.media_type is None and not is_file:
        pairs = encode_query(name, member, encoding)
        return [(unquote(key), (None, unquote(text).encode("utf-8", "replace"), None)) for key, text in pairs]
    items = member if isinstance(member, list) else [member]
    kind = None if encoding is None or "*" in (encoding.media_type or "") else encoding.media_type
    return [(name, _multipart_part(name, item, kind, is_file=is_file)) for item in items if item is not None]


def _multipart_part(name: str, value: Json, kind: str | None, *, is_file: bool) -> _Part:
    if is_file and isinstance(value, str):
        return name, value.encode("utf-8", "replace"), kind or _FILE_TYPE
    if kind is None and isinstance(value, dict | list):
        kind = "application/json"
    text = to_text(value) if kind is None else to_media_text(value, kind)
    return (name if is_file else None), text.encode("utf-8", "replace"), kind
