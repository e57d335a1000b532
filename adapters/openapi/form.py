"""Bodies of forms: pairs, and parts with files.

Pure. Knows how members of an object become pairs or parts. Knows no request.
"""

from collections.abc import Mapping

import httpx2

from adapters.base import Json, JsonObject
from adapters.openapi.operation import Encoding, Style
from adapters.openapi.serialize import compact, joined_pairs, query_pairs, text_of

_DEFAULT = Encoding(style=Style.FORM, is_exploded=True)
_JSON = Encoding(style=Style.FORM, is_exploded=True, media_type="application/json")


def urlencoded(value: JsonObject, encodings: Mapping[str, Encoding]) -> str:
    """The members as encoded pairs; an object without an encoding of its own is written as JSON."""
    pairs = []
    for name, member in value.items():
        default = _JSON if isinstance(member, dict) else _DEFAULT
        pairs += query_pairs(name, member, encodings.get(name, default))
    return joined_pairs(pairs)


def multipart(value: JsonObject, files: frozenset[str]) -> tuple[bytes, str]:
    """The members as parts, and the content type with its boundary. Items of an array are parts of their own.

    Members named in `files` are sent as files, which bear the member's name.
    """
    parts = [
        (name, _part(name, item, is_file=name in files))
        for name, member in value.items()
        for item in (member if isinstance(member, list) else [member])
        if item is not None
    ]
    request = httpx2.Request("POST", "http://form.invalid", files=parts or {"": (None, b"")})
    return request.read(), request.headers["content-type"]


def _part(name: str, value: Json, *, is_file: bool) -> tuple[str | None, bytes, str | None]:
    if isinstance(value, dict | list):
        return None, compact(value).encode("utf-8", "replace"), "application/json"
    data = text_of(value).encode("utf-8", "replace")
    return (name, data, "application/octet-stream") if is_file else (None, data, None)
