"""Values as they are written into a URL, a header or a cookie: the styles of OpenAPI, which are those of RFC 6570.

Pure. Knows no operation and no argument. Everything that comes out is percent-encoded and ready to be joined, except
header values, which are not encoded by their rules. Null members and items are left out, as RFC 6570 leaves out what
is undefined. What the styles do not define (arrays in arrays) is written as JSON. Reserved characters that are allowed
stay as they are but for those that would be read as a delimiter.
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
    """One value as text: JSON's spelling of numbers and truth, strings as they are, structures as JSON."""
    return value if isinstance(value, str) else compact_json(value)


def to_media_text(value: Json, media_type: str) -> str:
    """A value as its media type has it: JSON where that is JSON or anything, else the text itself."""
    kind = media_type.lower()
    return compact_json(value) if "json" in kind or "*" in kind else to_text(value)


def is_undefined(value: Json) -> bool:
    """Whether there is nothing to write in any style: null, or an array or an object of nothing else."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else (value,)
    return all(item is None for item in items)


def encode_query(name: str, value: Json, encoding: ParameterEncoding) -> Pairs:
    """The encoded pairs of one query parameter or form member; none where there is nothing to say."""
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
    """`name[member][inner]`; arrays of plain values repeat their name, others are numbered."""
    if isinstance(value, dict):
        return [pair for name, item in value.items() for pair in _deep_object(f"{path}[{name}]", item)]
    if isinstance(value, list):
        if any(isinstance(item, dict | list) for item in value):
            return [pair for index, item in enumerate(value) for pair in _deep_object(f"{path}[{index}]", item)]
        return [(path, to_text(item)) for item in value if item is not None]
    return [] if value is None else [(path, to_text(value))]


def encode_path(name: str, value: Json, encoding: ParameterEncoding) -> str:
    """What stands in a path in place of `{name}`; of several segments, without slashes at their ends."""
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
    """Encoded pieces: the items of an array; names and values of an object, as `name=value` where it is exploded."""
    if isinstance(value, list):
        return [escape(to_text(item)) for item in value if item is not None]
    if isinstance(value, dict):
        pairs = [(escape(name), escape(to_text(item))) for name, item in value.items() if item is not None]
        return [f"{name}={item}" for name, item in pairs] if is_exploded else [part for pair in pairs for part in pair]
    return [] if value is None else [escape(to_text(value))]


def encode_header(value: Json, encoding: ParameterEncoding) -> str:
    """The value of a header, not encoded: simple style, or ASCII JSON where the parameter has JSON as its content."""
    if encoding.media_type is not None:
        is_text = isinstance(value, str) and to_media_text(value, encoding.media_type) == value
        return str(value) if is_text else json.dumps(value, separators=(",", ":"))
    delimiter = unquote(_DELIMITERS.get(encoding.style, ","))
    return delimiter.join(_simple_parts(value, str, is_exploded=encoding.is_exploded))


def encode_cookie(name: str, value: Json, encoding: ParameterEncoding) -> Pairs:
    """The pairs of one cookie parameter; `cookie` style leaves its values as they are."""
    if encoding.style is ParameterStyle.COOKIE and encoding.media_type is None:
        if isinstance(value, list):
            return [(name, to_text(item)) for item in value if item is not None]
        if isinstance(value, dict):
            return [(key, to_text(item)) for key, item in value.items() if item is not None]
        return [] if value is None else [(name, to_text(value))]
    return encode_query(name, value, replace(encoding, allows_reserved=False))


def join_pairs(pairs: Pairs) -> str:
    """A query or a form body."""
    return "&".join(f"{name}={value}" for name, value in pairs)


def _quote_name(name: str) -> str:
    """A name with everything encoded that could end it."""
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
    """The members as encoded pairs; an object without an encoding of its own is written as JSON."""
    pairs = []
    for name, member in value.items():
        default = _JSON_MEMBER if isinstance(member, dict) else _FORM_MEMBER
        pairs += encode_query(name, member, encodings.get(name, default))
    return join_pairs(pairs)


def encode_multipart(
    value: JsonObject, files: frozenset[str], encodings: Mapping[str, ParameterEncoding] = _NO_ENCODINGS
) -> tuple[bytes, str]:
    """The members as parts, and the content type with its boundary. Items of an array are parts of their own.

    Members named in `files` are sent as files, which bear the member's name. An encoding gives the parts a content
    type, or a style, whose texts are not percent-encoded here.
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
