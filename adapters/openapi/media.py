"""Media types of request bodies: which can be written, how, and which goes before which.

Pure. Knows names of media types and slips in them. Knows no body.
"""

import re
from enum import IntEnum

_JSON = re.compile(r"[a-z]+/(?:[\w.+-]*[+-])?json(?:-\d[\d.]*)?")
"""JSON by its suffix, or with a version as in `application/x-amz-json-1.1`."""
_LINES = re.compile(r"application/(?:x-)?(?:nd-?json|jsonl|json-?lines|json-seq|stream\+json)")
_MARKUP = re.compile(
    r"[a-z]+/(?:[\w.+-]*[+-])?(?:xml|yaml|yml|toml|jwt|jose|sql|graphql|csv|[a-z]*script|sparql-\w+)|message/.+"
)
_ANYTHING = ("*/*", "application/*")
_SLIPS = {
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


class Writing(IntEnum):
    """How a body is written; of several the lowest is preferred.

    `MARKUP` is text in a language of its own, which whoever fills it in has to write.
    """

    JSON = 0
    LIKE_JSON = 1
    FORM = 2
    PARTS = 3
    TEXT = 4
    BYTES = 5
    LINES = 6
    MARKUP = 7


_KNOWN = {
    "application/json": Writing.JSON,
    "application/x-www-form-urlencoded": Writing.FORM,
    "multipart/form-data": Writing.PARTS,
    "application/octet-stream": Writing.BYTES,
}


def usual(media_type: str) -> str:
    """The media type without slips; its parameters stay where there is none."""
    kind = essence(media_type)
    return _SLIPS.get(kind, media_type.strip())


def essence(media_type: str) -> str:
    """The media type without its parameters, in lower case."""
    return media_type.split(";")[0].strip().lower()


def writing_of(media_type: str) -> Writing | None:
    """How a body of a media type is written; None where that cannot be done."""
    kind = essence(usual(media_type))
    if kind in _KNOWN:
        return _KNOWN[kind]
    if _LINES.fullmatch(kind):
        return Writing.LINES
    if _JSON.fullmatch(kind) or kind in _ANYTHING:
        return Writing.LIKE_JSON
    if _MARKUP.fullmatch(kind) and kind != "text/csv":
        return Writing.MARKUP
    return Writing.TEXT if kind.startswith("text/") else None
