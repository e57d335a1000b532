"""Bodies of forms: pairs, and parts with files.

Pure. Knows how members of an object become pairs or parts. Knows no request.
"""

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import unquote

import httpx2

from adapters.base import Json, JsonObject
from adapters.openapi.operation import Encoding, Style
from adapters.openapi.serialize import joined_pairs, media_text, query_pairs, text_of

_NO_ENCODINGS: Mapping[str, Encoding] = MappingProxyType({})
_Part = tuple[str | None, bytes, str | None]
_DEFAULT = Encoding(style=Style.FORM, is_exploded=True)
_FILE = "application/octet-stream"
_JSON = Encoding(style=Style.FORM, is_exploded=True, media_type="application/json")


def urlencoded(value: JsonObject, encodings: Mapping[str, Encoding]) -> str:
    """The members as encoded pairs; an object without an encoding of its own is written as JSON."""
    pairs = []
    for name, member in value.items():
        default = _JSON if isinstance(member, dict) else _DEFAULT
        pairs += query_pairs(name, member, encodings.get(name, default))
    return joined_pairs(pairs)


def multipart(
    value: JsonObject, files: frozenset[str], encodings: Mapping[str, Encoding] = _NO_ENCODINGS
) -> tuple[bytes, str]:
    """The members as parts, and the content type with its boundary. Items of an array are parts of their own.

    Members named in `files` are sent as files, which bear the member's name. An encoding gives the parts a content
    type, or a style, whose texts are not percent-encoded here.
    """
    parts = [
        part
        for name, member in value.items()
        for part in _parts(name, member, encodings.get(name), is_file=name in files)
    ]
    request = httpx2.Request("POST", "http://form.invalid", files=parts or {"": (None, b"")})
    return request.read(), request.headers["content-type"]


def _parts(name: str, member: Json, encoding: Encoding | None, *, is_file: bool) -> list[tuple[str, _Part]]:
    if encoding is not None and encoding.media_type is None and not is_file:
        pairs = query_pairs(name, member, encoding)
        return [(unquote(key), (None, unquote(text).encode("utf-8", "replace"), None)) for key, text in pairs]
    items = member if isinstance(member, list) else [member]
    kind = None if encoding is None or "*" in (encoding.media_type or "") else encoding.media_type
    return [(name, _part(name, item, kind, is_file=is_file)) for item in items if item is not None]


def _part(name: str, value: Json, kind: str | None, *, is_file: bool) -> _Part:
    if is_file and isinstance(value, str):
        return name, value.encode("utf-8", "replace"), kind or _FILE
    if kind is None and isinstance(value, dict | list):
        kind = "application/json"
    text = text_of(value) if kind is None else media_text(value, kind)
    return (name if is_file else None), text.encode("utf-8", "replace"), kind
