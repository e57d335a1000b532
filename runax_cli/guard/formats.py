"""The formats that a JSON Schema or an OpenAPI document may ask a value to have, each checked in full.

Knows what each format allows, an example of it, and the nearest value where one can be guessed. A format that is not
in the list forbids nothing.
"""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from jsonschema import FormatChecker

_DATE_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_NAIVE = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_DURATION = re.compile(r"P(?!$)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?)", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*", re.ASCII | re.IGNORECASE)


def _is_date(text: str) -> bool:
    return _DATE.fullmatch(text) is not None and _parses(date.fromisoformat, text)


def _is_date_time(text: str) -> bool:
    return _DATE_TIME.fullmatch(text) is not None and _parses(datetime.fromisoformat, text.upper())


def _is_uri(text: str) -> bool:
    return not re.search(r"\s", text) and _parses(urlsplit, text) and bool(urlsplit(text).scheme)


def _is_base64(text: str) -> bool:
    return _parses(lambda raw: base64.b64decode(raw, validate=True), text)


def _parses(parse: Callable[[str], Any], text: str) -> bool:
    try:
        parse(text)
    except (ValueError, binascii.Error):
        return False
    return True


def _near_date_time(text: str) -> Iterator[str]:
    if _is_date(text):
        yield f"{text}T00:00:00Z"
    elif naive := _NAIVE.fullmatch(text):
        yield f"{naive[1]}T{naive[2]}{naive[3] or ':00'}Z"


def _near_date(text: str) -> Iterator[str]:
    yield text[:10]
    if parts := re.fullmatch(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})", text):
        yield f"{parts[1]}-{int(parts[2]):02}-{int(parts[3]):02}"


def _nothing_near(_text: str) -> Iterator[str]:
    return iter(())


@dataclass(frozen=True, slots=True)
class Format:
    """One format of texts: whether a text has it, what one looks like, and guesses at what was meant."""

    has: Callable[[str], bool]
    example: str
    near: Callable[[str], Iterator[str]] = _nothing_near

    def nearest(self, text: str) -> str | None:
        """The first guess that has the format."""
        return next((guess for guess in self.near(text.strip()) if self.has(guess)), None)


FORMATS: Mapping[str, Format] = {
    "date": Format(_is_date, "2026-01-31", _near_date),
    "date-time": Format(_is_date_time, "2026-01-31T12:00:00Z", _near_date_time),
    "time": Format(lambda text: _TIME.fullmatch(text) is not None, "12:00:00Z"),
    "duration": Format(lambda text: _DURATION.fullmatch(text) is not None, "P1DT12H"),
    "uuid": Format(
        lambda text: _UUID.fullmatch(text) is not None,
        "123e4567-e89b-12d3-a456-426614174000",
        lambda text: iter((text.strip("{}"),)),
    ),
    "email": Format(lambda text: _EMAIL.fullmatch(text) is not None, "name@example.com"),
    "hostname": Format(lambda text: _HOST.fullmatch(text) is not None, "www.example.com"),
    "ipv4": Format(lambda text: _parses(ipaddress.IPv4Address, text), "192.0.2.1"),
    "ipv6": Format(lambda text: _parses(ipaddress.IPv6Address, text), "2001:db8::1"),
    "uri": Format(_is_uri, "https://example.com/", lambda text: iter((f"https://{text}",))),
    "byte": Format(_is_base64, "aGVsbG8="),
}
WHOLE_NUMBERS: Mapping[str, int] = {"int32": 2**31, "int64": 2**63}
"""Formats of whole numbers: below this, and not below its negative."""


def checker() -> FormatChecker:
    """What a validator of schemas asks."""
    made = FormatChecker(formats=())
    for name, known in FORMATS.items():
        made.checks(name)(lambda value, has=known.has: not isinstance(value, str) or has(value))
    for name, bound in WHOLE_NUMBERS.items():
        made.checks(name)(lambda value, bound=bound: not isinstance(value, int) or -bound <= value < bound)
    return made
