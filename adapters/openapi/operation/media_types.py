"""Media types of request bodies: which format a body of a media type is written in."""

import re
from enum import IntEnum

_JSON = re.compile(r"[a-z]+/(?:[\w.+-]*[+-])?json(?:-\d[\d.]*)?")
"""JSON, also as a suffix (`+json`) or with a version (`application/x-amz-json-1.1`)."""
_LINES = re.compile(r"application/(?:x-)?(?:nd-?json|jsonl|json-?lines|json-seq|stream\+json)")
_MARKUP = re.compile(
    r"[a-z]+/(?:[\w.+-]*[+-])?(?:xml|yaml|yml|toml|jwt|jose|sql|graphql|csv|[a-z]*script|sparql-\w+)|message/.+"
)
_ANYTHING = ("*/*", "application/*")
_MISSPELLED = {
    "": "application/json",
    "json": "application/json",
    "applicationjson": "application/json",
    "application/form-data": "multipart/form-data",
    "form-data": "multipart/form-data",
    "multipart/form": "multipart/form-data",
    "x-www-form-urlencoded": "application/x-www-form-urlencoded",
    "application/x-www-form-urlencode": "application/x-www-form-urlencoded",
    "application/x-www-urlencoded": "application/x-www-form-urlencoded",
    "application/text": "text/plain",
    "plain/text": "text/plain",
    "text": "text/plain",
}  # fmt: skip


class BodyFormat(IntEnum):
    """The format of a body; if several are possible, the lowest value is preferred.

    `MARKUP` is text in XML, YAML or another language, which the caller writes.
    """

    JSON = 0
    LIKE_JSON = 1
    FORM = 2
    PARTS = 3
    TEXT = 4
    BYTES = 5
    LINES = 6
    MARKUP = 7


_EXACT = {
    "application/json": BodyFormat.JSON,
    "application/x-www-form-urlencoded": BodyFormat.FORM,
    "multipart/form-data": BodyFormat.PARTS,
    "application/octet-stream": BodyFormat.BYTES,
}


def normalize_media_type(media_type: str) -> str:
    """Return a media type with common misspellings corrected, otherwise unchanged."""
    kind = bare_media_type(media_type)
    return _MISSPELLED.get(kind, media_type.strip())


def bare_media_type(media_type: str) -> str:
    """Return a media type in lower case without its parameters."""
    return media_type.split(";")[0].strip().lower()


def body_format(media_type: str) -> BodyFormat | None:
    """Return the format of a body of a media type; None if it is not supported."""
    kind = bare_media_type(normalize_media_type(media_type))
    if kind in _EXACT:
        return _EXACT[kind]
    if _LINES.fullmatch(kind):
        return BodyFormat.LINES
    if _JSON.fullmatch(kind) or kind in _ANYTHING:
        return BodyFormat.LIKE_JSON
    if _MARKUP.fullmatch(kind) and kind != "text/csv":
        return BodyFormat.MARKUP
    return BodyFormat.TEXT if kind.startswith("text/") else None
