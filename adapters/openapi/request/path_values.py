"""Checks the values of path parameters, however often and in whatever form their characters are percent-encoded.

Proxies and servers decode a path before they choose a route, some of them more than once. So `..%2Fadmin` can arrive as
`../admin`, although it was sent as one segment.
"""

import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from adapters.base import Json
from adapters.openapi.operation.model import OperationParameter
from adapters.openapi.operation.serialization import to_text

_MAX_DECODINGS = 8
_SEPARATOR = re.compile(r"[/\\]")
_REMOVED_BY_SERVERS = re.compile(r"[\t\r\n]")
_UNICODE_ESCAPE = re.compile(r"%u([0-9a-fA-F]{4})")
_OVERLONG = re.compile(rb"\xc0([\x80-\xbf])|\xc1([\x80-\xbf])|\xe0\x80([\x80-\xbf])|\xe0\x81([\x80-\xbf])")
_LOOKALIKES = str.maketrans({"\uff0e": ".", "\u2024": ".", "\u2025": "..", "\uff0f": "/", "\uff3c": "\\"})
"""Characters that compatibility normalization (NFKC) turns into dots and separators."""
_DECLARES_SLASHES = re.compile(
    r"\b(?:url|uri|percent)[- ]?encoded\b|\barns?\b|\bamazon resource name|`[^`\s]*[^`\s/]/[^`\s]+`", re.IGNORECASE
)
_NAME_OF_PATH = re.compile(r"(?:^|[_-])(?:arn|path|filepath|url|uri)$|(?:Arn|ARN|Path|Url|URL|Uri|URI)$")
_EXAMPLES = ("example", "default", "enum", "examples")


def path_value_fault(value: Json, *, may_have_separators: bool) -> str | None:
    """Return why a value could lead to another path; None if it cannot.

    With `may_have_separators`, separators are allowed, which the request encodes, but no dot segments and no NUL.
    """
    return next(
        (fault for text in _texts(value) if (fault := _text_fault(text, may_have_separators=may_have_separators))), None
    )


def allows_separators(parameter: OperationParameter) -> bool:
    """Whether the document shows that the values of a path parameter contain slashes."""
    if parameter.encoding.keeps_slashes:
        return True
    if _NAME_OF_PATH.search(parameter.name) or _DECLARES_SLASHES.search(parameter.description):
        return True
    fields = parameter.schema.fields if parameter.schema is not None else {}
    shown = [text for key in _EXAMPLES for text in _texts(fields.get(key))]
    return any("/" in text for text in shown)


def has_dot_segment(path: str) -> bool:
    """Whether a part of a path is `.` or `..` in any decoding."""
    return any(_is_dot_segment(part) for form in _decodings(path) for part in _split(form))


def _text_fault(text: str, *, may_have_separators: bool) -> str | None:
    forms = list(_decodings(text))
    if len(forms) > _MAX_DECODINGS:
        return "it is percent-encoded too often"
    if any("\0" in form for form in forms):
        return "it contains a NUL character"
    if any(_is_dot_segment(part) for form in forms for part in _split(form)):
        return "it contains a dot segment, which would change the path"
    if not may_have_separators and any(_SEPARATOR.search(form) for form in forms):
        return "it contains a path separator; if its values do, set 'slashes: true' for this operation"
    return None


def _split(form: str) -> list[str]:
    return _SEPARATOR.split(form.translate(_LOOKALIKES))


def _is_dot_segment(part: str) -> bool:
    """Whether a segment is read as `.` or `..`, also with path parameters such as `..;a=b`."""
    return _REMOVED_BY_SERVERS.sub("", part).partition(";")[0].strip() in (".", "..")


def _decodings(text: str) -> Iterator[str]:
    """Yield a text and what each further decoding makes of it, at most `_MAX_DECODINGS` times."""
    yield text
    for _ in range(_MAX_DECODINGS):
        decoded = _decode(text)
        if decoded == text:
            return
        yield decoded
        text = decoded


def _decode(text: str) -> str:
    escaped = _UNICODE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    raw = _OVERLONG.sub(_short_form, unquote_to_bytes(escaped.encode("utf-8", "surrogatepass")))
    return raw.decode("utf-8", "surrogateescape")


def _short_form(match: re.Match[bytes]) -> bytes:
    """Return the ASCII byte of an overlong UTF-8 sequence, which lenient servers accept."""
    is_upper = match[2] is not None or match[4] is not None
    last = next(group for group in match.groups() if group is not None)[0] & 0x3F
    return bytes([last | (0x40 if is_upper else 0)])


def _texts(value: Json) -> Iterator[str]:
    """Yield every text in a value, names of members included."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif value is not None:
        yield to_text(value)
